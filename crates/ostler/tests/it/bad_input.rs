//! What can't be meant is refused, says why and what to do, and loses nothing.

use super::desk::{Desk, Ran};
use serde_json::json;

#[track_caller]
fn refused(ran: Ran, status: i32, says: &[&str]) {
    assert_eq!(ran.status, Some(status), "{}", ran.all());
    assert!(ran.err.starts_with("error: "), "{}", ran.err);
    assert_eq!(ran.out, "", "nothing on standard output");
    for text in says {
        assert!(ran.err.contains(text), "{text:?} is not in: {}", ran.err);
    }
}

/// Nothing was created: whatever was wrong was found before.
#[track_caller]
fn untouched(desk: &Desk) {
    assert!(
        !desk.home().join("sessions").exists()
            || desk.home().join("sessions").read_dir().unwrap().next().is_none()
    );
}

#[test]
fn an_empty_prompt() {
    let desk = Desk::new();
    refused(desk.run(&["run", "--lab", ""]), 2, &["the prompt is empty", "hint: give it as an argument"]);
    refused(desk.run(&["run", "--lab", " ", "\t"]), 2, &["the prompt is empty"]);
    refused(desk.run_with(&["run", "--lab"], b"\n\n"), 2, &["the prompt is empty"]);
    refused(desk.run(&["start", "--lab", "-"]), 2, &["the prompt is empty"]);
    let file = desk.file("empty", "");
    refused(desk.run(&["run", "--prompt-file", file.to_str().unwrap()]), 2, &["the prompt is empty"]);
    untouched(&desk);
}

#[test]
fn invalid_utf8_is_named_by_its_offset() {
    let desk = Desk::new();
    refused(
        desk.run_with(&["run", "--lab"], b"caf\xe9 au lait"),
        2,
        &["not valid UTF-8", "offset 3", "standard input"],
    );
    let file = desk.file("latin1", b"ab\xff");
    let ran = desk.run(&["send", "x", "--prompt-file", file.to_str().unwrap()]);
    refused(ran, 2, &["not valid UTF-8", "offset 2", "latin1"]);
    untouched(&desk);
}

#[test]
fn twenty_megabytes() {
    let desk = Desk::new();
    let text = "x".repeat(20 << 20);
    refused(
        desk.run_with(&["run", "--lab"], text.as_bytes()),
        2,
        &["more than 8388608 bytes", "hint: put it into a file"],
    );
    untouched(&desk);
}

#[test]
fn a_leading_dash() {
    let desk = Desk::new();
    refused(desk.run(&["run", "--lab", "- one\n- two"]), 2, &["goes behind `--`"]);
    refused(desk.run(&["run", "--lab", "-x"]), 2, &["goes behind `--`"]);
    // Behind `--` it gets as far as looking for claude.
    let ran = desk.run(&["run", "--lab", "--no-install", "--", "- one\n- two"]);
    refused(ran, 9, &["no claude was found"]);
    untouched(&desk);
}

#[test]
fn a_leading_slash() {
    let desk = Desk::new();
    for word in ["/clear", "/resume abc", "/exit"] {
        let ran = desk.run(&["run", "--lab", "--no-install", word]);
        refused(ran, 2, &["leave or swap", "hint: --raw sends it all the same; --literal"]);
        // These pass, as far as looking for claude.
        refused(desk.run(&["run", "--lab", "--no-install", "--raw", word]), 9, &[]);
        refused(desk.run(&["run", "--lab", "--no-install", "--literal", word]), 9, &[]);
    }
    refused(desk.run(&["run", "--lab", "--no-install", "/compact"]), 9, &[]);
    untouched(&desk);
}

#[test]
fn a_directory_that_is_not_there() {
    let desk = Desk::new();
    let gone = desk.path("gone");
    let ran = desk.run(&["run", "--lab", "--cwd", gone.to_str().unwrap(), "hi"]);
    refused(ran, 2, &["the working directory $DESK/gone can't be used", "because: No such file"]);
    let file = desk.file("file", "");
    let ran = desk.run(&["run", "--lab", "--cwd", file.to_str().unwrap(), "hi"]);
    refused(ran, 2, &["$DESK/file is not a directory"]);
    untouched(&desk);
}

#[test]
fn a_directory_that_was_deleted_under_us() {
    let desk = Desk::new();
    let doomed = desk.path("doomed");
    std::fs::create_dir(&doomed).unwrap();
    let script = format!(
        "cd {0} && rmdir {0} && exec {1} run --lab hi",
        doomed.display(),
        env!("CARGO_BIN_EXE_ostler")
    );
    let mut command = desk.command::<&str>(&[]);
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &script]).env_clear().envs(command.get_envs().filter_map(|(k, v)| Some((k, v?))));
    shell.stdin(std::process::Stdio::null());
    let output = shell.output().unwrap();
    command.stdin(std::process::Stdio::null());
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("working directory"), "{err}");
    untouched(&desk);
}

#[test]
fn unknown_sessions() {
    let desk = Desk::new();
    for verb in ["wait", "watch", "show", "interrupt", "stop", "resume", "approve", "deny", "pending"] {
        refused(desk.run(&[verb, "nobody"]), 7, &["no session is called \"nobody\"", "ostler ls"]);
    }
    refused(desk.run(&["send", "nobody", "hi"]), 7, &["no session is called \"nobody\""]);
}

#[test]
fn options_that_cannot_be_meant() {
    let desk = Desk::new();
    let bad = |args: &[&str], says: &[&str]| refused(desk.run(args), 2, says);
    bad(&["run", "--lab", "--model", "", "hi"], &["model"]);
    bad(&["run", "--lab", "--max-turns", "0", "hi"], &["--max-turns"]);
    bad(&["run", "--lab", "--permission-mode", "yolo", "hi"], &["possible are", "acceptEdits"]);
    bad(&["run", "--lab", "--credential", "api-key", "hi"], &["--lab and --credential"]);
    bad(&["run", "--lab", "--claude-flag=--continue", "hi"], &["--continue"]);
    bad(&["run", "--lab=missing.lab", "hi"], &["failed to read missing.lab"]);
    bad(&["run", "--lab", "--settings", "missing.json", "hi"], &["failed to read missing.json"]);
    bad(&["wait", "x", "--timeout", "soon"], &["such as 90s"]);
    bad(&["watch", "x", "--since", "soon"], &["is not a cursor"]);
    bad(&["frobnicate"], &["frobnicate"]);
    bad(&["approve", "x", "--input", "[1]"], &["--input is not a JSON object"]);
    let script = desk.file("bad.lab", "say what\n");
    bad(&["run", &format!("--lab={}", script.display()), "hi"], &["script line 1"]);
    untouched(&desk);
}

#[test]
fn as_root_claude_is_not_told_to_ask_nothing() {
    let desk = Desk::new();
    let words: &[&str] = match ostler_os::limits::is_root() {
        true => &["claude refuses to run as root", "--permission allow"],
        false => &["no claude was found"],
    };
    let status = if ostler_os::limits::is_root() { 2 } else { 9 };
    for flag in ["--skip-permissions", "--dangerously-skip-permissions"] {
        refused(desk.run(&["start", "--lab", "--no-install", flag, "hi"]), status, words);
    }
}

#[test]
fn rules_that_cannot_be_meant() {
    let desk = Desk::new();
    for (pattern, says) in [
        ("Bash(git:*)", "Bash(git *)"),
        ("Read(~/x)", "`~` is not known here"),
        ("mcp__a(b)", "name the tool alone"),
        ("Bash(", "Bash(git *)"),
    ] {
        refused(desk.run(&["rule", "add", "allow", pattern]), 2, &[says]);
    }
    refused(desk.run(&["rule", "add", "allow", "AskUserQuestion"]), 2, &["no rule can answer"]);
    refused(desk.run(&["rule", "rm", "4f3a"]), 7, &["0 rules begin with", "ostler rule ls"]);
}

#[test]
fn limits_that_cannot_be_meant() {
    let desk = Desk::new();
    for size in ["0", "much", "-1", "4T", "99999999999999G", ""] {
        let flag = format!("--max-memory={size}");
        refused(desk.run(&["run", "--lab", &flag, "hello"]), 2, &["--max-memory", "900M or 4G"]);
    }
    refused(desk.run(&["run", "--lab", "--max-pids=0", "hello"]), 2, &["--max-pids"]);
    untouched(&desk);
}

#[test]
fn homes_that_cannot_be_used() {
    let desk = Desk::new();
    let file = desk.file("file", "");
    let ran = desk.run(&["--home", file.to_str().unwrap(), "ls"]);
    refused(ran, 10, &["$DESK/file is not a folder"]);
    let mut relative = desk.command(&["ls"]);
    relative.env("OSTLER_HOME", "here");
    let output = relative.output().unwrap();
    assert_eq!(output.status.code(), Some(10));
    let mut nowhere = desk.command(&["ls"]);
    nowhere.env_remove("OSTLER_HOME").env_remove("HOME");
    let output = nowhere.output().unwrap();
    assert_eq!(output.status.code(), Some(10), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn failures_are_one_document_with_json() {
    let desk = Desk::new();
    let ran = desk.run(&["--json", "show", "nobody"]).exits(7);
    let error = &ran.document()["error"];
    assert_eq!((&error["kind"], &error["exit"]), (&json!("not_found"), &json!(7)));
    assert!(ran.err.starts_with("error: "), "people still read it on standard error");
    // Also when the command line can't be read.
    let ran = desk.run(&["ls", "--json", "--nonsense"]).exits(2);
    assert_eq!(ran.document()["error"]["kind"], json!("usage"));
}

#[test]
fn files_that_cannot_be_sent() {
    let desk = Desk::new();
    let file = |name: &str, bytes: &[u8]| desk.file(name, bytes).display().to_string();
    let bad = |args: &[&str], says: &[&str]| {
        refused(desk.run(&[&["run", "--lab", "--no-install"], args].concat()), 2, says)
    };
    let png = file("shot.jpg", b"\x89PNG\r\n\x1a\n");
    let pdf = file("report.png", b"%PDF-1.7\n");
    let notes = file("notes.pdf", b"notes");
    let program = file("program", b"\x7fELF\0\0");
    let empty = file("empty", b"");
    bad(
        &["--image", &pdf, "hi"],
        &["$DESK/report.png can't be sent", "it is application/pdf", "--file sends"],
    );
    bad(&["--image", &notes, "hi"], &["$DESK/notes.pdf can't be sent", "it is something else", "png, jpeg"]);
    bad(
        &["--file", &png, "hi"],
        &["$DESK/shot.jpg can't be sent", "it is image/png", "--image sends images"],
    );
    bad(&["--file", &program, "hi"], &["$DESK/program can't be sent", "PDF and UTF-8 text", "hint: put it"]);
    bad(&["--file", &empty, "hi"], &["$DESK/empty can't be sent", "is empty"]);
    bad(&["--image", "missing.png", "hi"], &["failed to read missing.png", "because: No such file"]);
    bad(&["--file", desk.path("work").to_str().unwrap(), "hi"], &["failed to read $DESK/work"]);
    // Files alone say nothing about what to do with them.
    bad(&["--file", &notes], &["the prompt is empty"]);
    bad(&["--image", &png, " "], &["the prompt is empty"]);
    let mut large = b"\x89PNG\r\n\x1a\n".to_vec();
    large.resize((5 << 20) / 4 * 3 + 1, 0);
    bad(
        &["--image", &file("large.png", &large), "hi"],
        &["$DESK/large.png can't be sent", "at most 5242880 (a file of 3932160)", "hint: make it smaller"],
    );
    large.truncate((5 << 20) / 4 * 3);
    let large = file("limit.png", &large);
    bad(
        &["--image", &large, "--image", &large, "hi"],
        &["the message has 104", "at most 8388608 are taken", "hint: put it into a file"],
    );
    bad(&["--file", &file("book", &vec![b'x'; (8 << 20) + 1]), "hi"], &["book has more than 8388608 bytes"]);
    untouched(&desk);
}

#[test]
fn content_that_cannot_be_sent() {
    let desk = Desk::new();
    let bad = |json: &str, says: &[&str]| {
        refused(desk.run_with(&["run", "--lab", "--no-install", "--content", "-"], json.as_bytes()), 2, says);
    };
    bad("", &["the content is not JSON", "docs/json.md"]);
    bad("[{]", &["the content is not JSON", "because: ", "line 1 column 3"]);
    bad(r#"{"type":"text","text":"x"}"#, &["the content is no JSON array of blocks"]);
    bad("[]", &["the content has no blocks"]);
    let text = r#"{"type":"text","text":"x"}"#;
    bad(
        &format!(r#"[{text},{{"type":"video"}}]"#),
        &[
            "block 1 of the content can't be sent",
            "\"video\" are not known; known are text, image and document",
        ],
    );
    bad(&format!(r#"[{text},{{"type":"tool_result"}}]"#), &["block 1", "tool_result blocks are made by"]);
    let image = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBOR!"}}"#;
    bad(&format!("[{image}]"), &["block 0", "source.data is not base64", "because: Invalid symbol 33"]);
    for word in ["/clear", "/resume x", "/exit"] {
        bad(&format!(r#"[{text},{{"type":"text","text":"{word}"}}]"#), &["leave or swap", "hint: --raw"]);
    }
    bad(&format!(r#"[{{"type":"text","text":"{}"}}]"#, "x".repeat(8 << 20)), &["more than 8388608 bytes"]);
    let file = desk.file("content", b"[\xff").display().to_string();
    refused(
        desk.run(&["send", "x", "--content", &file]),
        2,
        &["$DESK/content", "not valid UTF-8", "offset 1"],
    );
    for more in
        [&["hi"][..], &["--prompt-file", &file], &["--image", &file], &["--file", &file], &["--literal"]]
    {
        let ran = desk.run(&[&["send", "x", "--content", &file], more].concat());
        refused(ran, 2, &["cannot be used with"]);
    }
    untouched(&desk);
}
