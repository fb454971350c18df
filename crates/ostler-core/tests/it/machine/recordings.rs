//! What real CLIs of five versions wrote, folded: every message ends, the turn settles, the spend is the last total.

use claude_wire::{Frame, Message};
use ostler_core::ctl::{Baseline, Deadline, Event, Line, Row};
use ostler_core::ids::{ConversationId, DeliveryId, Millis};
use ostler_core::limits::Limits;
use ostler_core::machine::{Action, Machine, Policy, World};
use ostler_core::rows::{DeliveryState, Outcome, Tokens};
use std::path::PathBuf;
use uuid::Uuid;

/// A recording being folded.
struct Fold {
    machine: Machine,
    now: u64,
    off: u64,
}

impl Fold {
    fn new() -> Self {
        let machine = Machine::new(ConversationId(Uuid::from_u128(1)), Limits::default());
        let mut fold = Self { machine, now: 0, off: 0 };
        fold.row(Event::Spawn {
            generation: 1,
            delivery: message(1),
            conversation: ConversationId(Uuid::from_u128(1)),
            resume: false,
            baseline: Baseline::default(),
            version: "0".into(),
        });
        fold.row(Event::Child { pid: 1, start: 1, boot: "b".into() });
        fold
    }

    fn row(&mut self, ev: Event) {
        let at = Millis(i64::try_from(self.now).unwrap());
        self.machine.row(&Row { at, off: self.off, ev }, self.now);
    }

    fn write(&mut self, delivery: DeliveryId) {
        if self.machine.rows().deliveries.iter().all(|d| d.id != delivery) {
            let write = self.machine.next_write();
            self.row(Event::Begin { write, line: Line::User { delivery }, len: 1, hash: String::new() });
            self.row(Event::Done { write });
        }
    }

    fn wants(&mut self) -> Option<Action> {
        let action = self.machine.decide(&World {
            now: self.now,
            pending: &[],
            stored: &[],
            policy: Policy::Ask,
            pipe_ready: true,
            pipe_capacity: 1 << 20,
            interrupt: None,
            stop: false,
            hold: false,
            rested: 0,
            ..World::default()
        });
        match action {
            Some(Action::Asked { request_id }) => {
                self.row(Event::Asked { request_id });
                self.wants()
            }
            action => action,
        }
    }
}

/// The recorder names its messages so.
fn message(no: u128) -> DeliveryId {
    DeliveryId(Uuid::from_u128(0x1111_1111_0000_4000_8000_0000_0000_0000 + no))
}

/// Folds a recording. A message is written when its first receipt shows it; where there are none, all at the start.
fn fold(version: &str, scene: &str) -> Fold {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../claude-lab/recordings")
        .join(version)
        .join(format!("{scene}.ndjson"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut fold = Fold::new();
    let mut asked = 0;
    fold.write(message(1));
    for line in text.lines() {
        let frame = Frame::parse(line.as_bytes());
        if let Message::Lifecycle(receipt) = frame.message() {
            fold.write(receipt.command_uuid.parse().unwrap());
        }
        if let Message::ControlRequest(request) = frame.message() {
            asked += 1;
            assert!(matches!(request.request, claude_wire::Request::CanUseTool(_)));
        }
        // The last line is the answer to `end_session`, which ostler would not have sent before it settled.
        if matches!(frame.message(), Message::ControlResponse(r) if r.request_id == "end") {
            break;
        }
        let start = fold.off;
        fold.off += line.len() as u64 + 1;
        fold.now += 1;
        fold.machine.out((start, fold.off), &frame, fold.now);
    }
    assert_eq!(fold.machine.rows().permissions.len(), asked, "{version} {scene}");
    fold
}

#[track_caller]
fn ends(version: &str, scene: &str, outcome: Outcome, results: u32, messages: &[DeliveryState]) {
    let mut fold = fold(version, scene);
    let name = format!("{version} {scene}");
    let no_receipts = version == "2.1.200";
    if no_receipts {
        // Recorded without replays: what it took up is only counted, when it has read everything and was quiet.
        let ask = Line::Request {
            request_id: "i".into(),
            subtype: "initialize".into(),
            about: None,
            cancel_queued: false,
        };
        let write = fold.machine.next_write();
        fold.row(Event::Begin { write, line: ask, len: 1, hash: String::new() });
        fold.row(Event::Done { write });
        let line = br#"{"type":"control_response","response":{"subtype":"success","request_id":"i"}}"#;
        let start = fold.off;
        fold.off += line.len() as u64 + 1;
        fold.machine.out((start, fold.off), &Frame::parse(line), fold.now);
        fold.now += 2_000;
        if fold.wants() == Some(Action::Expire { deadline: Deadline::Quiet }) {
            fold.row(Event::Expired { deadline: Deadline::Quiet });
        }
    }
    assert_eq!(fold.wants(), Some(Action::Settle { gave_up_tasks: 0 }), "{name}");
    fold.row(Event::Settled { turn: 1, gave_up_tasks: 0 });
    let rows = fold.machine.project();
    assert_eq!(rows.turns.len(), 1, "{name}");
    assert_eq!((rows.turns[0].outcome, rows.turns[0].results), (Some(outcome), results), "{name}");
    let states: Vec<_> = rows.deliveries.iter().map(|d| d.state).collect();
    let expect = if no_receipts { &messages[..1] } else { messages };
    assert_eq!(states, expect, "{name}");
}

const VERSIONS: [&str; 5] = ["2.1.332", "2.1.299", "2.1.283", "2.1.240", "2.1.200"];

#[test]
fn every_scene_ends_as_it_should_on_every_version() {
    use DeliveryState::{Cancelled, Completed, Failed};
    for version in VERSIONS {
        ends(version, "plain", Outcome::Completed, 1, &[Completed]);
        ends(version, "thinking", Outcome::Completed, 1, &[Completed]);
        ends(version, "parallel-tools", Outcome::Completed, 1, &[Completed]);
        ends(version, "permission-allow", Outcome::Completed, 1, &[Completed]);
        ends(version, "permission-deny", Outcome::Completed, 1, &[Completed]);
        ends(version, "steer-in-tool", Outcome::Completed, 1, &[Completed, Completed]);
        ends(version, "late-delivery", Outcome::Completed, 2, &[Completed, Completed]);
        ends(version, "background-shell", Outcome::Completed, 2, &[Completed]);
        ends(version, "background-agent", Outcome::Completed, 2, &[Completed]);
        ends(version, "interrupt", Outcome::Interrupted, 1, &[Cancelled]);
        ends(version, "max-turns", Outcome::Failed, 1, &[Failed]);
        ends(version, "api-400", Outcome::Failed, 1, &[Failed]);
        ends(version, "clear", Outcome::Completed, 3, &[Completed, Completed, Completed]);
    }
}

#[test]
fn the_spend_of_a_scene_is_its_last_total_and_what_clear_left_behind() {
    for version in VERSIONS {
        for scene in ["plain", "parallel-tools", "background-shell", "background-agent", "late-delivery"] {
            let fold = fold(version, scene);
            let rows = fold.machine.project();
            let usd: f64 = rows.spend.iter().map(|s| s.usd.unwrap()).sum();
            assert!((usd - last_total(version, scene)).abs() < 1e-9, "{version} {scene}: {usd}");
        }
        // Two answers of this scene cost something, whether the totals began again between them or not.
        let fold = fold(version, "clear");
        let rows = fold.machine.project();
        let tokens = rows.spend.iter().fold(Tokens::default(), |sum, s| sum.plus(s.tokens));
        assert_eq!(tokens.output, 21, "{version} clear");
    }
}

fn last_total(version: &str, scene: &str) -> f64 {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../claude-lab/recordings");
    let text = std::fs::read_to_string(path.join(version).join(format!("{scene}.ndjson"))).unwrap();
    let totals = text.lines().filter_map(|line| match Frame::parse(line.as_bytes()).message() {
        Message::Result(result) => result.total_cost_usd,
        _ => None,
    });
    totals.fold(None, |_, total| Some(total)).unwrap()
}
