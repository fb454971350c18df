//! One request to a controller, one answer.

use super::{BrokenOff, ClientError, Interrupted, Ostler, Status};
use crate::protocol::{Answer, Ask};
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_os::ipc::Stream;
use ostler_os::poll::{Interest, Pollable, Poller};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// For an answer that needs nothing but a living controller.
pub(super) const PROMPT_ANSWER: Duration = Duration::from_secs(5);
/// For an interrupt or a stop: the child's own deadlines, and then its tree is killed.
pub(super) const DEED: Duration = Duration::from_secs(40);
/// The longest answer, in bytes.
const LINE: usize = 1 << 20;

/// Asks, and waits for the answer until the deadline.
pub(super) fn ask(socket: &Path, ask: &Ask, patience: Duration) -> io::Result<Answer> {
    let deadline = Instant::now() + patience;
    let mut stream = Stream::connect(socket)?;
    let mut line = serde_json::to_vec(ask)?;
    line.push(b'\n');
    let mut unsent = line.as_slice();
    while !unsent.is_empty() {
        match stream.write(unsent) {
            Ok(n) => unsent = &unsent[n..],
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => ready(&stream, Interest::Write, deadline)?,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => answer.extend_from_slice(&chunk[..n]),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => ready(&stream, Interest::Read, deadline)?,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        if let Some(end) = answer.iter().position(|b| *b == b'\n') {
            return Ok(serde_json::from_slice(&answer[..end])?);
        }
        if answer.len() > LINE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is too long"));
        }
    }
}

fn ready(stream: &Stream, interest: Interest, deadline: Instant) -> io::Result<()> {
    let mut poller = Poller::new();
    poller.add(stream.source(), interest);
    if poller.wait(Some(deadline))? == 0 { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
}

impl Ostler {
    /// Interrupts the running turn and waits until the child confirmed it.
    ///
    /// # Errors
    /// [`ClientError::Controller`].
    pub fn interrupt(&self, session: SessionId, cancel_queued: bool) -> Result<Interrupted, ClientError> {
        self.break_off(session, cancel_queued).map(|done| done.how)
    }

    /// The same, and says what it took back. With `cancel_queued` everything that waits at this moment is taken back:
    /// what no child was given at once, what stands in the child's queue as far as the child gives it back.
    ///
    /// # Errors
    /// [`ClientError::Controller`].
    pub fn break_off(&self, session: SessionId, cancel_queued: bool) -> Result<BrokenOff, ClientError> {
        self.refuse_closed(session)?;
        let waiting = if cancel_queued { self.waiting(session)? } else { Vec::new() };
        for id in &waiting {
            self.db().cancel_delivery(*id)?;
        }
        let done = self.deed(session, &Ask::Interrupt { cancel_queued })?;
        let mut cancelled = self.taken_back(&waiting)?;
        let how = match done {
            Some(Answer::Confirmed { still_queued, cancelled: by_child }) => {
                cancelled.extend(by_child.iter().filter_map(|id| id.parse::<DeliveryId>().ok()));
                Interrupted::Confirmed(still_queued)
            }
            Some(Answer::Forced { why }) => Interrupted::Forced(why),
            None | Some(Answer::NothingRunning) => Interrupted::NothingRunning,
            Some(other) => return Err(odd(session, &other)),
        };
        cancelled.sort();
        cancelled.dedup();
        Ok(BrokenOff { how, cancelled })
    }

    /// Has a controller do something, starting one where a child lives without; None where nothing runs.
    /// One that dies over it is asked again: a deed that is done twice is done once.
    pub(super) fn deed(&self, session: SessionId, wish: &Ask) -> Result<Option<Answer>, ClientError> {
        let socket = self.home().session(session).control_sock();
        let deadline = Instant::now() + DEED;
        loop {
            if !self.is_attended(session)? && !self.owes(session)? {
                return Ok(None);
            }
            // One that is there and hangs would be waited for as long as for the deed itself.
            self.ensure(session)?;
            match ask(&socket, wish, DEED) {
                Ok(answer) => return Ok(Some(answer)),
                Err(error) if Instant::now() >= deadline => {
                    let why = format!("no answer: {error}");
                    return Err(ClientError::Controller { session, why });
                }
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// What the session is doing. Asks the controller where one answers, else reads the journal.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn status(&self, session: SessionId) -> Result<Status, ClientError> {
        let socket = self.home().session(session).control_sock();
        if let Ok(Answer::Status { status }) = ask(&socket, &Ask::Status, PROMPT_ANSWER) {
            return Ok(status);
        }
        let machine = super::rebuild::fold_machine(self.home(), session)?;
        let waiting = self.db().pending_deliveries(session)?.len();
        Ok(Status {
            process: self.process(session).phase.word().to_owned(),
            generation: machine.generation(),
            turn: machine.open_turn(),
            waiting: u32::try_from(waiting).unwrap_or(u32::MAX),
            parked: machine.parked().map(str::to_owned),
            ..Status::default()
        })
    }
}

pub(super) fn odd(session: SessionId, answer: &Answer) -> ClientError {
    ClientError::Controller { session, why: format!("its answer is not understood: {answer:?}") }
}
