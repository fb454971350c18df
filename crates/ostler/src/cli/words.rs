//! Commands to copy: quoting, and the program's own name.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A word as a POSIX shell reads it back.
pub(super) fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-+=./:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// What a person types to start this very program: its name where `PATH` finds it, else its path, relative where that
/// is shorter.
pub(super) fn program() -> OsString {
    let name = Path::new("ostler");
    let Ok(exe) = ostler_os::me::exe_path() else { return name.into() };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
    if found.is_some_and(|file| same(&file, &exe)) {
        return name.into();
    }
    let relative = std::env::current_dir().ok().and_then(|cwd| exe.strip_prefix(cwd).ok().map(PathBuf::from));
    match relative {
        // A bare name would be looked for on PATH.
        Some(path) if path.components().count() == 1 => Path::new(".").join(path).into(),
        Some(path) => path.into(),
        None => exe.into(),
    }
}

fn same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// A whole command line.
pub(super) fn command_line(words: impl IntoIterator<Item = OsString>) -> String {
    words.into_iter().map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        let q = |s: &str| quoted(OsStr::new(s));
        assert_eq!(q("a-b/c.d"), "a-b/c.d");
        assert_eq!(q("a b"), "'a b'");
        assert_eq!(q(""), "''");
        assert_eq!(q("it's $x"), "'it'\\''s $x'");
        assert_eq!(q("~"), "'~'");
    }
}
