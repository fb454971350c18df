//! Homes that no session may live in: on another machine's disk, read-only, unreadable, written by a newer ostler. What
//! they lie on is mounted for the test, hence the name.

use super::desk::{Desk, Ran};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

/// A mounted file system, unmounted when dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn new(args: &[&str], at: &Path, stdin: Stdio) -> Self {
        fs::create_dir_all(at).unwrap();
        let mount = Command::new("mount").args(args).arg(at).stdin(stdin).output().unwrap();
        let said = String::from_utf8_lossy(&mount.stderr);
        assert!(mount.status.success(), "this test mounts, and so must be run as root: {said}");
        Self(at.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

/// Every verb that needs a home says the same.
#[track_caller]
fn refused(desk: &Desk, says: &[&str]) {
    for args in [&["ls"][..], &["run", "--lab", "--no-install", "hi"], &["doctor", "rebuild"]] {
        refused_by(&desk.run(args), says);
    }
}

#[track_caller]
fn refused_by(ran: &Ran, says: &[&str]) {
    assert_eq!((ran.status, ran.out.as_str()), (Some(10), ""), "{}", ran.all());
    for text in says {
        assert!(ran.err.contains(text), "{text:?} is not in: {}", ran.err);
    }
}

/// Answers what the kernel asks of a file system under FUSE that holds one empty folder (`linux/fuse.h`), until it is
/// unmounted.
fn serve(mut device: File) -> JoinHandle<()> {
    const INIT: u32 = 26;
    const GETATTR: u32 = 3;
    const STATFS: u32 = 17;
    std::thread::spawn(move || {
        let mut request = vec![0; 1 << 20];
        while let Ok(len) = device.read(&mut request) {
            let word = |at: usize| u32::from_ne_bytes(request[at..at + 4].try_into().unwrap());
            assert!(len >= 40, "a request has a header");
            let (opcode, unique) = (word(4), request[8..16].to_vec());
            let body: Vec<u32> = match opcode {
                // Version 7.31; nothing is asked for.
                INIT => [vec![7, 31, 0, 0, 0, 4096, 1], vec![0; 9]].concat(),
                // Valid for no time; then inode 1, and at its place a folder's mode and links.
                GETATTR => {
                    let mut words = vec![0; 26];
                    (words[4], words[19], words[20]) = (1, 0o040_700, 2);
                    words
                }
                STATFS => [vec![0; 10], vec![4096, 255, 4096, 0], vec![0; 6]].concat(),
                _ => Vec::new(),
            };
            // ENOSYS for the rest.
            let error: i32 = if body.is_empty() { -38 } else { 0 };
            let total = u32::try_from(16 + body.len() * 4).unwrap();
            let mut answer = total.to_ne_bytes().to_vec();
            answer.extend(error.to_ne_bytes());
            answer.extend(unique);
            answer.extend(body.iter().flat_map(|word| word.to_ne_bytes()));
            if device.write_all(&answer).is_err() {
                break;
            }
        }
    })
}

#[test]
fn on_a_network_file_system() {
    let desk = Desk::new();
    let device = File::options().read(true).write(true).open("/dev/fuse").expect("FUSE must be there");
    // Its type is all that tells it from a local one.
    let args = ["-i", "-t", "fuse.sshfs", "-o", "fd=0,rootmode=40000,user_id=0,group_id=0", "host:/home"];
    let mounted = Mounted::new(&args, &desk.home(), device.try_clone().unwrap().into());
    let server = serve(device);
    refused(&desk, &["$DESK/home is on a network file system (sshfs)", "set OSTLER_HOME to a local folder"]);
    drop(mounted);
    server.join().unwrap();
}

#[test]
fn on_a_read_only_disk() {
    let desk = Desk::new();
    let mounted = Mounted::new(&["-t", "tmpfs", "-o", "ro", "tmpfs"], &desk.home(), Stdio::null());
    refused(&desk, &["cannot write to $DESK/home", "make it writable for you or set OSTLER_HOME"]);
    drop(mounted);
}

#[test]
fn unreadable_or_somebody_elses() {
    const NOBODY: u32 = 65_534;
    // The program and everything on the way to it must be open to that user; the run's own temporary folder isn't.
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    open(folder.path(), 0o755);
    let at = |name: &str| folder.path().join(name);
    let program = at("ostler");
    fs::copy(env!("CARGO_BIN_EXE_ostler"), &program).unwrap();
    open(&program, 0o755);
    let as_nobody = |home: &Path| {
        let mut command = Command::new(&program);
        command.arg("ls").env_clear().env("OSTLER_HOME", home).uid(NOBODY).current_dir("/");
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes).unwrap().replace(&folder.path().display().to_string(), "$DESK")
        };
        Ran { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    };
    fs::create_dir(at("shut")).unwrap();
    std::os::unix::fs::chown(at("shut"), Some(NOBODY), None).unwrap();
    open(&at("shut"), 0o000);
    refused_by(&as_nobody(&at("shut")), &["cannot write to $DESK/shut", "set OSTLER_HOME to another folder"]);
    fs::create_dir(at("other")).unwrap();
    open(&at("other"), 0o755);
    refused_by(
        &as_nobody(&at("other")),
        &["$DESK/other belongs to another user", "set OSTLER_HOME to a folder of yours"],
    );
    // Below a folder that can't be entered nothing can even be looked for.
    open(&at("other"), 0o700);
    refused_by(&as_nobody(&at("other/below")), &["$DESK/other/below", "because: Permission denied"]);
}

#[test]
fn written_by_a_newer_ostler() {
    let desk = Desk::new();
    desk.run(&["ls"]).exits(0);
    let script = "import sqlite3, sys\n\
        db = sqlite3.connect(sys.argv[1])\n\
        db.execute(\"UPDATE meta SET value = 99 WHERE name = 'lowest_reader'\")\n\
        db.execute('PRAGMA user_version = 99')\n\
        db.commit()\n";
    let database = desk.home().join("ostler.db");
    let made = Command::new("python3").args(["-c", script]).arg(&database).status().unwrap();
    assert!(made.success(), "python3 makes the newer database");
    let before = fs::read(&database).unwrap();
    refused(&desk, &["was written by a newer ostler", "schema 99", "upgrade ostler"]);
    assert_eq!(fs::read(&database).unwrap(), before, "it is left as it was");
}
