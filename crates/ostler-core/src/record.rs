//! The record: what a session means, durably. One function applies every event; the store makes each change a
//! compare-and-set, so that whoever landed first wins.
//!
//! The record never says what the operating system has (that is the `alive` lock) nor what the conversation is doing
//! (that is the turn).

use crate::ids::TurnNo;
use crate::rows::Outcome;
use serde::{Deserialize, Serialize};

/// What a session means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Where it stands.
    pub state: State,
    /// Takes no delivery and is started by nothing until it is resumed.
    pub stopped: bool,
    /// Over for good.
    pub closed: bool,
}

impl Default for Record {
    fn default() -> Self {
        Self { state: State::New, stopped: false, closed: false }
    }
}

/// Where a record stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum State {
    /// No turn was ever started.
    New,
    /// A turn is under way.
    Active,
    /// The last turn is over.
    Idle,
    /// The agent said where it stands. It may still be talking; the next delivery is a wake.
    Declared {
        /// What it said.
        #[serde(rename = "declared")]
        kind: Declaration,
        /// In its own words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// The last turn that had begun by then: only a later one moves the record.
        turn: TurnNo,
    },
    /// The last turn failed; the next delivery clears it.
    Error {
        /// `api_error`, `max_turns`, `no result: exit 1`, …
        reason: String,
    },
}

impl State {
    /// The word for it in listings.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Active => "active",
            Self::Idle => "idle",
            Self::Declared { .. } => "declared",
            Self::Error { .. } => "error",
        }
    }
}

/// What an agent can say about its own session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Declaration {
    /// It has done what it was asked for.
    Done,
    /// Somebody should look at what it did.
    Review,
    /// It can't go on.
    Blocked,
    /// It needs an answer.
    Asking,
}

impl Declaration {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Done, Self::Review, Self::Blocked, Self::Asking];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Review => "review",
            Self::Blocked => "blocked",
            Self::Asking => "asking",
        }
    }
}

/// What can move a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordEvent {
    /// A delivery's turn starts, or one that the child began by itself.
    TurnStarts {
        /// Which.
        turn: TurnNo,
    },
    /// A turn settled.
    TurnSettled {
        /// How.
        outcome: Outcome,
        /// For a failed or unfinished one: its kind.
        failure: Option<String>,
    },
    /// The agent declares where it stands.
    Declares {
        /// What it says.
        kind: Declaration,
        /// In its own words.
        note: Option<String>,
        /// The last turn that has begun.
        turn: TurnNo,
    },
    /// Somebody stops the session.
    Stops,
    /// Somebody takes the stop back.
    Resumes,
    /// Somebody closes it for good.
    Closes,
}

impl Record {
    /// The record after `event`; None when it changes nothing (it came late, or the record is closed or stopped).
    #[must_use]
    pub fn after(&self, event: &RecordEvent) -> Option<Self> {
        if self.closed {
            return None;
        }
        match event {
            RecordEvent::Stops => return (!self.stopped).then(|| Self { stopped: true, ..self.clone() }),
            RecordEvent::Resumes => return self.stopped.then(|| Self { stopped: false, ..self.clone() }),
            RecordEvent::Closes => return Some(Self { closed: true, ..self.clone() }),
            _ => {}
        }
        let state = match (event, &self.state) {
            (RecordEvent::TurnStarts { .. }, State::New | State::Idle | State::Error { .. })
                if !self.stopped =>
            {
                State::Active
            }
            (RecordEvent::TurnStarts { turn }, State::Declared { turn: before, .. })
                if !self.stopped && turn > before =>
            {
                State::Active
            }
            (RecordEvent::TurnSettled { outcome, failure }, State::Active) => {
                settled(*outcome, failure.as_deref())
            }
            // Said by an agent whose turn runs; a stopped session's may be talking still, and comes late.
            (RecordEvent::Declares { kind, note, turn }, State::Active | State::Declared { .. })
                if !self.stopped =>
            {
                State::Declared { kind: *kind, note: note.clone(), turn: *turn }
            }
            _ => return None,
        };
        Some(Self { state, ..self.clone() })
    }

    /// True while it exists and is neither stopped nor closed, whatever runs or doesn't.
    #[must_use]
    pub const fn online(&self) -> bool {
        !self.stopped && !self.closed
    }
}

fn settled(outcome: Outcome, failure: Option<&str>) -> State {
    let said = || failure.unwrap_or("unknown").to_owned();
    match outcome {
        Outcome::Completed | Outcome::Interrupted => State::Idle,
        Outcome::Failed => State::Error { reason: said() },
        Outcome::Unfinished => State::Error { reason: format!("no result: {}", said()) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(state: State) -> Record {
        Record { state, ..Record::default() }
    }

    #[test]
    fn the_table_of_the_design_row_by_row() {
        let starts = RecordEvent::TurnStarts { turn: 2 };
        let done = RecordEvent::TurnSettled { outcome: Outcome::Completed, failure: None };
        let cut = RecordEvent::TurnSettled { outcome: Outcome::Unfinished, failure: Some("signal 9".into()) };
        let failed = RecordEvent::TurnSettled { outcome: Outcome::Failed, failure: Some("api_error".into()) };
        let stop = RecordEvent::TurnSettled { outcome: Outcome::Interrupted, failure: None };
        let error = |reason: &str| State::Error { reason: reason.into() };
        for from in [State::New, State::Idle, error("x")] {
            assert_eq!(record(from.clone()).after(&starts), Some(record(State::Active)));
            assert_eq!(record(from).after(&done), None, "a late settlement changes nothing");
        }
        assert_eq!(record(State::Active).after(&starts), None);
        assert_eq!(record(State::Active).after(&done), Some(record(State::Idle)));
        assert_eq!(record(State::Active).after(&stop), Some(record(State::Idle)));
        assert_eq!(record(State::Active).after(&failed), Some(record(error("api_error"))));
        assert_eq!(record(State::Active).after(&cut), Some(record(error("no result: signal 9"))));
    }

    #[test]
    fn a_closed_record_is_moved_by_nothing_and_a_stopped_one_only_settles() {
        let done = RecordEvent::TurnSettled { outcome: Outcome::Completed, failure: None };
        let closed = Record { closed: true, state: State::Active, stopped: false };
        assert_eq!(closed.after(&done), None);
        let stopped = Record { stopped: true, state: State::Active, closed: false };
        assert_eq!(stopped.after(&done).map(|r| r.state), Some(State::Idle));
        let stopped = Record { stopped: true, state: State::Idle, closed: false };
        assert_eq!(stopped.after(&RecordEvent::TurnStarts { turn: 9 }), None);
        assert!(!stopped.online() && !closed.online() && Record::default().online());
    }

    #[test]
    fn a_declaration_stands_until_a_later_turn_begins() {
        let declares =
            RecordEvent::Declares { kind: Declaration::Done, note: Some("pushed".into()), turn: 3 };
        let declared = record(State::Active).after(&declares).expect("a running turn may declare");
        let done = RecordEvent::TurnSettled { outcome: Outcome::Completed, failure: None };
        assert_eq!(declared.after(&done), None, "the old turn settles late");
        assert_eq!(declared.after(&RecordEvent::TurnStarts { turn: 3 }), None, "it is the old turn");
        assert_eq!(declared.after(&RecordEvent::TurnStarts { turn: 4 }), Some(record(State::Active)));
        for from in [State::New, State::Idle, State::Error { reason: "x".into() }] {
            assert_eq!(record(from).after(&declares), None, "nobody is there to declare");
        }
        let closed = declared.after(&RecordEvent::Closes).expect("anything can be closed");
        let all = [declares, done, RecordEvent::Stops, RecordEvent::Resumes, RecordEvent::Closes];
        assert!(all.iter().all(|e| closed.after(e).is_none()));
    }

    #[test]
    fn stop_and_resume_move_the_flag_and_nothing_else() {
        let states = [State::New, State::Active, State::Idle, State::Error { reason: "x".into() }];
        for state in states {
            let stopped = record(state.clone()).after(&RecordEvent::Stops).expect("it was not stopped");
            assert_eq!(stopped, Record { stopped: true, ..record(state.clone()) });
            assert_eq!(stopped.after(&RecordEvent::Stops), None);
            assert_eq!(stopped.after(&RecordEvent::Resumes), Some(record(state)));
        }
    }
}
