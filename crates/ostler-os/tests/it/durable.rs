use crate::stage::Stage;
use ostler_os::durable::{
    create_dir_private, file_system, free_space, is_network_fs, open_private, owner_is_me, replace_file,
    sync_dir,
};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names(stage: &Stage) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(stage.dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_replaced_whole_and_private() {
    let stage = Stage::new();
    let path = stage.path("session.json");
    replace_file(&path, b"a long first version").unwrap();
    // Who has the old one open keeps it.
    let mut old = fs::File::open(&path).unwrap();
    replace_file(&path, b"second").unwrap();
    assert_eq!(stage.read("session.json"), "second");
    let mut text = String::new();
    old.read_to_string(&mut text).unwrap();
    assert_eq!(text, "a long first version");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(names(&stage), ["session.json"]);
}

#[test]
fn a_replacement_that_fails_names_the_step_and_leaves_no_litter() {
    let stage = Stage::new();
    fs::create_dir(stage.path("dir")).unwrap();
    let error = replace_file(&stage.path("dir"), b"x").unwrap_err();
    assert_eq!(error.path, stage.path("dir"));
    assert!(error.to_string().starts_with("cannot replace "), "{error}");
    assert_eq!(names(&stage), ["dir"]);
    let error = replace_file(&stage.path("missing/file"), b"x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn directories_and_files_are_private() {
    let stage = Stage::new();
    create_dir_private(&stage.path("a/b")).unwrap();
    assert_eq!([mode(&stage.path("a")), mode(&stage.path("a/b"))], [0o700, 0o700]);
    create_dir_private(&stage.path("a/b")).unwrap();
    sync_dir(&stage.path("a/b")).unwrap();
    let mut file = open_private(&stage.path("a/b/out")).unwrap();
    file.write_all(b"one").unwrap();
    open_private(&stage.path("a/b/out")).unwrap().write_all(b"two").unwrap();
    assert_eq!(mode(&stage.path("a/b/out")), 0o600);
    assert_eq!(stage.read("a/b/out"), "onetwo");
    let error = create_dir_private(&stage.path("a/b/out")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
}

#[test]
fn whose_and_where() {
    let stage = Stage::new();
    assert!(owner_is_me(stage.dir()).unwrap());
    assert_eq!(owner_is_me(&stage.path("missing")).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(free_space(stage.dir()).unwrap() > 0);
    assert!(!is_network_fs(stage.dir()).unwrap());
    // statfs(2): PROC_SUPER_MAGIC.
    assert_eq!(file_system(Path::new("/proc")).unwrap().magic, 0x9fa0);
}

#[test]
fn a_file_of_another_user_is_not_mine() {
    let stage = Stage::new();
    fs::write(stage.path("file"), "").unwrap();
    // Needs root, as the mounts of other tests here do.
    std::os::unix::fs::chown(stage.path("file"), Some(12_345), None).expect("these tests run as root");
    assert!(!owner_is_me(&stage.path("file")).unwrap());
    std::os::unix::fs::symlink("file", stage.path("link")).unwrap();
    assert!(owner_is_me(&stage.path("link")).unwrap(), "the link itself is ours");
}
