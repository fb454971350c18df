//! Tests of the server from outside.
#![expect(clippy::unwrap_used, reason = "a test fails where it fails; its helpers too")]

mod it {
    mod description;
    mod faults;
    mod house;
    mod limits;
}
