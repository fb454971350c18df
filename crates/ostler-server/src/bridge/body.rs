//! Request bodies as the bridge's clients know them to be read: JSON whatever the content type, and everything optional.

use serde_json::{Map, Value};

/// How much of a text V8 quotes around the place of an error.
const AROUND: usize = 10;

/// The fields of a body. What is JSON and no object has none.
///
/// # Errors
/// The text of the `error` in the answer: it is no JSON, or it is null.
pub(super) fn fields(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let text = String::from_utf8_lossy(bytes);
    match serde_json::from_str(&text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(Value::Null) => Err("Cannot read properties of null (reading 'task_id')".to_owned()),
        Ok(_) => Ok(Map::new()),
        Err(error) => Err(as_v8_says(&text, &error)),
    }
}

/// A field as an id or a word: None where it is missing, null, false, 0 or empty.
pub(super) fn word(fields: &Map<String, Value>, name: &str) -> Option<String> {
    match fields.get(name)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Bool(true) => Some("true".to_owned()),
        Value::Number(number) if number.as_f64() != Some(0.0) => Some(number.to_string()),
        Value::Object(_) | Value::Array(_) => Some("[object Object]".to_owned()),
        _ => None,
    }
}

/// The two messages that clients see in practice. V8 has others for rarer mistakes; this is what it says of most.
fn as_v8_says(text: &str, error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "Unexpected end of JSON input".to_owned();
    }
    let chars: Vec<char> = text.chars().collect();
    let at = place(text, error.line(), error.column()).min(chars.len().saturating_sub(1));
    let Some(token) = chars.get(at) else { return "Unexpected end of JSON input".to_owned() };
    let short = chars.len() <= 2 * AROUND;
    let from = if short { 0 } else { at.saturating_sub(AROUND) };
    let to = if short { chars.len() } else { (at + AROUND).min(chars.len()) };
    let quoted: String = chars[from..to].iter().collect();
    let before = if from > 0 { "..." } else { "" };
    let after = if to < chars.len() { "..." } else { "" };
    format!("Unexpected token '{token}', {before}\"{quoted}\"{after} is not valid JSON")
}

/// Line and column (both from 1, in bytes) as a number of characters.
fn place(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let byte = (before + column.saturating_sub(1)).min(text.len());
    text.char_indices().take_while(|(at, _)| *at < byte).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_has_no_fields() {
        for empty in ["{}", "[]", "\"x\"", "1", "true"] {
            assert_eq!(fields(empty.as_bytes()), Ok(Map::new()), "{empty}");
        }
        let null = fields(b"null").expect_err("refused");
        assert_eq!(null, "Cannot read properties of null (reading 'task_id')");
    }

    #[test]
    fn what_is_no_json_is_named_as_v8_does() {
        for (text, message) in [
            ("", "Unexpected end of JSON input"),
            ("{\"prompt\":", "Unexpected end of JSON input"),
            ("not json", "Unexpected token 'o', \"not json\" is not valid JSON"),
            ("hello", "Unexpected token 'h', \"hello\" is not valid JSON"),
            (
                "{\"prompt\": \"a\"} and more text",
                "Unexpected token 'a', ...\"pt\": \"a\"} and more t\"... is not valid JSON",
            ),
        ] {
            assert_eq!(fields(text.as_bytes()).expect_err("refused"), message);
        }
    }

    #[test]
    fn words_are_there_or_not_as_in_javascript() {
        let all =
            fields(br#"{"a":"x","b":"","c":null,"d":0,"e":7,"f":true,"g":false,"h":{}}"#).expect("JSON");
        let of = |name| word(&all, name);
        assert_eq!(
            (of("a").as_deref(), of("e").as_deref(), of("f").as_deref()),
            (Some("x"), Some("7"), Some("true"))
        );
        assert!(
            [of("b"), of("c"), of("d"), of("g"), of("z")].iter().all(Option::is_none) && of("h").is_some()
        );
    }
}
