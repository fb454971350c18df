//! Integration tests of the wire crate: one binary, one module a subject.

mod it {
    mod build;
    mod control;
    mod corpus;
    mod drift;
    mod framing;
    mod invariants;
    mod legacy;
    mod odd;
    mod property;
    mod views;
}
