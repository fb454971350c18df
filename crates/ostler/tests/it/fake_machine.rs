//! A machine with nothing on it but what a test puts there: a home, a folder on `PATH`, fake programs.

use ostler::launcher::{Found, Install, LauncherError, Progress, Search, find};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// What a `claude` that works does.
pub(super) fn claude(version: &str) -> String {
    format!(
        "#!/bin/sh\ncase \"$*\" in\n*--version) echo '{version} (Claude Code)';;\n\
         *--help) echo '  --agents <json-or-file>  JSON';;\nesac\n"
    )
}

pub(super) struct Machine {
    dir: TempDir,
    pub(super) env: Vec<(OsString, OsString)>,
}

impl Machine {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut machine = Self { dir, env: Vec::new() };
        for folder in ["home", "bin", "cache", "work", "tmp"] {
            std::fs::create_dir(machine.path(folder)).unwrap();
        }
        for (name, folder) in
            [("HOME", "home"), ("PATH", "bin"), ("XDG_CACHE_HOME", "cache"), ("TMPDIR", "tmp")]
        {
            let value = machine.path(folder);
            machine.set(name, &value);
        }
        machine
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        // The real path: the temporary folder itself may be behind a link.
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(super) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(super) fn set(&mut self, name: &str, value: impl AsRef<Path>) {
        self.env.retain(|(n, _)| n != name);
        self.env.push((name.into(), value.as_ref().as_os_str().to_owned()));
    }

    /// Writes an executable. Not by this process: a file that it holds open for writing while another test forks
    /// can't be executed for a moment.
    pub(super) fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut writer = Command::new("/bin/sh")
            .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
        path
    }

    pub(super) fn search<'a>(&'a self, cwd: &'a Path) -> Search<'a> {
        Search::new(&self.env, cwd)
    }

    /// What is found, without installing.
    pub(super) fn find(&self, command: Option<&str>) -> Result<Found, LauncherError> {
        let cwd = self.path("work");
        let search = Search { command, install: Install::Refused, ..self.search(&cwd) };
        find(&search, &mut |_| {})
    }

    /// What is found or installed, and the progress that was shown.
    pub(super) fn find_or_install(&self) -> (Result<Found, LauncherError>, Vec<Progress>) {
        let cwd = self.path("work");
        let mut shown = Vec::new();
        let found = find(&self.search(&cwd), &mut |p| shown.push(p.clone()));
        (found, shown)
    }

    /// The version and origin of what is found, for comparing.
    pub(super) fn who(&self, command: Option<&str>) -> (String, String) {
        let found = self.find(command).unwrap();
        (found.launcher.resolved.version, found.origin.to_string())
    }
}

/// An error with its causes, as a person sees it.
pub(super) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(c) = cause {
        text = format!("{text}: {c}");
        cause = c.source();
    }
    text
}
