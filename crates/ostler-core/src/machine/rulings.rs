//! Who decides a question that is open: a person, a rule, the policy, or the clock.
//!
//! In this order: what somebody decided about this very request; a rule that denies; what a person decided about the
//! same call of the child before, if that died before it was told; a rule that wants a person; a rule that allows;
//! ostler's own answer to a question of the model, where the spec says so; the policy; the deadline, which denies. So an
//! allow comes from a person, a rule or the allow policy, and from nothing else.

use super::Machine;
use super::child::Child;
use super::decide::{Action, Policy, Stored, World};
use crate::ctl::{Given, Reply};
use crate::question::{self, CONTINUE, MAX_CONTINUED};
use crate::rows::{Permission, PermissionKind, PermissionState};
use crate::rule::{self, Call, Effect, Rule};
use serde_json::value::RawValue;

/// Who decided, where it was the policy of the session.
pub const BY_POLICY: &str = "policy";
/// Where it was the deadline.
pub const BY_TIMEOUT: &str = "timeout";
/// Where ostler went on by itself.
pub const BY_AUTO_CONTINUE: &str = "auto-continue";
/// Where it was a run that nobody sits at.
pub const BY_PIPE: &str = "pipe";
/// What the name of a rule begins with.
const RULE: &str = "rule ";

/// Who decided, where it was a rule.
#[must_use]
pub fn by_rule(rule: &Rule) -> String {
    format!("{RULE}{}", rule.id)
}

/// What an open question is about, as far as whoever decides must know.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    /// Of a tool.
    pub(super) call: Option<Call>,
    /// The input of a question of the model.
    pub(super) input: Option<Box<RawValue>>,
}

impl Machine {
    /// The next thing to do about questions: when they were asked is written down first, then who decides them; then
    /// the child is told.
    pub(super) fn questions(&self, child: &Child, world: &World<'_>) -> Option<Action> {
        if child.ending.is_some() {
            return None;
        }
        let rows = &self.rows.permissions;
        let mine = &rows[rows.partition_point(|p| p.generation < child.no)..];
        let open = || mine.iter().filter(|p| p.state == PermissionState::Open);
        let known = || open().filter(|p| p.kind != PermissionKind::Other);
        if let Some(p) = known().find(|p| p.asked_at.is_none()) {
            return Some(Action::Asked { request_id: p.request_id.clone() });
        }
        if let Some(action) = known().find_map(|p| self.ruling(child, p, world)) {
            return Some(action);
        }
        if !world.pipe_ready {
            return None;
        }
        if let Some(p) = open().find(|p| p.kind == PermissionKind::Other) {
            return Some(Action::Refuse { request_id: p.request_id.clone() });
        }
        let p = mine.iter().find(|p| p.state == PermissionState::Decided)?;
        Some(Action::Answer { request_id: p.request_id.clone() })
    }

    fn ruling(&self, child: &Child, p: &Permission, world: &World<'_>) -> Option<Action> {
        let decide = |by: String, reply: Reply, given: Option<Given>| {
            Some(Action::Decide { request_id: p.request_id.clone(), by, reply, given })
        };
        if let Some(s) = stored(world, p.generation, &p.request_id) {
            return decide(s.by.clone(), s.reply.clone(), None);
        }
        let asking = child.asking.get(&p.request_id);
        let call = asking.and_then(|a| a.call.as_ref());
        let rule = call.and_then(|call| rule::choose(world.rules, call, &world.place, world.wall));
        let effect = rule.map(|r| r.effect);
        if let Some(rule) = rule.filter(|r| r.effect == Effect::Deny) {
            let why = format!("Denied by a rule: {}.", rule.pattern);
            return decide(by_rule(rule), Reply::deny(Some(why)), None);
        }
        if world.policy != Policy::Deny {
            if let Some((by, reply, given)) = self.given_before(p, world) {
                return decide(by, reply, Some(given));
            }
            // A tool that wants a person is no tool that a rule may answer for.
            let may_allow = matches!(p.kind, PermissionKind::Tool | PermissionKind::Plan);
            if let Some(rule) = rule.filter(|r| r.effect == Effect::Allow && may_allow) {
                return decide(by_rule(rule), Reply::allow(), None);
            }
        }
        if effect != Some(Effect::Ask) {
            if let Some(action) = self.go_on_by_itself(child, p, world) {
                return action;
            }
            if let Some(reply) = by_policy(world.policy, p.kind) {
                return decide(BY_POLICY.to_owned(), reply, None);
            }
        }
        let deadline = p.deadline(world.permission_timeout)?;
        if world.wall < deadline {
            return None;
        }
        let seconds = world.permission_timeout.unwrap_or_default().div_ceil(1000);
        let why = format!("Nobody answered within {seconds} s; that is a no. The turn ends here.");
        decide(BY_TIMEOUT.to_owned(), Reply { interrupt: true, ..Reply::deny(Some(why)) }, None)
    }

    /// The answer that the spec told ostler to give by itself; `Some(None)`: a person must answer, and it says so.
    fn go_on_by_itself(&self, child: &Child, p: &Permission, world: &World<'_>) -> Option<Option<Action>> {
        let is_question = p.kind == PermissionKind::Question && p.tool.as_deref() == Some("AskUserQuestion");
        let input = child.asking.get(&p.request_id).and_then(|a| a.input.as_ref());
        let input = input.filter(|_| world.auto_continue && is_question)?;
        let request_id = p.request_id.clone();
        if child.auto_continued < MAX_CONTINUED && !p.exhausted {
            let reply = Reply { input: Some(question::answered_alike(input, CONTINUE)), ..Reply::allow() };
            let by = BY_AUTO_CONTINUE.to_owned();
            return Some(Some(Action::Decide { request_id, by, reply, given: None }));
        }
        if p.exhausted { None } else { Some(Some(Action::Exhaust { request_id })) }
    }

    /// What a person decided about the same call of the child before this one, if that one died before anything of it
    /// was written. It serves once.
    fn given_before(&self, p: &Permission, world: &World<'_>) -> Option<(String, Reply, Given)> {
        let call = p.call.as_ref()?;
        let before = p.generation.checked_sub(1)?;
        let died = |old: &&Permission| {
            old.generation == before
                && old.call.as_ref() == Some(call)
                && old.state == PermissionState::Withdrawn
                && old.withdrawn.as_deref() == Some(super::permissions::DEATH)
        };
        self.rows.permissions.iter().filter(died).find_map(|old| {
            let given = Given { generation: before, request_id: old.request_id.clone() };
            if self.told.contains(&given) || self.given.contains(&given) {
                return None;
            }
            let journal = old.reply().zip(old.decided_by.clone());
            let face = || stored(world, before, &old.request_id).map(|s| (s.reply.clone(), s.by.clone()));
            let (reply, by) = journal.or_else(face)?;
            is_person(&by).then_some((by, reply, given))
        })
    }
}

fn stored<'a>(world: &World<'a>, generation: u32, request_id: &str) -> Option<&'a Stored> {
    world.stored.iter().find(|s| s.generation == generation && s.request_id == request_id)
}

/// Neither a rule nor anything else that would decide the same again by itself.
fn is_person(by: &str) -> bool {
    !by.starts_with(RULE) && ![BY_POLICY, BY_TIMEOUT, BY_AUTO_CONTINUE, BY_PIPE].contains(&by)
}

fn by_policy(policy: Policy, kind: PermissionKind) -> Option<Reply> {
    let no = |why: &str| Some(Reply::deny(Some(why.to_owned())));
    match (policy, kind) {
        (Policy::Allow, PermissionKind::Tool) => Some(Reply::allow()),
        (Policy::Deny, _) => no("Denied: nobody is there to decide, and the policy of this session is deny."),
        (Policy::Rules, _) => no("Denied: no rule allows this, and the policy of this session asks nobody."),
        _ => None,
    }
}
