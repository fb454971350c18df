//! The server is killed: nothing that was accepted is lost, and nothing is done twice.

use super::http::text_of;
use super::shop::Shop;
use serde_json::json;

const SCRIPT: &str = "when ask\n say Let me see.\n ask Bash {\"command\":\"make\"}\n gives built\n then\n say Done.\n\
                      when slow\n mark begun\n say Half {until go} of it.\notherwise\n say You said $text\n";

#[test]
fn in_the_middle_of_a_task_and_while_others_wait() {
    let mut shop = Shop::with(SCRIPT, &["--max-concurrent=1"], &[]);
    let first = shop.says("slow");
    shop.office.reaches("begun");
    let waiting: Vec<String> = ["a", "b", "c"].map(|prompt| shop.says(prompt)).to_vec();
    let mut torn = shop.streams(&first);
    torn.of_type("chunk");
    shop.is_killed();
    torn.all();
    // The child does not notice, and nothing that waits begins without a server.
    shop.office.open("go");
    shop.opens();
    let task = shop.over(&first);
    assert_eq!((&task["status"], &task["result"]), (&json!("done"), &json!("Half  of it.")), "{task}");
    for (id, prompt) in waiting.iter().zip(["a", "b", "c"]) {
        assert_eq!(shop.over(id)["result"], format!("You said {prompt}"));
    }
    assert_eq!(shop.told(), ["slow", "a", "b", "c"], "each once, in order");
    shop.close();
}

#[test]
fn what_waits_still_waits_without_a_server() {
    let mut shop = Shop::with(SCRIPT, &["--max-concurrent=1"], &[]);
    let first = shop.says("slow");
    shop.office.reaches("begun");
    let second = shop.says("second");
    shop.is_killed();
    shop.opens();
    assert_eq!(shop.output(&second)["task"]["status"], "queued");
    shop.shuts();
    shop.opens();
    assert_eq!(shop.output(&second)["task"]["status"], "queued");
    shop.office.open("go");
    assert_eq!(shop.over(&first)["status"], "done");
    assert_eq!(shop.over(&second)["status"], "done");
    shop.close();
}

/// Killed anywhere between accepting and beginning.
#[test]
fn again_and_again_right_behind_create() {
    let mut shop = Shop::new(SCRIPT);
    let mut ids = Vec::new();
    for round in 0..6 {
        ids.push(shop.says(&format!("round {round}")));
        if round % 2 == 1 {
            shop.becomes(&ids[round], if round % 4 == 1 { "running" } else { "done" });
        }
        shop.is_killed();
        shop.opens();
    }
    for (round, id) in ids.iter().enumerate() {
        assert_eq!(shop.over(id)["result"], format!("You said round {round}"));
    }
    let mut told = shop.told();
    told.sort();
    assert_eq!(told, (0..6).map(|round| format!("round {round}")).collect::<Vec<_>>(), "each once");
    shop.close();
}

#[test]
fn a_question_survives_its_server() {
    let mut shop = Shop::new(SCRIPT);
    let id = shop.says("ask");
    let asked = shop.streams(&id).of_type("permission_request");
    shop.is_killed();
    shop.opens();
    let mut records = shop.streams(&id);
    assert_eq!(records.next(), Some(asked));
    assert_eq!(shop.decides(&json!({"task_id": id, "behavior": "allow"}))["status"], "responded");
    assert!(text_of(&records.all()).contains("built"));
    shop.close();
}

/// A cancel that was accepted by a server that died over it.
#[test]
fn a_cancel_is_carried_out_by_the_next_server() {
    let mut shop = Shop::new(SCRIPT);
    let id = shop.says("slow");
    shop.office.reaches("begun");
    shop.shuts();
    let db = ostler_store::Db::open(&shop.office.desk.home(), ostler_store::Durability::Full).unwrap();
    let accepted = db.cancel_task(&id, ostler_core::ids::Millis(1)).unwrap();
    assert_eq!(accepted, ostler_store::db::TaskCancel::Running);
    drop(db);
    shop.opens();
    assert_eq!(shop.over(&id)["result"], "cancelled");
    shop.close();
}

#[test]
fn a_child_that_dies_is_told_and_the_next_task_begins() {
    let script = format!("when die\n say half\n mark said\n until now\n kill KILL\n{SCRIPT}");
    let shop = Shop::with(&script, &["--max-concurrent=1"], &[]);
    let first = shop.says("die");
    shop.office.reaches("said");
    let (listens, second) = (shop.streams(&first), shop.says("second"));
    shop.office.open("now");
    let last = listens.all().pop().unwrap();
    assert_eq!(last["reason"], "Claude process exited (code=137)", "{last}");
    let task = shop.over(&first);
    assert_eq!(
        (&task["status"], &task["exitCode"], &task["usage"]),
        (&json!("failed"), &json!(1), &json!(null))
    );
    assert_eq!((&task["result"], &task["partial_result"]), (&last["reason"], &json!("half")), "{task}");
    assert_eq!(shop.over(&second)["result"], "You said second");
    shop.close();
}
