//! Command lines: wrappers, prefixes, scripts, and programs that misbehave when they are asked who they are.

use super::fake_machine::{Machine, claude, told};
use ostler::launcher::{Install, LauncherError, Search, check, find};
use ostler_core::spec::Launcher;
use std::path::Path;
use std::time::{Duration, Instant};

fn launcher(m: &Machine, command: &str) -> Launcher {
    m.find(Some(command)).unwrap().launcher
}

#[test]
fn a_path_is_pinned_by_hash() {
    let m = Machine::new();
    let path = m.program("opt/claude", &claude("2.1.332"));
    let l = launcher(&m, path.to_str().unwrap());
    assert_eq!(l.command, [path.to_str().unwrap()]);
    assert_eq!(l.resolved.program.path, path.to_str().unwrap());
    assert_eq!(l.resolved.program.size, std::fs::metadata(&path).unwrap().len());
    let expected = std::process::Command::new("sha256sum").arg(&path).output().unwrap().stdout;
    assert_eq!(l.resolved.program.sha256.as_bytes(), &expected[..64]);
    assert!(l.resolved.agents_by_file);
}

#[test]
fn a_link_is_followed_so_that_an_update_changes_nothing() {
    let m = Machine::new();
    let real = m.program("versions/2.1.330", &claude("2.1.330"));
    link(&real, &m.path("bin/claude"));
    let l = launcher(&m, "claude");
    assert_eq!(l.command, ["claude"]);
    assert_eq!(l.resolved.program.path, real.to_str().unwrap());
}

#[test]
fn a_shim_that_looks_at_its_name_is_called_by_it() {
    let m = Machine::new();
    let text = "#!/bin/sh\ncase \"$0\" in */claude) echo '2.1.331 (Claude Code)';; *) echo 'mise 1';; esac\n";
    let real = m.program("opt/mise", text);
    link(&real, &m.path("bin/claude"));
    assert_eq!(launcher(&m, "claude").resolved.program.path, m.text("bin/claude"));
}

fn link(real: &Path, at: &Path) {
    let made = std::process::Command::new("/bin/ln").arg("-s").arg(real).arg(at).status().unwrap();
    assert!(made.success());
}

#[test]
fn an_environment_prefix() {
    let m = Machine::new();
    m.program("bin/claude", "#!/bin/sh\n[ \"$FLAVOUR\" = 'a b' ] && echo '2.1.332 (Claude Code)'\n");
    let l = launcher(&m, "FLAVOUR='a b' claude");
    assert_eq!(l.command, ["FLAVOUR=a b", "claude"]);
    assert_eq!(l.resolved.env, [("FLAVOUR".to_owned(), "a b".to_owned())]);
    assert!(m.find(Some("claude")).is_err());
}

#[test]
fn npx_and_whatever_else_wraps() {
    let m = Machine::new();
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = '@anthropic-ai/claude-code' ] && [ \"$npm_config_yes\" = true ] || exit 1\n{}",
        claude("2.1.329").trim_start_matches("#!/bin/sh\n")
    );
    m.program("bin/npx", &text);
    // A file of that name in the directory must not be taken for the package.
    std::fs::create_dir_all(m.path("work/@anthropic-ai")).unwrap();
    let l = launcher(&m, "npx @anthropic-ai/claude-code");
    assert_eq!(l.resolved.program.path, m.text("bin/npx"));
    assert_eq!(l.resolved.args, ["@anthropic-ai/claude-code"]);
    assert_eq!(l.resolved.version, "2.1.329");
    assert!(l.resolved.scripts.is_empty());
}

#[test]
fn a_script_is_found_from_anywhere_and_pinned_too() {
    let m = Machine::new();
    let script = m.program("work/my claude.sh", &claude("2.1.328"));
    for command in ["/bin/sh 'my claude.sh'", "/bin/sh './my claude.sh'"] {
        let l = launcher(&m, command);
        let path = Path::new(&l.resolved.args[0]);
        assert!(path.is_absolute() && path.canonicalize().unwrap() == script, "{path:?}");
        assert_eq!(l.resolved.scripts.len(), 1);
        check(&l).unwrap();
    }
    m.program("bin/claude", &claude("2.1.327"));
    let l = launcher(&m, "/bin/sh -c 'exec claude \"$@\"' 'my claude.sh'");
    assert_eq!(l.resolved.version, "2.1.327");
    assert!(l.resolved.scripts.is_empty(), "behind -c stands no file");
}

#[test]
fn a_home_directory_may_be_written_short() {
    let m = Machine::new();
    m.program("home/tools/claude", &claude("2.1.326"));
    assert_eq!(launcher(&m, "~/tools/claude").resolved.version, "2.1.326");
}

fn refusal(text: &str) -> LauncherError {
    let m = Machine::new();
    let path = m.program("opt/claude", text);
    m.find(path.to_str()).unwrap_err()
}

#[test]
fn too_old() {
    let e = refusal(&claude("2.1.199"));
    assert!(matches!(e, LauncherError::TooOld { .. }), "{e}");
    let text = told(&e);
    assert!(text.contains("2.1.199") && text.contains("2.1.200") && text.contains("claude update"), "{text}");
    let m = Machine::new();
    m.program("bin/claude", &claude("1.0.100"));
    assert!(
        matches!(m.find(None), Err(LauncherError::TooOld { .. })),
        "refused, not replaced behind one's back"
    );
}

#[test]
fn broken() {
    let e = refusal("#!/bin/sh\necho 'cannot load libfoo' >&2\nexit 127\n");
    assert!(matches!(&e, LauncherError::Broken { said, .. } if said == "cannot load libfoo"), "{e}");
    let e = refusal("#!/bin/sh\nkill -9 $$\n");
    assert!(matches!(&e, LauncherError::Broken { status, .. } if status.contains("signal")), "{e}");
    let e = refusal("#!/no/such/interpreter\n");
    assert!(matches!(e, LauncherError::NotExecutable { .. }), "{e}");
}

#[test]
fn not_claude_code() {
    for said in ["claude 1.2.3", "2.1.332", ""] {
        let e = refusal(&format!("#!/bin/sh\necho '{said}'\n"));
        assert!(matches!(&e, LauncherError::NotClaude { .. }), "{e}");
    }
    let e = refusal(
        "#!/bin/sh\ni=0\nwhile [ $i -lt 20000 ]; do echo 'words words words words words'; i=$((i+1)); done\n",
    );
    assert!(matches!(&e, LauncherError::NotClaude { said, .. } if said.len() < 1000), "{e}");
}

#[test]
fn the_voice_of_a_wrapper_does_no_harm() {
    let m = Machine::new();
    let path = m.program(
        "opt/claude",
        "#!/bin/sh\necho 'using node 22'\necho '2.1.332 (Claude Code)'\necho bye >&2\n",
    );
    assert_eq!(launcher(&m, path.to_str().unwrap()).resolved.version, "2.1.332");
}

#[test]
fn hanging_is_ended_with_all_that_it_started() {
    let m = Machine::new();
    let pids = m.text("pids");
    let text = format!("#!/bin/sh\n/bin/sleep 1000 &\necho $! > {pids}\necho $$ >> {pids}\nwait\n");
    let path = m.program("opt/claude", &text);
    let cwd = m.path("work");
    let search = Search {
        command: path.to_str(),
        install: Install::Refused,
        deadline: Duration::from_millis(700),
        ..m.search(&cwd)
    };
    let began = Instant::now();
    let e = find(&search, &mut |_| {}).unwrap_err();
    assert!(matches!(e, LauncherError::Hanging { .. }), "{e}");
    assert!(told(&e).contains("--version"), "{e}");
    assert!(began.elapsed() < Duration::from_secs(15));
    let pids = std::fs::read_to_string(pids).unwrap();
    assert_eq!(pids.lines().count(), 2);
    for pid in pids.lines() {
        let there = ostler_os::process::identity_of(pid.parse().unwrap()).unwrap();
        let alive = there.is_some_and(|i| ostler_os::process::still_is(&i).unwrap());
        assert!(!alive, "{pid} lives");
    }
}

#[test]
fn a_grandchild_that_keeps_the_pipe_open_delays_nothing_for_long() {
    let m = Machine::new();
    let pid = m.text("pid");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ /bin/sleep 1000 & echo $! > {pid}; }}\necho '2.1.332 (Claude Code)'\n"
    );
    let path = m.program("opt/claude", &text);
    let began = Instant::now();
    assert_eq!(launcher(&m, path.to_str().unwrap()).resolved.version, "2.1.332");
    assert!(began.elapsed() < Duration::from_secs(15));
    let pid = std::fs::read_to_string(pid).unwrap();
    std::process::Command::new("/bin/kill").args(["-9", pid.trim()]).status().unwrap();
}

#[test]
fn the_child_is_asked_in_a_clean_environment() {
    let mut m = Machine::new();
    let path = m.program("opt/claude", "#!/bin/sh\necho \"[$CLAUDECODE$NODE_OPTIONS$OSTLER_SESSION$ANTHROPIC_API_KEY$DISABLE_AUTOUPDATER]\" >> log\necho '2.1.332 (Claude Code)'\n");
    for name in ["CLAUDECODE", "NODE_OPTIONS", "OSTLER_SESSION", "ANTHROPIC_API_KEY"] {
        m.set(name, "x");
    }
    launcher(&m, path.to_str().unwrap());
    let log = std::fs::read_to_string(m.path("work/log")).unwrap();
    assert_eq!(log, "[1]\n[1]\n");
}

#[test]
fn a_stored_launcher_is_checked_before_each_start() {
    let m = Machine::new();
    let path = m.program("opt/claude", &claude("2.1.332"));
    let l = launcher(&m, path.to_str().unwrap());
    check(&l).unwrap();
    m.program("opt/claude", &claude("2.1.332"));
    check(&l).expect("written again, the same bytes");
    m.program("opt/claude", &claude("2.1.333"));
    let e = check(&l).unwrap_err();
    assert!(matches!(e, LauncherError::Changed { .. }), "{e}");
    assert!(told(&e).contains("2.1.332"), "{e}");
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(check(&l), Err(LauncherError::Gone { .. })));
}
