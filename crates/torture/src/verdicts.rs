//! What became of messages, of what was taken back, of declarations and of sessions that were ended: what each may lead
//! to, given what the children did.

use crate::judge::Truth;
use crate::stage::{Session, rows};
use crate::told::Shared;
use claude_lab::fake::Hash;
use ostler_controller::client::Ostler;
use ostler_core::ctl::Event;
use ostler_core::ids::TurnNo;
use ostler_core::record::{Record, State};
use ostler_core::rows::DeliveryState;
use serde_json::Value;
use std::collections::BTreeMap;

/// A session is there, or it was ended and deleted, whole, because somebody wanted that.
pub(crate) fn is_there(face: &Ostler, session: &Session, shared: &Shared) -> bool {
    let fail =
        |what: &str| shared.counts.fail(format!("session {} ({}): {what}", session.id, session.nature));
    let end = shared.end_of(session.id);
    let row = match face.db().session(session.id) {
        Ok(row) => row,
        Err(error) => {
            fail(&format!("its row can't be read: {error}"));
            return false;
        }
    };
    let Some(row) = row else {
        if !end.is_some_and(|end| end.purge) {
            fail("its row is lost");
        }
        if session.dir.path.exists() {
            fail("it was deleted, and its folder is left");
        }
        shared.counts.add("sessions deleted");
        return false;
    };
    match (end, row.record.closed) {
        (None, true) => fail("it is closed, and nobody wanted that"),
        (Some(end), false) if end.told => fail("it was told to be closed, and is not"),
        (Some(_), true) => shared.counts.add("sessions closed"),
        _ => {}
    }
    true
}

/// Every message has come to an end that agrees with what the children did.
pub(crate) fn deliveries(
    face: &Ostler,
    session: &Session,
    truths: &BTreeMap<String, Truth>,
    shared: &Shared,
) {
    let none = Truth::default();
    for sent in shared.sent_to(session.id) {
        let stored = face.db().delivery(sent.id).ok().flatten();
        let truth = truths.get(&sent.id.to_string()).unwrap_or(&none);
        let fail = |what: &str| {
            let state = stored.as_ref().map(|row| row.state);
            let what = format!("{what}: [{}] {} is {state:?}, {truth:?}", sent.key, sent.id);
            shared.counts.fail(format!("session {} ({}): {what}", session.id, session.nature));
        };
        let Some(row) = &stored else {
            if sent.accepted {
                fail("an accepted message is lost");
            }
            if !truth.read.is_empty() {
                fail("a message that was refused was written");
            }
            continue;
        };
        let content = serde_json::from_slice::<Value>(&sent.content.to_stored()).unwrap_or_default();
        let says = Hash::of_content(&content);
        if truth.read.iter().any(|(_, read)| *read != says) {
            fail("a child read something else");
        }
        let state = row.state;
        shared.counts.add(match state {
            DeliveryState::Completed => "completed",
            DeliveryState::Cancelled => "cancelled",
            DeliveryState::Failed => "failed",
            DeliveryState::Discarded => "discarded",
            DeliveryState::Cut => "cut",
            _ => "without an end",
        });
        if !state.is_final() {
            fail("no end");
        }
        let good = truth.results.iter().filter(|(_, kind)| kind == "success").count();
        if good > 0 && state != DeliveryState::Completed {
            fail("it was answered");
        }
        // A child that says `completed` and writes no result is believed; the turn is unfinished all the same.
        let only_said = truth.results.iter().any(|(_, kind)| kind == "none");
        if good == 0 && !only_said && state == DeliveryState::Completed {
            fail("nothing answered it");
        }
        if good > 1 || twice(truth) {
            fail("it ran twice");
        }
        if state == DeliveryState::Cut && truth.started.is_empty() {
            fail("cut, and never begun");
        }
        if truth.started.len() > 1 {
            shared.counts.add("begun again after a cut");
        }
    }
}

/// Begun twice by one child, or begun again after a result.
fn twice(truth: &Truth) -> bool {
    let begun_again = truth.started.windows(2).any(|pair| pair[0] == pair[1]);
    let first_result = truth.results.iter().map(|(no, _)| *no).min();
    let after = |no: &u32| first_result.is_some_and(|first| *no > first);
    begun_again || truth.started.iter().any(after)
}

/// What was told to be taken back is cancelled; and where nobody breaks anything off, the last child that had
/// it had not begun with it.
pub(crate) fn taken_back(
    face: &Ostler,
    session: &Session,
    truths: &BTreeMap<String, Truth>,
    shared: &Shared,
) {
    let strict = session.gentle && shared.end_of(session.id).is_none();
    for id in shared.taken_back_of(session.id) {
        let state = face.db().delivery(id).ok().flatten().map(|row| row.state);
        // A child that goes on with a conversation knows whether a message of an earlier one is in there.
        let last = |truth: &Truth| truth.read.iter().map(|(no, _)| *no).max();
        let begun =
            truths.get(&id.to_string()).is_some_and(|t| last(t).is_some_and(|no| t.started.contains(&no)));
        if state != Some(DeliveryState::Cancelled) || (strict && begun) {
            let truth = truths.get(&id.to_string());
            shared.counts.fail(format!(
                "session {} ({}): {id} was taken back and is {state:?}, {truth:?}",
                session.id, session.nature
            ));
        }
        if strict {
            shared.counts.add("taken back, and never begun");
        }
    }
}

/// A declaration that was told to be taken stands in the journal, and the record says the last one of the last turn.
pub(crate) fn declarations(face: &Ostler, session: &Session, shared: &Shared) {
    let fail =
        |what: String| shared.counts.fail(format!("session {} ({}): {what}", session.id, session.nature));
    let mut said: Vec<(TurnNo, Option<String>)> = Vec::new();
    for no in session.dir.generations().unwrap_or_default() {
        for event in rows(&session.dir.generation(no)) {
            if let Event::Declared { turn, note, .. } = event {
                said.push((turn, note));
            }
        }
    }
    for told in shared.declared_of(session.id) {
        if !said.iter().any(|(turn, note)| *turn == told.turn && note.as_ref() == Some(&told.note)) {
            fail(format!("what was declared is not in the journal: {told:?}"));
        }
    }
    let Ok((record, _)) = face.db().record(session.id) else { return };
    let turns = face.db().load_projection(session.id).map(|rows| rows.turns).unwrap_or_default();
    let last = turns.last().map_or(0, |turn| turn.no);
    let stands = said.last().filter(|(turn, _)| *turn == last);
    match (&record, stands) {
        (Record { state: State::Declared { turn, note, .. }, .. }, stands) => {
            if stands != Some(&(*turn, note.clone())) {
                fail(format!("the record says {record:?}, the journal {stands:?} of {last} turns"));
            }
            shared.counts.add("declared at the end");
        }
        // What is declared while somebody stops or ends the session comes too late.
        (_, Some(_)) if shared.was_left_alone(session.id) => {
            fail(format!("the record says {record:?}, the journal {stands:?}"));
        }
        _ => {}
    }
}
