//! Is a session parked? Whoever would start a controller has to know.

use super::{ClientError, Ostler};
use ostler_core::ids::SessionId;
use ostler_store::SessionDir;
use std::io::{self, ErrorKind};

/// How a row of these kinds names itself. Inside of a string of another row its quotes would be escaped.
const PARKED: &str = r#""kind":"parked""#;
const SPAWN: &str = r#""kind":"spawn""#;

impl Ostler {
    /// A parked session is not woken by a sweep, unless something was accepted since.
    pub(super) fn unparked(&self, session: SessionId) -> Result<bool, ClientError> {
        Ok(self.child_lives(session) || self.parked(session)?.is_none())
    }

    /// Why nothing goes on until a person acts, as journal and store say.
    pub(super) fn parked(&self, session: SessionId) -> Result<Option<String>, ClientError> {
        // A long journal takes long to fold, and nearly every session can be told from its last rows.
        if matches!(has_parked(&self.home().session(session)), Ok(false)) {
            return Ok(None);
        }
        let machine = super::rebuild::fold_machine(self.home(), session)?;
        let Some(reason) = machine.parked() else { return Ok(None) };
        let pending = crate::controller::pending(self.db(), session)?;
        Ok((!machine.owes(&pending)).then(|| reason.to_owned()))
    }
}

/// It was parked, and no generation has started since.
fn has_parked(dir: &SessionDir) -> io::Result<bool> {
    // Before the first generation rows are in a folder with the number 0.
    for no in dir.generations()?.into_iter().rev().chain([0]) {
        let rows = match std::fs::read(dir.generation(no).ctl()) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            rows => rows?,
        };
        let rows = String::from_utf8_lossy(&rows);
        let is = |row: &str| row.contains(PARKED).then_some(true).or(row.contains(SPAWN).then_some(false));
        if let Some(parked) = rows.lines().rev().find_map(is) {
            return Ok(parked);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_core::ctl::{Event, Row};
    use ostler_core::ids::{ConversationId, DeliveryId, Millis};
    use uuid::Uuid;

    fn spawn(generation: u32) -> Event {
        Event::Spawn {
            generation,
            delivery: DeliveryId(Uuid::from_u128(1)),
            conversation: ConversationId(Uuid::from_u128(2)),
            resume: false,
            baseline: Default::default(),
            version: "2.1.332".to_owned(),
        }
    }

    fn parked() -> Event {
        Event::Parked { reason: "a reason".to_owned(), seen: Some(1) }
    }

    fn note(text: &str) -> Event {
        Event::Note { text: text.to_owned() }
    }

    /// A journal with these rows, a generation a list.
    fn has_parked_after(generations: &[&[Event]]) -> bool {
        let home = tempfile::tempdir().unwrap();
        let home = ostler_store::Home::open(home.path()).unwrap();
        let dir = home.session(SessionId(Uuid::from_u128(3)));
        for (no, rows) in (0..).zip(generations) {
            let files = dir.generation(no);
            std::fs::create_dir_all(&files.path).unwrap();
            let line = |ev: &Event| {
                let row = Row { at: Millis(1), off: 0, ev: ev.clone() };
                serde_json::to_string(&row).unwrap() + "\n"
            };
            std::fs::write(files.ctl(), rows.iter().map(line).collect::<String>()).unwrap();
        }
        has_parked(&dir).unwrap()
    }

    #[test]
    fn a_session_is_parked_until_a_generation_starts() {
        assert!(!has_parked_after(&[]));
        assert!(has_parked_after(&[&[parked()]]));
        assert!(has_parked_after(&[&[], &[spawn(1), parked(), note("more")]]));
        assert!(!has_parked_after(&[&[], &[spawn(1), parked()], &[spawn(2)]]));
        assert!(
            has_parked_after(&[&[], &[spawn(1), parked()], &[]]),
            "a folder whose start was never written"
        );
    }

    #[test]
    fn what_somebody_says_parks_and_starts_nothing() {
        assert!(!has_parked_after(&[&[], &[spawn(1), note(PARKED), note("parked")]]));
        assert!(has_parked_after(&[&[], &[spawn(1), parked(), note(SPAWN), note("spawn")]]));
    }
}
