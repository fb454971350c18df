//! What people do with messages and questions: send, send again, take back, break off, decide.

use crate::dice::Dice;
use crate::scripts;
use crate::stage::{Session, wall};
use crate::told::{Sent, Shared};
use ostler_controller::client::{Choice, ClientError, Decider, NewMessage, Ostler, Verdict};
use ostler_core::content::{Block, Blocks, Content};
use ostler_core::ids::DeliveryId;
use ostler_core::machine::Mode;
use uuid::Uuid;

/// Who decides questions here.
pub(crate) const NAME: &str = "torture";
/// Nobody sends to a session that has not come to the end of so many messages: each may take a child's whole patience.
const BACKLOG: usize = 5;
/// The smallest PNG that there is, by its first bytes.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0";

/// Sends something new.
pub(crate) fn send(face: &Ostler, session: &Session, shared: &Shared, dice: &mut Dice) {
    let waiting = face.db().pending_deliveries(session.id).map(|all| all.len());
    if waiting.unwrap_or(0) >= BACKLOG {
        shared.counts.add("not sent, for too much waits");
        return;
    }
    let key = scripts::key(dice);
    // Some are longer than the pipe.
    let pad = if dice.once_in(40) { 100_000 } else { dice.below(200) };
    let mode = match dice.below(8) {
        0 | 1 => Mode::Queue,
        2 if !session.gentle => Mode::Now,
        _ => Mode::Auto,
    };
    let name = dice.once_in(8).then(|| Uuid::new_v4().to_string());
    let content = if dice.once_in(6) { blocks(key, pad, dice) } else { plain(key, pad) };
    deliver(face, session, shared, key, content, mode, name);
}

/// A message that ends the wait of a session that waits for somebody to act.
pub(crate) fn act(face: &Ostler, session: &Session, shared: &Shared) {
    deliver(face, session, shared, "plain", plain("plain", 0), Mode::Auto, None);
}

fn plain(key: &str, pad: usize) -> Content {
    let text =
        if key == scripts::CLEAR { "/clear".to_owned() } else { format!("[{key}] {}", "x".repeat(pad)) };
    text.into()
}

/// Text behind an image, a document, or both.
fn blocks(key: &'static str, pad: usize, dice: &mut Dice) -> Content {
    if key == scripts::CLEAR {
        return plain(key, 0);
    }
    let mut all = Vec::new();
    if dice.once_in(2) {
        let bytes = [PNG, &vec![7; pad]].concat();
        all.push(Block::image(&bytes).expect("it begins as a PNG does"));
    }
    if dice.once_in(2) {
        all.push(Block::document("notes", b"what there is to know").expect("it is text"));
    }
    all.push(Block::text(&format!("[{key}] {}", "y".repeat(pad % 200))));
    Content::Blocks(Blocks::of(all).expect("each of them is good"))
}

fn deliver(
    face: &Ostler,
    session: &Session,
    shared: &Shared,
    key: &'static str,
    content: Content,
    mode: Mode,
    name: Option<String>,
) {
    let id = DeliveryId(Uuid::new_v4());
    let over = shared.end_of(session.id).is_some_and(|end| end.told);
    let message =
        NewMessage { id, content: content.clone(), mode, idempotency_key: name.clone(), at: wall() };
    let result = face.deliver(session.id, &message);
    shared.counts.add(match (&result, mode) {
        (Ok(_), Mode::Now) => "sent, to run now",
        (Ok(_), _) => "sent",
        (Err(_), _) => "sent, not answered",
    });
    if matches!(content, Content::Blocks(_)) {
        shared.counts.add("sent with more than text");
    }
    if over && result.is_ok() {
        shared.counts.fail(format!("session {} is closed and took {id}", session.id));
    }
    shared.note_error(Some(session.id), result.as_ref().err());
    shared.was_sent(Sent { session: session.id, id, key, content, name, accepted: result.is_ok() });
}

/// Sends something a second time under its name: that is the same message, or it is refused as another one.
pub(crate) fn send_again(face: &Ostler, session: &Session, shared: &Shared, dice: &mut Dice) {
    let Some(first) = shared.recent(session, dice, |sent| sent.name.is_some()) else { return };
    let id = DeliveryId(Uuid::new_v4());
    let other = dice.once_in(4);
    let content = if other { plain("plain", 3) } else { first.content.clone() };
    let name = first.name.clone();
    let message =
        NewMessage { id, content: content.clone(), mode: Mode::Auto, idempotency_key: name, at: wall() };
    let result = face.deliver(session.id, &message);
    shared.counts.add("sent again under its name");
    let fail = |what: String| shared.counts.fail(format!("session {}: {what}", session.id));
    match &result {
        Ok(same) if first.accepted && (*same != first.id || content != first.content) => {
            fail(format!("{} was sent again under its name and is {same}", first.id));
        }
        Err(ClientError::OtherBody) if other || !first.accepted => {}
        error => shared.note_error(Some(session.id), error.as_ref().err()),
    }
    let accepted = result.is_ok_and(|taken| taken == id);
    let name = first.name;
    shared.was_sent(Sent { session: session.id, id, key: first.key, content, name, accepted });
}

/// Wants one message back.
pub(crate) fn take_back(face: &Ostler, session: &Session, shared: &Shared, dice: &mut Dice) {
    let Some(sent) = shared.recent(session, dice, |sent| sent.accepted) else { return };
    let result = face.cancel(session.id, sent.id);
    shared.counts.add(match &result {
        Ok(()) => "wanted back in time",
        Err(_) => "wanted back too late",
    });
    shared.note_error(Some(session.id), result.as_ref().err());
    if result.is_ok() {
        shared.was_taken_back(session.id, [sent.id]);
    }
}

/// Interrupts it; with `all`, what waits is taken back.
pub(crate) fn break_off(face: &Ostler, session: &Session, shared: &Shared, all: bool) {
    let result = face.break_off(session.id, all);
    shared.counts.add(if all { "interrupts that take back" } else { "interrupts" });
    shared.note_error(Some(session.id), result.as_ref().err());
    if let Ok(done) = result {
        if !all && !done.cancelled.is_empty() {
            shared.counts.fail(format!("session {}: took back what nobody wanted back", session.id));
        }
        shared.was_taken_back(session.id, done.cancelled);
    }
}

/// Decides open questions, allowing or denying.
pub(crate) fn decide(face: &Ostler, session: &Session, shared: &Shared, dice: &mut Dice) {
    for row in face.db().pending_permissions(Some(session.id)).unwrap_or_default() {
        let allow = dice.once_in(2);
        let reason = (!allow && dice.once_in(2)).then(|| "no".to_owned());
        let verdict = Verdict {
            generation: row.journal.generation,
            request_id: row.journal.request_id,
            choice: if allow { Choice::allow() } else { Choice::deny(reason) },
            by: NAME.to_owned(),
            decider: Decider::This,
            at: wall(),
        };
        let decided = face.decide(session.id, &verdict);
        shared.counts.add(if allow { "allowed" } else { "denied" });
        shared.note_error(Some(session.id), decided.as_ref().err());
    }
}
