//! A home of its own for each test, and values to put into it.

use ostler_core::ctl::{Event, Exit, Row};
use ostler_core::ids::{ConversationId, DeliveryId, Millis, SessionId};
use ostler_core::record::{Record, State};
use ostler_store::db::{Mode, NewDelivery, SessionRow};
use ostler_store::{Db, Durability, Home, SessionDir, SessionFile};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;
use uuid::Uuid;

/// A home in a folder that goes with it.
pub(crate) struct TestHome {
    pub(crate) home: Home,
    pub(crate) folder: TempDir,
}

impl TestHome {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let home = Home::open(&folder.path().join("home")).unwrap();
        Self { home, folder }
    }

    pub(crate) fn db(&self) -> Db {
        self.home.db(Durability::Full).unwrap()
    }

    /// A database with one session.
    pub(crate) fn db_with(&self, session: SessionId) -> Db {
        let db = self.db();
        db.insert_session(&session_row(session)).unwrap();
        db
    }
}

/// A session folder, empty, in a folder that goes with it.
pub(crate) struct TestSession {
    pub(crate) dir: SessionDir,
    _folder: TempDir,
}

impl TestSession {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let dir = SessionDir { id: session_id(1), path: folder.path().join("session") };
        Self { dir, _folder: folder }
    }

    /// A session with a folder for each of these generations.
    pub(crate) fn with_generations(generations: &[u32]) -> Self {
        let session = Self::new();
        for no in generations {
            std::fs::create_dir_all(session.dir.generation(*no).path).unwrap();
        }
        session
    }

    pub(crate) fn out(&self, no: u32, bytes: impl AsRef<[u8]>) {
        append(&self.dir.generation(no).out(), bytes.as_ref());
    }

    pub(crate) fn ctl(&self, no: u32, bytes: impl AsRef<[u8]>) {
        append(&self.dir.generation(no).ctl(), bytes.as_ref());
    }
}

pub(crate) fn append(path: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

pub(crate) fn note(off: u64, text: &str) -> Row {
    Row { at: Millis(1_000), off, ev: Event::Note { text: text.to_owned() } }
}

pub(crate) fn dead(off: u64) -> Row {
    let ev = Event::Dead { exit: Exit::Code(0), proven: true, killed: 0, said: None };
    Row { at: Millis(2_000), off, ev }
}

pub(crate) fn line(row: &Row) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(row).unwrap();
    bytes.push(b'\n');
    bytes
}

pub(crate) fn session_id(n: u128) -> SessionId {
    SessionId(Uuid::from_u128(0x0a00_0000_0000_4000_8000_0000_0000_0000 + n))
}

pub(crate) fn delivery_id(n: u128) -> DeliveryId {
    DeliveryId(Uuid::from_u128(0xd000_0000_0000_4000_8000_0000_0000_0000 + n))
}

pub(crate) fn conversation_id(n: u128) -> ConversationId {
    ConversationId(Uuid::from_u128(0xc000_0000_0000_4000_8000_0000_0000_0000 + n))
}

pub(crate) fn session_row(id: SessionId) -> SessionRow {
    SessionRow {
        id,
        conversation: ConversationId(id.0),
        host: "here".to_owned(),
        created_at: Millis(1_796_053_215_000),
        label: None,
        cwd: "/project".to_owned(),
        record: Record::default(),
        revision: 0,
    }
}

pub(crate) fn session_file(id: SessionId) -> SessionFile {
    SessionFile {
        version: 1,
        id,
        conversation: ConversationId(id.0),
        created_at: Millis(1_796_053_215_000),
        label: Some("reviewer".to_owned()),
        cwd: "/project".to_owned(),
        host: "here".to_owned(),
        spec: serde_json::value::RawValue::from_string(r#"{"model": "m",  "cwd":"/project"}"#.to_owned())
            .unwrap(),
    }
}

pub(crate) fn delivery(n: u128, session: SessionId, body: impl Into<Vec<u8>>) -> NewDelivery {
    NewDelivery {
        id: delivery_id(n),
        session,
        body: body.into(),
        mode: Mode::Auto,
        idempotency_key: None,
        created_at: Millis(1_000),
        continues: None,
    }
}

pub(crate) fn record(state: State) -> Record {
    Record { state, ..Record::default() }
}
