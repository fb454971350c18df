//! A lab on a thread of its own, for code that has no async runtime: synchronous tests and the CLI.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::api::{self, LabConfig, LabError, Shared};
use crate::{Bill, LoggedRequest, ScriptRef};

/// A running lab; dropping it stops the server and frees its port.
#[derive(Debug)]
pub struct LabThread {
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LabThread {
    /// Starts the lab; it is listening when this returns.
    pub fn start(config: LabConfig) -> Result<LabThread, LabError> {
        let (started, when_started) = std::sync::mpsc::channel();
        let (stop, when_stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("lab".to_owned())
            .spawn(move || run(config, &started, when_stopped))
            .map_err(LabError::Thread)?;
        match when_started.recv() {
            Ok(Ok(shared)) => Ok(LabThread { shared, stop: Some(stop), thread: Some(thread) }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(LabError::Gone),
        }
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
    pub fn add_script(&self, script: crate::Script) -> Result<ScriptRef, LabError> {
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

    /// Waits until a request (an earlier one counts too) satisfies `wanted`; none in time: `None`.
    pub fn wait_for_request(
        &self,
        wanted: impl Fn(&LoggedRequest) -> bool,
        within: Duration,
    ) -> Option<LoggedRequest> {
        self.shared.log.wait_for(&wanted, within)
    }

    /// Opens a gate of `hold until NAME` or `pause until NAME`; it stays open.
    pub fn release(&self, gate: &str) {
        self.shared.gates.open(gate);
    }
}

impl Drop for LabThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in the server thread was already printed there.
            drop(thread.join());
        }
    }
}

type Started = std::sync::mpsc::Sender<Result<Arc<Shared>, LabError>>;

fn run(config: LabConfig, started: &Started, when_stopped: oneshot::Receiver<()>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            drop(started.send(Err(LabError::Thread(error))));
            return;
        }
    };
    runtime.block_on(async {
        match api::open(config).await {
            Ok((shared, listener)) => {
                drop(started.send(Ok(Arc::clone(&shared))));
                tokio::select! {
                    () = api::serve_on(shared, listener) => {}
                    // Ends by the sender's drop.
                    _ = when_stopped => {}
                }
            }
            Err(error) => drop(started.send(Err(error))),
        }
    });
    // The runtime's drop ends every connection.
}
