//! A full disk: a small tmpfs of its own for each test. Mounting is a matter of the whole machine, hence the name.

use crate::fixture::{delivery, note, session_file, session_id, session_row};
use ostler_store::db::{Inserted, MAX_INLINE_BODY};
use ostler_store::{CtlError, CtlFile, DbError, Durability, Home, SessionDir, SessionFileError};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A file system of a given size; unmounted when dropped.
struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    fn new(kib: u32) -> Self {
        let folder = TempDir::new().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={kib}k,mode=0700"), "tmpfs"])
            .arg(folder.path())
            .output()
            .expect("`mount` must be there");
        let said = String::from_utf8_lossy(&mount.stderr);
        assert!(mount.status.success(), "this test mounts a tmpfs and so must be run as root: {said}");
        Self { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Takes all space that is left. Removing the file gives it back.
    fn fill(&self) -> PathBuf {
        let path = self.folder.path().join("filler");
        let mut file = File::create(&path).unwrap();
        for size in [64 << 10, 4 << 10, 256, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(self.folder.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

#[test]
fn a_delivery_is_refused_by_name_and_none_that_was_accepted_is_lost() {
    let disk = SmallDisk::new(2048);
    let home = Home::open(&disk.path()).unwrap();
    let id = session_id(1);
    let db = home.db(Durability::Full).unwrap();
    db.insert_session(&session_row(id)).unwrap();
    let filler = disk.fill();
    let mut accepted = 0;
    let error = loop {
        // Files of SQLite have room inside, so some go through.
        match db.insert_delivery(&delivery(accepted, id, vec![b'x'; 20_000])) {
            Ok(inserted) => assert!(matches!(inserted, Inserted::New { .. })),
            Err(error) => break error,
        }
        accepted += 1;
        assert!(accepted < 1_000, "the disk never filled up");
    };
    assert!(matches!(error, DbError::DiskFull { .. }), "{error:?}");
    let sentence = format!("no space left on the disk of {}; free some and try again", db.path().display());
    assert_eq!(error.to_string(), sentence);
    let large = db.insert_delivery(&delivery(5_000, id, vec![b'x'; MAX_INLINE_BODY + 1]));
    assert!(matches!(large, Err(DbError::DiskFull { .. })), "{large:?}");
    assert!(!home.session(id).delivery_body(crate::fixture::delivery_id(5_000)).exists());
    assert_eq!(db.deliveries(id).unwrap().len() as u128, accepted);
    std::fs::remove_file(filler).unwrap();
    let again = db.insert_delivery(&delivery(accepted, id, vec![b'x'; 20_000])).unwrap();
    assert!(matches!(again, Inserted::New { .. }));
    drop(db);
    let db = Home::open(&disk.path()).unwrap().db(Durability::Full).unwrap();
    assert_eq!(db.deliveries(id).unwrap().len() as u128, accepted + 1);
}

#[test]
fn a_home_that_cannot_grow_is_refused_by_name() {
    let disk = SmallDisk::new(512);
    let _filler = disk.fill();
    let error = Home::open(&disk.path()).unwrap_err();
    assert!(error.to_string().starts_with("no space left"), "{error:?}");
}

#[test]
fn a_row_goes_in_whole_or_not_at_all() {
    let disk = SmallDisk::new(512);
    let path = disk.folder.path().join("ctl");
    let mut ctl = CtlFile::open(&path, 0).unwrap();
    ctl.append(&note(0, "first")).unwrap();
    let filler = disk.fill();
    let row = note(0, &"x".repeat(3_000));
    let mut written = 1;
    let error = loop {
        let before = std::fs::read(&path).unwrap();
        if let Err(error) = ctl.append(&row) {
            assert_eq!(std::fs::read(&path).unwrap(), before, "nothing of the row stays");
            break error;
        }
        written += 1;
        assert!(written < 1_000, "the disk never filled up");
    };
    assert!(matches!(error, CtlError::DiskFull { .. }), "{error:?}");
    std::fs::remove_file(filler).unwrap();
    ctl.append(&row).unwrap();
    assert_eq!(ctl.rows().unwrap().len(), written + 1);
}

#[test]
fn rows_fit_into_the_reserve_when_nothing_else_fits() {
    let disk = SmallDisk::new(512);
    let path = disk.folder.path().join("ctl");
    let mut ctl = CtlFile::open(&path, 64 << 10).unwrap();
    let _filler = disk.fill();
    for _ in 0..60 {
        ctl.append(&note(0, &"x".repeat(1_000))).unwrap();
    }
    let error = ctl.top_up().unwrap_err();
    assert!(matches!(error, CtlError::DiskFull { .. }), "{error:?}");
    assert_eq!(ctl.rows().unwrap().len(), 60);
}

#[test]
fn a_session_that_cannot_be_written_is_not_there() {
    let disk = SmallDisk::new(512);
    let _filler = disk.fill();
    let id = session_id(1);
    let dir = SessionDir { id, path: disk.folder.path().join(id.to_string()) };
    let error = session_file(id).write(&dir).unwrap_err();
    assert!(matches!(error, SessionFileError::Io { .. }), "{error:?}");
    assert!(!Path::new(&dir.session_json()).exists());
}
