//! The front door with the real `claude` and no account: `run --lab`, what it says about going on, a question in a
//! pipe, and the lab of the home, which outlives the sessions that started it.

use super::desk::{Desk, Ran};
use super::desk_sessions::until;
use super::real_stage::{claude, on_both_versions};
use ostler_os::lockfile;
use ostler_os::process::PidFd;
use std::time::{Duration, Instant};

/// A desk whose sessions are real and talk to the lab of its home.
struct FrontDoor {
    desk: Desk,
    claude: String,
}

impl FrontDoor {
    fn new(version: &str) -> Self {
        Self { desk: Desk::new(), claude: claude(version).display().to_string() }
    }

    fn run(&self, more: &[&str]) -> Ran {
        let mut words = vec!["run", "--claude", &self.claude];
        words.extend(more);
        self.desk.run(&words)
    }

    /// The pid of the lab that serves the home.
    fn lab(&self) -> Option<u32> {
        let text = std::fs::read_to_string(self.desk.home().join("lab/lab.json")).ok()?;
        let said: serde_json::Value = serde_json::from_str(&text).ok()?;
        let serves =
            lockfile::try_lock_shared(&self.desk.home().join("lab/lock")).is_ok_and(|free| free.is_none());
        u32::try_from(said["pid"].as_u64()?).ok().filter(|_| serves)
    }

    /// Everything has left; the lab would stay a minute longer.
    fn close(self) {
        for folder in std::fs::read_dir(self.desk.home().join("sessions")).unwrap() {
            let lock = folder.unwrap().path().join("keeper.lock");
            until("the keeper to leave", || {
                lockfile::try_lock_shared(&lock).unwrap().is_some().then_some(())
            });
        }
        drop(self.desk.run(&["doctor", "rebuild"]).exits(0));
    }
}

impl Drop for FrontDoor {
    fn drop(&mut self) {
        if let Some(Ok(Some(lab))) = self.lab().map(PidFd::open) {
            let _ = lab.kill();
            let _ = lab.wait(Instant::now() + Duration::from_secs(5));
        }
    }
}

on_both_versions! {
    a_reply_and_a_cost_line_without_an_account
    what_is_asked_in_a_pipe_is_denied
    a_script_of_ones_own
}

fn a_reply_and_a_cost_line_without_an_account(version: &str) {
    let door = FrontDoor::new(version);
    let ran = door.run(&["--lab", "Say hello"]).exits(0);
    assert!(ran.out.starts_with("Hello! I am the lab"), "{}", ran.all());
    assert!(ran.out.contains("✓ completed · turn 1 · 1 round"), "{}", ran.all());
    let cost = ran.out.lines().find_map(|line| line.trim().strip_prefix("cost")).unwrap();
    assert!(
        cost.trim().starts_with("$0.") && cost.bytes().any(|b| (b'1'..=b'9').contains(&b)),
        "{}",
        ran.all()
    );
    let lab = door.lab().expect("a lab serves the home");

    let go_on = ran.out.lines().find_map(|line| line.trim().strip_prefix("go on")).unwrap();
    let go_on = go_on.replace("$DESK", &door.desk.path("").display().to_string());
    let words: Vec<&str> = go_on.trim().trim_end_matches(" \"…\"").split_whitespace().skip(1).collect();
    let ran = door.desk.run(&[&words[..], &["hello again"]].concat()).exits(0);
    assert!(ran.out.contains("✓ completed · turn 2"), "{}", ran.all());
    assert_eq!(door.lab(), Some(lab), "the teardown of a session leaves the lab of its home alone");
    door.close();
}

fn what_is_asked_in_a_pipe_is_denied(version: &str) {
    let door = FrontDoor::new(version);
    let ran = door.run(&["--lab", "run touch made"]).exits(5);
    assert!(ran.err.starts_with("denied: Bash  touch made"), "{}", ran.all());
    assert!(ran.out.contains("▸ Bash  touch made") && ran.out.contains("· 1 denied"), "{}", ran.all());
    assert!(!door.desk.path("work/made").exists());
    let ran = door.run(&["--lab", "--permission", "allow", "run touch made"]).exits(0);
    assert!(ran.out.contains("✓ allowed by policy"), "{}", ran.all());
    assert!(door.desk.path("work/made").exists());
    door.close();
}

fn a_script_of_ones_own(version: &str) {
    let door = FrontDoor::new(version);
    let script = door.desk.file("own.lab", "otherwise\n  say The script says: $text\n");
    let lab = format!("--lab={}", script.display());
    let ran = door.run(&[&lab, "-q", "one"]).exits(0);
    assert_eq!(ran.out, "The script says: one\n");
    // Literally, and not as a command.
    let ran = door.run(&[&lab, "-q", "--literal", "/clear"]).exits(0);
    assert_eq!(ran.out.trim_end(), "The script says:  /clear");
    door.close();
}

/// What the README shows is what one sees, numbers and names aside.
#[test]
fn the_readme_shows_what_one_sees() {
    let readme = include_str!("../../../../README.md");
    let (_, shown) =
        readme.split_once("$ ostler run --lab \"Say hello\"\n").expect("the README runs the lab");
    let shown = shown.split("```").next().unwrap();
    let door = FrontDoor::new("2.1.332");
    let ran = door.run(&["--lab", "Say hello"]).exits(0);
    assert_eq!(shape(&ran.out), shape(shown), "{}", ran.all());
    door.close();
}

/// Numbers, ids and the way to the program differ from run to run.
fn shape(text: &str) -> String {
    let word = |word: &str| if word.bytes().any(|b| b.is_ascii_digit()) { "#" } else { word }.to_owned();
    let line = |line: &str| match line.split_once("go on") {
        Some((before, how)) => format!("{before}go on {}", &how[how.find("send").unwrap_or(0)..]),
        None => line.to_owned(),
    };
    let words = |text: String| text.split_whitespace().map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(|l| words(line(l))).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n")
}
