//! Every byte, once.

use super::stable::Stable;
use claude_lab::fake::Flood;
use ostler_core::rows::Outcome;
use ostler_store::{Cursor, Entry, Follower};
use std::fs;

const SIZE: usize = 50 << 20;

/// Gives the lines of `out` that a follower yields, as they were.
fn drain(mut follower: Follower, mut line: impl FnMut(&[u8], Cursor)) {
    while let Some(entry) = follower.next().unwrap() {
        if let Entry::Out { mut bytes, cursor, .. } = entry {
            bytes.push(b'\n');
            line(&bytes, cursor);
        }
    }
}

#[test]
fn a_known_stream_arrives_byte_for_byte_and_from_every_cursor() {
    let stable = Stable::new();
    let session = stable.session(&format!("turn\n flood {SIZE} seed 7\n say done\n"));
    session.send("hello");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert_eq!(session.answer(), "done");
    session.dead(1);
    let out = fs::read(session.generation(1).out()).unwrap();
    let flood: Vec<u8> = Flood::new(SIZE, 7).flatten().collect();
    let at = find(&out, &flood[..4096]).expect("the stream begins somewhere");
    assert!(out[at..at + SIZE] == flood[..], "the stream is in the journal as it was written");
    let (mut place, mut cursors) = (0, Vec::new());
    drain(stable.ostler.follow(session.id, Cursor::START).unwrap(), |line, cursor| {
        assert!(out[place..place + line.len()] == *line, "at {place}");
        place += line.len();
        cursors.push((cursor, place));
    });
    assert_eq!(place, out.len());
    // Not all of them: each means reading to the end.
    for k in 0..12 {
        let (cursor, mut place) = cursors[(k * 7919 + 13) % cursors.len()];
        let again: Cursor = cursor.to_string().parse().unwrap();
        drain(stable.ostler.follow(session.id, again).unwrap(), |line, _| {
            assert!(out[place..place + line.len()] == *line, "from {cursor} at {place}");
            place += line.len();
        });
        assert_eq!(place, out.len(), "from {cursor}");
    }
    stable.finish();
}

fn find(whole: &[u8], part: &[u8]) -> Option<usize> {
    whole.windows(part.len()).position(|window| window == part)
}

/// A live follower that starts with the child gives the same bytes as one that comes later.
#[test]
fn who_follows_live_sees_the_same() {
    let stable = Stable::new();
    let session =
        stable.session("turn\n mark up\n flood 3000000 seed 3\n until go\n flood 100000 seed 4\n say done\n");
    session.send("hello");
    session.reaches("up");
    let mut follower = stable.ostler.follow(session.id, Cursor::START).unwrap();
    session.open("go");
    let mut live = Vec::new();
    super::stable::until("the end of the generation", || {
        while let Some(entry) = follower.next().unwrap() {
            match entry {
                Entry::Out { bytes, .. } => {
                    live.extend_from_slice(&bytes);
                    live.push(b'\n');
                }
                Entry::Ctl { row, .. } if matches!(row.ev, ostler_core::ctl::Event::Dead { .. }) => {
                    return Some(());
                }
                _ => {}
            }
        }
        None
    });
    assert!(live == fs::read(session.generation(1).out()).unwrap());
    session.wait();
    stable.finish();
}
