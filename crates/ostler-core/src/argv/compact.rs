//! JSON without the white space between its tokens, keys in their order. A schema goes by argv, where line breaks
//! are trouble; parsing and printing it would sort its keys, and with them the fields of the answer.

/// `json` must be valid.
pub(super) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut in_string = false;
    let mut escaped = false;
    for c in json.chars() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
        } else if !matches!(c, ' ' | '\t' | '\n' | '\r') {
            out.push(c);
            in_string = c == '"';
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::compact;

    #[test]
    fn strings_stay_as_they_are() {
        let given = "{\n  \"b c\" : \"x \\\" y\\\\\" ,\t\"a\" : [ 1 , 2 ]\r\n}";
        assert_eq!(compact(given), r#"{"b c":"x \" y\\","a":[1,2]}"#);
    }

    #[test]
    fn means_the_same_afterwards() {
        let given = r#" { "type" : "object", "title": "a\\", "x": { "y" : [ true , null , "  " ] } } "#;
        let value = |s: &str| serde_json::from_str::<serde_json::Value>(s).unwrap();
        assert_eq!(value(&compact(given)), value(given));
    }
}
