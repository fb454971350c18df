//! The lines at the end of a run.

use super::{Paint, Style, amount};
use ostler_core::rows::{CacheSeen, Outcome, Tokens};

/// Everything that they say.
#[derive(Clone, Debug)]
pub struct Closing {
    /// How the turn ended; None: none ever did.
    pub outcome: Option<Outcome>,
    /// What kind of failure.
    pub failure: Option<String>,
    /// Rounds of the model in this turn.
    pub rounds: u32,
    /// How long the turn took, in milliseconds.
    pub ms: Option<u64>,
    /// Calls that were denied.
    pub denials: u32,
    /// Other things that a person should know.
    pub remarks: Vec<String>,
    /// Turns of the session so far.
    pub turns: u32,
    /// Tokens of the whole session.
    pub tokens: Tokens,
    /// What a fork's first request found in the cache.
    pub cache: Option<CacheSeen>,
    /// Dollars that this turn's process spent.
    pub turn_usd: Option<f64>,
    /// Dollars of the whole session.
    pub usd: Option<f64>,
    /// The session's id.
    pub session: String,
    /// Its label.
    pub label: Option<String>,
    /// The command with which it goes on.
    pub go_on: String,
}

/// The lines.
#[must_use]
pub fn closing(paint: Paint, c: &Closing) -> String {
    let mut out = String::from("\n");
    out.push_str(&head(paint, c));
    for remark in &c.remarks {
        out.push_str(&paint.apply(Style::Warn, &format!("  ! {remark}\n")));
    }
    let mut row = |name: &str, text: &str| {
        out.push_str(&paint.apply(Style::Dim, &format!("  {name:<8} ")));
        out.push_str(text);
        out.push('\n');
    };
    row("tokens", &tokens_line(&c.tokens));
    if let Some(seen) = c.cache {
        row("cache", &cache_line(seen));
    }
    row("cost", &cost_line(c));
    let label = c.label.as_deref().map(|l| format!("  ({l})")).unwrap_or_default();
    row("session", &format!("{}{label}", c.session));
    row("go on", &c.go_on);
    out
}

fn head(paint: Paint, c: &Closing) -> String {
    let (style, mark, word) = match c.outcome {
        Some(Outcome::Completed) => (Style::Good, "✓", "completed".to_owned()),
        Some(Outcome::Interrupted) => (Style::Warn, "■", "interrupted".to_owned()),
        Some(Outcome::Failed) => (Style::Bad, "✗", failed("failed", c.failure.as_deref())),
        Some(Outcome::Unfinished) => (Style::Bad, "✗", failed("unfinished", c.failure.as_deref())),
        None => (Style::Warn, "■", "no turn has ended".to_owned()),
    };
    let mut facts = Vec::new();
    if c.outcome.is_some() {
        facts.push(format!("turn {}", c.turns));
        facts.push(if c.rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", c.rounds) });
    }
    if let Some(ms) = c.ms {
        facts.push(amount::duration(ms));
    }
    if c.denials > 0 {
        facts.push(format!("{} denied", c.denials));
    }
    let facts = facts.iter().map(|f| format!(" · {f}")).collect::<String>();
    format!("{}{}\n", paint.apply(style, &format!("{mark} {word}")), paint.apply(Style::Dim, &facts))
}

fn failed(word: &str, kind: Option<&str>) -> String {
    kind.map_or_else(
        || word.to_owned(),
        |kind| format!("{word}: {}", super::one_line(&kind.replace('_', " "))),
    )
}

fn tokens_line(t: &Tokens) -> String {
    format!(
        "{} in, {} out; cache {} read, {} written",
        amount::tokens(t.input),
        amount::tokens(t.output),
        amount::tokens(t.cache_read),
        amount::tokens(t.cache_write_5m.saturating_add(t.cache_write_1h)),
    )
}

/// How a fork's first request compares, in words.
#[must_use]
pub fn cache_line(seen: CacheSeen) -> String {
    let (read, expected) = (amount::tokens(seen.read), amount::tokens(seen.expected));
    let written = amount::tokens(seen.written);
    format!("{}: read {read} of {expected}, wrote {written}", seen.verdict().word())
}

fn cost_line(c: &Closing) -> String {
    if c.turns <= 1 {
        return amount::dollars(c.usd);
    }
    format!("{} ({} for the whole session)", amount::dollars(c.turn_usd), amount::dollars(c.usd))
}
