//! `ostler rule`: what may run without a person being asked.

use super::face::{Face, now};
use super::{found, gc, words};
use crate::exit::Exit;
use crate::failure::{Failure, UsageError};
use crate::json::{RuleTestDocument, RulesDocument};
use crate::view::{Style, clock, one_line};
use clap::{Args, Subcommand, ValueEnum};
use ostler_controller::client::{Decider, Explained, NewRule, Ostler, Where};
use ostler_core::ids::RuleId;
use ostler_core::rule::{Call, Effect, Rule, Scope};
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Makes, lists, removes and tries rules about what claude may do.
///
/// A rule allows or denies tool calls, or has a person asked about them, before anybody is asked and whatever the session's
/// policy says. docs/permissions.md describes patterns, and which of several rules decides.
///
/// Examples:
///
///     ostler rule add allow "Bash(cargo test *)"
///     ostler rule add deny "Read(/**/.env)" --everywhere
///     ostler rule test Bash "cargo test -p core && rm -rf target"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct RuleArgs {
    #[command(subcommand)]
    verb: RuleVerb,
}

#[derive(Debug, Subcommand)]
enum RuleVerb {
    /// Makes a rule; it also decides what is asked right now
    Add(AddArgs),
    /// Lists all rules
    Ls,
    /// Removes rules; what they decided stays decided
    Rm(RmArgs),
    /// Says which rule would decide a call, and which others speak of it
    Test(TestArgs),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EffectChoice {
    /// It may run
    Allow,
    /// It may not
    Deny,
    /// A person is asked, whatever the policy or another rule says
    Ask,
}

impl From<EffectChoice> for Effect {
    fn from(choice: EffectChoice) -> Self {
        match choice {
            EffectChoice::Allow => Self::Allow,
            EffectChoice::Deny => Self::Deny,
            EffectChoice::Ask => Self::Ask,
        }
    }
}

#[derive(Debug, Args)]
struct AddArgs {
    /// What the rule says
    effect: EffectChoice,
    /// Tool, or Tool(argument): Bash(git *), Edit(src/**), WebFetch(domain:docs.rs), mcp__github
    pattern: String,
    #[command(flatten)]
    place: PlaceArgs,
    /// In every session
    #[arg(long, conflicts_with_all = ["session", "label", "cwd"])]
    everywhere: bool,
    /// It holds for so long (such as 2h, 7d) [default: until it is removed]
    #[arg(long, value_name = "TIME", value_parser = gc::age)]
    expires: Option<Duration>,
}

#[derive(Debug, Args)]
struct PlaceArgs {
    /// In this session
    #[arg(long, conflicts_with_all = ["label", "cwd"])]
    session: Option<String>,
    /// In sessions of this label
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// In sessions that work in this directory or below it [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct RmArgs {
    /// The rules: beginnings of their ids
    #[arg(required = true, value_name = "RULE")]
    rules: Vec<String>,
}

#[derive(Debug, Args)]
struct TestArgs {
    /// The tool
    tool: String,
    /// Its main argument: a command, a path, a URL
    #[arg(required_unless_present = "input")]
    argument: Option<String>,
    /// Its whole input instead, as JSON
    #[arg(long, value_name = "JSON", conflicts_with = "argument")]
    input: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(super) fn rule(args: &RuleArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    match &args.verb {
        RuleVerb::Add(args) => add(args, face, &ostler),
        RuleVerb::Ls => list(face, &ostler.rules()?),
        RuleVerb::Rm(args) => remove(args, face, &ostler),
        RuleVerb::Test(args) => test(args, face, &ostler),
    }
}

fn add(args: &AddArgs, face: &Face, ostler: &Ostler) -> Result<Exit, Failure> {
    let scope = match (&args.place.session, &args.place.label) {
        _ if args.everywhere => Scope::Everything,
        (Some(name), _) => Scope::Session(found::session(ostler, name)?.id),
        (None, Some(label)) => Scope::Label(label.clone()),
        (None, None) => Scope::Cwd(directory(args.place.cwd.as_deref())?),
    };
    let at = now();
    let after = |time: Duration| at.plus(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    let new = NewRule {
        id: RuleId(uuid::Uuid::new_v4()),
        effect: args.effect.into(),
        pattern: args.pattern.clone(),
        scope,
        by: "cli".to_owned(),
        expires_at: args.expires.map(after),
        at,
    };
    let rule = ostler.add_rule(&new, Decider::This)?;
    if face.json {
        face.document(&RulesDocument::of([&rule]))?;
    } else if face.quiet {
        face.print(&format!("{}\n", rule.id))?;
    } else {
        face.print(&format!("{}\n", line(face, &rule)))?;
    }
    Ok(Exit::Completed)
}

fn list(face: &Face, rules: &[Rule]) -> Result<Exit, Failure> {
    if face.json {
        face.document(&RulesDocument::of(rules))?;
    } else if rules.is_empty() && !face.quiet {
        face.remark(&format!(
            "there are no rules; `{} rule add` makes one",
            words::program().to_string_lossy()
        ));
    } else {
        let lines: String = rules.iter().map(|rule| format!("{}\n", line(face, rule))).collect();
        face.print(&lines)?;
    }
    Ok(Exit::Completed)
}

fn remove(args: &RmArgs, face: &Face, ostler: &Ostler) -> Result<Exit, Failure> {
    let all = ostler.rules()?;
    let mut removed = Vec::new();
    for name in &args.rules {
        let wanted = name.to_lowercase();
        let fitting: Vec<&Rule> =
            all.iter().filter(|r| !wanted.is_empty() && r.id.to_string().starts_with(&wanted)).collect();
        match fitting[..] {
            [one] => removed.push(one),
            _ => return Err(UsageError::WhichRule { name: name.clone(), count: fitting.len() }.into()),
        }
    }
    for rule in &removed {
        ostler.remove_rule(rule.id, Decider::This)?;
    }
    if face.json {
        face.document(&RulesDocument::of(removed))?;
    } else if !face.quiet {
        let lines: String = removed.iter().map(|rule| format!("removed  {}\n", line(face, rule))).collect();
        face.print(&lines)?;
    }
    Ok(Exit::Completed)
}

fn test(args: &TestArgs, face: &Face, ostler: &Ostler) -> Result<Exit, Failure> {
    let call = match (&args.input, &args.argument) {
        (Some(json), _) => {
            let input = RawValue::from_string(json.clone())
                .map_err(|source| UsageError::NotJson { option: "--input", source })?;
            Call::new(&args.tool, &input)
        }
        (None, argument) => Call::typed(&args.tool, argument.as_deref().unwrap_or_default()),
    };
    let place = match &args.place.session {
        Some(name) => Where::Session(found::session(ostler, name)?.id),
        None => {
            Where::Elsewhere { cwd: directory(args.place.cwd.as_deref())?, label: args.place.label.clone() }
        }
    };
    let explained = ostler.explain(&place, &call, now())?;
    if face.json {
        face.document(&RuleTestDocument::of(&explained))?;
    } else {
        face.print(&explanation(face, &explained))?;
    }
    Ok(Exit::Completed)
}

fn explanation(face: &Face, explained: &Explained) -> String {
    let mut out = match &explained.by {
        None => "no rule speaks of it: the session's policy decides\n".to_owned(),
        Some(rule) => {
            let word = match rule.effect {
                Effect::Allow => "allowed by",
                Effect::Deny => "denied by",
                Effect::Ask => "a person is asked, by",
            };
            format!("{word}  {}\n", line(face, rule))
        }
    };
    for rule in &explained.besides {
        out.push_str(&format!("  not by  {}\n", line(face, rule)));
    }
    out
}

/// One line about a rule.
fn line(face: &Face, rule: &Rule) -> String {
    let style = match rule.effect {
        Effect::Allow => Style::Good,
        Effect::Deny => Style::Bad,
        Effect::Ask => Style::Warn,
    };
    let place = match &rule.scope {
        Scope::Everything => "everywhere".to_owned(),
        Scope::Cwd(dir) => format!("in {}", one_line(dir)),
        Scope::Label(label) => format!("label {}", one_line(label)),
        Scope::Session(id) => format!("session {}", &id.to_string()[..8]),
    };
    let until = rule.expires_at.map(|at| format!(", until {}", clock(at))).unwrap_or_default();
    let effect = face.paint.apply(style, &format!("{:<5}", rule.effect.word()));
    let id = &rule.id.to_string()[..8];
    let made = format!("{place}{until}; by {}, {}", one_line(&rule.made_by), clock(rule.made_at));
    format!(
        "{id}  {effect}  {}  {}",
        one_line(&rule.pattern.to_string()),
        face.paint.apply(Style::Dim, &made)
    )
}

/// Rules go by real paths, as sessions do.
fn directory(asked: Option<&Path>) -> Result<String, Failure> {
    let path = asked.unwrap_or_else(|| Path::new("."));
    let real = path.canonicalize().map_err(|source| UsageError::Cwd { path: path.to_owned(), source })?;
    real.into_os_string().into_string().map_err(|s| UsageError::PathNotUtf8 { path: s.into() }.into())
}
