//! Cache entries on disk: one line an entry, `<hash> <ttl ms> <expiry ms>`.

use std::io;
use std::path::Path;

use super::{Cache, Entry};

/// Reads the entries; a missing file is an empty cache, and a line that isn't one is left out.
pub(crate) fn load(path: &Path) -> io::Result<Cache> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    Ok(Cache { entries: text.lines().filter_map(entry).collect() })
}

fn entry(line: &str) -> Option<(String, Entry)> {
    let mut words = line.split(' ');
    let hash = words.next().filter(|hash| hash.len() == 32)?;
    let entry = Entry { ttl_ms: words.next()?.parse().ok()?, expires_ms: words.next()?.parse().ok()? };
    Some((hash.to_owned(), entry))
}

/// Writes the entries, whole or not at all.
pub(crate) fn save(path: &Path, cache: &Cache) -> io::Result<()> {
    let mut text = String::with_capacity(cache.entries.len() * 64);
    for (hash, entry) in &cache.entries {
        text.push_str(&format!("{hash} {} {}\n", entry.ttl_ms, entry.expires_ms));
    }
    let new = path.with_extension("new");
    std::fs::write(&new, text)?;
    std::fs::rename(&new, path)
}
