//! What ostler costs, measured. `scripts/bench` builds and runs it; `docs/performance.md` shows what it found.
//!
//! | file | subject |
//! | --- | --- |
//! | `figure.rs` | medians and the table |
//! | `accepted.rs` | the accepted figures, and when a new one is too bad |
//! | `stage.rs` | a home with sessions of fake children |
//! | `sessions.rs` | memory, waking, deaths |
//! | `follow.rs` | lines: how late, how fast |
//! | `many.rs` | two hundred sessions at once; more followers than there are inotify instances |
//! | `serve.rs` | lines over HTTP, a large store, many clients |
//! | `version.rs` | the shortest command |
//! | `lines.rs` | lines that know when they were written |
//!
//! The same program is the fake child of its own sessions, so that a child can say when it began.
#![expect(
    clippy::unwrap_used,
    reason = "what can't be measured ends the benchmark, and the panic says where"
)]

mod accepted;
mod figure;
mod follow;
mod lines;
mod many;
mod serve;
mod sessions;
mod stage;
mod version;

use figure::Figure;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: bench [--short] [--only PART | --check FILE | --accept FILE]";

fn main() -> ExitCode {
    if let Some(path) = std::env::var_os(stage::STARTED) {
        std::fs::write(path, lines::now().to_string()).unwrap();
        return claude_lab::fake::main();
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, count, pause] = args.as_slice()
        && verb == "lines"
    {
        let pause = Duration::from_micros(pause.parse().expect(USAGE));
        lines::write(count.parse().expect(USAGE), pause).unwrap();
        return ExitCode::SUCCESS;
    }
    if let [verb, count] = args.as_slice()
        && verb == sessions::UNREAPED
    {
        let took = sessions::unreaped(count.parse().expect(USAGE));
        took.iter().for_each(|took| say(&format!("{took}\n")));
        return ExitCode::SUCCESS;
    }
    if args == [serve::RELAY] {
        serve::relay(say);
        return ExitCode::SUCCESS;
    }
    let (mut short, mut only, mut check, mut accept) = (false, None, None, None);
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--short" => short = true,
            "--only" => only = Some(args.next().expect(USAGE)),
            "--check" => check = Some(args.next().expect(USAGE)),
            "--accept" => accept = Some(args.next().expect(USAGE)),
            _ => panic!("{USAGE}"),
        }
    }
    let figures = measure(short, only.as_deref());
    say(&format!("{}\n{}", machine(short), figure::table(&figures)));
    if let Some(path) = accept {
        std::fs::write(path, accepted::file(&figures)).unwrap();
    }
    let Some(path) = check else { return ExitCode::SUCCESS };
    let complaints = accepted::complaints(&figures, &std::fs::read_to_string(path).unwrap());
    complaints.iter().for_each(|complaint| say(&format!("{complaint}\n")));
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn say(text: &str) {
    print!("{text}");
}

/// Everything, or one part, in the order of the table.
fn measure(short: bool, only: Option<&str>) -> Vec<Figure> {
    let of = |long, few| if short { few } else { long };
    let parts: [(&str, &dyn Fn() -> Vec<Figure>); 13] = [
        ("version", &|| version::version(of(200, 100))),
        ("memory", &|| sessions::memory(of(7, 3))),
        ("wake", &|| sessions::wake(of(100, 20))),
        ("death", &|| sessions::death(of(50, 10))),
        ("unreaped", &|| sessions::unreaped_death(of(50, 10))),
        ("many", &|| many::many(of(200, 100))),
        ("followers", &|| many::followers(of(100, 50))),
        ("latency", &|| follow::latency(of(9, 3), of(2_000, 500) as u64)),
        ("throughput", &|| follow::throughput(of(9, 5), of(400_000, 100_000) as u64)),
        ("stream", &|| serve::latency(of(9, 3), of(2_000, 500) as u64, of(60_000, 2_000) as u64)),
        ("burst", &|| serve::throughput(of(9, 3))),
        ("store", &|| serve::store(of(100_000, 10_000) as u64, of(9, 3), of(10, 5))),
        ("clients", &|| serve::clients(of(100, 10), of(1_000, 100), of(60, 3) as u64)),
    ];
    let wanted = parts.iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
    wanted.flat_map(|(_, part)| part()).collect()
}

/// What this was measured on, without names.
fn machine(short: bool) -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel: Vec<&str> = kernel.trim().split('.').take(2).collect();
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or_default();
    let cores = ostler_os::limits::cpus();
    let kind = if short { "a short run" } else { "a whole run" };
    let kernel = kernel.join(".");
    format!("Release build, {cores} cores, Linux {kernel}, load {load} at its end, {kind}.\n")
}
