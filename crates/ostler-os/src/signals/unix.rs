//! Handlers that count, and ring a pipe.
//!
//! Not signalfd: it needs the signals blocked in every thread, and a blocked mask is inherited by children.
#![expect(unsafe_code, reason = "sigaction has no safe form")]

use super::Signal;
use crate::poll::{Pollable, Source, Waker};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

#[cfg(target_os = "linux")]
use libc::__errno_location as errno_location;
#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
use libc::__error as errno_location;

/// In the order of their counts.
const SIGNALS: [Signal; 5] =
    [Signal::Interrupt, Signal::Terminate, Signal::Hangup, Signal::WindowChange, Signal::Child];

/// How often each signal came and wasn't taken.
static COUNTS: [AtomicU32; SIGNALS.len()] = [const { AtomicU32::new(0) }; SIGNALS.len()];

/// What the handler rings; -1 for nothing.
static BELL: AtomicI32 = AtomicI32::new(-1);

/// A [`Receiver`] lives.
static INSTALLED: AtomicBool = AtomicBool::new(false);

pub(super) struct Receiver {
    bell: Waker,
    before: Vec<(Signal, libc::sigaction)>,
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.before.iter().map(|(signal, _)| signal)).finish()
    }
}

impl Receiver {
    pub(super) fn install(signals: &[Signal]) -> io::Result<Self> {
        if INSTALLED.swap(true, Ordering::AcqRel) {
            let error = "signals are received already";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, error));
        }
        let bell = match Waker::new() {
            Ok(bell) => bell,
            Err(error) => {
                INSTALLED.store(false, Ordering::Release);
                return Err(error);
            }
        };
        for count in &COUNTS {
            count.store(0, Ordering::Relaxed);
        }
        BELL.store(bell.rope().as_raw_fd(), Ordering::Release);
        let mut receiver = Self { bell, before: Vec::new() };
        for signal in signals {
            // On an error the drop of `receiver` takes everything back.
            receiver.before.push((*signal, set_handler(*signal)?));
        }
        Ok(receiver)
    }

    pub(super) fn take(&self, signal: Signal) -> u32 {
        // Clear before counting: what comes in between rings again.
        self.bell.clear();
        let count = COUNTS[signal as usize].swap(0, Ordering::AcqRel);
        if COUNTS.iter().any(|count| count.load(Ordering::Acquire) > 0) {
            self.bell.wake();
        }
        count
    }

    pub(super) fn source(&self) -> Source<'_> {
        self.bell.source()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        for (signal, before) in self.before.iter().rev() {
            // SAFETY: `before` is what the system gave us for this signal.
            unsafe { libc::sigaction(number(*signal), before, ptr::null_mut()) };
        }
        BELL.store(-1, Ordering::Release);
        INSTALLED.store(false, Ordering::Release);
    }
}

fn number(signal: Signal) -> libc::c_int {
    match signal {
        Signal::Interrupt => libc::SIGINT,
        Signal::Terminate => libc::SIGTERM,
        Signal::Hangup => libc::SIGHUP,
        Signal::WindowChange => libc::SIGWINCH,
        Signal::Child => libc::SIGCHLD,
    }
}

/// Gives what was set before.
fn set_handler(signal: Signal) -> io::Result<libc::sigaction> {
    let handler: extern "C" fn(libc::c_int) = handle;
    // SAFETY: zeros are valid to be filled; the handler does only what is allowed in one.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigemptyset(&raw mut action.sa_mask);
        let mut before: libc::sigaction = zeroed();
        if libc::sigaction(number(signal), &raw const action, &raw mut before) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(before)
    }
}

extern "C" fn handle(received: libc::c_int) {
    // SAFETY: the errno of this thread, which an interrupted call may be about to read.
    let errno = unsafe { *errno_location() };
    for signal in SIGNALS {
        if number(signal) == received {
            COUNTS[signal as usize].fetch_add(1, Ordering::AcqRel);
        }
    }
    let bell: RawFd = BELL.load(Ordering::Acquire);
    if bell >= 0 {
        // SAFETY: write(2) of one byte is allowed here. The pipe is non-blocking; full means rung.
        unsafe { libc::write(bell, [1_u8].as_ptr().cast(), 1) };
    }
    // SAFETY: as above.
    unsafe { *errno_location() = errno };
}

pub(super) fn ignore_sigpipe() {
    // SAFETY: zeros are valid to be filled; SIG_IGN is a valid handler.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        libc::sigaction(libc::SIGPIPE, ptr::null(), &raw mut action);
        if action.sa_sigaction == libc::SIG_DFL {
            action.sa_sigaction = libc::SIG_IGN;
            libc::sigaction(libc::SIGPIPE, &raw const action, ptr::null_mut());
        }
    }
}
