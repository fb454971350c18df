//! Theme K with the real `claude`: a base is trained once, its forks read it from the cache, and none of it is paid twice.

use super::fork_stage::{ForkStage, number};
use super::real_stage::on_both_versions;
use ostler_core::ids::SessionId;
use ostler_store::db::{CostFilter, CostKey};
use std::fs;

on_both_versions! {
    k_eight_forks_read_their_base
    k_a_sealed_base_takes_nothing_and_stays_as_it_is
    k_what_breaks_the_prefix_is_refused_by_name
    k_a_miss_may_end_the_turn
    j_a_fork_of_a_fork_and_a_resume_of_it_pay_for_themselves
    h_a_base_whose_transcript_was_swept_is_still_copied
}

const SCRIPT: &str = "
    when \"hold\"
      hold until go
      say Held.
    when like \"Learn*\"
      say Learned.
    otherwise
      say You said $text.
";

/// Enough that a prefix is worth something.
fn brief() -> String {
    let rules = (0..400).map(|n| format!("Rule {n}: what is written in place {n} stays in place {n}.\n"));
    format!("Learn these rules.\n{}", rules.collect::<String>())
}

fn k_eight_forks_read_their_base(version: &'static str) {
    let stage = ForkStage::new(version, SCRIPT);
    let base = stage.train("rules", &[&brief()]);
    assert_eq!((base["state"].as_str(), base["version"].as_str()), (Some("sealed"), Some(version)));
    let expected = number(&base["expected_read"]);
    assert!(expected > 5_000, "{base}");
    let prompts: Vec<String> = (1..=8).map(|n| format!("What does rule {n} say?")).collect();
    let results = stage.fork("rules", &prompts.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(results.len(), 8);
    for (result, prompt) in results.iter().zip(&prompts) {
        assert_eq!(result["answer"], format!("You said {prompt}."));
        let cache = &result["cache"];
        assert_eq!(cache["verdict"], "hit", "{result}");
        assert!(number(&cache["read"]) >= expected && number(&cache["written"]) < 1_000, "{result}");
    }
    stage.left();
    // The ledger knows the base's own spend and the forks' apart, and together they are the bill.
    let db = stage.db();
    let id: SessionId = base["session"].as_str().unwrap().parse().unwrap();
    let costs = db.costs(CostKey::Base, &CostFilter::default()).unwrap();
    let [cost] = costs.as_slice() else { panic!("{costs:?}") };
    assert_eq!((cost.key.clone(), cost.sessions, cost.forks), (Some(id.to_string()), 9, 8));
    let bill: f64 = stage.lab.bill().per_request.iter().map(|c| c.usd).sum();
    assert!((cost.usd - bill).abs() < 1e-9 && cost.unknown + cost.estimated == 0, "{cost:?}, billed {bill}");
    assert!(cost.own_usd > 0.0 && cost.forks_usd > 0.0, "{cost:?}");
    assert!((cost.own_usd + cost.forks_usd - cost.usd).abs() < 1e-9, "{cost:?}");
    stage.finish();
}

fn k_a_sealed_base_takes_nothing_and_stays_as_it_is(version: &'static str) {
    let stage = ForkStage::new(version, SCRIPT);
    let base = stage.train("rules", &["Remember this.", "--then", "And this."]);
    let session = base["session"].as_str().unwrap();
    assert_eq!(stage.show(session)["turns"].as_array().unwrap().len(), 2);
    let before = fs::read(stage.transcript(base["conversation"].as_str().unwrap())).unwrap();
    let refused = stage.run(&["send", session, "One more"]).exits(8);
    assert!(refused.err.contains("is sealed") && refused.err.contains("ostler fork"), "{}", refused.all());
    let again = stage.create(&["base", "train", "rules"], &["Something else"]).exits(8);
    assert!(again.err.contains("there is a base called \"rules\""), "{}", again.all());
    stage.fork("rules", &["one", "two", "--max-parallel", "1"]);
    assert_eq!(fs::read(stage.transcript(base["conversation"].as_str().unwrap())).unwrap(), before);
    // Trained anew, the name means the new one; retired, it means nothing any more.
    let fresh = stage.run(&["base", "refresh", "rules", "--json"]).exits(0).document();
    assert_ne!(fresh["session"], base["session"]);
    let old = stage.run(&["base", "show", session, "--json"]).exits(0).document();
    assert_eq!((old["state"].as_str(), number(&old["forks"])), (Some("retired"), 2));
    assert_eq!(stage.run(&["base", "ls", "-q"]).exits(0).out, "rules\n");
    stage.run(&["base", "retire", "rules"]).exits(0).out.contains("retired rules");
    let gone = stage.run(&["fork", "rules", "three"]).exits(8);
    assert!(gone.err.contains("base rules is retired"), "{}", gone.all());
    stage.finish();
}

fn k_what_breaks_the_prefix_is_refused_by_name(version: &'static str) {
    let stage = ForkStage::new(version, SCRIPT);
    let base = stage.train("rules", &[&brief()]);
    let expected = number(&base["expected_read"]);
    let other = "claude-sonnet-4-5";
    for (change, field) in [(format!("model={other}"), "model"), ("tools=Bash,Read".to_owned(), "tools")] {
        let words = ["fork", "rules", "--change", &change, "Hello"];
        let before = stage.lab.bill().per_request.len();
        let refused = stage.run(&words).exits(8);
        assert!(refused.err.contains(&format!("{field} differs")), "{}", refused.all());
        assert_eq!(stage.lab.bill().per_request.len(), before, "a refusal costs nothing");
        let forced = stage.fork("rules", &["--force", "--change", &change, "Hello"]);
        let cache = &forced[0]["cache"];
        assert_eq!(cache["verdict"], "miss", "{field}: {}", forced[0]);
        assert!(number(&cache["read"]) * 2 < expected, "{}", forced[0]);
        let shown = stage.show(forced[0]["session"].as_str().unwrap());
        assert_eq!(shown["fork"]["forced"], serde_json::json!([field]), "{}", shown["fork"]);
        assert!(shown["fork"]["causes"][0].as_str().unwrap().contains(field), "{}", shown["fork"]);
    }
    // Another working directory: neutral where it was measured to be, refused by name elsewhere.
    fs::create_dir(stage.desk.path("elsewhere")).unwrap();
    let change = format!("cwd={}", stage.desk.path("elsewhere").display());
    if version == "2.1.332" {
        let forked = stage.fork("rules", &["--change", &change, "Hello"]);
        assert_eq!(forked[0]["cache"]["verdict"], "hit", "{}", forked[0]);
        let shown = stage.show(forked[0]["session"].as_str().unwrap());
        assert_eq!(shown["fork"]["differs"], serde_json::json!(["cwd"]), "{}", shown["fork"]);
        let refused = stage.run(&["fork", "rules", "--change", "prompt=Be brief.", "Hello"]).exits(2);
        assert!(refused.err.contains("has no effect on a fork"), "{}", refused.all());
    } else {
        let refused = stage.run(&["fork", "rules", "--change", &change, "Hello"]).exits(8);
        assert!(refused.err.contains("cwd differs"), "{}", refused.all());
    }
    stage.finish();
}

fn k_a_miss_may_end_the_turn(version: &'static str) {
    let script = "
        when \"hold\"
          say One moment
          pause until never
          say please.
        otherwise
          say Trained.
    ";
    let stage = ForkStage::new(version, script);
    stage.train("rules", &[&brief()]);
    let words =
        ["fork", "rules", "--force", "--change", "model=claude-sonnet-4-5", "--on-miss", "interrupt", "hold"];
    let ran = stage.run(&[&words[..], &["--wait"]].concat()).exits(4);
    assert!(ran.err.contains("interrupted") && ran.err.contains("model differs (forced)"), "{}", ran.all());
    stage.left();
}

fn j_a_fork_of_a_fork_and_a_resume_of_it_pay_for_themselves(version: &'static str) {
    let stage = ForkStage::new(version, SCRIPT);
    stage.train("rules", &[&brief()]);
    let first = stage.fork("rules", &["one"]);
    let first = first[0]["session"].as_str().unwrap().to_owned();
    // A fork is an ordinary session.
    let sent = stage.run(&["send", "--wait", "--json", &first, "two"]).exits(0).document();
    assert_eq!((sent["answer"].as_str(), number(&sent["turns"])), (Some("You said two."), 2));
    let second = stage.fork(&first, &["three"]);
    assert_eq!(second[0]["cache"]["verdict"], "hit", "{}", second[0]);
    let second = second[0]["session"].as_str().unwrap();
    let shown = stage.show(second);
    assert_eq!(shown["fork"]["source"], first.as_str());
    assert_ne!(shown["fork"]["base"], serde_json::Value::Null, "the base at the root is known");
    let third = stage.fork(second, &["four"]);
    assert_eq!(third[0]["cache"]["verdict"], "hit", "{}", third[0]);
    assert!(stage.lab.requests().last().unwrap().json()["messages"].to_string().contains("three"));
    // While it works it is not copied.
    let busy = stage.run(&["send", &first, "hold"]).exits(0);
    assert!(!busy.out.is_empty());
    let refused = stage.run(&["fork", &first, "five"]).exits(8);
    assert!(refused.err.contains("can't be forked while it works"), "{}", refused.all());
    stage.lab.release("go");
    stage.run(&["wait", &first, "-q"]).exits(0);
    stage.finish();
}

fn h_a_base_whose_transcript_was_swept_is_still_copied(version: &'static str) {
    let stage = ForkStage::new(version, SCRIPT);
    let base = stage.train("rules", &[&brief()]);
    let transcript = stage.transcript(base["conversation"].as_str().unwrap());
    fs::remove_file(&transcript).unwrap();
    let forked = stage.fork("rules", &["one"]);
    assert_eq!(forked[0]["cache"]["verdict"], "hit", "{}", forked[0]);
    // Touched, it is stale, and says so.
    let mut text = fs::read(&transcript).unwrap();
    text.extend_from_slice(b"{}\n");
    fs::write(&transcript, text).unwrap();
    let refused = stage.run(&["fork", "rules", "two"]).exits(8);
    assert!(refused.err.contains("base rules is stale: its transcript"), "{}", refused.all());
    stage.finish();
}
