use crate::part;
use crate::stage::{Stage, soon};
use ostler_os::term::{Key, RawMode, Stream, is_tty, size};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Plays a part in a terminal made by `script`; the part reports what it saw.
fn play_in_terminal(part: &str, keys: &[&str]) {
    let stage = Stage::new();
    let mut report = stage.report("report");
    let exe = std::env::current_exe().unwrap();
    let arguments: Vec<&str> = part::arguments().collect();
    let command = format!("stty cols 97 rows 31; '{}' {}", exe.display(), arguments.join(" "));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
    let named = part::command(part, &[]);
    script.envs(named.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("DIR", stage.dir());
    let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = script.stdin.take().unwrap();
    let mut keys = keys.iter();
    let heard = loop {
        match report.next_line() {
            Some(line) if line == "ready" => {
                stdin.write_all(keys.next().expect("a key more").as_bytes()).unwrap();
            }
            other => break other,
        }
    };
    drop(stdin);
    let output = script.wait_with_output().unwrap();
    assert_eq!(heard.as_deref(), Some("done"), "{}", String::from_utf8_lossy(&output.stdout));
}

struct Tell(std::fs::File);

impl Tell {
    fn new() -> Self {
        let report = std::path::PathBuf::from(std::env::var_os("DIR").unwrap()).join("report");
        Self(std::fs::OpenOptions::new().append(true).open(report).unwrap())
    }

    fn tell(&mut self, what: &str) {
        writeln!(self.0, "{what}").unwrap();
    }
}

fn settings() -> String {
    let output = Command::new("stty").arg("--all").stdin(Stdio::inherit()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn single_keys_are_read_and_the_terminal_is_put_back() {
    play_in_terminal("term::keys", &["y", "é", "\r", "\x1b[A", "\x1b", "xy"]);
}

pub(crate) fn keys() {
    let mut tell = Tell::new();
    assert!(is_tty(Stream::Stdin));
    let size = size(Stream::Stdin).unwrap();
    assert_eq!((size.columns, size.rows), (97, 31));
    let before = settings();
    let mut raw = RawMode::enter().unwrap();
    let raw_settings = settings();
    let modes: Vec<&str> = raw_settings.split_whitespace().collect();
    for mode in ["-icanon", "-echo", "isig", "opost"] {
        assert!(modes.contains(&mode), "{raw_settings}");
    }
    assert_eq!(raw.read_key(Some(Instant::now())).unwrap(), None);
    for key in [Key::Char('y'), Key::Char('é'), Key::Enter, Key::Other, Key::Escape, Key::Char('x')] {
        tell.tell("ready");
        assert_eq!(raw.read_key(Some(soon())).unwrap(), Some(key));
    }
    assert_eq!(raw.read_key(Some(soon())).unwrap(), Some(Key::Char('y')), "two keys that came at once");
    drop(raw);
    assert_eq!(settings(), before);
    tell.tell("done");
}

#[test]
fn a_panic_puts_the_terminal_back() {
    play_in_terminal("term::panic", &[]);
}

pub(crate) fn panics() {
    let before = settings();
    let caught = std::panic::catch_unwind(|| {
        let _raw = RawMode::enter().unwrap();
        assert_ne!(settings(), before);
        panic!("on purpose");
    });
    assert!(caught.is_err_and(|cause| cause.downcast_ref() == Some(&"on purpose")));
    assert_eq!(settings(), before);
    Tell::new().tell("done");
}

#[test]
fn without_a_terminal_there_are_no_keys() {
    part::play("term::none");
}

/// Parts have no terminal as stdin.
pub(crate) fn none() {
    assert!(!is_tty(Stream::Stdin));
    assert_eq!(size(Stream::Stdin), None);
    assert_eq!(RawMode::enter().unwrap_err().raw_os_error(), Some(libc::ENOTTY));
}
