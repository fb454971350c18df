//! `ostler fork --wait`: the forks one after the other, and what they came to together.

use super::super::closing::{self, Manner};
use super::super::face::Face;
use super::super::follow::Ended;
use super::super::{found, wait};
use super::Made;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::ForksEvent;
use crate::view::{Style, dollars, one_line, tokens};
use ostler_controller::client::{Ostler, Source};
use ostler_core::rows::{CacheSeen, CacheVerdict};
use std::time::{Duration, Instant};

/// What forks came to together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) hit: u32,
    pub(crate) partial: u32,
    pub(crate) miss: u32,
    /// Nobody has compared them: they were never answered.
    pub(crate) unseen: u32,
    pub(crate) read: u64,
    /// Dollars that are known.
    pub(crate) usd: f64,
    /// How many of them have dollars that are not known.
    pub(crate) unknown: u32,
    /// Dollars of the base apart; None: it is none, or not known.
    pub(crate) base_usd: Option<f64>,
}

impl Sum {
    fn add(&mut self, cache: Option<CacheSeen>, usd: Option<f64>) {
        match cache.map(CacheSeen::verdict) {
            Some(CacheVerdict::Hit) => self.hit += 1,
            Some(CacheVerdict::Partial) => self.partial += 1,
            Some(CacheVerdict::Miss) => self.miss += 1,
            None => self.unseen += 1,
        }
        self.read = self.read.saturating_add(cache.map_or(0, |seen| seen.read));
        self.usd += usd.unwrap_or(0.0);
        self.unknown += u32::from(usd.is_none());
    }
}

/// Waits for each, prints each, and gives the status of the first that did not complete.
pub(super) fn all(
    face: &mut Face,
    ostler: &Ostler,
    source: &Source,
    made: &[Made],
    timeout: Option<Duration>,
) -> Result<Exit, Failure> {
    let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
    let mut sum = Sum::default();
    let mut exit = Exit::Completed;
    for (at, fork) in made.iter().enumerate() {
        if !face.json && !face.quiet {
            let name = found::short(ostler, fork.session);
            let label = fork.label.as_deref().map(|l| format!("  ({})", one_line(l))).unwrap_or_default();
            let head = format!("── fork {} of {}: {name}{label}", at + 1, made.len());
            face.print(&format!("{}\n", face.paint.apply(Style::Bold, &head)))?;
        }
        let ended = wait::waited(face, ostler, fork.session, None, deadline)?;
        let label = fork.label.as_deref();
        let one = if matches!(ended, Ended::Shown) {
            closing::late(face, ostler, fork.session, label)?
        } else {
            let manner = if face.json { Manner::Shown } else { Manner::Whole };
            closing::close(face, ostler, fork.session, label, &ended, manner)?
        };
        if exit == Exit::Completed {
            exit = one;
        }
        let summary = ostler.summary(fork.session)?;
        // An empty sum is no spend: a fork without a row has not been billed yet.
        let spent = summary.usd.filter(|_| summary.turns > 0);
        sum.add(summary.cache, spent);
    }
    if source.base.is_some() {
        sum.base_usd = ostler.summary(source.row.id)?.usd;
    }
    if face.json {
        face.event(&ForksEvent::of(&source.name(), &sum))?;
    } else if !face.quiet {
        face.remark(&line(source, &sum, made.len()));
    }
    Ok(exit)
}

fn line(source: &Source, sum: &Sum, count: usize) -> String {
    let known = if sum.unknown > 0 { format!(" and {} unknown", sum.unknown) } else { String::new() };
    let base = sum.base_usd.map(|usd| format!("; the base {} apart", dollars(Some(usd)))).unwrap_or_default();
    let unseen = if sum.unseen > 0 { format!(", {} not seen", sum.unseen) } else { String::new() };
    format!(
        "{count} forks of {}: {} hit, {} partial, {} missed{unseen}; cache {} read; {}{known}{base}",
        one_line(&source.name()),
        sum.hit,
        sum.partial,
        sum.miss,
        tokens(sum.read),
        dollars(Some(sum.usd)),
    )
}
