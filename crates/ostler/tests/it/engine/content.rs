//! Messages of content blocks, and messages that are sent twice under one name; also when somebody dies over them.

use super::crashes::{at, ran_once};
use super::stable::{PATIENCE, Session, Stable, until};
use claude_wire::build;
use ostler_controller::client::{ClientError, MAX_KEY, NewMessage, Waited};
use ostler_core::content::{Block, Blocks, Content, MAX_MESSAGE};
use ostler_core::ctl::{Event, Line};
use ostler_core::ids::DeliveryId;
use ostler_core::machine::Mode;
use ostler_core::rows::Outcome;
use serde_json::Value;

/// A png of about so many bytes, and text that no line may hold as it is.
fn blocks(size: usize) -> Blocks {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.resize(size, 7);
    let document = Block::document("a.txt", "one\ntwo\u{2028}three".as_bytes()).unwrap();
    Blocks::of(vec![document, Block::image(&png).unwrap(), Block::text("look\nat it")]).unwrap()
}

fn deliver(session: &Session<'_>, content: Content, key: Option<&str>) -> Result<DeliveryId, ClientError> {
    let message = NewMessage {
        id: DeliveryId(uuid::Uuid::new_v4()),
        content,
        mode: Mode::Auto,
        idempotency_key: key.map(str::to_owned),
        at: super::stable::now(),
    };
    session.stable.ostler.deliver(session.id, &message)
}

/// Every write of the delivery, in whichever generation: its length and hash.
fn writes(session: &Session<'_>, id: DeliveryId) -> Vec<(u64, String)> {
    let numbers = session.dir.generations().unwrap();
    let rows = numbers.into_iter().flat_map(|no| session.rows(no));
    let ours = rows.filter_map(|row| match row.ev {
        Event::Begin { line: Line::User { delivery }, len, hash, .. } if delivery == id => Some((len, hash)),
        _ => None,
    });
    ours.collect()
}

/// What a child read is the array, and every line of it that was ever begun is the same.
#[track_caller]
fn was_read(session: &Session<'_>, id: DeliveryId, blocks: &Blocks) {
    let array: Value = serde_json::from_str(blocks.json()).unwrap();
    let read: Vec<Value> = session.log().into_iter().filter(|line| line["uuid"] == id.to_string()).collect();
    assert_ne!(read, Vec::<Value>::new());
    for line in read {
        assert!(line["message"]["content"] == array, "not the blocks");
    }
    let stored = Content::Blocks(blocks.clone()).to_stored();
    let line = build::user_line(id.0, &ostler_core::content::to_wire(&stored), None);
    let writes = writes(session, id);
    assert!(!writes.is_empty());
    for (len, hash) in &writes {
        assert_eq!((*len, hash), (line.len() as u64, &writes[0].1));
    }
}

#[test]
fn a_child_reads_the_blocks() {
    let stable = Stable::new();
    let session = stable.session("otherwise\n say You said $text\n");
    // Stored in the database, in a file, and longer than a pipe.
    for size in [100, 200 << 10, 3 << 20] {
        let blocks = blocks(size);
        let id = deliver(&session, Content::Blocks(blocks.clone()), None).unwrap();
        assert_eq!(session.wait().outcome, Some(Outcome::Completed));
        assert_eq!(session.answer(), "You said look\nat it");
        was_read(&session, id, &blocks);
    }
    stable.finish();
}

#[test]
fn blocks_that_are_offered_again_are_the_same_bytes() {
    for point in ["begin-written", "line-written"] {
        at(point, |stable, _| {
            let session = stable.session("turn\n say seen\n");
            let blocks = blocks(100);
            let id = deliver(&session, Content::Blocks(blocks.clone()), None).unwrap();
            assert_eq!(session.wait().outcome, Some(Outcome::Completed));
            was_read(&session, id, &blocks);
            ran_once(&session, &[id]);
        });
    }
}

/// The first child has half of it; another one gets the whole.
#[test]
fn blocks_of_which_half_was_written() {
    at("line-half-written", |stable, who| {
        let session = stable.session("start\n until reading\notherwise\n say seen\n");
        let blocks = blocks(3 << 20);
        let id = deliver(&session, Content::Blocks(blocks.clone()), None).unwrap();
        until("half a line", || (!writes(&session, id).is_empty()).then_some(()));
        let (face, session_id) = (stable.another_face(), session.id);
        let waited = std::thread::scope(|scope| {
            let waits = scope
                .spawn(move || face.wait(session_id, Some(std::time::Instant::now() + PATIENCE)).unwrap());
            if who != "keeper" {
                session.row(1, "the kill", |ev| matches!(ev, Event::Kill { .. }).then_some(()));
            }
            session.open("reading");
            waits.join().unwrap()
        });
        assert!(matches!(waited, Waited::Settled(Some(_))), "{waited:?}");
        was_read(&session, id, &blocks);
        assert_eq!(session.offers(id), 1, "the first child never saw the line whole");
        if who != "keeper" {
            assert_eq!(writes(&session, id).len(), 2);
        }
    });
}

#[test]
fn what_is_too_large_is_not_accepted() {
    let stable = Stable::new();
    let session = stable.session("otherwise\n say no\n");
    let text = Block::document("t", "x".repeat(MAX_MESSAGE).as_bytes()).unwrap();
    let large = Content::Blocks(Blocks::of(vec![text]).unwrap());
    let error = deliver(&session, large, None).unwrap_err();
    assert!(matches!(error, ClientError::PromptTooLarge { limit: MAX_MESSAGE, .. }), "{error}");
    assert_eq!(stable.ostler.db().deliveries(session.id).unwrap(), []);
    stable.finish();
}

#[test]
fn a_key_is_a_name() {
    let stable = Stable::new();
    let session = stable.session("otherwise\n say You said $text\n");
    for key in [String::new(), "k".repeat(MAX_KEY + 1)] {
        let error = deliver(&session, "hello".into(), Some(&key)).unwrap_err();
        assert!(matches!(error, ClientError::Key { len, .. } if len == key.len()), "{error}");
    }
    deliver(&session, "hello".into(), Some(&"k".repeat(MAX_KEY))).unwrap();
    session.wait();
    stable.finish();
}

/// Whoever dies over a message that has a name, and whenever it is sent again: it is one delivery and one turn.
#[test]
fn a_key_over_crashes_of_those_who_deliver() {
    let both: [fn() -> Content; 2] = [|| "hello".into(), || Content::Blocks(blocks(100))];
    for (content, point) in both.into_iter().flat_map(|content| {
        ["claimed", "before-spawn-json", "begin-written", "done-written", "before-settled"]
            .map(|p| (content, p))
    }) {
        at(point, |stable, _| {
            let session = stable.session("turn\n say seen\notherwise\n say again\n");
            let send = || deliver(&session, content(), Some("the one"));
            let id = send().unwrap();
            assert_eq!(send().unwrap(), id, "{point}: while it runs");
            assert_eq!(session.wait().outcome, Some(Outcome::Completed));
            assert_eq!(send().unwrap(), id, "{point}: when it has run");
            let other = deliver(&session, "something else".into(), Some("the one"));
            assert!(matches!(other, Err(ClientError::OtherBody)), "{point}: {other:?}");
            session.wait();
            assert_eq!(stable.ostler.db().deliveries(session.id).unwrap().len(), 1);
            ran_once(&session, &[id]);
        });
    }
}
