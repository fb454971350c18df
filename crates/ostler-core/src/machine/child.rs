//! What is known of the running child.

use super::Phase;
use super::meter::Meter;
use super::outcome::Verdict;
use super::rulings::Asking;
use super::tasks::Tasks;
use super::tools::Tools;
use super::watch::Watch;
use crate::ctl::{Baseline, EndReason, Line};
use crate::ids::{DeliveryId, GenerationNo};
use claude_wire::LifecycleState;
use std::collections::BTreeMap;

/// One generation while it is the current one. Times are monotonic milliseconds of the process that applies.
#[derive(Clone, Debug)]
pub(super) struct Child {
    pub(super) no: GenerationNo,
    /// The delivery that it was started for.
    pub(super) woken_by: DeliveryId,
    pub(super) phase: Phase,
    /// Bytes of `out` consumed.
    pub(super) consumed: u64,
    pub(super) observed: Observed,
    pub(super) state: ChildState,
    /// Between an `init` (or a delivery that was taken up) and its `result`.
    pub(super) segment_open: bool,
    /// What the last result of the open turn means.
    pub(super) verdict: Option<Verdict>,
    /// What the result that answered a delivery means, until the delivery is final.
    pub(super) verdicts: BTreeMap<DeliveryId, Verdict>,
    /// Receipts that came before their result (a steered message has its `completed` first).
    pub(super) early_receipts: BTreeMap<DeliveryId, LifecycleState>,
    /// Deliveries written since the last result.
    pub(super) since_result: Vec<DeliveryId>,
    /// What the child did without a delivery while no turn was open.
    pub(super) alone: Option<Alone>,
    pub(super) next_write: u64,
    /// The number of the last `user` line written.
    pub(super) last_user_write: u64,
    /// A request written behind that line was answered: the child has read the line.
    pub(super) read_all: bool,
    /// The write that was begun and is not proven done.
    pub(super) unfinished: Option<Unfinished>,
    /// Our requests that were not answered yet.
    pub(super) asked: BTreeMap<String, Asked>,
    pub(super) interrupt: Option<Interrupt>,
    /// Deliveries that were asked back from its queue, and whether it gave them back, once it has said so.
    pub(super) cancels: BTreeMap<DeliveryId, Option<bool>>,
    /// How the last interrupts were answered, newest last; at most [`Child::ANSWERS`].
    pub(super) answers: Vec<(String, InterruptStatus)>,
    pub(super) tasks: Tasks,
    pub(super) meter: Meter,
    pub(super) ending: Option<Ending>,
    /// A turn of it settled since its last line was written.
    pub(super) settled: bool,
    /// A kill was announced.
    pub(super) killing: bool,
    /// A controller took over: `initialize` must be sent.
    pub(super) adopted: bool,
    /// It was given something that an earlier child may have had: `initialize` behind it makes it answer even if it
    /// drops the line without a word (2.1.200 does, protocol page).
    pub(super) reoffered: bool,
    /// `/clear` was announced: the next `init` says which conversation it is now.
    pub(super) reset: bool,
    /// When it was started, or taken over.
    pub(super) started: u64,
    /// When the first line was written to it.
    pub(super) first_write: Option<u64>,
    pub(super) start_expired: bool,
    pub(super) quiet_expired: bool,
    pub(super) interrupt_expired: bool,
    pub(super) answer_expired: bool,
    /// A delivery has waited long enough behind a declared record.
    pub(super) wake_expired: bool,
    pub(super) write_expired: bool,
    /// When its last line was read.
    pub(super) last_line: u64,
    /// When its last result was read.
    pub(super) last_result: u64,
    /// It said that something failed: an exit status of 1 is its way of saying so again (protocol page).
    pub(super) had_error: bool,
    /// Its output ended in an unterminated line.
    pub(super) torn: bool,
    pub(super) tools: Tools,
    pub(super) passing: Option<Activity>,
    /// What the API's last failure in the main lane was: its status, where the child says so, and its kind.
    pub(super) api_error: Option<(Option<i64>, String)>,
    /// When the limit ends that it was told of, in seconds since 1970.
    pub(super) limit_until: Option<i64>,
    /// The refusal that the last result told of, to compare with others.
    pub(super) print: Option<String>,
    pub(super) watch: Watch,
    /// What a fork has to find in the cache.
    pub(super) expects: Option<super::cache::Expects>,
    /// Denials of this turn that the child announced by itself, and ours.
    pub(super) denied_by_child: u32,
    pub(super) denied_by_us: u32,
    /// What its open questions are about.
    pub(super) asking: BTreeMap<String, Asking>,
    /// Questions of this turn that ostler answered itself.
    pub(super) auto_continued: u32,
}

/// What this child has been seen to send; decides by what its deliveries are followed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Observed {
    /// Any message at all; noise of a wrapper is no sign of life.
    pub(super) line: bool,
    /// `system/init`.
    pub(super) init: bool,
    /// `command_lifecycle`.
    pub(super) lifecycle: bool,
    /// `session_state_changed`.
    pub(super) state: bool,
    /// Among its `capabilities`: an interrupt takes back what is queued.
    pub(super) cancel_queued: bool,
    /// A message of the model.
    pub(super) answer: bool,
}

/// The request that takes a message out of the child's queue.
pub(super) const CANCEL: &str = "cancel_async_message";

/// What `session_state_changed` said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChildState {
    /// Nothing yet.
    Unknown,
    Running,
    RequiresAction,
    Idle,
}

/// What a child did by itself, until a turn is opened for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Alone {
    pub(super) results: u32,
    pub(super) rounds: u32,
    pub(super) denials: u32,
    pub(super) answer: Option<(u64, u64)>,
}

/// A write without its `done`.
#[derive(Clone, Debug)]
pub(super) struct Unfinished {
    pub(super) write: u64,
    pub(super) line: Line,
    pub(super) len: u64,
    /// When it was begun, or taken over.
    pub(super) since: u64,
    /// A controller other than the one that began it must repeat it.
    pub(super) orphaned: bool,
}

/// A control request of ours.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) subtype: String,
    /// The delivery that it is about.
    pub(super) about: Option<DeliveryId>,
    pub(super) since: u64,
    pub(super) write: u64,
}

/// An interrupt that was written to this child; gone when a result or `idle` follows its confirmation.
#[derive(Clone, Debug)]
pub(super) struct Interrupt {
    pub(super) request_id: String,
    /// It takes back what is queued, too.
    pub(super) cancel_queued: bool,
    /// When it was written, then when it was confirmed.
    pub(super) since: u64,
    pub(super) confirmed: bool,
    /// Sent before anything had started.
    pub(super) early: bool,
    /// Its confirmation listed messages that would still run.
    pub(super) listed: bool,
    /// A turn began behind its confirmation.
    pub(super) outrun: bool,
    /// The turn it was meant for runs after all.
    pub(super) again: bool,
}

impl Interrupt {
    /// It was confirmed while nothing had started.
    pub(super) fn found_nothing(&self) -> bool {
        self.confirmed && self.early
    }
}

/// Teardown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    pub(super) why: EndReason,
    pub(super) since: u64,
    /// `end_session` was begun.
    pub(super) told: bool,
    pub(super) expired: bool,
}

/// What became of an interrupt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterruptStatus {
    /// Not written to this child.
    NotSent,
    /// Written, not confirmed.
    Waiting,
    /// Confirmed; these deliveries were still queued.
    Confirmed(Vec<String>),
    /// The child refused it.
    Refused(String),
    /// The child it was for is gone.
    Gone,
}

/// What a conversation is doing, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The child was started and has said nothing yet.
    Starting,
    /// The model is at work.
    Thinking,
    /// A tool runs.
    Tool(String),
    /// Somebody must decide.
    Permission,
    /// The result is there; background tasks are still live.
    Background,
    /// The conversation is being compacted.
    Compacting,
    /// The API failed; the child tries again.
    Retrying,
    /// The API refuses for now, until this time (seconds since 1970) where it said so.
    RateLimited(Option<i64>),
    /// Everything is said; receipts are awaited.
    Settling,
    /// It owes a message and has been silent for long.
    Slow,
    /// It has been silent for so long that it is being broken off.
    Stalled,
}

impl Child {
    pub(super) fn new(no: GenerationNo, woken_by: DeliveryId, baseline: Baseline, now: u64) -> Self {
        Self {
            no,
            woken_by,
            phase: Phase::Starting,
            consumed: 0,
            observed: Observed::default(),
            state: ChildState::Unknown,
            segment_open: false,
            verdict: None,
            verdicts: BTreeMap::new(),
            early_receipts: BTreeMap::new(),
            since_result: Vec::new(),
            alone: None,
            next_write: 1,
            last_user_write: 0,
            read_all: false,
            unfinished: None,
            asked: BTreeMap::new(),
            interrupt: None,
            cancels: BTreeMap::new(),
            answers: Vec::new(),
            tasks: Tasks::default(),
            meter: Meter::new(baseline),
            ending: None,
            settled: false,
            killing: false,
            adopted: false,
            reoffered: false,
            reset: false,
            started: now,
            first_write: None,
            start_expired: false,
            quiet_expired: false,
            interrupt_expired: false,
            answer_expired: false,
            wake_expired: false,
            write_expired: false,
            last_line: now,
            last_result: now,
            had_error: false,
            torn: false,
            tools: Tools::default(),
            passing: None,
            api_error: None,
            limit_until: None,
            print: None,
            watch: Watch::new(now),
            expects: None,
            denied_by_child: 0,
            denied_by_us: 0,
            asking: BTreeMap::new(),
            auto_continued: 0,
        }
    }

    /// How many answers to interrupts are kept for whoever asked.
    const ANSWERS: usize = 8;

    pub(super) fn remember_answer(&mut self, request_id: &str, status: InterruptStatus) {
        if self.answers.len() == Self::ANSWERS {
            self.answers.remove(0);
        }
        self.answers.push((request_id.to_owned(), status));
    }

    pub(super) fn interrupt_status(&self, request_id: &str) -> InterruptStatus {
        if let Some((_, status)) = self.answers.iter().rev().find(|(id, _)| id == request_id) {
            return status.clone();
        }
        if self.asked.contains_key(request_id) { InterruptStatus::Waiting } else { InterruptStatus::NotSent }
    }

    pub(super) fn activity(&self, asking: bool) -> Activity {
        if asking {
            return Activity::Permission;
        }
        if !self.observed.line {
            return Activity::Starting;
        }
        if let Some(silent) = self.watch.activity() {
            return silent;
        }
        if let Some(passing) = &self.passing {
            return passing.clone();
        }
        if self.segment_open {
            return self.tools.current().map_or(Activity::Thinking, |t| Activity::Tool(t.to_owned()));
        }
        if self.tasks.any_live() { Activity::Background } else { Activity::Settling }
    }

    /// Nothing runs in it, as far as it says.
    pub(super) fn at_rest(&self) -> bool {
        !self.segment_open && (!self.observed.state || self.state == ChildState::Idle)
    }

    /// An interrupt or a stop is under way: what ends now was ended by us.
    pub(super) fn being_stopped(&self) -> bool {
        self.interrupt.is_some() || self.interrupt_expired || self.told_to_stop() || self.made_room()
    }

    /// An interrupt is under way that new messages have to wait for; `all_final`: no delivery is left that it may have
    /// been meant for.
    pub(super) fn breaks_off(&self, all_final: bool) -> bool {
        let idle = !self.segment_open && all_final;
        self.interrupt.as_ref().is_some_and(|i| !(idle && i.found_nothing()))
    }

    /// Somebody wanted the child gone.
    pub(super) fn told_to_stop(&self) -> bool {
        self.ending.is_some_and(|e| e.why == EndReason::Stop)
    }

    /// It was told to leave in the middle of what it said behind its declaration.
    pub(super) fn made_room(&self) -> bool {
        self.ending.is_some_and(|e| e.why == EndReason::Declared)
    }

    /// Since when a request of this subtype has been waiting for its answer.
    pub(super) fn asked_since(&self, subtype: &str) -> Option<u64> {
        self.asked.values().filter(|a| a.subtype == subtype).map(|a| a.since).min()
    }
}
