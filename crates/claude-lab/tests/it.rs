//! The integration tests, in one binary.

mod it {
    mod answers;
    mod bounds;
    mod child;
    mod docs;
    mod fake_child;
    mod fake_events;
    mod fake_play;
    mod fake_script;
    mod faults;
    mod http;
    mod real_conformance;
    mod real_money;
    mod real_turns;
    mod recordings;
    mod state;
}
