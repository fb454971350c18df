//! Theme D of the field's failures: interrupt, steer, queue.

use super::script::check;

const RUNNING: &str = "
    spawn A
    write A
    < running
    < queued A
    < started A
    < init
    < tool c1
";

#[test]
fn case_46_an_interrupt_that_is_not_confirmed_kills_and_the_message_never_runs_again_by_itself() {
    check(
        &format!(
            "{RUNNING}
            wish i1
            ? ask i1 interrupt
            ask i1 interrupt
            +4999
            ? nothing
            +1
            ? expire interrupt
            expired interrupt
            ? kill deaf
            kill
            dead signal 9
            ? settle
            settled
            pending A
            ? nothing"
        ),
        "turn 1 interrupted\n A cancelled",
    );
}

#[test]
fn case_46_a_child_that_doesnt_even_read_is_killed_and_the_message_stays_interrupted() {
    check(
        &format!(
            "{RUNNING} pipe full\n wish i1\n ? nothing\n expired interrupt\n ? kill deaf\n dead signal 9\n settled"
        ),
        "turn 1 interrupted\n A cancelled",
    );
}

#[test]
fn case_46_a_confirmed_interrupt_that_comes_to_nothing_ends_too() {
    check(
        &format!("{RUNNING} ask i1 interrupt\n < ok i1\n +29999\n ? nothing\n +1\n ? expire interrupt"),
        "turn 1 open\n A started",
    );
}

#[test]
fn case_48_an_interrupted_turn_is_no_failure() {
    for line in
        ["result aborted for=A", "result execution for=A", "result api_error for=A", "result now for=A"]
    {
        check(
            &format!(
                "{RUNNING} ask i1 interrupt\n < ok i1\n < {line}\n < cancelled A\n < idle\n ? settle\n settled"
            ),
            "turn 1 interrupted, 1 results\n A cancelled",
        );
    }
}

#[test]
fn aborted_comes_before_is_error_even_when_nobody_here_interrupted() {
    for line in ["result aborted for=A", "result now for=A"] {
        check(
            &format!("{RUNNING} < {line}\n < cancelled A\n < idle\n settled"),
            "turn 1 interrupted, 1 results\n A cancelled",
        );
    }
}

#[test]
fn an_interrupt_that_comes_too_late_leaves_a_success() {
    check(
        &format!(
            "{RUNNING} ask i1 interrupt\n < result success for=A\n < ok i1\n < completed A\n < idle\n settled"
        ),
        "turn 1 completed, 1 results\n A completed",
    );
}

#[test]
fn case_50_what_was_queued_behind_an_interrupt_runs_and_is_not_interrupted() {
    check(
        &format!(
            "{RUNNING}
            write B
            < queued B
            ask i1 interrupt
            < ok i1 queued=B
            pending A B C
            ? nothing
            < result aborted for=A
            ? write C
            < cancelled A
            < started B
            < init
            pending A B
            ? nothing
            < result success for=B
            < completed B
            < idle
            ? settle
            settled"
        ),
        "turn 1 completed, 2 results\n A cancelled\n B completed",
    );
}

#[test]
fn case_50_the_same_without_receipts() {
    check(
        "
        spawn A
        write A
        < running
        < init
        < replay A
        write B
        write C
        ask i1 interrupt
        < ok i1
        < result aborted
        < replay B
        < init
        < replay C
        < result success
        < idle
        ? settle
        settled
        ",
        "turn 1 completed, 2 results\n A cancelled\n B completed\n C completed",
    );
}

#[test]
fn what_was_kept_in_the_queue_is_offered_again_after_a_deaf_child() {
    check(
        &format!(
            "{RUNNING} write B\n < queued B\n ask i1 interrupt\n expired interrupt\n kill\n dead signal 9\n settled\n pending B\n ? spawn B"
        ),
        "turn 1 interrupted\n A cancelled\n B queued",
    );
}

#[test]
fn an_interrupt_before_the_turn_started_is_sent_once_more() {
    check(
        "
        spawn A
        write A
        wish i1
        ? ask i1 interrupt
        ask i1 interrupt
        < running
        < queued A
        < ok i1 queued=A
        ? nothing
        < started A
        ? ask i1-again interrupt
        ask i1-again interrupt
        < init
        ? nothing
        < ok i1-again
        < result aborted for=A
        < cancelled A
        < idle
        ? settle
        settled
        ",
        "turn 1 interrupted, 1 results\n A cancelled",
    );
}

#[test]
fn an_interrupt_before_the_turn_that_lists_nothing_may_yet_take_effect() {
    let early = "
        spawn A
        write A
        ask i1 interrupt
        < running
        < ok i1
        < init
        < replay A
        ? nothing
    ";
    check(
        &format!("{early} < result aborted\n < idle\n settled"),
        "turn 1 interrupted, 1 results\n A cancelled",
    );
    check(
        &format!("{early} < message m1 m 1/1/0/0/0\n ? ask i1-again interrupt"),
        "turn 1 open\n A started\n 1 m 1/1/0/0/0 $? estimated",
    );
}

#[test]
fn an_interrupt_while_only_background_work_lives_blocks_nothing() {
    for state in ["idle", "running"] {
        check(
            &format!(
                "
                spawn A
                write A
                < running
                < queued A
                < started A
                < init
                < tasks b1
                < result success for=A
                < completed A
                < {state}
                ask i1 interrupt
                < ok i1
                +600000
                ? nothing
                pending B
                ? write B
                write B
                < running
                < queued B
                < started B
                < init
                ? nothing
                "
            ),
            "turn 1 open, 1 results\n A completed\n B started",
        );
    }
}

#[test]
fn a_refused_interrupt_is_over() {
    check(
        &format!("{RUNNING} wish i1\n ask i1 interrupt\n < no i1\n ? nothing\n pending B\n ? write B"),
        "turn 1 open\n A started",
    );
}

#[test]
fn a_second_wish_waits_for_the_first_interrupt() {
    check(
        &format!(
            "{RUNNING} ask i1 interrupt\n wish i2\n ? nothing\n < ok i1\n ? nothing\n < result aborted for=A\n ? ask i2 interrupt"
        ),
        "turn 1 open, 1 results\n A started",
    );
}

#[test]
fn messages_that_a_child_took_back_before_they_ran_were_interrupted() {
    check(
        "
        spawn A
        write A
        < running
        < queued A
        ask i1 interrupt
        < ok i1
        < cancelled A
        ? nothing
        < idle
        ? settle
        settled
        ",
        "turn 1 interrupted\n A cancelled",
    );
}

#[test]
fn a_stop_in_the_middle_of_a_turn_interrupts_everything_it_was_given() {
    check(
        &format!(
            "{RUNNING}
            write B
            < queued B
            stop
            pending A B C
            ? end stop
            ending stop
            ? ask end_session
            ask e end_session
            ? nothing
            < ok e
            < result aborted for=A
            < cancelled A
            < idle
            < discarded B
            dead code 1
            ? settle
            settled
            ? nothing"
        ),
        "turn 1 interrupted, 1 results\n A cancelled\n B discarded",
    );
}

#[test]
fn a_stop_that_has_to_kill_leaves_nothing_to_run_again() {
    check(
        &format!(
            "{RUNNING}
            write B
            pipe full
            ending stop
            ? nothing
            +5000
            ? expire end
            expired end
            ? kill enddeadline
            kill
            dead signal 9
            settled
            pending A B
            ? nothing"
        ),
        "turn 1 interrupted\n A cancelled\n B cancelled",
    );
}

#[test]
fn case_51_a_message_steers_feeds_or_waits() {
    check(
        &format!(
            "{RUNNING}
            pending B
            ? write B
            pending B/queue
            ? nothing
            < result success for=A
            < completed A
            < idle
            ? settle
            settled
            ? write B
            write B
            ? nothing"
        ),
        "turn 1 completed, 1 results\n turn 2 open\n A completed\n B written",
    );
}

#[test]
fn case_51_a_line_that_the_child_drops_is_not_an_answer() {
    // Nothing but silence for a new message on a CLI without receipts: it has read it, and it is at rest.
    check(
        "
        spawn A
        write A
        < running
        < init
        < replay A
        < result success
        < idle
        write B
        +2000
        ? ask initialize
        ask i initialize
        < ok i
        +2000
        ? expire quiet
        expired quiet
        ? settle
        settled
        ",
        "turn 1 completed, 1 results\n A completed\n B cut",
    );
}

#[test]
fn what_a_dead_child_had_begun_with_is_not_taken_back_as_unseen() {
    let begun = "
        spawn A
        write A
        write B
        < queued A
        < started A
        < queued B
        dead signal 9
        settled
    ";
    let back = "cancelled A\n cancelled B";
    check(&format!("{begun} {back}"), "turn 1 unfinished, because signal 9\n A cut\n B cancelled");
    // One that goes on with the conversation, and has it in its queue, knows better.
    let again = "spawn A\n write A\n < queued A\n cancel A\n < gives c-A true\n < cancelled A";
    check(
        &format!("{begun} {again}"),
        "turn 1 unfinished, because signal 9\n turn 2 open\n A cancelled\n B queued",
    );
}
