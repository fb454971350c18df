//! Compares what ostler says with what the children really read, ran and wrote: journals, processes, and what folding
//! them again gives. What became of messages and of whole sessions is in `verdicts.rs`.

use crate::messages::NAME;
use crate::stage::{Session, Stage, rows};
use crate::told::Shared;
use crate::verdicts;
use claude_lab::fake::Hash;
use ostler_controller::client::Ostler;
use ostler_core::ctl::{Decision, Event, Exit};
use ostler_core::ids::GenerationNo;
use ostler_store::{Cursor, Entry};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// What the black boxes of a session say of one message.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// Generations whose child read it, and the hash of what it said.
    pub(crate) read: Vec<(GenerationNo, String)>,
    /// Generations whose child took it up.
    pub(crate) started: Vec<GenerationNo>,
    /// Results that name it and are in the journal.
    pub(crate) results: Vec<(GenerationNo, String)>,
}

/// Everything that is wrong goes to `shared.counts`.
pub(crate) fn judge(stage: &Stage, sessions: &[Session], shared: &Shared) {
    let face = stage.face();
    let counts = &shared.counts;
    let mut unproven = 0;
    match face.db().chores() {
        Ok(left) if left.is_empty() => {}
        left => counts.fail(format!("what was begun is not finished: {left:?}")),
    }
    for session in sessions {
        let fail = |what: String| counts.fail(format!("session {} ({}): {what}", session.id, session.nature));
        if !verdicts::is_there(&face, session, shared) {
            continue;
        }
        let mut truths: BTreeMap<String, Truth> = BTreeMap::new();
        for no in session.dir.generations().unwrap_or_default() {
            match generation(session, no, &mut truths, shared) {
                Ok(proven) => unproven += u64::from(!proven),
                Err(what) => fail(format!("generation {no}: {what}")),
            }
        }
        if let Err(what) = follows(&face, session) {
            fail(what);
        }
        verdicts::deliveries(&face, session, &truths, shared);
        verdicts::taken_back(&face, session, &truths, shared);
        verdicts::declarations(&face, session, shared);
        for row in face.db().load_projection(session.id).map(|p| p.permissions).unwrap_or_default() {
            if row.decision == Some(Decision::Allow) && row.decided_by.as_deref() != Some(NAME) {
                fail(format!("allowed, and nobody said so: {row:?}"));
            }
        }
    }
    match face.rebuild(false) {
        Ok(all) => {
            for one in all.into_iter().filter(|one| !one.differs.is_empty()) {
                counts
                    .fail(format!("session {}: rebuilding gives other rows: {:?}", one.session, one.differs));
            }
        }
        Err(error) => counts.fail(format!("rebuilding fails: {error}")),
    }
    let left = stage.processes();
    if !left.is_empty() {
        counts.fail(format!("processes are left: {}", describe(&left)));
    }
    // What has neither parent nor marker can only be found while its keeper lives, and then the row says so.
    let sleepers: Vec<u32> = stage.sleepers().into_iter().filter(|pid| !left.contains(pid)).collect();
    counts.add_many("left, where teardown said that it proves nothing", sleepers.len() as u64);
    if !sleepers.is_empty() && unproven == 0 {
        counts.fail(format!("left, and every teardown says it is proven: {}", describe(&sleepers)));
    }
    counts.add_many("generations whose end is not proven", unproven);
}

fn describe(pids: &[u32]) -> String {
    let words = |pid: &u32| ostler_os::process::command_line(*pid).ok().flatten().unwrap_or_default();
    pids.iter().map(|pid| format!("{pid} {:?} ", words(pid))).collect()
}

/// A generation's journal against its black box; false: the end of its tree is not proven.
fn generation(
    session: &Session,
    no: GenerationNo,
    truths: &mut BTreeMap<String, Truth>,
    shared: &Shared,
) -> Result<bool, String> {
    let events = rows(&session.dir.generation(no));
    let dead = events.iter().find_map(|event| match event {
        Event::Dead { exit, proven, .. } => Some((*exit, *proven)),
        _ => None,
    });
    if no == 0 {
        return Ok(true);
    }
    let Some((exit, proven)) = dead else {
        // A folder without a `spawn` row is what a killed controller leaves; nothing ever ran there.
        let spawned = events.iter().any(|event| matches!(event, Event::Spawn { .. }));
        return if spawned { Err("it has no end".to_owned()) } else { Ok(true) };
    };
    shared.counts.add("generations");
    let out = fs::read(session.dir.generation(no).out()).unwrap_or_default();
    let Some(bytes) = black_box(session, no)? else {
        return if out.is_empty() { Ok(proven) } else { Err("it wrote, and kept no black box".to_owned()) };
    };
    let mut before = (0, Hash::default().text());
    let mut last = before.clone();
    let mut result: Option<Value> = None;
    for row in bytes.lines().filter_map(|row| serde_json::from_str::<Value>(row).ok()) {
        if row["alone"] == false {
            return Err("another child of the session lived".to_owned());
        }
        if row["read"] == "user" {
            truths.entry(word(&row["uuid"])).or_default().read.push((no, word(&row["says"])));
        }
        if row["started"].is_string() {
            truths.entry(word(&row["started"])).or_default().started.push(no);
        }
        if row["result"].is_string() {
            result = Some(row.clone());
        }
        let Some(len) = row["len"].as_u64() else { continue };
        before = std::mem::replace(&mut last, (len, word(&row["hash"])));
        if let Some(result) = result.take().filter(|_| out.len() as u64 >= len) {
            for uuid in result["uuids"].as_array().into_iter().flatten() {
                truths.entry(word(uuid)).or_default().results.push((no, word(&result["result"])));
            }
        }
    }
    shared.counts.add_many("bytes compared", out.len() as u64);
    let hash_of = |len: u64| {
        let mut hash = Hash::default();
        hash.add(&out[..usize::try_from(len).unwrap_or(usize::MAX).min(out.len())]);
        hash.text()
    };
    let len = out.len() as u64;
    if len == last.0 && hash_of(len) == last.1 {
        return Ok(proven);
    }
    // Killed between the black box's row and the write, or inside the write.
    let by_signal = matches!(exit, Exit::Signal(_) | Exit::Unknown);
    if by_signal && (before.0..last.0).contains(&len) && hash_of(before.0) == before.1 {
        shared.counts.add("children killed inside a write");
        return Ok(proven);
    }
    Err(format!("its journal has {len} bytes, it wrote {} (and {} before that); {exit:?}", last.0, before.0))
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The black box of the one child of a generation.
fn black_box(session: &Session, no: GenerationNo) -> Result<Option<String>, String> {
    let folder = session.folder.join("box");
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|e| e.to_string())?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.split_once('-').is_some_and(|(of, _)| of == no.to_string()) {
            found.push(entry.path());
        }
    }
    match found.as_slice() {
        [] => Ok(None),
        [one] => fs::read_to_string(one).map(Some).map_err(|e| e.to_string()),
        _ => Err(format!("{} children ran in it", found.len())),
    }
}

/// A follower gives every complete line once, byte for byte.
fn follows(face: &Ostler, session: &Session) -> Result<(), String> {
    let mut follower = face.follow(session.id, Cursor::START).map_err(|e| e.to_string())?;
    let mut at = BTreeMap::new();
    let mut files: BTreeMap<GenerationNo, Vec<u8>> = BTreeMap::new();
    while let Some(entry) = follower.next().map_err(|e| e.to_string())? {
        let (no, start, end, bytes) = match entry {
            Entry::Out { no, start, end, bytes, .. } => (no, start, end, Some(bytes)),
            Entry::OutOversized { no, start, end, .. } => (no, start, end, None),
            _ => continue,
        };
        let seen: &mut u64 = at.entry(no).or_default();
        if start != *seen {
            return Err(format!("generation {no}: a follower goes from byte {seen} to {start}"));
        }
        let whole =
            files.entry(no).or_insert_with(|| fs::read(session.dir.generation(no).out()).unwrap_or_default());
        let range = usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
        if let Some(bytes) = bytes
            && whole.get(range.start..range.start + bytes.len()) != Some(&bytes[..])
        {
            return Err(format!("generation {no}: a follower reads other bytes at {start}"));
        }
        // `end` stands before the newline or behind it, as the follower counts.
        *seen = end
            + u64::from(
                whole.get(range.end) == Some(&b'\n') && whole.get(range.end.wrapping_sub(1)) != Some(&b'\n'),
            );
    }
    Ok(())
}
