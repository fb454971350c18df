//! What faces and controllers say to each other: one JSON object a line, one answer a request.
//!
//! `hello`, `poke` and `leave`, and their answers `here` and `leaving`, stay as they are for ever, whatever versions
//! meet; everything else may change with the version, which `here` tells. The golden lines below hold that.

use crate::client::Undeclared;
use ostler_core::ids::{DeliveryId, GenerationNo, TurnNo};
use ostler_core::record::Declaration;
use serde::{Deserialize, Serialize};

/// A face asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum Ask {
    /// Who is there?
    Hello,
    /// The store has something new.
    Poke,
    /// Another version wants to go on: finish the line that is being written, and leave the child to the next.
    Leave,
    /// What is the session doing?
    Status,
    /// Interrupt the turn; answered when the child confirmed it.
    Interrupt {
        /// Take back what is queued as well.
        cancel_queued: bool,
    },
    /// The record says that the child is to be ended; answered when its tree is dead.
    Stop,
    /// Take a delivery back that is in the child's queue; answered when the child said whether it gives it back.
    Cancel {
        /// Which.
        delivery: DeliveryId,
    },
    /// A child says where its session stands.
    Declare(Says),
}

/// What an agent declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Says {
    /// Its generation.
    pub(crate) generation: GenerationNo,
    /// What shows that it is a child of this session.
    pub(crate) token: String,
    /// Where it stands.
    pub(crate) declaration: Declaration,
    /// In its own words.
    pub(crate) note: Option<String>,
}

/// The controller answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum Answer {
    /// To `hello` and `poke`; to `leave`, when the next controller would be of the same file.
    Here {
        /// The controller's process.
        pid: u32,
        /// Its ostler version.
        version: String,
    },
    /// To `leave`: it goes as soon as it may.
    Leaving,
    /// To `status`.
    Status {
        /// What it is doing.
        status: crate::client::Status,
    },
    /// An interrupt was confirmed.
    Confirmed {
        /// Deliveries that were still queued.
        still_queued: Vec<String>,
        /// Deliveries that were taken back.
        #[serde(default)]
        cancelled: Vec<String>,
    },
    /// An interrupt that the child did not take.
    Forced {
        /// What was done about it.
        why: String,
    },
    /// Nothing runs that could be interrupted or stopped.
    NothingRunning,
    /// The tree is dead.
    Ended {
        /// Processes that had to be killed besides the child.
        killed: u32,
        /// Nothing can be left.
        proven: bool,
    },
    /// A delivery was taken back.
    Cancelled,
    /// It could not be: where it stands.
    NotCancelled {
        /// The word for its state.
        state: String,
    },
    /// What was declared stands in the record.
    Declared {
        /// The turn that it was said in.
        turn: TurnNo,
    },
    /// Nothing was declared.
    Undeclared {
        /// Why.
        why: Undeclared,
    },
    /// The request is not understood.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What every version that ever was, or will be, writes and understands.
    #[test]
    fn the_stable_lines_are_what_they_were() {
        let asks = [
            (Ask::Hello, r#"{"do":"hello"}"#),
            (Ask::Poke, r#"{"do":"poke"}"#),
            (Ask::Leave, r#"{"do":"leave"}"#),
        ];
        for (ask, line) in asks {
            assert_eq!(serde_json::to_string(&ask).unwrap(), line);
            assert_eq!(serde_json::from_str::<Ask>(line).unwrap(), ask);
        }
        let here = Answer::Here { pid: 42, version: "0.1.0".to_owned() };
        let answers = [
            (here.clone(), r#"{"is":"here","pid":42,"version":"0.1.0"}"#),
            (Answer::Leaving, r#"{"is":"leaving"}"#),
            (Answer::Unknown, r#"{"is":"unknown"}"#),
        ];
        for (answer, line) in answers {
            assert_eq!(serde_json::to_string(&answer).unwrap(), line);
            assert_eq!(serde_json::from_str::<Answer>(line).unwrap(), answer);
        }
        let newer = r#"{"is":"here","pid":42,"version":"0.1.0","mood":"calm"}"#;
        assert_eq!(serde_json::from_str::<Answer>(newer).unwrap(), here, "answers may grow");
    }
}
