//! No code for this platform yet.

use super::{Interest, Ready, Source};
use crate::Unsupported;
use std::io;
use std::marker::PhantomData;
use std::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(super) struct Handle<'a>(PhantomData<&'a ()>);

#[derive(Debug, Default)]
pub(super) struct Set<'a>(PhantomData<&'a ()>);

impl<'a> Set<'a> {
    pub(super) fn add(&mut self, _handle: Handle<'a>, _interest: Interest) -> usize {
        0
    }

    pub(super) fn wait(&mut self, _deadline: Option<Instant>) -> io::Result<usize> {
        Err(Unsupported { what: "waiting for several things" }.into())
    }

    pub(super) fn ready(&self, _index: usize) -> Ready {
        Ready::default()
    }
}

#[derive(Debug)]
pub(super) enum Bell {}

impl Bell {
    pub(super) fn new() -> io::Result<Self> {
        Err(Unsupported { what: "a waker" }.into())
    }

    pub(super) fn ring(&self) {
        match *self {}
    }

    pub(super) fn clear(&self) -> bool {
        match *self {}
    }

    pub(super) fn source(&self) -> Source<'_> {
        match *self {}
    }
}
