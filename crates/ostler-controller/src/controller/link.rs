//! The keeper, as seen from its controller.

use super::error::ControllerError;
use crate::keeper::wire;
use ostler_core::ctl::Exit;
use ostler_core::ids::GenerationNo;
use ostler_core::spec::Caps;
use ostler_os::ipc::Stream;
use ostler_os::poll::{Interest, Pollable, Poller};
use ostler_os::process::{self, Identity};
use ostler_store::{GenDir, SessionDir};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::{Duration, Instant};

/// For an answer of the keeper: it may be killing a tree for ten seconds.
const ANSWER: Duration = Duration::from_secs(20);

/// The connection to the keeper.
#[derive(Debug)]
pub(super) struct Keeper {
    stream: Stream,
    reader: wire::Reader,
    gone: bool,
}

/// What a kill came to.
#[derive(Clone, Debug)]
pub(super) struct Killed {
    pub(super) killed: u32,
    pub(super) proven: bool,
    pub(super) exit: Exit,
    /// Who outlived SIGKILL.
    pub(super) left: Vec<u32>,
    /// What its limits did, for people.
    pub(super) limits: Option<String>,
}

impl Keeper {
    pub(super) fn connect(dir: &SessionDir) -> Result<Self, ControllerError> {
        let stream = Stream::connect(&dir.keeper_sock())?;
        Ok(Self { stream, reader: wire::Reader::default(), gone: false })
    }

    pub(super) fn watch<'a>(&'a self, poller: &mut Poller<'a>) {
        poller.add(self.stream.source(), Interest::Read);
    }

    /// The keeper never speaks unasked: its stream is readable when it is dead.
    pub(super) fn is_gone(&mut self) -> bool {
        if !self.gone && !self.reader.fill(&mut self.stream).unwrap_or(false) {
            self.gone = true;
        }
        self.gone
    }

    /// Starts a child; the inner error is why it could not be started, for people.
    pub(super) fn spawn(
        &mut self,
        no: GenerationNo,
        files: &Path,
        caps: Caps,
        cwd: &Path,
        argv: &[OsString],
        env: &[(OsString, OsString)],
    ) -> Result<Result<(u32, u64), String>, ControllerError> {
        let mut fields: Vec<OsString> = vec!["spawn".into(), no.to_string().into()];
        let limit = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
        fields.extend([files.into(), limit(caps.pids.map(u64::from)).into(), limit(caps.memory).into()]);
        fields.extend([cwd.into(), argv.len().to_string().into()]);
        fields.extend(argv.iter().cloned());
        fields.extend(env.iter().map(|(name, value)| {
            let mut variable = name.clone();
            variable.push("=");
            variable.push(value);
            variable
        }));
        let reply = self.ask(&fields)?;
        match words(&reply).as_slice() {
            ["started", pid, ticks] => Ok(Ok((number(pid)?, number(ticks)?))),
            ["failed", why] => Ok(Err((*why).to_owned())),
            other => Err(not_understood(other)),
        }
    }

    /// Kills everything that is left of the session's tree, the controller excepted.
    pub(super) fn kill(
        &mut self,
        files: &GenDir,
        child: Option<&Identity>,
    ) -> Result<Killed, ControllerError> {
        self.kill_by("kill", files, child)
    }

    /// The same for what a dead child left behind.
    pub(super) fn bury(&mut self, files: &GenDir) -> Result<Killed, ControllerError> {
        self.kill_by("bury", files, None)
    }

    /// `child`: for a keeper that isn't its parent.
    fn kill_by(
        &mut self,
        how: &str,
        files: &GenDir,
        child: Option<&Identity>,
    ) -> Result<Killed, ControllerError> {
        let mut fields: Vec<OsString> =
            vec![how.into(), files.no.to_string().into(), files.path.clone().into()];
        let parts = |id: &Identity| [id.pid.to_string(), id.start_ticks.to_string(), id.boot_id.clone()];
        fields.extend(child.into_iter().flat_map(parts).map(OsString::from));
        let reply = self.ask(&fields)?;
        match words(&reply).as_slice() {
            ["killed", killed, proven, exit, left, limits, ..] => Ok(Killed {
                killed: number(killed)?,
                proven: *proven == "1",
                exit: exit_of(exit),
                left: left.split_ascii_whitespace().map(number).collect::<Result<_, _>>()?,
                limits: (!limits.is_empty()).then(|| (*limits).to_owned()),
            }),
            other => Err(not_understood(other)),
        }
    }

    /// The child of that generation, if this keeper is its parent.
    pub(super) fn child(&mut self, no: GenerationNo) -> Result<Option<Identity>, ControllerError> {
        let reply = self.ask(&["child"])?;
        match words(&reply).as_slice() {
            ["child", generation, pid, ticks, _] if number::<GenerationNo>(generation)? == no => {
                let boot_id = process::boot_id()?;
                Ok(Some(Identity { pid: number(pid)?, start_ticks: number(ticks)?, boot_id }))
            }
            _ => Ok(None),
        }
    }

    fn ask<S: AsRef<OsStr>>(&mut self, fields: &[S]) -> Result<Vec<OsString>, ControllerError> {
        let deadline = Instant::now() + ANSWER;
        wire::send(&mut self.stream, &wire::encode(fields)?, deadline)?;
        loop {
            let open = self.reader.fill(&mut self.stream)?;
            if let Some(reply) = self.reader.next()? {
                return Ok(reply);
            }
            if !open {
                self.gone = true;
                return Err(ControllerError::Keeper { what: "it is gone".to_owned() });
            }
            let mut poller = Poller::new();
            poller.add(self.stream.source(), Interest::Read);
            if poller.wait(Some(deadline))? == 0 {
                return Err(ControllerError::Keeper { what: "it does not answer".to_owned() });
            }
        }
    }
}

fn words(fields: &[OsString]) -> Vec<&str> {
    fields.iter().map(|f| f.to_str().unwrap_or_default()).collect()
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, ControllerError> {
    text.parse().map_err(|_| not_understood(&[text]))
}

fn not_understood(words: &[&str]) -> ControllerError {
    ControllerError::Keeper { what: format!("its answer is not understood: {}", words.join(" ")) }
}

fn exit_of(words: &str) -> Exit {
    match words.split_once(' ') {
        Some(("code", n)) => n.parse().map_or(Exit::Unknown, Exit::Code),
        Some(("signal", n)) => n.parse().map_or(Exit::Unknown, Exit::Signal),
        _ => Exit::Unknown,
    }
}
