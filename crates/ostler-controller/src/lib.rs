//! Keeper and controller: the two processes of an active session, and the client that talks to them.
//!
//! | module | subject |
//! | --- | --- |
//! | [`client`] | the one library interface under every face: create, deliver, wait, interrupt, stop, decide |

pub mod client;
