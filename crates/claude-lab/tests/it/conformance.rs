//! One script of stdin lines is played to the fake child and to the real CLI behind the lab; what they say must be
//! equal. The fake proves something only where it was compared: `docs/fake-claude.md` lists the scenarios.

use std::path::PathBuf;
use std::sync::Mutex;

use claude_lab::record::{Driven, Driver, Program, Scenario, Version, scenarios};

use super::child::claude;
use super::fake_events::{Events, events};

/// How many scenarios are played at once: a real child needs 0.4 s of a core to start.
const AT_ONCE: usize = 3;

#[test]
fn the_fake_child_says_what_2_1_332_says() {
    compare("2.1.332");
}

#[test]
fn the_fake_child_says_what_2_1_200_says() {
    compare("2.1.200");
}

fn compare(version: &str) {
    let real = claude(version);
    let only = std::env::var("CONFORMANCE_ONLY").ok();
    let wanted = |scenario: &Scenario| {
        scenario.fake.is_some() && only.as_ref().is_none_or(|name| name == scenario.name)
    };
    let waiting = Mutex::new(scenarios().into_iter().filter(wanted).collect::<Vec<_>>());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no thread has panicked").pop();
                    let Some(scenario) = next else { return };
                    let found = differences(&scenario, version, &real);
                    wrong.lock().expect("no thread has panicked").extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no thread has panicked");
    assert!(wrong.is_empty(), "{version}:\n{}", wrong.join("\n\n"));
}

/// What differs in one scenario, for people.
fn differences(scenario: &Scenario, version: &str, real: &PathBuf) -> Option<String> {
    let real = play(scenario, version, Program::Claude(real.clone()));
    let fake = play(scenario, version, Program::Fake(PathBuf::from(env!("CARGO_BIN_EXE_fake-claude"))));
    let (real, fake) = match (real, fake) {
        (Ok(real), Ok(fake)) => (real, fake),
        (real, fake) => {
            let both = [("real", real.err()), ("fake", fake.err())];
            let errors = both.iter().filter_map(|(who, error)| Some(format!("{who}: {}", error.as_ref()?)));
            return Some(errors.collect::<Vec<_>>().join("\n"));
        }
    };
    let (left, right) = (whole(&real), whole(&fake));
    (left != right)
        .then(|| format!("{}: real (-) and fake (+) differ\n{}", scenario.name, diff(&left, &right)))
}

fn play(scenario: &Scenario, version: &str, program: Program) -> Result<Driven, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let driver = Driver::new(scenario.clone(), Version::new(version), program, folder.path());
    driver.and_then(|driver| driver.play()).map_err(|error| format!("{}: {error}", scenario.name))
}

/// Both sequences and the end.
fn whole(driven: &Driven) -> Vec<String> {
    let Events { mut lines, stream } = events(&driven.lines);
    lines.push("-- stream".to_owned());
    lines.extend(stream);
    lines.push(format!("-- exit {:?}", driven.status));
    // The rest of the text is the version's own.
    let stderr = driven.stderr.split(['(', ':']).next().unwrap_or_default().trim();
    lines.push(format!("-- stderr {stderr}"));
    lines
}

/// The lines that differ, each with the two lines before it.
fn diff(real: &[String], fake: &[String]) -> String {
    // Length of the longest common rest from each pair of places on.
    let mut common = vec![vec![0; fake.len() + 1]; real.len() + 1];
    for i in (0..real.len()).rev() {
        for j in (0..fake.len()).rev() {
            common[i][j] = if real[i] == fake[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let mut out = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < real.len() || j < fake.len() {
        if i < real.len() && j < fake.len() && real[i] == fake[j] {
            out.push((' ', &real[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == fake.len() || (i < real.len() && common[i + 1][j] >= common[i][j + 1]) {
            out.push(('-', &real[i]));
            i += 1;
        } else {
            out.push(('+', &fake[j]));
            j += 1;
        }
    }
    let near = |at: usize| out[at..(at + 3).min(out.len())].iter().any(|(mark, _)| *mark != ' ');
    let shown = out.iter().enumerate().filter(|(at, _)| near(*at));
    shown.map(|(_, (mark, line))| format!("{mark} {line}")).collect::<Vec<_>>().join("\n")
}
