//! Who may ask: the key, Host and Origin, and what a page in a browser can't do.

use super::http::Request;
use super::shop::Shop;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const SCRIPT: &str = "otherwise\n say You said $text\n";

/// What a page of another origin can send without anybody's leave.
fn by_a_page(origin: &str, kind: &str) -> Request {
    Request::new("POST", "/v1/task/create", &json!({"prompt": "evil", "skip_permissions": true}).to_string())
        .header("Content-Type", kind)
        .header("Origin", origin)
}

#[test]
fn a_page_of_another_origin_starts_nothing_even_in_home_mode() {
    let shop = Shop::with(SCRIPT, &[], &[("H2C_HOME", " 1")]);
    // Home mode: no key is asked for.
    let id =
        Request::new("POST", "/v1/task/create", &json!({"prompt": "mine"}).to_string()).answer(shop.address);
    let id = id.json()["task_id"].as_str().unwrap().to_owned();
    shop.over(&id);
    let own = format!("http://{}", shop.address);
    for origin in ["https://evil.example", "null", "http://localhost:1", "http://127.0.0.1", "file://"] {
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/json"] {
            let answer = by_a_page(origin, kind).answer(shop.address);
            assert_eq!(
                (answer.status, answer.header("access-control-allow-origin")),
                (403, None),
                "{origin} {answer:?}"
            );
        }
        for target in ["/v1/task/cancel", "/v1/task/permission"] {
            let body = json!({"task_id": id, "behavior": "allow"}).to_string();
            let answer = Request::new("POST", target, &body).header("Origin", origin).answer(shop.address);
            assert_eq!(answer.status, 403, "{origin} {target}");
        }
        for target in ["/v1/task/output?task_id=", "/v1/task/output/stream?task_id="] {
            let request = Request::new("GET", &format!("{target}{id}"), "").header("Origin", origin);
            assert_eq!(request.answer(shop.address).status, 403, "{origin} {target}");
        }
    }
    for host in ["evil.example", "evil.example:80", "127.0.0.1.nip.io", "localhost:1"] {
        let rebound = Request::new("POST", "/v1/task/create", "{\"prompt\":\"evil\"}").header("Host", host);
        assert_eq!(rebound.answer(shop.address).status, 403, "{host}");
    }
    // A page that came from here may ask; a preflight is told nothing.
    let ours = Request::new("POST", "/v1/task/create", "{\"prompt\":\"ours\"}").header("Origin", &own);
    assert_eq!(ours.answer(shop.address).status, 200);
    let told = || shop.told().len();
    super::super::desk_sessions::until("both to be said", || (told() == 2).then_some(()));
    // Nothing else was begun, and nothing waits.
    assert_eq!(shop.told(), ["mine", "ours"]);
    assert_eq!(shop.office.desk.run(&["ls", "-q"]).exits(0).out.lines().count(), 2);
    shop.close();
}

#[test]
fn home_mode_is_for_the_bridge_alone() {
    let shop = Shop::with(SCRIPT, &[], &[("H2C_HOME", "1")]);
    let native = Request::new("GET", "/v1/sessions", "").answer(shop.address);
    assert_eq!((native.status, native.header("content-type")), (401, Some("application/problem+json")));
    let key = Request::new("GET", "/v1/sessions", "").header("Authorization", &shop.authorization("x"));
    assert_eq!(key.answer(shop.address).status, 401, "the bridge's key is none of the API's");
    let token = fs::read_to_string(shop.office.desk.home().join("token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let native =
        Request::new("GET", "/v1/sessions", "").header("Authorization", &bearer).answer(shop.address);
    assert_eq!(native.status, 200, "{native:?}");
    shop.close();
}

#[test]
fn the_token_is_no_key() {
    let shop = Shop::new(SCRIPT);
    let token = fs::read_to_string(shop.office.desk.home().join("token")).unwrap();
    let plain = Request::new("GET", "/v1/task/output?task_id=x", "");
    for value in [format!("Bearer {}", token.trim()), super::shop::basic(&format!("x:{}", token.trim()))] {
        assert_eq!(plain.clone().header("Authorization", &value).answer(shop.address).status, 401);
    }
    let mode = |name: &str| fs::metadata(shop.office.desk.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("user/.h2c/key"), mode("user/.h2c")), (0o600, 0o700));
    assert!(shop.key().len() >= "h2c_".len() + 32, "at least 128 bits");
    shop.close();
}

#[test]
fn an_older_programs_key_goes_on_working() {
    let mut shop = Shop::closed(SCRIPT, &[], &[]);
    shop.office.desk.file("user/.hbridge_key", "h2c_oldkeyXY");
    shop.opens();
    assert_eq!(shop.key(), "h2c_oldkeyXY");
    let answer = shop.asks("GET", "/v1/task/output?task_id=x", "");
    assert_eq!(answer.json(), json!({"error": "not_found"}));
    shop.close();
}

#[test]
fn bodies_have_a_limit_and_prompts_too() {
    let shop = Shop::new(SCRIPT);
    let five = "x".repeat(5 << 20);
    let id = shop.says(&five);
    assert_eq!(shop.over(&id)["status"], "done", "what clients send today");
    let nine = shop.says(&"x".repeat(9 << 20));
    let task = shop.over(&nine);
    assert!(task["result"].as_str().unwrap().contains("at most 8388608"), "{task}");
    let huge = shop.asks("POST", "/v1/task/create", &format!("{{\"prompt\":\"{}\"}}", "x".repeat(33 << 20)));
    assert_eq!(huge.status, 413, "{}", huge.body);
    shop.close();
}

/// A key that is nearly right takes as long as one that is not at all: nothing here depends on where they differ.
#[test]
fn a_wrong_key_is_refused_however_near() {
    let shop = Shop::new(SCRIPT);
    let key = shop.key();
    for wrong in [&key[..key.len() - 1], &format!("{key}x"), &key.to_uppercase(), "h2c_"] {
        let request = Request::new("GET", "/v1/task/output?task_id=x", "");
        let answer =
            request.header("Authorization", &super::shop::basic(&format!("x:{wrong}"))).answer(shop.address);
        assert_eq!((answer.status, answer.body.as_str()), (401, "Unauthorized"));
    }
    shop.close();
}

/// Neither prompts nor keys stand where a server's words go.
#[test]
fn nothing_secret_is_printed() {
    let desk = super::super::desk::Desk::new();
    let mut ran = desk.command(&["bridge", "status"]);
    let out = ran.output().unwrap();
    assert_eq!(out.status.code(), Some(7));
    let key = fs::read_to_string(desk.path("user/.h2c/key"));
    assert!(key.is_err(), "a look makes no key");
    let status: Value =
        serde_json::from_slice(&desk.command(&["bridge", "status", "--json"]).output().unwrap().stdout)
            .unwrap();
    assert_eq!((&status["running"], &status["key"]), (&json!(false), &Value::Null));
}
