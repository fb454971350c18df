//! Where a home is and what is in it. The reasons to refuse one are tested beside their code, for most can't be had
//! on every machine.

use crate::fixture::{TestHome, session_file, session_id};
use ostler_store::{Home, HomeError, SessionFile, SessionFileError};
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn resolve(variables: &[(&str, &str)]) -> Result<String, String> {
    let env =
        |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
    Home::resolve(env).map(|path| path.display().to_string()).map_err(|error| error.to_string())
}

#[test]
fn the_variables_are_asked_in_order() {
    let all = [("OSTLER_HOME", "/o"), ("XDG_STATE_HOME", "/x"), ("HOME", "/h")];
    assert_eq!(resolve(&all).unwrap(), "/o");
    assert_eq!(resolve(&all[1..]).unwrap(), "/x/ostler");
    assert_eq!(resolve(&all[2..]).unwrap(), "/h/.local/state/ostler");
    assert_eq!(
        resolve(&[("OSTLER_HOME", ""), ("XDG_STATE_HOME", ""), ("HOME", "/h")]).unwrap(),
        "/h/.local/state/ostler"
    );
    assert_eq!(resolve(&[("XDG_STATE_HOME", "rel"), ("HOME", "/h")]).unwrap(), "/h/.local/state/ostler");
    assert!(resolve(&[]).unwrap_err().contains("set OSTLER_HOME"));
    assert!(resolve(&[("OSTLER_HOME", "rel"), ("HOME", "/h")]).unwrap_err().contains("absolute"));
}

#[test]
fn it_is_created_for_its_owner_only() {
    let home = TestHome::new();
    for dir in [home.home.root(), &home.home.sessions_dir(), &home.home.slots_dir()] {
        let mode = std::fs::metadata(dir).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", dir.display());
    }
    assert_eq!(home.home.db_path(), home.home.root().join("ostler.db"));
}

#[test]
fn what_is_no_folder_is_refused() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let refused = Home::open(&file);
    assert!(matches!(refused, Err(HomeError::NotAFolder { .. })), "{refused:?}");
    let refused = Home::open(&file.join("below"));
    assert!(matches!(refused, Err(HomeError::NotAFolder { .. })), "{refused:?}");
}

#[test]
fn a_link_to_a_folder_of_ones_own_is_taken() {
    let home = TestHome::new();
    let link = home.folder.path().join("link");
    std::os::unix::fs::symlink(home.home.root(), &link).unwrap();
    assert_eq!(Home::open(&link).unwrap().root(), link);
}

#[test]
fn sessions_on_disk_are_the_folders_with_an_id_for_a_name() {
    let home = TestHome::new();
    for id in [session_id(2), session_id(1)] {
        session_file(id).write(&home.home.session(id)).unwrap();
    }
    for other in ["not an id", "0A000000-0000-4000-8000-00000000000F", "0a0000000000400080000000000000ff"] {
        std::fs::create_dir(home.home.sessions_dir().join(other)).unwrap();
    }
    assert_eq!(home.home.sessions_on_disk().unwrap(), [session_id(1), session_id(2)]);
}

#[test]
fn generations_are_the_folders_with_a_number_of_four_digits_or_more() {
    let home = TestHome::new();
    let dir = home.home.session(session_id(1));
    assert_eq!(dir.generations().unwrap(), [0u32; 0]);
    for name in ["0000", "0002", "0001", "10000", "3", "00004", "x", "-001"] {
        std::fs::create_dir_all(dir.gen_root().join(name)).unwrap();
    }
    assert_eq!(dir.generations().unwrap(), [1, 2, 10_000]);
    assert!(dir.generation(10_000).path.ends_with("10000"));
}

#[test]
fn a_session_file_comes_back_and_its_spec_byte_for_byte() {
    let home = TestHome::new();
    let id = session_id(1);
    let dir = home.home.session(id);
    let file = session_file(id);
    file.write(&dir).unwrap();
    let read = SessionFile::read(&dir).unwrap();
    assert_eq!(read.spec.get(), file.spec.get());
    assert_eq!(
        (read.id, read.conversation, read.label, read.cwd),
        (id, file.conversation, file.label, file.cwd)
    );
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&dir.path), mode(&dir.session_json())), (0o700, 0o600));
}

#[test]
fn session_files_that_cannot_be_used_say_why() {
    let home = TestHome::new();
    let dir = home.home.session(session_id(1));
    assert!(matches!(SessionFile::read(&dir), Err(SessionFileError::Io { operation: "read", .. })));
    session_file(session_id(1)).write(&dir).unwrap();
    let path = dir.session_json();
    let good = std::fs::read_to_string(&path).unwrap();
    let read_as = |text: &str| {
        std::fs::write(&path, text).unwrap();
        SessionFile::read(&dir)
    };
    assert!(matches!(read_as(&good[..good.len() / 2]), Err(SessionFileError::Damaged { .. })));
    // All that a reader may count on in a newer format is its number.
    assert!(matches!(
        read_as("{\"version\": 2, \"idea\": \"new\"}"),
        Err(SessionFileError::Newer { found: 2, .. })
    ));
    let other = good.replace(&session_id(1).to_string(), &session_id(2).to_string());
    assert!(matches!(read_as(&other), Err(SessionFileError::OtherId { .. })));
}
