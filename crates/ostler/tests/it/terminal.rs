//! `run` in a real terminal, by tmux: streaming, a question answered by keys, Ctrl-C once and twice.

use super::desk_sessions::Office;
use std::process::{Command, Stdio};

/// A terminal in which one command line runs; its exit status is printed at the end.
struct Terminal<'a> {
    office: &'a Office,
}

impl<'a> Terminal<'a> {
    fn running(office: &'a Office, words: &[String]) -> Self {
        let quoted: Vec<String> = words.iter().map(|w| format!("'{}'", w.replace('\'', "'\\''"))).collect();
        let line = format!(
            "trap : INT; {} {}; echo \"status $?\"; exec cat",
            env!("CARGO_BIN_EXE_ostler"),
            quoted.join(" ")
        );
        let terminal = Self { office };
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "40", "sh", "-c", &line]);
        terminal
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.office.desk.path("tmux")).args(args);
        command.env_clear().stdin(Stdio::null());
        let ours = self.office.desk.command::<&str>(&[]);
        command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .current_dir(self.office.desk.path("work"));
        let output = command.output().expect("tmux is needed for this test");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn screen(&self) -> String {
        let text = self.tmux(&["capture-pane", "-p"]);
        let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
        self.office.desk.plain(&lines.join("\n"))
    }

    /// Waits until the screen shows this.
    #[track_caller]
    fn shows(&self, text: &str) -> String {
        let deadline = std::time::Instant::now() + super::desk_sessions::PATIENCE;
        loop {
            let screen = self.screen();
            if screen.contains(text) {
                return screen;
            }
            assert!(std::time::Instant::now() < deadline, "{text:?} did not show up:\n{screen}");
            let soon = std::time::Instant::now() + std::time::Duration::from_millis(20);
            ostler_os::poll::Poller::new().wait(Some(soon)).unwrap();
        }
    }

    fn press(&self, keys: &[&str]) {
        let mut words = vec!["send-keys"];
        words.extend(keys);
        self.tmux(&words);
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.office.desk.path("tmux")).arg("kill-server");
        drop(command.stdout(Stdio::null()).stderr(Stdio::null()).status());
    }
}

#[test]
fn text_appears_while_it_is_written_and_the_status_line_goes() {
    let office = Office::new(
        "turn\n until begin\n say The first half {until go}and the second.\n tool Bash {\"command\":\"make\"}\n until built\n then\n say Done.\n",
    );
    let terminal = Terminal::running(&office, &office.creating("run", &["go"]));
    terminal.shows("thinking");
    office.open("begin");
    let screen = terminal.shows("The first half");
    assert!(!screen.contains("second"), "{screen}");
    office.open("go");
    terminal.shows("running Bash");
    office.open("built");
    let screen = terminal.shows("status 0");
    assert!(
        screen
            .starts_with("The first half and the second.\n\n▸ Bash  make\n  → done\n\nDone.\n\n✓ completed"),
        "{screen}"
    );
    assert!(!screen.contains("running") && !screen.contains("thinking"), "{screen}");
    drop(terminal);
    office.close();
}

#[test]
fn a_question_is_answered_with_yes() {
    let office = Office::new("turn\n ask Bash {\"command\":\"make\"}\n gives built\n then\n say Done.\n");
    let terminal = Terminal::running(&office, &office.creating("run", &["go"]));
    let screen = terminal.shows("y: yes · a: yes, always · n: no");
    assert!(screen.contains("▸ Bash  make\n  ? may it run\n"), "{screen}");
    terminal.press(&["x", "y"]);
    let screen = terminal.shows("status 0");
    assert!(screen.contains("  ✓ allowed by terminal\n  → built\n\nDone.\n"), "{screen}");
    assert!(!screen.contains("y: yes"), "the prompt is gone: {screen}");
    drop(terminal);
    office.close();
}

#[test]
fn a_question_is_answered_with_no_and_a_reason() {
    let office = Office::new("turn\n ask Bash {\"command\":\"make\"}\n then\n say As you like.\n");
    let terminal = Terminal::running(&office, &office.creating("run", &["go"]));
    terminal.shows("y: yes · a: yes, always · n: no");
    terminal.press(&["n"]);
    terminal.shows("no, because");
    terminal.press(&["-l", "not heere"]);
    terminal.shows("not heere");
    terminal.press(&["BSpace", "BSpace", "BSpace", "r", "e", "Enter"]);
    let screen = terminal.shows("status 5");
    assert!(screen.contains("  ✗ denied by terminal: not here\n\nAs you like.\n"), "{screen}");
    drop(terminal);
    office.close();
}

#[test]
fn ctrl_c_interrupts_and_the_session_goes_on() {
    let office = Office::new("when go\n say The first half {until never}\notherwise\n say Here again.\n");
    let terminal = Terminal::running(&office, &office.creating("run", &["--label", "kept", "go"]));
    terminal.shows("The first half");
    terminal.press(&["C-c"]);
    let screen = terminal.shows("status 4");
    assert!(screen.contains("interrupting; Ctrl-C again stops the session"), "{screen}");
    assert!(screen.contains("■ interrupted · turn 1"), "{screen}");
    let ran = office.desk.run(&["send", "--wait", "kept", "and now?"]).exits(0);
    assert_eq!(ran.out, "Here again.\n");
    drop(terminal);
    office.close();
}

#[test]
fn ctrl_c_twice_stops_a_claude_that_does_not_listen() {
    let office = Office::new("ignore interrupt\nturn\n mark talking\n say The first half {until never}\n");
    let terminal = Terminal::running(&office, &office.creating("run", &["--label", "deaf", "go"]));
    office.reaches("talking");
    terminal.shows("The first half");
    terminal.press(&["C-c"]);
    terminal.shows("interrupting; Ctrl-C again stops the session");
    terminal.press(&["C-c"]);
    terminal.shows("stopping the session; Ctrl-C again leaves at once");
    let screen = terminal.shows("status 4");
    assert!(screen.contains("■ interrupted") && screen.contains(" resume"), "{screen}");
    office.becomes_cold("deaf");
    let refused = office.desk.run(&["send", "deaf", "more"]).exits(8);
    assert!(
        refused.err.contains("is stopped") && refused.err.contains("ostler resume "),
        "{}",
        refused.all()
    );
    drop(terminal);
    office.close();
}

#[test]
fn a_run_that_is_told_to_end_gives_the_terminal_back() {
    let office = Office::new("turn\n ask Bash {\"command\":\"make\"}\n then\n say Done.\n");
    let mut words = office.creating("run", &["--label", "left", "go"]);
    // The shell's own child is found by the shell.
    words.insert(0, "--color=never".to_owned());
    let terminal = Terminal::running(&office, &words);
    terminal.shows("y: yes · a: yes, always · n: no");
    let pid = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]);
    let run = ostler_os::tree::descendants(pid.trim().parse().unwrap()).unwrap();
    let run = run.first().expect("run is the shell's child");
    let killed = Command::new("kill").arg("-TERM").arg(run.to_string()).status().unwrap();
    assert!(killed.success());
    let screen = terminal.shows("status 6");
    assert!(screen.contains("left; the session goes on"), "{screen}");
    // Echo is on again: what is typed shows up twice, once from the terminal and once from cat.
    terminal.press(&["-l", "echoed"]);
    terminal.shows("echoed");
    office.desk.run(&["approve", "left"]).exits(0);
    office.desk.run(&["wait", "left"]).exits(0);
    drop(terminal);
    office.close();
}
