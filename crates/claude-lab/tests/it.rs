//! The integration tests, in one binary.

mod it {
    mod answers;
    mod bounds;
    mod child;
    mod conformance;
    mod docs;
    mod fake_events;
    mod faults;
    mod http;
    mod real_money;
    mod real_turns;
    mod state;
}
