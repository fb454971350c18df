//! `ostler base diff`: where two differ, and what that costs.

use super::super::face::Face;
use super::super::found;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::{DiffDocument, DiffField};
use crate::view::{Style, dollars, one_line, tokens};
use clap::Args;
use ostler_controller::client::Ostler;
use ostler_core::fingerprint::Class;
use ostler_core::ids::SessionId;

/// Says in which fields two bases or sessions differ, what each does to the prompt cache, and what that costs.
///
/// A field is *breaking* or *neutral* for the version of claude that trained the first one. What a miss costs is at list
/// prices: the prefix of the first one written instead of read.
///
/// Examples:
///
///     ostler base diff docs docs-next
///     ostler base diff docs 4f3a2b1c --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct DiffArgs {
    /// A base's name, or a session
    a: String,
    /// Another one
    b: String,
}

pub(super) fn diff(args: &DiffArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let (a, b) = (named(&ostler, &args.a)?, named(&ostler, &args.b)?);
    let facts = ostler.db().base(a)?.and_then(|base| base.facts);
    let version = match &facts {
        Some(facts) => facts.version.clone(),
        None => ostler.spec_of(a)?.launcher.resolved.version,
    };
    let differences = ostler.fingerprint_of(a)?.differences(&ostler.fingerprint_of(b)?, &version);
    let fields = differences.iter().map(|d| DiffField { field: d.field.word(), class: d.class.word() });
    let breaking = differences.iter().any(|d| d.class == Class::Breaking);
    let prefix = facts.as_ref().map(ostler_core::base::Facts::expected_read);
    let price = facts.as_ref().and_then(|f| claude_lab::price::of_model(&f.request.model)).map(|p| p.usual);
    let long =
        facts.as_ref().and_then(ostler_core::base::Facts::ttl) == Some(ostler_core::spec::Ttl::OneHour);
    let at = |per_million: f64| prefix.map(|tokens| tokens as f64 * per_million / 1e6);
    let read = price.and_then(|p| at(p.cache_read));
    let written = price.and_then(|p| at(if long { p.cache_write_1h } else { p.cache_write_5m }));
    let document = DiffDocument {
        a: a.to_string(),
        b: b.to_string(),
        version,
        fields: fields.collect(),
        breaking,
        prefix_tokens: prefix,
        read_usd: read,
        written_usd: written,
    };
    if face.json {
        face.document(&document)?;
        return Ok(Exit::Completed);
    }
    let mut out = String::new();
    for d in &document.fields {
        let style = if d.class == Class::Breaking.word() { Style::Bad } else { Style::Dim };
        out.push_str(&format!("{:<12} {}\n", d.field, face.paint.apply(style, d.class)));
    }
    if document.fields.is_empty() {
        out.push_str("no field differs\n");
    }
    out.push_str(&cost(&document));
    face.print(&out)?;
    Ok(Exit::Completed)
}

fn cost(d: &DiffDocument) -> String {
    let Some(prefix) = d.prefix_tokens else { return String::new() };
    let size = tokens(prefix);
    if !d.breaking {
        return format!("the prefix of {size} tokens is read: {}\n", dollars(d.read_usd));
    }
    let version = one_line(&d.version);
    format!(
        "on claude {version} the prefix of {size} tokens is written again: {} a fork at most, and {} if it were read\n",
        dollars(d.written_usd),
        dollars(d.read_usd)
    )
}

fn named(ostler: &Ostler, name: &str) -> Result<SessionId, Failure> {
    if let Some(base) = ostler.db().base_named(name)? {
        return Ok(base.session);
    }
    Ok(found::session(ostler, name)?.id)
}
