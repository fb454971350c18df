//! What an agent says of its own session, and whether it may.
//!
//! Whoever speaks for a session shows its token, which only its children have, and names its generation. That keeps
//! processes of an older child, of another session and of nobody apart. Within a child all processes look alike, so
//! the machine tells by the calls under way that a declaration is a subagent's.

use super::error::ControllerError;
use super::{Controller, chain, log};
use crate::client::Undeclared;
use crate::protocol::{Answer, Says};
use ostler_core::ctl::Event;
use ostler_core::machine::Undeclarable;
use ostler_os::durable;
use std::fs;

impl Controller {
    pub(super) fn declare_asked(&mut self, says: Says) -> Answer {
        match self.declare(says) {
            Ok(answer) => answer,
            Err(error) => {
                log(&format!("nothing could be declared: {}", chain(&error)));
                Answer::Undeclared { why: Undeclared::Store }
            }
        }
    }

    fn declare(&mut self, says: Says) -> Result<Answer, ControllerError> {
        let no = |why| Ok(Answer::Undeclared { why });
        if !same(self.token()?.as_bytes(), says.token.as_bytes()) {
            return no(Undeclared::Token);
        }
        self.wants.must_refresh();
        self.refresh()?;
        if self.wants.halted {
            return no(Undeclared::Halted);
        }
        // The call that says so was announced before it began.
        self.pump()?;
        let turn = match self.machine.may_declare(says.generation) {
            Ok(turn) => turn,
            Err(Undeclarable::OtherGeneration) => return no(Undeclared::OtherGeneration),
            Err(Undeclarable::NoTurn) => return no(Undeclared::NoTurn),
            Err(Undeclarable::Subagent) => return no(Undeclared::Subagent),
        };
        let Says { declaration, note, .. } = says;
        self.say(Event::Declared { declaration, note, turn })?;
        crate::crash::point("declared");
        self.commit()?;
        // A store that could not be written is tried again; the journal has it, and the record follows.
        if self.dirty { no(Undeclared::Store) } else { Ok(Answer::Declared { turn }) }
    }

    /// The session's secret: made once, readable for its owner only.
    pub(super) fn token(&self) -> Result<String, ControllerError> {
        let path = self.dir.token();
        let stored = fs::read_to_string(&path).unwrap_or_default();
        if !stored.trim().is_empty() {
            return Ok(stored.trim().to_owned());
        }
        let token = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        durable::replace_file(&path, token.as_bytes())?;
        Ok(token)
    }
}

/// Compares without telling by its time how much is right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn tokens_are_equal_or_not() {
        assert!(same(b"abc", b"abc") && same(b"", b""));
        assert!(!same(b"abc", b"abd") && !same(b"abc", b"ab") && !same(b"abc", b""));
    }
}
