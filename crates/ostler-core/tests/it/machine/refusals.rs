//! What must not be tried again by itself, and what is told of it.

use super::script::check;

/// A turn of a generation that begins with this delivery.
fn turn(delivery: &str, how: &str) -> String {
    format!(
        "
        spawn {delivery}
        write {delivery}
        < running
        < queued {delivery}
        < started {delivery}
        < init
        < result {how} for={delivery}
        < cancelled {delivery}
        < idle
        settled
        ending settled
        dead code 1
        "
    )
}

#[test]
fn cases_68_to_70_the_same_refusal_of_two_generations_parks_and_a_message_is_tried_once_more() {
    let (first, second) =
        (turn("A", "api_error status=400 said=bad_block"), turn("B", "api_error status=400 said=bad_block"));
    let third = turn("C", "api_error status=400 said=bad_block");
    check(
        &format!(
            "
            pending A B
            {first}
            ? spawn B
            {second}
            ? park poisoned transcript
            parked poisoned
            pending A B
            ? nothing
            +10
            pending C
            ? spawn C
            {third}
            ? park poisoned transcript
            "
        ),
        "
        turn 1 failed, because api_error, 1 results
        turn 2 failed, because api_error, 1 results
        turn 3 failed, because api_error, 1 results
        A failed
        B failed
        C failed
        ",
    );
}

#[test]
fn what_differs_in_numbers_alone_is_the_same_refusal_and_another_one_is_not() {
    let first = turn("A", "api_error status=400 said=messages.12.bad");
    let second = turn("B", "api_error status=400 said=messages.14.bad");
    check(
        &format!("{first} {second} \n ? park poisoned transcript"),
        "
        turn 1 failed, because api_error, 1 results
        turn 2 failed, because api_error, 1 results
        A failed
        B failed
        ",
    );
    let other = turn("B", "api_error status=413 said=too_long");
    check(
        &format!("{first} {other} \n ? nothing"),
        "
        turn 1 failed, because api_error, 1 results
        turn 2 failed, because api_error, 1 results
        A failed
        B failed
        ",
    );
}

#[test]
fn a_turn_that_succeeds_in_between_and_a_fault_of_the_server_speak_against_poison() {
    let (bad, good) = (turn("A", "api_error status=400 said=x"), turn("B", "success"));
    let (again, broken) =
        (turn("C", "api_error status=400 said=x"), turn("D", "api_error status=529 said=x"));
    let more = turn("E", "api_error status=529 said=x");
    check(
        &format!("{bad} {good} {again} \n ? nothing\n {broken} {more} \n ? nothing"),
        "
        turn 1 failed, because api_error, 1 results
        turn 2 completed, 1 results, unclean
        turn 3 failed, because api_error, 1 results
        turn 4 failed, because api_error, 1 results
        turn 5 failed, because api_error, 1 results
        A failed
        B cancelled
        C failed
        D failed
        E failed
        ",
    );
}

#[test]
fn cases_120_and_123_a_limit_and_a_refused_credential_are_kinds_of_their_own_by_structured_fields() {
    let limit = turn("A", "api_error status=429");
    let auth = turn("B", "api_error status=401");
    check(
        &format!(
            "
            {limit} {auth}
            spawn C
            write C
            < running
            < queued C
            < started C
            < init
            < refused rate_limit api
            < result api_error for=C
            < cancelled C
            < idle
            settled
            "
        ),
        "
        turn 1 failed, because rate_limit, 1 results
        turn 2 failed, because authentication, 1 results
        turn 3 failed, because rate_limit, 1 results
        A failed
        B failed
        C failed
        ",
    );
}

#[test]
fn a_child_that_dies_again_and_again_without_a_result_parks_the_session() {
    let mut journal = String::from("pending A B C D E\n");
    for delivery in ["A", "A", "B", "B", "C", "C", "D", "D"] {
        journal += &format!(
            "? spawn {delivery}\nspawn {delivery}\nwrite {delivery}\n< running\n< queued {delivery}\n< started {delivery}\n< init\ndead signal 9\nsettled\n"
        );
    }
    journal += "? park crash loop\nparked crashes\n? nothing\n+5\npending E F\n? spawn E\n";
    let turns: String = (1..=8).map(|n| format!("turn {n} unfinished, because signal 9\n")).collect();
    check(&journal, &format!("{turns}A failed\nB failed\nC failed\nD failed\n"));
}

#[test]
fn while_a_limit_stands_nothing_begins_and_the_child_leaves() {
    check(
        "
        spawn A
        write A
        pending B
        < running
        < queued A
        < started A
        < init
        limit on
        # It goes into the running turn.
        ? write B
        pending
        < result api_error status=429 for=A
        < cancelled A
        < idle
        settled
        pending B
        ? end settled
        ending settled
        dead code 1
        ? nothing
        limit off
        ? spawn B
        ",
        "
        turn 1 failed, because rate_limit, 1 results
        A failed
        ",
    );
}
