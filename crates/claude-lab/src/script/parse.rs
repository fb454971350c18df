//! From lines to rules.

use std::time::Duration;

use super::lines::{self, Line};
use super::{Glob, MAX_SCRIPT, Reply, Round, Rule, ScriptError, steps, when};

/// A script's parts.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) models: Vec<Glob>,
    pub(super) pace: Duration,
    pub(super) rules: Vec<Rule>,
}

/// Parses a script's text.
pub(super) fn parse(text: &str) -> Result<Parsed, ScriptError> {
    if text.len() > MAX_SCRIPT {
        let what = format!("the script has {} bytes", text.len());
        return Err(ScriptError::new(1, what, format!("keep it under {MAX_SCRIPT}")));
    }
    let mut parsed = Parsed { models: Vec::new(), pace: Duration::ZERO, rules: Vec::new() };
    let mut open: Option<OpenRule> = None;
    for line in lines::split(text)? {
        match (line.word.as_str(), &mut open) {
            ("when" | "otherwise", _) => {
                close(&mut parsed, open.take())?;
                open = Some(OpenRule::start(&line, &parsed.rules)?);
            }
            ("models", None) => parsed.models.extend(line.rest.split_whitespace().map(Glob::new)),
            ("pace", None) => parsed.pace = steps::pace(&line)?,
            (_, Some(rule)) => rule.add(&line)?,
            (_, None) => {
                let hint =
                    "begin with `when \"text\"` or `otherwise`; only `models` and `pace` may stand before";
                return Err(line.error(format!("`{}` stands before the first rule", line.word), hint));
            }
        }
    }
    close(&mut parsed, open)?;
    if parsed.rules.is_empty() {
        return Err(ScriptError::new(
            1,
            "the script has no rule",
            "write `otherwise` and a `say` line below it",
        ));
    }
    Ok(parsed)
}

fn close(parsed: &mut Parsed, open: Option<OpenRule>) -> Result<(), ScriptError> {
    if let Some(rule) = open {
        parsed.rules.push(rule.finish()?);
    }
    Ok(())
}

/// A rule that is being read.
struct OpenRule {
    line: usize,
    when: Vec<super::Condition>,
    rounds: Vec<Round>,
    attempts: Vec<Reply>,
    reply: Reply,
    repeat: bool,
}

impl OpenRule {
    fn start(line: &Line, before: &[Rule]) -> Result<Self, ScriptError> {
        if before.last().is_some_and(|rule| rule.when.is_empty()) {
            return Err(line.error("a rule behind `otherwise` is never reached", "put `otherwise` last"));
        }
        let when = match line.word.as_str() {
            "when" => when::parse(line)?,
            _ if line.rest.is_empty() => Vec::new(),
            _ => return Err(line.error("`otherwise` takes nothing", "put what follows on the next line")),
        };
        let reply = Reply { line: line.number, ..Reply::default() };
        Ok(Self { line: line.number, when, rounds: Vec::new(), attempts: Vec::new(), reply, repeat: false })
    }

    fn add(&mut self, line: &Line) -> Result<(), ScriptError> {
        let alone = || line.rest.is_empty() && line.block.is_none();
        match line.word.as_str() {
            "then" | "retry" | "repeat" if !alone() => {
                Err(line.error(format!("`{}` takes nothing", line.word), "put what follows on the next line"))
            }
            "then" => self.end_round(line.number),
            "retry" => self.end_attempt(line.number),
            "repeat" => {
                self.repeat = true;
                Ok(())
            }
            _ if self.repeat => {
                Err(line.error("something follows `repeat`", "put `repeat` last in its rule"))
            }
            _ => steps::add(&mut self.reply, line),
        }
    }

    fn end_attempt(&mut self, next_line: usize) -> Result<(), ScriptError> {
        let mut reply = std::mem::replace(&mut self.reply, Reply { line: next_line, ..Reply::default() });
        check(&reply)?;
        reply.times = Some(reply.times.unwrap_or(1));
        self.attempts.push(reply);
        Ok(())
    }

    fn end_round(&mut self, next_line: usize) -> Result<(), ScriptError> {
        if self.repeat {
            return Err(ScriptError::new(
                next_line,
                "something follows `repeat`",
                "put `repeat` last in its rule",
            ));
        }
        let reply = std::mem::replace(&mut self.reply, Reply { line: next_line, ..Reply::default() });
        check(&reply)?;
        if reply.times.is_some() {
            let hint = "add `retry` and what the requests after that get";
            return Err(ScriptError::new(reply.line, "`times` without a following `retry`", hint));
        }
        self.attempts.push(reply);
        self.rounds.push(Round { attempts: std::mem::take(&mut self.attempts), repeat: self.repeat });
        Ok(())
    }

    fn finish(mut self) -> Result<Rule, ScriptError> {
        let repeat = std::mem::take(&mut self.repeat);
        self.end_round(self.line)?;
        if let Some(last) = self.rounds.last_mut() {
            last.repeat = repeat;
        }
        Ok(Rule { line: self.line, when: self.when, rounds: self.rounds })
    }
}

/// A reply must say something, and an error says nothing else.
fn check(reply: &Reply) -> Result<(), ScriptError> {
    if reply.status.is_some() && !reply.steps.is_empty() {
        let hint = "put what the next request gets behind `retry`";
        return Err(ScriptError::new(reply.line, "a reply has both a `status` and a text", hint));
    }
    if reply.status.is_none() && reply.steps.is_empty() && reply.hold != Some(super::Hold::Forever) {
        let hint = "add say, think, tool, status or another statement below it";
        return Err(ScriptError::new(reply.line, "a reply is empty", hint));
    }
    Ok(())
}

#[cfg(test)]
#[path = "parse/tests.rs"]
mod tests;
