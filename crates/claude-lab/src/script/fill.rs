//! Variables in a script's texts: `$text`, `$result`, `$turn`, `$model`, `$session`, `$1` … `$9`, and `$$` for a dollar.

use serde_json::Value;

/// What the variables stand for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    pub(crate) text: String,
    pub(crate) result: String,
    pub(crate) turn: usize,
    pub(crate) model: String,
    pub(crate) session: String,
    pub(crate) captures: Vec<String>,
}

impl Values {
    fn get(&self, name: &str) -> Option<String> {
        Some(match name {
            "text" => self.text.clone(),
            "result" => self.result.clone(),
            "turn" => self.turn.to_string(),
            "model" => self.model.clone(),
            "session" => self.session.clone(),
            digit => {
                let index: usize = digit.parse().ok()?;
                self.captures.get(index.checked_sub(1)?).cloned().unwrap_or_default()
            }
        })
    }

    /// The text with its variables replaced; an unknown one stays as it is.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            filled.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let name = name_of(after);
            match self.get(name) {
                Some(value) if !name.is_empty() => {
                    filled.push_str(&value);
                    rest = &after[name.len()..];
                }
                _ => {
                    filled.push('$');
                    rest = after.strip_prefix('$').unwrap_or(after);
                }
            }
        }
        filled.push_str(rest);
        filled
    }

    /// The same in every string of a JSON value.
    pub(crate) fn fill_json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text)),
            Value::Array(items) => items.iter().map(|item| self.fill_json(item)).collect(),
            Value::Object(fields) => Value::Object(
                fields.iter().map(|(name, value)| (name.clone(), self.fill_json(value))).collect(),
            ),
            other => other.clone(),
        }
    }
}

/// The variable's name at the start of `after`: one digit, or letters.
fn name_of(after: &str) -> &str {
    let first_digit = after.bytes().next().is_some_and(|b| b.is_ascii_digit());
    let end =
        if first_digit { 1 } else { after.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(after.len()) };
    &after[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn known_ones_are_replaced_others_stay() {
        let values = Values {
            text: "t$text".to_owned(),
            turn: 3,
            captures: vec!["one".to_owned()],
            ..Values::default()
        };
        assert_eq!(
            values.fill("<$text> $turn $1$2. $$5 $HOME $other $"),
            "<t$text> 3 one. $5 $HOME $other $"
        );
        let filled = values.fill_json(&json!({"command": "echo $1", "n": 1, "list": ["$turn"]}));
        assert_eq!(filled, json!({"command": "echo one", "n": 1, "list": ["3"]}));
    }
}
