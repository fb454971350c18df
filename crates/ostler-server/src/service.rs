//! A service manager: sockets that it hands down, and what it is told. Without one nothing of this does anything.

use crate::listen::ListenError;
use listenfd::ListenFd;
use ostler_os::ipc::Inherited;
use sd_notify::NotifyState;
use std::net::TcpListener;

/// Sockets that were bound before this process began (systemd's `LISTEN_FDS`).
#[derive(Debug, Default)]
pub struct HandedDown {
    pub(crate) tcp: Vec<TcpListener>,
    pub(crate) local: Vec<Inherited>,
}

impl HandedDown {
    /// Takes them over; the second call finds none. It changes the environment, and so comes before there are threads that
    /// read it.
    ///
    /// # Errors
    /// One of them is neither TCP nor a local stream socket.
    pub fn take() -> Result<Self, ListenError> {
        let mut given = ListenFd::from_env();
        let mut all = Self::default();
        for at in 0..given.len() {
            // Which of the two it is says the attempt; what fails leaves it where it is.
            if let Ok(socket) = given.take_unix_listener(at) {
                all.local.extend(socket);
            } else {
                all.tcp.extend(given.take_tcp_listener(at).map_err(ListenError::HandedDown)?);
            }
        }
        Ok(all)
    }

    /// There are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.tcp.is_empty() && self.local.is_empty()
    }
}

/// Requests are taken.
pub(crate) fn tell_ready() {
    tell(&[NotifyState::Ready]);
}

/// No more are.
pub(crate) fn tell_stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Says that it lives, twice as often as is asked for, if it is: from a task like those that serve, so that a runtime that has
/// come to a stand is found out.
pub(crate) async fn watched() {
    let Some(within) = sd_notify::watchdog_enabled() else { return };
    let mut every = tokio::time::interval(within / 2);
    loop {
        every.tick().await;
        tell(&[NotifyState::Watchdog]);
    }
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "the service manager can't be told");
    }
}
