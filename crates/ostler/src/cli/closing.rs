//! The end of a turn: what to print and which exit status.

use super::face::Face;
use super::follow::{Answer, Ended, Left};
use super::found;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::{Ending, ResultDocument, ResultEvent};
use crate::view::{self, Closing};
use ostler_controller::client::{Ostler, Summary};
use ostler_core::ids::SessionId;
use ostler_core::rows::{CacheVerdict, Outcome, Turn};
use std::time::{Duration, Instant};

/// How the end is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// The answer was shown as it came.
    Shown,
    /// Nothing was shown: the answer is printed too.
    Whole,
}

/// Prints the end of what was followed or waited for.
pub(super) fn close(
    face: &mut Face,
    ostler: &Ostler,
    session: SessionId,
    label: Option<&str>,
    ended: &Ended,
    manner: Manner,
) -> Result<Exit, Failure> {
    let summary = match ended {
        Ended::Answered(answer) => answered(ostler, session, answer)?,
        Ended::Own(delivery) => ostler.summary_of(session, *delivery)?,
        _ => ostler.summary(session)?,
    };
    let exit = exit_of(ended, &summary);
    let answer = match ended {
        Ended::Answered(answer) => answer.text.clone(),
        _ => summary.answer.clone(),
    };
    if face.json {
        let go_on = found::go_on(face, ostler, session);
        let ending = Ending { state: ended_word(ended), reason: reason(ended), answer, go_on, exit };
        let document = ResultDocument::of(session, label, &summary, ending);
        match manner {
            Manner::Shown => face.event(&ResultEvent::of(document))?,
            Manner::Whole => face.document(&document)?,
        }
        return Ok(exit);
    }
    if manner == Manner::Whole || face.quiet {
        let text = view::harmless(answer.as_deref().unwrap_or_default()).trim_end().to_owned();
        if !text.is_empty() {
            face.print(&format!("{text}\n"))?;
        }
    }
    if face.quiet {
        return Ok(exit);
    }
    if let Ended::Left(left) = ended {
        if *left != Left::Hangup {
            face.remark(&format!("left; the session goes on: {}", found::go_on(face, ostler, session)));
        }
        return Ok(exit);
    }
    let closing = closing(face, ostler, session, label, ended, summary, manner);
    match manner {
        Manner::Shown => face.print(&view::closing(face.paint, &closing))?,
        // The answer alone is what a script wants to keep.
        Manner::Whole => face.remark(view::closing(face.paint_errors(), &closing).trim_end()),
    }
    Ok(exit)
}

/// How long the store may lag behind the journal: controllers commit a few times a second.
const LAG: Duration = Duration::from_secs(2);

/// The summary of a turn that has answered and not settled. The store is waited for, so that tokens and dollars are
/// those of the answer.
fn answered(ostler: &Ostler, session: SessionId, answer: &Answer) -> Result<Summary, Failure> {
    let deadline = Instant::now() + LAG;
    let rows = loop {
        let rows = ostler.db().load_projection(session)?;
        if rows.turns.last().is_some_and(|turn| turn.results > 0) || Instant::now() >= deadline {
            break rows;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut summary = ostler.summary(session)?;
    summary.outcome = Some(outcome_of(answer));
    summary.turn_usd = match rows.turns.last() {
        Some(turn) => rows.spend.iter().filter(|s| s.generation == turn.generation).map(|s| s.usd).sum(),
        None => None,
    };
    summary.turn = rows.turns.last().cloned().map(|turn| Turn {
        failure: answer.failure.clone(),
        rounds: answer.rounds.unwrap_or(turn.rounds),
        denials: turn.denials.max(answer.denials),
        ..turn
    });
    Ok(summary)
}

/// The time to wait is over.
pub(super) fn still_running(
    face: &Face,
    ostler: &Ostler,
    session: SessionId,
    label: Option<&str>,
) -> Result<Exit, Failure> {
    let exit = Exit::StillRunning;
    if face.json {
        let summary = ostler.summary(session)?;
        let go_on = found::go_on(face, ostler, session);
        let ending = Ending { state: "running", reason: None, answer: None, go_on, exit };
        face.document(&ResultDocument::of(session, label, &summary, ending))?;
    } else if !face.quiet {
        let status = ostler.status(session)?;
        let doing = status.activity.map(|a| format!(" ({})", view::one_line(&a))).unwrap_or_default();
        face.remark(&format!("still running{doing}"));
    }
    Ok(exit)
}

/// The same for one of several: an event where events are printed.
pub(super) fn late(
    face: &mut Face,
    ostler: &Ostler,
    session: SessionId,
    label: Option<&str>,
) -> Result<Exit, Failure> {
    if !face.json {
        return still_running(face, ostler, session, label);
    }
    let exit = Exit::StillRunning;
    let summary = ostler.summary(session)?;
    let go_on = found::go_on(face, ostler, session);
    let ending = Ending { state: "running", reason: None, answer: None, go_on, exit };
    face.event(&ResultEvent::of(ResultDocument::of(session, label, &summary, ending)))?;
    Ok(exit)
}

fn closing(
    face: &Face,
    ostler: &Ostler,
    session: SessionId,
    label: Option<&str>,
    ended: &Ended,
    summary: Summary,
    manner: Manner,
) -> Closing {
    let turn = summary.turn.as_ref();
    let mut remarks = Vec::new();
    if let Some(reason) = reason(ended) {
        let word = if matches!(ended, Ended::Parked(_)) { "parked: " } else { "" };
        remarks.push(format!("{word}{}", view::one_line(reason)));
    }
    // The failure was shown where it happened.
    if let Some(message) = turn
        .and_then(failure_message)
        .filter(|m| manner == Manner::Whole && Some(*m) != summary.answer.as_deref())
    {
        remarks.push(view::clip(&view::one_line(message), 300));
    }
    remarks.extend(turn.map(remarks_of).unwrap_or_default());
    if summary.cache.is_some_and(|seen| seen.verdict() != CacheVerdict::Hit) {
        let causes = ostler.miss_causes(session).unwrap_or_default();
        let why = if causes.is_empty() { "no cause is known".to_owned() } else { causes.join("; ") };
        remarks.push(format!("the prompt cache did not have the whole prefix: {why}"));
    }
    let ms = match ended {
        Ended::Answered(answer) => answer.ms,
        _ => turn.and_then(|t| Some(u64::try_from(t.settled_at?.since(t.started_at)).unwrap_or(0))),
    };
    Closing {
        outcome: summary.outcome,
        failure: turn.and_then(|t| t.failure.clone()),
        rounds: turn.map_or(0, |t| t.rounds),
        ms,
        denials: turn.map_or(0, |t| t.denials),
        remarks,
        turns: summary.turns,
        tokens: summary.tokens,
        cache: summary.cache,
        turn_usd: summary.turn_usd,
        usd: summary.usd,
        session: session.to_string(),
        label: label.map(view::one_line),
        go_on: found::go_on(face, ostler, session),
    }
}

fn failure_message(turn: &Turn) -> Option<&str> {
    turn.message.as_deref().filter(|_| matches!(turn.outcome, Some(Outcome::Failed | Outcome::Unfinished)))
}

fn remarks_of(turn: &Turn) -> Vec<String> {
    let mut remarks = Vec::new();
    if turn.killed_tasks > 0 {
        remarks.push(format!("{} background tasks were killed or given up", turn.killed_tasks));
    }
    if turn.unclean {
        remarks.push("claude did not end cleanly".to_owned());
    }
    if turn.garbled {
        remarks.push("something that claude printed could not be read".to_owned());
    }
    remarks
}

fn outcome_of(answer: &Answer) -> Outcome {
    match (&answer.failure, answer.interrupted) {
        (_, true) => Outcome::Interrupted,
        (Some(_), false) => Outcome::Failed,
        (None, false) => Outcome::Completed,
    }
}

fn reason(ended: &Ended) -> Option<&str> {
    match ended {
        Ended::Parked(reason) | Ended::Stopped(reason) => Some(reason),
        _ => None,
    }
}

const fn ended_word(ended: &Ended) -> &'static str {
    match ended {
        Ended::Shown | Ended::Settled | Ended::Own(_) => "settled",
        Ended::Answered(_) => "answered",
        Ended::Parked(_) => "parked",
        Ended::Stopped(_) => "stopped",
        Ended::Left(_) => "running",
    }
}

/// The one place where the end of a turn becomes an exit status.
fn exit_of(ended: &Ended, summary: &Summary) -> Exit {
    match ended {
        Ended::Left(_) => Exit::StillRunning,
        Ended::Parked(_) => Exit::Failed,
        Ended::Stopped(_) => Exit::Conflict,
        Ended::Shown | Ended::Settled | Ended::Own(_) | Ended::Answered(_) => {
            let turn = summary.turn.as_ref();
            match summary.outcome {
                None => Exit::Completed,
                Some(outcome) => turn_exit(
                    outcome,
                    turn.and_then(|t| t.failure.as_deref()),
                    turn.is_some_and(|t| t.denials > 0),
                ),
            }
        }
    }
}

fn turn_exit(outcome: Outcome, failure: Option<&str>, denied: bool) -> Exit {
    match outcome {
        Outcome::Completed if denied => Exit::Denied,
        Outcome::Completed => Exit::Completed,
        Outcome::Interrupted => Exit::Interrupted,
        Outcome::Failed if failure == Some("max_budget") => Exit::Budget,
        Outcome::Failed | Outcome::Unfinished => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_turn_ended_decides_the_status() {
        assert_eq!(turn_exit(Outcome::Completed, None, false), Exit::Completed);
        assert_eq!(turn_exit(Outcome::Completed, None, true), Exit::Denied);
        assert_eq!(turn_exit(Outcome::Interrupted, None, true), Exit::Interrupted);
        assert_eq!(turn_exit(Outcome::Failed, Some("api_error"), true), Exit::Failed);
        assert_eq!(turn_exit(Outcome::Failed, Some("max_budget"), false), Exit::Budget);
        assert_eq!(turn_exit(Outcome::Unfinished, Some("signal 9"), false), Exit::Failed);
    }
}
