//! Tests of the ostler binary's parts.
#![expect(clippy::unwrap_used, reason = "a test fails where it fails; its helpers too")]

mod it {
    mod alone_homes;
    mod bad_input;
    mod bridge;
    mod closes;
    mod content;
    mod desk;
    mod desk_sessions;
    mod doctor;
    mod engine;
    mod fake_machine;
    mod fork_stage;
    mod forks;
    mod json_fields;
    mod json_output;
    mod launcher_command;
    mod launcher_install;
    mod launcher_search;
    mod real_bridge;
    mod real_broker;
    mod real_browser;
    mod real_clear;
    mod real_content;
    mod real_deaths;
    mod real_declares;
    mod real_exactly_once;
    mod real_faults;
    mod real_forks;
    mod real_front_door;
    mod real_launcher;
    mod real_modes;
    mod real_questions;
    mod real_stage;
    mod real_starts;
    mod real_stops;
    mod real_tasks;
    mod real_turns;
    mod reference;
    mod runs;
    mod serve_docs;
    mod serve_events;
    mod serve_history;
    mod serve_http;
    mod serve_ops;
    mod serve_ops_service;
    mod serve_ops_webhook;
    mod serve_problems;
    mod serve_safety;
    mod serve_sessions;
    mod serve_store;
    mod serve_stream;
    mod terminal;
    mod view_lines;
    mod view_recordings;
}
