//! The end of a task that somebody asks for, in every state it can be in; and how many run at once meanwhile.

use super::super::desk_sessions::until;
use super::shop::{Shop, soon};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const SCRIPT: &str = "when ask\n say Let me see.\n ask Bash {\"command\":\"make\"}\n then\n say Done.\n\
                      when deaf\n mark deaf\n say Half {until never} of it.\n\
                      when slow\n mark begun\n say Half {until go} of it.\notherwise\n say You said $text\n";

#[test]
fn one_that_waits_never_begins() {
    let shop = Shop::with(SCRIPT, &["--max-concurrent=1"], &[]);
    let first = shop.says("slow");
    shop.office.reaches("begun");
    let (second, third) = (shop.says("second"), shop.says("third"));
    let listens = shop.streams(&second);
    shop.cancels(&second);
    assert_eq!(
        listens.all(),
        [json!({"type": "error", "reason": "cancelled", "task_id": second, "status": "failed"})]
    );
    let task = shop.over(&second);
    assert_eq!(
        (&task["status"], &task["result"], &task["exitCode"]),
        (&json!("failed"), &json!("cancelled"), &json!(1))
    );
    assert_eq!((&task["partial_result"], &task["session_id"]), (&json!(""), &json!(null)));
    shop.office.open("go");
    shop.over(&first);
    assert_eq!(shop.over(&third)["result"], "You said third");
    assert_eq!(shop.told(), ["slow", "third"]);
    shop.cancels(&second);
    shop.close();
}

#[test]
fn one_that_runs_keeps_what_it_had_said() {
    let shop = Shop::new(SCRIPT);
    let id = shop.says("slow");
    let mut records = shop.streams(&id);
    records.of_type("chunk");
    let begun = Instant::now();
    shop.cancels(&id);
    soon(begun);
    // Over when the answer comes, as its clients know it.
    let output = shop.output(&id);
    assert_eq!(output["retrieval_status"], "success", "{output}");
    let task = &output["task"];
    assert_eq!(
        (&task["status"], &task["result"], &task["exitCode"]),
        (&json!("failed"), &json!("cancelled"), &json!(1))
    );
    assert_eq!((&task["partial_result"], &task["usage"]), (&json!("Half"), &json!(null)));
    let last = records.all().pop().unwrap();
    assert_eq!(last, json!({"type": "error", "reason": "cancelled", "task_id": id, "status": "failed"}));
    shop.cancels(&id);
    shop.close();
}

#[test]
fn one_that_asks_is_withdrawn() {
    let shop = Shop::new(SCRIPT);
    let id = shop.says("ask");
    let mut records = shop.streams(&id);
    records.of_type("permission_request");
    shop.cancels(&id);
    assert_eq!(records.all().last().unwrap()["reason"], "cancelled");
    let late = shop.decides(&json!({"task_id": id, "behavior": "allow"}));
    assert_eq!(late, json!({"error": "no_pending_request"}));
    shop.close();
}

#[test]
fn one_that_does_not_listen_is_ended_all_the_same() {
    let shop = Shop::new(&format!("ignore interrupt end_session\n{SCRIPT}"));
    let id = shop.says("deaf");
    shop.office.reaches("deaf");
    shop.cancels(&id);
    let task = shop.over(&id);
    assert_eq!((&task["result"], &task["exitCode"]), (&json!("cancelled"), &json!(1)), "{task}");
    shop.close();
}

/// A cancel at every moment between the request and the answer: none hangs, none runs on, none is lost.
#[test]
fn one_that_is_just_being_made() {
    let shop = Shop::new(SCRIPT);
    let mut all = Vec::new();
    for round in 0..12 {
        let id = shop.says("slow");
        if round % 3 == 1 {
            until("it to begin", || (shop.output(&id)["task"]["status"] != "queued").then_some(()));
        }
        if round % 3 == 2 {
            shop.becomes(&id, "running");
        }
        shop.cancels(&id);
        all.push(id);
    }
    for id in &all {
        let task = shop.over(id);
        assert_eq!((&task["status"], &task["result"]), (&json!("failed"), &json!("cancelled")), "{task}");
    }
    shop.close();
}

/// How many of the children of a desk live at once, as their own processes say.
#[test]
fn never_more_at_once_than_may_be() {
    let script = "when die\n mark dying\n kill KILL\notherwise\n say Half {until go} of it.\n";
    let shop = Shop::with(script, &["--max-concurrent=2"], &[]);
    let ids: Vec<String> = (0..8).map(|n| shop.says(if n % 4 == 1 { "die" } else { "stay" })).collect();
    let over = AtomicBool::new(false);
    let (most, ended) = std::thread::scope(|scope| {
        let most = scope.spawn(|| {
            let mut most = 0;
            until("all of them to end", || {
                most = most.max(shop.office.children());
                over.load(Ordering::Relaxed).then_some(most)
            })
        });
        let mut ended = 0;
        until("all of them to end", || {
            // One whose child is seen to speak.
            if let Some(id) = ids.iter().find(|id| shop.output(id)["task"]["result"] == "Half") {
                shop.cancels(id);
                ended += 1;
            }
            ids.iter().all(|id| shop.output(id)["retrieval_status"] == "success").then_some(())
        });
        over.store(true, Ordering::Relaxed);
        (most.join().unwrap(), ended)
    });
    assert!((1..=2).contains(&most), "{most} children at once");
    assert!(ended >= 6, "{ended}");
    let order: Vec<String> = shop.told().into_iter().collect();
    assert!(order.iter().filter(|prompt| *prompt == "stay").count() <= 6, "{order:?}");
    shop.close();
}
