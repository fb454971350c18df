//! A history is played: each step is something that the child, the controller, a person, time or bad luck does.

use super::child::Dialect;
use super::choices::{History, Step};
use super::invariants;
use super::session::Session;
use ostler_core::ctl::Exit;
use ostler_core::machine::{Mode, Phase, Policy};
use ostler_core::record::RecordEvent;
use ostler_core::rows::{DeliveryState, Outcome};
use std::collections::BTreeMap;

/// How often what came up: a generator that never gets anywhere would prove nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    deliveries: BTreeMap<DeliveryState, u64>,
    completed: u64,
    interrupted: u64,
    failed: u64,
    unfinished: u64,
    stalled: u64,
    generations: u64,
    adoptions: u64,
    declarations: u64,
    closed: u64,
    /// Messages that were taken back in the store, and by the child.
    taken: u64,
    given_back: u64,
}

impl Seen {
    pub(super) fn add(&mut self, other: &Self) {
        for (state, n) in &other.deliveries {
            *self.deliveries.entry(*state).or_default() += n;
        }
        self.completed += other.completed;
        self.interrupted += other.interrupted;
        self.failed += other.failed;
        self.unfinished += other.unfinished;
        self.stalled += other.stalled;
        self.generations += other.generations;
        self.adoptions += other.adoptions;
        self.declarations += other.declarations;
        self.closed += other.closed;
        self.taken += other.taken;
        self.given_back += other.given_back;
    }

    /// Every kind of end came up.
    pub(super) fn check(&self) {
        use DeliveryState::{Cancelled, Completed, Cut, Failed};
        for state in [Completed, Cancelled, Failed, Cut] {
            assert!(self.deliveries.contains_key(&state), "no delivery ended {state:?}");
        }
        let turns = [
            self.completed,
            self.interrupted,
            self.failed,
            self.unfinished,
            self.stalled,
            self.adoptions,
            self.declarations,
            self.closed,
        ];
        let back = [self.taken, self.given_back];
        assert!(back.iter().all(|n| *n > 0), "no message was taken back in some way: {back:?}");
        assert!(turns.iter().all(|n| *n > 0), "some end never came up: {turns:?}");
    }
}

fn setting(setting: u8) -> Session {
    let dialect = Dialect {
        lifecycle: setting & 1 == 0,
        // No version without receipts is known that restores its totals, or that can't say its state.
        states: setting & 0b1111 != 0b1110,
        restores: setting & 0b1_0001 == 0,
    };
    let policy = match setting >> 5 {
        0..=3 => Policy::Ask,
        4 | 5 => Policy::Allow,
        _ => Policy::Deny,
    };
    Session::new(dialect, policy)
}

/// Plays it to its end. Gives the steps that were done and what came up.
pub(super) fn play(history: &History) -> (u64, Seen) {
    let mut session = setting(history.setting);
    let mut seen = Seen::default();
    let mut done = 0;
    for step in &history.steps {
        done += one(&mut session, *step, &mut seen);
        invariants::always(&session);
    }
    session.controller();
    invariants::folding_again(&session);
    done += drain(&mut session, &mut seen);
    invariants::at_the_end(&session);
    let rows = session.fold().project();
    for delivery in &rows.deliveries {
        *seen.deliveries.entry(delivery.state).or_default() += 1;
    }
    for turn in &rows.turns {
        seen.stalled += u64::from(turn.failure.as_deref() == Some("stalled"));
        match turn.outcome.unwrap() {
            Outcome::Completed => seen.completed += 1,
            Outcome::Interrupted => seen.interrupted += 1,
            Outcome::Failed => seen.failed += 1,
            Outcome::Unfinished => seen.unfinished += 1,
        }
    }
    seen.generations = u64::from(session.spawned);
    seen.declarations = u64::from(session.declarations);
    seen.closed = u64::from(session.record.closed);
    seen.taken = session.taken.len() as u64;
    seen.given_back = session.truth.given_back.len() as u64;
    (done, seen)
}

/// Plays it and says every step, until it breaks.
pub(super) fn narrate(history: &History) {
    let mut session = setting(history.setting);
    println!("  {:?} {:?}", session.dialect, session.policy);
    for step in &history.steps {
        println!("  {:>8} {:?} {step:?}", session.now, word(*step));
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            one(&mut session, *step, &mut Seen::default());
            invariants::always(&session);
        }));
        if played.is_err() {
            break;
        }
    }
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        session.controller();
        invariants::folding_again(&session);
        drain(&mut session, &mut Seen::default());
        invariants::at_the_end(&session);
    }));
    session.print();
}

const fn word(step: Step) -> &'static str {
    match step.0 {
        0..=34 => "the child goes on",
        35..=59 => "the controller goes around",
        60..=65 => "the controller is killed on its way",
        66..=76 => "time passes",
        77..=82 => "a message is sent",
        83..=84 => "a message that says now",
        85..=86 => "a message for the queue",
        87 => "a long message",
        88 => "/clear",
        89 => "an interrupt",
        90 => "an interrupt that takes back what waits",
        91 => "a stop, a resume, a close, a declaration",
        92..=93 => "a decision",
        94 => "a message is wanted back",
        95..=96 => "the child dies",
        97 => "the child goes deaf, or silent",
        _ => "the controller is killed",
    }
}

fn one(session: &mut Session, (kind, arg): Step, seen: &mut Seen) -> u64 {
    match kind {
        0..=34 => {
            return (0..=arg % 4).filter(|n| session.child_goes_on(arg.rotate_left(7 * n))).count() as u64;
        }
        35..=59 => session.controller(),
        60..=65 => {
            session.fuse = Some(arg % 14);
            session.controller();
            seen.adoptions += u64::from(session.machine.is_none());
        }
        66..=76 => return time(session, arg),
        77..=82 => session.send(Mode::Auto, "hello"),
        83..=84 => session.send(Mode::Now, "now"),
        85..=86 => session.send(Mode::Queue, "later"),
        87 => session.send(Mode::Auto, &"long ".repeat(300)),
        88 => session.send(Mode::Auto, "/clear"),
        89 => session.interrupt(),
        90 => session.interrupt_and_cancel(),
        91 => match arg % 16 {
            0..=4 => session.apply(&RecordEvent::Stops),
            5..=9 => session.apply(&RecordEvent::Resumes),
            10 if arg >> 8 & 3 == 0 => session.apply(&RecordEvent::Closes),
            _ => session.declare(arg >> 10),
        },
        92..=93 => session.decide_question(arg % 3 != 0),
        94 => session.cancel(arg),
        95..=96 => {
            let exit = match arg % 4 {
                0 => Exit::Code(0),
                1 => Exit::Code(1),
                _ => Exit::Signal(9),
            };
            session.kill_child(exit, arg & 0x100 != 0);
        }
        97 => {
            if let Some(child) = &mut session.child {
                (child.deaf, child.stuck, child.mute) = (arg % 3 != 2, arg % 3 == 1, arg % 3 == 2);
                let no = child.generation;
                session.disturbed.insert(no);
            }
        }
        _ => session.lose_controller(),
    }
    1
}

/// A child that isn't disturbed says what it has to say before much time passes.
fn time(session: &mut Session, arg: u32) -> u64 {
    let ms = match arg % 16 {
        0..=7 => u64::from(arg >> 8) % 40,
        8..=12 => 600 + u64::from(arg >> 8) % 2_000,
        13 => 5_200,
        14 => 61_000,
        _ => 3_700_000,
    };
    let mut done = 1;
    if ms >= 40 {
        for n in 0..40 {
            let moved =
                (0..6).fold(false, |moved, k| session.child_goes_on(arg.rotate_left(5 * k + n)) | moved);
            session.controller();
            done += 7;
            if !moved {
                break;
            }
        }
    }
    session.now += ms;
    done
}

/// Nobody wants anything new; everything comes to its end.
fn drain(session: &mut Session, seen: &mut Seen) -> u64 {
    let mut done = 0;
    for round in 0..4_000u32 {
        let moved = (0..8)
            .filter(|n| session.child_goes_on(round.wrapping_mul(0x9E37_79B1).rotate_left(n * 4)))
            .count() as u64;
        done += moved;
        session.decide_question(false);
        if round > 200 && session.child.as_ref().is_some_and(|c| c.stuck && c.in_tool()) {
            // A tool that never ends is for people to stop; everything else is the watchdog's.
            session.apply(&RecordEvent::Stops);
        }
        let absent = session.machine.is_none();
        session.controller();
        seen.adoptions += u64::from(absent && session.machine.is_some());
        let cold = session.machine.as_ref().is_none_or(|m| m.phase() == Phase::Cold);
        if cold && session.child.is_none() && session.record.stopped && !session.record.closed {
            session.apply(&RecordEvent::Resumes);
            continue;
        }
        if session.machine.is_none() && cold && session.child.is_none() {
            return done;
        }
        if moved == 0 {
            session.now += match round {
                0..1_000 => 50,
                1_000..2_000 => 500,
                _ => 30_000,
            };
        }
    }
    panic!("it never comes to rest");
}
