use crate::part;
use crate::stage::{Cast, Stage, becomes_free};
use ostler_os::reap::has_children;
use ostler_os::spawn::{ChildSpec, Malformed, NotExecutable, SpawnError, spawn_child};
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

#[track_caller]
fn fails(spec: &ChildSpec) -> SpawnError {
    let error = spawn_child(spec).expect_err("it must not start");
    becomes_free(&spec.alive);
    error
}

#[track_caller]
fn cannot_run(spec: &ChildSpec) -> NotExecutable {
    match fails(spec) {
        SpawnError::NotExecutable { why, .. } => why,
        error => panic!("{error}"),
    }
}

#[test]
fn a_missing_program_is_named() {
    let stage = Stage::new();
    let error = fails(&stage.program(["/nowhere/claude"]));
    assert!(matches!(&error, SpawnError::NotFound { program } if program == Path::new("/nowhere/claude")));
    assert_eq!(error.to_string(), "/nowhere/claude was not found");
    let error = fails(&stage.program(["no-such-program-anywhere"]));
    assert!(
        matches!(error, SpawnError::NotFound { program } if program == Path::new("no-such-program-anywhere"))
    );
}

#[test]
fn only_the_childs_own_path_is_searched() {
    let stage = Stage::new();
    let mut spec = stage.program(["sleep", "0"]);
    spec.env = vec![("PATH".into(), stage.dir().into())];
    assert!(matches!(fails(&spec), SpawnError::NotFound { .. }));
}

#[test]
fn a_program_without_permission() {
    let stage = Stage::new();
    fs::write(stage.path("tool"), "#!/bin/sh\n").unwrap();
    assert_eq!(cannot_run(&stage.program(["./tool"])), NotExecutable::Permission);
    let mut by_name = stage.program(["tool"]);
    by_name.env = vec![("PATH".into(), stage.dir().into())];
    assert_eq!(cannot_run(&by_name), NotExecutable::Permission);
}

#[test]
fn a_directory_is_no_program() {
    let stage = Stage::new();
    fs::create_dir(stage.path("tool")).unwrap();
    assert_eq!(cannot_run(&stage.program(["./tool"])), NotExecutable::Directory);
}

#[test]
fn a_text_file_without_an_interpreter_line_is_not_given_to_a_shell() {
    let stage = Stage::new();
    stage.executable("tool", "echo surprise\n");
    assert_eq!(cannot_run(&stage.program(["./tool"])), NotExecutable::Format);
    assert_eq!(stage.read("out"), "");
}

#[test]
fn a_missing_interpreter_is_told_from_a_missing_program() {
    let stage = Stage::new();
    stage.executable("tool", "#!/nowhere/node\n");
    assert_eq!(cannot_run(&stage.program(["./tool"])), NotExecutable::Interpreter);
}

#[test]
fn a_program_that_is_being_written() {
    let stage = Stage::new();
    fs::copy("/bin/true", stage.path("tool")).unwrap();
    let _update = fs::OpenOptions::new().append(true).open(stage.path("tool")).unwrap();
    assert_eq!(cannot_run(&stage.program(["./tool"])), NotExecutable::Busy);
}

#[test]
fn a_cwd_that_is_missing_or_no_directory() {
    let stage = Stage::new();
    fs::write(stage.path("file"), "").unwrap();
    for (name, kind) in [("missing", ErrorKind::NotFound), ("file", ErrorKind::NotADirectory)] {
        let mut spec = stage.program(["true"]);
        spec.cwd = stage.path(name);
        let SpawnError::BadCwd { cwd, source } = fails(&spec) else { panic!("another error") };
        assert_eq!((cwd, source.kind()), (stage.path(name), kind));
    }
}

#[test]
fn arguments_that_are_too_large_are_measured() {
    let stage = Stage::new();
    let long = "x".repeat(200_000);
    let SpawnError::TooBig(sizes) = fails(&stage.program(["true", &long])) else { panic!("another error") };
    assert_eq!(sizes.longest, 200_001);
    assert!(sizes.longest > sizes.longest_limit, "{sizes}");
    assert!(sizes.total < sizes.total_limit, "{sizes}");

    let mut many = stage.program(["true"]);
    many.argv.extend((0..80).map(|_| OsString::from("x".repeat(100_000))));
    let SpawnError::TooBig(sizes) = fails(&many) else { panic!("another error") };
    assert!(sizes.total > sizes.total_limit && sizes.longest < sizes.longest_limit, "{sizes}");
}

#[test]
fn the_measure_is_the_kernels() {
    // The last size that passes and the first that doesn't, for one argument.
    let stage = Stage::new();
    let SpawnError::TooBig(sizes) = fails(&stage.program(["true", &"x".repeat(1 << 20)])) else {
        panic!("another error")
    };
    let fits = "x".repeat(sizes.longest_limit - 1);
    Cast::start(&stage.program(["true", &fits])).ended();
    becomes_free(&stage.path("alive"));
    assert!(matches!(fails(&stage.program(["true", &format!("{fits}x")])), SpawnError::TooBig(_)));
}

#[test]
fn what_no_process_can_have() {
    let stage = Stage::new();
    let malformed = |spec: &ChildSpec| match fails(spec) {
        SpawnError::Malformed(why) => why,
        error => panic!("{error}"),
    };
    assert_eq!(malformed(&stage.program([])), Malformed::NoProgram);
    assert_eq!(malformed(&stage.program(["true", "a\0b"])), Malformed::Argument(1));
    for (name, value) in [("A=B", ""), ("", "x"), ("A", "a\0b")] {
        let mut spec = stage.program(["true"]);
        spec.env = vec![("PATH".into(), "/bin".into()), (name.into(), value.into())];
        assert_eq!(malformed(&spec), Malformed::Variable(1));
    }
}

#[test]
fn a_second_child_of_one_generation_is_refused() {
    let stage = Stage::new();
    let _child = Cast::start(&stage.program(["sleep", "1000"]));
    let error = spawn_child(&stage.program(["sleep", "1000"])).unwrap_err();
    assert!(matches!(error, SpawnError::Alive { path } if path == stage.path("alive")));
}

#[test]
fn a_stdin_that_is_no_fifo_is_refused() {
    let stage = Stage::new();
    fs::write(stage.path("file"), "").unwrap();
    let mut spec = stage.program(["true"]);
    spec.stdin_fifo = stage.path("file");
    let SpawnError::Path(error) = fails(&spec) else { panic!("another error") };
    assert_eq!((error.path.clone(), error.kind()), (stage.path("file"), ErrorKind::InvalidInput));
}

#[test]
fn a_failed_start_leaves_no_process() {
    part::play("spawn_errors::nothing_left");
}

pub(crate) fn nothing_left() {
    let stage = Stage::new();
    stage.executable("tool", "text\n");
    fails(&stage.program(["./tool"]));
    assert!(!has_children().unwrap());
}
