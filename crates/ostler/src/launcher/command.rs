//! A command line → the launcher that goes into a launch spec.

use super::dirs::variable;
use super::{LauncherError, Origin, Search, hash, known, probe, search};
use ostler_core::spec::{Launcher, PinnedFile, Resolved};
use std::path::{Path, PathBuf};

/// Programs that run the script that is their first argument.
const INTERPRETERS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "node", "bun", "deno", "python", "python3", "perl", "ruby"];

/// A command line in its parts, nothing looked up yet.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'a> {
    env: Vec<(String, String)>,
    program: &'a str,
    args: &'a [String],
}

/// Resolves the words of a command line.
pub(super) fn resolve(
    words: &[String],
    search: &Search<'_>,
    origin: &Origin,
    cache: &Path,
) -> Result<Launcher, LauncherError> {
    let Parts { mut env, program, args } =
        parts(words).ok_or_else(|| LauncherError::Empty { origin: origin.clone() })?;
    if stem(program) == "npx" {
        // It would ask on stdin whether it may download, and take our first line for the answer.
        env.push(("npm_config_yes".to_owned(), "true".to_owned()));
    }
    let args = absolute_scripts(program, args, search.cwd)?;
    let mut last = None;
    for path in program_paths(program, search) {
        match pin_down(&path, words, &env, &args, search, origin, cache) {
            Err(e @ LauncherError::NotExecutable { .. }) => last = Some(e),
            other => return other,
        }
    }
    let on_path = !has_separator(program);
    Err(last.unwrap_or_else(|| LauncherError::NotFound {
        program: program.to_owned(),
        origin: origin.clone(),
        on_path,
    }))
}

/// Resolves one program without arguments.
pub(super) fn resolve_path(
    path: &Path,
    search: &Search<'_>,
    origin: &Origin,
    cache: &Path,
) -> Result<Launcher, LauncherError> {
    let words = [text(path)?];
    pin_down(path, &words, &[], &[], search, origin, cache)
}

fn pin_down(
    path: &Path,
    words: &[String],
    env: &[(String, String)],
    args: &[String],
    search: &Search<'_>,
    origin: &Origin,
    cache: &Path,
) -> Result<Launcher, LauncherError> {
    let scripts: Vec<PinnedFile> = args
        .iter()
        .map(Path::new)
        .filter(|a| a.is_absolute() && a.is_file())
        .map(hash::pin_file)
        .collect::<Result<_, _>>()?;
    let wraps = !args.is_empty();
    let (program, answer) = if wraps {
        ask(path, env, args, search, origin, cache)?
    } else {
        real_or_as_found(path, env, search, origin, cache)?
    };
    let resolved = Resolved {
        env: env.to_vec(),
        program,
        args: args.to_vec(),
        scripts,
        version: answer.version,
        agents_by_file: answer.agents_by_file,
    };
    Ok(Launcher { command: words.to_vec(), resolved })
}

/// The file behind the symbolic links, so that an update that only moves a link changes nothing for the session;
/// but the link itself where the program looks at the name that it is called by (the shims of version managers do).
fn real_or_as_found(
    path: &Path,
    env: &[(String, String)],
    search: &Search<'_>,
    origin: &Origin,
    cache: &Path,
) -> Result<(PinnedFile, known::Answer), LauncherError> {
    let real = path.canonicalize().map_err(LauncherError::io("resolve", path))?;
    match ask(&real, env, &[], search, origin, cache) {
        Err(LauncherError::NotClaude { .. } | LauncherError::Broken { .. }) if real != path => {
            ask(path, env, &[], search, origin, cache)
        }
        other => other,
    }
}

/// Version and abilities: from memory when this very file was asked before, else by running it.
fn ask(
    path: &Path,
    env: &[(String, String)],
    args: &[String],
    search: &Search<'_>,
    origin: &Origin,
    cache: &Path,
) -> Result<(PinnedFile, known::Answer), LauncherError> {
    // What a script or a wrapper starts can change while its own file doesn't.
    let remembers = args.is_empty() && env.is_empty() && !hash::is_script(path);
    if remembers && let Some(found) = known::recall(cache, path) {
        return Ok(found);
    }
    let (pinned, answer) = std::thread::scope(|scope| {
        let hashing = scope.spawn(|| hash::pin_file(path));
        let answer = probe::ask(path, env, args, search, origin);
        (hashing.join(), answer)
    });
    let answer = answer?;
    let pinned = pinned.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    if remembers {
        known::remember(cache, &pinned, &answer);
    }
    Ok((pinned, answer))
}

fn parts(words: &[String]) -> Option<Parts<'_>> {
    let env: Vec<(String, String)> = words.iter().map_while(|w| assignment(w)).collect();
    let (program, args) = words[env.len()..].split_first()?;
    Some(Parts { env, program, args }).filter(|p| !p.program.is_empty())
}

/// `NAME=value`.
fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let first = name.chars().next()?;
    let is_name = (first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

/// The files that a program's name can mean.
fn program_paths(program: &str, search: &Search<'_>) -> Vec<PathBuf> {
    if has_separator(program) {
        let path = search.cwd.join(expand_home(program, search));
        return if path.is_file() { vec![path] } else { Vec::new() };
    }
    if program == "claude" {
        return search::claude_on_path(search.env);
    }
    search::on_path(program, search.env)
}

/// Scripts among the arguments become absolute: the child runs in the session's directory, not in this one. An
/// argument counts as one when it has a separator in it, or stands first behind an interpreter.
fn absolute_scripts(program: &str, args: &[String], cwd: &Path) -> Result<Vec<String>, LauncherError> {
    let interpreted = INTERPRETERS.contains(&stem(program).as_str());
    let first_word = args.iter().position(|a| !a.starts_with('-'));
    // Behind `sh -c` stands no file.
    let by_text = args.iter().take_while(|a| a.starts_with('-')).any(|a| matches!(a.as_str(), "-c" | "-e"));
    args.iter()
        .enumerate()
        .map(|(at, arg)| {
            let script = has_separator(arg) || (interpreted && !by_text && Some(at) == first_word);
            let path = cwd.join(arg);
            if script && !arg.starts_with('-') && path.is_file() { text(&path) } else { Ok(arg.clone()) }
        })
        .collect()
}

/// `~/…`, which a shell would have replaced.
fn expand_home(program: &str, search: &Search<'_>) -> PathBuf {
    match (program.strip_prefix("~/"), variable(search.env, "HOME")) {
        (Some(rest), Some(home)) => Path::new(home).join(rest),
        _ => program.into(),
    }
}

fn has_separator(word: &str) -> bool {
    word.contains(std::path::is_separator)
}

/// The file name in lower case, without an extension that Windows adds.
pub(super) fn stem(program: &str) -> String {
    let name = program.rsplit(std::path::is_separator).next().unwrap_or(program).to_ascii_lowercase();
    let bare = [".exe", ".cmd", ".bat"].iter().find_map(|ext| name.strip_suffix(ext)).map(str::to_owned);
    bare.unwrap_or(name)
}

fn text(path: &Path) -> Result<String, LauncherError> {
    path.to_str().map(str::to_owned).ok_or_else(|| LauncherError::PathNotText { path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::{Parts, parts, stem};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn an_environment_prefix_ends_at_the_first_other_word() {
        let w = words("A=1 _B2= npx X=2 claude");
        let env = vec![("A".to_owned(), "1".to_owned()), ("_B2".to_owned(), String::new())];
        assert_eq!(parts(&w), Some(Parts { env, program: "npx", args: &w[3..] }));
        assert_eq!(parts(&words("A=1")), None);
        assert_eq!(parts(&words("1A=1 x")).map(|p| p.program.to_owned()).as_deref(), Some("1A=1"));
    }

    #[test]
    fn stems() {
        assert_eq!(stem("/usr/bin/npx"), "npx");
        assert_eq!(stem("NPX.cmd"), "npx");
    }
}
