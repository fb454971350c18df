//! A bridge with fake children: the server, and what its clients say to it.

use super::super::desk_sessions::{Office, until};
use super::http::{Answer, Records, Request};
use ostler_os::process::PidFd;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// A desk whose tasks are fake children that play one script.
pub(crate) struct Shop {
    pub(crate) office: Office,
    more: Vec<String>,
    env: Vec<(String, String)>,
    spec: Option<String>,
    server: Option<Server>,
    /// Where the last server listens.
    pub(crate) address: SocketAddr,
}

struct Server {
    process: Child,
    _out: BufReader<ChildStdout>,
}

impl Shop {
    pub(crate) fn new(script: &str) -> Self {
        Self::with(script, &[], &[])
    }

    /// With more options and variables for its servers.
    pub(crate) fn with(script: &str, more: &[&str], env: &[(&str, &str)]) -> Self {
        let mut shop = Self::closed(script, more, env);
        shop.opens();
        shop
    }

    /// The same, before any server runs.
    pub(crate) fn closed(script: &str, more: &[&str], env: &[(&str, &str)]) -> Self {
        let more = more.iter().map(|word| (*word).to_owned()).collect();
        let env = env.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Self {
            office: Office::new(script),
            more,
            env,
            spec: None,
            server: None,
            address: ([127, 0, 0, 1], 0).into(),
        }
    }

    /// The next server lets tasks work in that folder of the desk too.
    pub(crate) fn allows(&mut self, name: &str) {
        self.more.push(format!("--allow-dir={}", self.office.desk.path(name).display()));
    }

    /// Sessions of tasks are started with this instead of the fake child.
    pub(crate) fn starts(&mut self, spec: &Value) {
        self.spec = Some(spec.to_string());
    }

    /// What the sessions of tasks are started with.
    pub(crate) fn task_spec(&self) -> String {
        if let Some(spec) = &self.spec {
            return spec.clone();
        }
        let words = self.office.creating("start", &[]);
        let value = |word: &String| word.split_once('=').unwrap().1.to_owned();
        let claude = words.iter().find(|w| w.starts_with("--claude=")).map(value).unwrap();
        let env: Vec<String> = words.iter().filter(|w| w.starts_with("--env=")).map(value).collect();
        json!({"claude": claude, "env": env}).to_string()
    }

    /// Starts a server, and waits until it listens.
    #[track_caller]
    pub(crate) fn opens(&mut self) {
        let spec = self.task_spec();
        let mut words = ["serve", "--no-tcp", "--no-socket", "--json", "--bridge", "--bridge-port=0"]
            .map(str::to_owned)
            .to_vec();
        words.extend(["--task-spec".to_owned(), spec]);
        words.extend(self.more.clone());
        let mut command = self.office.desk.command(&words);
        command.envs(self.env.iter().cloned()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let mut text = String::new();
        while !text.ends_with("\n}\n") {
            assert_ne!(out.read_line(&mut text).unwrap(), 0, "the server ended: {text}");
        }
        let ready: Value = serde_json::from_str(&text).unwrap();
        let url = ready["bridge"].as_str().unwrap();
        self.address = url.strip_prefix("http://").unwrap().parse().unwrap();
        self.server = Some(Server { process, _out: out });
    }

    /// Kills the server: nothing of it is left to tidy up.
    pub(crate) fn is_killed(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.process.kill().unwrap();
            server.process.wait().unwrap();
        }
    }

    /// Asks the server to leave, and waits until it has.
    pub(crate) fn shuts(&mut self) {
        if let Some(mut server) = self.server.take() {
            PidFd::open(server.process.id()).unwrap().unwrap().terminate().unwrap();
            assert!(server.process.wait().unwrap().success());
        }
    }

    pub(crate) fn key(&self) -> String {
        std::fs::read_to_string(self.office.desk.path("user/.h2c/key")).unwrap()
    }

    /// With the key of this user, under a name.
    pub(crate) fn authorization(&self, user: &str) -> String {
        basic(&format!("{user}:{}", self.key()))
    }

    pub(crate) fn asks(&self, method: &str, target: &str, body: &str) -> Answer {
        self.request(method, target, body).answer(self.address)
    }

    pub(crate) fn request(&self, method: &str, target: &str, body: &str) -> Request {
        Request::new(method, target, body).header("Authorization", &self.authorization("bridge"))
    }

    /// Creates a task; its id.
    #[track_caller]
    pub(crate) fn creates(&self, fields: &Value) -> String {
        let answer = self.asks("POST", "/v1/task/create", &fields.to_string());
        assert_eq!((answer.status, &answer.json()["status"]), (200, &json!("created")), "{answer:?}");
        answer.json()["task_id"].as_str().unwrap().to_owned()
    }

    /// One that says this.
    #[track_caller]
    pub(crate) fn says(&self, prompt: &str) -> String {
        self.creates(&json!({"prompt": prompt}))
    }

    #[track_caller]
    pub(crate) fn output(&self, id: &str) -> Value {
        self.asks("GET", &format!("/v1/task/output?task_id={id}"), "").json()
    }

    /// Polls until it is over; the task.
    #[track_caller]
    pub(crate) fn over(&self, id: &str) -> Value {
        until("the task's end", || {
            let output = self.output(id);
            assert!(output.get("error").is_none(), "{id} is not there any more: {output}");
            (output["retrieval_status"] == "success").then(|| output["task"].clone())
        })
    }

    /// Waits for a status.
    #[track_caller]
    pub(crate) fn becomes(&self, id: &str, status: &str) {
        until(status, || {
            let output = self.output(id);
            let is = &output["task"]["status"];
            assert!(*is == status || output["retrieval_status"] == "pending", "not {status}: {output}");
            (*is == status).then_some(())
        });
    }

    #[track_caller]
    pub(crate) fn streams(&self, id: &str) -> Records {
        let target = format!("/v1/task/output/stream?task_id={id}");
        let (answer, mut records) = self.request("GET", &target, "").records(self.address);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(records.next(), Some(json!({"type": "connected", "taskId": id})));
        records
    }

    #[track_caller]
    pub(crate) fn cancels(&self, id: &str) {
        let answer = self.asks("POST", "/v1/task/cancel", &json!({"task_id": id}).to_string());
        assert_eq!((answer.status, answer.json()), (200, json!({"status": "cancelled", "task_id": id})));
    }

    #[track_caller]
    pub(crate) fn decides(&self, fields: &Value) -> Value {
        self.asks("POST", "/v1/task/permission", &fields.to_string()).json()
    }

    /// Prompts that children have read, in order.
    pub(crate) fn told(&self) -> Vec<String> {
        let told = self.office.told();
        let texts = told.iter().filter(|line| line["type"] == "user");
        texts.map(|line| line["message"]["content"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// No server, no session, no file is left, and the journals say what the store says.
    #[track_caller]
    pub(crate) fn close(mut self) {
        self.shuts();
        let Self { office, .. } = &self;
        // Whoever drops this closes the office; here it is looked at first.
        office.rests();
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.process.kill();
            let _ = server.process.wait();
        }
    }
}

/// `Basic` and the base64 of a text.
pub(crate) fn basic(plain: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = "Basic ".to_owned();
    for three in plain.as_bytes().chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for at in 0..=three.len() {
            let index = bits >> (18 - 6 * at) & 63;
            out.push(char::from(ALPHABET[usize::try_from(index).unwrap()]));
        }
        out.push_str(&"=".repeat(3 - three.len()));
    }
    out
}

/// A deadline for things that must not take long.
pub(crate) fn soon(begun: Instant) {
    assert!(begun.elapsed() < Duration::from_secs(30), "it took {:?}", begun.elapsed());
}
