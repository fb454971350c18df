//! Many commands decide the same questions at once.

use super::stable::{Stable, until};
use ostler_core::rows::PermissionState;
use std::process::{Command, Stdio};

const QUESTIONS: usize = 10;
const DECIDERS: usize = 100;

/// 1 000 decisions: of each hundred one counts, and the others are told whose it was.
#[test]
fn of_a_hundred_commands_that_decide_at_once_one_counts() {
    let stable = Stable::new();
    let script =
        format!("turn\n{} say done\n", " ask Bash {\"command\":\"make\"}\n then\n".repeat(QUESTIONS));
    let session = stable.session(&script);
    session.send("go");
    let mut winners = Vec::new();
    for _ in 0..QUESTIONS {
        let question = session.question();
        let start = |n: usize| {
            let verb = if n.is_multiple_of(2) { "approve" } else { "deny" };
            let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
            command.args([verb, &session.id.to_string(), &question.request_id, "--json"]);
            command.env_clear().envs(stable.surroundings()).env("OSTLER_HOME", stable.path("home"));
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
            (verb, command.spawn().unwrap())
        };
        let all: Vec<_> = (0..DECIDERS).map(start).collect();
        let ended = all.into_iter().map(|(verb, child)| (verb, child.wait_with_output().unwrap()));
        let ended: Vec<_> = ended.map(|(verb, out)| (verb, out.status.code())).collect();
        let won: Vec<_> = ended.iter().filter(|(_, code)| *code == Some(0)).collect();
        assert_eq!(won.len(), 1, "{ended:?}");
        assert!(ended.iter().all(|(_, code)| matches!(code, Some(0 | 8))), "{ended:?}");
        winners.push(won[0].0);
        until("its answer", || {
            let rows = session.projection().permissions;
            let row = rows.iter().find(|p| p.request_id == question.request_id)?;
            (row.state == PermissionState::Answered).then_some(())
        });
    }
    session.wait();
    let answers: Vec<_> = session.log().into_iter().filter(|l| l["type"] == "control_response").collect();
    let said: Vec<_> =
        answers.iter().map(|a| a["response"]["response"]["behavior"].as_str().unwrap()).collect();
    let wanted: Vec<_> = winners.iter().map(|w| if *w == "approve" { "allow" } else { "deny" }).collect();
    assert_eq!(said, wanted, "one answer a question, and it is the winner's");
    stable.finish();
}
