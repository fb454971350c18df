//! A person at a desk: the binary, run in an environment of its own, and what it printed.

use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// An environment of its own: home, store, working directory, temporary folder.
pub(crate) struct Desk {
    folder: TempDir,
}

/// What a command printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["user", "work", "tmp", "bin"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The home that commands use.
    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Writes a file and gives its path.
    pub(crate) fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, contents).unwrap();
        path
    }

    /// The command, not yet run. Nothing of our own environment reaches it but what finds programs.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
        command.args(args).env_clear().current_dir(self.path("work"));
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()));
        command.env("HOME", self.path("user")).env("TMPDIR", self.path("tmp"));
        command.env("OSTLER_HOME", self.home());
        command.env("XDG_CACHE_HOME", self.path("cache")).env("XDG_CONFIG_HOME", self.path("config"));
        if let Ok(run) = std::env::var("OSTLER_TEST_RUN") {
            // So that the run's search for leftovers knows it.
            command.env("OSTLER_TEST_RUN", run);
        }
        command.stdin(Stdio::null());
        command
    }

    /// Runs it with nothing on standard input.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        self.ran(self.command(args).output().unwrap())
    }

    /// Runs it with this on standard input.
    pub(crate) fn run_with<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that refuses early doesn't read all of it.
        let _ = child.stdin.take().unwrap().write_all(input);
        self.ran(child.wait_with_output().unwrap())
    }

    fn ran(&self, output: Output) -> Ran {
        let text = |bytes: Vec<u8>| self.plain(&String::from_utf8(bytes).expect("output is UTF-8"));
        Ran { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The same with a name for our folder, which is another one each time.
    pub(crate) fn plain(&self, text: &str) -> String {
        let real = self.folder.path().canonicalize().unwrap();
        text.replace(&real.display().to_string(), "$DESK")
            .replace(&self.folder.path().display().to_string(), "$DESK")
    }
}

impl Ran {
    /// Asserts the exit status.
    #[track_caller]
    pub(crate) fn exits(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{}\n{}", self.out, self.err);
        self
    }

    /// Everything, for a snapshot.
    pub(crate) fn all(&self) -> String {
        format!("status {}\n--- out\n{}--- err\n{}", self.status.unwrap_or(-1), self.out, self.err)
    }

    /// Standard output as the one document that it must be.
    #[track_caller]
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}\n{}", self.out, self.err))
    }

    /// Standard output as events, one a line.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        self.out.lines().map(parse).collect()
    }
}

/// The repository's root.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
