//! One script of stdin lines is played to the fake child and to the real CLI behind the lab; what they say must be
//! equal. The fake proves something only where it was compared: `docs/fake-claude.md` lists the scenarios.

use std::path::{Path, PathBuf};

use claude_lab::record::{Driven, Driver, Group, Program, Scenario, Version, scenarios};

use super::child::{VERSIONS, claude};
use super::fake_events::{Events, events};

#[test]
fn turns_are_as_in_the_real_one() {
    compare(Group::Turns);
}

#[test]
fn tools_are_as_in_the_real_one() {
    compare(Group::Tools);
}

#[test]
fn interrupts_are_as_in_the_real_one() {
    compare(Group::Interrupts);
}

#[test]
fn ends_are_as_in_the_real_one() {
    compare(Group::Ends);
}

#[test]
fn the_control_channel_is_as_in_the_real_one() {
    compare(Group::Channel);
}

#[test]
fn failures_are_as_in_the_real_one() {
    compare(Group::Failures);
}

/// The page that says what was compared names every scenario that is, and no other one.
#[test]
fn the_documentation_lists_what_is_compared() {
    let page = include_str!("../../../../docs/fake-claude.md");
    let list = page.split("<!-- compared -->").nth(1).expect("the page has the list");
    let mut listed: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
    let mut compared: Vec<&str> =
        scenarios().iter().filter(|scenario| scenario.fake.is_some()).map(|scenario| scenario.name).collect();
    listed.sort_unstable();
    compared.sort_unstable();
    assert_eq!(listed, compared);
}

fn compare(group: Group) {
    let mut wrong = Vec::new();
    for version in VERSIONS {
        let real = claude(version);
        for scenario in scenarios().iter().filter(|scenario| scenario.group == group) {
            if scenario.fake.is_some() {
                wrong.extend(differences(scenario, version, &real));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What differs in one scenario, for people.
fn differences(scenario: &Scenario, version: &str, real: &Path) -> Option<String> {
    let real = play(scenario, version, Program::Claude(real.to_owned()));
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
    (left != right).then(|| {
        format!("{version} {}: real (-) and fake (+) differ\n{}", scenario.name, diff(&left, &right))
    })
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
