//! Generated histories: the machine against a simulated child, with controllers and children killed at any point.
//!
//! A failing history is made shorter and printed. `OSTLER_HISTORY_STEPS=10000000` runs that many steps, and
//! `OSTLER_HISTORY_SEED=n` begins elsewhere.
#![expect(clippy::print_stdout, reason = "a failing history is told, and the figure of a long run")]

#[path = "history/child.rs"]
mod child;
#[path = "history/choices.rs"]
mod choices;
#[path = "history/invariants.rs"]
mod invariants;
#[path = "history/lines.rs"]
mod lines;
#[path = "history/play.rs"]
mod play;
#[path = "history/records.rs"]
mod records;
#[path = "history/session.rs"]
mod session;
#[path = "history/truth.rs"]
mod truth;

use choices::History;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Steps in every run of the tests.
const SHARE: u64 = 60_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn generated_histories_hold_the_invariants() {
    let steps = number("OSTLER_HISTORY_STEPS").unwrap_or(SHARE);
    let first = number("OSTLER_HISTORY_SEED").unwrap_or(1);
    let (mut done, mut seed) = (0, first);
    let mut seen = play::Seen::default();
    while done < steps {
        let history = History::of_seed(seed);
        match catch_unwind(AssertUnwindSafe(|| play::play(&history))) {
            Ok((count, what)) => {
                done += count;
                seen.add(&what);
            }
            Err(_) => explain(seed, &history),
        }
        seed += 1;
    }
    println!("{done} steps in {} histories from seed {first}: {seen:?}", seed - first);
    if steps >= SHARE {
        seen.check();
    }
}

/// Says the shortest history that still fails in the same way, and fails with it.
fn explain(seed: u64, history: &History) -> ! {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let how = kind(history);
    let short = history.shrunk(|shorter| kind(shorter) == how);
    std::panic::set_hook(hook);
    println!("seed {seed}, setting {}, {} steps:", short.setting, short.steps.len());
    play::narrate(&short);
    panic!("seed {seed} breaks an invariant; the history above is the shortest that does");
}

/// How a history fails: what it says, without its numbers.
fn kind(history: &History) -> Option<String> {
    let said = catch_unwind(AssertUnwindSafe(|| play::play(history))).err()?;
    let text = said.downcast_ref::<String>().cloned();
    let text = text.or_else(|| said.downcast_ref::<&str>().map(|t| (*t).to_owned())).unwrap_or_default();
    Some(text.chars().filter(|c| !c.is_ascii_hexdigit()).take(60).collect())
}
