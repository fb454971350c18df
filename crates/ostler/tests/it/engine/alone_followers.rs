//! More followers than a user has inotify instances: some look at their files instead, and nobody misses a line.

use super::stable::{PATIENCE, Stable, until};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

/// How many followers find no instance, at least.
const MORE: usize = 12;
/// Lines to each of them; all of a follower's fit into its pipe.
const LINES: usize = 20;

/// inotify instances of a process.
fn instances(pid: u32) -> usize {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files.filter(|file| fs::read_link(file.path()).is_ok_and(|to| to.ends_with("anon_inode:inotify"))).count()
}

#[test]
fn more_followers_than_inotify_instances_miss_nothing() {
    let stable = Stable::new();
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_user_instances").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    assert!(
        limit <= 512,
        "fs.inotify.max_user_instances is {limit}: set it to 128, as kernels have it by default"
    );
    let mut watched = Vec::new();
    for _ in 0..limit + MORE {
        let session = stable.session("");
        let files = session.generation(1);
        fs::create_dir_all(&files.path).unwrap();
        fs::write(files.ctl(), "").unwrap();
        let out = fs::File::options().create(true).append(true).open(files.out()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
        command.args(["watch", "--raw", "--follow"]).arg(session.id.to_string()).stdout(Stdio::piped());
        command.env_clear().envs(stable.surroundings()).env("OSTLER_HOME", stable.ostler.home().root());
        let mut watch = command.spawn().unwrap();
        let lines = BufReader::new(watch.stdout.take().unwrap());
        watched.push((watch, lines, out));
    }
    for number in 0..LINES {
        for (.., out) in &mut watched {
            out.write_all(format!("{{\"type\":\"line\",\"n\":{number}}}\n").as_bytes()).unwrap();
        }
    }
    let begun = Instant::now();
    for (_, lines, _) in &mut watched {
        for number in 0..LINES {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            assert_eq!(line, format!("{{\"type\":\"line\",\"n\":{number}}}\n"));
        }
    }
    assert!(begun.elapsed() < PATIENCE);
    let without = watched.iter().filter(|(watch, ..)| instances(watch.id()) == 0).count();
    assert!(without >= MORE, "{without} of {} followers have no instance", watched.len());
    for (watch, ..) in &mut watched {
        watch.kill().unwrap();
        watch.wait().unwrap();
    }
    until("nobody to be left", || stable.ostler.sweep().is_ok().then_some(()));
    stable.is_left();
}
