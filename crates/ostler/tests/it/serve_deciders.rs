//! Commands and HTTP clients decide the same questions at once.

use super::desk_sessions::{Office, until};
use super::serve_http::Server;
use serde_json::{Value, json};
use std::process::Stdio;

const QUESTIONS: usize = 10;
/// Commands beside the clients, for each question.
const COMMANDS: usize = 20;
/// Clients, each with so many tries for each question.
const CLIENTS: usize = 8;
const TRIES: usize = 10;

/// 1 000 decisions: of each hundred one counts, and the others are told whose it was.
#[test]
fn of_commands_and_clients_that_decide_at_once_one_counts() {
    let asks = " ask Bash {\"command\":\"make\"}\n then\n".repeat(QUESTIONS);
    let office = Office::new(&format!("otherwise\n{asks} say Done.\n"));
    let server = Server::start(&office.desk);
    let body = json!({"prompt": "go", "spec": office.http_spec(), "label": "one"});
    server.ask_with("POST", "/v1/sessions", Some(&body), &[("Prefer", "wait=30")]).is(201);
    for _ in 0..QUESTIONS {
        let question: Value = until("a question", || {
            server.get("/v1/permissions?session=one").is(200).json()["items"].get(0).cloned()
        });
        let request = question["request"].as_str().unwrap();
        let path = format!("/v1/permissions/one/1/{request}");
        let decisions = ["allow", "deny"].into_iter().cycle();
        let commands = decisions.clone().take(COMMANDS).map(|decision| {
            let verb = if decision == "allow" { "approve" } else { "deny" };
            let mut command = office.desk.command(&[verb, "one", request, "--json"]);
            (decision, command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
        });
        let commands: Vec<_> = commands.collect();
        let mut won: Vec<(&str, &str)> = std::thread::scope(|scope| {
            let client = |decision: &'static str| {
                let tries = (0..TRIES).map(|_| server.post(&path, &json!({"decision": decision})));
                let lost = |answer: super::serve_http::Answer| {
                    let winner = answer.problem(409, "lost")["with"]["winner"].clone();
                    assert!(["http", "cli"].contains(&winner["by"].as_str().unwrap()), "{winner}");
                };
                let mut won = 0;
                for answer in tries {
                    if answer.status == 200 { won += 1 } else { lost(answer) }
                }
                (decision, won)
            };
            let clients: Vec<_> =
                decisions.take(CLIENTS).map(|decision| scope.spawn(move || client(decision))).collect();
            let done = clients.into_iter().map(|client| client.join().unwrap());
            done.flat_map(|(decision, won)| std::iter::repeat_n((decision, "http"), won)).collect()
        });
        for (decision, mut command) in commands {
            match command.wait().unwrap().code() {
                Some(0) => won.push((decision, "cli")),
                code => assert_eq!(code, Some(8), "a command that lost"),
            }
        }
        assert_eq!(won.len(), 1, "{won:?}");
        let told = server.get(&path).is(200).json();
        assert_eq!((&told["decision"], &told["by"]), (&won[0].0.into(), &won[0].1.into()));
        until("its answer", || (server.get(&path).json()["state"] == "answered").then_some(()));
    }
    server.post("/v1/sessions/one/close", &json!({})).is(200);
    drop(server);
    office.close();
}
