//! Torture: real keepers and controllers, fake children that misbehave in every way that is known, all of them killed and
//! paused at random while messages, interrupts, decisions and stops come in; then what ostler says is compared with what
//! the children really did. `cargo torture --help`; docs/reliability.md says what it proves.
//!
//! | file | subject |
//! | --- | --- |
//! | `scripts.rs` | what the children do |
//! | `stage.rs` | a home with sessions |
//! | `deeds.rs` | how often what is done to them |
//! | `messages.rs`, `ends.rs` | what people and agents do |
//! | `harm.rs` | what is done to processes and files |
//! | `told.rs` | what ostler was asked for and said |
//! | `calm.rs` | until everything is at rest |
//! | `judge.rs`, `verdicts.rs` | the comparison |
//! | `count.rs` | what happened |
//! | `dice.rs` | a seed's numbers |
//!
//! The same program is keeper, controller and child.
#![expect(clippy::unwrap_used, reason = "what can't be prepared ends the run, and the panic says where")]

mod calm;
mod count;
mod deeds;
mod dice;
mod ends;
mod harm;
mod judge;
mod messages;
mod scripts;
mod stage;
mod told;
mod verdicts;

use dice::Dice;
use stage::Stage;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};
use told::Shared;

const USAGE: &str = "\
usage: cargo torture [--seconds N] [--seed S] [--round R] [--sessions N] [--keep-going]

Runs rounds until N seconds are over (60): in each, children with every known fault are killed and paused while they
are spoken to; then everything must come to rest and agree with what the children did. Exit status 1 when it does not.

  --seed S      repeats a run's plan; the timing is the machine's. The seed is printed first.
  --round R     only this round of that seed, once.
  --sessions N  sessions in a round (6).
  --keep-going  goes on after a round that failed.
";

/// Each round that fails keeps its folder.
const MAX_BAD: u64 = 20;

/// What was asked for.
#[derive(Clone, Copy)]
struct Plan {
    seconds: u64,
    seed: u64,
    round: Option<u64>,
    sessions: usize,
    keep_going: bool,
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let rest = args.get(2..).unwrap_or_default();
    let status = match args.get(1).and_then(|word| word.to_str()) {
        Some("__keeper") => Some(ostler_controller::keeper::main(rest)),
        Some("__controller") => Some(ostler_controller::controller::main(rest)),
        _ => None,
    };
    if let Some(status) = status {
        return ExitCode::from(u8::try_from(status).unwrap_or(1));
    }
    if std::env::var_os(claude_lab::fake::BOX_VARIABLE).is_some() {
        return claude_lab::fake::main();
    }
    match plan(&args[1..]) {
        Some(plan) => torture(plan),
        None => {
            say(USAGE);
            ExitCode::from(2)
        }
    }
}

fn plan(args: &[OsString]) -> Option<Plan> {
    let nanos = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let seed = u64::try_from(nanos % 1_000_000_000).unwrap_or(0);
    let mut plan = Plan { seconds: 60, seed, round: None, sessions: 6, keep_going: false };
    let mut args = args.iter().map(|arg| arg.to_str().unwrap_or_default());
    while let Some(arg) = args.next() {
        if arg == "--keep-going" {
            plan.keep_going = true;
            continue;
        }
        let value: u64 = args.next()?.parse().ok()?;
        match arg {
            "--seconds" => plan.seconds = value,
            "--seed" => plan.seed = value,
            "--round" => plan.round = Some(value),
            "--sessions" => plan.sessions = usize::try_from(value).ok().filter(|n| *n > 0)?,
            _ => return None,
        }
    }
    Some(plan)
}

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn say(text: &str) {
    print!("{text}");
}

fn torture(plan: Plan) -> ExitCode {
    say(&format!("torture: seed {}\n", plan.seed));
    let begun = Instant::now();
    let (mut totals, mut told, mut rounds, mut bad) = (BTreeMap::new(), begun, 0, 0);
    let first = plan.round.unwrap_or(0);
    for round in first.. {
        let done = if plan.round.is_some() { rounds > 0 } else { begun.elapsed().as_secs() >= plan.seconds };
        if done {
            break;
        }
        let left = plan.seconds.saturating_sub(begun.elapsed().as_secs());
        let storm = Duration::from_secs(left.clamp(3, 12));
        let failures = one_round(plan, round, storm, &mut totals);
        rounds += 1;
        if !failures.is_empty() {
            failures.iter().for_each(|failure| say(&format!("FAILED: {failure}\n")));
            let Plan { seed, sessions, .. } = plan;
            say(&format!("again: cargo torture --seed {seed} --round {round} --sessions {sessions}\n"));
            bad += 1;
            if !plan.keep_going || bad >= MAX_BAD {
                break;
            }
        }
        if told.elapsed() >= Duration::from_secs(10) {
            told = Instant::now();
            let of = |name: &str| totals.get(name).copied().unwrap_or(0);
            say(&format!(
                "{:5} s, {rounds} rounds: {} messages, {} generations, {} controllers and {} children killed\n",
                begun.elapsed().as_secs(),
                of("sent"),
                of("generations"),
                of("controllers killed") + of("keeper and controller killed") + of("all three killed"),
                of("children killed") + of("all three killed"),
            ));
        }
    }
    let seconds = begun.elapsed().as_secs();
    let Plan { seed, .. } = plan;
    say(&format!("\n{rounds} rounds in {seconds} s, seed {seed}, {bad} failed\n\n{}", count::table(&totals)));
    if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// One round: a home of its own, a storm, calm, judgement. Gives what is wrong.
fn one_round(
    plan: Plan,
    round: u64,
    storm: Duration,
    totals: &mut BTreeMap<&'static str, u64>,
) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::new(folder.path(), plan.seed, round);
    let seed = plan.seed.wrapping_mul(1_000_003).wrapping_add(round);
    let shared = Shared::default();
    let mut dice = Dice::new(seed, 0);
    let face = stage.face();
    let sessions: Vec<_> = (0..plan.sessions).map(|_| stage.session(&face, &mut dice)).collect();
    let begun = Instant::now();
    let until = begun + storm;
    std::thread::scope(|scope| {
        let (stage, sessions, shared) = (&stage, &sessions, &shared);
        let work = |worker| move || deeds::work(stage, sessions, shared, Dice::new(seed, worker), until);
        let workers: Vec<_> = (1..=3).map(|worker| scope.spawn(work(worker))).collect();
        // A worker may wait for somebody who stands still.
        while workers.iter().any(|worker| !worker.is_finished()) {
            harm::go_on(shared, false);
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    *totals.entry("milliseconds of storm").or_default() += millis(begun);
    let begun = Instant::now();
    calm::down(&stage, &sessions, &shared, seed);
    *totals.entry("milliseconds until all was at rest").or_default() += millis(begun);
    judge::judge(&stage, &sessions, &shared);
    stage.clear();
    let failures = shared.counts.failures();
    if !failures.is_empty() {
        let kept = folder.keep();
        say(&format!("kept for whoever looks into it: {}\n", kept.display()));
    }
    for (name, n) in shared.counts.into_map() {
        *totals.entry(name).or_default() += n;
    }
    failures
}
