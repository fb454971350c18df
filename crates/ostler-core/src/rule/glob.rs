//! Globs over text: `*` is any run of characters, `?` is one, `\` takes the next one as it is. In paths `*` and `?`
//! stop at a slash and `**` does not.

/// What a glob is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Any text.
    Text,
    /// A path: only `**` passes a slash.
    Path,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Char(char),
    One,
    Run,
    Deep,
    /// Any number of whole folders; always followed by `Inside`.
    Folders,
    /// In the middle of their names.
    Inside,
}

/// The whole text fits the glob. Takes time in the product of both lengths at most.
pub(super) fn matches(glob: &str, text: &str, kind: Kind) -> bool {
    let tokens = tokens(glob, kind);
    // Each row is the set of places in the glob that a beginning of the text may have come to.
    let mut at = vec![false; tokens.len() + 1];
    at[0] = true;
    skip_runs(&tokens, &mut at);
    for c in text.chars() {
        let mut next = vec![false; tokens.len() + 1];
        for (i, token) in tokens.iter().enumerate().filter(|(i, _)| at[*i]) {
            let slash = kind == Kind::Path && c == '/';
            match token {
                Token::Char(wanted) => next[i + 1] |= *wanted == c,
                Token::One => next[i + 1] |= !slash,
                Token::Run => next[i] |= !slash,
                Token::Deep => next[i] = true,
                Token::Folders => {}
                Token::Inside => {
                    next[i] = true;
                    next[i + 1] |= c == '/';
                }
            }
        }
        skip_runs(&tokens, &mut next);
        at = next;
        if !at.contains(&true) {
            return false;
        }
    }
    at[tokens.len()]
}

/// How many characters a text must have in common with it: the measure of how specific it is.
pub(super) fn literals(glob: &str) -> usize {
    tokens(glob, Kind::Text).iter().filter(|t| matches!(t, Token::Char(_))).count()
}

/// A run may be empty.
fn skip_runs(tokens: &[Token], at: &mut [bool]) {
    for (i, token) in tokens.iter().enumerate() {
        if at[i] && matches!(token, Token::Run | Token::Deep | Token::Folders) {
            at[i + 1] = true;
            at[i + 2 - usize::from(*token != Token::Folders)] = true;
        }
    }
}

fn tokens(glob: &str, kind: Kind) -> Vec<Token> {
    let mut out = Vec::new();
    let mut rest = glob.chars().peekable();
    while let Some(c) = rest.next() {
        let token = match c {
            '\\' => Token::Char(rest.next().unwrap_or('\\')),
            '?' => Token::One,
            '*' if rest.peek() == Some(&'*') => {
                while rest.next_if_eq(&'*').is_some() {}
                // `a/**/b` is also `a/b`.
                let begins = matches!(out.last(), None | Some(Token::Char('/')));
                if kind == Kind::Path && begins && rest.next_if_eq(&'/').is_some() {
                    out.push(Token::Folders);
                    Token::Inside
                } else {
                    Token::Deep
                }
            }
            '*' => Token::Run,
            c => Token::Char(c),
        };
        out.push(token);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text() {
        for (glob, yes, no) in [
            ("git *", &["git ", "git status -s", "git a/b"][..], &["git", "agit x", "gitx"][..]),
            ("*", &["", "anything / at * all"], &[]),
            ("a?c", &["abc", "a/c"], &["ac", "abbc"]),
            (r"a\*c", &["a*c"], &["abc"]),
            ("a*b*c", &["abc", "axxbyyc"], &["acb"]),
        ] {
            yes.iter().for_each(|t| assert!(matches(glob, t, Kind::Text), "{glob} {t}"));
            no.iter().for_each(|t| assert!(!matches(glob, t, Kind::Text), "{glob} {t}"));
        }
    }

    #[test]
    fn paths() {
        for (glob, yes, no) in [
            ("/w/*.rs", &["/w/a.rs"][..], &["/w/src/a.rs", "/w/a.rsx"][..]),
            ("/w/**", &["/w/a", "/w/a/b/c"], &["/w", "/wx/a"]),
            ("/w/**/x", &["/w/x", "/w/a/b/x"], &["/w/ax"]),
            ("/w/?", &["/w/a"], &["/w//"]),
        ] {
            yes.iter().for_each(|t| assert!(matches(glob, t, Kind::Path), "{glob} {t}"));
            no.iter().for_each(|t| assert!(!matches(glob, t, Kind::Path), "{glob} {t}"));
        }
    }
}
