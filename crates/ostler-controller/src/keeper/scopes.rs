//! The scope of each generation: made before its child, written down in `gen/N/scope` before it is made, removed when
//! it is empty.
//!
//! The file is what a keeper finds that comes after a crash: with it the whole tree of a child is found whose keeper
//! and every ancestor are dead.

use super::log;
use ostler_os::scope::{Caps, Hierarchies, Met, Scope};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub(crate) fn file(dir: &Path) -> PathBuf {
    dir.join("scope")
}

/// Makes the scope of a generation; None where the machine has none to give and nothing was asked for that needs one.
pub(super) fn make(
    session: &OsStr,
    generation: &OsStr,
    dir: &Path,
    caps: &Caps,
) -> Result<Option<Scope>, String> {
    let name = format!("{}-{}", session.display(), generation.display());
    let scope = Scope::plan(&name, caps, hierarchies()).map_err(|e| chain(&e))?;
    let Some(scope) = scope else { return Ok(None) };
    // Who outlived the kill of the generation before this one may be dead by now.
    if let Some(left) = before(generation, dir).and_then(|dir| of(&dir)) {
        left.remove();
    }
    write(dir, &scope)?;
    match scope.make(caps) {
        Ok(()) => Ok(Some(scope)),
        Err(error) if caps.is_none() => {
            log(&format!("generation {} has no control group: {}", generation.display(), chain(&error)));
            forget(dir, &scope);
            Ok(None)
        }
        Err(error) => {
            forget(dir, &scope);
            Err(chain(&error))
        }
    }
}

/// The folder of the generation before.
fn before(generation: &OsStr, dir: &Path) -> Option<PathBuf> {
    let no: u32 = generation.to_str()?.parse().ok()?;
    Some(dir.with_file_name(format!("{:04}", no.checked_sub(1)?)))
}

/// A child was started in it.
pub(super) fn joined(dir: &Path, scope: &mut Scope) {
    scope.set_joined();
    if let Err(error) = write(dir, scope) {
        // Whoever comes after us finds everybody in it, and only can't say that nothing was ever elsewhere.
        log(&error);
    }
}

/// The scope that was written down.
pub(super) fn of(dir: &Path) -> Option<Scope> {
    Scope::read(&std::fs::read_to_string(file(dir)).ok()?)
}

/// No child was started in it.
pub(super) fn forget(dir: &Path, scope: &Scope) {
    if scope.remove() {
        let _ = std::fs::remove_file(file(dir));
    }
}

/// Whole or not there. Not brought to the disk: a group does not outlive a crash of the machine.
fn write(dir: &Path, scope: &Scope) -> Result<(), String> {
    let new = dir.join("scope.new");
    std::fs::write(&new, scope.text())
        .and_then(|()| std::fs::rename(&new, file(dir)))
        .map_err(|error| format!("could not write {}: {error}", file(dir).display()))
}

/// What the limits of a scope did, for people; empty: nothing.
pub(super) fn words(met: Met) -> String {
    let mut words = Vec::new();
    if met.memory > 0 {
        let processes = if met.memory == 1 { "process" } else { "processes" };
        words.push(format!("its memory limit was reached: the kernel killed {} {processes}", met.memory));
    }
    if met.pids > 0 {
        words.push(format!("its limit of processes was reached: {} were not started", met.pids));
    }
    words.join("; ")
}

/// Tests choose what a machine has.
fn hierarchies() -> Hierarchies {
    match std::env::var("OSTLER_TEST_SCOPES").as_deref() {
        Ok("one") if cfg!(debug_assertions) => Hierarchies::One,
        Ok("none") if cfg!(debug_assertions) => Hierarchies::Without,
        _ => Hierarchies::Any,
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    crate::controller::chain(error)
}
