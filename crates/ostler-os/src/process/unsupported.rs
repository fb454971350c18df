//! No code for this platform yet.

use super::Identity;
use crate::Unsupported;
use crate::poll::Source;
use std::ffi::OsString;
use std::io;

#[derive(Debug)]
pub(super) enum Handle {}

impl Handle {
    pub(super) fn open(_pid: u32) -> io::Result<Option<Self>> {
        Err(Unsupported { what: "a handle on a process" }.into())
    }

    pub(super) fn kill(&self) -> io::Result<bool> {
        match *self {}
    }

    pub(super) fn terminate(&self) -> io::Result<bool> {
        match *self {}
    }

    pub(super) fn pause(&self) -> io::Result<bool> {
        match *self {}
    }

    pub(super) fn go_on(&self) -> io::Result<bool> {
        match *self {}
    }

    pub(super) fn source(&self) -> Source<'_> {
        match *self {}
    }
}

pub(super) fn boot_id() -> io::Result<String> {
    Err(Unsupported { what: "the boot id" }.into())
}

pub(super) fn identity_of(_pid: u32) -> io::Result<Option<Identity>> {
    Err(Unsupported { what: "a process's start time" }.into())
}

pub(super) fn command_line(_pid: u32) -> io::Result<Option<Vec<OsString>>> {
    Err(Unsupported { what: "another process's arguments" }.into())
}

pub(super) fn kill_self() {}

pub(super) fn kill_parent() {}
