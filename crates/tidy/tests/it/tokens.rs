//! Names and marks of blanked code, its attributes, and what of it is compiled for tests only.

use super::lexer::is_word;

/// A name, a number, or one mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The line it stands on, from 1.
    pub(crate) line: usize,
    /// Its text: a whole name, or one character.
    pub(crate) text: String,
    /// Where it begins in the code, in bytes.
    pub(crate) start: usize,
}

impl Token {
    /// Whether it is a name (or a number), not a mark.
    pub(crate) fn is_name(&self) -> bool {
        self.text.starts_with(is_word)
    }
}

/// The tokens of blanked code, in order.
pub(crate) fn tokens(code: &str) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::new();
    let (mut line, mut in_word) = (1, false);
    for (start, c) in code.char_indices() {
        if is_word(c) && in_word {
            out.last_mut().expect("a word has begun").text.push(c);
        } else if !c.is_whitespace() {
            out.push(Token { line, text: c.to_string(), start });
        }
        in_word = is_word(c);
        line += usize::from(c == '\n');
    }
    out
}

/// Where `words` stand one after the other; the index of the first.
pub(crate) fn find(tokens: &[Token], words: &[&str]) -> Vec<usize> {
    let same = |window: &[Token]| window.iter().zip(words).all(|(token, word)| token.text == *word);
    (0..tokens.len().saturating_sub(words.len() - 1))
        .filter(|i| same(&tokens[*i..*i + words.len()]))
        .collect()
}

/// The index after the bracket that closes the one at `open`.
pub(crate) fn after_group(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    tokens.len()
}

/// The insides of every `#[…]` and `#![…]`.
pub(crate) fn attributes(tokens: &[Token]) -> Vec<&[Token]> {
    let mut out = Vec::new();
    for i in find(tokens, &["#"]) {
        let open = i + 1 + usize::from(tokens.get(i + 1).is_some_and(|t| t.text == "!"));
        if tokens.get(open).is_some_and(|t| t.text == "[") {
            out.push(&tokens[open + 1..after_group(tokens, open) - 1]);
        }
    }
    out
}

/// The code without its `#[cfg(test)]` items, lines kept; and the names of the modules that such items declare.
pub(crate) fn without_tests(code: &str) -> (String, Vec<String>) {
    let tokens = tokens(code);
    let mut bytes = code.as_bytes().to_vec();
    let mut modules = Vec::new();
    for start in find(&tokens, &["#", "[", "cfg", "("]) {
        let end = after_group(&tokens, start + 1);
        if !tokens[start..end].iter().any(|t| t.text == "test")
            || tokens[start..end].iter().any(|t| t.text == "not")
        {
            continue;
        }
        let (after, module) = after_item(&tokens, end);
        modules.extend(module);
        let until = tokens.get(after).map_or(code.len(), |t| t.start);
        for byte in &mut bytes[tokens[start].start..until] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    (String::from_utf8(bytes).expect("blanked from whole tokens"), modules)
}

/// The index after the item that begins at `from`, and its name when it is a `mod name;`.
fn after_item(tokens: &[Token], from: usize) -> (usize, Option<String>) {
    let mut i = from;
    while i < tokens.len() {
        match tokens[i].text.as_str() {
            ";" => {
                let module = (i >= 2 && tokens[i - 2].text == "mod").then(|| tokens[i - 1].text.clone());
                return (i + 1, module);
            }
            "{" => return (after_group(tokens, i), None),
            "(" | "[" => i = after_group(tokens, i),
            _ => i += 1,
        }
    }
    (i, None)
}

#[test]
fn test_items_are_blanked() {
    let code = "fn a() {}\n#[cfg(test)]\n#[path = \"x\"]\nmod t {\n  fn b() {}\n}\nfn c() {}\n#[cfg(test)] mod tests;\n#[cfg(not(test))] fn d() {}";
    let (product, modules) = without_tests(code);
    assert_eq!(product.lines().count(), code.lines().count());
    assert!(product.contains("fn a()") && product.contains("fn c()") && product.contains("fn d()"));
    assert!(!product.contains("fn b()"));
    assert_eq!(modules, ["tests"]);
}

#[test]
fn attributes_are_found() {
    let all = tokens("#![deny(x)]\n#[serde(rename = \"a\", flatten)] a[1] # b");
    let found: Vec<String> =
        attributes(&all).iter().map(|a| a.iter().map(|t| t.text.as_str()).collect::<String>()).collect();
    assert_eq!(found, ["deny(x)", "serde(rename=\"a\",flatten)"]);
}
