//! The conditions of a rule: `when sub and "text" and turn 2 …`.

use super::lines::Line;
use super::{Condition, Glob, ScriptError};
use crate::price::bill::Lane;

const HINT: &str = "use \"text\", is \"text\", like \"run *\", turn 3, main, sub, side, notice, model \"claude-haiku*\" or \
                    system \"text\", joined by `and`";

/// Parses what follows `when`.
pub(super) fn parse(line: &Line) -> Result<Vec<Condition>, ScriptError> {
    let tokens = tokens(line)?;
    let mut conditions = Vec::new();
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        let condition = match token {
            Token::Text(text) => Condition::Contains(text),
            Token::Word(word) => match word.as_str() {
                "and" => continue,
                "main" => Condition::Lane(Lane::Main),
                "sub" => Condition::Lane(Lane::Sub),
                "side" => Condition::Lane(Lane::Side),
                "notice" => Condition::Notice,
                "is" => Condition::Is(text(line, "is", tokens.next())?),
                "like" => Condition::Like(Glob::new(&text(line, "like", tokens.next())?)),
                "model" => Condition::Model(Glob::new(&text(line, "model", tokens.next())?)),
                "system" => Condition::System(text(line, "system", tokens.next())?),
                "turn" => Condition::Turn(turn(line, tokens.next())?),
                other => return Err(line.error(format!("unknown condition `{other}`"), HINT)),
            },
        };
        conditions.push(condition);
    }
    if conditions.is_empty() {
        return Err(
            line.error("`when` without a condition", "write `otherwise`, or say when: ".to_owned() + HINT)
        );
    }
    Ok(conditions)
}

enum Token {
    Word(String),
    Text(String),
}

fn text(line: &Line, after: &str, token: Option<Token>) -> Result<String, ScriptError> {
    match token {
        Some(Token::Text(text)) => Ok(text),
        _ => Err(line.error(format!("`{after}` needs a text"), format!("write {after} \"…\""))),
    }
}

fn turn(line: &Line, token: Option<Token>) -> Result<usize, ScriptError> {
    let number = match token {
        Some(Token::Word(word)) => word.parse().ok().filter(|&n| n > 0),
        _ => None,
    };
    number.ok_or_else(|| line.error("`turn` needs a number", "write turn 1 for the first prompt"))
}

fn tokens(line: &Line) -> Result<Vec<Token>, ScriptError> {
    let mut found = Vec::new();
    let mut rest = line.rest.trim_start();
    while !rest.is_empty() {
        if rest.starts_with('"') {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let Some(Ok(text)) = values.next() else {
                return Err(line.error(
                    "a quoted text is not closed or not valid",
                    "write it as in JSON: \"a \\\"b\\\"\"",
                ));
            };
            found.push(Token::Text(text));
            rest = rest.get(values.byte_offset()..).unwrap_or("").trim_start();
        } else {
            let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            found.push(Token::Word(word.to_owned()));
            rest = after.trim_start();
        }
    }
    Ok(found)
}
