//! The two kinds of platform that a command line can be made for. A value, not a `cfg`: vectors for both are tested
//! everywhere.

/// What kind of system the child runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Platform {
    /// Linux, macOS, …
    Unix,
    /// Windows.
    Windows,
}

impl Platform {
    /// The kind of the system with this name, as `std::env::consts::OS` gives it.
    #[must_use]
    pub fn of(os: &str) -> Self {
        if os == "windows" { Self::Windows } else { Self::Unix }
    }

    /// What stands between the parts of a path.
    #[must_use]
    pub const fn separator(self) -> char {
        match self {
            Self::Unix => '/',
            Self::Windows => '\\',
        }
    }

    /// What stands between the entries of `PATH`.
    #[must_use]
    pub const fn path_list_separator(self) -> char {
        match self {
            Self::Unix => ':',
            Self::Windows => ';',
        }
    }

    /// Whether a path means the same in every directory. On Windows: `C:\…` and `\\server\share\…`.
    #[must_use]
    pub fn is_absolute(self, path: &str) -> bool {
        match self {
            Self::Unix => path.starts_with('/'),
            Self::Windows => {
                let b = path.as_bytes();
                let slash = |i: usize| b.get(i).is_some_and(|c| *c == b'\\' || *c == b'/');
                let drive =
                    b.first().is_some_and(u8::is_ascii_alphabetic) && b.get(1) == Some(&b':') && slash(2);
                drive || (slash(0) && slash(1))
            }
        }
    }
}
