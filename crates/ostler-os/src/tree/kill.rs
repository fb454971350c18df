//! Killing a tree whole.
//!
//! Nothing can stop a tree from growing while it is looked at, so it is looked at and killed again until there is
//! nothing left. What makes an end certain is the subreaper: whoever loses its parent becomes our child, whatever it
//! did to its session, group or environment, so that the tree is gone when our children are. A scope makes it certain
//! for trees that never were below us.

use super::platform::{self, Marker};
use super::{Entry, KillPlan, Killed, Table};
use crate::poll::Poller;
use crate::process::{PidFd, boot_id};
use crate::reap::{has_children, is_subreaper, reap_all};
use crate::scope::Scope;
use std::collections::{HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

/// How long one round waits for the deaths that it caused. Most take less than a millisecond.
const ROUND: Duration = Duration::from_millis(20);

/// How long to wait when there is nothing to wait on, as without descriptors.
const BREATH: Duration = Duration::from_millis(1);

/// How many deaths are waited for at once.
const HANDLES: usize = 256;

/// How often in a row our own children are killed before the whole table is read again. A chain of processes that
/// each start the next and end is faster than a reading of the table, but not faster than this.
const CHASES: usize = 64;

/// How far up the parents of a member of the scope are followed.
const PARENTS: usize = 64;

pub(super) fn run(plan: &KillPlan<'_>) -> io::Result<Killed> {
    let boot = boot_id()?;
    let roots = plan.roots.iter().filter(|root| root.boot_id == boot);
    let mut hunt = Hunt {
        plan,
        me: std::process::id(),
        marker: plan.marker.map(|(name, value)| Marker::new(name, value)),
        roots: roots.map(|root| (root.pid, root.start_ticks)).collect(),
        sent: HashSet::new(),
        sealed: false,
        crowded: false,
        result: Killed::default(),
    };
    let certain = plan.own_children && is_subreaper()?;
    let mut quiet_rounds = 0;
    while quiet_rounds < 2 {
        let reaped_before = hunt.result.reaped.len();
        if plan.own_children {
            hunt.chase_children()?;
        }
        let survivors = hunt.scan_and_kill()?;
        if survivors.is_empty() && !hunt.crowded && certain && !has_children()? {
            break;
        }
        // An empty scope stays empty: no second look is needed.
        let quiet = survivors.is_empty() && !hunt.crowded && hunt.result.reaped.len() == reaped_before;
        if quiet && hunt.is_emptied() {
            hunt.result.emptied = true;
            return Ok(hunt.result);
        }
        // Whoever is too quick to be seen alive still leaves us its status.
        if survivors.is_empty() && !hunt.crowded && hunt.result.reaped.len() == reaped_before {
            quiet_rounds += 1;
            continue;
        }
        quiet_rounds = 0;
        if Instant::now() >= plan.deadline {
            hunt.result.left = survivors;
            return Ok(hunt.result);
        }
    }
    hunt.result.proven = certain;
    hunt.result.emptied = hunt.is_emptied();
    Ok(hunt.result)
}

struct Hunt<'a> {
    plan: &'a KillPlan<'a>,
    me: u32,
    marker: Option<Marker>,
    /// What was asked for and whatever was found below: when a parent dies its children must not be forgotten.
    roots: HashSet<(u32, u64)>,
    /// Who was sent the signal.
    sent: HashSet<(u32, u64)>,
    /// The scope lets nobody start anything more.
    sealed: bool,
    /// Somebody was in the scope when this round began.
    crowded: bool,
    result: Killed,
}

/// What became of one process.
enum Shot {
    /// It was dead, or isn't the one that was meant any more.
    Gone,
    /// The signal is on its way.
    Hit(PidFd),
    /// It lives and couldn't be killed.
    Missed,
}

impl Hunt<'_> {
    fn stays(&self, pid: u32) -> bool {
        pid == self.me || (self.plan.keep)(pid)
    }

    /// Who is in the scope. Nobody where it can't be looked at, which [`Hunt::is_emptied`] tells apart.
    fn members(&self) -> HashSet<u32> {
        let members = self.plan.scope.map(Scope::members);
        members.and_then(Result::ok).unwrap_or_default().into_iter().collect()
    }

    /// Whoever is in the scope, after two rounds that found nobody to kill, is to be kept.
    fn is_emptied(&self) -> bool {
        self.plan.scope.is_some_and(|scope| scope.is_joined() && scope.members().is_ok())
    }

    /// The members of the scope that are to be killed: all but the kept ones and what is below those.
    fn doomed_members(&self, table: &Table) -> HashSet<u32> {
        let members = self.members();
        if members.is_empty() {
            return members;
        }
        let kept: HashSet<u32> = members.iter().copied().filter(|pid| self.stays(*pid)).collect();
        if kept.is_empty() {
            return members;
        }
        let parents: HashMap<u32, u32> =
            table.entries.iter().map(|entry| (entry.pid, entry.parent)).collect();
        let is_below = |pid: &u32| {
            let mut at = Some(*pid);
            for _ in 0..PARENTS {
                match at {
                    Some(pid) if kept.contains(&pid) => return true,
                    Some(pid) => at = parents.get(&pid).copied(),
                    None => return false,
                }
            }
            false
        };
        members.iter().copied().filter(|pid| !is_below(pid)).collect()
    }

    /// Nobody in the scope can start anything from here on, unless somebody in it is to be kept.
    fn seal(&mut self) {
        let Some(scope) = self.plan.scope.filter(|_| !self.sealed) else { return };
        if !self.members().into_iter().any(|pid| self.stays(pid)) {
            scope.seal();
            self.sealed = true;
        }
    }

    /// Who is in the tree now; true when anybody of them is in the scope, seen alive or not.
    fn scan(&self) -> io::Result<(Vec<Entry>, bool)> {
        let table = Table::read()?;
        let members = self.doomed_members(&table);
        let is_start = |entry: &&Entry| {
            self.roots.contains(&(entry.pid, entry.start_ticks))
                || members.contains(&entry.pid)
                || (self.plan.own_children && entry.parent == self.me)
                || self.marker.as_ref().is_some_and(|marker| marker.is_on(entry.pid))
        };
        let starts: Vec<u32> = table.entries.iter().filter(is_start).map(|entry| entry.pid).collect();
        let mut found = table.below(starts, &|pid| self.stays(pid));
        // Born since the table was read.
        let seen: HashSet<u32> = found.iter().map(|entry| entry.pid).collect();
        for pid in members.difference(&seen) {
            found.extend(platform::entry(*pid)?);
        }
        Ok((found, !members.is_empty()))
    }

    /// One round; gives who lived at its end, as far as known.
    fn scan_and_kill(&mut self) -> io::Result<Vec<u32>> {
        let mut survivors = Vec::new();
        let mut dying = Vec::new();
        self.seal();
        let (found, crowded) = self.scan()?;
        self.crowded = crowded;
        for entry in found {
            self.roots.insert((entry.pid, entry.start_ticks));
            match self.shoot(entry)? {
                Shot::Gone => {}
                Shot::Hit(handle) => {
                    survivors.push(entry.pid);
                    if dying.len() < HANDLES {
                        dying.push(handle);
                    }
                }
                Shot::Missed => survivors.push(entry.pid),
            }
        }
        if let Some(scope) = self.plan.scope.filter(|_| self.sealed && crowded) {
            // Whoever was born since the scan.
            scope.kill();
        }
        let end = Instant::now() + ROUND;
        for handle in &dying {
            handle.wait(end)?;
        }
        if dying.is_empty() && !survivors.is_empty() {
            Poller::new().wait(Some(Instant::now() + BREATH))?;
        }
        self.reap()?;
        Ok(survivors)
    }

    fn chase_children(&mut self) -> io::Result<()> {
        for _ in 0..CHASES {
            let mut hit = false;
            for pid in platform::own_children() {
                if self.stays(pid) {
                    continue;
                }
                hit |= self.shoot_child(pid)?;
            }
            self.reap()?;
            if !hit {
                break;
            }
        }
        Ok(())
    }

    fn shoot(&mut self, entry: Entry) -> io::Result<Shot> {
        // Descriptors may be short and another user's process out of reach: it lives on and is tried again.
        let Ok(handle) = PidFd::open(entry.pid) else { return Ok(Shot::Missed) };
        let Some(handle) = handle else { return Ok(Shot::Gone) };
        // From here on the pid can't change hands unnoticed; it may have before.
        let same = platform::entry(entry.pid)?.is_some_and(|now| now.start_ticks == entry.start_ticks);
        if !same || handle.is_dead()? {
            return Ok(Shot::Gone);
        }
        match handle.kill() {
            Ok(true) => {
                self.count(entry);
                Ok(Shot::Hit(handle))
            }
            Ok(false) => Ok(Shot::Gone),
            Err(_) => Ok(Shot::Missed),
        }
    }

    /// Like [`Hunt::shoot`], for a child of ours and in a hurry: whoever runs ahead is hit before its next step or
    /// not at all. Its pid is its own until we reap it. True when it lived.
    fn shoot_child(&mut self, pid: u32) -> io::Result<bool> {
        let Ok(Some(handle)) = PidFd::open(pid) else { return Ok(false) };
        if handle.is_dead()? || !handle.kill().unwrap_or(false) {
            return Ok(false);
        }
        if let Some(entry) = platform::entry(pid)? {
            self.count(entry);
        }
        Ok(true)
    }

    fn count(&mut self, entry: Entry) {
        if self.sent.insert((entry.pid, entry.start_ticks)) {
            self.result.killed += 1;
        }
    }

    fn reap(&mut self) -> io::Result<()> {
        if self.plan.own_children {
            self.result.reaped.extend(reap_all()?);
        }
        Ok(())
    }
}
