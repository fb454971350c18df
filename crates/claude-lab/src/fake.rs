//! Fake children: a `claude` that plays a script or a recorded session, for what the real one will not do on command.
//!
//! The executable is `fake-claude`; `docs/fake-claude.md` describes its scripts and says what was compared with the
//! real CLI. It is one loop in one thread (`engine`): what arrives on stdin and signals come through a channel
//! (`input`), and every place where the script waits keeps reading from it, so a fake child answers control requests
//! in the middle of a turn as the real one does.

mod args;
mod black_box;
mod control;
mod engine;
mod flood;
mod gates;
mod habits;
mod input;
mod lines;
mod message;
mod output;
mod play;
mod prompts;
mod script;
mod spawn;
mod stamp;
mod steps;
mod tasks;
mod tools;
mod transcript;
mod turn;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

pub use black_box::Hash;
pub use flood::Flood;
pub use script::{FakeScript, FakeScriptError};

/// Names a script file; a value with a line break in it is the script itself.
pub const SCRIPT_VARIABLE: &str = "FAKE_CLAUDE_SCRIPT";
/// Names a folder `…/gen/N` of a recorded session to play back instead of a script.
pub const PLAY_VARIABLE: &str = "FAKE_CLAUDE_PLAY";
/// Names a file that every line read from stdin is appended to, as `<number>\t<line>`.
pub const LOG_VARIABLE: &str = "FAKE_CLAUDE_LOG";
/// Names a folder in which each child keeps a file of what it read, ran and wrote.
pub const BOX_VARIABLE: &str = "FAKE_CLAUDE_BOX";
/// Names the folder of the gates; by default the script's folder.
pub const GATES_VARIABLE: &str = "FAKE_CLAUDE_GATES";

/// Runs the fake child of this process's arguments and environment, and gives its exit status.
pub fn main() -> ExitCode {
    let status = match run() {
        Ok(status) => status,
        Err(refusal) => {
            if !refusal.text.is_empty() {
                output::complain(&refusal.text);
            }
            refusal.status
        }
    };
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

/// Why a child never got to its first line.
struct Refusal {
    status: i32,
    text: String,
}

impl Refusal {
    fn new(text: impl Into<String>) -> Self {
        Self { status: 1, text: text.into() }
    }
}

fn run() -> Result<i32, Refusal> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let script = load_script()?;
    let habits = script.habits();
    let options = match args::parse(&words) {
        Ok(args::Asked::Version) => {
            output::say(&format!("{} (Claude Code)\n", habits.version));
            return Ok(0);
        }
        Ok(args::Asked::Session(options)) => *options,
        Err(text) => return Err(Refusal::new(text)),
    };
    if let Some(folder) = std::env::var_os(PLAY_VARIABLE) {
        return play::play(&PathBuf::from(folder), &options);
    }
    engine::Engine::new(options, script)?.run()
}

fn load_script() -> Result<FakeScript, Refusal> {
    let Some(value) = std::env::var_os(SCRIPT_VARIABLE) else { return Ok(FakeScript::default()) };
    let text = match value.to_str() {
        Some(text) if text.contains('\n') => text.to_owned(),
        _ => std::fs::read_to_string(&value).map_err(|error| {
            Refusal::new(format!("fake-claude: cannot read {}: {error}", value.display()))
        })?,
    };
    FakeScript::parse(&text).map_err(|error| Refusal::new(format!("fake-claude: {error}")))
}
