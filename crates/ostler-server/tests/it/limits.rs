//! What a client may cost: each limit is reached once.

use super::house::{House, answer, rest};
use ostler_server::Limits;
use ostler_server::launch::{Fault, NewSpec, Refused};
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

fn nobody(_: &NewSpec) -> Result<ostler_core::spec::LaunchSpec, Refused> {
    Err(Refused { fault: Fault::Request, source: "not here".into(), hints: Vec::new() })
}

/// Small enough to be reached, long enough that a busy machine reaches nothing by accident.
fn small() -> Limits {
    Limits {
        connections: 2,
        head_within: Duration::from_millis(300),
        head: 8 << 10,
        headers: 20,
        body_within: Duration::from_millis(300),
        message_body: 64 << 10,
        body: 1 << 10,
        large_bodies: 1,
        wait: Duration::from_millis(50),
    }
}

#[test]
fn a_body_that_is_too_large_is_refused_announced_or_not() {
    let house = House::new(Limits { body_within: Duration::from_secs(40), ..small() }, nobody);
    let padded = |len: usize| format!("{{\"dry_run\":true{}}}", " ".repeat(len - 16));
    assert_eq!(house.ask("POST", "/v1/gc", &padded(1024)).0, 200);
    let (status, problem) = house.ask("POST", "/v1/gc", &padded(1025));
    assert_eq!((status, &problem["with"]["limit"]), (413, &1024.into()));
    // Where a message is carried there is more room.
    let prompt = format!("{{\"prompt\":\"{}\"}}", "x".repeat(2048));
    assert_eq!(
        house.ask("POST", "/v1/sessions", &prompt).0,
        400,
        "it was read, and refused for another reason"
    );
    // In pieces, so that nothing is announced.
    let mut stream = house.connect();
    stream
        .write_all((house.head("POST", "/v1/sessions", "Transfer-Encoding: chunked\r\n") + "\r\n").as_bytes())
        .unwrap();
    let piece = format!("2000\r\n{}\r\n", "x".repeat(0x2000));
    let mut sent = 0;
    while sent < 1024 && stream.write_all(piece.as_bytes()).is_ok() {
        sent += 1;
    }
    assert!(sent < 1024, "8 MiB were taken");
    let told = rest(stream);
    assert!(told.is_empty() || told.starts_with("HTTP/1.1 413 "), "{told}");
}

#[test]
fn a_body_that_comes_slowly_is_not_waited_for() {
    let house = House::new(small(), nobody);
    let mut stream = house.connect();
    stream.write_all((house.head("POST", "/v1/gc", "Content-Length: 10\r\n") + "\r\n{").as_bytes()).unwrap();
    let (status, problem) = answer(stream);
    assert_eq!((status, &problem["type"]), (408, &"urn:ostler:problem:slow".into()));
}

#[test]
fn a_head_that_comes_slowly_or_is_too_large_is_not_read() {
    let house = House::new(small(), nobody);
    // Nothing at all, and a piece of one.
    for piece in ["", "GET /healthz HT"] {
        let mut stream = house.connect();
        stream.write_all(piece.as_bytes()).unwrap();
        let told = rest(stream);
        assert!(told.is_empty() || told.starts_with("HTTP/1.1 408 "), "{told}");
    }
    let get = |more: &str| {
        let mut stream = house.connect();
        let _ = stream.write_all((house.head("GET", "/v1/sessions", more) + "\r\n").as_bytes());
        rest(stream)
    };
    assert!(get("").starts_with("HTTP/1.1 200 "));
    let many: String = (0..30).map(|n| format!("X-{n}: x\r\n")).collect();
    assert!(get(&many).starts_with("HTTP/1.1 431 "), "{}", get(&many));
    let long = get(&format!("X-Long: {}\r\n", "x".repeat(64 << 10)));
    assert!(long.is_empty() || long.starts_with("HTTP/1.1 431 "), "{long}");
}

#[test]
fn one_connection_too_many_waits_for_another_to_end() {
    let house = House::new(Limits { head_within: Duration::from_secs(40), ..small() }, nobody);
    // All that may be open are, and say nothing.
    let first = house.connect();
    let second = house.connect();
    let mut third = house.connect();
    third.write_all((house.head("GET", "/v1/sessions", "") + "\r\n").as_bytes()).unwrap();
    third.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let early = third.read(&mut [0; 1]).map_err(|e| e.kind());
    assert!(matches!(early, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)), "{early:?}");
    drop(first);
    third.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
    assert!(rest(third).starts_with("HTTP/1.1 200 "));
    drop(second);
}

#[test]
fn a_wish_to_wait_is_bounded() {
    let house = House::new(small(), nobody);
    let session = house.session();
    let sent = house.ask("POST", &format!("/v1/sessions/{session}/deliveries"), "{\"prompt\":\"hi\"}").1;
    let path = format!("/v1/sessions/{session}/deliveries/{}", sent["delivery"]["id"].as_str().unwrap());
    let mut stream = house.connect();
    stream.write_all((house.head("GET", &path, "Prefer: wait=100000\r\n") + "\r\n").as_bytes()).unwrap();
    let told = rest(stream);
    assert!(told.starts_with("HTTP/1.1 202 ") && told.contains("preference-applied: wait=0"), "{told}");
}
