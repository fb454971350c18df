//! Exit statuses: what a command came to, as a number that a script can act on.

/// What a command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// It did what was asked; a turn completed.
    Completed,
    /// The command line, the prompt or an option can't be used.
    Usage,
    /// The turn failed, or the command did.
    Failed,
    /// The turn was interrupted or stopped.
    Interrupted,
    /// The turn completed, and something in it was denied.
    Denied,
    /// It goes on: the time given to wait is over, or the person left.
    StillRunning,
    /// There is no such session, request or cursor, or the name means several.
    NotFound,
    /// The session is stopped or closed, or somebody else was first.
    Conflict,
    /// Claude Code is missing, unsupported, or can't be started.
    Claude,
    /// The home, the store or the disk can't be used.
    Store,
    /// The budget is spent.
    Budget,
}

impl Exit {
    /// Every one, by number.
    pub const ALL: [Self; 11] = [
        Self::Completed,
        Self::Usage,
        Self::Failed,
        Self::Interrupted,
        Self::Denied,
        Self::StillRunning,
        Self::NotFound,
        Self::Conflict,
        Self::Claude,
        Self::Store,
        Self::Budget,
    ];

    /// The number.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Usage => 2,
            Self::Failed => 3,
            Self::Interrupted => 4,
            Self::Denied => 5,
            Self::StillRunning => 6,
            Self::NotFound => 7,
            Self::Conflict => 8,
            Self::Claude => 9,
            Self::Store => 10,
            Self::Budget => 11,
        }
    }

    /// What it means, for the help text.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Completed => "done; the turn completed",
            Self::Usage => "the command line, the prompt or an option can't be used",
            Self::Failed => "the turn failed, or the command did",
            Self::Interrupted => "the turn was interrupted",
            Self::Denied => "the turn completed, and something in it was denied",
            Self::StillRunning => "still running: the time to wait is over, or you left",
            Self::NotFound => "no such session or question, or the name means several",
            Self::Conflict => "stopped, closed, or somebody else was first",
            Self::Claude => "claude is missing or unsupported",
            Self::Store => "the home, the store or the disk can't be used",
            Self::Budget => "the budget is spent",
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_design() {
        let codes: Vec<u8> = Exit::ALL.iter().map(|e| e.code()).collect();
        assert_eq!(codes, [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    }
}
