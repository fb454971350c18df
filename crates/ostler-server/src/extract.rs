//! What a request says, read with errors that are problems like any other.
//!
//! | file | subject |
//! | --- | --- |
//! | `extract/body.rs` | JSON bodies: limits of size and time, errors with their place |
//! | `extract/parts.rs` | path, query, `Prefer`, `Idempotency-Key` |

mod body;
mod parts;

pub(crate) use body::{Choices, Message, object, read as read_body};
pub(crate) use parts::{Key, Path, Query, Wait};
