//! What the server refuses.

use claude_lab::blocking::LabThread;
use claude_lab::{Lab, LabConfig, LabError, Limits};

use super::http::{self, get, post, prompt};

#[test]
fn only_loopback() {
    let config = LabConfig { addr: "0.0.0.0:0".parse().unwrap(), ..LabConfig::default() };
    assert!(matches!(LabThread::start(config), Err(LabError::NotLoopback(_))));
    let lab = LabThread::start(LabConfig::default()).unwrap();
    let rebound =
        http::open("GET", &lab.base_url(), "/lab/health", &[("host", "evil.example")], b"").unwrap();
    assert_eq!(rebound.status, 403);
    let named = http::open("GET", &lab.base_url(), "/lab/health", &[("host", "localhost:1")], b"").unwrap();
    assert_eq!(named.status, 200);
}

#[test]
fn a_body_over_the_limit_is_413() {
    let limits = Limits { body: 1000, ..Limits::default() };
    let lab = LabThread::start(LabConfig { limits, ..LabConfig::default() }).unwrap();
    assert_eq!(post(&lab.base_url(), &prompt(&"x".repeat(2000))).status, 413);
    assert_eq!(post(&lab.base_url(), &prompt("x")).status, 200);
}

/// One connection too many waits until another one is closed.
#[test]
fn connections_over_the_limit_wait() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let lab = LabThread::start(LabConfig { limits, ..LabConfig::default() }).unwrap();
    let held = http::open("GET", &lab.base_url(), "/lab/health", &[], b"").unwrap();
    let url = lab.base_url();
    let (told, hear) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        let status = get(&url, "/lab/health").status;
        told.send(()).unwrap();
        status
    });
    assert!(hear.recv_timeout(std::time::Duration::from_millis(100)).is_err());
    drop(held);
    assert_eq!(waiting.join().unwrap(), 200);
}

#[test]
fn a_port_in_use_is_an_error_with_the_address() {
    let lab = LabThread::start(LabConfig::default()).unwrap();
    let addr = lab.base_url().strip_prefix("http://").unwrap().parse().unwrap();
    match LabThread::start(LabConfig { addr, ..LabConfig::default() }) {
        Err(LabError::Bind { addr: at, .. }) => assert_eq!(at, addr),
        other => panic!("{other:?}"),
    }
    drop(lab);
    LabThread::start(LabConfig { addr, ..LabConfig::default() }).expect("the port is free again");
}

#[test]
fn the_async_face_starts_and_stops() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url = runtime.block_on(async {
        let lab = Lab::start(LabConfig::default()).await.unwrap();
        let url = lab.base_url();
        lab.shutdown().await;
        url
    });
    assert!(http::open("GET", &url, "/lab/health", &[], b"").is_err());
}
