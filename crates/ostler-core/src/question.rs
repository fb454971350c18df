//! What the model asks a person (`AskUserQuestion`), what an MCP server asks (elicitation), and how an answer is given.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What ostler says where it was told to go on by itself.
pub const CONTINUE: &str = "Continue. Do not ask for confirmation.";
/// How many questions it answers so in one turn.
pub const MAX_CONTINUED: u32 = 5;

/// One of the questions that are asked together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Ask {
    /// The question.
    pub question: String,
    /// Two or three words for it.
    pub header: String,
    /// Answers to choose from; any other text is an answer too.
    pub options: Vec<Choice>,
    /// More than one may be chosen.
    #[serde(rename = "multiSelect")]
    pub multi: bool,
}

/// An answer to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Choice {
    /// What it is called.
    pub label: String,
    /// What it means.
    pub description: String,
}

/// Answers by question. A question is named by its text, its header, or its number from 1; where there is only one, also
/// by the empty text. An answer is a label, a label's number from 1, or any other text.
pub type Answers = BTreeMap<String, Vec<String>>;

/// Why answers don't fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It is nothing that has answers.
    #[error("this is no question with answers: approve or deny it")]
    NoQuestions,
    /// There is no such question.
    #[error("there is no question {name:?}; there are: {}", .known.join(" · "))]
    Unknown {
        /// The name.
        name: String,
        /// What is asked.
        known: Vec<String>,
    },
    /// One has no answer.
    #[error("{question:?} has no answer")]
    Missing {
        /// Which.
        question: String,
    },
    /// Only one answer may be given.
    #[error("{question:?} takes one answer only")]
    One {
        /// Which.
        question: String,
    },
    /// A field of a form has another type.
    #[error("{field} must be {wanted}")]
    Type {
        /// The field.
        field: String,
        /// Its type.
        wanted: String,
    },
}

/// The questions in the input of `AskUserQuestion`; none where it can't be read.
#[must_use]
pub fn asks(input: &RawValue) -> Vec<Ask> {
    #[derive(Deserialize)]
    struct Input {
        questions: Vec<Ask>,
    }
    serde_json::from_str::<Input>(input.get()).map(|i| i.questions).unwrap_or_default()
}

/// The input with the answers in it, as the child wants it back.
///
/// # Errors
/// [`AnswerError`]: a question without an answer, an answer without a question, too many answers.
pub fn answered(input: &RawValue, answers: &Answers) -> Result<String, AnswerError> {
    let asks = asks(input);
    if asks.is_empty() {
        return Err(AnswerError::NoQuestions);
    }
    let mut said: Vec<Option<String>> = vec![None; asks.len()];
    for (name, values) in answers {
        let at = position(&asks, name).ok_or_else(|| AnswerError::Unknown {
            name: name.clone(),
            known: asks.iter().map(|a| a.question.clone()).collect(),
        })?;
        let ask = &asks[at];
        if values.len() > 1 && !ask.multi {
            return Err(AnswerError::One { question: ask.question.clone() });
        }
        let labels: Vec<&str> = values.iter().map(|v| label(ask, v)).filter(|v| !v.is_empty()).collect();
        if !labels.is_empty() {
            said[at] = Some(labels.join(", "));
        }
    }
    let mut map = Map::new();
    for (ask, said) in asks.into_iter().zip(said) {
        let said = said.ok_or_else(|| AnswerError::Missing { question: ask.question.clone() })?;
        map.insert(ask.question, Value::String(said));
    }
    Ok(with_answers(input, &map))
}

/// The input with the same answer to every question.
#[must_use]
pub fn answered_alike(input: &RawValue, text: &str) -> String {
    let said = asks(input).into_iter().map(|ask| (ask.question, Value::String(text.to_owned()))).collect();
    with_answers(input, &said)
}

/// All fields but the answers stay as they came.
fn with_answers(input: &RawValue, answers: &Map<String, Value>) -> String {
    let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(input.get()).unwrap_or_default();
    let answers = serde_json::value::to_raw_value(answers).expect("text under text always serialises");
    fields.insert("answers".to_owned(), answers);
    serde_json::to_string(&fields).expect("raw JSON under text always serialises")
}

fn position(asks: &[Ask], name: &str) -> Option<usize> {
    if name.is_empty() {
        return (asks.len() == 1).then_some(0);
    }
    let by = |of: fn(&Ask) -> &str| asks.iter().position(|a| of(a).eq_ignore_ascii_case(name));
    let number = || name.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).filter(|n| *n < asks.len());
    by(|a| &a.question).or_else(|| by(|a| &a.header)).or_else(number)
}

fn label<'a>(ask: &'a Ask, said: &'a str) -> &'a str {
    let said = said.trim();
    let by_label = ask.options.iter().find(|o| o.label.eq_ignore_ascii_case(said));
    let number = said.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    let found = by_label.or_else(|| number.and_then(|n| ask.options.get(n)));
    found.map_or(said, |o| o.label.as_str())
}

/// What a form asked for, from text: each field by its name, of the type that the schema gives it.
///
/// # Errors
/// [`AnswerError`]: an unknown field, a required one without a value, a value of another type.
pub fn filled(schema: Option<&RawValue>, answers: &Answers) -> Result<String, AnswerError> {
    let schema: Value = schema.and_then(|s| serde_json::from_str(s.get()).ok()).unwrap_or_default();
    let fields = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let only = (fields.len() == 1).then(|| fields.keys().next().cloned()).flatten();
    let mut content = Map::new();
    for (name, values) in answers {
        let name = if name.is_empty() { only.clone().unwrap_or_default() } else { name.clone() };
        let Some(field) = fields.get(&name) else {
            return Err(AnswerError::Unknown { name, known: fields.keys().cloned().collect() });
        };
        content.insert(name.clone(), value(&name, field, values)?);
    }
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    match required.iter().filter_map(Value::as_str).find(|name| !content.contains_key(*name)) {
        Some(name) => Err(AnswerError::Missing { question: name.to_owned() }),
        None => Ok(Value::Object(content).to_string()),
    }
}

fn value(name: &str, field: &Value, values: &[String]) -> Result<Value, AnswerError> {
    let wanted = field.get("type").and_then(Value::as_str).unwrap_or("string");
    let bad = || AnswerError::Type { field: name.to_owned(), wanted: wanted.to_owned() };
    if wanted == "array" {
        return Ok(Value::from(values.to_vec()));
    }
    let [text] = values else { return Err(AnswerError::One { question: name.to_owned() }) };
    match wanted {
        "boolean" => match text.to_lowercase().as_str() {
            "true" | "yes" | "y" => Ok(Value::Bool(true)),
            "false" | "no" | "n" => Ok(Value::Bool(false)),
            _ => Err(bad()),
        },
        "integer" => text.parse::<i64>().map(Value::from).map_err(|_| bad()),
        "number" => text.parse::<f64>().ok().filter(|n| n.is_finite()).map(Value::from).ok_or_else(bad),
        _ => Ok(Value::String(text.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn answers(all: &[(&str, &[&str])]) -> Answers {
        all.iter().map(|(q, a)| ((*q).to_owned(), a.iter().map(|a| (*a).to_owned()).collect())).collect()
    }

    const TWO: &str = r#"{"x":1.50,"questions":[
        {"question":"Which colour?","header":"Colour","options":[{"label":"Red"},{"label":"Blue"}]},
        {"question":"Which sizes?","header":"Size","multiSelect":true,"options":[{"label":"S"},{"label":"L"}]}]}"#;

    #[test]
    fn answers_are_found_by_name_header_and_number() {
        let said = answered(&raw(TWO), &answers(&[("colour", &["2"]), ("2", &["l", "XXL"])])).unwrap();
        let said_json: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said_json["answers"]["Which colour?"], "Blue");
        assert_eq!(said_json["answers"]["Which sizes?"], "L, XXL");
        assert!(said.contains("1.50"), "other fields stay as they came: {said}");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let err = |a: &Answers| answered(&raw(TWO), a).unwrap_err();
        assert!(
            matches!(err(&answers(&[("1", &["Red"])])), AnswerError::Missing { question } if question == "Which sizes?")
        );
        assert!(matches!(err(&answers(&[("1", &["Red", "Blue"])])), AnswerError::One { .. }));
        assert!(matches!(err(&answers(&[("3", &["Red"])])), AnswerError::Unknown { .. }));
        assert!(matches!(err(&answers(&[("", &["Red"])])), AnswerError::Unknown { .. }));
        assert_eq!(answered(&raw("{}"), &Answers::new()), Err(AnswerError::NoQuestions));
    }

    #[test]
    fn forms_have_types() {
        let schema = raw(
            r#"{"properties":{"n":{"type":"integer"},"b":{"type":"boolean"},"s":{"type":"string"}},"required":["n"]}"#,
        );
        let filled = |a: &[(&str, &[&str])]| filled(Some(&schema), &answers(a));
        assert_eq!(
            filled(&[("n", &["4"]), ("b", &["yes"]), ("s", &["4"])]).unwrap(),
            r#"{"b":true,"n":4,"s":"4"}"#
        );
        assert!(matches!(filled(&[("n", &["four"])]), Err(AnswerError::Type { .. })));
        assert!(matches!(filled(&[("b", &["no"])]), Err(AnswerError::Missing { .. })));
        assert!(matches!(filled(&[("zz", &["no"])]), Err(AnswerError::Unknown { .. })));
    }
}
