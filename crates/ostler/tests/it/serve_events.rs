//! Streams of events over HTTP: what sessions say, from any place, whatever is killed.

use super::desk_sessions::{Office, until};
use super::serve_http::Server;
use super::serve_stream::{Event, connect, document, stream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The files that a session's children wrote, one after the other.
fn outs(office: &Office, session: &str) -> Vec<Vec<u8>> {
    let out = |no: u32| {
        let path = office.desk.home().join("sessions").join(session).join(format!("gen/{no:04}/out"));
        std::fs::read(path).ok()
    };
    (1..).map_while(out).collect()
}

fn written(events: &[Event]) -> Vec<u8> {
    events.iter().filter_map(Event::written).flatten().collect()
}

/// What claude wrote behind the place that an id names.
fn behind(outs: &[Vec<u8>], id: &str) -> Vec<u8> {
    let mut parts = id.split('.').map(|part| part.parse::<usize>().unwrap());
    let (generation, out) = (parts.next().unwrap(), parts.next().unwrap());
    // Outside any generation the second number is the one that was read last.
    let (first, skip) = if generation == 0 { (out, 0) } else { (generation - 1, out) };
    outs[first..].concat()[skip..].to_vec()
}

#[test]
fn a_session_is_streamed_whole_and_gone_on_with_from_every_place() {
    let office = Office::new("when first\n say one\n flood 60k seed 3\nwhen second\n say two\n");
    let session = office.settled(&["first"]);
    let server = Server::start(&office.desk);
    let path = format!("/v1/sessions/{session}/events");
    let mut live = stream(&server, &path, None);
    assert_eq!(live.status, 200);
    let first = live.by_ref().take_while(|event| event.name != "control" || event.json()["kind"] != "dead");
    let mut all: Vec<Event> = first.collect();
    assert!(written(&all) == outs(&office, &session)[0], "the first generation");
    drop(office.desk.run(&["send", &session, "second", "--wait", "-q"]).exits(0));
    office.becomes_cold(&session);
    let mut cold = stream(&server, &format!("{path}?follow=0"), None);
    all = cold.up_to("end");
    let outs = outs(&office, &session);
    assert_eq!(outs.len(), 2);
    assert!(written(&all) == outs.concat());
    assert_eq!(all.last().unwrap().json()["reason"], "caught-up");
    let of_second = |event: &Event| event.id.starts_with("2.") && event.written().is_some();
    let lines = all.iter().filter(|event| of_second(event)).count();
    let more: Vec<Event> = live.by_ref().filter(of_second).take(lines).collect();
    assert!(written(&more) == outs[1], "whoever was there gets what comes later");
    for event in all.iter().step_by(7) {
        let by_header =
            stream(&server, &format!("{path}?follow=0&after=0.0.0"), Some(&event.id)).up_to("end");
        let at = all.iter().rposition(|other| other.id == event.id && other.name != "end").unwrap();
        assert_eq!(by_header, &all[at + 1..], "behind {}", event.id);
        let by_query = stream(&server, &format!("{path}?follow=0&after={}", event.id), None).up_to("end");
        assert_eq!(by_query, by_header);
    }
    let by_label = document(&server, "/v1/sessions/nobody/events");
    assert_eq!((by_label.0, &by_label.1["type"]), (404, &"urn:ostler:problem:no-session".into()));
    drop((live, cold));
    drop(server);
    office.close();
}

#[test]
fn a_place_that_is_none_starts_again_from_the_beginning() {
    let office = Office::new("when one\n say one\nwhen two\n flood 30k seed 4\n say two\n");
    let (session, other) = (office.settled(&["one"]), office.settled(&["two"]));
    for id in [&session, &other] {
        office.becomes_cold(id);
    }
    let server = Server::start(&office.desk);
    let path = |id: &str| format!("/v1/sessions/{id}/events?follow=0");
    let whole = stream(&server, &path(&session), None).up_to("end");
    let far = stream(&server, &path(&other), None).up_to("end");
    let of_another = far.iter().rev().find(|event| event.written().is_some()).unwrap().id.clone();
    for asked in [of_another.as_str(), "9.0.0", "1.1.0", "1.99999999.0", "nonsense", "1.2.3.4"] {
        let events = stream(&server, &path(&session), Some(asked)).up_to("end");
        assert_eq!((events[0].name.as_str(), events[0].id.as_str()), ("reset", "0.0.0"));
        assert_eq!(events[0].json()["asked"], asked);
        assert_eq!(events[1..], whole, "{asked}");
        let (status, problem) = document(&server, &format!("{}&format=json&after={asked}", path(&session)));
        assert!(status == 404 || status == 400, "{status} {problem}");
    }
    drop(server);
    office.close();
}

#[test]
fn pages_of_json_say_the_same() {
    let office =
        Office::new("turn\n line {\"type\":\"system\",\"subtype\":\"x\"}\n bytes \\xff\\n\n say one\n");
    let session = office.settled(&["hello"]);
    office.becomes_cold(&session);
    let server = Server::start(&office.desk);
    let path = format!("/v1/sessions/{session}/events");
    let whole = stream(&server, &format!("{path}?follow=0"), None).up_to("end");
    let (mut after, mut items) = ("0.0.0".to_owned(), Vec::new());
    loop {
        let (status, page) = document(&server, &format!("{path}?format=json&limit=7&after={after}"));
        assert_eq!(status, 200, "{page}");
        items.extend(page["items"].as_array().unwrap().clone());
        after = page["next"].as_str().unwrap().to_owned();
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(items.len(), whole.len() - 1);
    for (item, event) in items.iter().zip(&whole) {
        assert_eq!(item["cursor"], event.id);
        match event.name.as_str() {
            "line" => assert_eq!(item["message"], event.json()),
            "line-base64" => assert_eq!(item["base64"], event.data),
            "control" => assert_eq!(item["control"], event.json()),
            name => assert_eq!(item["event"], name),
        }
    }
    let (_, page) = document(&server, &format!("{path}?format=json&types=result,control/settled"));
    let kinds: Vec<_> = page["items"].as_array().unwrap().iter().map(|i| i["event"].clone()).collect();
    assert_eq!(kinds, ["line", "control"]);
    for bad in ["limit=0", "limit=x", "types=", "deltas=2", "heartbeat=0", "format=xml", "unknown=1"] {
        assert_eq!(document(&server, &format!("{path}?{bad}")).0, 400, "{bad}");
    }
    drop(server);
    office.close();
}

#[test]
fn a_server_that_leaves_ends_its_streams_at_a_place() {
    let office = Office::new("turn\n say one {until more} two\n");
    let session = office.started(&["hello"]);
    let server = Server::start(&office.desk);
    let path = format!("/v1/sessions/{session}/events");
    let mut events = stream(&server, &path, None);
    let mut changes = stream(&server, "/v1/events", None);
    let one = events.by_ref().find(|event| event.data.contains("\"one"));
    assert!(one.is_some());
    assert_eq!(server.leave(), Some(0));
    let rest = events.up_to("end");
    assert_eq!(rest.last().unwrap().json()["reason"], "leaving");
    assert_eq!(changes.up_to("end").last().unwrap().json()["reason"], "leaving");
    assert!(events.next().is_none());
    office.open("more");
    let server = Server::start(&office.desk);
    let last = rest.last().unwrap().id.clone();
    let mut again = stream(&server, &path, Some(&last));
    let goes_on = again.by_ref().take_while(|e| e.name != "control" || e.json()["kind"] != "dead");
    let seen: Vec<Event> = goes_on.collect();
    let outs = outs(&office, &session);
    assert!(written(&seen) == behind(&outs, &last));
    drop((again, server));
    office.close();
}

#[test]
fn changes_of_all_sessions_come_once_and_in_order() {
    let office = Office::new("otherwise\n say hello\n");
    let server = Server::start(&office.desk);
    let mut live = stream(&server, "/v1/events?after=0", None);
    let first = office.settled(&["one"]);
    let second = office.settled(&["two"]);
    for id in [&first, &second] {
        office.becomes_cold(id);
    }
    let (_, last) = document(&server, "/v1/sessions?limit=1");
    assert!(last["items"][0]["id"].is_string());
    let mut events = Vec::new();
    let settled = |events: &[Event], id: &str| {
        let mine = events.iter().filter(|e| e.json()["session"] == id);
        mine.filter(|e| e.json()["kind"] == "record").count() >= 2
    };
    while !(settled(&events, &first) && settled(&events, &second)) {
        events.push(live.next().expect("it goes on"));
    }
    let ids: Vec<u64> = events.iter().map(|event| event.id.parse().unwrap()).collect();
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>(), "each once, in order");
    assert!(events.iter().all(|event| event.name == "change"));
    let middle = ids.len() / 2;
    let again = stream(&server, "/v1/events", Some(&middle.to_string()));
    assert_eq!(again.take(ids.len() - middle).collect::<Vec<_>>(), events[middle..]);
    let of_second = stream(&server, &format!("/v1/events?after=0&session={second}"), None).next().unwrap();
    assert_eq!(of_second.json()["session"], second);
    for unknown in ["999999999", "18446744073709551615", "nonsense"] {
        let mut reset = stream(&server, "/v1/events", Some(unknown));
        assert_eq!(reset.next().unwrap().name, "reset", "{unknown}");
    }
    drop((live, server));
    office.close();
}

/// A client that comes back whenever it is cut off, and goes on from where it was.
struct Faithful {
    events: Vec<Event>,
    /// Where it goes on from.
    last: Option<String>,
}

/// Where the server is now.
type Where = Arc<Mutex<(String, String)>>;

fn whereabouts(server: Option<&Server>) -> (String, String) {
    let server = server.unwrap();
    (server.address.clone(), server.token.clone())
}

impl Faithful {
    /// Reads until the session's last generation is over: until `enough` says so.
    fn read(&mut self, place: &Where, path: &str, count: &AtomicUsize, enough: impl Fn(&Event) -> bool) {
        loop {
            let (address, token) = place.lock().unwrap().clone();
            let connected = connect(&address, &token, path, self.last.as_deref());
            let Some(events) = connected else {
                // Dead at the moment; it is there again in no time.
                std::thread::yield_now();
                continue;
            };
            assert_eq!(events.status, 200);
            for event in events {
                assert_ne!(event.name, "reset");
                self.last = Some(event.id.clone());
                count.fetch_add(1, Ordering::Relaxed);
                let over = enough(&event);
                self.events.push(event);
                if over {
                    return;
                }
            }
        }
    }
}

/// How often the server is killed: OSTLER_SERVER_KILLS times, or a few.
fn kills() -> usize {
    std::env::var("OSTLER_SERVER_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(8)
}

/// A number that nobody can guess, and that a failure shows.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

#[test]
fn a_server_killed_again_and_again_loses_nothing() {
    let kills = kills();
    let line = |n: usize| format!(" line {{\"type\":\"stream_event\",\"n\":{n}}}\n pause 1ms\n");
    let lines: String = (0..kills * 60).map(line).collect();
    let awkward = " bytes \\xff\\x80 nel \\u{85}\\r\\n\n huge 200k seed 5\n flood 100k seed 6\n";
    let office = Office::new(&format!(
        "when first\n{awkward}{lines}{awkward} say over\nwhen second\n{lines} ask Bash {{\"command\": \"ls\"}}\n  gives made\n say done\n"
    ));
    let session = office.started(&["first"]);
    let path = format!("/v1/sessions/{session}/events");
    let mut server = Some(Server::start(&office.desk));
    let place: Where = Arc::new(Mutex::new(whereabouts(server.as_ref())));
    let (count, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let reader = std::thread::spawn({
        let (place, path, count, over) =
            (Arc::clone(&place), path.clone(), Arc::clone(&count), Arc::clone(&over));
        move || {
            let mut client = Faithful { events: Vec::new(), last: None };
            client.read(&place, &path, &count, |event| {
                event.name == "control" && event.id.starts_with("2.") && event.json()["kind"] == "dead"
            });
            over.store(true, Ordering::Relaxed);
            client.events
        }
    });
    let mut dice = Dice(u64::from(std::process::id()));
    let kill = |server: &mut Option<Server>, dice: &mut Dice| {
        let from = count.load(Ordering::Relaxed) + 1 + dice.below(40);
        until("more events", || {
            (count.load(Ordering::Relaxed) >= from || over.load(Ordering::Relaxed)).then_some(())
        });
        server.take().unwrap().kill();
        *server = Some(Server::start(&office.desk));
        *place.lock().unwrap() = whereabouts(server.as_ref());
    };
    for _ in 0..kills / 2 {
        kill(&mut server, &mut dice);
    }
    drop(office.desk.run(&["wait", &session, "-q", "--timeout", "40s"]).exits(0));
    drop(office.desk.run(&["send", &session, "second", "-q"]).exits(0));
    for _ in kills / 2..kills {
        kill(&mut server, &mut dice);
    }
    // The question outlived every server, and its answer is delivered.
    office.asks();
    drop(office.desk.run(&["approve", &session]).exits(0));
    drop(office.desk.run(&["wait", &session, "-q", "--timeout", "40s"]).exits(0));
    let events = reader.join().unwrap();
    office.becomes_cold(&session);
    let outs = outs(&office, &session);
    assert!(written(&events) == outs.concat(), "the client from the start has other bytes than the files");
    assert!(events.iter().any(|event| event.written().is_some() && event.data.contains("\"result\"")));
    // From ten places, with the server killed while they read.
    let ids: Vec<&str> = events.iter().map(|event| event.id.as_str()).collect();
    let last = ids.last().unwrap().to_string();
    for round in 0..10 {
        let from = ids[dice.below(ids.len() - 1)].to_owned();
        let read = AtomicUsize::new(0);
        let mut client = Faithful { events: Vec::new(), last: Some(from.clone()) };
        std::thread::scope(|scope| {
            scope.spawn(|| client.read(&place, &path, &read, |event| event.id == last));
            if round % 3 == 0 {
                until("a few events", || (read.load(Ordering::Relaxed) > 0).then_some(()));
                server.take().unwrap().kill();
                server = Some(Server::start(&office.desk));
                *place.lock().unwrap() = whereabouts(server.as_ref());
            }
        });
        assert!(written(&client.events) == behind(&outs, &from), "from {from}");
    }
    drop(server);
    office.close();
}
