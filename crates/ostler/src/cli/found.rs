//! The session that a name means, and the shortest name for it.

use super::face::Face;
use super::words;
use crate::failure::Failure;
use ostler_controller::client::Ostler;
use ostler_core::ids::SessionId;
use ostler_store::db::SessionRow;

/// Shortest part of an id that is printed.
const SHORTEST: usize = 8;

/// The one session whose id begins with `name`, or whose label it is.
pub(super) fn session(ostler: &Ostler, name: &str) -> Result<SessionRow, Failure> {
    Ok(ostler.db().find_session(name)?)
}

/// The shortest beginning of the id, eight characters at least, that means this session and no other.
pub(super) fn short(ostler: &Ostler, id: SessionId) -> String {
    let text = id.to_string();
    // At the dashes: a name that ends with one is odd to read.
    let lengths = [SHORTEST, 13, 18, 23];
    let unique = |len: &usize| ostler.db().find_session(&text[..*len]).is_ok_and(|row| row.id == id);
    lengths.into_iter().find(unique).map_or_else(|| text.clone(), |len| text[..len].to_owned())
}

/// The command with which a session goes on, to be copied.
pub(super) fn go_on(face: &Face, ostler: &Ostler, id: SessionId) -> String {
    let mut words = vec![words::program()];
    words.extend(face.home_arguments(ostler.home().root()));
    words.extend(["send".into(), "--watch".into(), short(ostler, id).into()]);
    format!("{} \"…\"", words::command_line(words))
}
