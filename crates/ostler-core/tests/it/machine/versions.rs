//! What CLIs without receipts do (2.1.200), as seen behind the lab.

use super::script::{check, play};

#[test]
fn a_message_that_an_earlier_process_had_is_replayed_and_not_run() {
    check(
        "
        spawn A
        write A
        < running
        < init
        < replay A
        dead signal 9
        settled
        pending A
        spawn A
        write A
        ? ask initialize
        ask i initialize
        < replay A
        < idle
        < ok i
        ? settle
        settled
        ? end settled
        ",
        "
        turn 1 unfinished, because signal 9
        turn 2 unfinished, because cut
        A cut
        ",
    );
}

#[test]
fn a_replay_in_a_second_process_is_no_repeated_line() {
    check(
        "
        spawn A
        write A
        < running
        < init
        < replay A
        dead signal 9
        settled
        spawn A
        write A
        < running
        < init
        < replay A
        < result success
        < idle
        settled
        ",
        "
        turn 1 unfinished, because signal 9
        turn 2 completed, 1 results
        A completed
        ",
    );
}

#[test]
fn a_task_whose_call_has_no_result_yet_runs_in_the_foreground() {
    check(
        "
        spawn A
        write A
        < running
        < init
        < replay A
        < tool c1
        < task f1 call=c1
        < notified f1 call=c1
        < done c1
        < result success
        < idle
        ? settle
        ",
        "turn 1 open, 1 results\n A completed",
    );
}

#[test]
fn a_background_task_is_kept_from_its_own_lines() {
    check(
        "
        spawn A
        write A
        < running
        < init
        < replay A
        < tool c1
        < task b1 call=c1
        < done c1
        < result success
        < idle
        +600000
        ? nothing
        < notified b1 call=c1
        ? nothing
        < running
        < init
        < result success
        < idle
        ? settle
        ",
        "turn 1 open, 2 results\n A completed",
    );
}

#[test]
fn a_local_command_is_not_replayed_and_its_result_is_its_answer() {
    check(
        "
        spawn A
        write A
        write B
        < running
        < clear
        < init 77777777-0000-4000-8000-000000000000
        < result success rounds=0
        < init 77777777-0000-4000-8000-000000000000
        < replay B
        < result api_error
        < idle
        ? settle
        settled
        ",
        "turn 1 failed, because api_error, 2 results\n A completed\n B failed",
    );
}

/// Nothing shows that the first one had begun, and its replay must not fall into the turn of one that says `now`.
#[test]
fn what_an_earlier_process_was_given_goes_before_one_that_says_now() {
    check(
        "
        spawn A
        write A
        < running
        < clear
        dead signal 9
        settled
        pending A B/now
        ? spawn A
        spawn A
        ? write A
        write A
        < replay A
        < idle
        ? write B
        ",
        "
        turn 1 unfinished, because signal 9
        turn 2 open
        A cut
        ",
    );
}

#[test]
fn what_an_earlier_process_was_given_keeps_its_order() {
    play(
        "
        spawn A
        write A
        < running
        < init
        < replay A
        write C
        write B
        dead signal 9
        settled
        pending A B C D/now
        ? spawn A
        spawn A
        write A
        < running
        ? write C
        write C
        ? write B
        ",
    );
}

#[test]
fn the_conversation_after_clear_is_the_one_that_the_next_init_names() {
    let case = play(
        "
        spawn A
        write A
        < queued A
        < started A
        < clear
        < init 77777777-0000-4000-8000-000000000000
        < result success for=A rounds=0
        < completed A
        < init 88888888-0000-4000-8000-000000000000
        ",
    );
    assert_eq!(case.machine.conversation().to_string(), "77777777-0000-4000-8000-000000000000");
}

#[test]
fn an_unknown_quiet_child_settles_by_silence() {
    check(
        "
        spawn A
        write A
        < init
        < replay A
        < result success
        +1999
        ? nothing
        +1
        ? settle
        ",
        "turn 1 open, 1 results\n A completed",
    );
}

#[test]
fn old_transports_end_a_turn_by_their_stop_reason() {
    check(
        r#"
        spawn A
        write A
        < {"role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"tool_use"}
        < {"role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}
        "#,
        "turn 1 open, 1 results\n A written",
    );
    check(
        r#"
        spawn A
        write A
        < init
        < {"role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}
        "#,
        "turn 1 open\n A written",
    );
}
