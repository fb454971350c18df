//! The server: its configuration, its life, and what all its requests share.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::clock::Clock;
use crate::fault::Gates;
use crate::log::{Log, LoggedRequest};
use crate::{Bill, Script, ScriptRef};

/// How a lab is set up. The default serves [`Script::builtin`] on a free port and keeps nothing on disk.
#[derive(Debug, Clone)]
pub struct LabConfig {
    /// Where to listen; must be loopback. Port 0 takes a free one.
    pub addr: SocketAddr,
    /// The scripts it serves at once; the first is the default one. Empty: [`Script::builtin`].
    pub scripts: Vec<Script>,
    /// Where cache entries, retry counts, scripts and the request log are kept, so that the next lab goes on from them.
    pub state_dir: Option<PathBuf>,
    /// Decides when cache entries expire.
    pub clock: Clock,
    /// Bounds.
    pub limits: Limits,
}

impl Default for LabConfig {
    fn default() -> Self {
        Self {
            addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            scripts: Vec::new(),
            state_dir: None,
            clock: Clock::System,
            limits: Limits::default(),
        }
    }
}

/// Bounds of a lab.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Largest request body, in bytes.
    pub body: usize,
    /// Connections at a time; more wait.
    pub connections: usize,
    /// Bytes of request bodies held in memory; the oldest bodies are dropped first.
    pub log_memory: usize,
    /// Bytes of the request log on disk before it is rotated (one older file is kept).
    pub log_file: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body: 64 << 20, connections: 256, log_memory: 256 << 20, log_file: 64 << 20 }
    }
}

/// Why a lab could not be started or used.
#[derive(Debug, Error)]
pub enum LabError {
    /// The address is not a loopback address.
    #[error("the lab listens on loopback only, not on {0}; use 127.0.0.1 or [::1]")]
    NotLoopback(SocketAddr),
    /// Binding failed.
    #[error("listen on {addr}")]
    Bind {
        /// The address.
        addr: SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The state folder can't be read or written.
    #[error("lab state in {path}")]
    State {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Another lab uses the state folder.
    #[error("another lab is running on {path}; join it or give this one another folder")]
    StateInUse {
        /// The folder.
        path: PathBuf,
    },
    /// A thread or a runtime could not be made.
    #[error("start the lab's thread")]
    Thread(#[source] std::io::Error),
    /// The lab's thread ended before it listened.
    #[error("the lab's thread ended before it listened")]
    Gone,
}

/// A running lab.
#[derive(Debug)]
pub struct Lab {
    shared: Arc<Shared>,
}

impl Lab {
    /// Starts a lab; it is listening when this returns.
    pub async fn start(_config: LabConfig) -> Result<Lab, LabError> {
        todo!()
    }

    /// What `ANTHROPIC_BASE_URL` must be for the default script.
    pub fn base_url(&self) -> String {
        self.shared.base_url()
    }

    /// What `ANTHROPIC_BASE_URL` must be for one script.
    pub fn url_for(&self, script: &ScriptRef) -> String {
        self.shared.url_for(script)
    }

    /// Adds a script, and keeps it in the state folder if there is one.
    pub fn add_script(&self, script: Script) -> Result<ScriptRef, LabError> {
        self.shared.add_script(script)
    }

    /// What all answered requests cost.
    pub fn bill(&self) -> Bill {
        self.shared.bill()
    }

    /// Every request so far that the log still holds, oldest first.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.shared.log.requests()
    }

    /// Opens a gate of `hold until NAME` or `pause until NAME`; it stays open.
    pub fn release(&self, gate: &str) {
        self.shared.gates.open(gate);
    }

    /// Stops listening, drops all connections, and returns when the port is free.
    pub async fn shutdown(self) {
        todo!()
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) addr: SocketAddr,
    pub(crate) log: Log,
    pub(crate) gates: Gates,
}

impl Shared {
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn url_for(&self, script: &ScriptRef) -> String {
        format!("http://{}/s/{script}", self.addr)
    }

    pub(crate) fn add_script(&self, _script: Script) -> Result<ScriptRef, LabError> {
        todo!()
    }

    pub(crate) fn bill(&self) -> Bill {
        todo!()
    }
}
