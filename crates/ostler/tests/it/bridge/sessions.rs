//! Which session a task is for: working directories, and conversations that are gone on with.

use super::shop::Shop;
use serde_json::{Value, json};
use std::fs;

const SCRIPT: &str = "otherwise\n say You said $text\n";

fn cwd_of(shop: &Shop, task: &Value) -> String {
    let id = task["session_id"].as_str().unwrap();
    let shown = shop.office.desk.run(&["show", id, "--json"]).exits(0).document();
    shown["session"]["cwd"].as_str().unwrap_or_else(|| panic!("{shown:#}")).to_owned()
}

#[test]
fn a_task_works_where_it_may_and_nowhere_else() {
    let mut shop = Shop::closed(SCRIPT, &[], &[]);
    for name in ["work/below", "more", "other"] {
        fs::create_dir(shop.office.desk.path(name)).unwrap();
    }
    let path =
        |shop: &Shop, name: &str| shop.office.desk.path(name).canonicalize().unwrap().display().to_string();
    shop.allows("more");
    shop.opens();
    let id = shop.says("here");
    let task = shop.over(&id);
    assert_eq!(cwd_of(&shop, &task), "$DESK/work");
    for name in ["work/below", "more"] {
        let id = shop.creates(&json!({"prompt": "there", "cwd": path(&shop, name)}));
        let task = shop.over(&id);
        assert_eq!((&task["status"], cwd_of(&shop, &task)), (&json!("done"), format!("$DESK/{name}")));
    }
    for bad in [
        path(&shop, "other"),
        "/".to_owned(),
        format!("{}/../other", path(&shop, "work")),
        "/nowhere".to_owned(),
    ] {
        let id = shop.creates(&json!({"prompt": "there", "cwd": bad}));
        let task = shop.over(&id);
        assert_eq!((&task["status"], &task["session_id"]), (&json!("failed"), &Value::Null), "{bad}");
        assert!(task["result"].as_str().unwrap().contains("is not allowed here"), "{task}");
    }
    shop.close();
}

#[test]
fn a_conversation_is_gone_on_with() {
    let shop = Shop::new(SCRIPT);
    let id = shop.says("one");
    let first = shop.over(&id);
    let session = first["session_id"].as_str().unwrap();
    let id = shop.creates(&json!({"prompt": "two", "sessionId": session}));
    let mut records = shop.streams(&id);
    assert_eq!(records.of_type("chunk")["text"], "You ", "nothing of the first task");
    assert_eq!(records.all().last().unwrap()["type"], "done");
    let second = shop.over(&id);
    assert_eq!((&second["result"], &second["session_id"]), (&json!("You said two"), &json!(session)));
    // The first task says what it said.
    assert_eq!(shop.output(first["id"].as_str().unwrap())["task"], first);
    // Two at once for one session come one after the other, each with its own answer.
    let both = ["three", "four"].map(|prompt| shop.creates(&json!({"prompt": prompt, "sessionId": session})));
    let answers = both.map(|id| shop.over(&id)["result"].clone());
    assert_eq!(answers, [json!("You said three"), json!("You said four")]);
    for unknown in ["4f3a2b1c-0000-4000-8000-000000000000", "nonsense", &session[..8]] {
        let id = shop.creates(&json!({"prompt": "x", "sessionId": unknown}));
        assert!(shop.over(&id)["result"].as_str().unwrap().contains("is not known"), "{unknown}");
    }
    shop.office.desk.run(&["close", session]).exits(0);
    let id = shop.creates(&json!({"prompt": "x", "sessionId": session}));
    assert!(shop.over(&id)["result"].as_str().unwrap().contains("is closed"));
    shop.close();
}

/// A session that works elsewhere is no way out of the list.
#[test]
fn a_session_of_another_directory_is_not_gone_on_with() {
    let shop = Shop::new(SCRIPT);
    fs::create_dir(shop.office.desk.path("other")).unwrap();
    let other = shop.office.desk.path("other").display().to_string();
    let session = shop.office.settled(&[&format!("--cwd={other}"), "hello"]);
    let id = shop.creates(&json!({"prompt": "x", "sessionId": session}));
    let task = shop.over(&id);
    assert!(task["result"].as_str().unwrap().contains("a directory that is not allowed"), "{task}");
    shop.close();
}

#[test]
fn what_cannot_begin_is_accepted_and_says_why() {
    let shop = Shop::new(SCRIPT);
    for (fields, why) in [
        (json!({}), "the prompt is empty"),
        (json!({"prompt": "  "}), "the prompt is empty"),
        (json!({"prompt": 7}), "neither text nor a list"),
        (json!({"prompt": [{"type": "nonsense"}]}), "block 0"),
        (json!({"prompt": "/clear"}), "would leave the conversation"),
    ] {
        let id = shop.creates(&fields);
        let records = shop.streams(&id).all();
        assert_eq!(records.len(), 1, "{records:?}");
        assert!(records[0]["reason"].as_str().unwrap().contains(why), "{fields}: {records:?}");
        let task = shop.over(&id);
        assert_eq!((&task["status"], &task["exitCode"]), (&json!("failed"), &json!(1)), "{task}");
    }
    // Content blocks are a prompt.
    let id = shop.creates(&json!({"prompt": [{"type": "text", "text": "blocks"}]}));
    assert_eq!(shop.over(&id)["status"], "done");
    shop.close();
}

#[test]
fn tasks_are_sessions_as_all_others() {
    let shop = Shop::new(SCRIPT);
    let id = shop.says("hello");
    shop.over(&id);
    let listed = shop.office.desk.run(&["ls", "--json"]).exits(0).document();
    assert_eq!(listed["sessions"][0]["label"], json!(id), "{listed:#}");
    let ran = shop.office.desk.run(&["wait", &id]).exits(0);
    assert_eq!(ran.out, "You said hello\n");
    shop.close();
}

/// claude's own flag: as root it is refused, and that is explained.
#[test]
fn permissions_are_skipped_only_by_a_true() {
    let shop = Shop::new("otherwise\n ask Bash {\"command\":\"make\"}\n gives built\n then\n say Done.\n");
    let id = shop.creates(&json!({"prompt": "go", "skip_permissions": true}));
    let task = shop.over(&id);
    if ostler_os::me::uid() == 0 {
        assert!(task["result"].as_str().unwrap().contains("root"), "{task}");
    } else {
        assert_eq!(task["result"], "Done.", "{task}");
    }
    let id = shop.creates(&json!({"prompt": "go", "skip_permissions": "true"}));
    shop.streams(&id).of_type("permission_request");
    shop.cancels(&id);
    shop.close();
}
