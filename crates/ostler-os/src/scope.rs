//! Scopes: control groups, each around everything that one child ever starts.
//!
//! Nothing that a process does to its session, group, parent or environment takes it out of its control group, so a
//! scope finds what no walk over the process table can: a daemon with an empty environment whose every ancestor is
//! dead. Where no group can be made there is no scope, and callers go on without one.
//!
//! A scope is a directory in each hierarchy that is used: one to find its members (version 2 where it can be, else
//! `pids` of version 1), and more where limits were asked for that only another hierarchy can hold. Who makes one writes
//! [`Scope::text`] down first, so that whoever comes after a crash finds it.

#[cfg_attr(target_os = "linux", path = "scope/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "scope/unsupported.rs")]
mod platform;

use crate::PathError;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// How the directories of scopes begin; what ostler calls them besides is its own affair.
const PREFIX: &str = "ostler-gen-";

/// What the processes of a scope may use together; None is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// Processes and threads.
    pub pids: Option<u32>,
    /// Bytes of memory.
    pub memory: Option<u64>,
}

impl Caps {
    /// Nothing is limited.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.pids.is_none() && self.memory.is_none()
    }
}

/// Which hierarchies may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hierarchies {
    /// Whatever is there: version 2 first.
    #[default]
    Any,
    /// Version 1 only.
    One,
    /// None at all.
    Without,
}

/// The version of a hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A directory of a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Dir {
    version: Version,
    path: PathBuf,
}

/// A control group, made or yet to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The first one is where its members are found.
    dirs: Vec<Dir>,
    /// A child was started in it.
    joined: bool,
}

/// A way into a control group, open.
#[derive(Debug)]
pub(crate) struct Door {
    /// A process that writes `0` to it is inside.
    pub(crate) procs: File,
    /// The group's directory, where a new process can begin in it (version 2).
    pub(crate) group: Option<File>,
}

/// How often the limits of a scope were met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Processes and threads that were not started.
    pub pids: u64,
    /// Processes that were killed for want of memory.
    pub memory: u64,
}

/// Why there is no scope where there must be one.
#[derive(Debug, thiserror::Error)]
pub enum ScopeError {
    /// The machine can't hold anybody to that.
    #[error(
        "this machine gives no control group that could limit {what}; start the session without that limit, or where a \
         group is delegated to this user (systemd: Delegate=yes)"
    )]
    Cap {
        /// `memory`, or `the number of processes`.
        what: &'static str,
    },
    /// A file of a group could not be used.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl Scope {
    /// Decides where a scope of that name can be made, beside the group that this process is in; None where none can
    /// be. Makes nothing.
    ///
    /// # Errors
    /// [`ScopeError::Cap`]: a limit was asked for that can't be held here.
    pub fn plan(name: &str, caps: &Caps, which: Hierarchies) -> Result<Option<Self>, ScopeError> {
        let dirs = platform::plan(&format!("{PREFIX}{name}"), caps, which)?;
        Ok((!dirs.is_empty()).then_some(Self { dirs, joined: false }))
    }

    /// Makes it, with its limits. One that is there already is used.
    ///
    /// # Errors
    /// A directory could not be made, or a limit not be set.
    pub fn make(&self, caps: &Caps) -> Result<(), ScopeError> {
        platform::make(&self.dirs, caps)
    }

    /// What to write down before it is made, and again when [`Self::is_joined`].
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for dir in &self.dirs {
            let version = if dir.version == Version::Two { "v2" } else { "v1" };
            text.push_str(&format!("{version} {}\n", dir.path.display()));
        }
        if self.joined {
            text.push_str("joined\n");
        }
        text
    }

    /// Reads what [`Self::text`] gave. None when there is nothing in it; a path that is no scope's is passed over, so
    /// that a damaged file leads nobody to another group.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let dir = |line: &str| {
            let (version, path) = line.split_once(' ')?;
            let version = match version {
                "v1" => Version::One,
                "v2" => Version::Two,
                _ => return None,
            };
            let path = PathBuf::from(path);
            let ours = path.is_absolute() && path.file_name()?.to_str()?.starts_with(PREFIX);
            ours.then_some(Dir { version, path })
        };
        let dirs: Vec<Dir> = text.lines().filter_map(dir).collect();
        let joined = text.lines().any(|line| line == "joined");
        (!dirs.is_empty()).then_some(Self { dirs, joined })
    }

    /// The ways into all its groups.
    pub(crate) fn doors(&self) -> Result<Vec<Door>, PathError> {
        self.dirs.iter().map(platform::door).collect()
    }

    /// A child was started in it.
    pub fn set_joined(&mut self) {
        self.joined = true;
    }

    /// A child was started in it, so that all that it started is there too.
    #[must_use]
    pub const fn is_joined(&self) -> bool {
        self.joined
    }

    /// Who is in it, groups below included. Empty when it is gone.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn members(&self) -> io::Result<Vec<u32>> {
        self.dirs.first().map_or_else(|| Ok(Vec::new()), |dir| platform::members(&dir.path))
    }

    /// From here on nobody in it can start another process, where the hierarchy has a way to say so. Best effort.
    pub fn seal(&self) {
        for dir in &self.dirs {
            platform::seal(&dir.path);
        }
    }

    /// Kills all who are in it at one instant, where the kernel can do that. Best effort.
    pub fn kill(&self) {
        for dir in self.dirs.iter().filter(|dir| dir.version == Version::Two) {
            platform::kill(&dir.path);
        }
    }

    /// How often its limits were met.
    #[must_use]
    pub fn met(&self) -> Met {
        let mut met = Met::default();
        for dir in &self.dirs {
            platform::met(dir, &mut met);
        }
        met
    }

    /// Removes it, groups below included, unless somebody is inside. True when nothing of it is left.
    pub fn remove(&self) -> bool {
        let left: Vec<&Dir> = self.dirs.iter().filter(|dir| !platform::remove(&dir.path)).collect();
        left.is_empty()
    }
}

/// Takes this process out of any scope that it is in, to the group which that scope was made beside: a session that is
/// started from inside another one does not end with it. Best effort: where that is not allowed it stays.
pub fn leave() {
    for door in platform::ways_out() {
        platform::step_through(&door);
    }
}

/// The ways out of every scope that this process is in.
pub(crate) fn exits() -> Vec<Door> {
    platform::ways_out().iter().filter_map(|dir| platform::door(dir).ok()).collect()
}

/// A directory that no scope is.
#[must_use]
pub fn is_scope(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(PREFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_down_is_read_again() {
        let dir = |version, path: &str| Dir { version, path: path.into() };
        let dirs = vec![dir(Version::Two, "/a b/ostler-gen-x"), dir(Version::One, "/c/ostler-gen-x")];
        for joined in [false, true] {
            let scope = Scope { dirs: dirs.clone(), joined };
            assert_eq!(Scope::read(&scope.text()), Some(scope));
        }
    }

    #[test]
    fn a_damaged_file_leads_to_no_other_group() {
        assert_eq!(
            Scope::read("v2 /sys/fs/cgroup/user.slice\nv1 ostler-gen-x\nv3 /a/ostler-gen-x\njoined\n"),
            None
        );
    }
}
