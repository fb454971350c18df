//! bring-up
#![allow(warnings)]
use ostler_controller::client::*;
use ostler_core::{ids::*, machine::Mode, spec::*};
use std::ffi::OsString;
fn main() {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args[0].to_str().unwrap() {
        "__keeper" => std::process::exit(ostler_controller::keeper::main(&args[1..])),
        "__controller" => std::process::exit(ostler_controller::controller::main(&args[1..])),
        "run" => {
            let o = Ostler::open(std::path::Path::new(&args[1])).unwrap();
            let path = args[2].to_str().unwrap().to_owned();
            let resolved = Resolved {
                env: vec![],
                program: PinnedFile { path: path.clone(), sha256: "0".repeat(64), size: 0, mtime_ns: 0 },
                args: vec![],
                scripts: vec![],
                version: "2.1.332".into(),
                agents_by_file: true,
            };
            let parent: Vec<_> = std::env::vars_os().collect();
            let choice = ostler_core::env::Choice {
                credential: None,
                keep: std::env::var("KEEP")
                    .unwrap_or_default()
                    .split(',')
                    .filter(|s| !s.is_empty())
                    .map(str::to_owned)
                    .collect(),
                set: vec![
                    ("ANTHROPIC_BASE_URL".into(), std::env::var("ANTHROPIC_BASE_URL").unwrap()),
                    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".into(), "1".into()),
                ],
                secrets: vec![],
            };
            let environment =
                ostler_core::env::capture(&parent, &choice, ostler_core::argv::Platform::Unix).unwrap();
            let spec = LaunchSpec::new(
                Launcher { command: vec![path], resolved },
                "claude-sonnet-4-5",
                std::env::current_dir().unwrap().to_str().unwrap(),
                environment,
            );
            let id = SessionId(uuid::Uuid::new_v4());
            let now = Millis(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64);
            o.create(&NewSession { id, label: None, spec, at: now }).unwrap();
            println!("session {id}");
            send(&o, id, args[3].to_str().unwrap());
        }
        "send" => {
            let o = Ostler::open(std::path::Path::new(&args[1])).unwrap();
            let id = o.db().find_session(args[2].to_str().unwrap()).unwrap().id;
            send(&o, id, args[3].to_str().unwrap());
        }
        "rebuild" => {
            let o = Ostler::open(std::path::Path::new(&args[1])).unwrap();
            println!("{:?}", o.rebuild(false).unwrap());
        }
        _ => panic!(),
    }
}
fn send(o: &Ostler, id: SessionId, text: &str) {
    let t = std::time::Instant::now();
    let now = Millis(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64);
    o.deliver(
        id,
        &NewMessage {
            id: DeliveryId(uuid::Uuid::new_v4()),
            text: text.into(),
            mode: Mode::Auto,
            idempotency_key: None,
            at: now,
        },
    )
    .unwrap();
    println!("accepted {:?}", t.elapsed());
    println!("{:?} {:?}", o.status(id), t.elapsed());
    println!("{:?} {:?}", o.wait(id, Some(t + std::time::Duration::from_secs(60))), t.elapsed());
    println!("{:?}", o.summary(id).unwrap());
    println!("{:?}", o.rebuild(false));
}
