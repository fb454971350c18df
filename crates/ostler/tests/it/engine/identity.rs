//! Which conversation a session goes on with, and what others did to it meanwhile.

use super::stable::{Session, Stable, executable, fake_claude, now};
use super::turns::argv;
use ostler_controller::client::{ClientError, NewSession, Ostler};
use ostler_core::ctl::Event;
use ostler_core::ids::SessionId;
use ostler_core::rows::{DeliveryState, Outcome};
use ostler_core::spec::LaunchSpec;
use ostler_store::DbError;
use ostler_store::session_file::SessionFile;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use uuid::Uuid;

/// A turn, and its child's end: until then the transcript is the child's.
#[track_caller]
fn over(session: &Session<'_>, text: &str) {
    let turn = session.completes(text);
    session.dead(turn.generation);
}

fn projects(stable: &Stable) -> PathBuf {
    stable.path("user").join(".claude/projects")
}

/// Where the conversation's transcript is; it must be in one place only.
fn transcript(session: &Session<'_>) -> PathBuf {
    let name = format!("{}.jsonl", session.id);
    let folders = fs::read_dir(projects(session.stable)).unwrap().flatten();
    let found: Vec<_> = folders.map(|f| f.path().join(&name)).filter(|path| path.exists()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

/// The id behind `--resume`, if it is there.
fn resumes(session: &Session<'_>, no: u32) -> Option<String> {
    let words = argv(session, no);
    let at = words.iter().position(|word| word == "--resume")?;
    words.get(at + 1).cloned()
}

fn foreign(session: &Session<'_>, no: u32) -> Option<i64> {
    session.rows(no).iter().find_map(|row| match row.ev {
        Event::Foreign { bytes } => Some(bytes),
        _ => None,
    })
}

/// Somebody else wrote to the conversation between two turns, or cut it: that is said, and the turn goes on.
#[test]
fn a_transcript_that_others_have_changed_is_told() {
    let stable = Stable::new();
    let session = stable.session("otherwise\n say hi\n");
    over(&session, "one");
    over(&session, "two");
    assert_eq!(foreign(&session, 2), None, "what we wrote ourselves is nobody else's");

    let path = transcript(&session);
    let row = "{\"type\":\"summary\",\"summary\":\"by somebody else\"}\n";
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str(row);
    fs::write(&path, &text).unwrap();
    over(&session, "three");
    assert_eq!(foreign(&session, 3), Some(i64::try_from(row.len()).unwrap()));

    let whole = fs::read_to_string(&path).unwrap();
    let cut = whole.trim_end().rfind('\n').unwrap() + 1;
    fs::write(&path, &whole[..cut]).unwrap();
    over(&session, "four");
    assert_eq!(foreign(&session, 4), Some(i64::try_from(cut).unwrap() - i64::try_from(whole.len()).unwrap()));

    over(&session, "five");
    assert_eq!(foreign(&session, 5), None, "it is told once");
    stable.finish();
}

/// One that is gone, with our own link gone too, has shrunk to nothing; the same id is begun anew.
#[test]
fn a_transcript_that_is_lost_for_good_is_told() {
    let stable = Stable::new();
    let session = stable.session("otherwise\n say hi\n");
    over(&session, "one");
    let bytes = fs::metadata(transcript(&session)).unwrap().len();
    fs::remove_file(transcript(&session)).unwrap();
    fs::remove_file(session.dir.transcript()).unwrap();
    over(&session, "two");
    assert_eq!(foreign(&session, 2), Some(-i64::try_from(bytes).unwrap()));
    assert_eq!(resumes(&session, 2), None);
    stable.finish();
}

/// Case 54: hook lines, and even an early `init`, carry ids that exist nowhere.
#[test]
fn ids_in_early_lines_rename_nothing() {
    let stable = Stable::new();
    let odd = |id: &str| format!("\"session_id\": \"00000000-0000-4000-8000-0000000000{id}\"");
    let hook = |kind: &str| {
        format!(
            " line {{\"type\": \"system\", \"subtype\": \"{kind}\", \"hook_id\": \"h\", \"hook_name\": \"SessionStart:startup\", \
             \"hook_event\": \"SessionStart\", {}}}\n",
            odd("01")
        )
    };
    let init = format!(" line {{\"type\": \"system\", \"subtype\": \"init\", {}}}\n", odd("02"));
    let script =
        format!("start\n{}{}{init}otherwise\n say hi\n", hook("hook_started"), hook("hook_response"));
    let session = stable.session(&script);
    over(&session, "one");
    over(&session, "two");
    assert_eq!(resumes(&session, 2), Some(session.id.to_string()));
    stable.finish();
}

/// Case 56: a transcript appears between our look and the CLI's. The message is offered once more, to a child that
/// resumes, and never to one that begins anew.
#[test]
fn in_use_already_is_resumed_once() {
    let stable = Stable::new();
    let fake = fake_claude();
    let name = stable.path("wrapper");
    // The first start finds a transcript that was not there a moment before.
    let projects = projects(&stable);
    let wrapper = executable(
        &name,
        &format!(
            "#!/bin/sh\nif [ ! -e {dir} ]; then\n mkdir -p {dir}\n prev=\n for word in \"$@\"; do\n \
             [ \"$prev\" = --session-id ] && printf '{{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"%s\",\"cwd\":\"%s\"}}\\n' \
             \"$word\" \"$PWD\" > {dir}/$(printf %s \"$PWD\" | tr -c 'a-zA-Z0-9' -)/\"$word\".jsonl\n prev=$word\n done\nfi\nexec {fake} \"$@\"\n",
            dir = projects.display(),
            fake = fake.display(),
        )
        .replace(" prev=\n", " mkdir -p \"$PROJECTS/$(printf %s \"$PWD\" | tr -c 'a-zA-Z0-9' -)\"\n prev=\n")
        .replace("$PROJECTS", &projects.display().to_string()),
    );
    let session =
        stable.session_of("otherwise\n say hi\n", |spec| spec.launcher.resolved.program.path = wrapper);
    let id = session.send("hello");
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    assert_eq!(session.dir.generations().unwrap(), [1, 2]);
    assert_eq!(resumes(&session, 1), None);
    assert_eq!(resumes(&session, 2), Some(session.id.to_string()));
    assert_eq!(session.delivery(id).state, DeliveryState::Completed);
    stable.finish();
}

/// Cases 58 and 60: odd directories, and links to them; the conversation is found from each.
#[test]
fn odd_working_directories_are_gone_on_from() {
    let stable = Stable::new();
    let long = "x".repeat(200);
    let odd = ["under_score", "dot.ted", "with space", "é and 日本", "-dash", long.as_str()];
    for (n, name) in odd.into_iter().enumerate() {
        let real = stable.path("work").join(name);
        fs::create_dir(&real).unwrap();
        let link = stable.path(&format!("link{n}"));
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let cwd = fs::canonicalize(&link).unwrap();
        let session =
            stable.session_of("otherwise\n say hi\n", |spec| spec.cwd = cwd.to_str().unwrap().to_owned());
        over(&session, "one");
        over(&session, "two");
        assert_eq!(resumes(&session, 2), Some(session.id.to_string()), "{name}");
        transcript(&session);
    }
    stable.finish();
}

/// Case 59: an empty project folder of another directory, and the same conversation's folder under another name, are
/// nothing to go by: the file's own name is.
#[test]
fn folders_that_mislead_and_one_that_was_renamed_change_nothing() {
    let stable = Stable::new();
    let session = stable.session("otherwise\n say hi\n");
    over(&session, "one");
    let path = transcript(&session);
    let folder = path.parent().unwrap();
    let renamed = folder.with_file_name("-somewhere-else");
    fs::rename(folder, &renamed).unwrap();
    fs::create_dir(folder).unwrap();
    fs::write(folder.join("00000000-0000-4000-8000-000000000000.jsonl"), "{}\n").unwrap();
    over(&session, "two");
    assert_eq!(resumes(&session, 2), Some(session.id.to_string()));
    assert_eq!(transcript(&session), renamed.join(format!("{}.jsonl", session.id)));
    assert_eq!(foreign(&session, 2), None, "a file that was moved is what it was");
    stable.finish();
}

/// Case 57: two who act on one session share its one controller; the CLI itself would let both resume.
#[test]
fn one_session_never_has_two_children() {
    let stable = Stable::new();
    let session = stable.session("otherwise\n until go\n say hi\n");
    std::thread::scope(|scope| {
        for n in 0..6 {
            let (face, id) = (stable.another_face(), session.id);
            let message = ostler_controller::client::NewMessage {
                id: ostler_core::ids::DeliveryId(uuid::Uuid::new_v4()),
                content: format!("message {n}").into(),
                mode: ostler_core::machine::Mode::Queue,
                idempotency_key: None,
                at: super::stable::now(),
            };
            scope.spawn(move || face.deliver(id, &message).unwrap());
        }
    });
    session.open("go");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    let lives: Vec<(i64, i64)> = session
        .projection()
        .generations
        .iter()
        .map(|row| (row.started_at.0, row.ended_at.map_or(i64::MAX, |at| at.0)))
        .collect();
    assert!(lives.is_sorted_by(|a, b| a.1 <= b.0), "{lives:?}");
    stable.finish();
}

#[test]
fn nothing_of_a_folder_name_is_ever_read_back() {
    // Two directories that share one folder name.
    let stable = Stable::new();
    let mut sessions = Vec::new();
    for name in ["a_b", "a.b"] {
        let cwd = fs::canonicalize(stable.path("work")).unwrap().join(name);
        fs::create_dir(&cwd).unwrap();
        let session =
            stable.session_of("otherwise\n say hi\n", |spec| spec.cwd = cwd.to_str().unwrap().to_owned());
        over(&session, "one");
        sessions.push(session);
    }
    let folders: Vec<PathBuf> =
        sessions.iter().map(|s| Path::parent(&transcript(s)).unwrap().to_owned()).collect();
    assert_eq!(folders[0], folders[1]);
    for session in &sessions {
        over(session, "two");
        assert_eq!(resumes(session, 2), Some(session.id.to_string()));
    }
    stable.finish();
}

/// Two who create a session under one id at once: one of them does, and what it asked for is what the session is.
#[test]
fn an_id_that_two_choose_at_once_has_one_session() {
    let stable = Stable::new();
    for _ in 0..25 {
        let id = SessionId(Uuid::new_v4());
        let spec = stable.spec_for(id, "otherwise\n say hi\n");
        let ready = Barrier::new(2);
        let create = |face: &Ostler, word: &str| {
            let spec = LaunchSpec { append_system_prompt: Some(word.to_owned()), ..spec.clone() };
            ready.wait();
            face.create(&NewSession { id, label: Some(word.to_owned()), spec, at: now() })
        };
        let done = std::thread::scope(|scope| {
            let all = ["one", "other"].map(|word| {
                let (face, create) = (stable.another_face(), &create);
                (word, scope.spawn(move || create(&face, word)))
            });
            all.map(|(word, thread)| (word, thread.join().unwrap()))
        });
        let (made, refused): (Vec<_>, Vec<_>) = done.into_iter().partition(|(_, done)| done.is_ok());
        assert!(
            matches!(refused[..], [(_, Err(ClientError::Db(DbError::SessionExists { .. })))]),
            "{refused:?}"
        );
        let file = SessionFile::read(&stable.ostler.home().session(id)).unwrap();
        let spec = LaunchSpec::from_json(file.spec.get()).unwrap();
        let row = stable.ostler.db().session(id).unwrap().unwrap();
        assert_eq!(row.label.as_deref(), Some(made[0].0));
        assert_eq!((spec.append_system_prompt, file.label), (row.label.clone(), row.label));
    }
    stable.finish();
}
