//! The examples of docs/http.md do what the page says.

use super::desk::repository;
use super::desk_sessions::Office;
use super::serve_http::Server;
use serde_json::Value;
use std::fs;
use std::process::Command;

/// The shell examples of the page, in order, one string a block.
fn examples() -> Vec<String> {
    let page = fs::read_to_string(repository().join("docs/http.md")).unwrap();
    let blocks = page.split("```sh\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

/// Commands of a block: lines, those that end in a backslash together with the next one.
fn commands(block: &str) -> Vec<String> {
    let joined = block.replace("\\\n", " ");
    joined.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

#[test]
fn every_example_of_the_page_works() {
    let office = Office::new(
        "when ask\n ask Bash {\"command\":\"make\"}\n then\n say Made.\notherwise\n say Hello.\n",
    );
    let server = Server::start(&office.desk);
    // The session of the page, with a claude that costs nothing either; the page's own is the lab's.
    office.settled(&["--label", "greeter", "hi"]);
    let mut run = 0;
    for block in examples() {
        for command in commands(&block) {
            let is_start = command.contains("\"lab\": true");
            let command = command
                .replace("http://127.0.0.1:7867", &format!("http://{}", server.address))
                // Another name than the one that is taken, and the fake claude.
                .replace(
                    "\"label\": \"greeter\", \"spec\": {\"lab\": true}",
                    &format!("\"spec\": {}", office.http_spec()),
                );
            let command = match command.contains("the-request") {
                true => {
                    office.desk.run(&["send", "greeter", "ask"]).exits(0);
                    let request = office.asks();
                    let shown = server.get("/v1/permissions?session=greeter").json();
                    let generation = shown["items"][0]["generation"].to_string();
                    command.replace("greeter/1/the-request", &format!("greeter/{generation}/{request}"))
                }
                false => command,
            };
            let script = format!(
                "ostler=http://{}\nauth=\"Authorization: Bearer {}\"\n{command}",
                server.address, server.token
            );
            // A block may say something that the next line uses.
            let script = match command.contains("deliveries/$id") {
                true => {
                    let first = commands(&block)[0].clone();
                    script.replace(&command, &format!("{first}\n{command}"))
                }
                false => script,
            };
            let mut shell = Command::new("sh");
            shell
                .args(["-c", &script])
                .env("OSTLER_HOME", office.desk.home())
                .current_dir(office.desk.path("work"));
            let output = shell.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{command}\n{said}");
            run += 1;
            if command.starts_with("id=") {
                continue;
            }
            let answer: Value =
                serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {command}\n{said}"));
            assert!(answer.get("status").is_none() || answer.get("title").is_none(), "{command}\n{answer:#}");
            if is_start {
                assert_eq!(answer["delivery"]["route"], "wake", "{answer:#}");
            }
        }
    }
    assert!(run > 15, "{run}");
    for session in server.get("/v1/sessions?closed=false").json()["items"].as_array().unwrap() {
        server
            .post(&format!("/v1/sessions/{}/close", session["id"].as_str().unwrap()), &serde_json::json!({}))
            .is(200);
    }
    drop(server);
    office.close();
}
