//! The paths inside a session folder and a generation folder. Nothing here reads a file's contents.

use ostler_core::ids::{DeliveryId, GenerationNo, SessionId};
use std::io;
use std::path::{Path, PathBuf};

/// The folder `sessions/<id>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionDir {
    /// Whose it is.
    pub id: SessionId,
    /// Where it is.
    pub path: PathBuf,
}

impl SessionDir {
    /// Launch spec and ids; see [`crate::SessionFile`].
    #[must_use]
    pub fn session_json(&self) -> PathBuf {
        self.path.join("session.json")
    }

    /// Whether it is stopped or closed, for a database that was lost; see [`crate::Flags`].
    #[must_use]
    pub fn flags(&self) -> PathBuf {
        self.path.join("flags.json")
    }

    /// What it is as a trained base, for a database that was lost; see [`crate::base_file`].
    #[must_use]
    pub fn base_json(&self) -> PathBuf {
        self.path.join("base.json")
    }

    /// Slots of the forks of the session that live, where somebody has limited them.
    #[must_use]
    pub fn fork_slots(&self) -> PathBuf {
        self.path.join("forks")
    }

    /// What a child of the session shows to speak for it.
    #[must_use]
    pub fn token(&self) -> PathBuf {
        self.path.join("token")
    }

    /// Held by the controller for as long as it is one.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// The controller's socket.
    #[must_use]
    pub fn control_sock(&self) -> PathBuf {
        self.path.join("control.sock")
    }

    /// Held by the keeper.
    #[must_use]
    pub fn keeper_lock(&self) -> PathBuf {
        self.path.join("keeper.lock")
    }

    /// The keeper's socket.
    #[must_use]
    pub fn keeper_sock(&self) -> PathBuf {
        self.path.join("keeper.sock")
    }

    /// Hard link to Claude's transcript.
    #[must_use]
    pub fn transcript(&self) -> PathBuf {
        self.path.join("transcript.jsonl")
    }

    /// What the keeper says.
    #[must_use]
    pub fn keeper_log(&self) -> PathBuf {
        self.path.join("keeper.log")
    }

    /// What the controller says.
    #[must_use]
    pub fn controller_log(&self) -> PathBuf {
        self.path.join("controller.log")
    }

    /// Bodies of deliveries that are too large for a row.
    #[must_use]
    pub fn deliveries_dir(&self) -> PathBuf {
        self.path.join("deliveries")
    }

    /// The body of one of them.
    #[must_use]
    pub fn delivery_body(&self, id: DeliveryId) -> PathBuf {
        self.deliveries_dir().join(id.to_string())
    }

    /// The folder of all generations.
    #[must_use]
    pub fn gen_root(&self) -> PathBuf {
        self.path.join("gen")
    }

    /// The folder of one generation; 0 is "outside any". It need not exist.
    #[must_use]
    pub fn generation(&self, no: GenerationNo) -> GenDir {
        GenDir { no, path: gen_dir(&self.gen_root(), no) }
    }

    /// The generations that have a folder, sorted, without 0. Empty when there is no session folder.
    ///
    /// # Errors
    /// The folder can't be listed.
    pub fn generations(&self) -> io::Result<Vec<GenerationNo>> {
        let listing = match std::fs::read_dir(self.gen_root()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listing => listing?,
        };
        let mut found = Vec::new();
        for entry in listing {
            found.extend(entry?.file_name().to_str().and_then(generation_no).filter(|no| *no >= 1));
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// The folder of a generation below the folder of all.
pub(crate) fn gen_dir(root: &Path, no: GenerationNo) -> PathBuf {
    root.join(format!("{no:04}"))
}

/// The number in a folder name, if it is spelled as [`gen_dir`] spells it.
pub(crate) fn generation_no(name: &str) -> Option<GenerationNo> {
    let no = name.parse().ok()?;
    (format!("{no:04}") == name).then_some(no)
}

/// The folder `gen/<no>` of one child process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenDir {
    /// Its number; 0 is "outside any generation" and holds only `ctl`.
    pub no: GenerationNo,
    /// Where it is.
    pub path: PathBuf,
}

impl GenDir {
    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Locked before the fork, inherited by the child: busy = alive.
    #[must_use]
    pub fn alive(&self) -> PathBuf {
        self.file("alive")
    }

    /// The FIFO that is the child's stdin.
    #[must_use]
    pub fn in_(&self) -> PathBuf {
        self.file("in")
    }

    /// The child's stdout, untouched.
    #[must_use]
    pub fn out(&self) -> PathBuf {
        self.file("out")
    }

    /// What ostler wrote to the child and what it decided.
    #[must_use]
    pub fn ctl(&self) -> PathBuf {
        self.file("ctl")
    }

    /// The child's stderr.
    #[must_use]
    pub fn err(&self) -> PathBuf {
        self.file("err")
    }

    /// What was started: argv, binary, pid, start time, boot id.
    #[must_use]
    pub fn spawn_json(&self) -> PathBuf {
        self.file("spawn.json")
    }

    /// Exit status and time, written by the keeper.
    #[must_use]
    pub fn exit(&self) -> PathBuf {
        self.file("exit")
    }
}
