//! Processes that a fake child leaves behind, with the ties that tools of the real one leave.

use std::process::{Command, Stdio};

use super::script::Ties;

/// Starts a shell command. The shell does the untying, as it does in the real CLI's Bash tool.
pub(super) fn spawn(how: Ties, command: &str) -> std::io::Result<()> {
    let mut shell = Command::new("/bin/sh");
    shell.stdin(Stdio::null()).stderr(Stdio::null());
    if how != Ties::Stdout {
        shell.stdout(Stdio::null());
    }
    match how {
        Ties::Group => shell.args(["-c", "sh -c \"$1\" &", "sh", command]),
        // Job control gives every background job a process group; only bash does that without a terminal.
        Ties::OwnGroup => shell.args(["-c", "bash -c 'set -m; sh -c \"$1\" &' bash \"$1\"", "sh", command]),
        Ties::Session | Ties::Stdout => shell.args(["-c", "setsid sh -c \"$1\" &", "sh", command]),
        Ties::Orphan => shell.args(["-c", "(env -i setsid /bin/sh -c \"$1\" &) &", "sh", command]),
    };
    shell.status().map(drop)
}

/// Sends this process a signal.
pub(super) fn kill_self(signal: &str) {
    let pid = std::process::id().to_string();
    // `kill` is in every shell; a signal that it doesn't know leaves the child alive, and the test sees that.
    drop(Command::new("/bin/sh").args(["-c", "kill -s \"$1\" \"$2\"", "sh", signal, &pid]).status());
}
