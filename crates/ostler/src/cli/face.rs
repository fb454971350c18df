//! What every verb needs: the home, where output goes, how it looks.

use super::Options;
use crate::exit::Exit;
use crate::failure::{self, Failure, Kind};
use crate::json;
use crate::view::Paint;
use ostler_controller::client::Ostler;
use ostler_core::ids::Millis;
use ostler_os::term::{self, Stream};
use ostler_store::Home;
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Columns where there is no terminal to ask.
const COLUMNS_ELSEWHERE: usize = 120;

/// One run of the command.
#[derive(Debug)]
pub(crate) struct Face {
    home: Option<PathBuf>,
    /// Print JSON.
    pub(crate) json: bool,
    /// Print only what was asked for.
    pub(crate) quiet: bool,
    /// How standard output looks.
    pub(crate) paint: Paint,
    paint_errors: Paint,
    /// Events were printed: a failure is one more event.
    streams: bool,
}

impl Face {
    pub(super) fn new(options: &Options) -> Self {
        let paint = |stream| paint(options.color, term::is_tty(stream), &|name| std::env::var_os(name));
        Self {
            home: options.home.clone(),
            json: options.json,
            quiet: options.quiet,
            paint: if options.json { Paint::Plain } else { paint(Stream::Stdout) },
            paint_errors: paint(Stream::Stderr),
            streams: false,
        }
    }

    /// For a command line that could not be read.
    pub(super) fn without_options(json: bool) -> Self {
        Self::new(&Options { home: None, json, color: ColorChoice::Auto, quiet: false })
    }

    /// Where everything is kept.
    pub(crate) fn home(&self) -> Result<PathBuf, Failure> {
        match &self.home {
            Some(path) => std::path::absolute(path).map_err(|e| Failure::new(Kind::Store, e)),
            None => Ok(Home::resolve(|name| std::env::var_os(name))?),
        }
    }

    /// The home, opened; what a crash left behind is looked after on the way.
    pub(crate) fn open(&self) -> Result<Ostler, Failure> {
        let ostler = Ostler::open(&self.home()?)?;
        if let Err(error) = ostler.sweep() {
            self.remark(&format!("what an earlier crash left could not be looked after: {error}"));
        }
        Ok(ostler)
    }

    /// The arguments that a command needs to find this home again; none when it is where it would be looked for.
    pub(crate) fn home_arguments(&self, home: &Path) -> Vec<OsString> {
        let usual = Home::resolve(|name| if name == "OSTLER_HOME" { None } else { std::env::var_os(name) });
        if usual.is_ok_and(|usual| usual == home) {
            return Vec::new();
        }
        vec!["--home".into(), home.into()]
    }

    /// How standard error looks.
    pub(crate) const fn paint_errors(&self) -> Paint {
        self.paint_errors
    }

    /// A person sits at a terminal and can be asked.
    pub(crate) fn can_ask(&self) -> bool {
        !self.json && !self.quiet && term::is_tty(Stream::Stdin) && term::is_tty(Stream::Stdout)
    }

    /// Lines can be drawn and erased.
    pub(crate) fn is_live(&self) -> bool {
        !self.json && !self.quiet && term::is_tty(Stream::Stdout)
    }

    /// Columns of standard output.
    pub(crate) fn columns(&self) -> usize {
        term::size(Stream::Stdout).map_or(COLUMNS_ELSEWHERE, |size| usize::from(size.columns.max(20)))
    }

    /// Prints to standard output as it is.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        self.print_bytes(text.as_bytes())
    }

    /// Prints bytes to standard output as they are.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(failure::output)
    }

    /// Prints the one document of a verb.
    pub(crate) fn document(&self, document: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(document).map_err(|e| Failure::new(Kind::Output, e))?;
        text.push('\n');
        self.print(&text)
    }

    /// Prints an event of a verb that goes on.
    pub(crate) fn event(&mut self, event: &impl Serialize) -> Result<(), Failure> {
        self.streams = true;
        let mut text = serde_json::to_string(event).map_err(|e| Failure::new(Kind::Output, e))?;
        text.push('\n');
        self.print(&text)
    }

    /// Something that is not the result: to standard error.
    pub(crate) fn remark(&self, text: &str) {
        // Nobody is left to be told when that fails.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Prints a failure, and gives the exit status.
    pub(super) fn finish(&mut self, done: Result<Exit, Failure>) -> Exit {
        let failure = match done {
            Ok(exit) => return exit,
            Err(failure) => failure,
        };
        if failure.kind == Kind::ReaderGone {
            return failure.kind.exit();
        }
        let _ = write!(io::stderr().lock(), "{}", failure.report(self.paint_errors));
        if self.json {
            let document = json::ErrorDocument::of(&failure);
            let _ = if self.streams { self.event(&document.as_event()) } else { self.document(&document) };
        }
        failure.kind.exit()
    }
}

/// Prints what `--help` and `--version` ask for.
pub(super) fn print_help(error: &clap::Error) -> io::Result<()> {
    match error.print() {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// Colours or not. `NO_COLOR` and `CLICOLOR=0` say no, `CLICOLOR_FORCE` says yes, a terminal decides else; an option
/// outranks them all.
fn paint(choice: ColorChoice, terminal: bool, env: &dyn Fn(&str) -> Option<OsString>) -> Paint {
    let set = |name: &str| env(name).is_some_and(|v| !v.is_empty());
    let zero = |name: &str| env(name).is_some_and(|v| v == "0");
    let colours = match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if set("NO_COLOR") => false,
        ColorChoice::Auto if set("CLICOLOR_FORCE") && !zero("CLICOLOR_FORCE") => true,
        ColorChoice::Auto => terminal && !zero("CLICOLOR") && env("TERM").is_none_or(|term| term != "dumb"),
    };
    if colours { Paint::Colour } else { Paint::Plain }
}

/// The time.
pub(crate) fn now() -> Millis {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_decides_about_colours() {
        let with = |choice, terminal, vars: &[(&str, &str)]| {
            let env = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
            paint(choice, terminal, &env) == Paint::Colour
        };
        use ColorChoice::{Always, Auto, Never};
        assert!(with(Auto, true, &[]) && !with(Auto, false, &[]));
        assert!(!with(Auto, true, &[("NO_COLOR", "1")]) && with(Auto, true, &[("NO_COLOR", "")]));
        assert!(!with(Auto, true, &[("CLICOLOR", "0")]) && !with(Auto, true, &[("TERM", "dumb")]));
        assert!(
            with(Auto, false, &[("CLICOLOR_FORCE", "1")]) && !with(Auto, false, &[("CLICOLOR_FORCE", "0")])
        );
        assert!(with(Always, false, &[("NO_COLOR", "1")]) && !with(Never, true, &[("CLICOLOR_FORCE", "1")]));
    }
}
