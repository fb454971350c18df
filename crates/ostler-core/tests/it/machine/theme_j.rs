//! Theme J of the field's failures, as far as the meter goes.

use super::script::check;

const STARTED: &str = "
    write A
    < queued A
    < started A
    < init
";

#[test]
fn case_106_totals_are_cumulative() {
    check(
        &format!(
            "spawn A {STARTED}
            < result success for=A m=10/7/5/100/0/0.5
            < completed A
            write B
            < started B
            < result success for=B m=20/14/10/200/0/1.0"
        ),
        "turn 1 open, 2 results\n A completed\n B started\n 1 m 20/14/10/200/0 $1.0000 reported",
    );
}

#[test]
fn case_107_a_restored_total_is_not_paid_again() {
    check(
        &format!(
            "spawn A base=m:100/50/0/400/0/2.0 {STARTED}
            < message m1 m 10/1/5/0/30
            < delta 7
            < result success for=A m=110/57/5/400/30/2.25"
        ),
        "turn 1 open, 1 results\n A started\n 1 m 10/7/5/0/30 $0.2500 restored_difference",
    );
}

#[test]
fn case_107_a_process_that_starts_from_0_is_told_apart_by_its_tokens() {
    for base in ["100/50/0/400/0/2.0", "3/2/1/0/0/0.01"] {
        check(
            &format!(
                "spawn A base=m:{base} {STARTED}
                < message m1 m 10/1/5/0/30
                < delta 7
                < result success for=A m=10/7/5/0/30/0.25"
            ),
            "turn 1 open, 1 results\n A started\n 1 m 10/7/5/0/30 $0.2500 reported",
        );
    }
}

#[test]
fn case_107_the_first_result_may_be_an_interrupted_one() {
    check(
        &format!(
            "spawn A base=m:3/2/1/0/0/0.01 {STARTED}
            < message m1 m 10/1/5/0/30
            ask i interrupt
            < ok i
            < result aborted for=A used=0/0/0/0/0 m=13/5/6/0/30/0.26"
        ),
        "turn 1 open, 1 results\n A started\n 1 m 10/3/5/0/30 $0.2500 restored_difference",
    );
}

#[test]
fn case_107_nothing_was_spent_by_a_process_that_only_restored() {
    check(
        &format!("spawn A base=m:100/50/0/400/0/2.0 {STARTED} < result api_error for=A m=100/50/0/400/0/2.0"),
        "turn 1 open, 1 results\n A started",
    );
}

#[test]
fn a_model_that_comes_later_has_a_row_of_its_own() {
    check(
        &format!(
            "spawn A base=m:100/50/0/400/0/2.0 {STARTED}
            < message m1 m 10/1/0/0/0
            < result success for=A m=110/51/0/400/0/2.1
            < completed A
            write B
            < started B
            < result success for=B m=110/51/0/400/0/2.1 n=5/5/5/0/0/0.3"
        ),
        "
        turn 1 open, 2 results
        A completed
        B started
        1 m 10/1/0/0/0 $0.1000 restored_difference
        1 n 5/5/5/0/0 $0.3000 restored_difference
        ",
    );
}

#[test]
fn case_108_a_killed_turn_is_never_free() {
    check(
        &format!(
            "spawn A {STARTED} < message m1 m 10/1/5/0/30\n < delta 7\n < message m2 m 2/1/40/0/0\n dead signal 9"
        ),
        "turn 1 open, because signal 9\n A started\n 1 m 12/8/45/0/30 $? estimated",
    );
    // What was reported before stays the least that it can be.
    check(
        &format!(
            "spawn A {STARTED}
            < result success for=A m=10/7/5/0/0/0.5
            < completed A
            write B
            < started B
            < message m2 m 2/1/40/0/0
            dead signal 9"
        ),
        "turn 1 open, because signal 9, 1 results\n A completed\n B started\n 1 m 12/8/45/0/0 $0.5000 estimated",
    );
}

#[test]
fn case_108_an_interrupted_request_that_the_totals_leave_out_is_estimated() {
    // 2.1.200: `modelUsage` stays as it was.
    check(
        &format!(
            "spawn A {STARTED}
            < message m1 m 10/1/5/0/30
            ask i interrupt
            < ok i
            < result aborted for=A total=0 used=0/0/0/0/0"
        ),
        "turn 1 open, 1 results\n A started\n 1 m 10/1/5/0/30 $? estimated",
    );
}

#[test]
fn a_later_line_without_a_split_is_no_second_cache_write() {
    check(
        &format!(
            "spawn A {STARTED}
            < message m1 m 10/1/5/0/30
            < {{\"type\":\"stream_event\",\"uuid\":\"d\",\"event\":{{\"type\":\"message_delta\",\"delta\":{{}},\"usage\":{{\"input_tokens\":10,\"cache_creation_input_tokens\":30,\"cache_read_input_tokens\":5,\"output_tokens\":9}}}}}}
            dead signal 9"
        ),
        "turn 1 open, because signal 9\n A started\n 1 m 10/9/5/0/30 $? estimated",
    );
}

#[test]
fn case_110_every_message_of_a_killed_turn_counts_once() {
    // Several lines share one message; a subagent's lane is its own.
    let line = |id: &str, lane: &str, input: u32| {
        format!(
            "< {{\"type\":\"assistant\",\"uuid\":\"{id}-{input}\",\"parent_tool_use_id\":{lane},\"message\":{{\"id\":\"{id}\",\"model\":\"m\",\"role\":\"assistant\",\"content\":[],\"usage\":{{\"input_tokens\":{input},\"output_tokens\":1}}}}}}"
        )
    };
    let lines =
        [line("m1", "null", 10), line("m1", "null", 10).replace("m1-10", "again"), line("s1", "\"c1\"", 4)];
    check(
        &format!("spawn A {STARTED} {}\n dead signal 9", lines.join("\n")),
        "turn 1 open, because signal 9\n A started\n 1 m 14/2/0/0/0 $? estimated",
    );
}

#[test]
fn case_112_a_sum_without_models_is_booked_on_the_model_that_ran() {
    check(
        &format!(
            "spawn A {STARTED} < message m1 m 10/1/5/0/0\n < delta 7\n < result success for=A total=0.75"
        ),
        "turn 1 open, 1 results\n A started\n 1 m 10/7/5/0/0 $0.7500 reported",
    );
}

#[test]
fn lines_that_the_child_writes_itself_cost_nothing() {
    check(
        &format!(
            "spawn A {STARTED}
            < {{\"type\":\"assistant\",\"uuid\":\"s\",\"message\":{{\"id\":\"s\",\"model\":\"<synthetic>\",\"role\":\"assistant\",\"content\":[],\"usage\":{{\"input_tokens\":0,\"output_tokens\":0}}}}}}
            dead code 1"
        ),
        "turn 1 open, because exit 1\n A started",
    );
}

#[test]
fn clear_inside_a_process_keeps_what_was_spent_before_it() {
    // Newer CLIs begin again at 0.
    check(
        &format!(
            "spawn A base=m:100/50/0/400/0/2.0 {STARTED}
            < message m1 m 10/1/5/0/0
            < delta 7
            < result success for=A m=110/57/5/400/0/2.5
            < completed A
            write B
            < started B
            < clear
            < init
            < result success for=B rounds=0 total=0
            < completed B
            write C
            < started C
            < message m2 m 3/1/0/0/0
            < delta 2
            < result success for=C m=3/2/0/0/0/0.25"
        ),
        "
        turn 1 open, 3 results
        A completed
        B completed
        C started
        1 m 13/9/5/0/0 $0.7500 reported
        ",
    );
    // 2.1.200 goes on.
    check(
        &format!(
            "spawn A {STARTED}
            < message m1 m 10/1/5/0/0
            < delta 7
            < result success for=A m=10/7/5/0/0/0.5
            < completed A
            write B
            < started B
            < clear
            < init
            < result success for=B rounds=0 m=10/7/5/0/0/0.5
            < completed B
            write C
            < started C
            < message m2 m 3/1/0/0/0
            < delta 2
            < result success for=C m=13/9/5/0/0/0.75"
        ),
        "
        turn 1 open, 3 results
        A completed
        B completed
        C started
        1 m 13/9/5/0/0 $0.7500 reported
        ",
    );
}

#[test]
fn totals_that_jump_back_without_a_reason_are_never_a_refund() {
    check(
        &format!(
            "spawn A {STARTED}
            < message m1 m 10/1/5/0/0
            < delta 7
            < result success for=A m=10/7/5/0/0/0.5
            < completed A
            write B
            < started B
            < message m2 m 3/1/0/0/0
            < delta 2
            < result success for=B m=3/2/0/0/0/0.25"
        ),
        "turn 1 open, 2 results\n A completed\n B started\n 1 m 13/9/5/0/0 $0.7500 estimated",
    );
}

#[test]
fn each_generation_has_its_own_rows() {
    check(
        &format!(
            "spawn A {STARTED}
            < result success for=A m=10/7/5/0/0/0.5
            < completed A
            < idle
            settled
            ending settled
            dead code 0
            spawn B base=m:10/7/5/0/0/0.5
            write B
            < started B
            < message m2 m 3/1/0/0/0
            < delta 2
            < result success for=B m=13/9/5/0/0/0.75"
        ),
        "
        turn 1 completed, 1 results
        turn 2 open, 1 results
        A completed
        B started
        1 m 10/7/5/0/0 $0.5000 reported
        2 m 3/2/0/0/0 $0.2500 restored_difference
        ",
    );
}
