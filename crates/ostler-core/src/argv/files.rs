//! The files that a child is started with. They lie in the session's folder, readable by their owner only, and are
//! written anew before each start.

use super::Platform;
use crate::spec::LaunchSpec;
use std::ffi::{OsStr, OsString};

/// Where the launch files of a session lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    dir: OsString,
}

impl Files {
    /// `dir` is an absolute path; nothing looks at it here.
    #[must_use]
    pub fn in_dir(dir: impl Into<OsString>) -> Self {
        Self { dir: dir.into() }
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &OsStr {
        &self.dir
    }

    /// The path of one of them.
    #[must_use]
    pub fn path(&self, name: &str, platform: Platform) -> OsString {
        let mut path = self.dir.clone();
        path.push(platform.separator().to_string());
        path.push(name);
        path
    }
}

/// A file that must be there before the child starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchFile {
    /// Its name in the folder.
    pub name: String,
    /// The flag that names it.
    pub flag: &'static str,
    /// What it holds, byte for byte.
    pub contents: Vec<u8>,
}

/// Every file that this spec needs, in the order of their flags. Write them with mode 0600 before the start.
#[must_use]
pub fn files(spec: &LaunchSpec) -> Vec<LaunchFile> {
    let mut files = Vec::new();
    let mut add = |name: String, flag: &'static str, text: &str| {
        files.push(LaunchFile { name, flag, contents: text.as_bytes().to_vec() });
    };
    if let Some(text) = &spec.settings {
        add("settings.json".to_owned(), "--settings", text);
    }
    for (n, text) in spec.mcp.iter().enumerate() {
        add(format!("mcp-{n}.json"), "--mcp-config", text);
    }
    if let Some(text) = &spec.agents {
        add("agents.json".to_owned(), "--agents", text);
    }
    if let Some(text) = &spec.system_prompt {
        add("system-prompt.txt".to_owned(), "--system-prompt-file", text);
    }
    if let Some(text) = &spec.append_system_prompt {
        add("append-system-prompt.txt".to_owned(), "--append-system-prompt-file", text);
    }
    files
}
