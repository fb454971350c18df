//! What the shortest command costs.

use crate::figure::{Figure, Unit};
use crate::stage::beside;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The command `ostler --version`, and beside it the cheapest program of the system.
pub(crate) fn version(count: usize) -> Vec<Figure> {
    let run = |program: &Path, arg: Option<&str>| {
        let once = || {
            let mut command = Command::new(program);
            let begun = Instant::now();
            let status = command.args(arg).stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
            assert!(status.success());
            begun.elapsed().as_secs_f64() * 1e3
        };
        once();
        (0..count).map(|_| once()).collect()
    };
    vec![
        Figure::new("version", "`ostler --version`", Unit::Millis, run(&beside("ostler"), Some("--version")))
            .target(5.0),
        Figure::new("true", "beside: `true`", Unit::Millis, run(Path::new("true"), None)).beside(),
    ]
}
