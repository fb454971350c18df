//! What reaches a fake child: lines on stdin, its end, and signals, all through one channel.

use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ostler_os::poll::{Interest, Pollable, Poller};
use ostler_os::signals::{Signal, Signals};

use super::Refusal;

/// Bytes asked of stdin at a time: what a pipe holds.
const CHUNK: usize = 64 * 1024;

/// One thing that happened outside.
#[derive(Debug)]
pub(super) enum Event {
    /// Lines that arrived together, each without its `\n`.
    Lines(Vec<Vec<u8>>),
    /// Nothing more will come.
    End,
    Signal(Signal),
}

/// The receiving end.
#[derive(Debug)]
pub(super) struct Input {
    events: Receiver<Event>,
    deaf: Arc<Deaf>,
}

/// Whether stdin is left unread, so that the pipe fills up.
#[derive(Debug, Default)]
struct Deaf {
    on: Mutex<bool>,
    changed: Condvar,
}

impl Input {
    /// Starts to read. Two threads do it; they end with the process.
    pub(super) fn start() -> Result<Self, Refusal> {
        let (sender, events) = channel();
        let deaf = Arc::new(Deaf::default());
        let signals = Signals::install(&[Signal::Terminate, Signal::Interrupt])
            .map_err(|error| Refusal::new(format!("fake-claude: cannot receive signals: {error}")))?;
        let (for_lines, for_signals) = (sender.clone(), sender);
        let ears = Arc::clone(&deaf);
        thread("stdin", move || read_lines(&for_lines, &ears))?;
        thread("signals", move || read_signals(&for_signals, &signals))?;
        Ok(Self { events, deaf })
    }

    /// The next event, if it comes before the deadline (`None`: however long it takes).
    pub(super) fn next(&self, deadline: Option<Instant>) -> Option<Event> {
        let Some(deadline) = deadline else { return self.events.recv().ok() };
        let left = deadline.saturating_duration_since(Instant::now());
        self.events.recv_timeout(left).ok()
    }

    /// Stops reading stdin, or goes on. What was read already is still delivered.
    pub(super) fn set_deaf(&self, on: bool) {
        *self.deaf.on.lock().unwrap_or_else(PoisonError::into_inner) = on;
        self.deaf.changed.notify_all();
    }
}

fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Refusal> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(128 * 1024)
        .spawn(body)
        .map(drop)
        .map_err(|error| Refusal::new(format!("fake-claude: cannot start a thread: {error}")))
}

fn read_lines(events: &Sender<Event>, deaf: &Deaf) {
    let mut stdin = std::io::stdin().lock();
    let mut chunk = vec![0; CHUNK];
    let mut held = Vec::new();
    loop {
        wait_for_ears(deaf);
        let count = match stdin.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        let mut lines = Vec::new();
        for &byte in &chunk[..count] {
            if byte == b'\n' {
                lines.push(std::mem::take(&mut held));
            } else {
                held.push(byte);
            }
        }
        if !lines.is_empty() && events.send(Event::Lines(lines)).is_err() {
            return;
        }
    }
    if !held.is_empty() {
        drop(events.send(Event::Lines(vec![held])));
    }
    drop(events.send(Event::End));
}

fn wait_for_ears(deaf: &Deaf) {
    let guard = deaf.on.lock().unwrap_or_else(PoisonError::into_inner);
    drop(deaf.changed.wait_while(guard, |on| *on));
}

fn read_signals(events: &Sender<Event>, signals: &Signals) {
    loop {
        let mut poller = Poller::new();
        poller.add(signals.source(), Interest::Read);
        // The deadline only bounds how long a broken poll could hide.
        if poller.wait(Some(Instant::now() + Duration::from_secs(3600))).is_err() {
            return;
        }
        for signal in [Signal::Terminate, Signal::Interrupt] {
            if signals.take(signal) > 0 && events.send(Event::Signal(signal)).is_err() {
                return;
            }
        }
    }
}
