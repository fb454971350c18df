//! What an active session costs: keeper and controller together.

use super::stable::{Stable, until};
use ostler_core::rows::Outcome;

/// What a process has of its own: its anonymous memory, in KiB.
fn own_memory(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss_Anon:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

/// The benchmark holds the figure of a release build (4 MB). This one is about growth: lines that were read leave
/// nothing behind.
#[test]
fn a_thousand_lines_leave_nothing_in_memory() {
    let stable = Stable::new();
    let lines = " line {\"type\":\"stream_event\",\"event\":{\"type\":\"ping\"}}\n".repeat(1_000);
    let script =
        format!("turn\n until first\n{lines} until second\n{lines}{lines}{lines} until end\n say done\n");
    let session = stable.session(&script);
    session.send("hello");
    let read = |least: u64| {
        let out = session.generation(1).out();
        until("the lines", || (std::fs::metadata(&out).ok()?.len() > least).then_some(()));
        // Once it answers, it has read what was there.
        stable.ostler.ensure(session.id).unwrap();
        stable.ostler.status(session.id).unwrap();
        own_memory(session.keeper()) + own_memory(session.controller())
    };
    session.open("first");
    let after_thousand = read(100_000);
    session.open("second");
    let after_four = read(500_000);
    assert!(after_four < after_thousand + 512, "{after_thousand} KiB, then {after_four} KiB");
    assert!(after_thousand < 8 << 10, "{after_thousand} KiB of their own, in a build for development");
    session.open("end");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    stable.finish();
}
