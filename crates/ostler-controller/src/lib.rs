//! Keeper and controller: the two processes of an active session, and the client that talks to them.
//!
//! | module | subject |
//! | --- | --- |
//! | [`keeper`] | the tiny parent of an active session's controller and child |
//! | [`controller`] | the loop around one session |
//! | `slim` | what both give back while they wait |
//! | [`crash`] | named points at which tests kill a process |
//! | [`client`] | the one library interface under every face: create, deliver, wait, interrupt, stop, decide |

pub mod client;
pub mod controller;
pub mod crash;
pub mod keeper;
mod protocol;
mod slim;
