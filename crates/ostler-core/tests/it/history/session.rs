//! A session around the simulated child: its journal, its store, its controller (which may be killed between any two
//! steps), the people who want things, and time.

use super::child::{Child, Dialect, Progress};
use super::truth::Truth;
use claude_wire::{Content, Frame, build};
use ostler_core::ctl::{
    Baseline, Deadline, Decision, EndReason, Event, Exit, KillReason, Line, ModelBaseline, Reply, Row,
};
use ostler_core::ids::{ConversationId, DeliveryId, Millis};
use ostler_core::limits::Limits;
use ostler_core::machine::{
    Action, CancelStatus, InterruptStatus, Machine, Mode, Pending, Phase, Policy, Stored, Wish, World,
};
use ostler_core::record::Record;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use uuid::Uuid;

/// The controller was killed.
pub(super) struct Killed;

/// What a pipe holds at once, in bytes.
const PIPE: u64 = 700;
/// How many actions the machine may want at once before it counts as going round in circles.
const ACTIONS: u32 = 60;

/// One generation's files.
#[derive(Clone, Debug, Default)]
struct Files {
    out: Vec<u8>,
    ctl: Vec<Row>,
    exit: Option<Exit>,
}

#[derive(Clone, Debug)]
struct Long {
    write: u64,
    bytes: Vec<u8>,
}

/// A message that somebody sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pending: Pending,
    content: String,
}

impl Sent {
    pub(super) const fn id(&self) -> DeliveryId {
        self.pending.id
    }
}

/// Everything.
pub(super) struct Session {
    pub(super) dialect: Dialect,
    pub(super) policy: Policy,
    pub(super) limits: Limits,
    pub(super) now: u64,
    pub(super) machine: Option<Machine>,
    files: Vec<Files>,
    pub(super) child: Option<Child>,
    pipe: VecDeque<Vec<u8>>,
    /// Half a line stands in the pipe.
    half: bool,
    long: Option<Long>,
    pub(super) sent: Vec<Sent>,
    stored: Vec<Stored>,
    wish: Option<(Wish, u64)>,
    /// The interrupt that a delivery with mode `now` needs, and since when.
    breaking: Option<(Wish, u64)>,
    /// Messages that somebody wants back from the child's queue.
    cancels: Vec<DeliveryId>,
    /// Messages that a controller has claimed, and those that were taken back in the store.
    claimed: BTreeSet<DeliveryId>,
    pub(super) taken: BTreeSet<DeliveryId>,
    rested: Option<u64>,
    /// Since when a message has been waiting behind a declared record.
    pub(super) waits: Option<u64>,
    /// How often the agent declared something.
    pub(super) declarations: u32,
    pub(super) truth: Truth,
    pub(super) record: Record,
    /// Micro-steps until the controller is killed.
    pub(super) fuse: Option<u32>,
    /// An interrupt was written to this generation, and this many results were known then.
    interrupting: Option<(u32, usize)>,
    /// Decisions by people: generation, request, allowed.
    decided: BTreeSet<(u32, String, bool)>,
    /// Generations whose child was made deaf or stuck.
    pub(super) disturbed: BTreeSet<u32>,
    names: u128,
    pub(super) spawned: u32,
}

impl Session {
    pub(super) fn new(dialect: Dialect, policy: Policy) -> Self {
        let conversation = Uuid::from_u128(0xc0_0000);
        let truth = Truth { conversation, ..Truth::default() };
        Self {
            dialect,
            policy,
            limits: Limits::default(),
            now: 1_000,
            machine: Some(Machine::new(ConversationId(conversation), Limits::default())),
            files: Vec::new(),
            child: None,
            pipe: VecDeque::new(),
            half: false,
            long: None,
            sent: Vec::new(),
            stored: Vec::new(),
            wish: None,
            breaking: None,
            cancels: Vec::new(),
            claimed: BTreeSet::new(),
            taken: BTreeSet::new(),
            rested: None,
            waits: None,
            declarations: 0,
            truth,
            record: Record::default(),
            fuse: None,
            interrupting: None,
            decided: BTreeSet::new(),
            disturbed: BTreeSet::new(),
            names: 0,
            spawned: 0,
        }
    }

    /// The journal, for people.
    pub(super) fn print(&self) {
        for (no, files) in self.files.iter().enumerate() {
            let mut rows = files.ctl.iter().peekable();
            let mut at = 0;
            println!("  generation {}:", no + 1);
            for line in files.out.split_inclusive(|b| *b == b'\n') {
                while let Some(row) = rows.next_if(|r| r.off < (at + line.len()) as u64) {
                    println!("    {:?}", row.ev);
                }
                at += line.len();
                println!("    < {}", String::from_utf8_lossy(line).trim_end());
            }
            rows.for_each(|row| println!("    {:?}", row.ev));
            println!("    exit {:?}", files.exit);
        }
        let rows = self.fold().project();
        rows.turns.iter().for_each(|t| println!("  {t:?}"));
        rows.deliveries.iter().for_each(|d| println!("  {d:?}"));
        rows.spend.iter().for_each(|s| println!("  {s:?}"));
        println!("  {:?}", self.truth);
    }

    fn wall(&self) -> Millis {
        Millis(1_700_000_000_000 + i64::try_from(self.now).unwrap())
    }

    /// The controller may die here.
    fn step(&mut self) -> Result<(), Killed> {
        match &mut self.fuse {
            Some(0) => Err(Killed),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    // People.

    pub(super) fn send(&mut self, mode: Mode, content: &str) {
        if self.halted() {
            return;
        }
        self.names += 1;
        let id = DeliveryId(Uuid::from_u128(0xde_0000_0000 + self.names));
        let line_len = build::user_line(id.0, &Content::Text(content.to_owned()), None).len() as u64;
        let seq = self.sent.len() as u64 + 1;
        let pending = Pending { id, mode, line_len, seq, accepted_at: self.wall() };
        self.sent.push(Sent { pending, content: content.to_owned() });
    }

    /// Somebody wants a message back.
    pub(super) fn cancel(&mut self, which: u32) {
        if self.sent.is_empty() {
            return;
        }
        let id = self.sent[which as usize % self.sent.len()].id();
        if self.machine.is_some() {
            drop(self.take_back(id));
        } else if !self.claimed.contains(&id) {
            // In the store, which nobody has to be there for.
            self.taken.insert(id);
        }
    }

    fn take_back(&mut self, id: DeliveryId) -> Result<(), Killed> {
        match self.machine.as_ref().unwrap().cancel_status(id) {
            CancelStatus::Unwritten => drop(self.taken.insert(id)),
            CancelStatus::Waiting => self.say(Event::Cancelled { delivery: id })?,
            CancelStatus::Queued => self.cancels.push(id),
            CancelStatus::Asked | CancelStatus::Started | CancelStatus::Final(_) => {}
        }
        Ok(())
    }

    /// The same for everything that waits, with an interrupt.
    pub(super) fn interrupt_and_cancel(&mut self) {
        let Some(machine) = &self.machine else { return };
        let by_itself = machine.can_cancel_queued() && self.wish.is_none();
        let ids: Vec<_> = self.sent.iter().map(Sent::id).collect();
        for id in ids {
            let status = self.machine.as_ref().unwrap().cancel_status(id);
            if !(status == CancelStatus::Queued && by_itself) && self.take_back(id).is_err() {
                return;
            }
        }
        self.interrupt();
        if let Some((wish, _)) = &mut self.wish {
            wish.cancel_queued = true;
        }
    }

    pub(super) fn interrupt(&mut self) {
        let turn = self.machine.as_ref().and_then(Machine::open_turn);
        if turn.is_some() && self.wish.is_none() {
            self.names += 1;
            let wish = Wish { request_id: format!("int-{}", self.names), cancel_queued: false };
            self.wish = Some((wish, self.now));
        }
    }

    pub(super) fn decide_question(&mut self, allow: bool) {
        let Some(machine) = &self.machine else { return };
        let open =
            machine.rows().permissions.iter().rev().find(|p| p.decision.is_none() && p.withdrawn.is_none());
        let Some(open) = open else { return };
        let (generation, request_id) = (open.generation, open.request_id.clone());
        // First decision wins: the store compares and sets.
        if self.stored.iter().any(|s| s.generation == generation && s.request_id == request_id) {
            return;
        }
        self.decided.insert((generation, request_id.clone(), allow));
        let reply = if allow { Reply::allow() } else { Reply::deny(None) };
        self.stored.push(Stored { generation, request_id, by: "person".into(), reply });
    }

    // The child.

    pub(super) fn child_goes_on(&mut self, choice: u32) -> bool {
        let Some(child) = &mut self.child else { return false };
        let files = &mut self.files[child.generation as usize - 1];
        match child.go_on(choice, &mut self.pipe, &mut files.out, &mut self.truth) {
            Progress::Moved => {
                self.check_ended_early();
                true
            }
            Progress::Blocked => false,
            Progress::Exited(code) => {
                self.child_gone(Exit::Code(code));
                true
            }
        }
    }

    pub(super) fn kill_child(&mut self, exit: Exit, torn: bool) {
        if let Some(child) = &self.child {
            if torn && let Some(line) = child.torn_line() {
                self.files[child.generation as usize - 1].out.extend_from_slice(line.as_bytes());
            }
            self.child_gone(exit);
        }
    }

    fn child_gone(&mut self, exit: Exit) {
        let Some(child) = self.child.take() else { return };
        let unwanted = self.unwanted(child.generation);
        child.gone(&mut self.truth, &unwanted);
        self.check_answers(&child);
        self.files[child.generation as usize - 1].exit = Some(exit);
    }

    /// Results in the current generation's `out`, up to an offset.
    fn results(&self, end: u64) -> usize {
        let out = self.files.last().map_or(&[][..], |f| &f.out);
        let seen = &out[..usize::try_from(end).unwrap_or(usize::MAX).min(out.len())];
        seen.split_inclusive(|b| *b == b'\n')
            .filter(|line| line.ends_with(b"\n") && line.starts_with(br#"{"type":"result""#))
            .count()
    }

    /// It was told to break off what it does, and nothing has ended since.
    fn is_interrupting(&self, generation: u32) -> bool {
        self.interrupting.is_some_and(|(no, known)| no == generation && self.results(u64::MAX) <= known)
    }

    /// Messages that a stop, or an interrupt behind which nothing has ended, was meant for: those written before it.
    fn unwanted(&self, generation: u32) -> BTreeSet<Uuid> {
        let (stopping, interrupting) = (self.stopping(), self.is_interrupting(generation));
        let rows = &self.files[generation as usize - 1].ctl;
        let breaks_off = |r: &Row| match &r.ev {
            Event::Begin { line: Line::Request { subtype, .. }, .. } => subtype == "interrupt",
            Event::Expired { deadline } => *deadline == Deadline::Interrupt,
            _ => false,
        };
        let last = rows.iter().rposition(breaks_off).filter(|_| interrupting).unwrap_or(0);
        let end = if stopping { rows.len() } else { last };
        let written = rows[..end].iter().filter_map(|r| match &r.ev {
            Event::Begin { line: Line::User { delivery }, .. } => Some(delivery.0),
            _ => None,
        });
        written.collect()
    }

    /// Somebody interrupted or stopped this generation.
    pub(super) fn broke_off(&self, generation: u32) -> bool {
        self.files[generation as usize - 1].ctl.iter().any(|r| match &r.ev {
            Event::Ending { why } => matches!(why, EndReason::Stop | EndReason::Declared),
            Event::Begin { line: Line::Request { subtype, .. }, .. } => subtype == "interrupt",
            Event::Expired { deadline } => *deadline == Deadline::Interrupt,
            _ => false,
        })
    }

    fn stopping(&self) -> bool {
        let last = self.files.last();
        let rows = last.into_iter().flat_map(|f| &f.ctl);
        rows.into_iter().any(|r| matches!(r.ev, Event::Ending { why: EndReason::Stop }))
    }

    /// `end_session` comes when nothing is left to do, or because somebody wanted it.
    fn check_ended_early(&mut self) {
        let stopping = self.stopping();
        let Some(child) = &mut self.child else { return };
        let Some(what) = child.ended_early.take() else { return };
        let given_up = self.files.last().is_some_and(|f| {
            f.ctl.iter().any(|r| {
                matches!(
                    r.ev,
                    Event::Expired {
                        deadline: Deadline::Shells
                            | Deadline::Notification
                            | Deadline::Quiet
                            | Deadline::WakeWait
                    }
                )
            })
        });
        let disturbed = self.disturbed.contains(&child.generation);
        assert!(stopping || given_up || disturbed, "end_session cut off {what}");
    }

    fn check_answers(&self, child: &Child) {
        let mut seen: BTreeMap<&str, bool> = BTreeMap::new();
        for (request, allowed) in &child.answers {
            let by_person = self.decided.contains(&(child.generation, request.clone(), true));
            assert!(!allowed || by_person || self.policy == Policy::Allow, "{request} was allowed by nobody");
            let first = *seen.entry(request).or_insert(*allowed);
            assert_eq!(first, *allowed, "{request} was answered in two ways");
        }
    }

    // The controller.

    /// Runs the controller once around; starts one when there is none.
    pub(super) fn controller(&mut self) {
        if self.around().is_err() {
            self.lose_controller();
        }
        self.fuse = None;
    }

    pub(super) fn lose_controller(&mut self) {
        self.machine = None;
        self.half |= self.long.take().is_some();
        self.wish = None;
        self.breaking = None;
        self.cancels.clear();
        self.rested = None;
        self.waits = None;
    }

    fn around(&mut self) -> Result<(), Killed> {
        if self.machine.is_none() {
            self.machine = Some(self.fold());
            self.take_over()?;
        }
        self.pump();
        self.notice_death()?;
        self.go_on_writing()?;
        self.count_the_wait();
        self.act()?;
        self.answer_waiters()?;
        self.move_record();
        let machine = self.machine.as_ref().unwrap();
        if machine.phase() == Phase::Cold && !machine.owes(&self.pending()) {
            // It leaves; the next one folds the journal.
            self.lose_controller();
        }
        Ok(())
    }

    /// A new machine, folded from the journal alone.
    pub(super) fn fold(&self) -> Machine {
        let mut machine = Machine::new(ConversationId(Uuid::from_u128(0xc0_0000)), self.limits);
        for files in &self.files {
            let (mut at, mut rows) = (0, files.ctl.iter().peekable());
            loop {
                let end = files.out[at..].iter().position(|b| *b == b'\n').map(|n| at + n + 1);
                match (end, rows.peek()) {
                    (Some(end), row) if row.is_none_or(|r| r.off >= end as u64) => {
                        let frame = Frame::parse(&files.out[at..end - 1]);
                        machine.out((at as u64, end as u64), &frame, self.now);
                        at = end;
                    }
                    (_, Some(_)) => machine.row(rows.next().unwrap(), self.now),
                    (_, None) => break,
                }
            }
            if at < files.out.len() && files.exit.is_some() {
                machine.torn();
            }
        }
        machine
    }

    fn pump(&mut self) {
        let Some(machine) = &mut self.machine else { return };
        let no = machine.generation() as usize;
        if no == 0 || machine.phase() == Phase::Cold {
            return;
        }
        let out = &self.files[no - 1].out;
        let mut at = usize::try_from(machine.consumed()).unwrap();
        while let Some(n) = out[at..].iter().position(|b| *b == b'\n') {
            let frame = Frame::parse(&out[at..at + n]);
            machine.out((at as u64, (at + n + 1) as u64), &frame, self.now);
            at += n + 1;
        }
    }

    pub(super) fn say(&mut self, ev: Event) -> Result<(), Killed> {
        self.step()?;
        let machine = self.machine.as_mut().unwrap();
        let off = if matches!(ev, Event::Spawn { .. }) { 0 } else { machine.consumed() };
        let row = Row { at: Millis(1_700_000_000_000 + i64::try_from(self.now).unwrap()), off, ev };
        self.files.last_mut().unwrap().ctl.push(row.clone());
        self.step()?;
        self.machine.as_mut().unwrap().row(&row, self.now);
        self.move_record();
        Ok(())
    }

    fn take_over(&mut self) -> Result<(), Killed> {
        let machine = self.machine.as_ref().unwrap();
        let phase = machine.phase();
        if phase == Phase::Cold {
            return Ok(());
        }
        let no = machine.generation();
        if self.child.as_ref().is_none_or(|c| c.generation != no) {
            if phase == Phase::Starting && self.files[no as usize - 1].exit.is_none() {
                return self.say(Event::Dead { exit: Exit::Unknown, proven: true, killed: 0, said: None });
            }
            return self.notice_death();
        }
        self.pump();
        if phase == Phase::Starting {
            self.say(Event::Child { pid: 1, start: 1, boot: "b".into() })?;
        }
        self.say(Event::Adopted { pid: 2, version: "v".into() })
    }

    fn notice_death(&mut self) -> Result<(), Killed> {
        let machine = self.machine.as_ref().unwrap();
        if machine.phase() == Phase::Cold {
            return Ok(());
        }
        if self.child.is_some() {
            if machine.killing() {
                self.kill_child(Exit::Signal(9), false);
            }
            return Ok(());
        }
        self.long = None;
        self.pump();
        let files = self.files.last().unwrap();
        let torn = files.out.last().is_some_and(|b| *b != b'\n');
        let exit = files.exit.unwrap_or(Exit::Unknown);
        if torn {
            self.machine.as_mut().unwrap().torn();
        }
        self.say(Event::Dead { exit, proven: true, killed: 0, said: None })
    }

    pub(super) fn pending(&self) -> Vec<Pending> {
        if self.halted() {
            return Vec::new();
        }
        self.sent.iter().map(|s| s.pending).filter(|p| !self.taken.contains(&p.id)).collect()
    }

    fn act(&mut self) -> Result<(), Killed> {
        for _ in 0..ACTIONS {
            let Some(action) = self.decide() else { return Ok(()) };
            self.step()?;
            if !self.perform(action)? {
                return Ok(());
            }
            self.pump();
        }
        panic!("the machine goes round in circles: {:?}", self.decide());
    }

    fn decide(&mut self) -> Option<Action> {
        let machine = self.machine.as_ref()?;
        let ended = |id| machine.rows().deliveries.iter().any(|d| d.id == id && d.state.is_final());
        let pending: Vec<_> = self.pending().into_iter().filter(|p| !ended(p.id)).collect();
        let known = self.breaking.take();
        self.breaking = machine.now_wish(&pending).map(|wish| match known {
            Some((same, since)) if same == wish => (wish, since),
            _ => (wish, self.now),
        });
        let breaking = self.breaking.as_ref().map(|(wish, _)| wish);
        machine.decide(&World {
            now: self.now,
            wall: self.wall(),
            pending: &pending,
            stored: &self.stored,
            policy: self.policy,
            pipe_ready: self.child.is_some() && self.pipe.is_empty() && !self.half && self.long.is_none(),
            pipe_capacity: PIPE,
            interrupt: self.wish.as_ref().map(|(w, _)| w).or(breaking),
            cancels: &self.cancels,
            stop: self.halted(),
            limited: false,
            hold: self.halted(),
            declared: machine.declared().is_some(),
            waited: self.waits.map_or(0, |t| self.now - t),
            rested: self.rested.map_or(0, |t| self.now - t),
            ..World::default()
        })
    }

    fn perform(&mut self, action: Action) -> Result<bool, Killed> {
        match action {
            Action::Spawn { delivery } => {
                self.claimed.insert(delivery);
                self.step()?;
                self.spawn(delivery)?;
            }
            Action::WriteUser { delivery } => {
                self.claimed.insert(delivery);
                self.step()?;
                self.rested = None;
                let bytes = self.user_line(delivery);
                self.write(Line::User { delivery }, bytes)?;
            }
            Action::Cancel { delivery } => {
                let write = self.machine.as_ref().unwrap().next_write();
                let request_id = format!("o-cancel-{}-{write}", self.files.len());
                let bytes = build::cancel_async_message(&request_id, delivery.0);
                let subtype = "cancel_async_message".to_owned();
                let about = Some(delivery);
                self.write(Line::Request { request_id, subtype, about, cancel_queued: false }, bytes)?;
            }
            Action::Request { request_id, subtype, cancel_queued } => {
                let machine = self.machine.as_ref().unwrap();
                let request_id = request_id.unwrap_or_else(|| {
                    format!("o-{subtype}-{}-{}", machine.generation(), machine.next_write())
                });
                let bytes = request_line(subtype, &request_id, None, cancel_queued);
                if subtype == "interrupt" {
                    self.interrupting = Some((machine.generation(), self.results(machine.consumed())));
                }
                self.write(
                    Line::Request { request_id, subtype: subtype.to_owned(), about: None, cancel_queued },
                    bytes,
                )?;
            }
            Action::Repeat { write, line } => {
                let bytes = match &line {
                    Line::User { delivery } => self.user_line(*delivery),
                    Line::Request { request_id, subtype, about, cancel_queued } => {
                        request_line(subtype, request_id, *about, *cancel_queued)
                    }
                    Line::Answer { request_id } => self.answer_line(request_id),
                };
                self.put(write, bytes)?;
            }
            Action::Asked { request_id } => self.say(Event::Asked { request_id })?,
            Action::Exhaust { request_id } => self.say(Event::Exhausted { request_id })?,
            Action::Decide { request_id, by, reply, given } => {
                if let Some(given) = &given {
                    // A person said so to the child before; it serves this one.
                    let allow = reply.decision == Decision::Allow;
                    let before = (given.generation, given.request_id.clone(), allow);
                    assert!(self.decided.contains(&before), "{given:?} was decided by nobody");
                    let generation = self.machine.as_ref().unwrap().generation();
                    self.decided.insert((generation, request_id.clone(), allow));
                }
                self.say(reply.decided(request_id, by, given))?;
            }
            Action::Answer { request_id } => {
                let bytes = self.answer_line(&request_id);
                self.write(Line::Answer { request_id }, bytes)?;
            }
            Action::Refuse { request_id } => {
                let bytes = build::error_response(&request_id, "no");
                self.write(Line::Answer { request_id }, bytes)?;
            }
            Action::Expire { deadline } => self.say(Event::Expired { deadline })?,
            Action::CacheSeen { seen } => self.say(Event::Cache { seen })?,
            Action::Slow { silent } => self.say(Event::Slow { silent })?,
            Action::Park { reason } => {
                let seen = Some(self.sent.len() as u64);
                self.say(Event::Parked { reason, seen })?;
            }
            Action::BeginTurn => {
                let turn = self.machine.as_ref().unwrap().rows().turns.len() as u32 + 1;
                self.say(Event::TurnBegan { turn })?;
            }
            Action::Settle { gave_up_tasks } => {
                let turn = self.machine.as_ref().unwrap().open_turn().unwrap();
                self.say(Event::Settled { turn, gave_up_tasks })?;
                self.interrupting = None;
                self.rested = Some(self.now);
            }
            Action::End { why } => self.say(Event::Ending { why })?,
            Action::Kill { why } => {
                self.kill(why)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn spawn(&mut self, delivery: DeliveryId) -> Result<(), Killed> {
        assert!(self.child.is_none(), "a second child");
        let machine = self.machine.as_ref().unwrap();
        let no = machine.generation() + 1;
        let conversation = machine.conversation();
        assert_eq!(conversation.0, self.truth.conversation, "the child is started on another conversation");
        if self.files.len() < no as usize {
            self.files.push(Files::default());
        }
        let cost = self.truth.transcript().cost.clone();
        let model = |(model, a): (&&str, &super::truth::Amount)| ModelBaseline {
            model: (*model).to_owned(),
            tokens: a.tokens,
            usd: a.usd,
        };
        let baseline =
            Baseline { usd: cost.values().map(|a| a.usd).sum(), models: cost.iter().map(model).collect() };
        let resume = !self.truth.transcript().messages.is_empty();
        self.say(Event::Spawn {
            generation: no,
            delivery,
            conversation,
            resume,
            baseline,
            version: "v".into(),
        })?;
        self.pipe.clear();
        (self.half, self.long, self.interrupting) = (false, None, None);
        self.child = Some(Child::new(no, self.dialect, &mut self.truth));
        self.spawned += 1;
        self.step()?;
        self.say(Event::Child { pid: 1, start: 1, boot: "b".into() })
    }

    fn kill(&mut self, why: KillReason) -> Result<(), Killed> {
        self.say(Event::Kill { why })?;
        self.kill_child(Exit::Signal(9), false);
        Ok(())
    }

    fn user_line(&self, delivery: DeliveryId) -> Vec<u8> {
        let sent = self.sent.iter().find(|s| s.pending.id == delivery).unwrap();
        build::user_line(delivery.0, &Content::Text(sent.content.clone()), None)
    }

    fn answer_line(&self, request_id: &str) -> Vec<u8> {
        let input = serde_json::value::RawValue::from_string("{}".into()).unwrap();
        match self.machine.as_ref().unwrap().decided(request_id) {
            Some(Reply { decision: Decision::Allow, .. }) => build::allow(request_id, &input, None),
            _ => build::deny(request_id, "no", false),
        }
    }

    fn write(&mut self, line: Line, bytes: Vec<u8>) -> Result<(), Killed> {
        let write = self.machine.as_ref().unwrap().next_write();
        let len = bytes.len() as u64;
        self.say(Event::Begin { write, line, len, hash: String::new() })?;
        self.put(write, bytes)
    }

    fn put(&mut self, write: u64, bytes: Vec<u8>) -> Result<(), Killed> {
        self.step()?;
        if bytes.len() as u64 > PIPE {
            self.long = Some(Long { write, bytes });
            return Ok(());
        }
        self.pipe.push_back(bytes);
        self.say(Event::Done { write })
    }

    /// The rest of a long line, in one go: the child reads.
    fn go_on_writing(&mut self) -> Result<(), Killed> {
        if self.child.is_none() || self.long.is_none() {
            return Ok(());
        }
        self.step()?;
        let Some(Long { write, bytes }) = self.long.take() else { return Ok(()) };
        self.pipe.push_back(bytes);
        self.say(Event::Done { write })
    }

    /// What the controller does about those who wait for an interrupt or a stop.
    fn answer_waiters(&mut self) -> Result<(), Killed> {
        let machine = self.machine.as_ref().unwrap();
        let cold = machine.phase() == Phase::Cold;
        if let Some((_, since)) = &self.breaking
            && self.wish.is_none()
        {
            let live = matches!(machine.phase(), Phase::Resident | Phase::Starting);
            let late = self.now >= since + self.limits.interrupt;
            if late && live && machine.open_turn().is_some() && !machine.killing() {
                self.interrupting = Some((machine.generation(), self.results(machine.consumed())));
                return self.say(Event::Expired { deadline: Deadline::Interrupt });
            }
        }
        self.cancels.retain(|id| machine.cancel_status(*id) == CancelStatus::Queued);
        if let Some((wish, since)) = &self.wish {
            let status = machine.interrupt_status(&wish.request_id);
            let live = matches!(machine.phase(), Phase::Resident | Phase::Starting);
            let late = self.now >= since + self.limits.interrupt;
            let running = machine.open_turn().is_some();
            if status == InterruptStatus::NotSent && late && live && running && !machine.killing() {
                self.interrupting = Some((machine.generation(), self.results(machine.consumed())));
                return self.say(Event::Expired { deadline: Deadline::Interrupt });
            }
            let resolved = match status {
                InterruptStatus::NotSent => !running,
                InterruptStatus::Waiting => false,
                _ => true,
            };
            if cold || resolved {
                self.wish = None;
            }
        }
        self.close_the_journal()
    }
}

fn request_line(subtype: &str, id: &str, about: Option<DeliveryId>, cancel_queued: bool) -> Vec<u8> {
    match (subtype, about) {
        ("cancel_async_message", Some(delivery)) => build::cancel_async_message(id, delivery.0),
        ("interrupt", _) => build::interrupt(id, cancel_queued),
        ("end_session", _) => build::end_session(id),
        ("initialize", _) => build::initialize(id),
        other => panic!("nobody asks {other:?}"),
    }
}
