//! Git worktrees that ostler makes for sessions, and takes away again.
//!
//! They lie below the home, in `worktrees/<session>`, so that nothing appears in or beside anybody's repository; each
//! has a branch of its own. One is taken away only when nothing is lost by it, unless somebody says so: it is clean, and
//! every commit of it can be reached from another ref.

use ostler_core::ids::SessionId;
use ostler_core::spec::Worktree;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How many changed files are named.
const NAMED: usize = 5;

/// Where git would look instead of where it is told to.
const MISLEADING: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
];

/// Why a worktree can't be made, or is not taken away.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// There is no git.
    #[error("git can't be run, and a worktree needs it")]
    NoGit(#[source] io::Error),
    /// Not in a repository.
    #[error("{} is in no git repository", dir.display())]
    NotARepository {
        /// The directory.
        dir: PathBuf,
    },
    /// Nothing is checked out there.
    #[error("the repository at {} is bare: there is no directory to work in", dir.display())]
    Bare {
        /// The directory.
        dir: PathBuf,
    },
    /// Nothing to begin at.
    #[error("the repository at {} has no commit yet", dir.display())]
    NoCommit {
        /// The directory.
        dir: PathBuf,
    },
    /// The branch is there already.
    #[error("the branch {branch} exists already")]
    BranchExists {
        /// The branch.
        branch: String,
    },
    /// Not a possible name.
    #[error("{branch:?} is not a name that a branch can have")]
    BadBranch {
        /// The branch.
        branch: String,
    },
    /// The directory is not part of the commit.
    #[error("{} is not in the repository's last commit, so the worktree would not have it", dir.display())]
    NotCommitted {
        /// The directory.
        dir: PathBuf,
    },
    /// Work would be lost.
    #[error("the worktree {} has changes that were not committed: {}", path.display(), files.join(", "))]
    Dirty {
        /// The worktree.
        path: PathBuf,
        /// Some of the files.
        files: Vec<String>,
    },
    /// Commits would be lost, or forgotten.
    #[error("the branch {branch} of the worktree {} has commits that no other branch has", path.display())]
    Unmerged {
        /// The branch.
        branch: String,
        /// The worktree.
        path: PathBuf,
    },
    /// git did not do it.
    #[error("git could not {what}: {said}")]
    Git {
        /// What it was to do.
        what: &'static str,
        /// What it said.
        said: String,
    },
}

/// A worktree that was just made.
#[derive(Clone, Debug)]
pub struct Made {
    /// The worktree.
    pub worktree: Worktree,
    /// The directory in it that corresponds to the one it was made from.
    pub cwd: String,
}

/// Makes a worktree with a new branch for a session that is to work in `cwd`.
///
/// # Errors
/// Each reason is a variant. Nothing is left then.
pub fn make(home: &Path, id: SessionId, branch: Option<&str>, cwd: &Path) -> Result<Made, WorktreeError> {
    let dir = || cwd.to_owned();
    let inside = git(cwd, &["rev-parse", "--is-inside-work-tree", "--is-bare-repository"])?;
    match inside.as_deref().map(|text| text.split_whitespace().collect::<Vec<_>>()).as_deref() {
        Ok(["true", _]) => {}
        Ok([_, "true"]) => return Err(WorktreeError::Bare { dir: dir() }),
        _ => return Err(WorktreeError::NotARepository { dir: dir() }),
    }
    let top = said("find the top of the repository", git(cwd, &["rev-parse", "--show-toplevel"])?)?;
    let prefix = said("find the place in the repository", git(cwd, &["rev-parse", "--show-prefix"])?)?;
    let base = git(cwd, &["rev-parse", "--verify", "-q", "HEAD^{commit}"])?;
    let base = base.map_err(|_| WorktreeError::NoCommit { dir: dir() })?;
    let branch = branch.map_or_else(|| format!("ostler/{}", &id.to_string()[..8]), str::to_owned);
    if branch.starts_with('-') || git(cwd, &["check-ref-format", &format!("refs/heads/{branch}")])?.is_err() {
        return Err(WorktreeError::BadBranch { branch });
    }
    if git(cwd, &["show-ref", "--verify", "-q", &format!("refs/heads/{branch}")])?.is_ok() {
        return Err(WorktreeError::BranchExists { branch });
    }
    let place = home.join("worktrees");
    let failed = |what, error: &dyn std::error::Error| WorktreeError::Git { what, said: error.to_string() };
    ostler_os::durable::create_dir_private(&place).map_err(|e| failed("make room for the worktree", &e))?;
    let path = place.join(id.to_string());
    let text = path.to_string_lossy().into_owned();
    let worktree =
        Worktree { path: text.clone(), repository: top, branch: branch.clone(), base: base.clone() };
    let added = git(cwd, &["worktree", "add", "-q", "-b", &branch, &text, &base])?;
    if let Err(error) = said("add a worktree", added) {
        unmake(&worktree);
        return Err(error);
    }
    let cwd_inside = path.join(&prefix);
    if !cwd_inside.is_dir() {
        unmake(&worktree);
        return Err(WorktreeError::NotCommitted { dir: dir() });
    }
    let cwd = cwd_inside.to_string_lossy().trim_end_matches('/').to_owned();
    Ok(Made { worktree, cwd })
}

/// Takes back what was just made, for a session that could not be created.
pub fn unmake(worktree: &Worktree) {
    let repository = Path::new(&worktree.repository);
    // What is left then, `gc` finds.
    let _ = git(repository, &["worktree", "remove", "--force", &worktree.path]);
    let _ = git(repository, &["worktree", "prune"]);
    let own = git(repository, &["rev-parse", "-q", "--verify", &format!("refs/heads/{}", worktree.branch)]);
    if matches!(own, Ok(Ok(tip)) if tip == worktree.base) {
        let _ = git(repository, &["branch", "-D", &worktree.branch]);
    }
}

/// What a worktree is that nobody remembers; None when the folder is none.
#[must_use]
pub fn found(path: &Path) -> Option<Worktree> {
    let ask = |words: &[&str]| git(path, words).ok()?.ok();
    let common = PathBuf::from(ask(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?);
    let repository = if common.ends_with(".git") { common.parent()?.to_owned() } else { common };
    Some(Worktree {
        path: path.to_string_lossy().into_owned(),
        repository: repository.to_string_lossy().into_owned(),
        branch: ask(&["symbolic-ref", "--short", "-q", "HEAD"])?,
        base: String::new(),
    })
}

/// Nothing would be lost if it were taken away.
///
/// # Errors
/// [`WorktreeError::Dirty`], [`WorktreeError::Unmerged`], or git fails.
pub fn check(worktree: &Worktree) -> Result<(), WorktreeError> {
    let path = Path::new(&worktree.path);
    if !path.exists() {
        return Ok(());
    }
    let status = git(path, &["status", "--porcelain=v1", "--untracked-files=all"])?;
    let status = said("look at the worktree", status)?;
    if !status.is_empty() {
        let mut files: Vec<String> =
            status.lines().take(NAMED).map(|line| line.get(3..).unwrap_or(line).trim().to_owned()).collect();
        let more = status.lines().count() - files.len();
        files.extend((more > 0).then(|| format!("and {more} more")));
        return Err(WorktreeError::Dirty { path: path.to_owned(), files });
    }
    let head = said("find the worktree's commit", git(path, &["rev-parse", "HEAD"])?)?;
    if is_kept(worktree, &head)? && branch_is_kept(worktree)? {
        return Ok(());
    }
    Err(WorktreeError::Unmerged { branch: worktree.branch.clone(), path: path.to_owned() })
}

/// Takes it away, with everything in it if `discard`. Its branch goes only when every commit of it can be reached from
/// elsewhere. True: the branch is gone as well. Doing it again is harmless.
///
/// # Errors
/// As [`check`].
pub fn remove(worktree: &Worktree, discard: bool) -> Result<bool, WorktreeError> {
    let repository = Path::new(&worktree.repository);
    if Path::new(&worktree.path).exists() {
        let mut words = vec!["worktree", "remove"];
        if discard {
            words.extend(["--force", "--force"]);
        } else {
            check(worktree)?;
        }
        words.push(&worktree.path);
        said("remove the worktree", git(repository, &words)?)?;
    } else {
        said("forget the worktree", git(repository, &["worktree", "prune"])?)?;
    }
    let there = git(repository, &["show-ref", "--verify", "-q", &format!("refs/heads/{}", worktree.branch)])?;
    if there.is_err() {
        return Ok(true);
    }
    let kept = branch_is_kept(worktree)?;
    if kept {
        said("delete the branch", git(repository, &["branch", "-q", "-D", &worktree.branch])?)?;
    }
    Ok(kept)
}

/// Its branch has no commit of its own; true where there is no such branch any more.
fn branch_is_kept(worktree: &Worktree) -> Result<bool, WorktreeError> {
    let name = format!("refs/heads/{}", worktree.branch);
    match git(Path::new(&worktree.repository), &["rev-parse", "-q", "--verify", &name])? {
        Ok(tip) => is_kept(worktree, &tip),
        Err(_) => Ok(true),
    }
}

/// The commit was there before, or can be reached from another ref.
fn is_kept(worktree: &Worktree, commit: &str) -> Result<bool, WorktreeError> {
    if commit == worktree.base {
        return Ok(true);
    }
    let own = format!("refs/heads/{}", worktree.branch);
    let refs =
        git(Path::new(&worktree.repository), &["for-each-ref", "--format=%(refname)", "--contains", commit])?;
    let refs = said("look for other branches", refs)?;
    Ok(refs.lines().any(|name| name != own))
}

/// What git printed, without its last line break; what it said where it refused.
pub(super) type Said = Result<String, String>;

pub(super) fn git(dir: &Path, words: &[&str]) -> Result<Said, WorktreeError> {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(words).env("LC_ALL", "C").stdin(Stdio::null());
    for name in MISLEADING {
        command.env_remove(name);
    }
    let output = command.output().map_err(WorktreeError::NoGit)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\n').to_owned();
    Ok(if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
}

fn said(what: &'static str, answer: Said) -> Result<String, WorktreeError> {
    answer.map_err(|said| WorktreeError::Git { what, said })
}
