//! Appending to `ctl`.

use crate::fixture::{TestSession, line, note};
use ostler_store::{CtlError, CtlFile, CtlLine};
use std::os::unix::fs::PermissionsExt;

#[test]
fn rows_come_back_as_they_were_written() {
    let session = TestSession::with_generations(&[1]);
    let path = session.dir.generation(1).ctl();
    let mut ctl = CtlFile::open(&path, 0).unwrap();
    assert!(ctl.is_empty() && ctl.last_off() == 0);
    let rows = [note(0, "a"), note(0, "line\nbreak \u{2028}"), note(7, "c")];
    for row in &rows {
        ctl.append(row).unwrap();
    }
    ctl.sync().unwrap();
    assert_eq!(ctl.last_off(), 7);
    assert_eq!(ctl.len(), std::fs::metadata(&path).unwrap().len());
    assert_eq!(ctl.rows().unwrap(), rows.map(CtlLine::Row));
    let again = CtlFile::open(&path, 0).unwrap();
    assert_eq!((again.last_off(), again.len()), (7, ctl.len()));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_torn_last_row_is_cut_off_at_every_length() {
    let whole = line(&note(3, "whole"));
    let torn = line(&note(9, "torn"));
    for len in 1..torn.len() {
        let session = TestSession::with_generations(&[1]);
        session.ctl(1, &whole);
        session.ctl(1, &torn[..len]);
        let ctl = CtlFile::open(&session.dir.generation(1).ctl(), 0).unwrap();
        assert_eq!(ctl.len(), whole.len() as u64);
        assert_eq!(ctl.last_off(), 3, "a torn row says nothing");
        assert_eq!(std::fs::read(session.dir.generation(1).ctl()).unwrap(), whole);
    }
}

#[test]
fn what_cannot_be_read_in_the_middle_stays() {
    let session = TestSession::with_generations(&[1]);
    session.ctl(1, "garbage\n");
    session.ctl(1, line(&note(3, "row")));
    let ctl = CtlFile::open(&session.dir.generation(1).ctl(), 0).unwrap();
    assert_eq!(ctl.rows().unwrap(), [CtlLine::Garbled { start: 0, end: 8 }, CtlLine::Row(note(3, "row"))]);
}

#[test]
fn an_offset_never_goes_back() {
    let session = TestSession::with_generations(&[1]);
    let mut ctl = CtlFile::open(&session.dir.generation(1).ctl(), 0).unwrap();
    ctl.append(&note(10, "a")).unwrap();
    ctl.append(&note(10, "b")).unwrap();
    let len = ctl.len();
    let refused = ctl.append(&note(9, "c"));
    assert!(matches!(refused, Err(CtlError::OffsetWentBack { off: 9, last: 10, .. })), "{refused:?}");
    assert_eq!(std::fs::metadata(session.dir.generation(1).ctl()).unwrap().len(), len);
}

#[test]
fn nothing_is_added_to_a_generation_that_has_a_successor() {
    let session = TestSession::with_generations(&[1]);
    let mut ctl = CtlFile::open(&session.dir.generation(1).ctl(), 0).unwrap();
    ctl.append(&note(0, "a")).unwrap();
    std::fs::create_dir(session.dir.generation(2).path).unwrap();
    assert!(matches!(ctl.append(&note(0, "b")), Err(CtlError::Closed { later: 2, .. })));
}

#[test]
fn a_row_outside_names_the_newest_generation() {
    let session = TestSession::with_generations(&[0, 1]);
    let mut ctl = CtlFile::open(&session.dir.generation(0).ctl(), 0).unwrap();
    let refused = ctl.append(&note(0, "a"));
    assert!(matches!(refused, Err(CtlError::NotNewest { off: 0, later: 1, .. })), "{refused:?}");
    ctl.append(&note(1, "a")).unwrap();
}

#[test]
fn the_reserve_does_not_change_the_size() {
    use std::os::unix::fs::MetadataExt;
    let session = TestSession::with_generations(&[1]);
    let path = session.dir.generation(1).ctl();
    let mut ctl = CtlFile::open(&path, 1 << 20).unwrap();
    ctl.append(&note(0, "a")).unwrap();
    ctl.top_up().unwrap();
    let found = std::fs::metadata(&path).unwrap();
    assert_eq!(found.len(), ctl.len());
    assert!(found.blocks() * 512 >= 1 << 20, "{} blocks", found.blocks());
}

#[test]
fn a_row_is_one_write_so_that_two_writers_never_mix() {
    let session = TestSession::with_generations(&[1]);
    let path = session.dir.generation(1).ctl();
    let writers = [0, 1].map(|writer| {
        let mut ctl = CtlFile::open(&path, 0).unwrap();
        std::thread::spawn(move || {
            for round in 0..500 {
                ctl.append(&note(0, &format!("{writer} {round} {}", "x".repeat(round)))).unwrap();
            }
        })
    });
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let rows = CtlFile::open(&path, 0).unwrap().rows().unwrap();
    assert_eq!(rows.len(), 1000);
    assert!(rows.iter().all(|row| matches!(row, CtlLine::Row(_))));
}
