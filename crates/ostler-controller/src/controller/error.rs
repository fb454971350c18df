//! What ends a controller. Its keeper starts the next one, which folds the journal and goes on.

use ostler_core::spec::SpecError;
use ostler_os::PathError;
use ostler_store::{CtlError, DbError, HomeError, JournalError, SessionFileError};
use std::io;

/// Why a controller can't go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControllerError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Db(#[from] DbError),
    #[error(transparent)]
    SessionFile(#[from] SessionFileError),
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error("failed to write the journal")]
    Ctl(#[from] CtlError),
    #[error("failed to read the journal")]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("failed to reach the keeper: {what}")]
    Keeper {
        /// What was tried or answered.
        what: String,
    },
    #[error("failed to use the lab: {what}")]
    Lab {
        /// What is wrong.
        what: String,
    },
    #[error("a system call failed")]
    Io(#[from] io::Error),
}

/// An error and what caused it, on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}
