//! The two ways in which clients use the bridge, as scripts of theirs, against recorded answers.

use super::super::desk::repository;
use super::shop::Shop;
use std::path::PathBuf;
use std::process::Command;

const SCRIPT: &str = "when ask\n say Let me see.\n ask Bash {\"command\":\"make\"}\n gives a < b\n then\n say All done.\n\
                      otherwise\n say You said $text\n";

fn file(name: &str) -> PathBuf {
    repository().join("crates/ostler/tests/bridge").join(name)
}

/// Python with requests, of this checkout.
fn python() -> PathBuf {
    let path = repository().join("target/tools/python/bin/python3");
    assert!(path.exists(), "{} is missing: run scripts/get-tools", path.display());
    path
}

/// Runs a client's script; what it printed, with names for what differs from run to run.
#[track_caller]
fn client(shop: &Shop, program: &str, script: &str, prompt: &str) -> String {
    let program = if program == "python" { python() } else { PathBuf::from(program) };
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("TMPDIR", shop.office.desk.path("tmp"));
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("HOME", shop.office.desk.path("user"));
    command.arg(file(script)).arg(format!("http://{}", shop.address)).args([&shop.key(), prompt]);
    let ran = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ran.status.success(), "{script}: {}\n{}", text(&ran.stdout), text(&ran.stderr));
    plain(&text(&ran.stdout))
}

/// Ids are another each time.
fn plain(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out.push_str(match word {
            _ if word.len() == 36 && word.bytes().filter(|b| *b == b'-').count() == 4 => "$UUID",
            _ if word.starts_with("toolu_") => "$CALL",
            _ if word.strip_prefix("task_").is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit())) => {
                "$TASK"
            }
            _ => word,
        });
        let next = after.char_indices().nth(1).map_or(after.len(), |(at, _)| at);
        out.push_str(&after[..next]);
        rest = &after[next..];
    }
    out
}

#[track_caller]
fn recorded(name: &str, found: &str) {
    let expected = std::fs::read_to_string(file("expected").join(name)).unwrap();
    assert!(expected == found, "{name} is not what was recorded. Found:\n{found}");
}

#[test]
fn create_and_poll_with_curl() {
    let shop = Shop::new(SCRIPT);
    recorded("poll.txt", &client(&shop, "/bin/sh", "poll.sh", "hello"));
    shop.close();
}

#[test]
fn create_and_poll_with_requests() {
    let shop = Shop::new(SCRIPT);
    recorded("poll.txt", &client(&shop, "python", "poll.py", "hello"));
    shop.close();
}

#[test]
fn create_stream_permit_with_curl() {
    let shop = Shop::new(SCRIPT);
    recorded("stream.txt", &client(&shop, "/bin/sh", "stream.sh", "ask"));
    shop.close();
}

#[test]
fn create_stream_permit_with_requests() {
    let shop = Shop::new(SCRIPT);
    recorded("stream.txt", &client(&shop, "python", "stream.py", "ask"));
    shop.close();
}
