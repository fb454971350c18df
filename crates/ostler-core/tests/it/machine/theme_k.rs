//! Theme K: what a fork finds in the prompt cache.

use super::script::play;

const STARTED: &str = "
    write A
    < queued A
    < started A
    < init
    < running
";

#[test]
fn case_115_a_forks_first_line_is_compared_with_what_it_had_to_read() {
    for (numbers, verdict) in [
        ("1000/5", "hit 1000/1000/5"),
        ("1200/5", "hit 1000/1200/5"),
        ("999/5", "partial 1000/999/5"),
        ("500/500", "partial 1000/500/500"),
        ("499/501", "miss 1000/499/501"),
        ("0/1000", "miss 1000/0/1000"),
    ] {
        let seen = verdict.split_once(' ').unwrap().1;
        let journal = format!(
            "spawn A\n forks 1000\n {STARTED}
             ? nothing
             < reads 7/7 lane=task
             ? nothing
             < reads {numbers}
             ? cache {verdict}
             cache {seen}
             < reads 0/9
             ? nothing"
        );
        let case = play(&journal);
        let rows = case.machine.project();
        let cache = rows.generations[0].cache.expect("it was noted");
        assert_eq!(format!("{}/{}/{}", cache.expected, cache.read, cache.written), seen);
        assert!(case.machine.cache_known());
    }
}

#[test]
fn a_miss_is_interrupted_where_that_is_wanted_and_only_once() {
    play(&format!(
        "spawn A\n forks 1000 interrupt\n {STARTED}
         < reads 10/990
         pipe full
         ? cache miss 1000/10/990
         cache 1000/10/990
         ? nothing
         pipe empty
         ? ask ostler-miss-1 interrupt
         ask ostler-miss-1 interrupt
         ? nothing
         < ok ostler-miss-1
         ? nothing
         < result aborted
         < cancelled A
         < idle
         ? settle"
    ));
}

#[test]
fn a_miss_is_seen_where_its_message_begins() {
    play(&format!(
        "spawn A\n forks 1000 interrupt\n {STARTED}
         < message m1 m 1/1/10/990/0
         ? cache miss 1000/10/990
         cache 1000/10/990
         ? ask ostler-miss-1 interrupt"
    ));
}

#[test]
fn half_of_it_is_no_miss_and_goes_on() {
    play(&format!(
        "spawn A\n forks 1000 interrupt\n {STARTED}
         < reads 500/500
         ? cache partial 1000/500/500
         cache 1000/500/500
         ? nothing"
    ));
}

#[test]
fn a_controller_that_was_killed_before_the_interrupt_is_continued() {
    // The row was written, the interrupt was not.
    play(&format!(
        "spawn A\n forks 1000 interrupt\n {STARTED}
         < reads 10/990
         cache 1000/10/990
         adopted
         ? ask ostler-miss-1 interrupt"
    ));
}

#[test]
fn the_last_request_of_the_main_lane_is_what_forks_can_find() {
    let case = play(&format!(
        "spawn A\n {STARTED}
         < reads 0/100
         < reads 100/20
         < reads 5/5 lane=task"
    ));
    let request = case.machine.last_request().expect("the model answered");
    assert_eq!((request.expected_read(), request.model.as_str()), (120, "m"));
    assert!(!case.machine.cache_known(), "what is no fork has nothing to find");
}
