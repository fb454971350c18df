//! `record-claude`: records what the real CLI says in the scenarios of `claude_lab::record`, for the tests of those who
//! read it.
//!
//! ```text
//! cargo run -p claude-lab --bin record-claude -- VERSION… [--only SCENARIO]
//! ```
//!
//! The executables are looked for as the tests do it: in `$OSTLER_TEST_CLAUDE/<version>/claude`, else in
//! `target/claude/<version>/claude`, which `scripts/get-claude` fills. What was recorded before is replaced.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use claude_lab::record::{Driver, Program, Scenario, Scrubber, Version, scenarios};

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let only = words.iter().position(|word| word == "--only").map(|at| {
        let name = words.get(at + 1).cloned().unwrap_or_default();
        words.truncate(at);
        name
    });
    if words.is_empty() {
        tell("usage: record-claude VERSION… [--only SCENARIO]");
        return ExitCode::from(2);
    }
    for version in words {
        for scenario in scenarios() {
            let wanted = only.as_ref().is_none_or(|name| name == scenario.name);
            if scenario.recorded
                && wanted
                && let Err(what) = record(scenario, &version)
            {
                tell(&what);
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn record(scenario: Scenario, version: &str) -> Result<(), String> {
    let name = scenario.name;
    let failed = |what: &dyn std::fmt::Display| format!("{version} {name}: {what}");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let claude = std::env::var_os("OSTLER_TEST_CLAUDE")
        .map_or_else(|| here.join("../../target/claude"), PathBuf::from)
        .join(version)
        .join("claude");
    let claude = claude.canonicalize().map_err(|error| {
        failed(&format!("{} is missing ({error}); run scripts/get-claude {version}", claude.display()))
    })?;
    let folder = Folder(std::env::temp_dir().join(format!("record-claude-{}", std::process::id())));
    let driver = Driver::new(scenario, Version::new(version), Program::Claude(claude), &folder.0)
        .map_err(|error| failed(&error))?;
    let driven = driver.play().map_err(|error| failed(&error))?;
    let mut scrubber = Scrubber::new(&folder.0);
    let mut bytes = Vec::new();
    for line in &driven.lines[driven.last_child..] {
        bytes.extend(scrubber.line(line));
        bytes.push(b'\n');
    }
    let path = here.join("recordings").join(version).join(format!("{name}.ndjson"));
    let parent = path.parent().unwrap_or(here);
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::write(&path, &bytes))
        .map_err(|error| failed(&error))?;
    tell(&format!(
        "{version} {name}: {} lines, {} bytes",
        driven.lines.len() - driven.last_child,
        bytes.len()
    ));
    Ok(())
}

/// A scenario's folder, gone when the scenario is over.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn tell(text: &str) {
    // Nobody reads a closed stderr.
    drop(writeln!(std::io::stderr(), "{text}"));
}
