//! Integration tests of the wire crate: one binary, one module a subject.

mod it {
    mod build;
    mod control;
    mod framing;
    mod legacy;
    mod odd;
    mod property;
    mod views;
}
