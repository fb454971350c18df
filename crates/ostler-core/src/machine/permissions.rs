//! The open set of questions: asked − answered − withdrawn.
//!
//! It is folded from `out` and `ctl`, so it survives every process of ours. `initialize`, sent by a controller that
//! took over, confirms it; hook callbacks are not listed there (protocol page, "Control channel").

use super::Machine;
use super::out::Span;
use super::rulings::{Asking, BY_AUTO_CONTINUE};
use crate::ctl::{Decision, Given, Reply};
use crate::ids::Millis;
use crate::rows::{Permission, PermissionKind, PermissionState};
use crate::rule::Call;
use claude_wire::{CanUseTool, ControlRequest, ControlResponse, Request};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Why a question is withdrawn whose child died.
pub(super) const DEATH: &str = "death";

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
        let call = match &line.request {
            Request::CanUseTool(ask) => {
                let about = Call::new(&ask.tool_name, &ask.input);
                let asks = ask.tool_name == "AskUserQuestion";
                let asking = Asking { call: Some(about), input: asks.then(|| ask.input.clone()) };
                self.with_child(|c| drop(c.asking.insert(line.request_id.clone(), asking)));
                Some(print(ask))
            }
            _ => None,
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
            input: None,
            always: false,
            interrupt: false,
            asked_at: None,
            exhausted: false,
            call,
        });
    }

    pub(super) fn asked(&mut self, request_id: &str, at: Millis) {
        if let Some(row) = self.permission(request_id) {
            row.asked_at.get_or_insert(at);
        }
    }

    pub(super) fn exhausted(&mut self, request_id: &str) {
        if let Some(row) = self.permission(request_id) {
            row.exhausted = true;
        }
    }

    pub(super) fn decide_permission(
        &mut self,
        request_id: &str,
        reply: Reply,
        by: &str,
        given: Option<&Given>,
    ) {
        let Some(row) = self.permission(request_id).filter(|p| p.state == PermissionState::Open) else {
            return;
        };
        row.state = PermissionState::Decided;
        row.decision = Some(reply.decision);
        row.decided_by = Some(by.to_owned());
        row.message = reply.message;
        row.input = reply.input;
        row.always = reply.always;
        row.interrupt = reply.interrupt;
        self.given.extend(given.cloned());
        self.with_child(|c| {
            c.asking.remove(request_id);
            c.auto_continued += u32::from(by == BY_AUTO_CONTINUE);
        });
        if reply.decision == Decision::Deny {
            self.with_child(|c| c.denied_by_us += 1);
            self.count_denials();
        }
    }

    /// Its answer may be in the pipe from now on.
    pub(super) fn answer_begins(&mut self, request_id: &str) {
        let generation = self.generation();
        self.told.insert(Given { generation, request_id: request_id.to_owned() });
    }

    /// Only the child before the next one can have asked what that asks again.
    pub(super) fn forget_old_answers(&mut self, generation: u32) {
        self.told.retain(|g| g.generation + 1 >= generation);
        self.given.retain(|g| g.generation + 1 >= generation);
    }

    /// Its answer is in the pipe.
    pub(super) fn permission_answered(&mut self, request_id: &str) {
        if let Some(row) = self.permission(request_id).filter(|p| p.state != PermissionState::Withdrawn) {
            row.state = PermissionState::Answered;
        }
    }

    pub(super) fn withdraw(&mut self, request_id: &str, why: &str) {
        self.with_child(|c| drop(c.asking.remove(request_id)));
        if let Some(row) = self.permission(request_id) {
            take_back(row, why);
        }
    }

    pub(super) fn withdraw_all(&mut self, why: &str) {
        self.with_child(|c| c.asking.clear());
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
            // Hook callbacks are not listed, nor is anything that is no permission.
            let lists =
                matches!(row.kind, PermissionKind::Tool | PermissionKind::Question | PermissionKind::Plan);
            if row.state == PermissionState::Open && lists && !listed(&row.request_id) {
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

/// Tools and inputs that are the same have the same.
fn print(ask: &CanUseTool) -> String {
    let mut hash = Sha256::new();
    hash.update(ask.tool_name.as_bytes());
    hash.update([0]);
    hash.update(ask.input.get().as_bytes());
    hash.finalize()[..16].iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn take_back(row: &mut Permission, why: &str) {
    if matches!(row.state, PermissionState::Open | PermissionState::Decided) {
        row.state = PermissionState::Withdrawn;
        row.withdrawn = Some(why.to_owned());
    }
}
