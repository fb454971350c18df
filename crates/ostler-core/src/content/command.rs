//! Texts that the CLI takes as commands of its own.

/// Commands of the interactive CLI that leave or swap the conversation, under which a session could not be found again.
pub const SWAPPING: [&str; 3] = ["/clear", "/exit", "/resume"];

/// The command of [`SWAPPING`] that the CLI would take `text` for.
#[must_use]
pub fn swapping_command(text: &str) -> Option<&'static str> {
    // A command is one only at the very start of a message (measured on 2.1.200 to 2.1.332).
    let word = text.split_whitespace().next().filter(|_| text.starts_with('/'))?;
    SWAPPING.into_iter().find(|command| *command == word)
}

/// `text` so that the CLI takes it for no command.
#[must_use]
pub fn literally(text: String) -> String {
    if text.starts_with('/') { format!(" {text}") } else { text }
}
