use super::super::{Condition, Hold, Script, Step};
use crate::price::bill::Lane;

#[test]
fn the_built_in_script_parses() {
    assert!(Script::builtin().rules.len() > 3);
}

#[test]
fn rounds_and_attempts() {
    let script = Script::parse(
        "pace 5ms\nmodels claude-haiku*\nwhen sub and \"pear\"\n status 529\n times 2\nretry\n say a\n tool Bash {\"command\":\"ls\"}\nthen\n think b\n repeat\notherwise\n hold\n",
    )
    .unwrap();
    assert!(script.allows("claude-haiku-4-5") && !script.allows("claude-opus-5-5"));
    let rule = &script.rules[0];
    assert_eq!(rule.when, [Condition::Lane(Lane::Sub), Condition::Contains("pear".to_owned())]);
    assert_eq!(rule.rounds.len(), 2);
    assert_eq!(rule.rounds[0].attempts.len(), 2);
    assert_eq!(rule.rounds[0].attempts[0].times, Some(2));
    assert_eq!(rule.rounds[0].attempts[1].steps.len(), 2);
    assert!(rule.rounds[1].repeat && !rule.rounds[0].repeat);
    assert_eq!(script.rules[1].rounds[0].attempts[0].hold, Some(Hold::Forever));
}

#[test]
fn texts_come_plain_quoted_or_as_a_block() {
    let script =
        Script::parse("otherwise\n say plain \"x\"\n say \"a\\nb\"\n say <<\n  one\n  two\n >>\n").unwrap();
    let steps = &script.rules[0].rounds[0].attempts[0].steps;
    let texts: Vec<&str> =
        steps.iter().map(|step| if let Step::Say(text) = step { text.as_str() } else { "" }).collect();
    assert_eq!(texts, ["plain \"x\"", "a\nb", "one\ntwo"]);
}

/// Every mistake names its line and says what to write.
#[test]
fn mistakes() {
    let cases = [
        ("", 1, "no rule"),
        ("say x\n", 1, "before the first rule"),
        ("when\n say x\n", 1, "without a condition"),
        ("when foo\n say x\n", 1, "unknown condition `foo`"),
        ("when \"x\n say x\n", 1, "not closed"),
        ("when turn zero\n say x\n", 1, "needs a number"),
        ("when like\n say x\n", 1, "needs a text"),
        ("otherwise\n shout x\n", 2, "unknown word `shout`"),
        ("otherwise\n", 1, "a reply is empty"),
        ("otherwise\n say x\nthen\n", 3, "a reply is empty"),
        ("otherwise\n say x\nwhen \"y\"\n say y\n", 3, "never reached"),
        ("otherwise\n tool Bash ls\n", 2, "not JSON"),
        ("otherwise\n tool Bash [1]\n", 2, "must be a JSON object"),
        ("otherwise\n tool {}\n", 2, "needs a name"),
        ("otherwise\n status 200\n", 2, "400 to 599"),
        ("otherwise\n status 429 retry-after\n", 2, "a value is missing"),
        ("otherwise\n status 429 after 3\n", 2, "only retry-after"),
        ("otherwise\n status 429\n say x\n", 1, "both a `status` and a text"),
        ("otherwise\n status 529\n times 2\n", 1, "without a following `retry`"),
        ("otherwise\n hold 3\n", 2, "does not understand `3`"),
        ("otherwise\n pause until a b\n", 2, "does not understand"),
        ("otherwise\n say x\n usage inputs=3\n", 3, "does not understand `inputs=3`"),
        ("otherwise\n say x\n repeat\n say y\n", 4, "follows `repeat`"),
        ("otherwise\n say x\n repeat\nthen\n say y\n", 4, "follows `repeat`"),
        ("otherwise\n say x\n header é x\n", 3, "plain ASCII"),
        ("otherwise\n say <<\n x\n", 2, "never closed"),
        ("otherwise\n say x\nthen say y\n", 3, "takes nothing"),
    ];
    for (text, line, what) in cases {
        let error = Script::parse(text).expect_err(text);
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.what.contains(what), "{text:?}: {error}");
        assert!(!error.hint.is_empty());
    }
}

#[test]
fn a_name_is_the_texts_hash() {
    let one = Script::parse("otherwise\n say x\n").unwrap();
    let two = Script::parse("otherwise\n say y\n").unwrap();
    assert_ne!(one.reference(), two.reference());
    assert_eq!(super::super::ScriptRef::parse(one.reference().as_str()), Some(one.reference()));
    assert_eq!(super::super::ScriptRef::parse("../../etc/passwd"), None);
}

proptest::proptest! {
    /// No text makes the parser panic, and every error names a line of the text.
    #[test]
    fn any_text_is_a_script_or_an_error(
        lines in proptest::collection::vec("(when|otherwise|say|tool|hold|status|then|retry|usage|header|<<|>>)?( ?[\"a-z0-9{}:=<> -]{0,12})", 0..12)
    ) {
        let text = lines.join("\n");
        if let Err(error) = Script::parse(&text) {
            proptest::prop_assert!((1..=lines.len().max(1)).contains(&error.line), "{}", error);
        }
    }
}
