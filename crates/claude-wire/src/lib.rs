//! The stream-json protocol of Claude Code: frames that keep their bytes, typed views, builders.
//!
//! | module | subject |
//! | --- | --- |
//! | [`split`] | bytes to lines, with the offset of each |
//! | [`frame`] | a line that keeps its bytes, and what it says |
//! | [`message`] | all kinds of lines |
//! | [`view`] | one struct for each kind |
//! | [`build`] | the lines that we write |
//! | [`known`] | what a line has that no view knows |
//!
//! Pure: no I/O, no clock, no threads. Nothing that a child prints makes anything here fail: what is unknown passes
//! through, a field that is missing or of another type is absent, what is no JSON object is
//! [`Message::Noise`], and the bytes are kept in every case.

pub mod build;
pub mod frame;
pub mod known;
pub mod message;
mod read;
pub mod split;
pub mod view;

pub use build::Content;
pub use frame::Frame;
pub use message::{Message, names};
pub use split::{Split, Splitter, Tail};
pub use view::*;
