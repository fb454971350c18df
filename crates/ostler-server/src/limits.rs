//! What one client may cost. Given to the server from outside, so that tests need not wait for minutes.

use ostler_core::content::MAX_MESSAGE;
use std::time::Duration;

/// Limits of connections and requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many connections are open at once, over all sockets.
    pub connections: usize,
    /// How long the head of a request may take, from the first byte that it could have had.
    pub head_within: Duration,
    /// The largest head, in bytes.
    pub head: usize,
    /// The most headers.
    pub headers: usize,
    /// How long the body of a request may take, from the end of its head.
    pub body_within: Duration,
    /// The largest body of a request that carries a message, in bytes.
    pub message_body: usize,
    /// The largest body of any other request, in bytes.
    pub body: usize,
    /// How many bodies larger than [`Limits::body`] are held at once.
    pub large_bodies: usize,
    /// The longest that a request waits because of `Prefer: wait=…`.
    pub wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            head_within: Duration::from_secs(15),
            head: 64 << 10,
            headers: 100,
            body_within: Duration::from_secs(60),
            // Encoders that write ASCII only make three bytes of one in most scripts, and no more than that.
            message_body: 3 * MAX_MESSAGE + (1 << 20),
            body: 1 << 20,
            large_bodies: 8,
            wait: Duration::from_secs(60),
        }
    }
}
