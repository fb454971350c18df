//! What a fake child really read, ran and wrote, in a file of its own: for whoever wants to compare it with what others
//! say of it.
//!
//! One file a process, `<generation>-<pid>`, in the folder that the environment names. Rows are JSON lines, appended
//! without an fsync: they outlive the process, not the machine.
//!
//! | row | when |
//! | --- | --- |
//! | `{"began":true,"alone":true}` | at the start; `alone` is false when another child of this folder lives |
//! | `{"read":"user","uuid":…,"says":…}` | a line was read, and the hash of its content; of others than prompts, their type and subtype |
//! | `{"started":uuid}` | a turn takes this prompt up |
//! | `{"result":"success","uuids":[…]}` | the next line written is the result of these prompts |
//! | `{"len":…,"hash":…}` | the next write ends at that byte of stdout, and the hash of all bytes so far |

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use ostler_os::lockfile::{self, Lock};
use serde_json::{Value, json};

use super::Refusal;

/// How long the kernel may take to give back what a killed child held.
const HANDOVER: Duration = Duration::from_secs(2);

/// A running hash of bytes (FNV-1a, 64 bits): enough to find a byte that is missing or in the wrong place.
#[derive(Debug, Clone, Copy)]
pub struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    /// Takes more bytes in.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    /// The hash of what a prompt says, however its JSON is written.
    #[must_use]
    pub fn of_content(content: &Value) -> String {
        let mut hash = Self::default();
        hash.add(content.to_string().as_bytes());
        hash.text()
    }

    /// The hash of all bytes so far, as the rows have it.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

/// The file, and what it will say next.
#[derive(Debug)]
pub(super) struct BlackBox {
    file: File,
    len: u64,
    hash: Hash,
    _alone: Option<Lock>,
}

impl BlackBox {
    /// The one that the environment asks for.
    pub(super) fn open() -> Result<Option<Self>, Refusal> {
        let Some(folder) = std::env::var_os(super::BOX_VARIABLE) else { return Ok(None) };
        let generation = std::env::var("OSTLER_GENERATION").unwrap_or_default();
        let path = Path::new(&folder).join(format!("{generation}-{}", std::process::id()));
        let failed = |what: &OsStr, error: &dyn std::fmt::Display| {
            Refusal::new(format!("fake-claude: cannot open {}: {error}", what.display()))
        };
        let file = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|error| failed(path.as_os_str(), &error))?;
        let alone = Path::new(&folder).join("alone");
        let alone =
            lockfile::lock_within(&alone, HANDOVER).map_err(|error| failed(alone.as_os_str(), &error))?;
        let mut it = Self { file, len: 0, hash: Hash::default(), _alone: None };
        it.row(&json!({"began": true, "alone": alone.is_some()}));
        it._alone = alone;
        Ok(Some(it))
    }

    pub(super) fn row(&mut self, row: &Value) {
        // A row that can't be written is missed by whoever compares.
        drop(self.file.write_all(format!("{row}\n").as_bytes()));
    }

    /// These bytes are about to be written.
    pub(super) fn writes(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        self.hash.add(bytes);
        self.row(&json!({"len": self.len, "hash": self.hash.text()}));
    }

    /// This line was read.
    pub(super) fn reads(&mut self, line: &[u8]) {
        let line: Value = serde_json::from_slice(line).unwrap_or_default();
        let mut row = json!({"read": line["type"]});
        match line["type"].as_str() {
            Some("user") => {
                row["uuid"] = line["uuid"].clone();
                row["says"] = json!(Hash::of_content(&line["message"]["content"]));
            }
            Some("control_request") => row["subtype"] = line["request"]["subtype"].clone(),
            Some("control_response") => row["behavior"] = line["response"]["response"]["behavior"].clone(),
            _ => {}
        }
        self.row(&row);
    }
}
