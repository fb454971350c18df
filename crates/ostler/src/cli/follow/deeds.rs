//! Ctrl-C: interrupt the turn, then stop claude, then leave. What was asked for is done on a thread of its own, so
//! that the view goes on and the next Ctrl-C is heard.

use ostler_controller::client::{ClientError, Interrupted, Ostler, Stopped};
use ostler_core::ids::SessionId;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// How long a deed that is under way is waited for at the end.
const FINISH: Duration = Duration::from_secs(5);

/// Why somebody left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Left {
    /// Ctrl-C where there was nothing to interrupt, or once too often.
    Person,
    /// SIGTERM.
    Told,
    /// The terminal is gone.
    Hangup,
}

/// What Ctrl-C did so far.
pub(super) struct Deeds {
    home: PathBuf,
    session: SessionId,
    /// False: Ctrl-C only leaves.
    interrupts: bool,
    pressed: u32,
    running: Vec<Receiver<String>>,
    said: Vec<String>,
}

impl Deeds {
    pub(super) fn new(home: &Path, session: SessionId, interrupts: bool) -> Self {
        Self { home: home.to_owned(), session, interrupts, pressed: 0, running: Vec::new(), said: Vec::new() }
    }

    /// Ctrl-C was pressed. Gives a reason to leave, if it is one.
    pub(super) fn interrupt_key(&mut self) -> Option<Left> {
        if !self.interrupts {
            return Some(Left::Person);
        }
        self.pressed += 1;
        let session = self.session;
        match self.pressed {
            1 => {
                self.said.push("■ interrupting; Ctrl-C again stops the session".to_owned());
                self.begin(move |ostler| match ostler.interrupt(session, false)? {
                    Interrupted::Confirmed(queued) if queued.is_empty() => Ok(String::new()),
                    Interrupted::Confirmed(queued) => {
                        Ok(format!("! {} queued messages will still be answered", queued.len()))
                    }
                    Interrupted::NothingRunning => {
                        Ok("! no turn is running that could be interrupted; Ctrl-C again stops the session"
                            .to_owned())
                    }
                    Interrupted::Forced(why) => Ok(format!("! the interrupt was not taken: {why}")),
                });
                None
            }
            2 => {
                self.said.push("■ stopping the session; Ctrl-C again leaves at once".to_owned());
                self.begin(move |ostler| match ostler.stop(session)? {
                    Stopped::Ended { proven: false, .. } => {
                        Ok("■ stopped; not proven that all processes of claude are gone".to_owned())
                    }
                    Stopped::Ended { killed: 0, .. } => Ok("■ stopped".to_owned()),
                    Stopped::Ended { killed, .. } => {
                        Ok(format!("■ stopped; {killed} processes that claude left were killed"))
                    }
                    Stopped::NothingRunning => Ok("■ stopped; claude was not running".to_owned()),
                });
                None
            }
            _ => Some(Left::Person),
        }
    }

    /// What there is to say since the last time.
    pub(super) fn news(&mut self) -> Vec<String> {
        let said = &mut self.said;
        self.running.retain(|deed| match deed.try_recv() {
            Ok(text) => {
                said.push(text);
                false
            }
            Err(TryRecvError::Empty) => true,
            Err(TryRecvError::Disconnected) => false,
        });
        std::mem::take(said).into_iter().filter(|text| !text.is_empty()).collect()
    }

    /// Waits until what was begun is done: leaving earlier could leave it undone. What there is to say about it.
    pub(super) fn finish(&mut self) -> Vec<String> {
        let deadline = Instant::now() + FINISH;
        for deed in self.running.drain(..) {
            let left = deadline.saturating_duration_since(Instant::now());
            self.said.extend(deed.recv_timeout(left).ok());
        }
        self.news()
    }

    fn begin(&mut self, deed: impl FnOnce(&Ostler) -> Result<String, ClientError> + Send + 'static) {
        let (done, when_done) = channel();
        let home = self.home.clone();
        // A connection of its own: a database connection belongs to one thread.
        std::thread::spawn(move || {
            let said = Ostler::open(&home).and_then(|ostler| deed(&ostler));
            let text = said.unwrap_or_else(|error| format!("! {}", chain(&error)));
            drop(done.send(text));
        });
        self.running.push(when_done);
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
