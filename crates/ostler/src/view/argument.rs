//! The argument of a tool call that tells most.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// For each tool, the fields to look at, in order. Names and fields as the CLI's own tools have them.
const KEYS: &[(&str, &[&str])] = &[
    ("Bash", &["command"]),
    ("BashOutput", &["bash_id"]),
    ("Edit", &["file_path"]),
    ("Glob", &["pattern", "path"]),
    ("Grep", &["pattern", "path"]),
    ("KillShell", &["shell_id"]),
    ("LS", &["path"]),
    ("MultiEdit", &["file_path"]),
    ("NotebookEdit", &["notebook_path"]),
    ("Read", &["file_path"]),
    ("Skill", &["skill", "command"]),
    ("SlashCommand", &["command"]),
    ("Task", &["description"]),
    ("Agent", &["description"]),
    ("TaskOutput", &["task_id"]),
    ("TaskStop", &["task_id"]),
    ("ToolSearch", &["query"]),
    ("WebFetch", &["url"]),
    ("WebSearch", &["query"]),
    ("Write", &["file_path"]),
];

/// The key argument of a call, as it stands in its input; None when no field is text. Of a tool that isn't known it
/// is the first field that is text.
#[must_use]
pub fn key_argument(tool: &str, input: Option<&RawValue>) -> Option<String> {
    let Ok(Value::Object(input)) = serde_json::from_str(input?.get()) else { return None };
    if let Some(special) = special(tool, &input) {
        return Some(special);
    }
    let known = KEYS.iter().find(|(name, _)| *name == tool).map_or(&[][..], |(_, keys)| keys);
    let texts: Vec<&str> = known.iter().filter_map(|key| input.get(*key)?.as_str()).collect();
    if !texts.is_empty() {
        return Some(texts.join("  in "));
    }
    input.values().find_map(|v| v.as_str().filter(|s| !s.is_empty())).map(str::to_owned)
}

/// Tools whose argument is not one text.
fn special(tool: &str, input: &Map<String, Value>) -> Option<String> {
    match tool {
        "AskUserQuestion" => input.get("questions")?.get(0)?.get("question")?.as_str().map(str::to_owned),
        "TodoWrite" => {
            let todos = input.get("todos")?.as_array()?;
            let done = todos.iter().filter(|t| t.get("status").and_then(Value::as_str) == Some("completed"));
            Some(format!("{} of {} done", done.count(), todos.len()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(tool: &str, input: &str) -> Option<String> {
        let input = RawValue::from_string(input.to_owned()).unwrap();
        key_argument(tool, Some(&input))
    }

    #[test]
    fn each_tool_shows_what_tells_most() {
        let is = |tool: &str, input: &str, shown: &str| assert_eq!(key(tool, input).as_deref(), Some(shown));
        is("Bash", r#"{"description":"d","command":"ls -l"}"#, "ls -l");
        is("Read", r#"{"file_path":"/a/b.rs","offset":3}"#, "/a/b.rs");
        is("Grep", r#"{"pattern":"x+","path":"src"}"#, "x+  in src");
        is("Grep", r#"{"pattern":"x+"}"#, "x+");
        is("WebFetch", r#"{"prompt":"p","url":"https://e.org"}"#, "https://e.org");
        is("Task", r#"{"prompt":"long","description":"look around","subagent_type":"x"}"#, "look around");
        is("TodoWrite", r#"{"todos":[{"status":"completed"},{"status":"pending"}]}"#, "1 of 2 done");
        is("AskUserQuestion", r#"{"questions":[{"question":"Which?"}]}"#, "Which?");
        is("mcp__db__query", r#"{"limit":3,"sql":"s","z":"t"}"#, "s");
    }

    #[test]
    fn nothing_to_show_is_nothing() {
        assert_eq!(key("Bash", "{}"), None);
        assert_eq!(key("Bash", "[1]"), None);
        assert_eq!(key("x", r#"{"n":1,"s":""}"#), None);
        assert_eq!(key_argument("Bash", None), None);
    }
}
