//! Exactly once, judged by what the real `claude` asked the API and by what its tool did, not by ostler's own rows.
//!
//! A normal run has a few kills of each kind. The whole number, alone and without the runner's time limits:
//!
//! ```text
//! OSTLER_EXACTLY_ONCE=100 cargo test -p ostler --test it real_exactly_once -- --nocapture --test-threads 1
//! ```
//!
//! kills a controller 100 times at each of four places (two versions; between `begin` and write, between write and
//! receipt), and a child at 100 instants of a turn on each version; `docs/reliability.md` has the figures.

use super::engine::stable::{PATIENCE, Session, kill, until};
use super::real_stage::{Stage, on_both_versions, said};
use claude_lab::LoggedRequest;
use claude_lab::price::bill::Lane;
use ostler_controller::client::Waited;
use ostler_core::ctl::{Event, Exit, Line};
use ostler_core::ids::DeliveryId;
use ostler_core::rows::DeliveryState;
use std::collections::BTreeSet;
use std::fs;
use std::time::Instant;
use uuid::Uuid;

on_both_versions! {
    controllers_killed_between_begin_and_write
    controllers_killed_between_write_and_receipt
    a_child_killed_at_many_instants_of_a_turn
}

/// How many times, when nobody says.
const KILLS: usize = 5;

fn kills() -> usize {
    let asked = std::env::var("OSTLER_EXACTLY_ONCE").ok();
    asked.map_or(KILLS, |times| times.parse().expect("OSTLER_EXACTLY_ONCE is a number"))
}

fn controllers_killed_between_begin_and_write(version: &'static str) {
    let found = kill_controllers(version, "begin-written", kills());
    tell(version, "controllers killed between begin and write", &found);
}

/// Before the row that says it is written, and behind it.
fn controllers_killed_between_write_and_receipt(version: &'static str) {
    let times = kills();
    let found = kill_controllers(version, "line-written", times / 2);
    tell(version, "controllers killed between write and its row", &found);
    let found = kill_controllers(version, "done-written", times - times / 2);
    tell(version, "controllers killed between that row and the receipt", &found);
}

#[expect(clippy::print_stderr, reason = "the figures of a whole run")]
fn tell(version: &str, what: &str, found: &[(&str, usize)]) {
    let found: Vec<String> = found.iter().map(|(word, n)| format!("{word} {n}")).collect();
    eprintln!("{version}: {what}: {}", found.join(", "));
}

/// Many short messages to one child that lingers; on each, a controller dies at `point`.
fn kill_controllers(version: &'static str, point: &str, times: usize) -> Vec<(&'static str, usize)> {
    let deaths = tempfile::tempdir().unwrap();
    let more = [("OSTLER_CRASH_AT", point), ("OSTLER_CRASH_ONCE", deaths.path().to_str().unwrap())];
    let stage = Stage::with(version, "otherwise\n say You said $text\n", &more);
    let session = stage.session_of(&[], |spec| spec.limits.linger = 60_000);
    let mut sent = Vec::new();
    for _ in 0..times {
        let marker = marker();
        until("whoever took over has said all it has to say", || said_all(&session).then_some(()));
        fs::write(deaths.path().join("next"), "").unwrap();
        let id = session.send(&marker);
        rests(&session);
        sent.push((id, marker));
    }
    assert_eq!(fs::read_dir(deaths.path()).unwrap().count(), 0, "somebody was not killed");
    let mut killed = 0;
    for (id, marker) in &sent {
        assert_eq!(session.delivery(*id).state, DeliveryState::Completed);
        assert_eq!(asked(&stage, marker, 0).len(), 1, "{marker} was asked once");
        killed += usize::from(adopted_behind(&session, *id));
    }
    assert_eq!(killed, times, "each delivery has its death");
    let _ = stage.stable.ostler.stop(session.id).unwrap();
    stage.stable.finish();
    vec![("messages", times), ("kills", killed), ("asked once and completed", sent.len())]
}

/// Waits until nothing is owed. A machine on which much else runs takes its time for a start of the real one.
#[track_caller]
fn rests(session: &Session<'_>) {
    let until = Instant::now() + 4 * PATIENCE;
    let waited = session.stable.ostler.wait(session.id, Some(until)).unwrap();
    assert!(matches!(waited, Waited::Settled(_)), "{waited:?}");
}

/// Each that takes over asks `initialize` once, maybe behind the settlement: the next death must not fall on that line.
fn said_all(session: &Session<'_>) -> bool {
    let Some(&no) = session.dir.generations().unwrap().last() else { return true };
    let rows = session.rows(no);
    let Some(adopted) = rows.iter().rposition(|row| matches!(row.ev, Event::Adopted { .. })) else {
        return true;
    };
    let asked = rows[adopted..].iter().find_map(|row| match &row.ev {
        Event::Begin { write, line: Line::Request { subtype, .. }, .. } if subtype == "initialize" => {
            Some(*write)
        }
        _ => None,
    });
    let done = |write| rows[adopted..].iter().any(|row| row.ev == Event::Done { write });
    asked.is_some_and(done)
}

fn marker() -> String {
    format!("marker-{}", Uuid::new_v4().simple())
}

/// Another controller took over behind the delivery's first `begin`, before any other line was begun.
fn adopted_behind(session: &Session<'_>, id: DeliveryId) -> bool {
    let generations = session.dir.generations().unwrap();
    generations.into_iter().any(|no| {
        let rows = session.rows(no);
        let is_begin =
            |ev: &Event| matches!(ev, Event::Begin { line: Line::User { delivery }, .. } if *delivery == id);
        let begun = rows.iter().position(|row| is_begin(&row.ev));
        begun.is_some_and(|at| {
            let next = rows[at + 1..].iter().find(|row| !matches!(row.ev, Event::Done { .. }));
            next.is_some_and(|row| matches!(row.ev, Event::Adopted { .. }))
        })
    })
}

/// The requests that ask the API for this place of a message's turn. A retry has the same bytes and counts once.
fn asked(stage: &Stage, marker: &str, round: usize) -> Vec<LoggedRequest> {
    let mut bodies = BTreeSet::new();
    let mut all = stage.lab.requests();
    all.retain(|r| r.lane == Lane::Main && r.round == round && r.text.contains(marker));
    all.retain(|r| r.body().is_empty() || bodies.insert(r.body().to_vec()));
    all
}

/// A tool in the middle and text that streams on both sides; the tool notes that it ran.
const TURN: &str = "\
pace 4ms
otherwise
  say Let me have a look at what there is to be seen before I say a word.
  tool Bash {\"command\": \"echo $text >> ran; sleep 0.1\", \"description\": \"look\"}
then
  say I had a look, and this is what I have to say about all that there is.
";

fn a_child_killed_at_many_instants_of_a_turn(version: &'static str) {
    let times = kills();
    let stage = Stage::new(version, TURN);
    let allowed = |spec: &mut ostler_core::spec::LaunchSpec| spec.allowed = vec!["Bash".to_owned()];
    let whole = stage.session_of(&[], allowed);
    whole.completes(&marker());
    let lines = said(&whole, 1).len();
    let (mut completed, mut again, mut cut) = (0, 0, 0);
    for instant in 0..times {
        let session = stage.session_of(&[], allowed);
        let marker = marker();
        let id = session.send(&marker);
        let at = lines * instant / times;
        session.row(1, "the message", |ev| matches!(ev, Event::Done { .. }).then_some(()));
        until("that line, or the turn's end", || {
            let said = said(&session, 1);
            (said.len() >= at || said.iter().any(|line| line.is("result"))).then_some(())
        });
        kill(session.child());
        let (exit, ..) = session.dead(1);
        rests(&session);
        let what = format!(
            "{version}, killed at line {at} of {lines}, {exit:?}: {:?}",
            session.projection().deliveries
        );
        match judge(&stage, &session, id, &marker, &what) {
            Came::Completed => completed += 1,
            Came::CompletedAgain => again += 1,
            Came::Cut => cut += 1,
        }
        assert!(matches!(exit, Exit::Signal(9) | Exit::Code(0)), "{what}");
    }
    stage.stable.finish();
    let found = [("instants", times), ("completed", completed), ("run once after all", again), ("cut", cut)];
    tell(version, "children killed in a turn", &found);
    assert!(times < 5 || cut > 0, "none was killed in the middle");
}

enum Came {
    Completed,
    CompletedAgain,
    Cut,
}

/// The state is one of three, and the API's log and the tool's own note agree with it.
#[track_caller]
fn judge(stage: &Stage, session: &Session<'_>, id: DeliveryId, marker: &str, what: &str) -> Came {
    let ran = fs::read_to_string(stage.stable.path("work/ran")).unwrap_or_default();
    let ran = ran.lines().filter(|line| *line == marker).count();
    let (first, second) = (asked(stage, marker, 0).len(), asked(stage, marker, 1).len());
    // A block is printed before the transcript has it: between the two the message has no answer yet. A tool's result
    // comes behind both.
    let went_on =
        said(session, 1).iter().any(|line| line.json["message"]["content"][0]["type"] == "tool_result");
    match session.delivery(id).state {
        DeliveryState::Completed => {
            assert_eq!(
                (ran, second),
                (1, 1),
                "its tool ran once, and the API gave the last answer once: {what}"
            );
            if first == 1 {
                return Came::Completed;
            }
            assert_eq!(first, 2, "{what}");
            assert!(!went_on, "it ran again behind a tool's result: {what}");
            Came::CompletedAgain
        }
        DeliveryState::Cut => {
            assert!(ran <= 1 && first == 1 && second <= 1, "cut, and asked {first} and {second}: {what}");
            Came::Cut
        }
        other => panic!("{other:?}: {what}"),
    }
}
