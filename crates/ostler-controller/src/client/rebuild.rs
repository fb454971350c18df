//! Folding every journal again: the store must say the same.

use super::{ClientError, Ostler, Rebuilt};
use ostler_core::ids::{ConversationId, SessionId};
use ostler_core::limits::Limits;
use ostler_core::machine::Machine;
use ostler_core::rows::Projection;
use ostler_core::spec::LaunchSpec;
use ostler_store::db::SessionRow;
use ostler_store::{Flags, Home, SessionFile, base_file};

impl Ostler {
    /// Folds every journal again and compares with the store; `repair` replaces what differs, and makes the rows of
    /// sessions that a lost database had.
    ///
    /// # Errors
    /// A journal or the store can't be read.
    pub fn rebuild(&self, repair: bool) -> Result<Vec<Rebuilt>, ClientError> {
        let mut all = Vec::new();
        for session in self.on_disk()? {
            if self.db().session(session)?.is_none() {
                let made = repair && self.make_row(session)?;
                all.push(Rebuilt { session, differs: vec!["session".to_owned()] });
                if !made {
                    continue;
                }
            }
            let folded = fold_rows(self.home(), session)?;
            let stored = self.db().load_projection(session)?;
            let differs = differences(&folded, &stored);
            if repair && !differs.is_empty() {
                self.db().drop_derived(session)?;
                self.db().commit_projection(session, &folded, None)?;
            }
            match all.last_mut() {
                Some(last) if last.session == session => last.differs.extend(differs),
                _ => all.push(Rebuilt { session, differs }),
            }
        }
        Ok(all)
    }

    /// The row of a session whose folder is all that is left. What people have said of it stands there too, and what
    /// its agent has declared in its journal. False: the folder says nothing usable.
    fn make_row(&self, session: SessionId) -> Result<bool, ClientError> {
        let dir = self.home().session(session);
        let Ok(file) = SessionFile::read(&dir) else { return Ok(false) };
        let mut row = SessionRow::of(&file);
        let machine = fold_machine(self.home(), session)?;
        row.conversation = machine.conversation();
        row.record = crate::controller::wanted(&machine, &row.record).unwrap_or_default();
        if let Some(flags) = Flags::read(&dir) {
            (row.record.stopped, row.record.closed) = (flags.stopped, flags.closed);
        }
        if let Some(base) = base_file::read(&dir) {
            self.db().restore_base(&base)?;
        }
        if let Some(fork) = LaunchSpec::from_json(file.spec.get()).ok().and_then(|spec| spec.fork) {
            self.db().insert_fork(session, fork.session, fork.base, !fork.forced.is_empty())?;
        }
        self.db().insert_session(&row)?;
        Ok(true)
    }
}

impl Ostler {
    fn on_disk(&self) -> Result<Vec<SessionId>, ClientError> {
        let failed = |source| ClientError::File {
            what: "list the sessions of",
            path: self.home().root().to_owned(),
            source: Box::new(source),
        };
        self.home().sessions_on_disk().map_err(failed)
    }
}

/// What a session's journal says.
///
/// # Errors
/// The journal can't be read.
pub fn fold_rows(home: &Home, session: SessionId) -> Result<Projection, ClientError> {
    fold_machine(home, session).map(|machine| machine.project())
}

pub(super) fn fold_machine(home: &Home, session: SessionId) -> Result<Machine, ClientError> {
    let dir = home.session(session);
    let (mut conversation, mut limits) = (ConversationId(session.0), Limits::default());
    if let Ok(file) = SessionFile::read(&dir) {
        conversation = file.conversation;
        // How often a delivery may be offered is one of them, so the fold depends on it.
        limits = LaunchSpec::from_json(file.spec.get()).map_or(limits, |spec| spec.limits);
    }
    let mut machine = Machine::new(conversation, limits);
    crate::controller::fold(&dir, &mut machine, 0)
        .map_err(|source| ClientError::Journal { session, source: Box::new(source) })?;
    Ok(machine)
}

/// The tables in which two projections are not equal.
fn differences(folded: &Projection, stored: &Projection) -> Vec<String> {
    let tables = [
        ("generation", folded.generations == stored.generations),
        ("turn", folded.turns == stored.turns),
        ("delivery", folded.deliveries == stored.deliveries),
        ("permission", folded.permissions == stored.permissions),
        ("spend", folded.spend == stored.spend),
    ];
    tables.into_iter().filter(|(_, equal)| !equal).map(|(name, _)| name.to_owned()).collect()
}
