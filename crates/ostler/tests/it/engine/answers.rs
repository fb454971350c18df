//! Each sender gets the answer to its own message.

use super::stable::{PATIENCE, Stable, now, until};
use ostler_controller::client::{NewMessage, Waited};
use ostler_core::ids::DeliveryId;
use ostler_core::machine::Mode;
use ostler_core::rows::{DeliveryState, Outcome};
use std::time::Instant;
use uuid::Uuid;

fn soon() -> Option<Instant> {
    Some(Instant::now() + PATIENCE)
}

#[test]
fn two_who_wait_at_once_get_their_own_answers() {
    let stable = Stable::new();
    let session = stable.session("otherwise\n say You said $text\n");
    let id = session.id;
    std::thread::scope(|scope| {
        for text in ["one", "two", "three"] {
            let face = stable.another_face();
            scope.spawn(move || {
                let own = DeliveryId(Uuid::new_v4());
                let text = text.to_owned();
                let message = NewMessage {
                    id: own,
                    content: text.as_str().into(),
                    mode: Mode::Auto,
                    idempotency_key: None,
                    at: now(),
                };
                face.deliver(id, &message).unwrap();
                let waited = face.wait_for(id, own, soon()).unwrap();
                assert!(matches!(waited, Waited::Settled(Some(_))), "{waited:?}");
                let summary = face.summary_of(id, own).unwrap();
                assert_eq!(summary.answer, Some(format!("You said {text}")));
                assert_eq!(summary.outcome, Some(Outcome::Completed));
            });
        }
    });
    session.wait();
    stable.finish();
}

#[test]
fn whoever_waits_for_a_message_does_not_wait_for_the_next_one() {
    let stable = Stable::new();
    let script = "turn\n say first\nturn\n tool Bash {}\n until go\n then\n say second\n";
    let session = stable.session_of(script, |spec| spec.limits.linger = 60_000);
    let first = session.send("one");
    session.wait();
    let second = session.send("two");
    session.becomes(second, DeliveryState::Started);
    let waited = stable.ostler.wait_for(session.id, first, soon()).unwrap();
    assert!(matches!(&waited, Waited::Settled(Some(turn)) if turn.no == 1), "{waited:?}");
    assert_eq!(stable.ostler.summary_of(session.id, first).unwrap().answer.as_deref(), Some("first"));
    let still = stable.ostler.wait_for(session.id, second, Some(Instant::now())).unwrap();
    assert_eq!(still, Waited::StillRunning);
    session.open("go");
    stable.ostler.wait_for(session.id, second, soon()).unwrap();
    assert_eq!(stable.ostler.summary_of(session.id, second).unwrap().answer.as_deref(), Some("second"));
    stable.ostler.stop(session.id).unwrap();
    stable.finish();
}

#[test]
fn a_message_that_was_interrupted_or_taken_back_has_an_end_too() {
    let stable = Stable::new();
    let session = stable.session("turn\n tool Bash {}\n until never\n then\n say never\n");
    let first = session.send("one");
    session.becomes(first, DeliveryState::Started);
    let back = session.send_as("two", Mode::Queue).unwrap();
    stable.ostler.cancel(session.id, back).unwrap();
    assert_eq!(stable.ostler.wait_for(session.id, back, soon()).unwrap(), Waited::Settled(None));
    stable.ostler.interrupt(session.id, false).unwrap();
    stable.ostler.wait_for(session.id, first, soon()).unwrap();
    for id in [first, back] {
        let summary = stable.ostler.summary_of(session.id, id).unwrap();
        assert_eq!(summary.outcome, Some(Outcome::Interrupted));
    }
    stable.finish();
}

/// Many senders at once: everybody's messages are answered once, in the order in which they were accepted.
#[test]
fn many_senders_at_once_keep_their_order() {
    const SENDERS: usize = 6;
    const EACH: usize = 5;
    let stable = Stable::new();
    let session = stable.session("otherwise\n say You said $text\n");
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (face, id) = (stable.another_face(), session.id);
            scope.spawn(move || {
                for n in 0..EACH {
                    let text = format!("{sender}.{n}");
                    let own = DeliveryId(Uuid::new_v4());
                    let message = NewMessage {
                        id: own,
                        content: text.into(),
                        mode: Mode::Auto,
                        idempotency_key: None,
                        at: now(),
                    };
                    face.deliver(id, &message).unwrap();
                }
            });
        }
    });
    session.wait();
    let accepted = stable.ostler.db().deliveries(session.id).unwrap();
    assert_eq!(accepted.len(), SENDERS * EACH);
    assert!(accepted.iter().all(|d| d.state == DeliveryState::Completed), "{accepted:?}");
    let read: Vec<String> = until("the log", || {
        let lines = session.log().into_iter().filter(|l| l["type"] == "user");
        Some(lines.map(|l| l["uuid"].as_str().unwrap().to_owned()).collect())
    });
    let order: Vec<String> = accepted.iter().map(|d| d.id.to_string()).collect();
    assert_eq!(read, order, "written once each, in the order of acceptance");
    stable.finish();
}
