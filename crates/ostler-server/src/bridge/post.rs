//! Who serves a directory: at most one bridge of a home for each.
//!
//! The server holds a lock for as long as it lives, and notes beside it where it can be reached. So whether it runs is what
//! the system says, never what a file says that a killed server left behind.

use ostler_os::lockfile::{self, Lock};
use ostler_os::process::PidFd;
use ostler_os::{PathError, durable};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Whoever only looks holds the lock for a moment.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a server may take to end by itself: more than its connections may.
const END: Duration = Duration::from_secs(10);
/// And how long the system may take to end it.
const KILL: Duration = Duration::from_secs(5);

/// The place of one directory's bridge.
#[derive(Clone, Debug)]
pub struct BridgePost {
    folder: PathBuf,
    name: String,
}

/// A bridge that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// The directory that it serves.
    pub cwd: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// No key is asked for.
    pub home_mode: bool,
    /// How many tasks run at once.
    pub max_concurrent: u32,
    /// Ostler's version.
    pub version: String,
}

/// Why a post can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// Another server has it.
    #[error("a bridge for {cwd} runs already: process {}, {}", holder.pid, holder.address)]
    Taken {
        /// The directory.
        cwd: String,
        /// Who has it.
        holder: Box<Holder>,
    },
    /// Another server has it, and has not said yet who it is.
    #[error("a bridge for {cwd} is just starting or ending")]
    Busy {
        /// The directory.
        cwd: String,
    },
    /// Its files can't be used.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Its note can't be written.
    #[error("cannot note who serves the bridge")]
    Note(#[source] io::Error),
    /// The server can't be ended.
    #[error("process {pid} can't be ended")]
    End {
        /// The server.
        pid: u32,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl BridgePost {
    /// The post of a directory, as it is spelled.
    #[must_use]
    pub fn of(home: &Path, cwd: &str) -> Self {
        let digest = Sha256::digest(cwd.as_bytes());
        let name = digest.iter().take(8).map(|b| format!("{b:02x}")).collect();
        Self { folder: home.join("bridge"), name }
    }

    fn lock_path(&self) -> PathBuf {
        self.folder.join(format!("{}.lock", self.name))
    }

    /// Where a detached server's words go.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }

    /// Makes the folder for both.
    ///
    /// # Errors
    /// It can't be made.
    pub fn prepare(&self) -> Result<(), PostError> {
        Ok(durable::create_dir_private(&self.folder)?)
    }

    /// Takes the post. It is held until the lock is dropped.
    ///
    /// # Errors
    /// [`PostError::Taken`]; the folder can't be written.
    pub fn take(&self, holder: &Holder) -> Result<Lock, PostError> {
        self.prepare()?;
        let Some(lock) = lockfile::lock_within(&self.lock_path(), PATIENCE)? else {
            let cwd = holder.cwd.clone();
            return Err(match self.holder()? {
                Some(holder) => PostError::Taken { cwd, holder: Box::new(holder) },
                None => PostError::Busy { cwd },
            });
        };
        Self::note(&lock, holder)?;
        Ok(lock)
    }

    /// Notes where the holder of the post is reached.
    ///
    /// # Errors
    /// It can't be written.
    pub fn note(lock: &Lock, holder: &Holder) -> Result<(), PostError> {
        let note = serde_json::to_vec(holder).map_err(|e| PostError::Note(e.into()))?;
        lock.set_note(&note).map_err(PostError::Note)
    }

    /// Who serves the directory now; None: nobody does.
    ///
    /// # Errors
    /// The lock can't be looked at.
    pub fn holder(&self) -> Result<Option<Holder>, PostError> {
        let path = self.lock_path();
        if !path.exists() || lockfile::try_lock_shared(&path)?.is_some() {
            return Ok(None);
        }
        let note = lockfile::note(&path).map_err(PostError::Note)?;
        // A note that is half written is no news yet.
        Ok(serde_json::from_slice(&note).ok())
    }

    /// Ends the server that has the post: asks it, and kills it when it doesn't leave. Comes back when it is gone; None:
    /// there was none.
    ///
    /// # Errors
    /// It can't be asked, or doesn't die.
    pub fn vacate(&self) -> Result<Option<Holder>, PostError> {
        let Some(holder) = self.holder()? else { return Ok(None) };
        let pid = holder.pid;
        let fail = |source| PostError::End { pid, source };
        // Opened first, looked at again behind it: so it is the one that holds the lock, whatever pids do.
        if let Some(server) = PidFd::open(pid).map_err(fail)?
            && self.holder()?.as_ref() == Some(&holder)
        {
            server.terminate().map_err(fail)?;
            if !server.wait(Instant::now() + END).map_err(fail)? {
                server.kill().map_err(fail)?;
                if !server.wait(Instant::now() + KILL).map_err(fail)? {
                    return Err(fail(io::ErrorKind::TimedOut.into()));
                }
            }
        }
        Ok(Some(holder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder() -> Holder {
        Holder {
            pid: std::process::id(),
            cwd: "/srv/app".to_owned(),
            address: ([127, 0, 0, 1], 9455).into(),
            home_mode: false,
            max_concurrent: 3,
            version: "0".to_owned(),
        }
    }

    #[test]
    fn one_bridge_a_directory_and_a_dead_one_is_none() {
        let home = tempfile::tempdir().expect("a folder");
        let post = BridgePost::of(home.path(), "/srv/app");
        assert_eq!(post.holder().expect("it can be looked at"), None);
        let lock = post.take(&holder()).expect("it is free");
        assert_eq!(post.holder().expect("it can be looked at"), Some(holder()));
        let second = post.take(&holder()).expect_err("it is taken").to_string();
        assert!(second.contains("127.0.0.1:9455"), "{second}");
        let other = BridgePost::of(home.path(), "/srv/app/");
        drop(other.take(&holder()).expect("another spelling is another place"));
        drop(lock);
        assert_eq!(post.holder().expect("it can be looked at"), None, "the note alone says nothing");
        assert_eq!(post.vacate().expect("nothing to do"), None);
    }
}
