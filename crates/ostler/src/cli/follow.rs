//! Following a session live: what its journal says is shown as it comes, questions are put to a person or denied,
//! Ctrl-C interrupts. Nothing here is needed by the session: ending this process at any moment changes nothing for it.
//!
//! | file | subject |
//! | --- | --- |
//! | `follow/screen.rs` | writing to a terminal with a status line at the bottom |
//! | `follow/sink.rs` | entries become text for people, or events |
//! | `follow/ask.rs` | questions of the child |
//! | `follow/deeds.rs` | Ctrl-C: interrupt, then stop, then leave |

mod ask;
mod deeds;
mod screen;
mod sink;

use super::face::Face;
use crate::failure::{Failure, Kind};
use crate::view::Detail;
use ask::Asker;
use deeds::Deeds;
use ostler_controller::client::{Ostler, Waited};
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_os::poll::Pollable;
use ostler_os::signals::{Signal, Signals};
use ostler_os::watch::{Backend, FileWatch};
use ostler_store::{Cursor, Follower};
use sink::Sink;
use std::time::{Duration, Instant};

pub(super) use ask::Asking;
pub(super) use deeds::Left;

/// What is followed, and how far.
#[derive(Clone, Debug)]
pub(super) struct Goal {
    /// The session.
    pub(super) session: SessionId,
    /// The delivery that this command made.
    pub(super) own: Option<DeliveryId>,
    /// Where to begin.
    pub(super) from: Cursor,
    /// When to end.
    pub(super) until: Until,
    /// Who answers questions.
    pub(super) asking: Asking,
    /// How much is shown.
    pub(super) detail: Detail,
    /// Ctrl-C interrupts the turn; otherwise it only ends the following.
    pub(super) interrupts: bool,
}

/// When following ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// When everything that is there was shown.
    Now,
    /// At the first result that answers the own delivery.
    Answer,
    /// When nothing is owed any more.
    Settled,
    /// When the person has enough.
    Forever,
}

/// Why following ended.
#[derive(Clone, Debug)]
pub(super) enum Ended {
    /// Everything that is there was shown.
    Shown,
    /// The own delivery has its answer.
    Answered(Answer),
    /// Nothing is owed any more.
    Settled,
    /// The turn of the own delivery has settled.
    Own(DeliveryId),
    /// Nothing can go on until a person acts: why.
    Parked(String),
    /// It is stopped, and messages wait: how many, in words.
    Stopped(String),
    /// The person left, or we were told to.
    Left(Left),
}

impl Ended {
    /// It is stopped, and so many messages wait.
    pub(super) fn stopped(waiting: u32) -> Self {
        let what =
            if waiting == 1 { "a message waits".to_owned() } else { format!("{waiting} messages wait") };
        Self::Stopped(format!("stopped; {what} until it is resumed"))
    }
}

/// A result that answered the own delivery.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    /// What it says.
    pub(super) text: Option<String>,
    /// It tells of a failure: the kind.
    pub(super) failure: Option<String>,
    /// It tells of an interrupt.
    pub(super) interrupted: bool,
    /// Calls that were denied.
    pub(super) denials: u32,
    /// Rounds of the model.
    pub(super) rounds: Option<u32>,
    /// How long it took, in milliseconds.
    pub(super) ms: Option<u64>,
}

/// How often the store is looked at while something runs.
const LOOK: Duration = Duration::from_millis(100);
/// How often it is made sure that somebody works on the session.
const ATTEND: Duration = Duration::from_secs(1);
/// How often files are looked at where there are no notices of changes.
const POLL: Duration = Duration::from_millis(20);

/// Follows until the goal is reached.
pub(super) fn follow(face: &mut Face, ostler: &Ostler, goal: Goal) -> Result<Ended, Failure> {
    let follower = ostler.follow(goal.session, goal.from)?;
    let wanted = [Signal::Interrupt, Signal::Terminate, Signal::Hangup, Signal::WindowChange];
    let mut following = Following {
        sink: Sink::new(face, &goal),
        asker: Asker::new(goal.asking),
        deeds: Deeds::new(ostler.home().root(), goal.session, goal.interrupts),
        signals: Signals::install(&wanted).map_err(|e| Failure::new(Kind::Output, e))?,
        watch: FileWatch::new(Backend::Auto, POLL),
        looked: None,
        attended: Instant::now(),
        follower,
        face,
        ostler,
        goal,
    };
    let ended = following.run();
    following.sink.close(following.face)?;
    ended
}

struct Following<'a> {
    face: &'a mut Face,
    ostler: &'a Ostler,
    goal: Goal,
    follower: Follower,
    sink: Sink,
    asker: Asker,
    deeds: Deeds,
    signals: Signals,
    watch: FileWatch,
    looked: Option<Instant>,
    attended: Instant,
}

impl Following<'_> {
    fn run(&mut self) -> Result<Ended, Failure> {
        loop {
            self.drain()?;
            // It may have moved on to files that were not watched yet.
            while self.watch.set(self.follower.watch_paths()) {
                self.drain()?;
            }
            if let Some(ended) = self.ended()? {
                for said in self.deeds.finish() {
                    self.sink.remark(self.face, &said);
                }
                // What was written between the last look at the journal and the one at the store.
                self.drain()?;
                self.sink.flush(self.face, None)?;
                return Ok(ended);
            }
            self.questions()?;
            if let Some(left) = self.heard()? {
                return Ok(Ended::Left(left));
            }
            let prompt = self.asker.prompt();
            self.sink.flush(self.face, prompt.as_deref())?;
            self.wait()?;
        }
    }

    /// Everything that is there now.
    fn drain(&mut self) -> Result<(), Failure> {
        let read = |e| Failure::from(e);
        while let Some(entry) = self.follower.next().map_err(read)? {
            self.sink.entry(self.face, self.ostler, &entry)?;
        }
        Ok(())
    }

    fn ended(&mut self) -> Result<Option<Ended>, Failure> {
        match self.goal.until {
            Until::Now => return Ok(Some(Ended::Shown)),
            Until::Forever => return Ok(None),
            Until::Answer => {
                if let Some(answer) = self.sink.answer() {
                    return Ok(Some(Ended::Answered(answer)));
                }
            }
            Until::Settled => {}
        }
        let now = Instant::now();
        if self.looked.is_some_and(|at| now.duration_since(at) < LOOK) {
            return Ok(None);
        }
        self.looked = Some(now);
        let session = self.goal.session;
        let waited = match self.ostler.settled(session)? {
            Some(waited) => waited,
            None if now.duration_since(self.attended) >= ATTEND => {
                self.attended = now;
                // Somebody must work on it, also when the controller that did was killed.
                self.ostler.wait(session, Some(now + Duration::from_millis(1)))?
            }
            None => return Ok(None),
        };
        Ok(match waited {
            Waited::Settled(_) => Some(Ended::Settled),
            Waited::Parked(reason) => Some(Ended::Parked(reason)),
            Waited::Stopped(waiting) => Some(Ended::stopped(waiting)),
            Waited::StillRunning => None,
        })
    }

    fn questions(&mut self) -> Result<(), Failure> {
        if self.goal.until == Until::Now || !self.sink.has_questions() {
            self.asker.close();
            return Ok(());
        }
        for said in self.asker.attend(self.ostler, self.goal.session)? {
            self.sink.remark(self.face, &said);
        }
        Ok(())
    }

    /// Signals and keys.
    fn heard(&mut self) -> Result<Option<Left>, Failure> {
        if self.signals.take(Signal::WindowChange) > 0 {
            self.sink.set_columns(self.face.columns());
        }
        if self.signals.take(Signal::Hangup) > 0 {
            return Ok(Some(Left::Hangup));
        }
        if self.signals.take(Signal::Terminate) > 0 {
            return Ok(Some(Left::Told));
        }
        for _ in 0..self.signals.take(Signal::Interrupt) {
            self.asker.close();
            if let Some(left) = self.deeds.interrupt_key() {
                return Ok(Some(left));
            }
        }
        for said in self.deeds.news() {
            self.sink.remark(self.face, &said);
        }
        Ok(None)
    }

    fn wait(&mut self) -> Result<(), Failure> {
        let idle = self.goal.until == Until::Forever && !self.face.is_live();
        let deadline = Instant::now() + if idle { ATTEND } else { LOOK };
        let failed = |e| Failure::new(Kind::Output, e);
        let signals = self.signals.source();
        match self.asker.keys() {
            Some(keys) => self.watch.wait(Some(deadline), &[signals, keys]).map_err(failed)?,
            None => self.watch.wait(Some(deadline), &[signals]).map_err(failed)?,
        };
        Ok(())
    }
}
