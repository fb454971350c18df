//! Records in SQLite, session folders, journals, cursors and followers.
//!
//! | module | subject |
//! | --- | --- |
//! | [`home`] | `$OSTLER_HOME`: finding it, and the reasons to refuse one |
//! | [`session_dir`] | the paths inside a session folder and a generation folder |
//! | [`session_file`] | `session.json` |
//! | [`base_file`] | `base.json` |
//! | [`ctl_file`] | appending to `gen/N/ctl` |
//! | [`cursor`] | a place in a journal |
//! | [`journal`] | reading `out` and `ctl` in folding order, from any cursor, live or cold |
//! | [`db`] | `ostler.db`: the only SQL of the project |
//! | [`rebuild`] | session rows from session folders, for a database that was lost |
//!
//! The journal is the truth about what a session said and was told; `generation`, `turn`, `permission` and `spend`
//! rows and the states of deliveries are its projection and can be dropped and folded again. Names, queues and
//! decisions that a face took live only in the database.
//!
//! # Rules for who writes a journal
//!
//! Only the holder of a session's `lock` writes `ctl`. It appends nothing to `gen/N/ctl` once a later generation
//! exists. `gen/0000/ctl` is for what happens outside any generation; there is no `out` beside it, so its rows carry
//! in `off` **the number of the newest generation**, and they are folded after everything of that generation (0:
//! before the first). Nothing more is appended to that generation's `ctl` after such a row.

pub mod base_file;
pub mod ctl_file;
pub mod cursor;
pub mod db;
pub mod flags;
pub mod home;
pub mod journal;
mod lines;
pub mod rebuild;
pub mod session_dir;
pub mod session_file;

pub use ctl_file::{CtlError, CtlFile, CtlLine};
pub use cursor::{Cursor, CursorError};
pub use db::{Db, DbError, Durability};
pub use flags::Flags;
pub use home::{Home, HomeError};
pub use journal::{Entry, Follower, Found, Journal, JournalError};
pub use session_dir::{GenDir, SessionDir};
pub use session_file::{SessionFile, SessionFileError};
