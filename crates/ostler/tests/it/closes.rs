//! The end of sessions: close, purge, worktrees, gc; and a command that is killed between any two steps of it.

use super::desk_sessions::{Office, until};
use super::json_fields::Schema;
use ostler_controller::crash::{IN_CLOSE, IN_PURGE};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

const BUSY: &str = "when go\n mark talking\n until never\notherwise\n say Hello.\n";

/// Runs git in a folder, as somebody.
#[track_caller]
fn git(dir: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]);
    command.args(words).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.output().expect("git is installed");
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository in the working directory, with one commit of `src/a`.
fn repository(office: &Office) -> PathBuf {
    let dir = office.desk.path("work");
    git(&dir, &["init", "-q", "-b", "main"]);
    std::fs::create_dir_all(dir.join("src")).unwrap();
    std::fs::write(dir.join("src/a"), "a\n").unwrap();
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "-qm", "one"]);
    dir
}

fn session(office: &Office, id: &str) -> Value {
    office.desk.run(&["show", id, "--json"]).exits(0).document()
}

/// The worktree of a session.
fn tree(office: &Office, id: &str) -> PathBuf {
    office.desk.home().join("worktrees").join(id)
}

#[test]
fn a_closed_session_is_over_and_its_story_stays() {
    let office = Office::new(BUSY);
    let id = office.started(&["go"]);
    office.reaches("talking");
    office.desk.run(&["send", &id, "--queue", "behind"]).exits(0);
    let done = office.desk.run(&["close", &id, "--json"]).exits(0).document();
    Schema::load().holds("close", &done);
    assert_eq!(
        (&done["cancelled"], &done["proven"], &done["worktree"]),
        (&json!(1), &json!(true), &Value::Null)
    );
    for verb in
        [&["send", &id, "more"][..], &["interrupt", &id], &["stop", &id], &["resume", &id], &["close", &id]]
    {
        let ran = office.desk.run(verb).exits(8);
        assert!(ran.err.contains("is closed"), "{verb:?}: {}", ran.all());
    }
    let shown = session(&office, &id);
    assert_eq!(
        (&shown["session"]["closed"], &shown["session"]["liveness"]),
        (&json!(true), &json!("offline"))
    );
    let states: Vec<&Value> = shown["deliveries"].as_array().unwrap().iter().map(|d| &d["state"]).collect();
    assert_eq!(states, ["cancelled", "cancelled"]);
    assert!(!office.desk.run(&["watch", &id, "--no-wait"]).exits(0).out.is_empty());
    office.desk.run(&["wait", &id, "-q"]).exits(4);
    assert!(office.desk.run(&["ls"]).exits(0).out.contains("closed"));
    office.close();
}

/// After a kill at any point, the next command brings it to the same end.
#[test]
fn a_close_that_is_killed_between_any_two_steps_is_finished_by_the_next_command() {
    for point in IN_CLOSE {
        let office = Office::new(BUSY);
        repository(&office);
        let id = office.started(&["--worktree", "go"]);
        office.reaches("talking");
        office.desk.run(&["send", &id, "--queue", "behind"]).exits(0);
        let killed = die_at(&office, point, &["close", &id]);
        assert!(!killed, "{point}: it was to be killed");
        until(point, || {
            office.desk.run(&["ls"]).exits(0);
            let shown = session(&office, &id);
            let cold = shown["process"]["state"] == "cold";
            let ended = |d: &Value| d["state"] == "cancelled";
            let over = shown["deliveries"].as_array().unwrap().iter().all(ended);
            (cold && over && !tree(&office, &id).exists()).then_some(())
        });
        assert_eq!(session(&office, &id)["session"]["closed"], json!(true), "{point}");
        assert_eq!(git(&office.desk.path("work"), &["branch", "--list", "ostler/*"]), "", "{point}");
        office.close();
    }
}

#[test]
fn a_purge_that_is_killed_between_any_two_steps_is_finished() {
    for point in IN_CLOSE.iter().chain(&IN_PURGE) {
        let office = Office::new("otherwise\n say Hello.\n");
        let id = office.settled(&["go"]);
        let killed = die_at(&office, point, &["close", &id, "--purge"]);
        assert!(!killed, "{point}: it was to be killed");
        until(point, || {
            let listed = office.desk.run(&["ls", "--json"]).exits(0).document();
            listed["sessions"].as_array().unwrap().is_empty().then_some(())
        });
        office.desk.run(&["gc"]).exits(0);
        let left = std::fs::read_dir(office.desk.home().join("sessions")).unwrap().count();
        assert_eq!(left, 0, "{point}: a folder is left");
        office.close();
    }
}

/// Runs a command that kills itself at a point; true when it lived on.
fn die_at(office: &Office, point: &str, words: &[&str]) -> bool {
    let once = office.desk.path(&format!("died-{point}"));
    let mut command = office.desk.command(words);
    command.env("OSTLER_CRASH_AT", point).env("OSTLER_CRASH_ONCE", &once);
    let status = command.output().unwrap().status;
    assert!(once.exists(), "{point} was not come by");
    status.code().is_some()
}

#[test]
fn a_purge_deletes_everything_and_is_refused_from_inside() {
    let office = Office::new("otherwise\n say Hello.\n");
    let id = office.settled(&["go"]);
    let mut inside = office.desk.command(&["close", &id, "--purge"]);
    let refused = inside.env("OSTLER_SESSION", &id).output().unwrap();
    assert_eq!(refused.status.code(), Some(8));
    assert_eq!(session(&office, &id)["session"]["closed"], json!(false), "nothing has happened");
    office.desk.run(&["close", &id]).exits(0);
    let done = office.desk.run(&["close", &id, "--purge", "--json"]).exits(0).document();
    assert_eq!(done["purged"], json!(true));
    office.desk.run(&["show", &id]).exits(7);
    assert!(!office.desk.home().join("sessions").join(&id).exists());
    office.close();
}

#[test]
fn a_session_works_in_a_worktree_of_its_own_which_goes_with_it() {
    let office = Office::new("otherwise\n say Hello.\n");
    let dir = repository(&office);
    let src = dir.join("src").display().to_string();
    let id = office.settled(&["--worktree", "--cwd", &src, "go"]);
    let path = tree(&office, &id);
    let cwd = session(&office, &id)["session"]["cwd"].as_str().unwrap().to_owned();
    assert!(cwd.ends_with(&format!("worktrees/{id}/src")), "the subdirectory is kept: {cwd}");
    let branch = git(&path, &["branch", "--show-current"]);
    assert_eq!(branch, format!("ostler/{}", &id[..8]));
    // Commits that another branch has are no loss.
    std::fs::write(path.join("src/b"), "b\n").unwrap();
    git(&path, &["add", "."]);
    git(&path, &["commit", "-qm", "two"]);
    git(&dir, &["merge", "-q", "--ff-only", &branch]);
    let done = office.desk.run(&["close", &id, "--json"]).exits(0).document();
    assert_eq!((&done["worktree"], &done["branch"]), (&json!("removed"), &Value::Null));
    assert!(!path.exists());
    assert_eq!(git(&dir, &["branch", "--list", "ostler/*"]), "");
    office.close();
}

#[test]
fn a_worktree_with_work_in_it_is_refused_by_name() {
    let office = Office::new("otherwise\n say Hello.\n");
    let dir = repository(&office);
    let id = office.settled(&["--worktree=mine", "go"]);
    let path = tree(&office, &id);
    std::fs::write(path.join("new file"), "x\n").unwrap();
    let refused = office.desk.run(&["close", &id]).exits(8);
    assert!(refused.err.contains("new file") && refused.err.contains("--keep-worktree"), "{}", refused.all());
    assert_eq!(session(&office, &id)["session"]["closed"], json!(false), "nothing has happened");
    git(&path, &["add", "."]);
    git(&path, &["commit", "-qm", "two"]);
    let refused = office.desk.run(&["close", &id]).exits(8);
    assert!(
        refused.err.contains("branch mine") && refused.err.contains("no other branch"),
        "{}",
        refused.all()
    );
    // Discarded, and yet no commit is lost.
    std::fs::write(path.join("src/a"), "changed\n").unwrap();
    let done = office.desk.run(&["close", &id, "--force-worktree", "--json"]).exits(0).document();
    assert_eq!((&done["worktree"], &done["branch"]), (&json!("removed"), &json!("mine")));
    assert!(!path.exists());
    assert_eq!(git(&dir, &["show", "mine:new file"]), "x");
    let kept = office.settled(&["--worktree", "go"]);
    std::fs::write(tree(&office, &kept).join("b"), "b\n").unwrap();
    let done = office.desk.run(&["close", &kept, "--keep-worktree", "--json"]).exits(0).document();
    assert_eq!(done["worktree"], json!("kept"));
    assert!(tree(&office, &kept).join("b").exists());
    office.close();
}

#[test]
fn where_no_worktree_can_be_made_nothing_is_left() {
    let office = Office::new("otherwise\n say Hello.\n");
    let dir = office.desk.path("work");
    let start = |more: &[&str]| {
        let words: Vec<&str> = [&["--worktree"], more, &["go"]].concat();
        office.desk.run(&office.creating("start", &words)).exits(2).err
    };
    assert!(start(&[]).contains("is in no git repository"), "{}", start(&[]));
    git(&dir, &["init", "-q", "-b", "main"]);
    assert!(start(&[]).contains("has no commit yet"), "{}", start(&[]));
    std::fs::write(dir.join("a"), "a\n").unwrap();
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "-qm", "one"]);
    std::fs::create_dir(dir.join("ignored")).unwrap();
    let ignored = dir.join("ignored").display().to_string();
    assert!(start(&["--cwd", &ignored]).contains("is not in the repository's last commit"));
    let ran = office.desk.run(&office.creating("start", &["--worktree=main", "go"])).exits(2);
    assert!(ran.err.contains("the branch main exists already"), "{}", ran.all());
    let ran = office.desk.run(&office.creating("start", &["--worktree=a..b", "go"])).exits(2);
    assert!(ran.err.contains("not a name that a branch can have"), "{}", ran.all());
    let bare = office.desk.path("bare");
    git(&dir, &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let bare = bare.display().to_string();
    assert!(start(&["--cwd", &bare]).contains("is bare"));
    assert_eq!(git(&dir, &["branch", "--format=%(refname:short)"]), "main");
    assert_eq!(git(&dir, &["worktree", "list"]).lines().count(), 1);
    let listed = office.desk.run(&["ls", "--json"]).exits(0).document();
    assert_eq!(listed["sessions"], json!([]));
    let left = std::fs::read_dir(office.desk.home().join("worktrees")).map_or(0, Iterator::count);
    assert_eq!(left, 0);
    office.close();
}

#[test]
fn listings_say_who_lives_who_asks_and_who_has_declared() {
    let office = Office::new(
        "when ask\n ask Bash {\"command\":\"make\"}\n then\n say Done.\notherwise\n spawn group \"$OSTLER\" declare blocked --note keys\n until go\n say Hello.\n",
    );
    let asks = office.started(&["--label", "asking", "ask"]);
    office.asks();
    let waited = office.desk.run(&["wait", &asks, "--timeout", "1s"]).exits(6);
    assert!(waited.err.contains("it asks for permission (Bash)"), "{}", waited.all());
    let said = office.started(&["--label", "said", "speak"]);
    let declared = until("a declaration", || {
        let listed = office.desk.run(&["ls", "--state", "declared", "--json"]).exits(0).document();
        listed["sessions"].get(0).cloned()
    });
    assert_eq!(
        (&declared["id"], &declared["declared"], &declared["note"]),
        (&json!(said), &json!("blocked"), &json!("keys"))
    );
    let page = office.desk.run(&["ls"]).exits(0).out;
    let line = |label: &str| page.lines().find(|line| line.contains(label)).unwrap().to_owned();
    assert!(line("asking").contains("active, asks") && line("asking").contains("resident"), "{page}");
    assert!(line("said").contains("blocked: keys"), "{page}");
    let shown = office.desk.run(&["show", &asks, "--json"]).exits(0).document();
    let facts = ["liveness", "process", "questions"].map(|name| shown["session"][name].clone());
    assert_eq!(facts, [json!("online"), json!("resident"), json!(1)]);
    assert!(office.desk.run(&["show", &said]).exits(0).out.contains("declared blocked: keys"));
    office.open("go");
    office.desk.run(&["wait", &said]).exits(0);
    let watched = office.desk.run(&["watch", &said, "--no-wait"]).exits(0).out;
    assert!(watched.contains("declared blocked: keys"), "{watched}");
    let stopped = office.desk.run(&["stop", &asks]).exits(0);
    assert!(stopped.out.starts_with("stopped") && stopped.err.contains(" resume "), "{}", stopped.all());
    let shown = office.desk.run(&["show", &asks, "--json"]).exits(0).document();
    let facts = ["liveness", "process", "questions"].map(|name| shown["session"][name].clone());
    assert_eq!(facts, [json!("offline"), json!("cold"), json!(0)]);
    office.close();
}

/// Somebody deleted its session's folder by hand, or a start was killed.
#[test]
fn gc_removes_a_worktree_of_no_session_unless_work_would_be_lost() {
    let office = Office::new("otherwise\n say Hello.\n");
    let dir = repository(&office);
    let trees = office.desk.home().join("worktrees");
    std::fs::create_dir_all(&trees).unwrap();
    let [clean, dirty] =
        ["aa", "bb"].map(|end| trees.join(format!("0195c1de-0000-7000-8000-0000000000{end}")));
    for (path, branch) in [(&clean, "ostler/clean"), (&dirty, "ostler/dirty")] {
        git(&dir, &["worktree", "add", "-q", "-b", branch, path.to_str().unwrap()]);
    }
    std::fs::write(dirty.join("new"), "x").unwrap();
    assert!(office.desk.run(&["gc"]).exits(0).out.contains("nothing"), "they may be in the making");
    for path in [&clean, &dirty] {
        age(path, Duration::from_secs(7200));
    }
    assert!(office.desk.run(&["gc"]).exits(0).out.contains("worktree of no session"));
    assert!(!clean.exists() && dirty.exists());
    assert_eq!(git(&dir, &["branch", "--list", "ostler/*", "--format=%(refname:short)"]), "ostler/dirty");
    office.close();
}

fn age(path: &Path, by: Duration) {
    let file = std::fs::File::open(path).unwrap();
    file.set_modified(SystemTime::now() - by).unwrap();
}

#[test]
fn gc_deletes_what_is_over_and_nothing_that_may_be_woken() {
    let office = Office::new(BUSY);
    let [closed, idle] = ["one", "two"].map(|text| office.settled(&[text]));
    let busy = office.started(&["go"]);
    office.reaches("talking");
    office.desk.run(&["close", &closed]).exits(0);
    let sessions = office.desk.home().join("sessions");
    let half = sessions.join("0195c1de-0000-7000-8000-0000000000aa");
    let fresh = sessions.join("0195c1de-0000-7000-8000-0000000000bb");
    let cut = sessions.join(".purged-0195c1de-0000-7000-8000-0000000000cc");
    let body = sessions.join(&idle).join("deliveries/0195c1de-0000-7000-8000-0000000000dd");
    for folder in [&half, &fresh, &cut, &body.parent().unwrap().to_owned()] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(&body, "never accepted").unwrap();
    for path in [&half, &body] {
        age(path, Duration::from_secs(7200));
    }
    let look = |more: &[&str]| {
        let words: Vec<&str> = [&["gc", "--json"], more].concat();
        let document = office.desk.run(&words).exits(0).document();
        Schema::load().holds("gc", &document);
        let kind = |r: &Value| r["kind"].as_str().unwrap().to_owned();
        let mut kinds: Vec<String> = document["deleted"].as_array().unwrap().iter().map(kind).collect();
        kinds.sort();
        kinds
    };
    assert_eq!(look(&["--dry-run"]), ["body", "half_made", "purged"], "closed only just now");
    assert_eq!(look(&["--dry-run", "--older-than", "0s"]), ["body", "half_made", "purged", "session"]);
    assert!(half.exists() && cut.exists() && body.exists(), "a dry run deletes nothing");
    let said = office.desk.run(&["gc", "--older-than", "0s"]).exits(0).out;
    assert!(said.contains("4 deleted") && said.contains("closed session"), "{said}");
    assert!(!half.exists() && !cut.exists() && !body.exists() && fresh.exists());
    office.desk.run(&["show", &closed]).exits(7);
    for id in [&idle, &busy] {
        office.desk.run(&["show", id]).exits(0);
    }
    assert!(look(&["--older-than", "0s"]).is_empty());
    office.desk.run(&["stop", &busy]).exits(0);
    std::fs::remove_dir(&fresh).unwrap();
    office.close();
}
