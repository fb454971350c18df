//! Permission rules: made, listed, removed, explained.

use super::{ClientError, Decider, Ostler};
use ostler_core::ids::{Millis, RuleId, SessionId};
use ostler_core::rule::{self, Call, Effect, MAX_RULES, Pattern, Place, Rule, Scope};
use ostler_store::SessionFile;
use ostler_store::db::RuleAdded;

/// A rule to be made.
#[derive(Clone, Debug)]
pub struct NewRule {
    /// Its id, chosen by the caller.
    pub id: RuleId,
    /// What it says.
    pub effect: Effect,
    /// Of which calls, as docs/permissions.md says.
    pub pattern: String,
    /// Where.
    pub scope: Scope,
    /// Who makes it: `cli`, `http`, …
    pub by: String,
    /// It holds until then.
    pub expires_at: Option<Millis>,
    /// When.
    pub at: Millis,
}

/// Where a call is made that rules are held against.
#[derive(Clone, Debug)]
pub enum Where {
    /// In this session.
    Session(SessionId),
    /// In any session that would run there.
    Elsewhere {
        /// Its working directory, absolute.
        cwd: String,
        /// Its label.
        label: Option<String>,
    },
}

/// Which rule decides a call, and which others speak of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The one that decides; None: the session's policy does.
    pub by: Option<Rule>,
    /// Rules that speak of the call too, and count less.
    pub besides: Vec<Rule>,
}

impl Ostler {
    /// Every rule, the oldest first; also those that are over and were not removed yet.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn rules(&self) -> Result<Vec<Rule>, ClientError> {
        Ok(self.db().rules()?)
    }

    /// Makes a rule. It holds from now on, also for questions that are open: their controllers are told.
    ///
    /// # Errors
    /// [`ClientError::Pattern`], [`ClientError::TooManyRules`], [`ClientError::Inside`] (of any session); the store
    /// can't be written.
    pub fn add_rule(&self, new: &NewRule, decider: Decider) -> Result<Rule, ClientError> {
        self.refuse_inside_any(decider)?;
        let pattern: Pattern = new.pattern.parse()?;
        pattern.check(new.effect)?;
        let rule = Rule {
            id: new.id,
            effect: new.effect,
            pattern,
            scope: new.scope.clone(),
            made_by: new.by.clone(),
            made_at: new.at,
            expires_at: new.expires_at,
        };
        match self.db().add_rule(&rule)? {
            RuleAdded::New => {}
            RuleAdded::TooMany => return Err(ClientError::TooManyRules { limit: MAX_RULES }),
        }
        for row in self.db().pending_permissions(None)? {
            // Whoever can't be told looks by itself.
            let _ = self.poke(row.session);
        }
        Ok(rule)
    }

    /// Removes a rule; false: there was none. What it has decided stays decided.
    ///
    /// # Errors
    /// [`ClientError::Inside`] (of any session); the store can't be written.
    pub fn remove_rule(&self, id: RuleId, decider: Decider) -> Result<bool, ClientError> {
        self.refuse_inside_any(decider)?;
        Ok(self.db().remove_rule(id)?)
    }

    /// Says which rule decides a call there and now.
    ///
    /// # Errors
    /// The session's file or the store can't be read.
    pub fn explain(&self, place: &Where, call: &Call, at: Millis) -> Result<Explained, ClientError> {
        let rules = self.db().rules()?;
        let (session, cwd, label) = match place {
            Where::Session(id) => {
                let dir = self.home().session(*id);
                let failed = |source| ClientError::File {
                    what: "read",
                    path: dir.session_json(),
                    source: Box::new(source),
                };
                let file = SessionFile::read(&dir).map_err(failed)?;
                (Some(*id), file.cwd, file.label)
            }
            Where::Elsewhere { cwd, label } => (None, cwd.clone(), label.clone()),
        };
        let place = Place { session, label: label.as_deref(), cwd: &cwd };
        let by = rule::choose(&rules, call, &place, at).cloned();
        let others = rules.iter().filter(|r| Some(r.id) != by.as_ref().map(|b| b.id));
        let besides = others.filter(|r| r.fits(call, &place, at)).cloned().collect();
        Ok(Explained { by, besides })
    }
}
