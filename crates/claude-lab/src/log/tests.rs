use super::*;

fn request(body: &[u8]) -> LoggedRequest {
    LoggedRequest {
        seq: 0,
        at_ms: 0,
        method: "POST".to_owned(),
        path: "/v1/messages".to_owned(),
        script: None,
        headers: Vec::new(),
        session_id: None,
        model: None,
        lane: Lane::Main,
        text: String::new(),
        turn: 0,
        round: 0,
        rule_line: None,
        status: 0,
        body: Arc::from(body),
    }
}

#[test]
fn the_oldest_bodies_go_first_and_the_rest_stays() {
    let log = Log::new(10, None).unwrap();
    for body in [b"aaaaaa", b"bbbbbb", b"cc\"cc\""] {
        log.add(request(body));
    }
    let lengths: Vec<usize> = log.requests().iter().map(|request| request.body().len()).collect();
    assert_eq!(lengths, [0, 0, 6]);
}

#[test]
fn waiting_ends_by_a_request_or_by_time() {
    let log = Arc::new(Log::new(100, None).unwrap());
    let adder = {
        let log = Arc::clone(&log);
        std::thread::spawn(move || log.answered(log.add(request(b"x")), 529, Some(3)))
    };
    let found = log.wait_for(&|request| request.status == 529, Duration::from_secs(10)).unwrap();
    assert_eq!((found.seq, found.rule_line), (1, Some(3)));
    adder.join().unwrap();
    assert!(log.wait_for(&|request| request.status == 1, Duration::from_millis(1)).is_none());
}

#[test]
fn a_full_file_is_rotated() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("requests.ndjson");
    let log = Log::new(1000, Some((&path, 600))).unwrap();
    for _ in 0..6 {
        log.add(request(b"{}"));
    }
    let size = |path: &Path| std::fs::metadata(path).unwrap().len();
    assert!(size(&path) <= 600 && size(&path.with_extension("ndjson.old")) <= 600);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.lines().all(|line| line.contains("\"request\":")), "{text}");
}
