//! `ostler bridge enable | disable | status`, and servers that stand in each other's way.

use super::super::desk::{Desk, Ran};
use super::super::desk_sessions::{Office, until};
use super::super::json_fields::Schema;
use super::http::Request;
use super::shop::{Shop, basic};
use ostler_os::process::PidFd;
use ostler_server::port_of;
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;

/// A bridge of this desk, ended however its test ends.
struct Bridge<'a>(&'a Desk);

impl Drop for Bridge<'_> {
    fn drop(&mut self) {
        self.0.run(&["bridge", "disable"]);
    }
}

fn document(ran: &Ran) -> Value {
    let document = ran.document();
    Schema::load().holds("bridge", &document);
    document
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

#[test]
fn on_off_and_whether_it_really_is() {
    let desk = Desk::new();
    let _bridge = Bridge(&desk);
    let cwd = desk.path("work").canonicalize().unwrap().display().to_string();
    let off = document(&desk.run(&["bridge", "status", "--json"]).exits(7));
    assert_eq!(
        (&off["running"], &off["port"], &off["cwd"]),
        (&json!(false), &json!(port_of(&cwd)), &json!("$DESK/work"))
    );
    let port = free_port().to_string();
    let on = document(&desk.run(&["bridge", "enable", "--json", "--bridge-port", &port]).exits(0));
    assert_eq!((&on["running"], &on["answers"]), (&json!(true), &json!(true)));
    let address: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
    assert_eq!(on["url"], json!(format!("http://{address}")));
    let key = on["key"].as_str().unwrap();
    let asked = Request::new("GET", "/v1/task/output?task_id=x", "")
        .header("Authorization", &basic(&format!("x:{key}")));
    assert_eq!(asked.answer(address).json(), json!({"error": "not_found"}));
    // Once more changes nothing.
    let again = document(&desk.run(&["bridge", "enable", "--json"]).exits(0));
    assert_eq!(again["pid"], on["pid"]);
    let status = desk.run(&["bridge", "status"]).exits(0);
    assert!(
        status.out.starts_with("bridge: on\n") && !status.out.contains(key),
        "no key for whoever only looks: {}",
        status.out
    );
    // A server that does not move is not told to be well.
    let pid = u32::try_from(on["pid"].as_u64().unwrap()).unwrap();
    let server = PidFd::open(pid).unwrap().unwrap();
    server.pause().unwrap();
    let stuck = document(&desk.run(&["bridge", "status", "--json"]).exits(0));
    assert_eq!((&stuck["running"], &stuck["answers"]), (&json!(true), &json!(false)));
    server.go_on().unwrap();
    let off = document(&desk.run(&["bridge", "disable", "--json"]).exits(0));
    assert_eq!(off["running"], json!(false));
    assert!(server.is_dead().unwrap(), "disable comes back when it is gone");
    desk.run(&["bridge", "status"]).exits(7);
    assert!(desk.run(&["bridge", "disable"]).exits(0).out.contains("no bridge"));
}

#[test]
fn a_killed_bridge_is_off_and_can_be_started_again() {
    let desk = Desk::new();
    let _bridge = Bridge(&desk);
    let port = free_port().to_string();
    let on = document(&desk.run(&["bridge", "enable", "--json", "--bridge-port", &port]).exits(0));
    let pid = u32::try_from(on["pid"].as_u64().unwrap()).unwrap();
    let server = PidFd::open(pid).unwrap().unwrap();
    server.kill().unwrap();
    until("its death", || server.is_dead().unwrap().then_some(()));
    desk.run(&["bridge", "status"]).exits(7);
    let again = document(&desk.run(&["bridge", "enable", "--json", "--bridge-port", &port]).exits(0));
    assert_ne!(again["pid"], on["pid"]);
}

#[test]
fn a_port_that_is_taken_is_told() {
    let desk = Desk::new();
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = desk.run(&["bridge", "enable", "--bridge-port", &port]).exits(3);
    assert!(ran.err.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{}", ran.all());
    assert!(ran.err.contains("in use") && ran.err.contains("--bridge-port"), "{}", ran.all());
    desk.run(&["bridge", "status"]).exits(7);
    let ran = desk.run(&["serve", "--no-tcp", "--bridge", "--bridge-port", &port]).exits(3);
    assert!(ran.err.contains("in use"), "{}", ran.all());
}

#[test]
fn a_second_server_for_a_directory_is_told_of_the_first() {
    let shop = Shop::new("otherwise\n say hi\n");
    let ran =
        shop.office.desk.run(&["serve", "--no-tcp", "--no-socket", "--bridge", "--bridge-port=0"]).exits(8);
    assert!(ran.err.contains("runs already") && ran.err.contains(&shop.address.to_string()), "{}", ran.all());
    // Another directory of the same home has a bridge of its own.
    let mut command = shop.office.desk.command(&[
        "serve",
        "--no-tcp",
        "--no-socket",
        "--bridge",
        "--bridge-port=0",
        "--json",
    ]);
    let mut other = command.current_dir(shop.office.desk.path("tmp")).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = std::io::BufReader::new(other.stdout.take().unwrap());
    let mut text = String::new();
    while !text.ends_with("\n}\n") {
        assert_ne!(std::io::BufRead::read_line(&mut out, &mut text).unwrap(), 0, "{text}");
    }
    let ready: Value = serde_json::from_str(&text).unwrap();
    Schema::load().holds("serve", &ready);
    let address: SocketAddr = ready["bridge"].as_str().unwrap()["http://".len()..].parse().unwrap();
    // It knows the tasks of its home, and leaves the first one's alone.
    let id = shop.says("hello");
    shop.over(&id);
    let asked = shop.request("GET", &format!("/v1/task?task_id={id}"), "").answer(address);
    assert_eq!(asked.json()["status"], "done", "{asked:?}");
    other.kill().unwrap();
    other.wait().unwrap();
    shop.close();
}

#[test]
fn a_bridge_without_a_key_is_not_opened_to_others() {
    let desk = Desk::new();
    let mut command = desk.command(&[
        "serve",
        "--no-tcp",
        "--bridge",
        "--bridge-port=0",
        "--behind-proxy",
        "agents.example",
    ]);
    let out = command.env("H2C_HOME", "1").output().unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{err}");
    assert!(err.contains("H2C_HOME=1"), "{err}");
    // No home folder, no key.
    let out = desk.command(&["bridge", "enable"]).env_remove("HOME").output().unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.code() == Some(2) && err.contains("HOME is not set"), "{err}");
}

/// Ending a bridge ends no task.
#[test]
fn what_runs_goes_on_when_the_bridge_is_disabled() {
    let office = Office::new("otherwise\n mark begun\n say done {until go}\n");
    let bridge = Bridge(&office.desk);
    let spec = {
        let shop = Shop::closed("", &[], &[]);
        // The same fake child, with this desk's script.
        let theirs = shop.office.desk.path("").display().to_string();
        shop.task_spec().replace(&theirs, &office.desk.path("").display().to_string())
    };
    let file = office.desk.file("spec.json", spec);
    let port = free_port().to_string();
    let file = file.display().to_string();
    let on = document(
        &office
            .desk
            .run(&["bridge", "enable", "--json", "--bridge-port", &port, "--task-spec", &file])
            .exits(0),
    );
    let address: SocketAddr = on["url"].as_str().unwrap()["http://".len()..].parse().unwrap();
    let key = basic(&format!("x:{}", on["key"].as_str().unwrap()));
    let created = Request::new("POST", "/v1/task/create", "{\"prompt\":\"go\"}")
        .header("Authorization", &key)
        .answer(address);
    let id = created.json()["task_id"].as_str().unwrap().to_owned();
    office.reaches("begun");
    office.desk.run(&["bridge", "disable"]).exits(0);
    office.open("go");
    assert_eq!(office.desk.run(&["wait", &id]).exits(0).out, "done\n");
    drop(bridge);
    office.close();
}
