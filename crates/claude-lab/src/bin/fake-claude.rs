//! `fake-claude`: plays a script, or a recorded session, with the interface of the `claude` executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    claude_lab::fake::main()
}
