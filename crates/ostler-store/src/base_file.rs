//! `base.json`: what a trained base is, beside its session's other files. The database has it too; this is for one that
//! was lost.

use crate::session_dir::SessionDir;
use ostler_core::base::Base;
use ostler_os::{PathError, durable};

/// Replaces the file durably.
///
/// # Errors
/// The folder or the file can't be written.
pub fn write(dir: &SessionDir, base: &Base) -> Result<(), PathError> {
    // Plain fields and maps of words: this can't fail.
    let text = serde_json::to_string_pretty(base).unwrap_or_default();
    durable::create_dir_private(&dir.path)?;
    durable::replace_file(&dir.base_json(), format!("{text}\n").as_bytes())
}

/// Reads it; None where the session is no base, or it can't be read.
#[must_use]
pub fn read(dir: &SessionDir) -> Option<Base> {
    serde_json::from_slice(&std::fs::read(dir.base_json()).ok()?).ok()
}
