//! The prompt cache: which part of a request was read from it and which was written to it.
//!
//! A request is a row of blocks: tools, then system, then messages. Each `cache_control` marks the end of a prefix.
//! An entry is such a prefix, kept for its time to live and per model. A request reads the longest entry that ends at
//! one of its marks or at most 20 blocks before one, and writes its own marked prefixes behind that. The rules are
//! Anthropic's public ones on prompt caching, except that there is no smallest prefix.

pub(crate) mod blocks;
pub(crate) mod store;

use std::collections::BTreeMap;

use crate::price::bill::Tokens;
use blocks::Blocks;

/// How far before a mark an entry may end.
const LOOK_BACK: usize = 20;
/// Entries held; those that expire first go first.
const MAX_ENTRIES: usize = 20_000;

/// How long an entry lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ttl {
    FiveMinutes,
    OneHour,
}

impl Ttl {
    fn ms(self) -> u64 {
        match self {
            Ttl::FiveMinutes => 300_000,
            Ttl::OneHour => 3_600_000,
        }
    }
}

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) ttl_ms: u64,
    pub(crate) expires_ms: u64,
}

/// All entries, by the hash of model and prefix.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    pub(crate) entries: BTreeMap<String, Entry>,
}

impl Cache {
    /// Charges a request's input: what it reads, what it writes, what it does neither with. Entries that were read
    /// live on from now.
    pub(crate) fn charge(&mut self, blocks: &Blocks, now_ms: u64) -> Tokens {
        self.entries.retain(|_, entry| entry.expires_ms > now_ms);
        let read_blocks = self.longest_read(blocks);
        let mut tokens = Tokens { cache_read: blocks.tokens_up_to(read_blocks), ..Tokens::default() };
        let mut done = read_blocks;
        for mark in &blocks.marks {
            if mark.blocks <= read_blocks {
                self.refresh(&blocks.prefixes[mark.blocks - 1].hash, now_ms);
                continue;
            }
            let written = blocks.tokens_up_to(mark.blocks) - blocks.tokens_up_to(done);
            match mark.ttl {
                Ttl::FiveMinutes => tokens.cache_write_5m += written,
                Ttl::OneHour => tokens.cache_write_1h += written,
            }
            done = mark.blocks;
            let entry = Entry { ttl_ms: mark.ttl.ms(), expires_ms: now_ms + mark.ttl.ms() };
            self.entries.insert(blocks.prefixes[mark.blocks - 1].hash.clone(), entry);
        }
        if let Some(read) = read_blocks.checked_sub(1) {
            self.refresh(&blocks.prefixes[read].hash, now_ms);
        }
        tokens.input = blocks.tokens_up_to(blocks.prefixes.len()) - blocks.tokens_up_to(done);
        self.bound();
        tokens
    }

    /// How many blocks of the request an entry covers.
    fn longest_read(&self, blocks: &Blocks) -> usize {
        blocks
            .marks
            .iter()
            .rev()
            .find_map(|mark| {
                let first = mark.blocks.saturating_sub(LOOK_BACK).max(1);
                (first..=mark.blocks).rev().find(|&n| self.entries.contains_key(&blocks.prefixes[n - 1].hash))
            })
            .unwrap_or(0)
    }

    fn refresh(&mut self, hash: &str, now_ms: u64) {
        if let Some(entry) = self.entries.get_mut(hash) {
            entry.expires_ms = now_ms + entry.ttl_ms;
        }
    }

    fn bound(&mut self) {
        while self.entries.len() > MAX_ENTRIES {
            let first = self.entries.iter().min_by_key(|(_, entry)| entry.expires_ms);
            let Some(hash) = first.map(|(hash, _)| hash.clone()) else { return };
            self.entries.remove(&hash);
        }
    }
}

#[cfg(test)]
#[path = "cache/tests.rs"]
mod tests;
