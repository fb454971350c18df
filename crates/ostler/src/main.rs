//! The `ostler` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The two processes of an active session are this same program; they are looked for first, for they start often.
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let status = match args.split_first() {
        Some((verb, rest)) if verb == "__keeper" => ostler_controller::keeper::main(rest),
        Some((verb, rest)) if verb == "__controller" => ostler_controller::controller::main(rest),
        _ => 2,
    };
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}
