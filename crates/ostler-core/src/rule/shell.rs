//! Command lines of a POSIX shell, read as carefully as deciding about them needs.
//!
//! An allow must never let through more than its pattern says, so only a *simple* line can be allowed: one program with
//! its words, nothing that makes the shell run, read or write anything else. A deny must find what it names wherever it
//! stands, so a line is also cut into its *parts*, at every place where a command may begin. Neither is a shell: what
//! `make` or a script does is not seen.

/// What stands on a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shell {
    /// One program and its words, nothing else: no operators, substitutions, variables, redirections, assignments,
    /// groups, comments, line breaks.
    pub simple: bool,
    /// Every command on it, as text: white space squeezed, assignments and quotes taken off, and again without the
    /// folder of its program, and without programs that run other ones (`sudo`, `env`, …).
    pub parts: Vec<String>,
}

/// How deep substitutions and `sh -c` are looked into.
const DEPTH: u32 = 4;
/// How many parts are kept; a longer line is nothing that anybody reads before allowing it.
const PARTS: usize = 512;

/// Programs that run the command behind them.
const WRAPPERS: &[&str] = &[
    "builtin", "command", "doas", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo",
    "time", "timeout", "xargs",
];
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "sh", "zsh"];
/// Words of the shell's own that a command may stand behind.
const KEYWORDS: &[&str] = &["!", "do", "elif", "else", "if", "then", "until", "while", "{", "}"];

/// Reads a command line.
#[must_use]
pub fn read(line: &str) -> Shell {
    let mut shell = Shell { simple: true, parts: Vec::new() };
    read_into(line, &mut shell, DEPTH);
    shell
}

fn read_into(line: &str, shell: &mut Shell, depth: u32) {
    let mut reader = Reader { rest: line.chars().collect(), at: 0, words: Vec::new(), word: None };
    reader.run(shell, depth);
}

struct Reader {
    rest: Vec<char>,
    at: usize,
    words: Vec<String>,
    word: Option<String>,
}

impl Reader {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.get(self.at).copied();
        self.at += 1;
        c
    }

    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_part(&mut self, shell: &mut Shell, depth: u32) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        note(&words, shell, depth);
    }

    fn run(&mut self, shell: &mut Shell, depth: u32) {
        while let Some(c) = self.next() {
            match c {
                ' ' | '\t' => self.end_word(),
                '\n' | '\r' | ';' | '&' | '|' | '(' | ')' => {
                    shell.simple = false;
                    self.end_part(shell, depth);
                }
                '<' | '>' => {
                    shell.simple = false;
                    self.end_word();
                    if self.peek() == Some('(') {
                        self.end_part(shell, depth);
                    }
                }
                '{' | '}' | '!' | '#' => {
                    shell.simple = false;
                    self.push(c);
                }
                '\\' => match self.next() {
                    None | Some('\n') => shell.simple = false,
                    Some(c) => self.push(c),
                },
                '\'' => self.single(shell),
                '"' => self.double(shell, depth),
                '$' => self.dollar(shell, depth),
                '`' => self.backtick(shell, depth),
                c if c.is_control() => shell.simple = false,
                c => self.push(c),
            }
        }
        self.end_part(shell, depth);
    }

    fn single(&mut self, shell: &mut Shell) {
        self.word.get_or_insert_default();
        loop {
            match self.next() {
                Some('\'') => return,
                Some(c) => self.push(c),
                None => return shell.simple = false,
            }
        }
    }

    fn double(&mut self, shell: &mut Shell, depth: u32) {
        self.word.get_or_insert_default();
        loop {
            match self.next() {
                Some('"') => return,
                Some('\\') => {
                    if let Some(c) = self.next() {
                        if !matches!(c, '"' | '\\' | '$' | '`') {
                            self.push('\\');
                        }
                        self.push(c);
                    }
                }
                Some('$') => self.dollar(shell, depth),
                Some('`') => self.backtick(shell, depth),
                Some(c) => self.push(c),
                None => return shell.simple = false,
            }
        }
    }

    /// Whatever stands behind a dollar is something that the text does not show.
    fn dollar(&mut self, shell: &mut Shell, depth: u32) {
        shell.simple = false;
        self.push('$');
        if self.peek() == Some('(') {
            self.next();
            let inner = self.until_closed();
            deeper(&inner, shell, depth);
        }
    }

    fn backtick(&mut self, shell: &mut Shell, depth: u32) {
        shell.simple = false;
        let mut inner = String::new();
        while let Some(c) = self.next().filter(|c| *c != '`') {
            inner.push(c);
        }
        deeper(&inner, shell, depth);
    }

    /// Up to the bracket that closes the one before it. Quotes inside are not looked at: too much is read rather than
    /// too little.
    fn until_closed(&mut self) -> String {
        let (mut open, mut inner) = (1, String::new());
        while let Some(c) = self.next() {
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                break;
            }
            inner.push(c);
        }
        inner
    }
}

fn deeper(inner: &str, shell: &mut Shell, depth: u32) {
    shell.simple = false;
    if depth > 0 {
        read_into(inner, shell, depth - 1);
    } else {
        keep(shell, inner.to_owned());
    }
}

fn keep(shell: &mut Shell, part: String) {
    if shell.parts.len() < PARTS {
        shell.parts.push(part);
    } else {
        shell.simple = false;
    }
}

/// Takes a command down, in every form in which a pattern may name it.
fn note(words: &[String], shell: &mut Shell, depth: u32) {
    let mut words = words;
    while let Some((first, rest)) = words.split_first() {
        if is_assignment(first) {
            shell.simple = false;
        } else if !KEYWORDS.contains(&first.as_str()) {
            break;
        }
        words = rest;
    }
    let Some((program, arguments)) = words.split_first() else { return };
    keep(shell, words.join(" "));
    let name = program.rsplit('/').next().unwrap_or(program);
    if name != program {
        keep(
            shell,
            std::iter::once(name).chain(arguments.iter().map(String::as_str)).collect::<Vec<_>>().join(" "),
        );
    }
    if depth == 0 {
        return;
    }
    let is_shell = SHELLS.contains(&name) && arguments.iter().any(|a| a.starts_with('-') && a.contains('c'));
    if is_shell || name == "eval" {
        let simple = shell.simple;
        arguments.iter().filter(|a| !a.starts_with('-')).for_each(|a| read_into(a, shell, depth - 1));
        if name == "eval" {
            read_into(&arguments.join(" "), shell, depth - 1);
        }
        // The line itself is still one program with its words: an allow that names them means them.
        shell.simple = simple;
    }
    let runs_others =
        name == "find" && arguments.iter().any(|a| matches!(a.as_str(), "-exec" | "-execdir" | "-ok"));
    if WRAPPERS.contains(&name) || runs_others {
        let simple = shell.simple;
        (0..arguments.len()).for_each(|from| note(&arguments[from..], shell, depth - 1));
        shell.simple = simple;
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.trim_end_matches('+').chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_program_with_its_words_is_simple() {
        for line in [
            "git status",
            "git log --oneline -5 'a && b'",
            r#"grep "x; y | z" file"#,
            r"find . -name \*.rs",
            "cargo test -p ostler-core it::broker",
            "sudo rm -rf x",
        ] {
            assert!(read(line).simple, "{line}");
        }
        for line in [
            "git status && rm x",
            "git status; rm x",
            "git status | sh",
            "git status & rm x",
            "git status\nrm x",
            "git log $(rm x)",
            "git log `rm x`",
            r#"git log "$(rm x)""#,
            r#"git log "`rm x`""#,
            "git log > ~/.bashrc",
            "git log < x",
            "git log <(rm x)",
            "git log $HOME",
            "git log ${x:-$(rm y)}",
            "GIT_PAGER='rm x' git log",
            "git log {a,b}",
            "(git log)",
            "! git log",
            "git log # x",
            "git log \\\nrm x",
            "git log 'x",
            "git log \"x",
            "git log $'\\x3b rm'",
            "git log\u{0}",
        ] {
            assert!(!read(line).simple, "{line}");
        }
    }

    #[test]
    fn what_runs_is_found_wherever_it_stands() {
        for line in [
            "rm x",
            "true && rm x",
            "true;rm x",
            "true|rm x",
            "echo $(rm x)",
            "echo `rm x`",
            "echo \"a $(rm x)\"",
            "A=1 rm x",
            "r''m x",
            "r\\m x",
            "/bin/rm x",
            "sudo -n rm x",
            "env A=1 /bin/rm x",
            "find . -exec rm x ;",
            "sh -c 'rm x'",
            "bash -lc \"true; rm x\"",
            "eval rm x",
            "if true; then rm x; fi",
            "(rm x)",
            "{ rm x; }",
            "cat <(rm x)",
            "true\nrm x",
            "rm   x",
        ] {
            assert!(
                read(line).parts.iter().any(|p| p.trim_end_matches(" ;") == "rm x"),
                "{line}: {:?}",
                read(line).parts
            );
        }
        assert!(!read("echo 'rm x'").parts.iter().any(|p| p.starts_with("rm")));
    }
}
