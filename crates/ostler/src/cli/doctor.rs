//! `ostler doctor` and `ostler doctor rebuild`.

use super::face::Face;
use crate::doctor::{self, Context, Report, Status};
use crate::exit::Exit;
use crate::failure::{Failure, Kind, UsageError};
use crate::json::{DoctorDocument, RebuildDocument};
use crate::view::{Style, one_line};
use clap::{Args, Subcommand};
use std::ffi::OsString;

/// Looks at what this machine has and lacks: claude, limits that will bite, disk, account.
///
/// Changes nothing. Exits with 9 when no session could run.
///
/// Examples:
///
///     ostler doctor
///     ostler doctor rebuild
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct DoctorArgs {
    #[command(subcommand)]
    what: Option<DoctorVerb>,
    /// Look at this command line, as `run --claude` takes it
    #[arg(long, value_name = "COMMAND LINE")]
    claude: Option<String>,
}

#[derive(Debug, Subcommand)]
enum DoctorVerb {
    Rebuild(RebuildArgs),
}

/// Reads every session's journal again and compares the store with it.
///
/// Exits with 10 when something differs and was not repaired.
///
/// Examples:
///
///     ostler doctor rebuild
///     ostler doctor rebuild --repair
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct RebuildArgs {
    /// Replace what differs
    #[arg(long)]
    repair: bool,
}

pub(super) fn doctor(args: &DoctorArgs, face: &Face) -> Result<Exit, Failure> {
    match &args.what {
        Some(DoctorVerb::Rebuild(args)) => rebuild(args, face),
        None => examine(args, face),
    }
}

fn examine(args: &DoctorArgs, face: &Face) -> Result<Exit, Failure> {
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let cwd = std::env::current_dir().map_err(|source| UsageError::Cwd { path: ".".into(), source })?;
    let home = face.home()?;
    let context = Context { env: &env, cwd: &cwd, home: &home, command: args.claude.as_deref() };
    let report = doctor::examine(&context);
    if face.json {
        face.document(&DoctorDocument::of(&report))?;
    } else {
        face.print(&page(face, &report))?;
    }
    Ok(if report.status == Status::Fail { Exit::Claude } else { Exit::Completed })
}

fn page(face: &Face, report: &Report) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let (style, mark) = match finding.status {
            Status::Ok => (Style::Good, "✓"),
            Status::Warn => (Style::Warn, "!"),
            Status::Fail => (Style::Bad, "✗"),
        };
        out.push_str(&format!("{} {}\n", face.paint.apply(style, mark), one_line(&finding.what)));
        if !finding.why.is_empty() {
            out.push_str(&format!("    {}\n", one_line(&finding.why)));
        }
        if !finding.advice.is_empty() {
            out.push_str(&format!(
                "    {}{}\n",
                face.paint.apply(Style::Good, "hint: "),
                one_line(&finding.advice)
            ));
        }
    }
    if report.installations.is_empty() {
        return out;
    }
    out.push_str("\ninstallations of claude\n");
    for found in &report.installations {
        let version = one_line(found.version.as_deref().unwrap_or("?"));
        let note = found.note.as_deref().map(|n| format!("  ({})", one_line(n))).unwrap_or_default();
        out.push_str(&format!("  {version:<10} {}{note}\n", found.path.display()));
    }
    out
}

fn rebuild(args: &RebuildArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let all = ostler.rebuild(args.repair)?;
    let different = all.iter().filter(|r| !r.differs.is_empty()).count();
    if face.json {
        face.document(&RebuildDocument::of(&all, args.repair))?;
    } else if !face.quiet {
        for session in all.iter().filter(|r| !r.differs.is_empty()) {
            face.print(&format!("{}  differs: {}\n", session.session, session.differs.join(", ")))?;
        }
        let text = match (different, args.repair) {
            (0, _) => format!("{} sessions: the store says what their journals say", all.len()),
            (n, true) => format!("{n} of {} sessions repaired", all.len()),
            (n, false) => format!("{n} of {} sessions differ; --repair replaces their rows", all.len()),
        };
        face.print(&format!("{text}\n"))?;
    }
    Ok(if different > 0 && !args.repair { Kind::Store.exit() } else { Exit::Completed })
}
