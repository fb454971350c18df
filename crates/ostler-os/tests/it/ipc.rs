use crate::stage::{Cast, Stage, eventually, soon};
use ostler_os::ipc::{Listener, Stream};
use ostler_os::lockfile::{Lock, try_lock};
use ostler_os::poll::{Interest, Pollable, Poller};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn lock(stage: &Stage) -> Lock {
    eventually(|| try_lock(&stage.path("lock")).unwrap())
}

#[track_caller]
fn ready(source: &impl Pollable, interest: Interest) {
    let mut poller = Poller::new();
    poller.add(source.source(), interest);
    assert_eq!(poller.wait(Some(soon())).unwrap(), 1);
}

#[track_caller]
fn accepted(listener: &Listener) -> Stream {
    ready(listener, Interest::Read);
    listener.accept().unwrap().expect("somebody connected")
}

#[track_caller]
fn talks(path: &Path, listener: &Listener) {
    let mut client = Stream::connect(path).unwrap();
    let mut server = accepted(listener);
    client.write_all(b"hello").unwrap();
    ready(&server, Interest::Read);
    let mut heard = [0; 16];
    assert_eq!(server.read(&mut heard).unwrap(), 5);
    assert_eq!(&heard[..5], b"hello");
    for end in [&client, &server] {
        let peer = end.peer().unwrap();
        assert_eq!((peer.pid, peer.uid), (Some(std::process::id()), ostler_os::me::uid()));
    }
}

/// Nobody listens any more, nor does a process that another test's thread is just forking.
#[track_caller]
fn becomes_stale(path: &Path) {
    let kind = eventually(|| Stream::connect(path).err()).kind();
    assert_eq!(kind, ErrorKind::ConnectionRefused);
}

#[test]
fn both_ends_talk_and_know_each_other() {
    let stage = Stage::new();
    let path = stage.path("control.sock");
    let listener = Listener::bind(&path, &lock(&stage)).unwrap();
    assert!(listener.accept().unwrap().is_none(), "nobody is there yet, and it doesn't wait");
    talks(&path, &listener);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let names = fs::read_dir(stage.dir()).unwrap().count();
    assert_eq!(names, 2, "the lock and the socket");
}

#[test]
fn a_path_that_no_address_can_hold() {
    let stage = Stage::new();
    let mut deep: PathBuf = stage.dir().to_owned();
    while deep.as_os_str().len() < 180 {
        deep.push("0123456789abcdef");
    }
    fs::create_dir_all(&deep).unwrap();
    let path = deep.join("control.sock");
    assert!(
        std::os::unix::net::UnixStream::connect(&path).is_err_and(|e| e.kind() == ErrorKind::InvalidInput)
    );
    let listener = Listener::bind(&path, &lock(&stage)).unwrap();
    talks(&path, &listener);
    drop(listener);
    becomes_stale(&path);
}

#[test]
fn every_length_of_path_works() {
    let stage = Stage::new();
    let base = stage.dir().as_os_str().len();
    for length in 90..125 {
        let dir = stage.path(&"d".repeat(length - base - "/".len() - "/s".len()));
        fs::create_dir(&dir).unwrap();
        let path = dir.join("s");
        assert_eq!(path.as_os_str().len(), length);
        let listener = Listener::bind(&path, &lock(&stage)).unwrap();
        talks(&path, &listener);
    }
}

#[test]
fn the_peer_is_the_process_that_connected() {
    let stage = Stage::new();
    let path = stage.path("control.sock");
    let listener = Listener::bind(&path, &lock(&stage)).unwrap();
    let connect =
        "use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => $ENV{DIR}.'/control.sock'); sleep 1000";
    let child = Cast::start(&stage.program(["perl", "-e", connect]));
    let stream = accepted(&listener);
    assert_eq!(stream.peer().unwrap().pid, Some(child.0.pid));
}

#[test]
fn a_stale_socket_is_replaced_and_its_clients_go_on() {
    let stage = Stage::new();
    let path = stage.path("control.sock");
    let held = lock(&stage);
    let old = Listener::bind(&path, &held).unwrap();
    let mut client = Stream::connect(&path).unwrap();
    let mut server = accepted(&old);
    drop(old);
    becomes_stale(&path);
    let new = Listener::bind(&path, &held).unwrap();
    talks(&path, &new);
    server.write_all(b"!").unwrap();
    ready(&client, Interest::Read);
    assert_eq!(client.read(&mut [0; 4]).unwrap(), 1);
}

#[test]
fn what_is_no_socket_is_left_alone() {
    let stage = Stage::new();
    fs::write(stage.path("control.sock"), "mine").unwrap();
    let error = Listener::bind(&stage.path("control.sock"), &lock(&stage)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(stage.read("control.sock"), "mine");
}

#[test]
fn an_unlinked_socket_is_not_found() {
    let stage = Stage::new();
    let path = stage.path("control.sock");
    let listener = Listener::bind(&path, &lock(&stage)).unwrap();
    listener.unlink().unwrap();
    assert_eq!(Stream::connect(&path).unwrap_err().kind(), ErrorKind::NotFound);
    listener.unlink().unwrap();
}

#[test]
fn nothing_ever_waits() {
    let stage = Stage::new();
    let path = stage.path("control.sock");
    let listener = Listener::bind(&path, &lock(&stage)).unwrap();
    let mut client = Stream::connect(&path).unwrap();
    assert_eq!(client.read(&mut [0; 4]).unwrap_err().kind(), ErrorKind::WouldBlock);
    let full = loop {
        if let Err(error) = client.write_all(&[0; 65_536]) {
            break error;
        }
    };
    assert_eq!(full.kind(), ErrorKind::WouldBlock);
    // Nobody accepts: the queue fills, and then connecting says so.
    let mut waiting = Vec::new();
    let refused = loop {
        match Stream::connect(&path) {
            Ok(stream) => waiting.push(stream),
            Err(error) => break error,
        }
        assert!(waiting.len() < 10_000, "the queue has no end");
    };
    assert_eq!(refused.kind(), ErrorKind::WouldBlock);

    let server = accepted(&listener);
    drop(server);
    ready(&client, Interest::Both);
    assert!(matches!(
        client.write(b"x").unwrap_err().kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    ));
}
