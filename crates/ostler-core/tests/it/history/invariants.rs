//! What must hold, whatever happens.

use super::session::Session;
use super::truth::End;
use ostler_core::machine::{Machine, Phase};
use ostler_core::record::State;
use ostler_core::rows::{DeliveryState, Outcome, Projection, SpendMethod, Tokens};

/// After every step.
pub(super) fn always(session: &Session) {
    let Some(machine) = &session.machine else { return };
    let rows = machine.rows();
    let live = rows.generations.iter().filter(|g| g.ended_at.is_none()).count();
    assert!(live <= 1, "{live} generations are live");
    for turn in &rows.turns {
        if turn.outcome == Some(Outcome::Completed) {
            assert!(turn.results > 0, "turn {} completed without a result", turn.no);
        }
    }
    if let Some(child) = &session.child
        && child.generation == machine.generation()
    {
        assert!(machine.phase() != Phase::Cold, "a live child counts as dead");
    }
}

/// A machine that was folded from the journal alone, at any time, knows what the running one knows.
pub(super) fn folding_again(session: &Session) {
    if let Some(machine) = &session.machine {
        assert_eq!(machine.project(), session.fold().project(), "folding again gives other rows");
    }
}

/// When everything is over.
pub(super) fn at_the_end(session: &Session) {
    let machine = session.fold();
    let rows = machine.project();
    assert_eq!(rows, session.fold().project(), "folding is not deterministic");
    assert_eq!(machine.phase(), Phase::Cold);
    assert!(rows.turns.iter().all(|t| t.settled_at.is_some()), "a turn is open");
    let over = session.record.closed;
    assert!(over || session.record.state != State::Active, "the record is active and nothing runs");
    every_message_ended(session, &machine, &rows, over || machine.parked().is_some());
    for sent in &session.sent {
        ran_once(session, sent.id().0);
    }
    spent_exactly(session, &rows);
}

fn every_message_ended(session: &Session, machine: &Machine, rows: &Projection, parked: bool) {
    for sent in &session.sent {
        let id = sent.id();
        let Some(row) = rows.deliveries.iter().find(|d| d.id == id) else {
            assert!(parked || session.taken.contains(&id), "{id} was never written");
            continue;
        };
        let parked = parked && !session.record.closed;
        assert!(row.state.is_final() || parked, "{id} ends as {:?}", row.state);
        let truth = &session.truth;
        assert!(!session.taken.contains(&id), "{id} was taken back and written");
        if truth.given_back.contains(&id.0) {
            assert_eq!(row.state, DeliveryState::Cancelled, "{id} was given back");
        }
        let runs = truth.runs.get(&id.0).map_or(&[][..], Vec::as_slice);
        match row.state {
            DeliveryState::Completed => {
                assert!(truth.answered.contains(&id.0), "{id} completed without an answer");
            }
            // Taken up, and its child died before it had asked the model.
            DeliveryState::Cut if machine.is_unwanted(id) => {}
            DeliveryState::Cut => assert!(!runs.is_empty(), "{id} was cut and never ran"),
            DeliveryState::Cancelled if machine.is_unwanted(id) && session.dialect.lifecycle => {
                assert!(runs.is_empty(), "{id} was taken back as unseen after {runs:?}");
            }
            DeliveryState::Discarded => assert!(truth.dropped.contains(&id.0), "{id} was not discarded"),
            _ => {}
        }
        if truth.answered.contains(&id.0) {
            assert_eq!(row.state, DeliveryState::Completed, "{id} was answered");
        }
        if truth.failed.contains(&id.0) {
            // An interrupt that was under way comes first.
            let off = row.state == DeliveryState::Cancelled && session.broke_off(row.generation);
            assert!(off || row.state == DeliveryState::Failed, "{id} failed and is {:?}", row.state);
        }
    }
}

/// A second run only where a crash cut the first one off, and never one that nobody wants any more.
fn ran_once(session: &Session, id: uuid::Uuid) {
    let runs = session.truth.runs.get(&id).map_or(&[][..], Vec::as_slice);
    for earlier in runs.iter().take(runs.len().saturating_sub(1)) {
        assert_eq!(earlier.end, End::Cut, "{id} ran again after {earlier:?}");
        assert!(!earlier.unwanted, "{id} was interrupted and ran again by itself");
    }
}

/// Own spend is what the child really used, to the token; of a killed child it is an estimate, and never nothing.
fn spent_exactly(session: &Session, rows: &Projection) {
    for ((generation, model), bill) in &session.truth.bills {
        let row = rows.spend.iter().find(|s| s.generation == *generation && s.model == *model);
        let tokens = row.map_or(Tokens::default(), |r| r.tokens);
        let vague = session.truth.vague.contains(generation);
        if !vague {
            assert_eq!(tokens, bill.tokens, "generation {generation}, {model}");
        } else {
            let plain = |t: Tokens| Tokens { output: 0, ..t };
            assert_eq!(plain(tokens), plain(bill.tokens), "generation {generation}, {model}, estimated");
        }
        let estimated = row.is_some_and(|r| r.method == SpendMethod::Estimated);
        let usd = row.and_then(|r| r.usd);
        if !estimated && bill.usd > 0.0 {
            let close = usd.is_some_and(|usd| (usd - bill.usd).abs() < 1e-9);
            assert!(close, "generation {generation}, {model}: {usd:?} dollars, billed {}", bill.usd);
        }
        assert!(vague || !estimated, "generation {generation}, {model}: estimated, and it had its say");
    }
    for row in &rows.spend {
        let billed =
            session.truth.bills.keys().any(|(no, model)| *no == row.generation && *model == row.model);
        assert!(billed, "{row:?} was never billed");
    }
}
