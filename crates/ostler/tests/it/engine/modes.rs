//! `queue` and `now`: messages that do not go into what runs.

use super::stable::{Session, Stable, kill, until};
use ostler_core::ctl::{Event, KillReason, Line};
use ostler_core::ids::DeliveryId;
use ostler_core::machine::Mode;
use ostler_core::rows::{DeliveryState, Outcome};

/// The first message keeps a tool running; everything else is echoed.
const BUSY: &str =
    "turn\n mark tool\n tool Bash {}\n until never\n then\n say never\notherwise\n say You said $text\n";

/// The user lines of all children, in the order in which they were read.
fn read(session: &Session<'_>) -> Vec<String> {
    let said = |line: &serde_json::Value| {
        line["uuid"].as_str().filter(|_| line["type"] == "user").map(str::to_owned)
    };
    session.log().iter().filter_map(said).collect()
}

fn running(session: &Session<'_>) {
    until("the tool to run", || {
        let out = std::fs::read_to_string(session.generation(1).out()).unwrap_or_default();
        out.contains("tool_use").then_some(())
    });
}

fn ids(ids: &[DeliveryId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

/// The text that answered a delivery.
fn answer_to(session: &Session<'_>, id: DeliveryId) -> String {
    let row = session.delivery(id);
    let (start, end) = row.answer.expect("an answer");
    let bytes = ostler_store::journal::read_range(&session.generation(row.generation), start, end).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    json["result"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_queued_message_does_not_wait_for_a_background_task() {
    let stable = Stable::new();
    let script = "turn\n shell server run\n until stopped\n wakes nothing\n then\n say it runs\notherwise\n say You said $text\n";
    let session = stable.session(script);
    session.send("start the server");
    until("the first result", || {
        session.projection().turns.first().is_some_and(|t| t.results == 1).then_some(())
    });
    let queued = session.send_as("look at it", Mode::Queue).unwrap();
    session.becomes(queued, DeliveryState::Completed);
    assert_eq!(session.projection().turns[0].settled_at, None, "the server runs on");
    assert_eq!(answer_to(&session, queued), "You said look at it");
    session.open("stopped");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    stable.finish();
}

#[test]
fn several_queued_messages_come_one_after_the_other() {
    let stable = Stable::new();
    let script = "turn\n shell server run\n until stopped\n wakes nothing\n then\n say it runs\n\
                  turn\n tool Bash {}\n mark second\n until second-done\n then\n say two\notherwise\n say You said $text\n";
    let session = stable.session(script);
    session.send("start the server");
    until("the first result", || {
        session.projection().turns.first().is_some_and(|t| t.results == 1).then_some(())
    });
    let second = session.send_as("second", Mode::Queue).unwrap();
    let third = session.send_as("third", Mode::Queue).unwrap();
    session.reaches("second");
    session.becomes(second, DeliveryState::Started);
    assert_eq!(session.offers(third), 0, "not into the running segment");
    session.open("second-done");
    session.becomes(third, DeliveryState::Completed);
    assert_eq!(answer_to(&session, third), "You said third");
    session.open("stopped");
    session.wait();
    stable.finish();
}

#[test]
fn now_breaks_off_what_runs_and_goes_first() {
    let stable = Stable::new();
    let session = stable.session(BUSY);
    let first = session.send("work");
    running(&session);
    let waits = session.send_as("later", Mode::Queue).unwrap();
    let now = session.send_as("stop that", Mode::Now).unwrap();
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    assert_eq!(session.delivery(first).state, DeliveryState::Cancelled);
    assert_eq!(answer_to(&session, now), "You said stop that");
    assert_eq!(answer_to(&session, waits), "You said later");
    assert_eq!(read(&session), ids(&[first, now, waits]));
    let interrupts = session.requests().into_iter().filter(|r| r == "interrupt").count();
    assert_eq!(interrupts, 1);
    let id = format!("ostler-now-{now}");
    session.row(1, "its interrupt", |ev| match ev {
        Event::Begin { line: Line::Request { request_id, .. }, .. } => (*request_id == id).then_some(()),
        _ => None,
    });
    stable.finish();
}

/// What stands in claude's own queue can't be overtaken; nothing of it is lost.
#[test]
fn now_keeps_what_claude_has_in_its_queue() {
    let stable = Stable::new();
    let session = stable.session(BUSY);
    let first = session.send("work");
    running(&session);
    let queued = session.send("queued");
    session.becomes(queued, DeliveryState::Queued);
    let now = session.send_as("stop that", Mode::Now).unwrap();
    session.wait();
    assert_eq!(session.delivery(first).state, DeliveryState::Cancelled);
    for id in [queued, now] {
        assert_eq!(session.delivery(id).state, DeliveryState::Completed);
        assert_eq!(session.offers(id), 1);
    }
    stable.finish();
}

#[test]
fn now_is_a_plain_message_where_nothing_runs() {
    let stable = Stable::new();
    let session = stable.session_of("otherwise\n say You said $text\n", |spec| spec.limits.linger = 60_000);
    session.send_as("one", Mode::Now).unwrap();
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    session.send_as("two", Mode::Now).unwrap();
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.generation), (Some(Outcome::Completed), 1));
    assert_eq!(session.requests(), Vec::<String>::new());
    stable.ostler.stop(session.id).unwrap();
    stable.finish();
}

#[test]
fn now_before_the_first_turn_has_begun() {
    let stable = Stable::new();
    let session = stable.session(&format!("start\n until up\n{BUSY}"));
    let first = session.send("work");
    session.row(1, "the first line written", |ev| matches!(ev, Event::Done { write: 1 }).then_some(()));
    let now = session.send_as("stop that", Mode::Now).unwrap();
    session.row(1, "the interrupt written", |ev| matches!(ev, Event::Done { write: 2 }).then_some(()));
    assert_eq!(session.offers(now), 0);
    session.open("up");
    session.wait();
    assert_eq!(session.delivery(first).state, DeliveryState::Cancelled);
    assert_eq!(answer_to(&session, now), "You said stop that");
    stable.finish();
}

#[test]
fn now_with_a_deaf_child_goes_to_the_next_one() {
    for script in ["ignore interrupt\n", "turn\n mark tool\n deaf until never\n say never\n"] {
        let stable = Stable::new();
        let session = stable.session_of(&format!("{script}{BUSY}"), |spec| spec.limits.interrupt = 400);
        let first = session.send("work");
        session.reaches("tool");
        // Two lines fill the pipe of a child that does not read: then not even the interrupt can be begun.
        let more = [session.send("more"), session.send("and more")];
        let now = session.send_as("stop that", Mode::Now).unwrap();
        session.row(1, "the kill", |ev| matches!(ev, Event::Kill { why: KillReason::Deaf }).then_some(()));
        session.script("otherwise\n say You said $text\n");
        session.wait();
        assert_eq!(session.delivery(first).state, DeliveryState::Cancelled);
        assert_eq!(answer_to(&session, now), "You said stop that");
        let offered = session.rows(2).into_iter().find_map(|row| match row.ev {
            Event::Begin { line: Line::User { delivery }, .. } => Some(delivery),
            _ => None,
        });
        // As in one that listens, it comes behind what had been written, whose turns it breaks off.
        assert_eq!(offered, Some(more[0]), "what the child before was given, in its order");
        for id in more {
            assert!(session.delivery(id).state.is_final());
        }
        stable.finish();
    }
}

#[test]
fn two_that_say_now_come_in_their_order() {
    let stable = Stable::new();
    let session = stable.session(BUSY);
    session.send("work");
    running(&session);
    // Should the second one come so late that it wakes another child.
    session.script("otherwise\n say You said $text\n");
    let now = [session.send_as("one", Mode::Now).unwrap(), session.send_as("two", Mode::Now).unwrap()];
    session.wait();
    assert_eq!(read(&session)[1..], ids(&now));
    assert_eq!(session.delivery(now[1]).state, DeliveryState::Completed);
    stable.finish();
}

/// A controller that dies on its way: the interrupt is sent once, and the message written once.
#[test]
fn now_survives_a_controller_that_dies_at_any_step() {
    for step in 0..4 {
        let stable = Stable::new();
        let session = stable.session(BUSY);
        let first = session.send("work");
        running(&session);
        let wanted = |no: u64| {
            move |ev: &Event| matches!(ev, Event::Begin { write, .. } if *write == no).then_some(())
        };
        let now = match step {
            0 => {
                kill(session.controller());
                session.send_as("stop that", Mode::Now).unwrap()
            }
            _ => {
                let now = session.send_as("stop that", Mode::Now).unwrap();
                session.row(1, "a write", wanted(if step == 3 { 3 } else { 2 }));
                if step == 2 {
                    until("the confirmation", || {
                        let out = std::fs::read_to_string(session.generation(1).out()).unwrap();
                        out.contains("still_queued").then_some(())
                    });
                }
                for pid in session.holders().into_iter().skip(1) {
                    kill(pid);
                }
                now
            }
        };
        session.wait();
        assert_eq!(session.delivery(first).state, DeliveryState::Cancelled, "step {step}");
        assert_eq!(answer_to(&session, now), "You said stop that", "step {step}");
        let interrupts: std::collections::BTreeSet<_> = session
            .log()
            .iter()
            .filter(|l| l["request"]["subtype"] == "interrupt")
            .map(|l| l["request_id"].to_string())
            .collect();
        assert_eq!(interrupts.len(), 1, "step {step}");
        stable.finish();
    }
}
