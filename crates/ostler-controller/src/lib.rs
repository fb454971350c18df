//! Keeper and controller: the two processes of an active session, and the client that talks to them.
