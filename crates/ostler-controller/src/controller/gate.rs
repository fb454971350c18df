//! What a start has to wait for besides its session: limits of who pays, and slots of the machine.
//!
//! All of it is files in the home, so nobody has to be asked: a row in the store for each credential that is refused,
//! and locks in `slots/`. A lock ends with its holder. Whoever waits looks again a few times a second, in no order; a
//! slot is held for a start, or for a child's life, so nobody waits for ever.

use super::error::ControllerError;
use super::{Controller, journal, log};
use ostler_core::env::{ChildStart, Identity, Place, child_env};
use ostler_core::ids::Millis;
use ostler_core::machine::{AUTHENTICATION, Phase, RATE_LIMIT};
use ostler_core::rows::Outcome;
use ostler_os::lockfile::{self, Lock};
use ostler_os::{durable, limits};
use ostler_store::db::{Glance, RateLimit};
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};

/// How often it is looked whether a limit stands.
const LOOK: Duration = Duration::from_millis(250);
/// What one child is reckoned to need, in bytes.
const CHILD: u64 = 400 << 20;
/// The longest back-off behind a limit whose end nobody announced, in multiples of the first.
const MOST: u64 = 15;
/// Those who wait for an announced time come within this much behind it, in milliseconds.
const JITTER: u64 = 5_000;

/// Why nothing is started though something waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// Until then, as the API said; None: nobody said.
    Limited(Option<Millis>),
    /// Until somebody sends something.
    Refused,
    /// For one of the machine's slots.
    Slot,
    /// For another fork of the same source to end.
    Forks,
    /// For the first fork of a cold base to be answered.
    Canary,
}

/// What is held, and what is waited for.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// Who pays, a name and no secret.
    credential: Option<String>,
    waits: Option<Waits>,
    looked: Option<Instant>,
    /// The limit's row, as it was read last, and of which credential.
    row: Option<(String, Option<RateLimit>)>,
    /// Whether it may be another one by now.
    glance: Option<Glance>,
    /// We are the one who tries.
    probe: Option<Lock>,
    /// Held until the child's first line.
    start: Option<Lock>,
    /// Held as long as the child lives.
    child: Option<Lock>,
    /// The same, among the forks of one source.
    pub(super) fork: Option<Lock>,
    /// Held until the first answer of a fork of a cold base.
    pub(super) canary: Option<Lock>,
}

impl Gate {
    /// For people.
    pub(super) fn words(&self) -> Option<String> {
        Some(match self.waits.as_ref()? {
            Waits::Limited(Some(until)) => format!("rate limited until {}", until.0 / 1000),
            Waits::Limited(None) => "rate limited until unknown".to_owned(),
            Waits::Refused => {
                "credential refused: sign in again or renew it, then send a message to try it".to_owned()
            }
            Waits::Slot => "waiting for a slot".to_owned(),
            Waits::Forks => "waiting for another fork to end".to_owned(),
            Waits::Canary => "waiting for the first fork to warm the cache".to_owned(),
        })
    }

    pub(super) const fn waits(&self) -> bool {
        self.waits.is_some()
    }

    pub(super) fn wait_for(&mut self, what: Waits) {
        self.waits = Some(what);
    }

    /// For something that is held for a start or for a child's life.
    fn waits_for_room(&self) -> bool {
        matches!(self.waits, Some(Waits::Slot | Waits::Forks | Waits::Canary))
    }

    /// No turn may begin, neither by a start nor in a child that is there.
    pub(super) const fn limited(&self) -> bool {
        matches!(self.waits, Some(Waits::Limited(_) | Waits::Refused))
    }
}

impl Controller {
    /// True when a generation may be started now; everything that it has to hold is held then.
    pub(super) fn may_start(&mut self) -> Result<bool, ControllerError> {
        self.gate.looked = None;
        self.look_at_limit()?;
        if self.gate.limited() {
            return Ok(false);
        }
        if !self.may_fork()? {
            return Ok(false);
        }
        let dir = self.home.slots_dir();
        if self.gate.child.is_none() {
            self.gate.child = slot(&dir.join("child"), child_slots())?;
        }
        if self.gate.child.is_some() && self.gate.start.is_none() {
            self.gate.start = slot(&dir.join("start"), start_slots())?;
        }
        if self.gate.start.is_none() {
            // Who waits for the one holds not the other.
            self.gate.child = None;
            self.gate.fork = None;
            self.gate.canary = None;
            self.gate.waits = Some(Waits::Slot);
            return Ok(false);
        }
        self.gate.waits = None;
        Ok(true)
    }

    /// A child was taken over: it counts, whether there is a slot for it or not.
    pub(super) fn count_child(&mut self) -> Result<(), ControllerError> {
        self.gate.child = slot(&self.home.slots_dir().join("child"), child_slots())?;
        self.count_fork()
    }

    /// Gives back what is not needed any more, and looks whether a limit stands.
    pub(super) fn tend_gate(&mut self) -> Result<(), ControllerError> {
        if self.machine.phase() == Phase::Cold || self.machine.has_spoken() {
            self.gate.start = None;
        }
        if self.machine.phase() == Phase::Cold && !self.gate.waits_for_room() {
            self.gate.child = None;
            self.gate.fork = None;
            self.gate.canary = None;
        }
        if self.machine.phase() != Phase::Cold && self.gate.waits_for_room() {
            self.gate.waits = None;
        }
        if self.gate.probe.is_some() && self.machine.api_answers() {
            self.lift()?;
        }
        if self.wants.pending.is_empty() {
            self.gate.waits = None;
            return Ok(());
        }
        self.look_at_limit()
    }

    fn look_at_limit(&mut self) -> Result<(), ControllerError> {
        if self.gate.looked.is_some_and(|at| at.elapsed() < LOOK) {
            return Ok(());
        }
        self.gate.looked = Some(Instant::now());
        let Some(credential) = self.credential() else { return Ok(()) };
        let waits = match self.limit_of(&credential)? {
            Some(row) => self.waits_for(&row)?,
            None => {
                self.gate.probe = None;
                None
            }
        };
        if waits.is_some() || self.gate.limited() {
            self.gate.waits = waits;
        }
        Ok(())
    }

    /// The store is asked only when somebody has written to it.
    fn limit_of(&mut self, credential: &str) -> Result<Option<RateLimit>, ControllerError> {
        let db = &self.db;
        let changed = self.gate.glance.get_or_insert_with(|| db.glance()).changed();
        if let Some((_, row)) = self.gate.row.as_ref().filter(|(of, _)| !changed && of == credential) {
            return Ok(row.clone());
        }
        // Forgotten first: a store that can't be read now is asked again.
        self.gate.row = None;
        let row = self.db.rate_limit(credential)?;
        self.gate.row = Some((credential.to_owned(), row.clone()));
        Ok(row)
    }

    fn waits_for(&mut self, row: &RateLimit) -> Result<Option<Waits>, ControllerError> {
        if self.gate.probe.is_some() {
            return Ok(None);
        }
        let Some(next) = row.next_try else {
            // Whoever sends something knows better than we do.
            let acted = self.wants.pending.iter().any(|p| p.accepted_at > row.since);
            return Ok((!acted).then_some(Waits::Refused));
        };
        if journal::wall() >= next {
            let file = format!("probe-{}", row.credential);
            self.gate.probe = lockfile::try_lock(&self.home.slots_dir().join(file))?;
        }
        Ok(self.gate.probe.is_none().then_some(Waits::Limited(row.until)))
    }

    /// A turn has settled: what it says of who pays.
    pub(super) fn learn_of_limit(&mut self) -> Result<(), ControllerError> {
        let Some((outcome, failure)) = self.machine.last_outcome() else { return Ok(()) };
        let Some(credential) = self.credential() else { return Ok(()) };
        let now = journal::wall();
        match failure.as_deref() {
            Some(RATE_LIMIT) => {
                let announced = self.machine.limit_until().map(|s| Millis(s.saturating_mul(1000)));
                let until = announced.filter(|until| *until > now);
                let (first, jitter) = (self.machine.limits().backoff, self.jitter());
                self.db.limit_refused(&credential, now, until, |tries| {
                    Some(match until {
                        Some(until) => later(until, jitter),
                        None => later(now, backoff(first, tries)),
                    })
                })?;
                log("the API refuses for now; no turn begins until it takes requests again");
            }
            Some(AUTHENTICATION) => {
                self.db.limit_refused(&credential, now, None, |_| None)?;
                log(
                    "the API does not take the credential; nothing more is tried with it until somebody sends something",
                );
            }
            _ if outcome == Outcome::Completed => drop(self.db.limit_lifted(&credential)?),
            _ => {}
        }
        self.gate.probe = None;
        self.gate.looked = None;
        self.look_at_limit()
    }

    /// The API has answered: whoever waits may go on.
    fn lift(&mut self) -> Result<(), ControllerError> {
        if let Some(credential) = self.credential() {
            self.db.limit_lifted(&credential)?;
        }
        self.gate.probe = None;
        self.gate.waits = None;
        Ok(())
    }

    /// Different for each session, the same each time.
    fn jitter(&self) -> u64 {
        let digest = Sha256::digest(self.session.0);
        (u64::from(digest[0]) << 8 | u64::from(digest[1])) % JITTER
    }

    /// Who pays: a word, and of what decides it the first bytes of a hash. A lab session pays nobody.
    fn credential(&mut self) -> Option<String> {
        if self.spec.lab.is_some() {
            return Some(format!("lab-{}", self.session));
        }
        if self.machine.phase() == Phase::Cold || self.gate.credential.is_none() {
            // What a name stands for may have been replaced since.
            self.gate.credential = self.name_credential();
        }
        self.gate.credential.clone()
    }

    fn name_credential(&self) -> Option<String> {
        let platform = ostler_core::argv::Platform::of(std::env::consts::OS);
        // What does not pay is not looked at.
        let identity = Identity { session: self.session, generation: 0, token: "" };
        let place = Place { home: "", program: "" };
        let start = ChildStart { identity, place, lab: None, platform };
        let parent: Vec<_> = std::env::vars_os().collect();
        let read = |path: &str| std::fs::read_to_string(path).map_err(|e| e.to_string());
        // A start that fails for this says so itself.
        let env = child_env(&self.spec, &parent, &read, &start).ok()?;
        let mut hash = Sha256::new();
        for name in [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "CLAUDE_CONFIG_DIR",
            "HOME",
        ] {
            let value = env.iter().find(|(known, _)| known == name).map(|(_, value)| value.to_string_lossy());
            // A key is the same one wherever its user lives.
            if matches!(name, "CLAUDE_CONFIG_DIR" | "HOME")
                && self.spec.environment.credential.word() != "login"
            {
                continue;
            }
            hash.update(value.as_deref().unwrap_or_default().as_bytes());
            hash.update([0]);
        }
        let hash = hash.finalize();
        let short: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        Some(format!("{}-{short}", self.spec.environment.credential.word()))
    }
}

/// A free slot of `count`.
pub(super) fn slot(dir: &std::path::Path, count: u64) -> Result<Option<Lock>, ControllerError> {
    durable::create_dir_private(dir)?;
    for n in 0..count {
        if let Some(lock) = lockfile::try_lock(&dir.join(n.to_string()))? {
            return Ok(Some(lock));
        }
    }
    Ok(None)
}

/// How many children may start at once: twice the processors, or as `OSTLER_START_SLOTS` says.
fn start_slots() -> u64 {
    set_by("OSTLER_START_SLOTS")
        .unwrap_or_else(|| u64::try_from(limits::cpus()).unwrap_or(1).saturating_mul(2))
}

/// How many children there may be: as many as the machine's memory holds, at least 4, or as `OSTLER_CHILD_SLOTS` says.
fn child_slots() -> u64 {
    let by_memory = || limits::memory().map_or(0, |memory| memory.total / CHILD);
    set_by("OSTLER_CHILD_SLOTS").unwrap_or_else(|| by_memory().max(4))
}

fn set_by(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok().filter(|n| *n > 0)
}

fn later(at: Millis, ms: u64) -> Millis {
    Millis(at.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
}

/// 1, 2, 4, 8, 15, 15 … times the first.
fn backoff(first: u64, tries: u64) -> u64 {
    let factor =
        1_u64.checked_shl(u32::try_from(tries.saturating_sub(1)).unwrap_or(u32::MAX)).unwrap_or(MOST);
    first.saturating_mul(factor.min(MOST))
}

#[cfg(test)]
mod tests {
    use super::backoff;

    #[test]
    fn the_back_off_doubles_to_a_quarter_of_an_hour() {
        let minutes: Vec<_> = (1..=7).map(|tries| backoff(60_000, tries) / 60_000).collect();
        assert_eq!(minutes, [1, 2, 4, 8, 15, 15, 15]);
        assert_eq!(backoff(60_000, u64::MAX), 15 * 60_000);
    }
}
