//! Several connections of one process to the store, beside other processes.

use super::desk::Desk;
use ostler_controller::client::Ostler;
use std::os::unix::fs::MetadataExt;

/// A process that closes any descriptor of a file loses all its locks on it (fcntl(2)), those of its other connections
/// too; whoever closes the store next then takes himself for the last one, and deletes the log that the others still use.
#[test]
fn a_second_connection_of_a_process_takes_no_lock_from_the_first() {
    let desk = Desk::new();
    let first = Ostler::open(&desk.home()).unwrap();
    let inode = std::fs::metadata(desk.home().join("ostler.db")).unwrap().ino();
    let locked = || {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(|line| line.contains(&format!(":{inode} ")))
    };
    assert!(first.db().last_change_seq().is_ok() && locked());
    let second = Ostler::open(&desk.home()).unwrap();
    assert!(locked(), "opening it once more took the lock");
    drop(second);
    assert!(locked(), "closing one of two took the lock");
}
