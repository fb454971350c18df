//! The `ostler` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    // The processes of an active session are this same program; they are looked for first, for they start often.
    if let Some(status) = ostler::internal::dispatch(&args) {
        return ExitCode::from(status);
    }
    ostler::cli::main(args).into()
}
