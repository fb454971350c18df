//! The broker under any interleaving: a child asks, takes back and dies; people decide, and decide again; rules come and
//! go; time passes; controllers are killed between any two steps.
//!
//! What must hold: an allow has a person, a rule or the policy behind it, whatever happened; a request is answered once,
//! and in the same way when the answer is repeated; who comes second is told so; folding again gives the same rows.

use claude_wire::{Frame, Message, Request, build};
use ostler_core::answer;
use ostler_core::ctl::{Baseline, Decision, Event, Exit, Given, Line, Reply, Row};
use ostler_core::ids::{ConversationId, DeliveryId, Millis, RuleId, SessionId};
use ostler_core::limits::Limits;
use ostler_core::machine::{Action, Machine, Policy, Stored, World};
use ostler_core::question::{CONTINUE, MAX_CONTINUED};
use ostler_core::rows::{PermissionKind, PermissionState};
use ostler_core::rule::{Call, Effect, Place, Rule, Scope, choose};
use proptest::prelude::*;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

const TIMEOUT: i64 = 1_000;
/// What is asked: tool and input.
const CALLS: [(&str, &str); 5] = [
    ("Bash", r#"{"command":"make"}"#),
    ("Bash", r#"{"command":"make && rm x"}"#),
    ("Edit", r#"{"file_path":"/w/a"}"#),
    ("AskUserQuestion", r#"{"questions":[{"question":"Go on?","options":[]}]}"#),
    ("ExitPlanMode", r#"{"plan":"x"}"#),
];
const PATTERNS: [&str; 6] = ["Bash", "Bash(make *)", "Bash(rm *)", "Edit(/w/**)", "*", "ExitPlanMode"];

#[derive(Clone, Debug)]
enum Op {
    Ask(usize),
    Hook,
    TakeBack(usize),
    Decide { which: usize, allow: bool, edited: bool },
    AddRule { effect: u8, pattern: usize, expires: bool },
    RemoveRule(usize),
    Time(i64),
    Work(usize),
    KillController,
    KillChild,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..CALLS.len()).prop_map(Op::Ask),
        1 => Just(Op::Hook),
        1 => (0..8usize).prop_map(Op::TakeBack),
        5 => (0..8usize, any::<bool>(), any::<bool>()).prop_map(|(which, allow, edited)| Op::Decide { which, allow, edited }),
        2 => (0..3u8, 0..PATTERNS.len(), any::<bool>())
            .prop_map(|(effect, pattern, expires)| Op::AddRule { effect, pattern, expires }),
        1 => (0..8usize).prop_map(Op::RemoveRule),
        3 => (1..600i64).prop_map(Op::Time),
        8 => (1..6usize).prop_map(Op::Work),
        2 => Just(Op::KillController),
        1 => Just(Op::KillChild),
    ]
}

enum Entry {
    Out((u64, u64), Vec<u8>),
    Row(Row),
}

struct Broker {
    policy: Policy,
    auto: bool,
    timeout: bool,
    machine: Machine,
    journal: Vec<Entry>,
    off: u64,
    wall: i64,
    made: u32,
    generation: u32,
    rules: Vec<Rule>,
    /// What faces have stored, by compare-and-set.
    stored: Vec<Stored>,
    /// What was asked, by generation and request.
    asked: BTreeMap<(u32, String), Request>,
    /// Lines that the child was given, by request.
    answers: BTreeMap<(u32, String), Vec<Vec<u8>>>,
    /// Allows that may be written, and why.
    backed: BTreeSet<(u32, String)>,
    continued: u32,
}

impl Broker {
    fn new(policy: Policy, auto: bool, timeout: bool) -> Self {
        let mut new = Self {
            policy,
            auto,
            timeout,
            machine: fresh(),
            journal: Vec::new(),
            off: 0,
            wall: 0,
            made: 0,
            generation: 0,
            rules: Vec::new(),
            stored: Vec::new(),
            asked: BTreeMap::new(),
            answers: BTreeMap::new(),
            backed: BTreeSet::new(),
            continued: 0,
        };
        new.spawn();
        new
    }

    fn row(&mut self, ev: Event) {
        let row = Row { at: Millis(self.wall), off: self.off, ev };
        self.machine.row(&row, 0);
        self.journal.push(Entry::Row(row));
    }

    fn out(&mut self, line: &str) {
        let start = self.off;
        self.off += line.len() as u64 + 1;
        self.machine.out((start, self.off), &Frame::parse(line.as_bytes()), 0);
        self.journal.push(Entry::Out((start, self.off), line.as_bytes().to_vec()));
    }

    fn spawn(&mut self) {
        self.generation += 1;
        self.off = 0;
        self.continued = 0;
        let delivery = DeliveryId(Uuid::from_u128(u128::from(self.generation)));
        let conversation = ConversationId(Uuid::from_u128(1));
        self.row(Event::Spawn {
            generation: self.generation,
            delivery,
            conversation,
            resume: self.generation > 1,
            baseline: Baseline::default(),
            version: "0".into(),
        });
        self.row(Event::Child { pid: 1, start: 1, boot: "b".into() });
        self.write(Line::User { delivery }, 1);
        self.out(r#"{"type":"system","subtype":"init","session_id":"x","model":"m"}"#);
    }

    fn write(&mut self, line: Line, len: u64) {
        let write = self.machine.next_write();
        self.row(Event::Begin { write, line, len, hash: String::new() });
        self.row(Event::Done { write });
    }

    fn ask(&mut self, request: &str) {
        self.made += 1;
        let id = format!("r{}", self.made);
        let line = format!(r#"{{"type":"control_request","request_id":"{id}","request":{request}}}"#);
        let Message::ControlRequest(parsed) = Frame::parse(line.as_bytes()).into_message() else {
            unreachable!()
        };
        self.asked.insert((self.generation, id), parsed.request);
        self.out(&line);
    }

    /// The `n`th question that ever was, the newest first.
    fn nth(&self, n: usize) -> Option<(u32, String)> {
        self.asked.keys().rev().nth(n).cloned()
    }

    /// As the store does it: once, and only while the journal calls it open.
    fn decide(&mut self, (generation, request_id): (u32, String), reply: Reply) {
        let rows = &self.machine.rows().permissions;
        let row = rows.iter().find(|p| p.generation == generation && p.request_id == request_id).unwrap();
        let taken = self.stored.iter().any(|s| s.generation == generation && s.request_id == request_id);
        if row.state != PermissionState::Open || taken {
            // The loser: there is a decision that it can be told of, or the question is gone.
            assert!(taken || row.decision.is_some() || row.state == PermissionState::Withdrawn);
            return;
        }
        if reply.decision == Decision::Allow {
            self.backed.insert((generation, request_id.clone()));
        }
        self.stored.push(Stored { generation, request_id, by: "person".into(), reply });
    }

    fn place(&self) -> Place<'static> {
        Place { session: Some(SessionId(Uuid::from_u128(9))), label: None, cwd: "/w" }
    }

    /// One step of the controller; `dies` kills it in the middle of a write.
    fn step(&mut self, dies: bool) -> bool {
        let world = World {
            wall: Millis(self.wall),
            stored: &self.stored,
            policy: self.policy,
            rules: &self.rules,
            place: self.place(),
            permission_timeout: self.timeout.then_some(TIMEOUT as u64),
            auto_continue: self.auto,
            pipe_ready: true,
            pipe_capacity: 1 << 16,
            ..World::default()
        };
        match self.machine.decide(&world) {
            None => return false,
            Some(Action::Asked { request_id }) => self.row(Event::Asked { request_id }),
            Some(Action::Exhaust { request_id }) => {
                assert!(self.continued >= MAX_CONTINUED);
                self.row(Event::Exhausted { request_id });
            }
            Some(Action::Decide { request_id, by, reply, given }) => {
                self.judge(&request_id, &by, &reply, given.as_ref());
                self.row(reply.decided(request_id, by, given));
            }
            Some(Action::Answer { request_id }) => {
                let bytes = self.line(&request_id);
                let before = self.answers.insert((self.generation, request_id.clone()), vec![bytes.clone()]);
                assert_eq!(before, None, "{request_id} was answered twice");
                let write = self.machine.next_write();
                let (line, len) = (Line::Answer { request_id }, bytes.len() as u64);
                self.row(Event::Begin { write, line, len, hash: String::new() });
                if dies {
                    self.restart();
                } else {
                    self.row(Event::Done { write });
                }
            }
            Some(Action::Repeat { write, line }) => {
                if let Line::Answer { request_id } = line {
                    let bytes = self.line(&request_id);
                    self.answers.get_mut(&(self.generation, request_id)).unwrap().push(bytes);
                }
                self.row(Event::Done { write });
            }
            Some(Action::Request { subtype: "initialize", .. }) => {
                self.made += 1;
                let request_id = format!("i{}", self.made);
                let subtype = "initialize".to_owned();
                let line = Line::Request {
                    request_id: request_id.clone(),
                    subtype,
                    about: None,
                    cancel_queued: false,
                };
                self.write(line, 1);
                self.out(&format!(
                    r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"{request_id}"}}}}"#
                ));
            }
            Some(other) => panic!("{other:?} has nothing to do with questions"),
        }
        true
    }

    fn line(&self, request_id: &str) -> Vec<u8> {
        let reply = self.machine.decided(request_id).unwrap();
        answer::line(request_id, &self.asked[&(self.generation, request_id.to_owned())], &reply)
    }

    /// Who decides may do so.
    fn judge(&mut self, request_id: &str, by: &str, reply: &Reply, given: Option<&Given>) {
        let key = (self.generation, request_id.to_owned());
        let row = self
            .machine
            .rows()
            .permissions
            .iter()
            .rev()
            .find(|p| p.request_id == request_id)
            .unwrap()
            .clone();
        assert_eq!(row.state, PermissionState::Open);
        let call = match &self.asked[&key] {
            Request::CanUseTool(ask) => Some(Call::new(&ask.tool_name, &ask.input)),
            _ => None,
        };
        let rule = call.and_then(|c| choose(&self.rules, &c, &self.place(), Millis(self.wall)).cloned());
        let effect = rule.as_ref().map(|r| r.effect);
        if reply.decision == Decision::Deny {
            let late = row.asked_at.is_some_and(|at| self.wall >= at.0 + TIMEOUT);
            assert!(by != "timeout" || (self.timeout && late), "too early");
            return;
        }
        let by_person = self.stored.iter().any(|s| {
            let of = given.map_or(key.clone(), |g| (g.generation, g.request_id.clone()));
            (s.generation, &s.request_id) == (of.0, &of.1) && s.reply == *reply && s.by == by
        });
        if let Some(given) = given {
            assert!(
                !self.answers.contains_key(&(given.generation, given.request_id.clone())),
                "it had been told"
            );
            assert_eq!(given.generation + 1, self.generation);
            assert_ne!(effect, Some(Effect::Deny));
        }
        let by_rule = effect == Some(Effect::Allow)
            && self.policy != Policy::Deny
            && matches!(row.kind, PermissionKind::Tool | PermissionKind::Plan)
            && rule.as_ref().is_some_and(|r| by == format!("rule {}", r.id));
        let by_policy = by == "policy"
            && self.policy == Policy::Allow
            && row.kind == PermissionKind::Tool
            && effect.is_none();
        let by_itself = by == "auto-continue"
            && self.auto
            && row.tool.as_deref() == Some("AskUserQuestion")
            && self.continued < MAX_CONTINUED
            && reply.input.as_ref().is_some_and(|i| i.contains(CONTINUE));
        self.continued += u32::from(by_itself);
        assert!(
            by_person || by_rule || by_policy || by_itself,
            "{by} allowed {request_id}: {row:?}, {rule:?}"
        );
        self.backed.insert(key);
    }

    fn restart(&mut self) {
        let mut again = fresh();
        for entry in &self.journal {
            match entry {
                Entry::Out(span, line) => again.out(*span, &Frame::parse(line), 0),
                Entry::Row(row) => again.row(row, 0),
            }
        }
        assert_eq!(again.project(), self.machine.project());
        self.machine = again;
        self.row(Event::Adopted { pid: 1, version: "0".into() });
    }

    fn play(&mut self, op: Op) {
        match op {
            Op::Ask(n) => {
                let (tool, input) = CALLS[n];
                self.ask(&format!(
                    r#"{{"subtype":"can_use_tool","tool_name":"{tool}","input":{input},"tool_use_id":"t"}}"#
                ));
            }
            Op::Hook => self.ask(r#"{"subtype":"hook_callback","callback_id":"h"}"#),
            Op::TakeBack(n) => {
                if let Some((_, id)) = self.nth(n).filter(|(generation, _)| *generation == self.generation) {
                    self.out(&format!(r#"{{"type":"control_cancel_request","request_id":"{id}"}}"#));
                }
            }
            Op::Decide { which, allow, edited } => {
                let Some(key) = self.nth(which) else { return };
                let input = edited.then(|| r#"{"command":"ls"}"#.to_owned());
                let reply =
                    if allow { Reply { input, ..Reply::allow() } } else { Reply::deny(Some("no".into())) };
                self.decide(key, reply);
            }
            Op::AddRule { effect, pattern, expires } => {
                self.made += 1;
                self.rules.push(Rule {
                    id: RuleId(Uuid::from_u128(u128::from(self.made))),
                    effect: [Effect::Allow, Effect::Ask, Effect::Deny][usize::from(effect)],
                    pattern: PATTERNS[pattern].parse().unwrap(),
                    scope: Scope::Everything,
                    made_by: "person".into(),
                    made_at: Millis(self.wall),
                    expires_at: expires.then_some(Millis(self.wall + 300)),
                });
            }
            Op::RemoveRule(n) => {
                if n < self.rules.len() {
                    self.rules.remove(n);
                }
            }
            Op::Time(ms) => self.wall += ms,
            Op::Work(steps) => {
                (0..steps).all(|_| self.step(false));
            }
            Op::KillController => {
                self.step(true);
                self.restart();
            }
            Op::KillChild => {
                self.row(Event::Dead { exit: Exit::Signal(9), proven: true, killed: 0, said: None });
                self.row(Event::Settled { turn: self.machine.open_turn().unwrap(), gave_up_tasks: 0 });
                self.spawn();
            }
        }
    }

    /// Everything is worked off, then all that may happen has happened.
    fn end(&mut self) {
        while self.step(false) {}
        self.wall += TIMEOUT;
        while self.step(false) {}
        self.restart();
        while self.step(false) {}
        for row in &self.machine.rows().permissions {
            let key = (row.generation, row.request_id.clone());
            let of_this = row.generation == self.generation;
            assert!(!of_this || row.state != PermissionState::Decided, "decided and not told: {row:?}");
            assert!(
                !of_this || !self.timeout || row.state != PermissionState::Open,
                "it waits for ever: {row:?}"
            );
            let lines = self.answers.get(&key).cloned().unwrap_or_default();
            assert!(lines.windows(2).all(|two| two[0] == two[1]), "{key:?} was answered in two ways");
            let allowed = lines.iter().any(|l| String::from_utf8_lossy(l).contains(r#""behavior":"allow""#));
            assert!(!allowed || self.backed.contains(&key), "{key:?} was allowed by nobody");
        }
    }
}

fn fresh() -> Machine {
    Machine::new(ConversationId(Uuid::from_u128(1)), Limits::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]
    #[test]
    fn an_allow_has_somebody_behind_it_and_every_request_one_answer(
        policy in prop_oneof![Just(Policy::Ask), Just(Policy::Allow), Just(Policy::Deny), Just(Policy::Rules)],
        auto in any::<bool>(),
        timeout in any::<bool>(),
        ops in proptest::collection::vec(op(), 1..60),
    ) {
        let mut broker = Broker::new(policy, auto, timeout);
        for op in ops {
            broker.play(op);
        }
        broker.end();
    }
}

#[test]
fn suggestions_are_sent_back_byte_for_byte() {
    let suggestions = r#"[ {"type":"addRules" , "n":1.50,"rules":[{"toolName":"Bash"}]} ]"#;
    let line = format!(
        r#"{{"type":"control_request","request_id":"r","request":{{"subtype":"can_use_tool","tool_name":"Bash","input":{{"a" : 1}},"permission_suggestions":{suggestions}}}}}"#
    );
    let Message::ControlRequest(asked) = Frame::parse(line.as_bytes()).into_message() else { panic!() };
    let once = answer::line("r", &asked.request, &Reply::allow());
    let always = answer::line("r", &asked.request, &Reply { always: true, ..Reply::allow() });
    assert!(String::from_utf8(always).unwrap().contains(&format!(r#""updatedPermissions":{suggestions}"#)));
    let input = RawValue::from_string(r#"{"a" : 1}"#.into()).unwrap();
    assert_eq!(once, build::allow("r", &input, None), "an allow always says the input");
}

fn rule(effect: Effect, pattern: &str, scope: Scope, made_at: i64) -> Rule {
    Rule {
        id: RuleId(Uuid::from_u128(made_at.unsigned_abs().into())),
        effect,
        pattern: pattern.parse().unwrap(),
        scope,
        made_by: "me".into(),
        made_at: Millis(made_at),
        expires_at: None,
    }
}

#[test]
fn deny_counts_before_ask_before_allow_and_then_the_most_specific_and_newest() {
    let session = SessionId(Uuid::from_u128(7));
    let place = Place { session: Some(session), label: Some("l"), cwd: "/w/x" };
    let call = Call::typed("Bash", "git push origin");
    let decides = |rules: &[Rule]| choose(rules, &call, &place, Millis(50)).map(|r| r.made_at.0);
    use Effect::{Allow, Ask, Deny};
    let of = |dir: &str| Scope::Cwd(dir.into());
    let everywhere = || Scope::Everything;
    for (rules, wanted) in [
        (vec![rule(Allow, "Bash", Scope::Session(session), 1), rule(Deny, "*", everywhere(), 2)], Some(2)),
        (vec![rule(Allow, "Bash", Scope::Session(session), 1), rule(Ask, "*", everywhere(), 2)], Some(2)),
        (vec![rule(Ask, "Bash(git *)", everywhere(), 1), rule(Deny, "*", everywhere(), 2)], Some(2)),
        (vec![rule(Allow, "Bash", of("/w/x"), 1), rule(Allow, "Bash", of("/w"), 2)], Some(1)),
        (vec![rule(Allow, "Bash", Scope::Label("l".into()), 1), rule(Allow, "Bash", of("/w"), 2)], Some(1)),
        (vec![rule(Allow, "Bash(git *)", everywhere(), 1), rule(Allow, "Bash", everywhere(), 2)], Some(1)),
        (
            vec![
                rule(Allow, "Bash(git push *)", everywhere(), 1),
                rule(Allow, "Bash(git *)", everywhere(), 2),
            ],
            Some(1),
        ),
        (vec![rule(Allow, "Bash", everywhere(), 1), rule(Allow, "Bash", everywhere(), 2)], Some(2)),
        (vec![rule(Allow, "Bash", of("/wx"), 1), rule(Allow, "Bash", Scope::Label("m".into()), 2)], None),
    ] {
        assert_eq!(decides(&rules), wanted, "{rules:?}");
    }
    let over = Rule { expires_at: Some(Millis(50)), ..rule(Allow, "Bash", everywhere(), 1) };
    assert_eq!(decides(&[over]), None, "it is over");
}

#[test]
fn patterns_fit_what_they_say() {
    let place = Place { session: None, label: None, cwd: "/w" };
    let fits = |effect, pattern: &str, tool: &str, input: &str| {
        let call = Call::new(tool, &RawValue::from_string(input.into()).unwrap());
        rule(effect, pattern, Scope::Everything, 1).fits(&call, &place, Millis(0))
    };
    let bash = |effect, pattern: &str, command: &str| {
        fits(effect, pattern, "Bash", &serde_json::json!({ "command": command }).to_string())
    };
    for (pattern, command, allow, deny) in [
        ("Bash(git *)", "git", true, true),
        ("Bash(git *)", "git  status", true, true),
        ("Bash(git *)", "git status && rm x", false, true),
        ("Bash(git *)", "true; git push", false, true),
        ("Bash(git *)", "/usr/bin/git push", false, true),
        ("Bash(git *)", "echo $(git push)", false, true),
        ("Bash(git *)", "git log > /etc/passwd", false, true),
        ("Bash(git *)", "gitx", false, false),
        ("Bash(*)", "a | b", false, true),
        ("Bash", "a | b", true, true),
    ] {
        assert_eq!(bash(Effect::Allow, pattern, command), allow, "allow {pattern}: {command}");
        assert_eq!(bash(Effect::Deny, pattern, command), deny, "deny {pattern}: {command}");
    }
    let free = r#"{"command":"git status","dangerouslyDisableSandbox":true}"#;
    assert!(
        !fits(Effect::Allow, "Bash(git *)", "Bash", free) && fits(Effect::Deny, "Bash(git *)", "Bash", free)
    );
    for (pattern, tool, input, is) in [
        ("Edit(src/**)", "Edit", r#"{"file_path":"/w/src/a/b.rs"}"#, true),
        ("Edit(src/**)", "Edit", r#"{"file_path":"src/../../etc/x"}"#, false),
        ("Edit(src/**)", "Write", r#"{"file_path":"/w/src/a"}"#, false),
        ("Edit(src/**)", "Edit", r#"{"file_path":"~/src/a"}"#, false),
        ("Read(**/.env)", "Read", r#"{"file_path":"/w/deep/.env"}"#, true),
        ("Glob(src/**)", "Glob", r#"{"pattern":"/etc/*","path":"src"}"#, false),
        ("WebFetch(domain:docs.rs)", "WebFetch", r#"{"url":"https://docs.rs/serde"}"#, true),
        ("WebFetch(domain:docs.rs)", "WebFetch", r#"{"url":"https://docs.rs.evil.com/"}"#, false),
        ("WebFetch(domain:docs.rs)", "WebFetch", r#"{"url":"https://docs.rs@evil.com/"}"#, false),
        ("mcp__github", "mcp__github__push", "{}", true),
        ("mcp__github", "mcp__github2__push", "{}", false),
        ("mcp__github__get_*", "mcp__github__get_issue", "{}", true),
        ("*", "ExitPlanMode", "{}", false),
        ("ExitPlanMode", "ExitPlanMode", "{}", true),
    ] {
        assert_eq!(fits(Effect::Allow, pattern, tool, input), is, "{pattern} {tool} {input}");
    }
    for bad in ["", "Bash(", "Bash()", "(x)", "Ba sh", "Bash(git:*)", "Read(~/.ssh/**)", "mcp__x(y)"] {
        assert!(bad.parse::<ostler_core::rule::Pattern>().is_err(), "{bad}");
    }
}

/// Plays, and says what became of the last question.
fn last(ops: impl IntoIterator<Item = Op>) -> (PermissionState, Option<String>) {
    let mut broker = Broker::new(Policy::Ask, false, false);
    ops.into_iter().for_each(|op| broker.play(op));
    let row = broker.machine.rows().permissions.last().unwrap().clone();
    broker.end();
    (row.state, row.decided_by)
}

#[test]
fn what_a_person_said_serves_the_next_child_once_and_only_if_no_child_may_have_read_it() {
    let yes = || Op::Decide { which: 0, allow: true, edited: false };
    let served = (PermissionState::Answered, Some("person".to_owned()));
    let waits = (PermissionState::Open, None);
    // Stored, or decided and not written.
    assert_eq!(last([Op::Ask(0), Op::Work(1), yes(), Op::KillChild, Op::Ask(0), Op::Work(9)]), served);
    assert_eq!(last([Op::Ask(0), yes(), Op::Work(2), Op::KillChild, Op::Ask(0), Op::Work(9)]), served);
    // Its line was begun: nobody knows how much of it was read.
    let begun = [Op::Ask(0), yes(), Op::Work(2), Op::KillController, Op::KillChild, Op::Ask(0), Op::Work(9)];
    assert_eq!(last(begun), waits);
    // Another call; a second time; a child later.
    assert_eq!(last([Op::Ask(0), yes(), Op::KillChild, Op::Ask(1), Op::Work(9)]), waits);
    assert_eq!(
        last([Op::Ask(0), yes(), Op::KillChild, Op::Ask(0), Op::Work(9), Op::Ask(0), Op::Work(9)]),
        waits
    );
    assert_eq!(last([Op::Ask(0), yes(), Op::KillChild, Op::KillChild, Op::Ask(0), Op::Work(9)]), waits);
}
