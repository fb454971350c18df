//! Whoever asks belongs to a child of the session: what a session does is decided, and deleted, by somebody outside of it.
//! That stops mistakes, not malice.

use crate::connection::Client;
use crate::problem::Problem;
use ostler_controller::client::ClientError;
use ostler_core::ids::SessionId;
use ostler_os::tree;
use std::ffi::OsStr;

/// Refuses a client of the local socket that runs inside the session. One on TCP has no process that we know.
pub(crate) fn refuse(client: Client, session: SessionId) -> Result<(), Problem> {
    let Client::Local(peer) = client else { return Ok(()) };
    let Some(pid) = peer.pid else { return Ok(()) };
    let id = session.to_string();
    let marked = tree::by_marker(OsStr::new("OSTLER_SESSION"), OsStr::new(&id)).unwrap_or_default();
    let below = |root: &u32| *root == pid || tree::descendants(*root).is_ok_and(|all| all.contains(&pid));
    if marked.iter().any(below) { Err(ClientError::Inside { session }.into()) } else { Ok(()) }
}
