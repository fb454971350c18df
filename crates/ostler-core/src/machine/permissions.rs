//! The open set of questions: asked − answered − withdrawn.
//!
//! It is folded from `out` and `ctl`, so it survives every process of ours. `initialize`, sent by a controller that
//! took over, confirms it; hook callbacks are not listed there (protocol page, "Control channel").

use super::Machine;
use super::out::Span;
use crate::ctl::Decision;
use crate::rows::{Permission, PermissionKind, PermissionState};
use claude_wire::{ControlRequest, ControlResponse, Request};

impl Machine {
    pub(super) fn on_request(&mut self, line: &ControlRequest, (start, end): Span) {
        let generation = self.generation();
        if self.rows.permissions.iter().any(|p| p.generation == generation && p.request_id == line.request_id)
        {
            return;
        }
        let (kind, tool, tool_use_id) = match &line.request {
            Request::CanUseTool(ask) => {
                let kind = match ask.tool_name.as_str() {
                    "ExitPlanMode" => PermissionKind::Plan,
                    "AskUserQuestion" => PermissionKind::Question,
                    // It says that no policy may answer it.
                    _ if ask.requires_user_interaction => PermissionKind::Question,
                    _ => PermissionKind::Tool,
                };
                (kind, Some(ask.tool_name.clone()), Some(ask.tool_use_id.clone()).filter(|id| !id.is_empty()))
            }
            Request::HookCallback(_) => (PermissionKind::Hook, None, None),
            Request::Elicitation(_) => (PermissionKind::Elicitation, None, None),
            request if request.stays_unanswered() => return,
            _ => (PermissionKind::Other, None, None),
        };
        self.rows.permissions.push(Permission {
            generation,
            request_id: line.request_id.clone(),
            kind,
            tool,
            tool_use_id,
            line: (start, end.saturating_sub(1)),
            state: PermissionState::Open,
            decision: None,
            decided_by: None,
            message: None,
            withdrawn: None,
        });
    }

    pub(super) fn decide_permission(
        &mut self,
        request_id: &str,
        decision: Decision,
        by: &str,
        message: Option<String>,
    ) {
        let Some(row) = self.permission(request_id).filter(|p| p.state == PermissionState::Open) else {
            return;
        };
        row.state = PermissionState::Decided;
        row.decision = Some(decision);
        row.decided_by = Some(by.to_owned());
        row.message = message;
        if decision == Decision::Deny {
            self.with_child(|c| c.denied_by_us += 1);
            self.count_denials();
        }
    }

    /// Its answer is in the pipe.
    pub(super) fn permission_answered(&mut self, request_id: &str) {
        if let Some(row) = self.permission(request_id).filter(|p| p.state != PermissionState::Withdrawn) {
            row.state = PermissionState::Answered;
        }
    }

    pub(super) fn withdraw(&mut self, request_id: &str, why: &str) {
        if let Some(row) = self.permission(request_id) {
            take_back(row, why);
        }
    }

    pub(super) fn withdraw_all(&mut self, why: &str) {
        let generation = self.generation();
        for row in self.rows.permissions.iter_mut().filter(|p| p.generation == generation) {
            take_back(row, why);
        }
    }

    /// The answer to `initialize`: whatever it doesn't list isn't waiting any more. A list with nothing in it may be no
    /// list at all; a question too many does no harm, for an answer that nobody waits for is ignored (protocol page).
    pub(super) fn relisted(&mut self, line: &ControlResponse) {
        let generation = self.generation();
        let listed = |id: &str| line.pending.is_empty() || line.pending.iter().any(|p| p.request_id == id);
        for row in self.rows.permissions.iter_mut().filter(|p| p.generation == generation) {
            let hook = row.kind == PermissionKind::Hook;
            if row.state == PermissionState::Open && !hook && !listed(&row.request_id) {
                take_back(row, "not pending");
            }
        }
        self.with_child(|c| c.adopted = false);
    }

    /// Our denials, or those that the child announced by itself: a lower bound, for a result's own list is known to
    /// be incomplete.
    pub(super) fn count_denials(&mut self) {
        let Some(child) = &self.child else { return };
        let least = child.denied_by_us.max(child.denied_by_child);
        self.with_open_turn(|t| t.denials = t.denials.max(least));
    }

    fn permission(&mut self, request_id: &str) -> Option<&mut Permission> {
        let generation = self.generation();
        self.rows.permissions.iter_mut().find(|p| p.generation == generation && p.request_id == request_id)
    }
}

fn take_back(row: &mut Permission, why: &str) {
    if matches!(row.state, PermissionState::Open | PermissionState::Decided) {
        row.state = PermissionState::Withdrawn;
        row.withdrawn = Some(why.to_owned());
    }
}
