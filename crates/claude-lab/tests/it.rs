//! The integration tests, in one binary.

mod it {
    mod answers;
    mod bounds;
    mod child;
    mod docs;
    mod faults;
    mod http;
    mod real_money;
    mod real_turns;
    mod state;
}
