use crate::part;
use crate::stage::{Cast, Stage};
use ostler_os::fifo::{OpenError, create, open_writer};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

/// A reader that, like a child, holds a writing end too.
fn reader(path: &std::path::Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

#[test]
fn is_private_and_never_reused() {
    let stage = Stage::new();
    create(&stage.path("in")).unwrap();
    let mode = std::fs::metadata(stage.path("in")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(create(&stage.path("in")).unwrap_err().kind(), ErrorKind::AlreadyExists);
}

#[test]
fn without_a_reader_opening_fails_at_once() {
    let stage = Stage::new();
    create(&stage.path("in")).unwrap();
    let error = open_writer(&stage.path("in")).unwrap_err();
    assert!(matches!(error, OpenError::NoReader { .. }), "{error}");
}

#[test]
fn something_else_at_the_path_is_said_so() {
    let stage = Stage::new();
    std::fs::write(stage.path("file"), "").unwrap();
    for path in [stage.path("file"), stage.dir().to_owned()] {
        let error = open_writer(&path).unwrap_err();
        assert!(matches!(error, OpenError::NotAFifo { .. }), "{error}");
    }
    let error = open_writer(&stage.path("missing")).unwrap_err();
    assert!(matches!(error, OpenError::Path(error) if error.kind() == ErrorKind::NotFound));
}

#[test]
fn a_full_pipe_takes_nothing_more_and_says_how_much_waits() {
    let stage = Stage::new();
    create(&stage.path("in")).unwrap();
    let mut reads = reader(&stage.path("in"));
    let writer = open_writer(&stage.path("in")).unwrap();
    let capacity = writer.capacity().unwrap();
    assert_eq!(writer.pending().unwrap(), 0);

    assert_eq!(writer.write_some(&vec![b'x'; capacity + 1]).unwrap(), capacity);
    assert_eq!(writer.write_some(b"x").unwrap(), 0);
    assert_eq!(writer.pending().unwrap(), capacity);
    reads.read_exact(&mut vec![0; capacity]).unwrap();
    assert_eq!(writer.pending().unwrap(), 0);
}

#[test]
fn grows_and_tells_the_real_capacity() {
    let stage = Stage::new();
    create(&stage.path("in")).unwrap();
    let _reads = reader(&stage.path("in"));
    let writer = open_writer(&stage.path("in")).unwrap();
    let before = writer.capacity().unwrap();

    let grown = writer.grow(before + 1).unwrap();
    assert!(grown > before, "{grown}");
    assert_eq!(writer.capacity().unwrap(), grown);
    assert_eq!(writer.write_some(&vec![b'x'; grown + 1]).unwrap(), grown);
    assert_eq!(writer.grow(1).unwrap(), grown, "it never shrinks");
    // Nobody gets that much; the answer is what there is.
    let most = writer.grow(usize::MAX).unwrap();
    assert_eq!(writer.capacity().unwrap(), most);
}

#[test]
fn the_child_sees_no_end_when_the_writer_leaves() {
    let stage = Stage::new();
    let mut got = stage.report("got");
    let child = Cast::start(&stage.script("read one; echo $one; read two; echo $two >$DIR/got"));
    let first = open_writer(&stage.path("in")).unwrap();
    first.write_some(b"one\n").unwrap();
    drop(first);
    let second = open_writer(&stage.path("in")).unwrap();
    second.write_some(b"two\n").unwrap();
    assert_eq!(got.line(), "two");
    child.ended();
    assert_eq!(stage.read("out"), "one\n");
}

#[test]
fn a_reader_that_leaves_is_an_error_not_death() {
    part::play("fifo::write_without_reader");
}

pub(crate) fn write_without_reader() {
    #![expect(unsafe_code, reason = "the test runner ignores SIGPIPE; here it must be deadly at first")]
    // SAFETY: SIG_DFL is a valid handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let stage = Stage::new();
    create(&stage.path("in")).unwrap();
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let reads = OpenOptions::new().read(true).custom_flags(nonblocking).open(stage.path("in")).unwrap();
    let writer = open_writer(&stage.path("in")).unwrap();
    drop(reads);
    assert_eq!(writer.write_some(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
}
