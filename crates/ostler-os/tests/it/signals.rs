use crate::part;
use crate::stage::{eventually, soon};
use ostler_os::poll::{Interest, Pollable, Poller};
use ostler_os::signals::{Signal, Signals};
use rustix::process::{Signal as Sent, getpid, kill_process};
use std::io::ErrorKind;
use std::process::Command;
use std::time::Instant;

#[test]
fn signals_are_received_counted_and_put_back() {
    part::play("signals::received");
}

fn is_ready(signals: &Signals, deadline: Instant) -> bool {
    let mut poller = Poller::new();
    poller.add(signals.source(), Interest::Read);
    poller.wait(Some(deadline)).unwrap() == 1
}

pub(crate) fn received() {
    let signals = Signals::install(&[Signal::Interrupt, Signal::Terminate, Signal::Child]).unwrap();
    let second = Signals::install(&[Signal::Hangup]).unwrap_err();
    assert_eq!(second.kind(), ErrorKind::AlreadyExists);
    assert!(!is_ready(&signals, Instant::now()));

    kill_process(getpid(), Sent::INT).unwrap();
    assert!(is_ready(&signals, soon()));
    assert_eq!(signals.take(Signal::Terminate), 0);
    assert!(is_ready(&signals, Instant::now()), "another kind was not taken");
    assert_eq!(signals.take(Signal::Interrupt), 1);
    assert!(!is_ready(&signals, Instant::now()));

    // Whoever sends both waits for neither to be handled, but both arrive.
    kill_process(getpid(), Sent::INT).unwrap();
    kill_process(getpid(), Sent::TERM).unwrap();
    for signal in [Signal::Terminate, Signal::Interrupt] {
        eventually(|| (signals.take(signal) == 1).then_some(()));
    }

    Command::new("true").status().unwrap();
    assert!(is_ready(&signals, soon()));
    assert_eq!(signals.take(Signal::Child), 1);
    drop(signals);
    let handlers = crate::stage::status_field(std::process::id(), "SigCgt");
    let caught = u64::from_str_radix(&handlers, 16).unwrap();
    for number in [libc::SIGINT, libc::SIGTERM, libc::SIGCHLD] {
        assert_eq!(caught & (1 << (number - 1)), 0, "signal {number} has its old meaning");
    }
    drop(Signals::install(&[Signal::Hangup]).unwrap());
}
