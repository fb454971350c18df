//! What sessions say, as it comes: streams over journals and over the records.
//!
//! Everything is served from files. A stream is a place in a journal and the ear that waits for its bell; one inotify
//! instance serves all of them, and no stream has a thread. What a client doesn't take is not read.
//!
//! | file | subject |
//! | --- | --- |
//! | `hub.rs`, `bell.rs` | who is told when which files change |
//! | `tail.rs` | a follower that a task can wait with |
//! | `clean.rs` | which bytes may stand in an SSE field as they are |
//! | `record.rs` | SSE records |
//! | `long.rs` | a line that is longer than anybody should hold |
//! | `filter.rs` | what of a stream a client wants |
//! | `control.rs` | ostler's own rows, as the API tells them |
//! | `stream.rs` | one session's stream: a body that is made while it is sent |
//! | `page.rs` | the same, a page at a time, as JSON |
//! | `changes.rs` | the records' changes, of all sessions |

mod bell;
mod changes;
mod clean;
mod control;
mod filter;
mod hub;
mod long;
mod page;
mod record;
mod stream;
mod tail;
#[cfg(test)]
mod tests;

pub(crate) use changes::Changes;
pub(crate) use filter::Filter;
pub(crate) use hub::Hub;
pub(crate) use page::{EventPage, page};
pub(crate) use record::StreamEvent;
pub(crate) use stream::{Begin, Reset, Stream};

/// The longest line that a stream holds in memory; longer ones go from the file in pieces.
pub(crate) const LONGEST_HELD: usize = 64 << 10;
