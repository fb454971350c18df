//! The bridge contract, for clients of older programs that know a task and nothing else (docs/bridge.md).
//!
//! A task is one message for one session, and everything of it is kept where sessions are kept: a row in the store's queue,
//! then a delivery, then a journal. So a server may be killed at any instant; a task that waits still waits for the next
//! one, and one that runs goes on.
//!
//! | file | subject |
//! | --- | --- |
//! | `path.rs` | what a request means, by its path |
//! | `auth.rs` `key.rs` `home_mode.rs` | the key, where it stands, and when none is asked for |
//! | `body.rs` `answer.rs` `record.rs` | what is read and written, byte for byte |
//! | `port.rs` `post.rs` | which port, and who serves a directory |
//! | `entry.rs` | the order of checks |
//! | `tasks.rs` | create, cancel, permission, output, status |
//! | `dispatch.rs` `attend.rs` | the queue: beginning tasks, watching them, at most so many at once |
//! | `request.rs` | what a client asked for, as a launch spec and a message |
//! | `ending.rs` | what became of a task |
//! | `mapping.rs` `reader.rs` `stream.rs` | from the journal to what a client reads |
//! | `pulse.rs` | when to look again |

mod answer;
mod attend;
mod auth;
mod body;
mod dispatch;
mod ending;
mod entry;
mod home_mode;
mod key;
mod mapping;
mod path;
mod port;
mod post;
mod pulse;
mod reader;
mod record;
mod request;
mod stream;
mod tasks;

pub(crate) use dispatch::dispatch;
pub(crate) use entry::{entry, fallback};
pub use home_mode::is_home_mode;
pub use key::{BridgeKey, KeyError};
pub use port::port_of;
pub use post::{BridgePost, Holder, PostError};

use crate::app::App;
use crate::connection::Client;
use crate::launch::NewSpec;
use pulse::Pulse;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tokio::sync::Notify;

/// The most tasks that may run at once: each is waited for by a thread.
pub const MAX_CONCURRENT: u32 = 32;

/// What a bridge is to be.
#[derive(Clone, Debug)]
pub struct BridgeOptions {
    /// Where its clients look for it.
    pub listen: SocketAddr,
    /// Its working directory, as it is spelled: the place of its tasks.
    pub cwd: String,
    /// The key that its clients have.
    pub key: BridgeKey,
    /// No key is asked for.
    pub home_mode: bool,
    /// How many tasks run at once.
    pub max_concurrent: u32,
    /// Directories beside `cwd` in which, and below which, tasks may work.
    pub allow: Vec<PathBuf>,
    /// Everything about a task's session that the task itself doesn't say.
    pub spec: NewSpec,
}

/// One bridge, as its requests see it. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Bridge {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    app: App,
    options: BridgeOptions,
    /// The socket of its own, with the port that it really has.
    listens: SocketAddr,
    pulse: Pulse,
    /// The queue may go on.
    wake: Notify,
    /// Numbers tasks.
    count: AtomicU64,
    partial: reader::Partials,
}

impl Bridge {
    pub(crate) fn new(app: App, options: BridgeOptions, listens: SocketAddr) -> Self {
        let shared = Shared {
            app,
            options,
            listens,
            pulse: Pulse::default(),
            wake: Notify::new(),
            count: AtomicU64::new(1),
            partial: reader::Partials::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    fn app(&self) -> &App {
        &self.shared.app
    }

    fn options(&self) -> &BridgeOptions {
        &self.shared.options
    }

    /// Something of a task changed: whoever waits looks again.
    fn touched(&self) {
        self.shared.wake.notify_one();
        self.shared.pulse.beat();
    }

    /// A request came to the bridge's own socket.
    fn is_own(&self, client: Client) -> bool {
        matches!(client, Client::Tcp { to, .. } if to == self.shared.listens)
    }
}
