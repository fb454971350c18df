//! `ostler cost`: what was spent.

use super::base_id;
use super::face::Face;
use super::found;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::CostDocument;
use crate::view::{Style, clip, dollars, one_line, tokens, width};
use clap::{Args, ValueEnum};
use ostler_controller::client::Ostler;
use ostler_core::ids::{Millis, SessionId};
use ostler_store::db::{Cost, CostFilter, CostKey};

/// Shows what was spent: by session, base, label, model or day.
///
/// Each session's own spend is counted once: what a fork copied was paid for by its base, which stands apart. What is not
/// known is never shown as nothing: `≥` stands before a sum of which some is unknown or estimated, `unknown` where all of
/// it is.
///
/// Examples:
///
///     ostler cost
///     ostler cost --by base
///     ostler cost --by day --since 2026-11-01 --csv > spend.csv
///     ostler cost nightly --by model --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct CostArgs {
    /// Only of this session, or of this base and its forks
    of: Option<String>,
    /// One sum for each
    #[arg(long, value_name = "WHAT", default_value = "session")]
    by: By,
    /// Only of sessions with this label
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Only of claudes that were started on this day or later (UTC)
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    since: Option<Millis>,
    /// Only of claudes that were started before this day (UTC)
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    until: Option<Millis>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// What sums are made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    /// Each session
    Session,
    /// Each base: its training, and what its forks spent
    Base,
    /// Each label
    Label,
    /// Each model
    Model,
    /// Each day (UTC) on which a claude was started
    Day,
}

impl By {
    const fn key(self) -> CostKey {
        match self {
            Self::Session => CostKey::Session,
            Self::Base => CostKey::Base,
            Self::Label => CostKey::Label,
            Self::Model => CostKey::Model,
            Self::Day => CostKey::Day,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Base => "base",
            Self::Label => "label",
            Self::Model => "model",
            Self::Day => "day",
        }
    }
}

pub(super) fn cost(args: &CostArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let mut filter = CostFilter {
        since: args.since,
        until: args.until,
        label: args.label.clone(),
        ..CostFilter::default()
    };
    if let Some(name) = &args.of {
        match base_id(&ostler, name)? {
            Some(base) => filter.base = Some(base),
            None => filter.session = Some(found::session(&ostler, name)?.id),
        }
    }
    let rows = ostler.db().costs(args.by.key(), &filter)?;
    let named: Vec<Named> = rows.into_iter().map(|cost| named(&ostler, args.by, cost)).collect();
    if face.json {
        face.document(&CostDocument::of(args.by.word(), &named))?;
    } else if args.csv {
        face.print(&csv(&named))?;
    } else if named.is_empty() {
        face.remark("nothing was spent");
    } else {
        face.print(&table(face, args.by, &named))?;
    }
    Ok(Exit::Completed)
}

/// A sum, and what people call what it is of.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) cost: Cost,
    /// A session's label, a base's name.
    pub(crate) name: Option<String>,
}

impl Named {
    /// Dollars; None where nothing of it is known.
    pub(crate) fn usd(&self) -> Option<f64> {
        let nothing_known = self.cost.unknown > 0 && self.cost.usd == 0.0;
        (!nothing_known).then_some(self.cost.usd)
    }

    /// There is more than that.
    pub(crate) const fn at_least(&self) -> bool {
        self.cost.unknown > 0 || self.cost.estimated > 0
    }
}

fn named(ostler: &Ostler, by: By, cost: Cost) -> Named {
    let id = cost.key.as_deref().and_then(|key| key.parse::<SessionId>().ok());
    let name = match (by, id) {
        (By::Session, Some(id)) => ostler.db().session(id).ok().flatten().and_then(|row| row.label),
        (By::Base, Some(id)) => ostler.db().base(id).ok().flatten().map(|base| base.name),
        _ => None,
    };
    Named { cost, name }
}

/// For spreadsheets: exact numbers, empty where a number is not known.
fn csv(rows: &[Named]) -> String {
    let mut out = String::from(
        "key,name,sessions,forks,input,output,cache_read,cache_write_5m,cache_write_1h,usd,at_least,own_usd,forks_usd\n",
    );
    for row in rows {
        let c = &row.cost;
        let t = c.tokens;
        let usd = row.usd().map(|usd| usd.to_string()).unwrap_or_default();
        let cells = [
            quoted(c.key.as_deref().unwrap_or_default()),
            quoted(row.name.as_deref().unwrap_or_default()),
            c.sessions.to_string(),
            c.forks.to_string(),
            t.input.to_string(),
            t.output.to_string(),
            t.cache_read.to_string(),
            t.cache_write_5m.to_string(),
            t.cache_write_1h.to_string(),
            usd,
            row.at_least().to_string(),
            c.own_usd.to_string(),
            c.forks_usd.to_string(),
        ];
        out.push_str(&cells.join(","));
        out.push('\n');
    }
    out
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Columns of a bar.
const BAR: usize = 24;
/// Columns of a name.
const NAME: usize = 44;

fn table(face: &Face, by: By, rows: &[Named]) -> String {
    let most = rows.iter().map(|r| r.cost.usd).fold(0.0, f64::max);
    let cells: Vec<[String; 5]> = rows.iter().map(|row| line(by, row)).collect();
    let widest = |at: usize| cells.iter().map(|c| width(&c[at])).max().unwrap_or(0);
    let mut out = String::new();
    for (row, cells) in rows.iter().zip(&cells) {
        let mut text = String::new();
        for (at, cell) in cells.iter().enumerate() {
            let pad = " ".repeat(widest(at).saturating_sub(width(cell)));
            // Names to the left, numbers to the right.
            text.push_str(&if at == 0 { format!("{cell}{pad}  ") } else { format!("{pad}{cell}  ") });
        }
        let bar = bar(row.cost.usd, most);
        out.push_str(&format!("{text}{}\n", face.paint.apply(Style::Good, &bar)).replace(" \n", "\n"));
    }
    out.push_str(&total(rows));
    out
}

fn line(by: By, row: &Named) -> [String; 5] {
    let c = &row.cost;
    let key = c.key.as_deref().map_or_else(|| format!("(no {})", by.word()), one_line);
    let name = match (by, &row.name) {
        (By::Session, name) => {
            let name = name.as_deref().map(|name| format!("  {}", one_line(name))).unwrap_or_default();
            format!("{}{name}", key.get(..8).unwrap_or(&key))
        }
        (By::Base, Some(name)) => one_line(name),
        _ => key,
    };
    let t = c.tokens;
    let written = t.cache_write_5m.saturating_add(t.cache_write_1h);
    let split = match (by, c.forks) {
        (By::Base, 1..) => {
            format!("base {} + {} forks {}", dollars(Some(c.own_usd)), c.forks, dollars(Some(c.forks_usd)))
        }
        (By::Session, _) => String::new(),
        _ => format!("{} sessions", c.sessions),
    };
    [
        clip(&name, NAME),
        format!("{} in {} out", tokens(t.input), tokens(t.output)),
        format!("{} read {} written", tokens(t.cache_read), tokens(written)),
        split,
        amount(row),
    ]
}

fn amount(row: &Named) -> String {
    let more = if row.at_least() && row.usd().is_some() { "≥ " } else { "" };
    format!("{more}{}", dollars(row.usd()))
}

fn bar(usd: f64, most: f64) -> String {
    if most <= 0.0 || usd <= 0.0 {
        return String::new();
    }
    // Eighths of a column; whatever was spent shows.
    let eighths = ((usd / most * (BAR * 8) as f64).round() as usize).max(1);
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{rest}", "█".repeat(eighths / 8))
}

fn total(rows: &[Named]) -> String {
    let cost = Cost {
        usd: rows.iter().map(|r| r.cost.usd).sum(),
        unknown: rows.iter().map(|r| r.cost.unknown).sum(),
        estimated: rows.iter().map(|r| r.cost.estimated).sum(),
        ..Cost::default()
    };
    let (unknown, estimated) = (cost.unknown, cost.estimated);
    let row = Named { cost, name: None };
    let mut out = format!("total {}", amount(&row));
    if unknown > 0 {
        out.push_str(&format!("; {unknown} sums are not known"));
    }
    if estimated > 0 {
        out.push_str(&format!("; {estimated} are estimates, at least so much"));
    }
    out.push('\n');
    out
}

/// Midnight of a day, UTC.
fn day(text: &str) -> Result<Millis, String> {
    let bad = || "a day is written like 2026-11-30".to_owned();
    let date = text.len() == 10;
    let at = date.then(|| format!("{text}T00:00:00Z").parse::<jiff::Timestamp>().ok()).flatten();
    at.map(|at| Millis(at.as_millisecond())).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(usd: f64, unknown: u64, estimated: u64) -> Named {
        Named { cost: Cost { usd, unknown, estimated, ..Cost::default() }, name: None }
    }

    #[test]
    fn nothing_unknown_is_shown_as_nothing() {
        assert_eq!(amount(&of(0.0, 2, 0)), "unknown");
        assert_eq!(amount(&of(0.5, 1, 0)), "≥ $0.5000");
        assert_eq!(amount(&of(0.5, 0, 1)), "≥ $0.5000");
        assert_eq!(amount(&of(0.0, 0, 0)), "$0.0000");
        assert_eq!(total(&[of(0.5, 0, 0), of(0.0, 1, 0)]), "total ≥ $0.5000; 1 sums are not known\n");
    }

    #[test]
    fn whatever_was_spent_has_a_bar() {
        assert_eq!(bar(1.0, 1.0), "█".repeat(BAR));
        assert_eq!(bar(0.000_1, 1.0), "▏");
        assert_eq!(bar(0.0, 1.0), "");
    }

    #[test]
    fn csv_quotes_what_must_be() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(day("2026-11-30"), Ok(Millis(1_795_996_800_000)));
        assert!(day("30.11.2026").is_err());
    }
}
