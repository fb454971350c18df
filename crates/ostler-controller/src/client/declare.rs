//! What an agent says of its own session, from inside it.

use super::{ClientError, Ostler, Undeclared};
use crate::protocol::{Answer, Ask, Says};
use ostler_core::ids::{GenerationNo, SessionId, TurnNo};
use ostler_core::record::Declaration;

/// The longest note, in bytes.
pub const MAX_NOTE: usize = 4000;

/// Whoever speaks for a session; all of it stands in a child's environment.
#[derive(Clone)]
pub struct Declarer {
    /// Its session.
    pub session: SessionId,
    /// The generation that it belongs to.
    pub generation: GenerationNo,
    /// The session's secret.
    pub token: String,
}

impl std::fmt::Debug for Declarer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The token must not get into a log.
        write!(f, "{} generation {}", self.session, self.generation)
    }
}

impl Ostler {
    /// Declares where a session stands. Gives the turn that it was said in.
    ///
    /// # Errors
    /// [`ClientError::NotTaking`], [`ClientError::Undeclared`] with the reason, [`ClientError::Controller`].
    pub fn declare(
        &self,
        by: &Declarer,
        declaration: Declaration,
        note: Option<String>,
    ) -> Result<TurnNo, ClientError> {
        let session = by.session;
        if let Some(len) = note.as_ref().map(String::len).filter(|len| *len > MAX_NOTE) {
            return Err(ClientError::NoteTooLong { len, limit: MAX_NOTE });
        }
        self.refuse_halted(session)?;
        let says = Says { generation: by.generation, token: by.token.clone(), declaration, note };
        match self.deed(session, &Ask::Declare(says))? {
            Some(Answer::Declared { turn }) => Ok(turn),
            Some(Answer::Undeclared { why }) => Err(ClientError::Undeclared { session, why }),
            None => Err(ClientError::Undeclared { session, why: Undeclared::OtherGeneration }),
            Some(other) => Err(super::talk::odd(session, &other)),
        }
    }
}
