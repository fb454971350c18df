//! Single cases: long lines, torn rows, unterminated ends, lost bytes, what to watch.

use super::{drain, look, read_all, short};
use crate::fixture::{TestSession, append, dead, line, note};
use ostler_store::{CtlFile, Cursor, Entry, Journal, JournalError, journal::read_range};

#[test]
fn an_empty_or_missing_session_has_no_entries() {
    let session = TestSession::new();
    assert!(read_all(&session.dir).is_empty());
    let mut follower = Journal::open(&session.dir).read_from(Cursor::START).unwrap();
    assert_eq!(follower.next().unwrap(), None);
    std::fs::create_dir_all(session.dir.generation(1).path).unwrap();
    assert_eq!(short(&drain(&mut follower)), ["g1"], "a follower may be there first");
}

#[test]
fn bytes_are_given_as_they_came() {
    let session = TestSession::with_generations(&[1]);
    let lines: [&[u8]; 6] =
        [b"{\"a\":\"\\ud99c\"}", b"caf\xc3\xa9\xc2\x85\xe2\x80\xa8", b"", b"cr\r", b"\xff\x00", b"\xc3"];
    for bytes in lines {
        session.out(1, [bytes, b"\n"].concat());
    }
    let found: Vec<Vec<u8>> = read_all(&session.dir)
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::Out { bytes, .. } => Some(bytes),
            _ => None,
        })
        .collect();
    assert_eq!(found, lines);
}

#[test]
fn a_line_over_the_limit_is_passed_by_range_and_reading_goes_on() {
    let session = TestSession::with_generations(&[1]);
    let long = vec![b'x'; 300_000];
    session.out(1, "before\n");
    session.out(1, &long);
    let mut follower = Journal::open(&session.dir).with_max_line(100_000).read_from(Cursor::START).unwrap();
    assert_eq!(short(&drain(&mut follower)), ["g1", "1:before"]);
    session.out(1, "\nafter\n");
    session.ctl(1, line(&note(7 + 300_001, "behind it")));
    let rest = drain(&mut follower);
    assert_eq!(short(&rest), ["1:oversized 7-300008", "1!behind it", "1:after"]);
    let bytes = read_range(&session.dir.generation(1), 7, 300_008).unwrap();
    assert_eq!(bytes, [long, b"\n".to_vec()].concat());
}

#[test]
fn a_range_that_is_not_there_is_refused() {
    let session = TestSession::with_generations(&[1]);
    session.out(1, "12345\n");
    let dir = session.dir.generation(1);
    assert_eq!(read_range(&dir, 2, 4).unwrap(), b"34");
    for (start, end) in [(0, 7), (4, 2), (u64::MAX - 1, u64::MAX)] {
        assert!(matches!(read_range(&dir, start, end), Err(JournalError::Range { .. })), "{start} {end}");
    }
}

#[test]
fn a_twenty_megabyte_line_that_comes_in_pieces_is_one_entry() {
    let session = TestSession::with_generations(&[1]);
    let mut follower = Journal::open(&session.dir).read_from(Cursor::START).unwrap();
    for _ in 0..20 {
        session.out(1, vec![b'y'; 1 << 20]);
        assert!(drain(&mut follower).iter().all(|entry| matches!(entry, Entry::Generation { .. })));
    }
    session.out(1, "\n");
    match drain(&mut follower).as_slice() {
        [Entry::Out { bytes, start: 0, .. }] => assert_eq!(bytes.len(), 20 << 20),
        other => panic!("{}", other.len()),
    }
}

#[test]
fn a_torn_row_is_not_there_until_it_is_whole_or_replaced() {
    let session = TestSession::with_generations(&[1]);
    let mut follower = Journal::open(&session.dir).read_from(Cursor::START).unwrap();
    session.ctl(1, line(&note(0, "one")));
    session.ctl(1, "{\"at\":77,\"off\":0,\"ev\":{\"ki");
    assert_eq!(short(&drain(&mut follower)), ["g1", "1!one"]);
    // The next holder of the lock cuts it off; its own row is longer than what was torn.
    let mut ctl = CtlFile::open(&session.dir.generation(1).ctl(), 0).unwrap();
    ctl.append(&note(0, "two, which is a longer row than the torn one was")).unwrap();
    assert_eq!(short(&drain(&mut follower)), ["1!two, which is a longer row than the torn one was"]);
}

#[test]
fn a_garbled_row_in_the_middle_is_an_entry_and_not_the_end() {
    let session = TestSession::with_generations(&[1]);
    session.out(1, "a\nb\n");
    session.ctl(1, line(&note(2, "first")));
    let start = line(&note(2, "first")).len();
    session.ctl(1, "{\"at\":12,\"off\n\n");
    session.ctl(1, line(&note(4, "last")));
    let garbled =
        [format!("1!garbled {start}-{}", start + 14), format!("1!garbled {}-{}", start + 14, start + 15)];
    assert_eq!(
        short(&read_all(&session.dir)),
        ["g1", "1:a", "1!first", &garbled[0], &garbled[1], "1:b", "1!last"]
    );
}

#[test]
fn a_row_of_an_unknown_kind_is_a_row() {
    let session = TestSession::with_generations(&[1]);
    session.ctl(1, "{\"at\":1,\"off\":0,\"ev\":{\"kind\":\"of_the_future\",\"x\":[1]},\"more\":2}\n");
    assert_eq!(short(&read_all(&session.dir)), ["g1", "1!Unknown"]);
}

#[test]
fn an_unterminated_line_is_given_only_when_the_generation_is_over() {
    let by_exit = |session: &TestSession| append(&session.dir.generation(1).exit(), b"{}");
    let by_row = |session: &TestSession| session.ctl(1, line(&dead(2)));
    let by_next = |session: &TestSession| {
        std::fs::create_dir(session.dir.generation(2).path).unwrap();
    };
    let by_outside = |session: &TestSession| {
        std::fs::create_dir(session.dir.generation(0).path).unwrap();
        session.ctl(0, line(&note(1, "between")));
    };
    type End<'a> = &'a dyn Fn(&TestSession);
    let ends: [(End<'_>, &[&str]); 4] = [
        (&by_exit, &["1:tail 2+4"]),
        (&by_row, &["1!dead", "1:tail 2+4"]),
        (&by_next, &["1:tail 2+4", "g2"]),
        (&by_outside, &["1:tail 2+4", "0!between"]),
    ];
    for (end, expected) in ends {
        let session = TestSession::with_generations(&[1]);
        session.out(1, "a\ntail");
        let mut live = Journal::open(&session.dir).read_from(Cursor::START).unwrap();
        assert_eq!(short(&drain(&mut live)), ["g1", "1:a"]);
        end(&session);
        assert_eq!(short(&drain(&mut live)), expected);
        assert_eq!(short(&read_all(&session.dir))[2..], *expected);
    }
}

#[test]
fn what_a_dying_child_wrote_last_is_read_before_its_end_is_believed() {
    let session = TestSession::with_generations(&[1]);
    session.out(1, "half");
    let mut live = Journal::open(&session.dir).read_from(Cursor::START).unwrap();
    assert_eq!(short(&drain(&mut live)), ["g1"]);
    session.out(1, " a line\nand a tail");
    append(&session.dir.generation(1).exit(), b"{}");
    assert_eq!(short(&drain(&mut live)), ["1:half a line", "1:tail 12+10"]);
}

#[test]
fn rows_of_lost_output_are_still_given() {
    // The machine lost its power: `ctl` was on the disk, the end of `out` was not.
    let session = TestSession::with_generations(&[1, 2]);
    session.out(1, "kept\n");
    session.ctl(1, line(&note(5, "saw it")));
    session.ctl(1, line(&note(900, "saw more")));
    assert_eq!(short(&read_all(&session.dir)), ["g1", "1:kept", "1!saw it", "1!saw more", "g2"]);
}

#[test]
fn rows_outside_stand_behind_the_generation_they_name() {
    let session = TestSession::with_generations(&[0, 1, 2]);
    for (newest, text) in [(0, "before any"), (1, "behind 1"), (1, "still"), (2, "behind 2")] {
        session.ctl(0, line(&note(newest, text)));
    }
    session.out(1, "x\n");
    assert_eq!(
        short(&read_all(&session.dir)),
        ["0!before any", "g1", "1:x", "0!behind 1", "0!still", "g2", "0!behind 2"]
    );
}

#[test]
fn a_missing_generation_is_passed_over() {
    let session = TestSession::with_generations(&[1, 3]);
    session.out(3, "x\n");
    assert_eq!(short(&read_all(&session.dir)), ["g1", "g3", "3:x"]);
}

#[test]
fn what_is_watched_exists_and_covers_what_may_change() {
    let session = TestSession::new();
    std::fs::create_dir_all(&session.dir.path).unwrap();
    let mut follower = Journal::open(&session.dir).read_from(Cursor::START).unwrap();
    assert_eq!(follower.watch_paths(), std::slice::from_ref(&session.dir.path));
    let generation = session.dir.generation(1);
    std::fs::create_dir_all(&generation.path).unwrap();
    session.out(1, "x\n");
    drain(&mut follower);
    let expected = [session.dir.gen_root(), generation.path.clone(), generation.out()];
    assert_eq!(follower.watch_paths(), expected);
    session.ctl(1, line(&note(0, "row")));
    assert!(follower.watch_paths().contains(&generation.ctl()));
}

/// A controller's row announces a write, and the child reacts at once: no reader may see the reaction first.
#[test]
fn an_effect_never_comes_before_its_cause() {
    const ROUNDS: usize = 20_000;
    let session = TestSession::with_generations(&[1]);
    let dir = session.dir.clone();
    let writer = std::thread::spawn(move || {
        use std::io::Write;
        let open = |path| std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        let (mut out, mut ctl) = (open(dir.generation(1).out()), open(dir.generation(1).ctl()));
        let mut off = 0;
        for round in 0..ROUNDS {
            ctl.write_all(&line(&note(off, &round.to_string()))).unwrap();
            let reaction = format!("{round}\n");
            out.write_all(reaction.as_bytes()).unwrap();
            off += reaction.len() as u64;
        }
    });
    let mut follower = Journal::open(&session.dir).read_from(Cursor::START).unwrap();
    let mut buffered = Journal::open(&session.dir).read_from(Cursor::START).unwrap();
    let mut buf = vec![0; 4096];
    let (mut counts, mut counts_buffered) = ((0, 0), (0, 0));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while counts.1 < ROUNDS || counts_buffered.1 < ROUNDS {
        assert!(std::time::Instant::now() < deadline, "{counts:?} {counts_buffered:?}");
        let entry = follower.next().unwrap();
        check_order(entry.as_slice(), &mut counts);
        check_order(&look(&mut buffered, &mut buf), &mut counts_buffered);
    }
    writer.join().unwrap();
}

/// Counts rows and lines; no line may be ahead of its row.
fn check_order(entries: &[Entry], (causes, effects): &mut (usize, usize)) {
    for entry in entries {
        match entry {
            Entry::Ctl { row, cursor, .. } => {
                assert!(row.off <= cursor.out);
                *causes += 1;
            }
            Entry::Out { .. } => {
                *effects += 1;
                assert!(effects <= causes, "reaction {effects} came before the row that announced it");
            }
            _ => {}
        }
    }
}
