//! Paths, as text: made absolute and free of `.` and `..` without a look at the disk. Symbolic links are not followed.

/// The path that `path` means in `cwd`; None for one that is relative to somebody's home (`~`), which is not known here.
pub(super) fn absolute(path: &str, cwd: &str) -> Option<String> {
    if path.starts_with('~') {
        return None;
    }
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

/// `path` is `dir` or lies below it. Both are absolute.
pub(super) fn is_below(path: &str, dir: &str) -> bool {
    let dir = dir.trim_end_matches('/');
    path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_absolute() {
        for (path, wanted) in [
            ("a.rs", "/w/x/a.rs"),
            ("./a//b/", "/w/x/a/b"),
            ("../a", "/w/a"),
            ("../../../../etc/passwd", "/etc/passwd"),
            ("/w/x/../y", "/w/y"),
        ] {
            assert_eq!(absolute(path, "/w/x").as_deref(), Some(wanted), "{path}");
        }
        assert_eq!(absolute("~/x", "/w"), None);
        assert!(is_below("/w/x", "/w") && is_below("/w", "/w/") && is_below("/w", "/"));
        assert!(!is_below("/wx", "/w"));
    }
}
