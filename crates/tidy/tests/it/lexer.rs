//! Takes Rust text apart into code, strings and comments, so that a rule reads only what it means.

/// A Rust file taken apart. Every part keeps its line numbers.
#[derive(Debug, Default)]
pub(crate) struct Lexed {
    /// The text with comments and the insides of strings blanked; every line is where it was.
    pub(crate) code: String,
    /// What string literals hold, as written, with the line (from 1) that each begins on.
    pub(crate) strings: Vec<(usize, String)>,
    /// What comments say, documentation included, one entry a line.
    pub(crate) comments: Vec<(usize, String)>,
}

/// Takes a file apart. Text that isn't Rust gives something, never a panic.
pub(crate) fn lex(text: &str) -> Lexed {
    let mut lexer = Lexer { chars: text.chars().collect(), at: 0, line: 1, out: Lexed::default() };
    while lexer.at < lexer.chars.len() {
        lexer.step();
    }
    lexer.out
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    out: Lexed,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    /// Moves on by one character: kept in the code, or blanked.
    fn take(&mut self, keep: bool) {
        let c = self.peek(0);
        if c == '\n' {
            self.line += 1;
        }
        self.out.code.push(if keep || c == '\n' { c } else { ' ' });
        self.at += 1;
    }

    fn step(&mut self) {
        let word_before = self.at > 0 && is_word(self.chars[self.at - 1]);
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => self.line_comment(),
            ('/', '*') => self.block_comment(),
            ('"', _) => self.string(),
            ('r', '"' | '#') if !word_before => self.raw(1),
            ('b' | 'c', 'r') if !word_before && matches!(self.peek(2), '"' | '#') => self.raw(2),
            ('\'', _) => self.quote(),
            _ => self.take(true),
        }
    }

    fn line_comment(&mut self) {
        let (line, start) = (self.line, self.at);
        while self.at < self.chars.len() && self.peek(0) != '\n' {
            self.take(false);
        }
        self.out.comments.push((line, self.chars[start..self.at].iter().collect()));
    }

    fn block_comment(&mut self) {
        let (line, start) = (self.line, self.at);
        let mut depth = 0;
        while self.at < self.chars.len() {
            let step = match (self.peek(0), self.peek(1)) {
                ('/', '*') => (1, 2),
                ('*', '/') => (-1, 2),
                _ => (0, 1),
            };
            depth += step.0;
            for _ in 0..step.1 {
                self.take(false);
            }
            if depth == 0 {
                break;
            }
        }
        let text: String = self.chars[start..self.at.min(self.chars.len())].iter().collect();
        self.out.comments.extend(text.lines().enumerate().map(|(i, l)| (line + i, l.to_owned())));
    }

    fn string(&mut self) {
        let line = self.line;
        self.take(true);
        let start = self.at;
        while self.at < self.chars.len() && self.peek(0) != '"' {
            if self.peek(0) == '\\' {
                self.take(false);
            }
            self.take(false);
        }
        self.out.strings.push((line, self.chars[start..self.at.min(self.chars.len())].iter().collect()));
        self.take(true);
    }

    /// A raw string after `prefix` letters, or a raw name such as `r#type`.
    fn raw(&mut self, prefix: usize) {
        let hashes = self.chars[self.at + prefix..].iter().take_while(|c| **c == '#').count();
        let open = prefix + hashes;
        let is_string = self.peek(open) == '"';
        for _ in 0..open {
            self.take(true);
        }
        if !is_string {
            return;
        }
        let line = self.line;
        self.take(true);
        let start = self.at;
        while self.at < self.chars.len() && !self.closes(hashes) {
            self.take(false);
        }
        self.out.strings.push((line, self.chars[start..self.at].iter().collect()));
        for _ in 0..=hashes {
            self.take(true);
        }
    }

    fn closes(&self, hashes: usize) -> bool {
        self.peek(0) == '"' && (1..=hashes).all(|i| self.peek(i) == '#')
    }

    /// A character literal is blanked; a lifetime or a label is kept.
    fn quote(&mut self) {
        let length = match (self.peek(1), self.peek(2)) {
            ('\\', _) => (3..12).find(|i| self.peek(*i) == '\'').map_or(1, |end| end + 1),
            (_, '\'') => 3,
            _ => 1,
        };
        self.take(true);
        for _ in 1..length {
            self.take(false);
        }
    }
}

/// Whether a character can stand in a name.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[test]
fn comments_and_strings_leave_the_code() {
    let lexed = lex(
        "let a = \"un//safe \\\" x\"; // unsafe\n/* one /* two */\nthree */ fn f<'a>(c: char) { c == '\"' }\n",
    );
    assert_eq!(lexed.code.lines().count(), 3);
    assert!(!lexed.code.contains("unsafe") && !lexed.code.contains("three"));
    assert!(lexed.code.contains("fn f<'a>(c: char)"), "{}", lexed.code);
    assert_eq!(lexed.strings, [(1, "un//safe \\\" x".to_owned())]);
    let comments: Vec<usize> = lexed.comments.iter().map(|(line, _)| *line).collect();
    assert_eq!(comments, [1, 2, 3]);
}

#[test]
fn raw_strings_end_where_they_should() {
    let lexed = lex("f(r#\"a \" // b\"#, br\"c\", b\"d\", r#type, '\\u{1F600}', b'\\'', \"last\")");
    let strings: Vec<&str> = lexed.strings.iter().map(|(_, s)| s.as_str()).collect();
    assert_eq!(strings, ["a \" // b", "c", "d", "last"]);
    assert!(lexed.code.contains("r#type"));
    assert!(lexed.comments.is_empty());
}

#[test]
fn broken_text_is_no_panic() {
    for text in ["\"", "r#\"", "/*", "'", "'\\", "b", "r#", "\"\\"] {
        lex(text);
    }
}
