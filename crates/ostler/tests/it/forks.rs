//! `base`, `fork` and `cost` through the binary, with fake children: what is printed, what is refused, and what whoever is
//! killed leaves.

use super::desk_sessions::{Office, until};
use super::json_fields::Schema;
use ostler_controller::crash;
use serde_json::{Value, json};

const SCRIPT: &str = "when learn
 usage input=1 output=2 cache_read=900 cache_write_5m=100 cache_write_1h=0
 cost 0.5
 say Learned.
otherwise
 usage input=1 output=2 cache_read=1000 cache_write_5m=3 cache_write_1h=0
 say Told $text
";

/// `base train`, with everything that its session needs.
fn training(office: &Office, more: &[&str]) -> Vec<String> {
    let mut words = office.creating("train", more);
    words.insert(0, "base".to_owned());
    words
}

#[track_caller]
fn trained(office: &Office) -> Value {
    office.desk.run(&training(office, &["rules", "learn", "--json"])).exits(0).document()
}

fn bases(office: &Office) -> Vec<Value> {
    let listed = office.desk.run(&["base", "ls", "--json"]).exits(0).document();
    listed["bases"].as_array().unwrap().clone()
}

/// Runs a command that kills itself at a point.
#[track_caller]
fn dies_at(office: &Office, point: &str, words: &[String]) {
    let once = office.desk.path(&format!("died-{point}"));
    let mut command = office.desk.command(words);
    command.env("OSTLER_CRASH_AT", point).env("OSTLER_CRASH_ONCE", &once);
    let status = command.output().unwrap().status;
    assert!(once.exists() && status.code().is_none(), "{point} was not come by");
}

#[test]
fn documents_of_bases_forks_and_costs() {
    let schema = Schema::load();
    let office = Office::new(SCRIPT);
    let run = |words: &[&str]| office.desk.run(words);
    let base = trained(&office);
    schema.holds("base", &base);
    assert_eq!((&base["state"], &base["expected_read"]), (&json!("sealed"), &json!(1_000)));
    schema.holds("base", &run(&["base", "show", "rules", "--json"]).exits(0).document());
    schema.holds("base ls", &run(&["base", "ls", "--json"]).exits(0).document());
    let forked = run(&["fork", "rules", "one", "--json", "--label", "a"]).exits(0).document();
    schema.holds("fork", &forked);
    let fork = forked["forks"][0]["session"].as_str().unwrap();
    run(&["wait", fork]).exits(0);
    let events = run(&["fork", "rules", "two", "three", "--wait", "--json"]).exits(0).events();
    assert_eq!(schema.holds_events(&events), ["forked", "result", "forks"]);
    assert_eq!((&events[1]["result"]["answer"], &events[3]["hit"]), (&json!("Told two"), &json!(2)));
    let shown = run(&["show", fork, "--json"]).exits(0).document();
    schema.holds("show", &shown);
    assert_eq!(shown["fork"]["cache"]["verdict"], "hit");
    let shown = run(&["show", base["session"].as_str().unwrap(), "--json"]).exits(0).document();
    schema.holds("show", &shown);
    assert_eq!(shown["base"]["name"], "rules");
    let events = run(&["watch", fork, "--no-wait", "--json"]).exits(0).events();
    schema.holds_events(&events);
    let kinds: Vec<_> = events.iter().filter_map(|e| e["kind"].as_str()).collect();
    assert!(kinds.contains(&"forks") && kinds.contains(&"cache"), "{kinds:?}");
    for by in ["session", "base", "label", "model", "day"] {
        let costs = run(&["cost", "--by", by, "--json"]).exits(0).document();
        schema.holds("cost", &costs);
        assert_eq!(costs["by"], by);
    }
    schema.holds("base diff", &run(&["base", "diff", "rules", fork, "--json"]).exits(0).document());
    schema.holds("base", &run(&["base", "retire", "rules", "--json"]).exits(0).document());
    office.close();
}

#[test]
fn prompts_come_as_arguments_as_files_and_as_lines_of_json() {
    let office = Office::new(SCRIPT);
    trained(&office);
    let file = office.desk.file("prompt", "from a file\n").display().to_string();
    let id = "0195c1de-0000-4000-8000-0000000000aa";
    let lines = format!("\"a line\"\n{{\"prompt\":\"an object\",\"label\":\"obj\",\"id\":\"{id}\"}}\n");
    let words = ["fork", "rules", "an argument", "-", "--prompt-file", &file, "--wait", "--json"];
    let ran = office.desk.run_with(&words, lines.as_bytes()).exits(0);
    let results: Vec<Value> = ran.events().into_iter().filter(|e| e["event"] == "result").collect();
    let answers: Vec<_> = results.iter().map(|r| r["result"]["answer"].as_str().unwrap()).collect();
    assert_eq!(answers, ["Told an argument", "Told a line", "Told an object", "Told from a file"]);
    assert_eq!(
        (&results[2]["result"]["session"], &results[2]["result"]["label"]),
        (&json!(id), &json!("obj"))
    );
    let sessions = || office.desk.run(&["ls", "-q"]).exits(0).out.lines().count();
    let before = sessions();
    let again = office.desk.run_with(&["fork", "rules", "-"], lines.as_bytes()).exits(8);
    assert!(again.err.contains("exists already"), "{}", again.all());
    assert_eq!(sessions(), before, "all of them or none");
    office.desk.run(&["send", "--wait", "obj", "more"]).exits(0);
    let bad = office.desk.run_with(&["fork", "rules", "-"], b"\"good\"\n{\"promt\":1}\n").exits(2);
    assert!(bad.err.contains("line 2 of standard input is no prompt"), "{}", bad.all());
    let twice = format!("{{\"prompt\":\"a\",\"id\":\"{id}\"}}\n{{\"prompt\":\"b\",\"id\":\"{id}\"}}\n");
    office.desk.run_with(&["fork", "rules", "-"], twice.as_bytes()).exits(2);
    office.desk.run(&["fork", "rules", "/clear"]).exits(2);
    office.desk.run(&["fork", "nothing", "hello"]).exits(7);
    office.desk.run(&["base", "show", "nothing"]).exits(7);
    office.close();
}

#[test]
fn a_training_that_is_killed_is_sealed_by_the_next_command_or_leaves_nothing() {
    for point in crash::IN_TRAIN {
        let office = Office::new(SCRIPT);
        dies_at(&office, point, &training(&office, &["rules", "learn"]));
        if ["base-noted", "base-created"].contains(&point) {
            // Nobody was told of it, and nothing had been said to anybody.
            assert_eq!(bases(&office), Vec::<Value>::new(), "{point}");
            assert!(office.told().is_empty(), "{point}");
            trained(&office);
        } else {
            until("it to be sealed", || (bases(&office)[0]["state"] == "sealed").then_some(()));
        }
        let answers = office.told().iter().filter(|line| line["type"] == "user").count();
        assert_eq!(answers, 1, "{point}: trained once");
        office.desk.run(&["fork", "rules", "--wait", "a thing"]).exits(0);
        office.close();
    }
}

#[test]
fn a_fork_that_is_killed_runs_once_or_not_at_all() {
    for point in crash::IN_FORKS {
        let office = Office::new(SCRIPT);
        trained(&office);
        let words = ["fork", "rules", "a thing"].map(str::to_owned);
        dies_at(&office, point, &words);
        let accepted = point == "fork-accepted";
        if accepted {
            until("the fork to run", || {
                let shown = office.desk.run(&["base", "show", "rules", "--json"]).exits(0).document();
                (shown["hits"] == 1).then_some(())
            });
        } else {
            office.desk.run(&["ls"]).exits(0);
        }
        let told = office.told().iter().filter(|l| l["type"] == "user").count();
        assert_eq!(told, 1 + usize::from(accepted), "{point}");
        office.close();
    }
}

#[test]
fn a_training_that_fails_is_no_base_and_its_name_is_free() {
    let office = Office::new("when learn\n exit 1\notherwise\n say Told $text\n");
    let ran = office.desk.run(&training(&office, &["rules", "learn"])).exits(3);
    assert!(ran.err.contains("not sealed: turn 1 of its training failed"), "{}", ran.all());
    assert_eq!(bases(&office), Vec::<Value>::new());
    let all = office.desk.run(&["base", "ls", "--all"]).exits(0).out;
    assert!(all.contains("retired"), "{all}");
    let refused = office.desk.run(&["fork", "rules", "a thing"]).exits(8);
    assert!(refused.err.contains("base rules is retired: turn 1"), "{}", refused.all());
    office.close();
}

#[test]
fn a_lost_database_knows_bases_and_forks_again() {
    let office = Office::new(SCRIPT);
    let base = trained(&office);
    office.desk.run(&["fork", "rules", "a thing", "--wait"]).exits(0);
    let session = base["session"].as_str().unwrap();
    office.becomes_cold(session);
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(office.desk.home().join(format!("ostler.db{end}")));
    }
    office.desk.run(&["doctor", "rebuild", "--repair"]).exits(0);
    let again = office.desk.run(&["base", "show", "rules", "--json"]).exits(0).document();
    assert_eq!((&again["session"], &again["hits"], &again["forks"]), (&json!(session), &json!(1), &json!(1)));
    office.desk.run(&["send", session, "more"]).exits(8);
    office.close();
}

#[test]
fn costs_as_a_table_with_bars_and_as_csv() {
    let office = Office::new(SCRIPT);
    trained(&office);
    office.desk.run(&["fork", "rules", "a thing", "--wait"]).exits(0);
    let table = office.desk.run(&["cost", "--by", "base"]).exits(0).out;
    assert!(table.starts_with("rules ") && table.contains("1 forks") && table.contains("█"), "{table}");
    assert!(table.lines().last().unwrap().starts_with("total $"), "{table}");
    let csv = office.desk.run(&["cost", "--csv"]).exits(0).out;
    assert!(csv.starts_with("key,name,sessions,forks,input,"), "{csv}");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    let none = office.desk.run(&["cost", "--since", "2999-01-01"]).exits(0);
    assert_eq!((none.out.as_str(), none.err.as_str()), ("", "nothing was spent\n"));
    office.desk.run(&["cost", "--since", "yesterday"]).exits(2);
    office.close();
}
