//! Theme A of the field's failures: turn end, process end, and silence. The numbers are those of the fault list.

use super::script::check;

#[test]
fn case_1_a_child_that_stays_behind_its_result_is_ended_and_the_turn_was_over_long_before() {
    check(
        "
        spawn A
        write A
        < running
        < queued A
        < started A
        < init
        < result success for=A
        < completed A
        ? nothing
        < idle
        ? settle
        settled
        ? end settled
        ending settled
        ? ask end_session
        ask e end_session
        +4999
        ? nothing
        +1
        ? expire end
        expired end
        ? kill enddeadline
        kill
        ? nothing
        dead signal 9
        ? nothing
        ",
        "
        turn 1 completed, 1 results, unclean
        A completed
        ",
    );
}

#[test]
fn case_2_a_child_that_waits_for_background_work_is_not_stalled() {
    check(
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
        < idle
        +3000000
        ? nothing
        ",
        "
        turn 1 open, 1 results
        A completed
        ",
    );
}

#[test]
fn case_3_an_exit_of_143_behind_the_result_changes_no_outcome() {
    for exit in ["code 143", "code 137", "signal 15", "code 1"] {
        check(
            &format!(
                "
                spawn A
                write A
                < queued A
                < started A
                < init
                < result success for=A
                < completed A
                < idle
                settled
                ending settled
                dead {exit}
                "
            ),
            "
            turn 1 completed, 1 results, unclean
            A completed
            ",
        );
    }
}

#[test]
fn case_3_exit_1_behind_a_failed_result_says_nothing_new() {
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < init
        < result api_error for=A
        < cancelled A
        < idle
        settled
        pending B
        ? write B
        write B
        < queued B
        < started B
        < init
        < result success for=B
        < completed B
        < idle
        settled
        ending settled
        dead code 1
        ",
        "
        turn 1 failed, because api_error, 1 results
        turn 2 completed, 1 results
        A failed
        B completed
        ",
    );
}

#[test]
fn case_5_death_by_a_signal_is_never_a_success() {
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < init
        dead signal 9
        ? settle
        settled
        pending A
        ? spawn A
        ",
        "
        turn 1 unfinished, because signal 9
        A started
        ",
    );
}

#[test]
fn case_9_a_finished_background_task_wakes_a_turn_before_anything_settles() {
    // The list is empty and the child says idle, 50 ms before it begins again by itself.
    check(
        "
        spawn A
        write A
        < running
        < queued A
        < started A
        < init
        < tool c1
        < tasks b1
        < done c1
        < result success for=A
        < completed A
        < idle
        ? nothing
        +60000
        < notified b1 call=c1
        < tasks
        ? nothing
        +50
        ? nothing
        < running
        < init
        ? nothing
        < result success rounds=1
        ? nothing
        < idle
        ? settle
        settled
        ? end settled
        ",
        "
        turn 1 completed, 2 results
        A completed
        ",
    );
}

#[test]
fn case_9_a_notification_that_wakes_nothing_holds_the_turn_for_five_seconds() {
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < init
        < tasks b1
        < result success for=A
        < completed A
        < idle
        < notified b1
        < tasks
        +4999
        ? nothing
        +1
        ? expire notification
        expired notification
        ? settle
        ",
        "
        turn 1 open, 1 results
        A completed
        ",
    );
}

#[test]
fn case_9_a_list_that_empties_before_its_notification_holds_the_turn_too() {
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < init
        < tasks b1
        < result success for=A
        < completed A
        < idle
        < tasks
        ? nothing
        < notified b1
        +4999
        ? nothing
        < init
        < result success
        < idle
        ? settle
        ",
        "
        turn 1 open, 2 results
        A completed
        ",
    );
}

#[test]
fn case_9_a_task_whose_end_was_told_inside_the_turn_wakes_nothing() {
    check(
        "
        spawn A
        write A
        < running
        < queued A
        < started A
        < init
        < tasks b1
        < tool c2
        < notified b1
        < tasks
        < done c2
        < told b1
        < result success for=A
        < completed A
        < idle
        ? settle
        ",
        "
        turn 1 open, 1 results
        A completed
        ",
    );
}

#[test]
fn case_9_a_task_that_ends_while_the_answer_streams_wakes_the_next_turn() {
    check(
        "
        spawn A
        write A
        < running
        < queued A
        < started A
        < init
        < tasks b1
        +10000
        < notified b1
        < tasks
        +20000
        < result success for=A
        < completed A
        ? nothing
        < init
        < result success
        < idle
        ? settle
        ",
        "
        turn 1 open, 2 results
        A completed
        ",
    );
}

#[test]
fn a_turn_that_begins_by_itself_while_nothing_is_open_is_a_turn() {
    // Both lines are read before anybody asks what to do: the answer must not get lost.
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < init
        < result success for=A
        < completed A
        < idle
        settled
        < running
        < init
        < result success
        < idle
        ? begin turn
        began
        ? settle
        settled
        ",
        "
        turn 1 completed, 1 results
        turn 2 completed, 1 results
        A completed
        ",
    );
}

#[test]
fn a_turn_that_had_begun_by_itself_is_not_lost_with_its_child() {
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < init
        < result success for=A
        < completed A
        < idle
        settled
        < init
        dead signal 9
        ? settle
        settled
        ",
        "
        turn 1 completed, 1 results
        turn 2 unfinished, because signal 9
        A completed
        ",
    );
}

#[test]
fn case_12_a_clean_end_without_a_result_is_unfinished() {
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < init
        < tool c1
        dead code 0
        settled
        ",
        "
        turn 1 unfinished, because exit 0
        A started
        ",
    );
}

#[test]
fn case_12_a_result_that_cannot_be_read_is_not_waited_for_and_is_no_success() {
    check(
        "
        spawn A
        write A
        < running
        < queued A
        < started A
        < init
        < {\"type\":\"result\",\"subtype\":\"succ
        < completed A
        < idle
        ? settle
        settled
        ",
        "
        turn 1 unfinished, because no readable result, garbled
        A completed
        ",
    );
}

#[test]
fn case_14_compaction_is_no_hang_and_death_during_it_counts_at_once() {
    check(
        "
        spawn A
        write A
        < running
        < queued A
        < started A
        < {\"type\":\"system\",\"subtype\":\"status\",\"status\":\"compacting\",\"uuid\":\"c\"}
        +180000
        ? nothing
        dead signal 11
        settled
        ",
        "
        turn 1 unfinished, because signal 11
        A started
        ",
    );
}

#[test]
fn case_17_a_shell_that_never_ends_is_given_up_after_its_limit_and_counted_once() {
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < init
        < tasks b1
        < result success for=A
        < completed A
        < idle
        +3599999
        ? nothing
        +1
        ? expire shells
        expired shells
        ? settle 1
        settled 1
        pending B
        ? write B
        write B
        < queued B
        < started B
        < init
        < result success for=B
        < completed B
        < idle
        ? settle
        settled
        ",
        "
        turn 1 completed, 1 results, 1 killed
        turn 2 completed, 1 results
        A completed
        B completed
        ",
    );
}

#[test]
fn case_17_a_task_that_lives_when_its_child_dies_was_killed() {
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < init
        < tasks b1 b2
        < result success for=A
        < completed A
        < idle
        dead signal 9
        ? settle 2
        settled 2
        ",
        "
        turn 1 completed, 1 results, 2 killed, unclean
        A completed
        ",
    );
}

#[test]
fn case_18_tasks_that_the_child_kills_itself_are_flagged() {
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < init
        < tasks b1
        < result success for=A
        < completed A
        < notified b1 status=killed
        < tasks
        < idle
        expired notification
        settled
        ",
        "
        turn 1 completed, 1 results, 1 killed
        A completed
        ",
    );
}

#[test]
fn case_20_a_reply_that_a_hook_provokes_while_agents_run_is_not_the_end() {
    check(
        "
        spawn A
        write A
        < running
        < queued A
        < started A
        < init
        < tasks a1
        < result success for=A
        < completed A
        < init
        < result success
        < idle
        ? nothing
        < notified a1
        < tasks
        < init
        < result success
        < idle
        ? settle
        ",
        "
        turn 1 open, 3 results
        A completed
        ",
    );
}

#[test]
fn receipts_come_after_the_result_and_are_waited_for() {
    // The second message is in the queue when the first result comes; without state lines only its receipt says so.
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < init
        write B
        < queued B
        < result success for=A
        < completed A
        +2500
        ? nothing
        < started B
        < init
        < result success for=B
        +2500
        ? nothing
        < completed B
        +2500
        ? settle
        ",
        "
        turn 1 open, 2 results
        A completed
        B completed
        ",
    );
}

#[test]
fn a_steered_message_has_its_receipt_before_its_result() {
    for (kind, turn, end) in [
        ("success", "completed", "completed"),
        ("max_turns", "failed, because max_turns", "failed"),
        ("aborted", "interrupted", "cancelled"),
    ] {
        check(
            &format!(
                "
                spawn A
                write A
                < queued A
                < started A
                < init
                < tool c1
                write B
                < queued B
                < done c1
                < started B
                < completed B
                < result {kind} for=A,B
                < completed A
                < idle
                settled
                "
            ),
            &format!(
                "
                turn 1 {turn}, 1 results
                A {end}
                B {end}
                "
            ),
        );
    }
}

#[test]
fn a_second_result_of_a_turn_does_not_decide_about_the_first_message() {
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < init
        write B
        < queued B
        < result success for=A
        < started B
        < init
        < result api_error for=B
        < completed A
        < cancelled B
        < idle
        settled
        ",
        "
        turn 1 failed, because api_error, 2 results
        A completed
        B failed
        ",
    );
}

#[test]
fn death_between_a_result_and_its_receipt_loses_neither() {
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < init
        write B
        < queued B
        < result success for=A
        dead signal 9
        settled
        pending B
        ? spawn B
        ",
        "
        turn 1 completed, 1 results, unclean
        A completed
        B queued
        ",
    );
}

#[test]
fn what_the_transcript_already_has_was_cut_off_earlier() {
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < init
        dead signal 9
        settled
        pending A
        ? spawn A
        spawn A
        write A
        ? ask initialize
        ask i initialize
        < completed A
        < ok i
        +2000
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
fn a_message_is_offered_to_two_children_and_not_to_a_third() {
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        dead signal 9
        settled
        pending A
        spawn A
        write A
        < queued A
        < started A
        dead signal 9
        settled
        ? nothing
        ",
        "
        turn 1 unfinished, because signal 9
        turn 2 unfinished, because signal 9
        A failed
        ",
    );
}

#[test]
fn a_child_that_ends_without_a_word_is_not_started_again_for_the_same_message() {
    // A wrapper's noise is no word of the child's.
    check(
        "
        spawn A
        write A
        < !npm notice: installing
        dead code 1
        settled
        pending A
        ? nothing
        ",
        "
        turn 1 unfinished, because exit 1, garbled
        A failed
        ",
    );
}

#[test]
fn a_child_that_gives_no_sign_of_life_is_killed() {
    check(
        "
        spawn A
        write A
        < !this is not a message
        +59999
        ? nothing
        +1
        ? expire start
        expired start
        ? kill startdeadline
        ",
        "
        turn 1 open, garbled
        A written
        ",
    );
}

#[test]
fn a_child_at_rest_that_reads_nothing_is_asked_and_then_given_up() {
    check(
        "
        spawn A
        write A
        < running
        < queued A
        < started A
        < init
        < result success for=A
        < completed A
        < idle
        write B
        +59999
        ? nothing
        +1
        ? ask initialize
        ask i initialize
        +59999
        ? nothing
        +1
        ? expire answer
        expired answer
        ? kill deaf
        kill
        dead signal 9
        settled
        pending B
        ? spawn B
        ",
        "
        turn 1 completed, 1 results, unclean
        A completed
        B written
        ",
    );
}

#[test]
fn a_repeated_line_changes_nothing() {
    check(
        "
        spawn A
        write A
        < queued A
        < started A
        < {\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"uuid\":\"twice\",\"num_turns\":1,\"modelUsage\":{\"m\":{\"inputTokens\":5,\"costUSD\":1}}}
        < {\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"uuid\":\"twice\",\"num_turns\":1,\"modelUsage\":{\"m\":{\"inputTokens\":9,\"costUSD\":2}}}
        ",
        "
        turn 1 open, 1 results
        A started
        1 m 5/0/0/0/0 $1.0000 reported
        ",
    );
}
