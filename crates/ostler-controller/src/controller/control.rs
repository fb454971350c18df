//! The control socket: requests of faces, answered at once or when what they asked for has happened.

use super::error::ControllerError;
use super::{Controller, log};
use crate::client::Status;
use crate::protocol::{Answer, Ask};
use ostler_core::ctl::{Deadline, Event};
use ostler_core::ids::{DeliveryId, GenerationNo};
use ostler_core::machine::{Activity, InterruptStatus, Phase, Wish};
use ostler_os::ipc::{Listener, Stream};
use ostler_os::lockfile::Lock;
use ostler_os::poll::{Interest, Pollable, Poller};
use ostler_store::SessionDir;
use std::collections::VecDeque;
use std::io::{self, Read, Write};

/// The longest request, in bytes.
const LINE: usize = 64 << 10;
/// How many faces are served at once; a further one waits in the socket's queue.
const FACES: usize = 64;

/// The socket and who is connected.
#[derive(Debug)]
pub(super) struct Control {
    listener: Listener,
    faces: Vec<Face>,
    asked: VecDeque<(u64, Ask)>,
    waiters: Vec<Waiter>,
    next_face: u64,
}

#[derive(Debug)]
struct Face {
    id: u64,
    stream: Stream,
    unread: Vec<u8>,
    unsent: Vec<u8>,
    closed: bool,
}

/// A face that waits for something to happen.
#[derive(Debug)]
struct Waiter {
    face: u64,
    what: Waiting,
}

#[derive(Debug)]
enum Waiting {
    Interrupt(Interrupting),
    /// The interrupt could not even be written; this child is killed for it.
    Forced(GenerationNo),
    /// The end of this generation.
    Stop(GenerationNo),
    /// Until the child has said whether it gives the delivery back; since when.
    Cancel(DeliveryId, u64),
}

/// An interrupt that a face waits for.
#[derive(Debug)]
struct Interrupting {
    request_id: String,
    /// What it is to take back besides.
    wanted: Vec<DeliveryId>,
    /// Since when, in the controller's milliseconds.
    since: u64,
}

impl Control {
    pub(super) fn bind(dir: &SessionDir, lock: &Lock) -> Result<Self, ControllerError> {
        let listener = Listener::bind(&dir.control_sock(), lock)?;
        Ok(Self { listener, faces: Vec::new(), asked: VecDeque::new(), waiters: Vec::new(), next_face: 0 })
    }

    pub(super) fn unlink(&self) {
        if let Err(error) = self.listener.unlink() {
            log(&format!("the control socket stays: {error}"));
        }
    }

    pub(super) fn watch<'a>(&'a self, poller: &mut Poller<'a>) {
        if self.faces.len() < FACES {
            poller.add(self.listener.source(), Interest::Read);
        }
        for face in &self.faces {
            let interest = if face.unsent.is_empty() { Interest::Read } else { Interest::Both };
            poller.add(face.stream.source(), interest);
        }
    }

    pub(super) fn has_waiters(&self) -> bool {
        !self.waiters.is_empty() || self.faces.iter().any(|f| !f.unsent.is_empty() && !f.closed)
    }

    pub(super) fn wait_for_cancel(&mut self, face: u64, delivery: DeliveryId, since: u64) {
        self.waiters.push(Waiter { face, what: Waiting::Cancel(delivery, since) });
    }

    /// Takes in what faces have sent, and sends on what they have not taken yet.
    pub(super) fn receive(&mut self) {
        while self.faces.len() < FACES {
            let Ok(Some(stream)) = self.listener.accept() else { break };
            self.next_face += 1;
            let id = self.next_face;
            self.faces.push(Face { id, stream, unread: Vec::new(), unsent: Vec::new(), closed: false });
        }
        for face in &mut self.faces {
            face.read();
            while let Some(ask) = face.next_ask() {
                self.asked.push_back((face.id, ask));
            }
            face.flush();
        }
        self.drop_closed();
    }

    fn drop_closed(&mut self) {
        let asked = &self.asked;
        self.faces.retain(|f| !f.closed || asked.iter().any(|(id, _)| *id == f.id));
        let faces = &self.faces;
        self.waiters.retain(|w| faces.iter().any(|f| f.id == w.face && !f.closed));
    }

    fn answer(&mut self, face: u64, answer: &Answer) {
        let Some(face) = self.faces.iter_mut().find(|f| f.id == face) else { return };
        match serde_json::to_vec(answer) {
            Ok(mut line) => {
                line.push(b'\n');
                face.unsent.extend_from_slice(&line);
                face.flush();
            }
            Err(error) => log(&format!("an answer can't be written as JSON: {error}")),
        }
    }
}

impl Face {
    fn read(&mut self) {
        let mut chunk = [0; 4096];
        while !self.closed && self.unread.len() <= LINE {
            match self.stream.read(&mut chunk) {
                Ok(0) => self.closed = true,
                Ok(n) => self.unread.extend_from_slice(&chunk[..n]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.closed = true,
            }
        }
        self.closed |= self.unread.len() > LINE;
    }

    fn next_ask(&mut self) -> Option<Ask> {
        let end = self.unread.iter().position(|b| *b == b'\n')?;
        let line: Vec<u8> = self.unread.drain(..=end).collect();
        match serde_json::from_slice(&line) {
            Ok(ask) if crate::crash::knows(&ask) => Some(ask),
            _ => {
                self.unsent.extend_from_slice(b"{\"is\":\"unknown\"}\n");
                None
            }
        }
    }

    fn flush(&mut self) {
        while !self.unsent.is_empty() && !self.closed {
            match self.stream.write(&self.unsent) {
                Ok(n) => drop(self.unsent.drain(..n)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.closed = true,
            }
        }
    }
}

impl Controller {
    /// Carries out what faces asked for. What must wait for something becomes a waiter.
    pub(super) fn serve_faces(&mut self) {
        while let Some((face, ask)) = self.control.asked.pop_front() {
            let answer = match ask {
                Ask::Hello => Some(here()),
                Ask::Poke => {
                    self.wants.must_refresh();
                    Some(here())
                }
                Ask::Leave => Some(self.leave_asked()),
                Ask::Status => {
                    // What it says of the store and the disk must not be older than the question.
                    self.wants.must_refresh();
                    if let Err(error) = self.refresh().and_then(|()| self.look_again()) {
                        log(&format!("the store can't be used: {}", super::chain(&error)));
                    }
                    Some(Answer::Status { status: self.status() })
                }
                Ask::Interrupt { cancel_queued } => self.interrupt_asked(face, cancel_queued),
                Ask::Stop => self.stop_asked(face),
                Ask::Declare(says) => Some(self.declare_asked(says)),
                Ask::Cancel { delivery } => self.cancel_asked(face, delivery),
            };
            if let Some(answer) = answer {
                self.control.answer(face, &answer);
            }
        }
    }

    /// Where the next controller would be of this very file, nothing is won by leaving.
    fn leave_asked(&mut self) -> Answer {
        match ostler_os::me::is_replaced() {
            Ok(true) => {
                self.wants.leave = true;
                Answer::Leaving
            }
            Ok(false) => here(),
            Err(error) => {
                log(&format!("the executable's place can't be looked at: {error}"));
                here()
            }
        }
    }

    fn interrupt_asked(&mut self, face: u64, cancel_queued: bool) -> Option<Answer> {
        self.wants.must_refresh();
        let refreshed = self.refresh();
        let wanted = if cancel_queued { self.take_back_everything() } else { Vec::new() };
        let nothing = self.machine.open_turn().is_none() && (!self.will_start() || self.gate.waits());
        if refreshed.is_err() || nothing {
            return Some(Answer::NothingRunning);
        }
        let since = self.now();
        self.wants.broken_off = self.machine.open_turn();
        // A second interrupt joins the first, whether that waits to be written or for its result.
        let wish = self.wants.interrupt.as_ref().map(|w| w.request_id.as_str());
        let request_id = match wish.or_else(|| self.machine.outstanding_interrupt()) {
            Some(first) => first.to_owned(),
            None => format!("ostler-interrupt-{}", uuid::Uuid::new_v4()),
        };
        match &mut self.wants.interrupt {
            Some(wish) => wish.cancel_queued |= cancel_queued,
            None if self.machine.outstanding_interrupt().is_none() => {
                self.wants.interrupt = Some(Wish { request_id: request_id.clone(), cancel_queued });
                self.wants.interrupt_since = since;
            }
            None => {}
        }
        // An interrupt that was sent, or that can't take anything back, leaves it to one request a message.
        let sent = self.machine.interrupt_status(&request_id) != InterruptStatus::NotSent;
        if sent || !self.machine.can_cancel_queued() {
            self.wants.cancels.extend(&wanted);
        }
        let what = Waiting::Interrupt(Interrupting { request_id, wanted, since });
        self.control.waiters.push(Waiter { face, what });
        None
    }

    fn stop_asked(&mut self, face: u64) -> Option<Answer> {
        // Whoever asks has moved the record: that is what ends the child, and what keeps the next one from starting.
        self.wants.must_refresh();
        if let Err(error) = self.refresh() {
            log(&format!("the store can't be read: {}", super::chain(&error)));
            self.wants.halted = true;
        }
        if self.is_at_rest() || !self.wants.halted {
            return Some(Answer::NothingRunning);
        }
        self.control.waiters.push(Waiter { face, what: Waiting::Stop(self.machine.generation()) });
        None
    }

    /// Tells waiters what has happened by now.
    pub(super) fn answer_waiters(&mut self) -> Result<(), ControllerError> {
        self.give_up_deaf_child()?;
        let mut waiting = std::mem::take(&mut self.control.waiters);
        waiting.retain(|waiter| match self.outcome(&waiter.what) {
            Some(answer) => {
                self.control.answer(waiter.face, &answer);
                false
            }
            None => true,
        });
        self.control.waiters = waiting;
        self.forget_cancels();
        if self.is_at_rest() {
            self.close_the_journal()?;
            if !self.will_start() {
                self.wants.interrupt = None;
            }
        }
        let wish = self.wants.interrupt.as_ref().map(|w| w.request_id.clone());
        if wish.is_some_and(|id| self.interrupted(&id).is_some()) {
            self.wants.interrupt = None;
        }
        Ok(())
    }

    /// No child and no turn.
    pub(super) fn is_at_rest(&self) -> bool {
        self.machine.phase() == Phase::Cold && self.machine.open_turn().is_none()
    }

    /// A turn will begin as soon as a child is there.
    fn will_start(&self) -> bool {
        !self.wants.pending.is_empty() && self.machine.owes(&self.wants.pending)
    }

    /// What was written to a dead child of a closed session and has no end: nobody will offer it again.
    fn close_the_journal(&mut self) -> Result<(), ControllerError> {
        let open = self.machine.rows().deliveries.iter().any(|d| !d.state.is_final());
        if self.wants.halted && open && self.db.record(self.session)?.0.closed {
            self.say(Event::Closed)?;
            self.commit()?;
        }
        Ok(())
    }

    fn outcome(&mut self, what: &Waiting) -> Option<Answer> {
        match what {
            Waiting::Stop(no) if self.is_at_rest() || self.machine.generation() > *no => {
                let ended = self.machine.rows().generations.iter().find(|g| g.no == *no);
                let (killed, proven) = ended.map_or((0, true), |g| (g.killed, g.proven));
                Some(Answer::Ended { killed, proven })
            }
            Waiting::Stop(_) => None,
            Waiting::Forced(no) => {
                let dead = self.machine.phase() == Phase::Cold || self.machine.generation() > *no;
                dead.then(forced)
            }
            Waiting::Interrupt(interrupting) => {
                let answer = self.interrupted(&interrupting.request_id)?;
                self.with_what_was_taken_back(answer, &interrupting.wanted, interrupting.since)
            }
            Waiting::Cancel(delivery, since) => self.cancelled(*delivery, *since),
        }
    }

    /// What became of an interrupt; None: nothing yet.
    fn interrupted(&self, request_id: &str) -> Option<Answer> {
        match self.machine.interrupt_status(request_id) {
            InterruptStatus::Confirmed(still_queued) => {
                Some(Answer::Confirmed { still_queued, cancelled: Vec::new() })
            }
            InterruptStatus::Refused(why) => {
                Some(Answer::Forced { why: format!("the child refused: {why}") })
            }
            InterruptStatus::Gone => Some(forced()),
            // It joined one that was written to a child that is dead by now: nobody will ever write it to this one.
            InterruptStatus::NotSent if !self.is_wished(request_id) => Some(forced()),
            InterruptStatus::NotSent if self.machine.open_turn().is_none() => {
                (!self.will_start() || self.gate.waits()).then_some(Answer::NothingRunning)
            }
            _ if self.machine.phase() == Phase::Cold => Some(forced()),
            _ => None,
        }
    }

    /// It still waits to be written.
    fn is_wished(&self, interrupt: &str) -> bool {
        self.wants.interrupt.as_ref().is_some_and(|wish| wish.request_id == interrupt)
    }

    /// A child that doesn't even read its pipe can't be asked: the interrupt's deadline counts from the wish.
    fn give_up_deaf_child(&mut self) -> Result<(), ControllerError> {
        let asked = self.wants.interrupt.as_ref().map(|wish| (wish, self.wants.interrupt_since));
        let breaking = self.wants.breaking.as_ref().map(|(wish, since)| (wish, *since));
        let Some((wish, since)) = asked.or(breaking) else { return Ok(()) };
        let unsent = self.machine.interrupt_status(&wish.request_id) == InterruptStatus::NotSent;
        let late = self.now() >= since + self.machine.limits().interrupt;
        let live = matches!(self.machine.phase(), Phase::Resident | Phase::Starting);
        if unsent && late && live && self.machine.open_turn().is_some() && !self.machine.killing() {
            self.say(Event::Expired { deadline: Deadline::Interrupt })?;
            // It was meant for this child: what comes after it isn't interrupted too.
            self.wants.interrupt = None;
            let no = self.machine.generation();
            for waiter in &mut self.control.waiters {
                if matches!(waiter.what, Waiting::Interrupt(_)) {
                    waiter.what = Waiting::Forced(no);
                }
            }
        }
        Ok(())
    }

    pub(super) fn status(&self) -> Status {
        let owed = self.machine.owes(&self.wants.pending);
        Status {
            process: self.machine.phase().word().to_owned(),
            generation: self.machine.generation(),
            turn: self.machine.open_turn(),
            activity: self.machine.activity().map(|a| words(&a)).or_else(|| self.gate.words()),
            waiting: u32::try_from(self.wants.pending.len()).unwrap_or(u32::MAX),
            pid: self.child.as_ref().map(|(identity, _)| identity.pid),
            stuck: self.stuck().is_some(),
            parked: self
                .stuck()
                .map(str::to_owned)
                .or_else(|| self.machine.parked().filter(|_| !owed).map(str::to_owned))
                .or_else(|| self.full_disk()),
        }
    }
}

fn here() -> Answer {
    Answer::Here { pid: std::process::id(), version: crate::crash::version() }
}

fn forced() -> Answer {
    Answer::Forced { why: "the child did not confirm it in time and was killed".to_owned() }
}

fn words(activity: &Activity) -> String {
    match activity {
        Activity::Starting => "starting".to_owned(),
        Activity::Thinking => "thinking".to_owned(),
        Activity::Tool(name) => format!("tool {name}"),
        Activity::Permission => "permission".to_owned(),
        Activity::Background => "background".to_owned(),
        Activity::Compacting => "compacting".to_owned(),
        Activity::Retrying => "retrying".to_owned(),
        Activity::RateLimited(Some(until)) => format!("rate limited until {until}"),
        Activity::RateLimited(None) => "rate limited until unknown".to_owned(),
        Activity::Settling => "settling".to_owned(),
        Activity::Slow => "slow".to_owned(),
        Activity::Stalled => "stalled".to_owned(),
    }
}
