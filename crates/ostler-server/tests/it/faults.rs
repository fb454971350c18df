//! Errors that are nobody's who asks.

use super::house::House;
use ostler_controller::client::{Decider, NewRule};
use ostler_core::ids::{Millis, RuleId};
use ostler_core::rule::{Effect, MAX_RULES, Scope};
use ostler_core::spec::LaunchSpec;
use ostler_server::Limits;
use ostler_server::launch::{Fault, NewSpec, Refused};
use serde_json::Value;
use uuid::Uuid;

/// Goes wrong as the model's name says.
fn failing(asked: &NewSpec) -> Result<LaunchSpec, Refused> {
    let fault = match asked.model.as_deref() {
        Some("claude") => Fault::Claude,
        Some("store") => Fault::Store,
        _ => panic!("a defect that is meant"),
    };
    Err(Refused { fault, source: "it was to be so".into(), hints: vec!["try another one".to_owned()] })
}

fn kind(answer: &(u16, Value)) -> (u16, &str) {
    (answer.0, answer.1["type"].as_str().unwrap().trim_start_matches("urn:ostler:problem:"))
}

#[test]
fn what_the_program_can_not_do_is_told_by_kind() {
    let house = House::new(Limits::default(), failing);
    let start = |model: &str| {
        let body = format!("{{\"prompt\":\"hi\",\"spec\":{{\"model\":\"{model}\"}}}}");
        house.ask("POST", "/v1/sessions", &body)
    };
    let answer = start("claude");
    assert_eq!(kind(&answer), (503, "claude"));
    assert_eq!(
        (&answer.1["detail"], &answer.1["hints"][0]),
        (&"it was to be so".into(), &"try another one".into())
    );
    assert_eq!(kind(&start("store")), (500, "store"));
    assert_eq!(kind(&start("panic")), (500, "defect"));
    // That request's, and no other's.
    assert_eq!(house.ask("GET", "/v1/sessions", "").0, 200);
}

#[test]
fn what_was_accepted_stays_accepted_when_nobody_can_be_told() {
    let house = House::new(Limits::default(), failing);
    let session = house.session();
    let (status, sent) =
        house.ask("POST", &format!("/v1/sessions/{session}/deliveries"), "{\"prompt\":\"hi\"}");
    assert_eq!((status, &sent["delivery"]["state"]), (202, &"accepted".into()));
    let warning = sent["warning"].as_str().unwrap();
    assert!(warning.contains("can't be reached"), "{warning}");
    assert_eq!(house.ostler().db().pending_deliveries(session).unwrap().len(), 1);
    let stopped = house.ask("POST", &format!("/v1/sessions/{session}/interrupt"), "{}");
    assert_eq!(kind(&stopped), (503, "controller-unreachable"));
}

#[test]
fn there_is_an_end_to_rules() {
    let house = House::new(Limits::default(), failing);
    let ostler = house.ostler();
    for _ in 0..MAX_RULES {
        let new = NewRule {
            id: RuleId(Uuid::new_v4()),
            effect: Effect::Allow,
            pattern: "Bash".to_owned(),
            scope: Scope::Everything,
            by: "test".to_owned(),
            expires_at: None,
            at: Millis(1),
        };
        ostler.add_rule(&new, Decider::Remote).unwrap();
    }
    let body = "{\"effect\":\"allow\",\"pattern\":\"Read\",\"scope\":\"everything\"}";
    assert_eq!(kind(&house.ask("POST", "/v1/rules", body)), (409, "too-many-rules"));
}

#[test]
fn a_session_whose_file_is_lost_is_told_as_trouble_of_the_store() {
    let house = House::new(Limits::default(), failing);
    let session = house.session();
    std::fs::remove_file(house.ostler().home().session(session).session_json()).unwrap();
    assert_eq!(kind(&house.ask("GET", &format!("/v1/sessions/{session}"), "")), (500, "store"));
    assert_eq!(house.ask("GET", "/v1/sessions", "").0, 200, "it is listed all the same");
}
