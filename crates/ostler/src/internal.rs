//! Subcommands that ostler starts itself with; nobody types them. They are taken before the command line is parsed, for
//! every active session starts two of them.

mod lab;

use std::ffi::OsString;

/// Runs an internal subcommand; None when it is none. `args` begins with the program's name.
#[must_use]
pub fn dispatch(args: &[OsString]) -> Option<u8> {
    let rest = args.get(2..).unwrap_or_default();
    let status = match args.get(1)?.to_str()? {
        "__keeper" => ostler_controller::keeper::main(rest),
        "__controller" => ostler_controller::controller::main(rest),
        "__lab" => lab::main(rest),
        _ => return None,
    };
    Some(u8::try_from(status).unwrap_or(1))
}
