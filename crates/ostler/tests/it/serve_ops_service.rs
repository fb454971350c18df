//! The server below a service manager: what it tells, and the sockets that it is given.

use super::desk::{Desk, repository};
use super::desk_sessions::{Office, PATIENCE, until};
use super::serve_http::{Server, exchange, request};
use ostler_os::lockfile;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::Command;

/// A service manager's end of the notifications.
struct Manager {
    socket: UnixDatagram,
}

impl Manager {
    fn new(desk: &Desk) -> Self {
        let socket = UnixDatagram::bind(desk.path("notify")).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { socket }
    }

    /// The next thing that it is told.
    #[track_caller]
    fn next(&self) -> String {
        let mut buffer = [0; 256];
        let length = self.socket.recv(&mut buffer).expect("it is told something");
        String::from_utf8_lossy(&buffer[..length]).trim().to_owned()
    }
}

#[test]
fn it_says_when_it_is_ready_that_it_lives_and_when_it_leaves() {
    let desk = Desk::new();
    let manager = Manager::new(&desk);
    let server = Server::start_with(&desk, |command| {
        command.env("NOTIFY_SOCKET", desk.path("notify")).env("WATCHDOG_USEC", "100000");
    });
    let mut told = vec![manager.next()];
    while told.iter().filter(|what| *what == "WATCHDOG=1").count() < 3 {
        told.push(manager.next());
    }
    assert_eq!(told.iter().filter(|what| *what == "READY=1").count(), 1, "{told:?}");
    // Whoever is told that it is ready can be served.
    server.get("/readyz").is(200);
    assert_eq!(server.leave(), Some(0));
    until("the end", || (manager.next() == "STOPPING=1").then_some(()));
}

#[test]
fn without_a_watchdog_it_says_only_two_things() {
    let desk = Desk::new();
    let manager = Manager::new(&desk);
    let server = Server::start_with(&desk, |command| {
        command.env("NOTIFY_SOCKET", desk.path("notify"));
    });
    assert_eq!(manager.next(), "READY=1");
    assert_eq!(server.leave(), Some(0));
    assert_eq!(manager.next(), "STOPPING=1");
}

#[test]
fn what_the_manager_says_to_its_service_is_not_said_to_keepers() {
    let office = Office::new("otherwise\n mark talking\n until enough\n say Hello.\n");
    let manager = Manager::new(&office.desk);
    let server = Server::start_with(&office.desk, |command| {
        command.env("NOTIFY_SOCKET", office.desk.path("notify")).env("WATCHDOG_USEC", "60000000");
    });
    assert_eq!(manager.next(), "READY=1");
    let body = serde_json::json!({"prompt": "hi", "spec": office.http_spec()});
    let started = server.ask_with("POST", "/v1/sessions", Some(&body), &[("Prefer", "wait=30")]).is(201);
    let id = started.json()["session"]["id"].as_str().unwrap().to_owned();
    office.reaches("talking");
    let lock = office.desk.home().join("sessions").join(&id).join("keeper.lock");
    let keeper = until("a keeper", || {
        String::from_utf8(lockfile::note(&lock).ok()?).ok().filter(|pid| !pid.trim().is_empty())
    });
    let environment = std::fs::read(format!("/proc/{}/environ", keeper.trim())).unwrap();
    let names: Vec<_> = environment.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    assert!(names.iter().any(|name| name.starts_with("PATH=")), "{names:?}");
    for name in ["NOTIFY_SOCKET=", "WATCHDOG_USEC="] {
        assert!(!names.iter().any(|have| have.starts_with(name)), "{names:?}");
    }
    office.open("enough");
    office.desk.run(&["wait", &id, "--timeout", "40s"]).exits(0);
    drop(server);
    office.close();
}

/// The server below systemd's own tool, which listens and starts it at the first connection; with what it must be told.
fn activated(desk: &Desk, listen: &[&str], more: &[&str]) -> Command {
    let found = Command::new("systemd-socket-activate").arg("--version").output();
    assert!(found.is_ok(), "systemd-socket-activate is missing: install systemd (apt-get install systemd)");
    let plain = desk.command::<&str>(&[]);
    let mut command = Command::new("systemd-socket-activate");
    for address in listen {
        command.args(["-l", address]);
    }
    command.env_clear().current_dir(desk.path("work"));
    for (name, value) in plain.get_envs() {
        let value = value.unwrap();
        command.env(name, value);
        let mut pair = name.to_owned();
        pair.push("=");
        pair.push(value);
        command.arg("-E").arg(pair);
    }
    command.arg(env!("CARGO_BIN_EXE_ostler")).args(["serve", "--json"]).args(more);
    command
}

#[test]
fn sockets_that_are_handed_down_are_served_in_place_of_its_own() {
    let desk = Desk::new();
    desk.run(&["ls"]).exits(0);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (tcp, local) = (format!("127.0.0.1:{port}"), desk.home().join("serve.sock"));
    let command = activated(&desk, &[&tcp, &local.display().to_string()], &[]);
    let child = Server::spawned(&desk, command);
    // Nothing runs until somebody comes.
    let mut first = until("a socket", || UnixStream::connect(&local).ok());
    let server = Server::told(&desk, child);
    assert_eq!((&server.address, &server.socket), (&tcp, &local));
    // Whoever came first is served too.
    first.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(
        exchange(&mut first, &request("x", "GET", "/v1/sessions", None, &[])).is(200).json()["items"],
        serde_json::json!([])
    );
    server.get("/v1/sessions").is(200);
    server.raw("GET", "/v1/sessions", None, &[]).problem(401, "unauthorized");
    // It is the home's server, and another one is told.
    let other = desk.run(&["serve", "--no-tcp"]);
    assert!(
        other.status != Some(0) && other.err.contains("another `ostler serve` runs on this home"),
        "{other:?}"
    );
    // Its manager's socket is not its to remove.
    assert_eq!(server.leave(), Some(0));
    assert!(local.exists());
}

#[test]
fn a_wide_socket_that_is_handed_down_needs_a_proxy_too() {
    let desk = Desk::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = activated(&desk, &[&format!("0.0.0.0:{port}")], &[]);
    let child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let _came = until("a socket", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    let ran = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && said.contains("can be reached from other machines"), "{said}");
}

/// `Name=value` of an ini file, by section.
fn settings(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in
        text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='))
    {
        all.entry(name.to_owned()).or_default().push(value.to_owned());
    }
    all
}

#[test]
fn the_unit_ends_no_session_and_listens_where_the_program_would() {
    let read = |name: &str| {
        settings(&std::fs::read_to_string(repository().join("contrib/systemd").join(name)).unwrap())
    };
    let (service, socket) = (read("ostler.service"), read("ostler.socket"));
    for (name, value) in
        [("KillMode", "process"), ("OOMPolicy", "continue"), ("Type", "notify"), ("Delegate", "yes")]
    {
        assert_eq!(service[name], [value], "{name}");
    }
    assert_eq!(socket["ListenStream"], ["127.0.0.1:7867", "%S/ostler/serve.sock"]);
    // What would close something to agents is in no session's way.
    for closing in ["ProtectHome", "PrivateTmp", "ProtectSystem", "NoNewPrivileges", "SystemCallFilter"] {
        assert!(!service.contains_key(closing), "{closing}");
    }
}
