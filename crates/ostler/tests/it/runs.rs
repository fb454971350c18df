//! Whole runs of the binary with fake children: what is printed, and which exit status.

use super::desk_sessions::Office;
use super::json_fields::Schema;
use claude_lab::fake::Flood;
use serde_json::json;

const ECHO: &str = "otherwise\n say You said $text\n";

/// Times, tokens and ids differ from run to run.
fn steady(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = match line.trim_start().split_once(' ') {
            Some(("tokens" | "cost" | "session", _)) => {
                format!("  {} …", line.split_whitespace().next().unwrap_or_default())
            }
            Some(("go", _)) => "  go on …".to_owned(),
            _ if line.contains(" round") && line.contains(" · ") => {
                line.split(" · ").filter(|part| !part.ends_with(" s")).collect::<Vec<_>>().join(" · ")
            }
            _ => line.to_owned(),
        };
        out.push_str(&line);
        out.push('\n');
    }
    out
}

#[test]
fn a_run_shows_the_answer_and_how_to_go_on() {
    let office = Office::new(ECHO);
    let ran = office.run(&["hello", "there"]).exits(0);
    insta::assert_snapshot!(steady(&ran.out), @r"
    You said hello there

    ✓ completed · turn 1 · 1 round
      tokens …
      cost …
      session …
      go on …
    ");
    assert_eq!(ran.err, "");
    // What it says about going on is a command that works.
    let line = ran.out.lines().find_map(|line| line.trim_start().strip_prefix("go on")).unwrap().trim();
    let command =
        line.replace("$DESK", &office.desk.path("").display().to_string()).replace("\"…\"", "again");
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let ran = office.desk.run(&words).exits(0);
    assert!(ran.out.starts_with("You said again\n"), "{}", ran.all());
    assert!(ran.out.contains("✓ completed · turn 2"), "{}", ran.all());
    office.close();
}

#[test]
fn tools_results_and_trouble_are_shown() {
    let script = "turn\n retry 1 10ms\n think Hm.\n say Let me see.\n tool Bash {\"command\":\"ls -l\"}\n gives a.rs\n\
                  then\n tool Read {\"file_path\":\"a.rs\"}\n fails no such file\n then\n say Done.\n";
    let office = Office::new(script);
    let ran = office.run(&["look"]).exits(0);
    insta::assert_snapshot!(steady(&ran.out), @r"
    ! the API answered 529 overloaded; retry 1 of 10 in 0.0 s
    ┊ Hm.

    Let me see.

    ▸ Bash  ls -l
      → a.rs
    ▸ Read  a.rs
      ✗ no such file

    Done.

    ✓ completed · turn 1 · 3 rounds
      tokens …
      cost …
      session …
      go on …
    ");
    office.close();
}

#[test]
fn in_a_pipe_what_is_asked_is_denied_and_the_status_says_so() {
    let office = Office::new("turn\n ask Bash {\"command\":\"rm -rf x\"}\n then\n say As you like.\n");
    let ran = office.run(&["go"]).exits(5);
    assert!(ran.err.starts_with("denied: Bash  rm -rf x (no terminal"), "{}", ran.all());
    assert!(ran.out.contains("✗ denied by pipe") && ran.out.contains("As you like."), "{}", ran.all());
    assert!(ran.out.contains("· 1 denied"), "{}", ran.all());
    office.close();
}

#[test]
fn a_policy_answers_without_anybody() {
    let office = Office::new("turn\n ask Bash {\"command\":\"make\"}\n gives built\n then\n say Done.\n");
    let ran = office.run(&["--permission", "allow", "go"]).exits(0);
    assert!(ran.out.contains("✓ allowed by policy") && ran.out.contains("→ built"), "{}", ran.all());
    let ran = office.run(&["--permission", "deny", "go"]).exits(5);
    assert!(ran.out.contains("✗ denied by policy"), "{}", ran.all());
    office.close();
}

#[test]
fn somebody_else_may_answer_with_permission_ask() {
    let office = Office::new("turn\n ask Bash {\"command\":\"make\"}\n gives built\n then\n say Done.\n");
    let id = office.started(&["--label", "builder", "go"]);
    let request = office.asks();
    let listed = office.desk.run(&["pending"]).exits(0);
    assert!(listed.out.contains("Bash") && listed.out.contains("make") && listed.out.contains(&request));
    office.desk.run(&["approve", "builder", "nonsense"]).exits(7).err.contains("no open question");
    let ran = office.desk.run(&["approve", "builder"]).exits(0);
    assert_eq!(ran.out, "allowed: Bash  make\n");
    let ran = office.desk.run(&["wait", &id]).exits(0);
    assert_eq!(ran.out, "Done.\n", "standard output is the answer and nothing else");
    // The second one is told who was first.
    let ran = office.desk.run(&["deny", "builder", &request]);
    assert!(matches!(ran.status, Some(8)), "{}", ran.all());
    office.close();
}

#[test]
fn how_a_turn_ends_is_the_status() {
    for (ending, status) in [
        ("result api 400 \"bad request\"", 3),
        ("result max_turns", 3),
        ("result budget", 11),
        ("result execution", 3),
        ("kill KILL", 3),
        ("exit 1", 3),
    ] {
        let office = Office::new(&format!("turn\n say half\n {ending}\nturn\n say half\n {ending}\n"));
        let ran = office.run(&["go"]);
        assert_eq!(ran.status, Some(status), "{ending}: {}", ran.all());
        office.close();
    }
}

#[test]
fn wait_gives_up_in_time_and_interrupt_ends_the_turn() {
    let office = Office::new("turn\n mark talking\n say first \n until never\n say second\n");
    let id = office.started(&["go"]);
    office.reaches("talking");
    let ran = office.desk.run(&["wait", &id, "--timeout", "10ms"]).exits(6);
    assert!(ran.err.starts_with("still running"), "{}", ran.all());
    Schema::load()
        .holds("wait", &office.desk.run(&["wait", &id, "--timeout", "1ms", "--json"]).exits(6).document());
    let done = office.desk.run(&["interrupt", &id, "--json"]).exits(0).document();
    Schema::load().holds("interrupt", &done);
    assert_eq!(done["result"], json!("confirmed"));
    office.desk.run(&["wait", &id, "-q"]).exits(4);
    assert_eq!(office.desk.run(&["interrupt", &id]).exits(0).out, "nothing is running\n");
    office.close();
}

#[test]
fn stop_ends_the_child() {
    let office = Office::new("turn\n mark talking\n until never\n");
    let id = office.started(&["go"]);
    office.reaches("talking");
    let done = office.desk.run(&["stop", &id, "--json"]).exits(0).document();
    Schema::load().holds("stop", &done);
    assert_eq!(done["result"], json!("ended"));
    office.close();
}

#[test]
fn watch_raw_is_the_files_byte_for_byte() {
    let office = Office::new("turn\n raw not json\n huge 3m\n say one\n");
    let id = office.settled(&["a"]);
    office.desk.run(&["send", "--wait", &id, "b"]).exits(0);
    office.desk.run(&["send", "--wait", &id, "c"]).exits(0);
    let mut files = Vec::new();
    for no in 1..=3 {
        files.extend(
            std::fs::read(office.desk.home().join(format!("sessions/{id}/gen/{no:04}/out"))).unwrap(),
        );
    }
    let output = office.desk.command(&["watch", "--raw", &id]).output().unwrap();
    assert!(output.stdout == files, "{} bytes are not the {} of the files", output.stdout.len(), files.len());
    assert!(files.len() > 3_000_000);
    office.close();
}

/// Lone surrogates, NEL, split UTF-8, noise and a 20 MB line among 50 MB.
#[test]
fn watch_raw_gives_a_known_stream_of_50_mb() {
    const SIZE: usize = 50 << 20;
    let office = Office::new(&format!("turn\n flood {SIZE} seed 7\n say done\n"));
    let id = office.settled(&["a"]);
    let written: Vec<u8> = Flood::new(SIZE, 7).flatten().collect();
    let seen = office.desk.command(&["watch", "--raw", &id]).output().unwrap().stdout;
    let file = std::fs::read(office.desk.home().join(format!("sessions/{id}/gen/0001/out"))).unwrap();
    assert!(seen == file, "{} bytes are not the {} of the file", seen.len(), file.len());
    let at = seen.windows(1 << 10).position(|piece| piece == &written[..1 << 10]).unwrap();
    assert!(seen[at..at + SIZE] == written[..], "the stream is not what was written");
    office.close();
}

#[test]
fn events_can_be_gone_on_with_from_any_cursor() {
    let office = Office::new(ECHO);
    let id = office.settled(&["hello"]);
    office.becomes_cold(&id);
    let all = office.desk.run(&["watch", "--json", &id]).exits(0).events();
    Schema::load().holds_events(&all);
    let cursors: Vec<&str> = all.iter().filter_map(|event| event["cursor"].as_str()).collect();
    assert!(cursors.len() > 8, "{cursors:?}");
    for cursor in cursors.iter().step_by(3) {
        let at = all.iter().position(|event| event["cursor"] == **cursor).unwrap();
        let rest = office.desk.run(&["watch", "--json", &id, "--since", cursor]).exits(0).events();
        let expected: Vec<_> = all[at + 1..].iter().filter(|e| e["event"] != "generation").collect();
        let rest: Vec<_> = rest.iter().filter(|e| e["event"] != "generation").collect();
        assert!(rest == expected, "behind {cursor}: {} events, not {}", rest.len(), expected.len());
    }
    let ran = office.desk.run(&["watch", &id, "--since", "9.0.0"]);
    assert_eq!(ran.status, Some(7), "{}", ran.all());
    office.close();
}

#[test]
fn names_are_prefixes_or_labels_and_must_be_clear() {
    let office = Office::new(ECHO);
    let first = office.settled(&["--label", "twin", "a"]);
    let second = office.settled(&["--label", "twin", "b"]);
    let ran = office.desk.run(&["show", "twin"]).exits(7);
    assert!(ran.err.contains(&first) && ran.err.contains(&second), "the candidates: {}", ran.err);
    office.desk.run(&["show", &first[..8]]).exits(0);
    let ran = office.desk.run(&["ls"]).exits(0);
    assert!(
        ran.out.contains(&first[..8]) && ran.out.contains("idle") && ran.out.contains("twin"),
        "{}",
        ran.out
    );
    assert_eq!(office.desk.run(&["ls", "-q", "--limit", "1"]).exits(0).out, format!("{second}\n"));
    assert_eq!(office.desk.run(&["ls", "-q", "--state", "active"]).exits(0).out, "");
    office.close();
}

#[test]
fn the_same_key_is_the_same_message() {
    let office = Office::new(ECHO);
    let id = office.settled(&["a"]);
    let first = office.desk.run(&["send", &id, "--key", "k", "hello"]).exits(0).out;
    let again = office.desk.run(&["send", &id, "--key", "k", "hello"]).exits(0).out;
    assert_eq!(first, again);
    let ran = office.desk.run(&["send", &id, "--key", "k", "other"]).exits(8);
    assert!(ran.err.contains("--key"), "{}", ran.err);
    office.desk.run(&["wait", &id]).exits(0);
    office.close();
}

#[test]
fn killing_run_kills_nothing() {
    let office = Office::new("turn\n mark talking\n say first \n until go\n say second\n");
    let mut run = office.desk.command(&office.creating("run", &["--label", "orphan", "go"]));
    run.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut child = run.spawn().unwrap();
    office.reaches("talking");
    child.kill().unwrap();
    child.wait().unwrap();
    office.open("go");
    let ran = office.desk.run(&["wait", "orphan"]).exits(0);
    assert!(ran.out.contains("second"), "{}", ran.all());
    office.close();
}

#[test]
fn until_answer_comes_back_before_the_session_settles() {
    let script = "turn\n shell b npm run dev\n until later\n say Started.\nwake b\n say It ended.\n";
    let office = Office::new(script);
    let ran = office.run(&["--until", "answer", "--label", "dev", "go"]).exits(0);
    assert!(ran.out.contains("Started.") && !ran.out.contains("It ended."), "{}", ran.all());
    assert!(ran.out.contains("— in the background: npm run dev"), "{}", ran.all());
    assert!(!ran.out.contains("0 rounds") && !ran.out.contains("0 in, 0 out"), "{}", ran.all());
    office.open("later");
    let ran = office.desk.run(&["wait", "dev"]).exits(0);
    assert_eq!(ran.out, "It ended.\n");
    office.close();
}

#[test]
fn quiet_is_the_answer_alone() {
    let office = Office::new(ECHO);
    let ran = office.run(&["-q", "hello"]).exits(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("You said hello\n", ""));
    let ran = office.desk.run_with(&office.creating("run", &["-q"]), b"from a pipe\n").exits(0);
    assert_eq!(ran.out, "You said from a pipe\n");
    let file = office.desk.file("prompt.md", "from a file\n");
    let ran = office.run(&["-q", "--prompt-file", file.to_str().unwrap()]).exits(0);
    assert_eq!(ran.out, "You said from a file\n");
    let _ = office.run(&["-q", "--literal", "/clear"]);
    let told = office.told();
    // The CLI takes a command only where the slash is the first character.
    assert!(told.iter().any(|line| line["message"]["content"] == " /clear"), "{told:?}");
    let ran = office.run(&["-q", "--", "- one"]).exits(0);
    assert_eq!(ran.out, "You said - one\n");
    office.close();
}
