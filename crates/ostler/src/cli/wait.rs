//! `ostler wait`: until a session has settled.

use super::closing::{self, Manner};
use super::face::Face;
use super::follow::Ended;
use super::found;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::view;
use clap::Args;
use ostler_controller::client::{Ostler, Waited};
use ostler_core::ids::{DeliveryId, SessionId};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Waits until a session has settled, prints its last answer, and exits as its last turn ended.
///
/// Settled means: every message is answered, no background task runs, nothing is to come.
///
/// Examples:
///
///     ostler wait 4f3a2b1c
///     ostler wait nightly --timeout 10m || echo "still running, or failed"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct WaitArgs {
    /// The session
    session: String,
    /// Give up after this time (such as 90s, 10m, 2h), with exit status 6
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
}

pub(super) fn wait(args: &WaitArgs, face: &mut Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let row = found::session(&ostler, &args.session)?;
    let deadline = args.timeout.and_then(|t| Instant::now().checked_add(t));
    let ended = waited(face, &ostler, row.id, None, deadline)?;
    if matches!(ended, Ended::Shown) {
        return closing::still_running(face, &ostler, row.id, row.label.as_deref());
    }
    closing::close(face, &ostler, row.id, row.label.as_deref(), &ended, Manner::Whole)
}

/// How often questions are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// Waits for the session, or for its own message; [`Ended::Shown`] when the deadline passed first. Says which questions are open meanwhile: a wait alone would
/// last for ever.
pub(super) fn waited(
    face: &Face,
    ostler: &Ostler,
    session: SessionId,
    own: Option<DeliveryId>,
    deadline: Option<Instant>,
) -> Result<Ended, Failure> {
    let mut told = BTreeSet::new();
    loop {
        for row in ostler.db().pending_permissions(Some(session))? {
            if told.insert((row.journal.generation, row.journal.request_id.clone())) {
                let tool = view::one_line(row.journal.tool.as_deref().unwrap_or("something"));
                let short = found::short(ostler, session);
                face.remark(&format!("it asks for permission ({tool}); `ostler pending {short}` shows it"));
            }
        }
        let next = Instant::now() + LOOK;
        let slice = deadline.map_or(next, |at| at.min(next));
        let waited = match own {
            Some(own) => ostler.wait_for(session, own, Some(slice))?,
            None => ostler.wait(session, Some(slice))?,
        };
        match waited {
            Waited::Settled(_) => return Ok(own.map_or(Ended::Settled, Ended::Own)),
            Waited::Parked(reason) => return Ok(Ended::Parked(reason)),
            Waited::Stopped(waiting) => return Ok(Ended::stopped(waiting)),
            Waited::StillRunning if deadline.is_some_and(|at| Instant::now() >= at) => {
                return Ok(Ended::Shown);
            }
            Waited::StillRunning => {}
        }
    }
}

/// `90`, `90s`, `1.5m`, `2h`, `500ms`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let bad = || "a time is a number with ms, s, m or h behind it, such as 90s".to_owned();
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let number: f64 = number.parse().map_err(|_| bad())?;
    let scale = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(bad()),
    };
    Duration::try_from_secs_f64(number * scale).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ms) in [("90", 90_000), ("0", 0), ("500ms", 500), ("1.5m", 90_000), ("2h", 7_200_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "m", "1d", "-1", "1.2.3s", "1e9"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
