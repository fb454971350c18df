//! A command that failed.

use crate::failure::Failure;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct ErrorDocument {
    error: ErrorBody,
}

#[derive(Debug, Serialize)]
struct ErrorBody {
    kind: &'static str,
    message: String,
    causes: Vec<String>,
    hints: Vec<String>,
    exit: u8,
}

/// The same, as the last event of a verb that goes on.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorEvent<'a> {
    event: &'static str,
    error: &'a ErrorBody,
}

impl ErrorDocument {
    pub(crate) fn of(failure: &Failure) -> Self {
        let mut causes = failure.chain();
        let message = causes.remove(0);
        Self {
            error: ErrorBody {
                kind: failure.kind.word(),
                message,
                causes,
                hints: failure.hints.clone(),
                exit: failure.kind.exit().code(),
            },
        }
    }

    pub(crate) const fn as_event(&self) -> ErrorEvent<'_> {
        ErrorEvent { event: "error", error: &self.error }
    }
}
