//! Themes B and C of the field's failures, as far as they are the machine's: the control channel and questions.

use super::script::check;

const ASKING: &str = "
    spawn A
    write A
    < running
    < queued A
    < started A
    < init
    < tool t-r1
    < requires_action
    < asks r1
";

#[test]
fn case_27_a_request_that_nobody_knows_is_refused_at_once() {
    check(
        "
        spawn A
        write A
        < queued A
        < {\"type\":\"control_request\",\"request_id\":\"r9\",\"request\":{\"subtype\":\"something_new\"}}
        ? refuse r9
        answer r9
        ? nothing
        < {\"type\":\"control_request\",\"request_id\":\"r10\",\"request\":{\"subtype\":\"remote_something\"}}
        ? nothing
        ",
        "
        turn 1 open
        A queued
        r9 answered
        ",
    );
}

#[test]
fn case_32_no_time_allows_anything() {
    check(&format!("{ASKING} +86400000\n ? nothing"), "turn 1 open\n A started\n r1 open");
}

#[test]
fn the_first_decision_wins() {
    check(
        &format!(
            "{ASKING}
            stored r1 deny
            ? answer r1 deny
            decided r1 deny
            decided r1 allow
            answer r1
            ? nothing"
        ),
        "turn 1 open, 1 denials\n A started\n r1 answered deny",
    );
}

#[test]
fn a_policy_answers_tools_and_leaves_questions_to_people() {
    check(&format!("{ASKING} policy allow\n ? answer r1 allow"), "turn 1 open\n A started\n r1 open");
    let question = ASKING.replace("asks r1", "asks r1 tool=AskUserQuestion");
    check(&format!("{question} policy allow\n ? nothing"), "turn 1 open\n A started\n r1 open");
    check(&format!("{question} policy deny\n ? answer r1 deny"), "turn 1 open\n A started\n r1 open");
    let person = r#"< {"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Mail","input":{},"tool_use_id":"t","requires_user_interaction":true}}"#;
    let person = ASKING.replace("< asks r1", person);
    check(&format!("{person} policy allow\n ? nothing"), "turn 1 open\n A started\n r1 open");
}

#[test]
fn case_34_a_question_that_is_taken_back_is_answered_no_more() {
    check(
        &format!("{ASKING} < cancels r1\n stored r1 allow\n ? nothing"),
        "turn 1 open\n A started\n r1 withdrawn, cancelled",
    );
    check(
        &format!("{ASKING} decided r1 allow\n < cancels r1\n ? nothing"),
        "turn 1 open\n A started\n r1 withdrawn allow, cancelled",
    );
}

#[test]
fn case_34_questions_end_with_an_interrupt_and_with_their_child() {
    check(
        &format!("{ASKING} ask i interrupt\n < ok i\n < result aborted for=A\n"),
        "turn 1 open, 1 results\n A started\n r1 withdrawn, interrupted",
    );
    check(
        &format!("{ASKING} dead signal 9"),
        "turn 1 open, because signal 9\n A started\n r1 withdrawn, death",
    );
}

#[test]
fn case_36_a_decision_that_was_not_written_is_written_by_the_next_controller() {
    check(
        &format!(
            "{ASKING}
            decided r1 allow
            adopted
            ? ask initialize
            ask i initialize
            ? answer r1 allow
            answer r1
            < lists i r1
            ? nothing"
        ),
        "turn 1 open\n A started\n r1 answered allow",
    );
}

#[test]
fn case_36_what_a_child_lists_no_more_is_not_open() {
    let two = format!("{ASKING} < asks r2\n adopted\n ask i initialize\n");
    check(&format!("{two} < lists i r2\n"), "turn 1 open\n A started\n r1 withdrawn, not pending\n r2 open");
    // A reply without a list says nothing about it.
    check(&format!("{two} < ok i\n"), "turn 1 open\n A started\n r1 open\n r2 open");
    check(&format!("{two} < no i\n"), "turn 1 open\n A started\n r1 open\n r2 open");
}

#[test]
fn a_write_that_was_cut_off_is_repeated_or_the_pipe_is_spoiled() {
    check(
        "
        spawn A
        begin A
        adopted
        ? repeat 1
        done 1
        ? ask initialize
        ",
        "turn 1 open\n A written",
    );
    check("spawn A\n begin A\n pipe full\n adopted\n ? nothing", "turn 1 open\n A written");
}

#[test]
fn a_long_line_is_only_the_first_of_a_generation() {
    check(
        "
        spawn A
        write A
        < running
        < queued A
        < started A
        < init
        pending B/long
        ? nothing
        < result success for=A
        < completed A
        < idle
        ? settle
        settled
        ? end settled
        ending settled
        dead code 0
        ? spawn B
        ",
        "turn 1 completed, 1 results\n A completed",
    );
}

#[test]
fn nothing_is_written_behind_end_session() {
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
        ending settled
        ask e end_session
        pending B
        ? nothing
        dead code 0
        ? spawn B
        ",
        "turn 1 completed, 1 results\n A completed",
    );
}

#[test]
fn a_parked_session_is_woken_by_what_comes_later() {
    check(
        "
        spawn A
        write A
        < queued A
        dead signal 9
        settled
        pending A
        parked the disk is full
        ? nothing
        +1
        pending A B
        ? spawn A
        ",
        "turn 1 unfinished, because signal 9\n A queued",
    );
}
