//! The watchdog's ladder: a child that owes a message and says nothing, and all that only looks like it.

use super::script::check;

/// A turn that the model works on, since 1 000 ms.
const AT_WORK: &str = "
    +1000
    spawn A
    write A
    < running
    < queued A
    < started A
    < init
    ";

#[track_caller]
fn at_work(journal: &str, expect: &str) {
    check(&format!("{AT_WORK}\n{journal}"), expect);
}

#[test]
fn case_6_silence_behind_a_tool_result_is_slow_then_stalled_then_interrupted_and_the_turn_stalled() {
    at_work(
        "
        < tool t
        +500000
        ? nothing
        < done t
        +119999
        ? nothing
        +1
        ? slow 120000
        slow 120000
        ? nothing
        +479999
        ? nothing
        +1
        ? expire stalled
        expired stalled
        ? ask ostler-stalled-1-2 interrupt
        ask ostler-stalled-1-2 interrupt
        ? nothing
        < ok ostler-stalled-1-2
        < result aborted for=A
        < cancelled A
        < idle
        ? settle
        settled
        ? end settled
        ",
        "
        turn 1 failed, because stalled, 1 results
        A failed
        ",
    );
}

#[test]
fn case_6_a_child_that_does_not_confirm_the_interrupt_is_killed_and_its_message_is_not_run_again() {
    at_work(
        "
        pending A
        +600000
        ? expire stalled
        expired stalled
        ask ostler-stalled-1-2 interrupt
        +4999
        ? nothing
        +1
        ? expire interrupt
        expired interrupt
        ? kill stalled
        kill
        dead signal 9
        ? settle
        settled
        ? nothing
        ",
        "
        turn 1 failed, because stalled
        A failed
        ",
    );
}

#[test]
fn a_child_that_does_not_even_read_is_killed_as_soon() {
    at_work(
        "
        +600000
        expired stalled
        pipe full
        +4999
        ? nothing
        +1
        ? kill stalled
        ",
        "
        turn 1 open
        A started
        ",
    );
}

#[test]
fn an_interrupt_that_is_refused_ends_the_child() {
    at_work(
        "
        +600000
        expired stalled
        ask s interrupt
        < no s
        ? kill stalled
        ",
        "
        turn 1 open
        A started
        ",
    );
}

#[test]
fn case_7_a_stream_that_stops_between_two_blocks_is_silence_though_a_tool_was_called_in_it() {
    at_work(
        "
        < message m1 model 1/0/0/0/0
        < block
        < tool t message=m1
        +119999
        ? nothing
        +1
        ? slow 120000
        +480000
        ? expire stalled
        < stop
        ? nothing
        +9000000
        ? nothing
        ",
        "
        turn 1 open
        A started
        1 model 1/0/0/0/0 $? estimated
        ",
    );
}

#[test]
fn each_silence_is_called_slow_once_and_ends_with_any_word() {
    at_work(
        "
        +120000
        ? slow 120000
        slow 120000
        +1
        ? nothing
        < message m1 model 1/0/0/0/0
        +119999
        ? nothing
        +1
        ? slow 120000
        ",
        "
        turn 1 open
        A started
        1 model 1/0/0/0/0 $? estimated
        ",
    );
}

#[test]
fn case_14_a_compaction_has_its_own_deadline_and_then_the_same_ladder() {
    at_work(
        "
        < status compacting
        +899999
        ? nothing
        +1
        ? expire compaction
        expired compaction
        ? ask ostler-stalled-1-2 interrupt
        ask s interrupt
        +5000
        ? expire interrupt
        expired interrupt
        ? kill stalled
        kill
        dead signal 9
        settled
        ",
        "
        turn 1 failed, because stalled
        A failed
        ",
    );
}

#[test]
fn case_14_a_child_that_dies_while_it_compacts_is_dead_at_once() {
    at_work(
        "
        < status compacting
        +60000
        dead signal 9
        ? settle
        settled
        ",
        "
        turn 1 unfinished, because signal 9
        A started
        ",
    );
}

#[test]
fn case_36b_who_waits_for_a_person_is_not_stalled_and_is_again_from_the_answer_on() {
    at_work(
        "
        < tool t
        < requires_action
        < asks q
        +90000000
        ? nothing
        stored q allow
        decided q allow
        answer q
        < running
        < done t
        +119999
        ? nothing
        +1
        ? slow 120000
        ",
        "
        turn 1 open
        A started
        q answered allow
        ",
    );
}

#[test]
fn a_child_that_does_not_react_to_the_answer_is_not_waiting_for_a_person_any_more() {
    at_work(
        "
        < requires_action
        < asks q
        decided q allow
        answer q
        +600000
        ? expire stalled
        ",
        "
        turn 1 open
        A started
        q answered allow
        ",
    );
}

#[test]
fn an_announced_retry_is_waited_out() {
    at_work(
        "
        < retry 3000000
        +3119999
        ? nothing
        +1
        ? slow 120000
        ",
        "
        turn 1 open
        A started
        ",
    );
}

#[test]
fn a_rate_limit_is_waited_out_by_the_wall_clock() {
    // Until 8 001 s; the script's wall clock is its monotonic one.
    at_work(
        "
        < limited 8001
        +8000000
        ? nothing
        +119999
        ? nothing
        +1
        ? slow 120000
        +480000
        ? expire stalled
        ",
        "
        turn 1 open
        A started
        ",
    );
}

#[test]
fn a_new_controller_begins_the_silence_anew() {
    at_work(
        "
        +599999
        adopted
        +119999
        ask init initialize
        < ok init
        +119999
        ? nothing
        +1
        ? slow 120000
        ",
        "
        turn 1 open
        A started
        ",
    );
}

#[test]
fn a_message_in_between_does_not_hide_a_silence() {
    at_work(
        "
        +119999
        write B
        +1
        ? slow 120000
        ",
        "
        turn 1 open
        A started
        B written
        ",
    );
}

#[test]
fn a_child_that_takes_a_message_and_never_begins_stalls_and_the_message_goes_to_the_next_one() {
    check(
        "
        spawn A
        pending A
        write A
        < running
        < queued A
        +120000
        ? slow 120000
        +480000
        expired stalled
        ask s interrupt
        < ok s queued=A
        +29999
        ? nothing
        +1
        ? expire interrupt
        expired interrupt
        ? kill stalled
        kill
        dead signal 9
        ? settle
        settled
        ? spawn A
        ",
        "
        turn 1 failed, because stalled
        A queued
        ",
    );
}

#[test]
fn a_stop_of_a_stalled_turn_is_a_stop() {
    at_work(
        "
        +600000
        expired stalled
        stop
        ? end stop
        ending stop
        ask e end_session
        < result aborted for=A
        < cancelled A
        dead code 1
        settled
        ",
        "
        turn 1 interrupted, 1 results
        A cancelled
        ",
    );
}

#[test]
fn a_child_that_goes_on_after_all_did_not_stall() {
    at_work(
        "
        +600000
        expired stalled
        ask s interrupt
        < result success for=A
        < completed A
        < ok s
        < idle
        settled
        ",
        "
        turn 1 completed, 1 results
        A completed
        ",
    );
}

#[test]
fn what_runs_behind_a_stalled_message_is_not_broken_off_with_it() {
    at_work(
        "
        write B
        < queued B
        +600000
        expired stalled
        ask s interrupt
        < ok s
        < result aborted for=A
        < cancelled A
        < started B
        < init
        +119999
        ? nothing
        < result success for=B
        < completed B
        < idle
        ? settle
        settled
        ",
        "
        turn 1 completed, 2 results
        A failed
        B completed
        ",
    );
}

#[test]
fn a_child_that_does_not_read_what_another_controller_began_is_killed() {
    at_work(
        "
        begin B
        adopted
        pipe full
        < result success for=A
        < completed A
        < idle
        +59999
        ? nothing
        +1
        ? expire write
        expired write
        ? kill spoiledpipe
        ",
        "
        turn 1 open, 1 results
        A completed
        B written
        ",
    );
}

#[test]
fn a_child_at_rest_that_does_not_read_is_killed_for_what_waits() {
    at_work(
        "
        adopted
        pipe full
        pending B
        < result success for=A
        < completed A
        < idle
        settled
        +59999
        ? nothing
        +1
        ? expire answer
        expired answer
        ? kill deaf
        kill
        dead signal 9
        ? spawn B
        ",
        "
        turn 1 completed, 1 results, unclean
        A completed
        ",
    );
}
