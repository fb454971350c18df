//! No code for this platform yet.

use super::{ChildSpec, SpawnError, Started};
use crate::Unsupported;
use crate::process::Identity;
use std::ffi::OsString;
use std::path::Path;

pub(super) fn spawn_child(_spec: &ChildSpec) -> Result<Started, SpawnError> {
    Err(Unsupported { what: "starting a child" }.into())
}

pub(super) fn spawn_detached(
    _argv: &[OsString],
    _env: &[(OsString, OsString)],
    _log: &Path,
) -> Result<Identity, SpawnError> {
    Err(Unsupported { what: "starting a detached process" }.into())
}
