//! A page of somebody else, in a real browser: it reads nothing, starts nothing, approves nothing.

use super::desk_sessions::{Office, PATIENCE, until};
use super::serve_http::Server;
use ostler_os::tree;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Whose processes these are.
const MARK: &str = "TEST_BROWSER";
/// A name that somebody has made to point here.
const REBOUND: &str = "rebound.example";
/// How many things the page tries, from its own origin and from none.
const TRIES: usize = 26;

fn chromium() -> PathBuf {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&path).flat_map(|dir| names.map(|name| dir.join(name)));
    all.into_iter()
        .find(|file| file.is_file())
        .expect("chromium is missing: a real browser is to try what a foreign page can; Debian: apt-get install chromium")
}

/// A browser that knows no other machine.
struct Browser<'a> {
    office: &'a Office,
    child: Option<Child>,
}

impl<'a> Browser<'a> {
    fn command(office: &Office) -> Command {
        let profile = office.desk.path("profile");
        let mut command = Command::new(chromium());
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", office.desk.path("user"));
        command.env("TMPDIR", office.desk.path("tmp")).env(MARK, office.desk.path(""));
        if let Ok(run) = std::env::var("OSTLER_TEST_RUN") {
            command.env("OSTLER_TEST_RUN", run);
        }
        // Root has no sandbox of this browser; what it shows is our own page.
        command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
        command.args(["--no-first-run", "--disable-background-networking", "--disable-component-update"]);
        command.args([
            "--disable-sync",
            "--disable-default-apps",
            "--disable-crash-reporter",
            "--no-proxy-server",
        ]);
        command.arg(format!("--user-data-dir={}", profile.display()));
        command.arg(format!(
            "--host-resolver-rules=MAP {REBOUND} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        ));
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn open(office: &'a Office, url: &str) -> Self {
        let child = Self::command(office).arg(url).stdout(Stdio::null()).spawn().unwrap();
        Self { office, child: Some(child) }
    }

    /// What a page that is opened by its address looks like.
    fn shows(office: &'a Office, url: &str) -> String {
        let output = Self::command(office).arg("--dump-dom").arg(url).output().unwrap();
        drop(Self { office, child: None });
        // The browser's own page about an error is long.
        String::from_utf8(output.stdout).unwrap().chars().take(1000).collect()
    }
}

impl Drop for Browser<'_> {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let all =
            || tree::by_marker(OsStr::new(MARK), self.office.desk.path("").as_os_str()).unwrap_or_default();
        // Its helpers leave when they notice.
        if !std::thread::panicking() {
            until("the browser's processes to leave", || all().is_empty().then_some(()));
        }
        let _ = std::fs::remove_dir_all(self.office.desk.path("profile"));
    }
}

/// A request that somebody got.
struct Got {
    line: String,
    headers: BTreeMap<String, String>,
    body: String,
}

fn read(stream: &TcpStream) -> Option<Got> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Got { line, headers, body: String::from_utf8_lossy(&body).into_owned() })
}

/// A server of the test's own, for as long as the process lives: every request goes to `answer`.
fn server(answer: impl Fn(Got) -> String + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = std::sync::Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = std::sync::Arc::clone(&answer);
            // A browser opens connections ahead and leaves them silent.
            std::thread::spawn(move || {
                if let Some(got) = read(&stream) {
                    let _ = (&stream).write_all(answer(got).as_bytes());
                }
            });
        }
    });
    address.to_string()
}

fn html(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// What the page learns about `target`.
fn learns(office: &Office, target: &str, token: &str, permission: &str) -> BTreeMap<String, String> {
    let start = json!({"prompt": "intruder", "label": "intruder", "spec": office.http_spec()}).to_string();
    let page = include_str!("real_browser.html");
    let page = page.replace("\"TARGET\"", &format!("\"{target}\"")).replace("TOKEN\"", &format!("{token}\""));
    let page =
        page.replace("'START'", &format!("'{start}'")).replace("PERMISSION\"", &format!("{permission}\""));
    let (told, found): (Sender<String>, Receiver<String>) = channel();
    let told = std::sync::Mutex::new(told);
    let own = server(move |got| {
        if got.line.starts_with("POST /done") {
            let _ = told.lock().unwrap().send(got.body);
            return html("");
        }
        html(&page)
    });
    let _browser = Browser::open(office, &format!("http://{own}/page"));
    let found = found.recv_timeout(PATIENCE).expect("the page comes to its end");
    let found: BTreeMap<String, String> = serde_json::from_str(&found).unwrap();
    assert_eq!(found.len(), TRIES, "{found:#?}");
    found
}

#[test]
fn a_page_of_somebody_else_gets_nothing_and_does_nothing() {
    let office = Office::new(
        "when ask\n ask Bash {\"command\":\"make\"}\n then\n say Made.\notherwise\n say Hello.\n",
    );
    let ostler = Server::start(&office.desk);
    let body = json!({"prompt": "ask", "spec": office.http_spec(), "label": "one"});
    ostler.ask_with("POST", "/v1/sessions", Some(&body), &[("Prefer", "wait=30")]).is(201);
    let permission = format!("/v1/permissions/one/1/{}", office.asks());

    // First a server that lets everybody do everything: so it is known that the page does what it can.
    let (told, seen) = channel();
    let told = std::sync::Mutex::new(told);
    let careless = server(move |got| {
        let kind = got.headers.get("content-type").cloned().unwrap_or_default();
        let origin = got.headers.get("origin").cloned().unwrap_or_default();
        let _ = told.lock().unwrap().send((got.line.trim().to_owned(), kind, origin));
        "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nAccess-Control-Allow-Headers: Authorization, Content-Type\r\n\
         Access-Control-Allow-Methods: *\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
            .to_owned()
    });
    let found = learns(&office, &format!("http://{careless}"), &ostler.token, &permission);
    for name in ["read", "read_with_token", "start_with_token", "null origin: approve_with_token"] {
        assert_eq!(found[name], "got: hi", "{found:#?}");
    }
    let seen: Vec<_> = seen.try_iter().collect();
    let posted = |kind: &str, origin: fn(&str) -> bool| {
        seen.iter().any(|(line, k, o)| line.starts_with("POST /v1/permissions/") && k == kind && origin(o))
    };
    assert!(posted("text/plain", |origin| origin.starts_with("http://127.0.0.1:")), "{seen:?}");
    assert!(posted("text/plain", |origin| origin == "null"), "{seen:?}");
    assert!(posted("application/json", |origin| origin == "null"), "{seen:?}");

    // Then ours: under its own name, and under one that was made to point here.
    let port = ostler.address.split_once(':').unwrap().1;
    for target in [format!("http://{}", ostler.address), format!("http://{REBOUND}:{port}")] {
        let found = learns(&office, &target, &ostler.token, &permission);
        let got: Vec<_> = found.iter().filter(|(_, what)| !what.starts_with("nothing: ")).collect();
        assert!(got.is_empty(), "{target}: {got:?}");
    }
    let shown = Browser::shows(&office, &format!("http://{REBOUND}:{port}/v1/sessions"));
    assert!(shown.contains("urn:ostler:problem:foreign"), "{shown}");
    // Opened by its own name it is a page like any other, and wants the token.
    let shown = Browser::shows(&office, &format!("http://{}/v1/sessions", ostler.address));
    assert!(shown.contains("urn:ostler:problem:unauthorized"), "{shown}");

    let sessions = ostler.get("/v1/sessions").json();
    assert_eq!(sessions["items"].as_array().unwrap().len(), 1, "{sessions:#}");
    assert_eq!(ostler.get(&permission).json()["decision"], Value::Null);
    ostler.post("/v1/sessions/one/close", &json!({})).is(200);
    drop(ostler);
    office.close();
}
