//! `ostler base ls`, and the page of one base.

use super::super::face::Face;
use super::super::{found, words};
use super::view;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::{BaseListDocument, BaseView, Warmth};
use crate::view::{Style, age, bytes, clock, one_line, tokens, width};
use clap::Args;
use ostler_controller::client::Ostler;
use ostler_core::rows::CacheVerdict;

/// Lists bases, the newest first: what a fork reads, and until when the cache holds at least.
///
/// The clock starts when the last request of the training began, and again with each fork that read or wrote the whole
/// prefix; it runs for as long as what the API said it had written lives. `cold` means that it has run out.
///
/// Examples:
///
///     ostler base ls
///     ostler base ls --all --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct LsArgs {
    /// Those that were retired too
    #[arg(long, short)]
    all: bool,
}

pub(super) fn ls(args: &LsArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let bases = ostler.db().bases(args.all)?.into_iter();
    let all = bases.map(|base| view(&ostler, base)).collect::<Result<Vec<_>, _>>()?;
    if face.json {
        face.document(&BaseListDocument::of(&all))?;
    } else if face.quiet {
        face.print(&all.iter().map(|v| format!("{}\n", one_line(&v.base.name))).collect::<String>())?;
    } else if all.is_empty() {
        face.remark("no bases");
    } else {
        face.print(&table(face, &all))?;
    }
    Ok(Exit::Completed)
}

fn table(face: &Face, all: &[BaseView]) -> String {
    let cells = |v: &BaseView| {
        let facts = v.base.facts.as_ref();
        [
            one_line(&v.base.name),
            v.base.state().to_owned(),
            facts.map_or_else(String::new, |f| format!("{} tokens", tokens(f.expected_read()))),
            warmth(v),
            format!("{} forks", v.forks.len()),
            facts.map_or_else(String::new, |f| format!("{} {}", one_line(&f.request.model), f.version)),
        ]
    };
    let rows: Vec<_> = all.iter().map(cells).collect();
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let widest = rows.iter().map(|r| width(&r[at])).max().unwrap_or(0);
            let style = if at == 0 { Style::Bold } else { Style::Plain };
            line.push_str(&face.paint.apply(style, cell));
            line.push_str(&" ".repeat(widest.saturating_sub(width(cell)) + 2));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Until when the cache holds, for people.
fn warmth(v: &BaseView) -> String {
    let ms = |ms: i64| age(u64::try_from(ms).unwrap_or(0));
    match v.warmth() {
        None => String::new(),
        Some(Warmth::Unknown) => "warmth unknown".to_owned(),
        Some(Warmth::Warm(until)) => format!("warm for {}", ms(until.since(v.now))),
        Some(Warmth::Cold(since)) => format!("cold since {} ago", ms(v.now.since(since))),
    }
}

/// Everything that is known of one.
pub(super) fn page(face: &Face, ostler: &Ostler, v: &BaseView) -> String {
    let mut out = String::new();
    let mut row = |name: &str, text: &str| {
        out.push_str(&format!("{} {text}\n", face.paint.apply(Style::Dim, &format!("{name:<11}"))));
    };
    let base = &v.base;
    row("base", &one_line(&base.name));
    row("state", base.state());
    if let Some(reason) = &base.reason {
        row("reason", &one_line(reason));
    }
    row("session", &base.session.to_string());
    row("created", &clock(base.created_at));
    if let Some(at) = base.sealed_at {
        row("sealed", &clock(at));
    }
    if let Some(facts) = &base.facts {
        row("claude", &facts.version);
        row("model", &one_line(&facts.request.model));
        row("forks read", &format!("{} tokens ({})", tokens(facts.expected_read()), facts.expected_read()));
        let t = facts.request.tokens;
        let split = format!(
            "{} read, {} written for 5 min, {} for 1 h",
            tokens(t.cache_read),
            tokens(t.cache_write_5m),
            tokens(t.cache_write_1h)
        );
        row("last asked", &split);
        row("cache", &warmth(v));
        row("transcript", &bytes(facts.transcript.bytes));
        row("tools", &facts.tools.len().to_string());
    }
    let of = |wanted| v.forks.iter().filter(|f| f.cache.is_some_and(|seen| seen.verdict() == wanted)).count();
    let (hit, partial, miss) = (of(CacheVerdict::Hit), of(CacheVerdict::Partial), of(CacheVerdict::Miss));
    row("forks", &format!("{} ({hit} hit, {partial} partial, {miss} missed)", v.forks.len()));
    if base.lives() {
        let mut command = vec![words::program()];
        command.extend(face.home_arguments(ostler.home().root()));
        command.extend(["fork".into(), base.name.clone().into()]);
        row("go on", &format!("{} \"…\"", words::command_line(command)));
    } else {
        row("look on", &format!("ostler show {}", found::short(ostler, base.session)));
    }
    out
}
