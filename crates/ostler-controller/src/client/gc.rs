//! What nobody needs any more is deleted: closed sessions after a while, and what kills and crashes left.
//!
//! Never touched: a session with a live child, a held lock, a chore or a message without an end. A session that can
//! still be woken keeps its transcript by its own link (`controller/transcript.rs`), whatever Claude's clean-up does.

use super::close::PURGED;
use super::halt::wall;
use super::{ClientError, Decider, Ostler, worktree};
use ostler_core::ids::SessionId;
use ostler_store::Flags;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What is not a session may be one in the making, or a message that is being accepted, for this long.
const IN_THE_MAKING: Duration = Duration::from_secs(3600);

/// Something that was deleted, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rubbish {
    /// What it is.
    pub kind: RubbishKind,
    /// Where it is.
    pub path: PathBuf,
    /// The session that it is of, where it is known.
    pub session: Option<SessionId>,
    /// Its bytes on the disk.
    pub bytes: u64,
}

/// Kinds of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RubbishKind {
    /// A session that was closed long ago: folder and rows.
    Session,
    /// The folder of a purge that was cut off.
    Purged,
    /// The folder of a session that never came into being.
    HalfMade,
    /// The body of a message that was never accepted.
    Body,
    /// The worktree of a session that is not there, with nothing in it that would be lost.
    Worktree,
}

impl RubbishKind {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Purged => "purged",
            Self::HalfMade => "half_made",
            Self::Body => "body",
            Self::Worktree => "worktree",
        }
    }
}

impl Ostler {
    /// Deletes what nobody needs any more; closed sessions when they were closed longer ago than `older_than`. With
    /// `dry` it only looks.
    ///
    /// # Errors
    /// The home can't be listed, or something can't be deleted.
    pub fn gc(&self, older_than: Duration, dry: bool) -> Result<Vec<Rubbish>, ClientError> {
        let mut found = self.old_sessions(older_than)?;
        found.extend(self.leftovers()?);
        if !dry {
            for rubbish in &found {
                self.delete(rubbish)?;
            }
        }
        Ok(found)
    }

    fn old_sessions(&self, older_than: Duration) -> Result<Vec<Rubbish>, ClientError> {
        let chores: BTreeSet<_> = self.db().chores()?.into_iter().map(|(id, _)| id).collect();
        let older = i64::try_from(older_than.as_millis()).unwrap_or(i64::MAX);
        let mut found = Vec::new();
        for row in self.db().closed_sessions()? {
            let dir = self.home().session(row.id);
            let closed_at = Flags::read(&dir).map_or(row.created_at, |flags| flags.at);
            let is_old = wall().since(closed_at) >= older;
            let busy = chores.contains(&row.id)
                || self.is_attended(row.id)?
                || self.child_lives(row.id)
                || !self.db().pending_deliveries(row.id)?.is_empty();
            // A worktree that was kept has its story here.
            let has_tree = self.worktree_of(row.id).is_some_and(|made| Path::new(&made.path).exists());
            if is_old && !busy && !has_tree {
                found.push(rubbish(RubbishKind::Session, dir.path, Some(row.id)));
            }
        }
        Ok(found)
    }

    fn leftovers(&self) -> Result<Vec<Rubbish>, ClientError> {
        let mut found = Vec::new();
        for path in list(&self.home().sessions_dir()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with(PURGED) {
                found.push(rubbish(RubbishKind::Purged, path, None));
                continue;
            }
            let Ok(id) = name.parse::<SessionId>() else { continue };
            if self.db().session(id)?.is_some() {
                found.extend(self.orphaned_bodies(id)?);
            } else if is_aged(&path) && !self.is_attended(id)? && !path.join("gen").exists() {
                // With a journal it would be the session of a database that was lost.
                found.push(rubbish(RubbishKind::HalfMade, path, Some(id)));
            }
        }
        for path in list(&self.home().root().join("worktrees")) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Ok(id) = name.parse::<SessionId>() else { continue };
            let known = self.db().session(id)?.is_some() || self.home().session(id).path.exists();
            if !known && is_aged(&path) && worktree::found(&path).is_some_and(|w| worktree::check(&w).is_ok())
            {
                found.push(rubbish(RubbishKind::Worktree, path, Some(id)));
            }
        }
        Ok(found)
    }

    fn orphaned_bodies(&self, session: SessionId) -> Result<Vec<Rubbish>, ClientError> {
        let files = list(&self.home().session(session).deliveries_dir());
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let known: BTreeSet<String> =
            self.db().deliveries(session)?.into_iter().map(|row| row.id.to_string()).collect();
        let orphaned = files.into_iter().filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            !known.contains(&*name) && is_aged(path)
        });
        Ok(orphaned.map(|path| rubbish(RubbishKind::Body, path, Some(session))).collect())
    }

    fn delete(&self, rubbish: &Rubbish) -> Result<(), ClientError> {
        let path = &rubbish.path;
        let deleted = match (rubbish.kind, rubbish.session) {
            (RubbishKind::Session, Some(id)) => {
                self.refuse_inside(id, Decider::This)?;
                return self.purge(id);
            }
            (RubbishKind::Worktree, _) => {
                if let (Some(made), Some(session)) = (worktree::found(path), rubbish.session) {
                    worktree::remove(&made, false)
                        .map_err(|source| ClientError::Worktree { session, source })?;
                }
                return Ok(());
            }
            (RubbishKind::Body, _) => fs::remove_file(path),
            _ => fs::remove_dir_all(path),
        };
        match deleted {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(|source| ClientError::File {
                what: "delete",
                path: path.clone(),
                source: Box::new(source),
            }),
        }
    }
}

fn rubbish(kind: RubbishKind, path: PathBuf, session: Option<SessionId>) -> Rubbish {
    Rubbish { kind, bytes: size(&path), path, session }
}

/// Entries of a folder; none where there is no such folder.
fn list(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    all.sort();
    all
}

/// Nobody is making it right now.
fn is_aged(path: &Path) -> bool {
    let changed = fs::symlink_metadata(path).and_then(|m| m.modified());
    changed.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age >= IN_THE_MAKING))
}

/// The bytes of everything in it. A transcript has two names, and only one of them goes.
fn size(path: &Path) -> u64 {
    let Ok(meta) = fs::symlink_metadata(path) else { return 0 };
    if meta.is_dir() { list(path).iter().map(|inner| size(inner)).sum() } else { meta.len() }
}
