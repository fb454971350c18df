//! The server: its configuration, its life, and what all its requests share.

mod answer;
mod listen;
mod messages;
mod problem;
mod request;
mod serve;
pub(crate) mod state;
mod stream;
mod whole;

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;
use tokio::net::TcpListener;

use crate::blocking::LabThread;
use crate::cache::{self, Cache, blocks::Blocks};
use crate::clock::Clock;
use crate::fault::Gates;
use crate::log::{Log, LoggedRequest};
use crate::price::bill::Charges;
use crate::script::Hold;
use crate::{Bill, Script, ScriptRef, Tokens};
use state::StateDir;

/// Places of scripts whose requests are counted.
const MAX_PLACES: usize = 100_000;
/// Scripts held.
const MAX_SCRIPTS: usize = 10_000;

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

/// A running lab, for async code. It serves on a thread of its own, so it never holds up the caller's runtime.
#[derive(Debug)]
pub struct Lab {
    thread: LabThread,
}

impl Lab {
    /// Starts a lab; it is listening when this returns.
    pub async fn start(config: LabConfig) -> Result<Lab, LabError> {
        // Short: a bind, and the state folder's few files.
        let started = tokio::task::spawn_blocking(move || LabThread::start(config)).await;
        Ok(Lab { thread: started.map_err(|_| LabError::Gone)?? })
    }

    /// What `ANTHROPIC_BASE_URL` must be for the default script.
    pub fn base_url(&self) -> String {
        self.thread.base_url()
    }

    /// What `ANTHROPIC_BASE_URL` must be for one script.
    pub fn url_for(&self, script: &ScriptRef) -> String {
        self.thread.url_for(script)
    }

    /// Adds a script, and keeps it in the state folder if there is one.
    pub fn add_script(&self, script: Script) -> Result<ScriptRef, LabError> {
        self.thread.add_script(script)
    }

    /// What all answered requests cost.
    pub fn bill(&self) -> Bill {
        self.thread.bill()
    }

    /// Every request so far that the log still holds, oldest first.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.thread.requests()
    }

    /// Opens a gate of `hold until NAME` or `pause until NAME`; it stays open.
    pub fn release(&self, gate: &str) {
        self.thread.release(gate);
    }

    /// Stops listening and drops all connections; the port is free when this returns.
    pub async fn shutdown(self) {
        // Fails only when the runtime is going down, and then the thread is stopped all the same.
        drop(tokio::task::spawn_blocking(move || drop(self)).await);
    }
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Shared {
    addr: SocketAddr,
    limits: Limits,
    clock: Clock,
    default_script: Arc<Script>,
    scripts: Mutex<BTreeMap<ScriptRef, Arc<Script>>>,
    cache: Mutex<Cache>,
    attempts: Mutex<HashMap<String, u64>>,
    state: Option<StateDir>,
    charges: Charges,
    pub(crate) log: Log,
    pub(crate) gates: Gates,
}

/// Binds and loads; the listener is to be given to [`serve_on`].
pub(crate) async fn open(config: LabConfig) -> Result<(Arc<Shared>, TcpListener), LabError> {
    if !config.addr.ip().is_loopback() {
        return Err(LabError::NotLoopback(config.addr));
    }
    let state = config.state_dir.as_deref().map(StateDir::open).transpose()?;
    let bound = |source| LabError::Bind { addr: config.addr, source };
    let listener = TcpListener::bind(config.addr).await.map_err(bound)?;
    let addr = listener.local_addr().map_err(bound)?;
    let cache = match &state {
        Some(state) => {
            let path = state.cache();
            cache::store::load(&path).map_err(|source| LabError::State { path, source })?
        }
        None => Cache::default(),
    };
    let log_path = state.as_ref().map(StateDir::requests);
    let log_file = log_path.as_deref().map(|path| (path, config.limits.log_file));
    let log = Log::new(config.limits.log_memory, log_file)
        .map_err(|source| LabError::State { path: log_path.clone().unwrap_or_default(), source })?;
    let mut scripts = config.scripts;
    if scripts.is_empty() {
        scripts.push(Script::builtin());
    }
    let default_script = Arc::new(scripts[0].clone());
    let shared = Arc::new(Shared {
        addr,
        limits: config.limits,
        clock: config.clock,
        default_script,
        scripts: Mutex::default(),
        cache: Mutex::new(cache),
        attempts: Mutex::default(),
        state,
        charges: Charges::default(),
        log,
        gates: Gates::new(),
    });
    for script in scripts {
        shared.add_script(script)?;
    }
    if let Some(state) = &shared.state {
        state.announce(&shared.base_url())?;
    }
    Ok((shared, listener))
}

/// Serves for as long as the future is polled.
pub(crate) async fn serve_on(shared: Arc<Shared>, listener: TcpListener) {
    let connections = shared.limits.connections;
    let app = axum::Router::new().fallback(move |request| serve::serve(Arc::clone(&shared), request));
    // It never returns: errors of single connections are its own.
    drop(axum::serve(listen::Listener::new(listener, connections), app).await);
}

impl Shared {
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn url_for(&self, script: &ScriptRef) -> String {
        format!("http://{}/s/{script}", self.addr)
    }

    pub(crate) fn add_script(&self, script: Script) -> Result<ScriptRef, LabError> {
        let reference = script.reference();
        if let Some(state) = &self.state {
            state.keep(&script)?;
        }
        let mut scripts = self.scripts();
        if scripts.len() == MAX_SCRIPTS {
            scripts.pop_first();
        }
        scripts.insert(reference.clone(), Arc::new(script));
        Ok(reference)
    }

    pub(crate) fn bill(&self) -> Bill {
        self.charges.bill()
    }

    /// Waits as a script says.
    async fn hold(&self, hold: &Hold) {
        match hold {
            Hold::For(time) => tokio::time::sleep(*time).await,
            Hold::Gate(name) => self.gates.passed(name).await,
            Hold::Forever => std::future::pending().await,
        }
    }

    /// Reads and writes the prompt cache, and keeps it on disk.
    fn charge_cache(&self, blocks: &Blocks) -> Tokens {
        let mut cache = lock(&self.cache);
        let tokens = cache.charge(blocks, self.clock.now_ms());
        if let Some(state) = &self.state {
            // A cache that can't be kept costs the next lab a miss, nothing more.
            drop(cache::store::save(&state.cache(), &cache));
        }
        tokens
    }

    /// How often this place of a script was asked before.
    fn attempt(&self, place: String) -> u64 {
        let mut attempts = lock(&self.attempts);
        if attempts.len() >= MAX_PLACES {
            attempts.clear();
        }
        let count = attempts.entry(place).or_default();
        *count += 1;
        *count - 1
    }

    fn scripts(&self) -> MutexGuard<'_, BTreeMap<ScriptRef, Arc<Script>>> {
        lock(&self.scripts)
    }
}

/// A panic while one of these locks was held left whole values behind.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
