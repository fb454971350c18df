//! What must not be tried again by itself: a conversation that the API refuses each time, and a child that dies each
//! time. The session is parked with the reason; what somebody sends then is tried once more.

use super::child::Child;
use super::outcome::Verdict;
use super::{Machine, Phase};
use crate::ids::{ConversationId, GenerationNo};
use crate::rows::Outcome;
use claude_wire::ResultLine;

/// How many children in a row may die in the middle of a turn, without any result.
const DEATHS: u32 = 8;
/// How much of what the API said is compared, in characters.
const COMPARED: usize = 300;

/// What the last turns say about trying again.
#[derive(Clone, Debug, Default)]
pub(super) struct Refused {
    /// What the API said to the last failed turn, and to whom.
    last: Option<Refusal>,
    /// Children that died without a result since the last result, and how the last one did.
    deaths: u32,
    /// Why the session must be parked; until its row is written.
    due: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Refusal {
    conversation: ConversationId,
    generation: GenerationNo,
    /// Status and text, without what differs each time.
    print: String,
}

impl Refused {
    /// A row says that it is parked, or somebody made it go on.
    pub(super) fn acknowledged(&mut self) {
        self.due = None;
    }

    pub(super) fn due(&self) -> Option<&str> {
        self.due.as_deref()
    }

    /// A result came: its child did not die over it.
    pub(super) const fn lives(&mut self) {
        self.deaths = 0;
    }
}

impl Machine {
    /// A turn of the current child is over. `print`: of the API's refusal, if it ended with one.
    pub(super) fn note_refusal(&mut self, outcome: Outcome, print: Option<String>) {
        let Some(print) = print.filter(|_| outcome == Outcome::Failed) else {
            if outcome == Outcome::Completed {
                self.refused.last = None;
            }
            return;
        };
        let now = Refusal { conversation: self.conversation, generation: self.generation(), print };
        let same = |before: &Refusal| {
            before.conversation == now.conversation
                && before.print == now.print
                && before.generation != now.generation
        };
        if self.refused.last.as_ref().is_some_and(same) {
            self.refused.due = Some(format!(
                "poisoned transcript: the API refuses this conversation again and again ({}); nothing is tried by \
                 itself any more. Start a new session, or send /clear with --raw; a message is tried once",
                now.print
            ));
        }
        self.refused.last = Some(now);
    }

    /// The current child is dead, in the middle of a turn or before any.
    pub(super) fn note_death(&mut self, said: &str) {
        let Some(child) = &self.child else { return };
        let ours = child.killing || child.being_stopped() || child.ending.is_some();
        let idle = child.first_write.is_none() || (!child.segment_open && self.all_final());
        if ours || idle {
            return;
        }
        self.refused.deaths += 1;
        if self.refused.deaths >= DEATHS {
            self.refused.deaths = 0;
            self.refused.due = Some(format!(
                "crash loop: claude died {DEATHS} times in a row without a result (last: {said}); find out why (ostler \
                 show, ostler doctor), then send a message to go on"
            ));
        }
    }

    /// Nothing runs, and nothing is to be started by itself.
    pub(super) fn to_park(&self) -> Option<String> {
        let rests = self.child.as_ref().is_none_or(|c| c.phase == Phase::Cold);
        self.refused.due().filter(|_| rests && self.open_turn().is_none()).map(str::to_owned)
    }
}

/// The kind of an API failure by its status; structured fields alone.
pub(super) fn with_kind(verdict: Verdict, line: &ResultLine, child: Option<&Child>) -> Verdict {
    if verdict.failure.as_deref() != Some("api_error") {
        return verdict;
    }
    let said = child.and_then(|c| c.api_error.as_ref());
    let status = line.api_error_status.or_else(|| said.and_then(|s| s.0));
    let kind = match (status, said.map(|s| s.1.as_str())) {
        (Some(429), _) | (None, Some("rate_limit")) => super::RATE_LIMIT,
        (Some(401), _) | (None, Some("authentication_failed")) => super::AUTHENTICATION,
        _ => return verdict,
    };
    Verdict { failure: Some(kind.to_owned()), ..verdict }
}

/// What a refusal of the API says, without numbers and ids that differ each time; None for one that may pass.
pub(super) fn fingerprint(verdict: &Verdict, line: &ResultLine, child: Option<&Child>) -> Option<String> {
    if verdict.failure.as_deref() != Some("api_error") {
        return None;
    }
    let said = child.and_then(|c| c.api_error.as_ref());
    let status = line.api_error_status.or_else(|| said.and_then(|s| s.0))?;
    // Time-outs and conflicts pass; so does whatever is the server's own fault.
    if !(400..500).contains(&status) || matches!(status, 408 | 409) {
        return None;
    }
    let text = line.result.as_deref().unwrap_or_default();
    let words = text
        .split_whitespace()
        .map(|word| if word.contains(|c: char| c.is_ascii_digit()) { "#" } else { word });
    let plain = words.collect::<Vec<_>>().join(" ");
    Some(format!("{status}: {}", plain.chars().take(COMPARED).collect::<String>()))
}
