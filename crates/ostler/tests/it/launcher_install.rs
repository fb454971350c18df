//! Installing, with a fake npm. (The real one fetches 400 MB.)

use super::fake_machine::{Machine, claude, told};
use ostler::launcher::{LauncherError, Origin, Progress, pin, uses_musl};
use std::path::PathBuf;

/// An npm that notes how it was called and then does `body`. `$package` is the folder that the package belongs in.
fn npm(m: &Machine, body: &str) -> PathBuf {
    let name = &pin(std::env::consts::OS, std::env::consts::ARCH, uses_musl()).unwrap().name;
    let log = m.text("npm.log");
    let text = format!(
        "#!/bin/sh\necho \"$*\" >> {log}\npackage=node_modules/{name}\nput() {{ /bin/mkdir -p $package; \
         /bin/cat > $package/claude; /bin/chmod 755 $package/claude; }}\n{body}\n"
    );
    m.program("bin/npm", &text)
}

/// An npm that installs a `claude` of that version.
fn good_npm(m: &Machine, version: &str) {
    npm(m, &format!("put <<'END'\n{}END", claude(version)));
}

fn runs(m: &Machine) -> usize {
    std::fs::read_to_string(m.path("npm.log")).map_or(0, |log| log.lines().count())
}

fn left_over(m: &Machine) -> Vec<String> {
    let shelf = std::fs::read_dir(m.path("cache/ostler/claude")).unwrap();
    let mut names: Vec<String> = shelf.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn npm_installs_what_is_pinned_and_only_once() {
    let m = Machine::new();
    good_npm(&m, "2.1.332");
    let (found, shown) = m.find_or_install();
    let found = found.unwrap();
    assert_eq!(found.origin, Origin::Installed);
    assert_eq!(found.launcher.resolved.version, "2.1.332");
    assert!(found.launcher.resolved.program.path.starts_with(&m.text("cache/ostler/claude/2.1.332")));
    assert!(matches!(&shown[0], Progress::Starting { package, .. } if package.ends_with("@2.1.332")));
    assert!(matches!(shown.last(), Some(Progress::Done { .. })));
    assert!(shown.contains(&Progress::Checking));
    assert_eq!(left_over(&m), ["2.1.332", "install.lock"]);
    let (again, shown) = m.find_or_install();
    assert_eq!(again.unwrap().origin, Origin::Cache);
    assert!(shown.is_empty() && runs(&m) == 1);
    let call = std::fs::read_to_string(m.path("npm.log")).unwrap();
    assert!(call.contains("install --ignore-scripts") && call.contains("--prefix"), "{call}");
}

#[test]
fn npm_is_told_the_hash_before_it_starts() {
    let m = Machine::new();
    npm(&m, "/bin/cat package-lock.json >&2; exit 1");
    let text = told(&m.find_or_install().0.unwrap_err());
    let pin = pin(std::env::consts::OS, std::env::consts::ARCH, uses_musl()).unwrap();
    assert!(text.contains(&pin.integrity) && text.contains(&pin.name), "{text}");
}

#[test]
fn other_bytes_are_refused() {
    let m = Machine::new();
    npm(&m, "echo 'npm error code EINTEGRITY' >&2; exit 1");
    let e = m.find_or_install().0.unwrap_err();
    assert!(matches!(e, LauncherError::Integrity { .. }), "{e}");
    // An npm that wrote another hash into the lock file took other bytes.
    let rewrite = "echo '{\"packages\":{\"'$package'\":{\"version\":\"2.1.332\",\"integrity\":\"sha512-x\"}}}' > package-lock.json";
    npm(&m, &format!("put <<'END'\n{}END\n{rewrite}", claude("2.1.332")));
    let e = m.find_or_install().0.unwrap_err();
    assert!(matches!(e, LauncherError::Integrity { .. }), "{e}");
    assert_eq!(left_over(&m), ["install.lock"]);
}

#[test]
fn a_failing_npm_is_quoted() {
    let m = Machine::new();
    npm(&m, "echo 'npm error code ENOTFOUND' >&2; echo 'npm error network no such host' >&2; exit 1");
    let e = m.find_or_install().0.unwrap_err();
    let text = told(&e);
    assert!(matches!(e, LauncherError::Npm { .. }), "{text}");
    assert!(text.contains("ENOTFOUND; network no such host") && text.contains("--claude"), "{text}");
    assert_eq!(left_over(&m), ["install.lock"]);
    npm(&m, "exit 0");
    assert!(told(&m.find_or_install().0.unwrap_err()).contains("no executable"));
    npm(&m, "exit 7");
    assert!(told(&m.find_or_install().0.unwrap_err()).contains('7'));
}

#[test]
fn an_executable_that_does_not_work_is_not_kept() {
    let m = Machine::new();
    npm(&m, "put <<'END'\n#!/bin/sh\necho 'Illegal instruction' >&2\nexit 132\nEND");
    let e = m.find_or_install().0.unwrap_err();
    assert!(matches!(&e, LauncherError::Broken { said, .. } if said == "Illegal instruction"), "{e}");
    assert_eq!(left_over(&m), ["install.lock"]);
}

#[test]
fn without_npm_the_way_by_hand_is_told() {
    let m = Machine::new();
    let e = m.find_or_install().0.unwrap_err();
    assert!(matches!(e, LauncherError::NoNpm), "{e}");
    let text = told(&e);
    assert!(text.contains("https://") && text.contains("Node.js") && text.contains("--claude"), "{text}");
}

#[test]
fn two_at_once_install_once() {
    let m = Machine::new();
    // The first npm waits until the second ostler has said that it waits.
    let go = m.text("go");
    npm(&m, &format!("until [ -e {go} ]; do /bin/sleep 0.05; done\nput <<'END'\n{}END", claude("2.1.332")));
    let cwd = m.path("work");
    let install = || {
        let search = m.search(&cwd);
        ostler::launcher::find(&search, &mut |p| {
            if matches!(p, Progress::Waiting { holder: Some(_) }) {
                std::fs::write(&go, "").unwrap();
            }
        })
    };
    let (a, b) = std::thread::scope(|s| {
        let a = s.spawn(install);
        let b = install();
        (a.join().unwrap().unwrap(), b.unwrap())
    });
    assert_eq!(a.launcher, b.launcher);
    assert_eq!(runs(&m), 1);
}

#[test]
fn what_a_killed_installation_left_is_cleared() {
    let m = Machine::new();
    std::fs::create_dir_all(m.path("cache/ostler/claude/.unfinished-1/node_modules")).unwrap();
    std::fs::create_dir_all(m.path("cache/ostler/claude/2.1.332/node_modules")).unwrap();
    good_npm(&m, "2.1.332");
    assert!(m.find_or_install().0.is_ok());
    assert_eq!(left_over(&m), ["2.1.332", "install.lock"]);
}

#[test]
fn progress_shows_bytes_while_npm_works() {
    let m = Machine::new();
    // It ends when the test has seen bytes.
    let seen = m.text("seen");
    let body = format!(
        "/bin/mkdir node_modules; echo 0123456789 > node_modules/part\nuntil [ -e {seen} ]; do /bin/sleep 0.05; done\nput <<'END'\n{}END",
        claude("2.1.332")
    );
    npm(&m, &body);
    let cwd = m.path("work");
    let found = ostler::launcher::find(&m.search(&cwd), &mut |p| {
        if let Progress::Fetching { bytes, .. } = p
            && *bytes >= 11
        {
            std::fs::write(&seen, "").unwrap();
        }
    });
    assert!(found.is_ok());
}
