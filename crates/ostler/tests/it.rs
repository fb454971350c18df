//! Tests of the ostler binary's parts.
#![expect(clippy::unwrap_used, reason = "a test fails where it fails; its helpers too")]

mod it {
    mod doctor;
    mod fake_machine;
    mod launcher_command;
    mod launcher_install;
    mod launcher_search;
    mod real_launcher;
}
