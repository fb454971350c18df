//! How fast the store is: following a journal, opening the database, listing, committing.
//!
//! `cargo bench -p ostler-store`. Each figure is the best of several rounds; `target` is what design asks for.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark for people")]

use ostler_core::ctl::{Event, Row};
use ostler_core::ids::{ConversationId, DeliveryId, Millis, SessionId};
use ostler_core::record::{Record, State};
use ostler_core::rows::{Outcome, Projection, Turn};
use ostler_store::db::{ListFilter, Mode, NewDelivery, SessionRow};
use ostler_store::{Cursor, Db, Durability, Entry, Home, Journal};
use std::io::Write;
use std::time::{Duration, Instant};
use uuid::Uuid;

fn main() {
    following();
    let folder = tempfile::TempDir::new().unwrap();
    let home = Home::open(&folder.path().join("home")).unwrap();
    let db = home.db(Durability::Full).unwrap();
    opening(&home);
    let session = committing(&db);
    accepting(&home, session);
    listing(&db, home.root());
}

fn report(what: &str, found: String, target: &str) {
    println!("{what:<52} {found:>16}   {target}");
}

fn best(rounds: usize, mut run: impl FnMut()) -> Duration {
    (0..rounds)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .min()
        .unwrap()
}

fn following() {
    const LINES: usize = 400_000;
    let folder = tempfile::TempDir::new().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let dir = home.session(SessionId(Uuid::from_u128(1)));
    let generation = dir.generation(1);
    std::fs::create_dir_all(&generation.path).unwrap();
    let mut out = std::io::BufWriter::new(std::fs::File::create(generation.out()).unwrap());
    let mut ctl = std::io::BufWriter::new(std::fs::File::create(generation.ctl()).unwrap());
    let line = [vec![b'x'; 249], b"\n".to_vec()].concat();
    for n in 0..LINES {
        out.write_all(&line).unwrap();
        if n % 100 == 0 {
            let ev = Event::Note { text: "about every hundredth line".to_owned() };
            serde_json::to_writer(&mut ctl, &Row { at: Millis(1), off: n as u64 * 250, ev }).unwrap();
            ctl.write_all(b"\n").unwrap();
        }
    }
    out.flush().unwrap();
    ctl.flush().unwrap();
    let took = best(5, || {
        let mut follower = Journal::open(&dir).read_from(Cursor::START).unwrap();
        let mut lines = 0;
        while let Some(entry) = follower.next().unwrap() {
            lines += usize::from(matches!(entry, Entry::Out { .. }));
        }
        assert_eq!(lines, LINES);
    });
    let rate = LINES as f64 / took.as_secs_f64();
    report("follow lines of 250 bytes, warm", format!("{rate:.0} lines/s"), "target 300 000");
    let took = best(5, || {
        let mut file = std::fs::File::open(generation.out()).unwrap();
        let mut chunk = vec![0; 64 << 10];
        while std::io::Read::read(&mut file, &mut chunk).unwrap() > 0 {}
    });
    let rate = LINES as f64 / took.as_secs_f64();
    report("  beside: the same file read in bare chunks", format!("{rate:.0} lines/s"), "");
    let mut follower = Journal::open(&dir).read_from(Cursor::START).unwrap();
    while follower.next().unwrap().is_some() {}
    let took = best(5, || (0..1_000).for_each(|_| assert!(follower.next().unwrap().is_none())));
    report("look for more at the end of a journal", format!("{:.2?}", took / 1_000), "");
    let cursor = follower.cursor();
    let took = best(20, || drop(Journal::open(&dir).read_from(cursor).unwrap()));
    report("go back to a cursor", format!("{took:.2?}"), "");
}

fn opening(home: &Home) {
    let took = best(50, || drop(Db::open(home.root(), Durability::Full).unwrap()));
    report("open the database while another has it open", format!("{took:.2?}"), "target 5 ms");
    let took = best(50, || drop(Home::open(home.root()).unwrap()));
    report("open the home, database included", format!("{took:.2?}"), "");
}

fn row(n: u128) -> SessionRow {
    SessionRow {
        id: SessionId(Uuid::from_u128(n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))),
        conversation: ConversationId(Uuid::from_u128(n)),
        host: "here".to_owned(),
        created_at: Millis(1_796_000_000_000 + n as i64),
        label: n.is_multiple_of(10).then(|| format!("label {}", n % 1_000)),
        cwd: format!("/home/somebody/projects/{}", n % 200),
        record: Record {
            state: if n.is_multiple_of(500) { State::Active } else { State::Idle },
            stopped: false,
            closed: !n.is_multiple_of(4),
        },
        revision: 0,
    }
}

fn turn(no: u32) -> Turn {
    Turn {
        no,
        generation: no,
        started_at: Millis(1),
        settled_at: Some(Millis(2)),
        outcome: Some(Outcome::Completed),
        failure: None,
        message: None,
        results: 1,
        rounds: 3,
        denials: 0,
        killed_tasks: 0,
        unclean: false,
        garbled: false,
        answer: Some((100, 900)),
    }
}

fn committing(db: &Db) -> SessionId {
    let session = row(0).id;
    db.insert_session(&SessionRow { id: session, ..row(4) }).unwrap();
    for turns in [10, 1_000] {
        let mut projection = Projection { turns: (1..=turns).map(turn).collect(), ..Projection::default() };
        db.commit_projection(session, &projection, None).unwrap();
        let controller = Db::open(db.path().parent().unwrap(), Durability::Normal).unwrap();
        let took = best(50, || {
            projection.turns.last_mut().unwrap().rounds += 1;
            controller.commit_projection(session, &projection, None).unwrap();
        });
        report(&format!("commit one changed turn of {turns}"), format!("{took:.2?}"), "");
    }
    session
}

fn accepting(home: &Home, session: SessionId) {
    let db = home.db(Durability::Full).unwrap();
    let mut n = 0;
    let took = best(50, || {
        n += 1;
        let new = NewDelivery {
            id: DeliveryId(Uuid::from_u128(n)),
            session,
            body: vec![b'x'; 500],
            mode: Mode::Auto,
            idempotency_key: None,
            created_at: Millis(1),
            continues: None,
        };
        db.insert_delivery(&new).unwrap();
    });
    report("accept a delivery, durably", format!("{took:.2?}"), "");
}

fn listing(db: &Db, home: &std::path::Path) {
    let quick = Db::open(home, Durability::Normal).unwrap();
    let start = Instant::now();
    // By hand in one transaction: this is not what is measured.
    let raw = rusqlite::Connection::open(db.path()).unwrap();
    raw.execute_batch("PRAGMA synchronous = OFF").unwrap();
    quick.insert_session(&row(1)).unwrap();
    raw.execute_batch("BEGIN").unwrap();
    for n in 2..=100_000 {
        let row = row(n);
        raw.prepare_cached(
            "INSERT INTO session (id, conversation, host, created_at, label, cwd, record, state, stopped, closed, revision)
             VALUES (?1, ?2, 'here', ?3, ?4, ?5, ?6, ?7, 0, ?8, 0)",
        )
        .unwrap()
        .execute(rusqlite::params![
            row.id.to_string(),
            row.conversation.to_string(),
            row.created_at.0,
            row.label,
            row.cwd,
            serde_json::to_string(&row.record).unwrap(),
            row.record.state.word(),
            row.record.closed,
        ])
        .unwrap();
    }
    raw.execute_batch("COMMIT").unwrap();
    report("(100 000 sessions inserted)", format!("{:.2?}", start.elapsed()), "");
    let pages = [
        ("open ones", ListFilter { closed: Some(false), ..ListFilter::default() }),
        ("all", ListFilter::default()),
        (
            "active ones",
            ListFilter { state: Some("active".into()), closed: Some(false), ..ListFilter::default() },
        ),
        (
            "one label",
            ListFilter { label: Some("label 500".into()), closed: Some(false), ..ListFilter::default() },
        ),
        ("one folder", ListFilter { cwd: Some("/home/somebody/projects/8".into()), ..ListFilter::default() }),
        ("active ones, closed or not", ListFilter { state: Some("active".into()), ..ListFilter::default() }),
        (
            "stopped ones, of which there are none",
            ListFilter { stopped: Some(true), ..ListFilter::default() },
        ),
        ("none", ListFilter { state: Some("error".into()), ..ListFilter::default() }),
    ];
    for (what, filter) in pages {
        let took = best(20, || {
            let db = Db::open(home, Durability::Full).unwrap();
            db.list_sessions(&filter, None, 50).unwrap();
        });
        report(&format!("ls: open, first page of 50, {what}"), format!("{took:.2?}"), "target 30 ms");
    }
    let middle = db.list_sessions(&ListFilter::default(), None, 50_000).unwrap().next;
    let took = best(20, || drop(db.list_sessions(&ListFilter::default(), middle, 50).unwrap()));
    report("ls: a page from the middle", format!("{took:.2?}"), "");
    let id = row(77_777).id.to_string();
    let took = best(20, || drop(db.find_session(&id[..10]).unwrap()));
    report("find a session by the beginning of its id", format!("{took:.2?}"), "");
    let took = best(20, || drop(db.sessions_owing().unwrap()));
    report("look for sessions with work", format!("{took:.2?}"), "");
}
