//! The session that a name means, the shortest name for it, and what a message of it says.

use super::face::Face;
use super::words;
use crate::failure::{Failure, UsageError};
use crate::view;
use ostler_controller::client::Ostler;
use ostler_core::content;
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_store::db::SessionRow;

/// Shortest part of an id that is printed.
const SHORTEST: usize = 8;

/// The one session whose id begins with `name`, or whose label it is.
pub(super) fn session(ostler: &Ostler, name: &str) -> Result<SessionRow, Failure> {
    Ok(ostler.db().find_session(name)?)
}

/// The one message of the session whose id begins with `name`.
pub(super) fn delivery(ostler: &Ostler, row: &SessionRow, name: &str) -> Result<DeliveryId, Failure> {
    let begins = |id: &DeliveryId| !name.is_empty() && id.to_string().starts_with(&name.to_lowercase());
    let found: Vec<_> = ostler.db().deliveries(row.id)?.into_iter().map(|d| d.id).filter(begins).collect();
    match found[..] {
        [one] => Ok(one),
        [] => Err(UsageError::NoMessage { name: name.to_owned() }.into()),
        _ => Err(UsageError::WhichMessage { name: name.to_owned() }.into()),
    }
}

/// The shortest beginning of the id, eight characters at least, that means this session and no other.
pub(super) fn short(ostler: &Ostler, id: SessionId) -> String {
    let text = id.to_string();
    // At the dashes: a name that ends with one is odd to read.
    let lengths = [SHORTEST, 13, 18, 23];
    let unique = |len: &usize| ostler.db().find_session(&text[..*len]).is_ok_and(|row| row.id == id);
    lengths.into_iter().find(unique).map_or_else(|| text.clone(), |len| text[..len].to_owned())
}

/// The command with which a session goes on, to be copied: a message; for a stopped one its resume, and for a closed one
/// a look at what it was.
pub(super) fn go_on(face: &Face, ostler: &Ostler, id: SessionId) -> String {
    let record = ostler.db().record(id).map(|(record, _)| record).unwrap_or_default();
    match (record.closed, record.stopped) {
        (true, _) => command(face, ostler, &["show"], id),
        (false, true) => resume(face, ostler, id),
        (false, false) => {
            // A sealed base is only copied.
            let sealed = ostler.db().base(id).ok().flatten().is_some_and(|base| base.is_sealed());
            let verb: &[&str] = if sealed { &["fork"] } else { &["send", "--watch"] };
            format!("{} \"…\"", command(face, ostler, verb, id))
        }
    }
}

/// The command that takes a stop back.
pub(super) fn resume(face: &Face, ostler: &Ostler, id: SessionId) -> String {
    command(face, ostler, &["resume"], id)
}

fn command(face: &Face, ostler: &Ostler, verb: &[&str], id: SessionId) -> String {
    let mut words = vec![words::program()];
    words.extend(face.home_arguments(ostler.home().root()));
    words.extend(verb.iter().map(Into::into));
    words.push(short(ostler, id).into());
    words::command_line(words)
}

/// What a message says, for people.
pub(super) fn said(ostler: &Ostler, delivery: DeliveryId) -> Option<String> {
    let body = ostler.db().delivery_body(delivery).ok()?;
    Some(view::said(&content::shown(&body)))
}
