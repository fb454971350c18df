//! Lines as the real child prints them (2.1.332 and 2.1.200, ids and paths shortened).

use claude_wire::*;

fn parse(line: &str) -> Message {
    let frame = Frame::parse(line.as_bytes());
    assert!(!frame.tolerant());
    frame.into_message()
}

macro_rules! view {
    ($Kind:ident, $line:expr) => {
        match parse($line) {
            Message::$Kind(view) => view,
            other => panic!("not {}: {other:?}", stringify!($Kind)),
        }
    };
}

#[test]
fn init() {
    let view = view!(
        Init,
        r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"s","tools":["Task","Bash"],"mcp_servers":[{"name":"m","status":"needs-auth","source":"x"}],"model":"claude-opus-5-5[1m]","permissionMode":"default","slash_commands":["clear"],"apiKeySource":"ANTHROPIC_API_KEY","claude_code_version":"2.1.332","output_style":"default","agents":["Explore"],"skills":["verify"],"plugins":[{"name":"p","path":"builtin","source":"p@builtin"}],"capabilities":["interrupt_receipt_v1","msg_lifecycle_v1"],"uuid":"u","additional_directories":[],"user_message_uuids":["q"]}"#
    );
    assert_eq!(plain_model(view.model.as_deref().expect("is there")), "claude-opus-5-5");
    assert_eq!(view.tools, ["Task", "Bash"]);
    assert_eq!(view.mcp_servers, [McpServer { name: "m".into(), status: "needs-auth".into() }]);
    assert_eq!(view.permission_mode.as_deref(), Some("default"));
    assert_eq!(view.api_key_source.as_deref(), Some("ANTHROPIC_API_KEY"));
    assert_eq!(view.version.as_deref(), Some("2.1.332"));
    assert_eq!(view.capabilities, ["interrupt_receipt_v1", "msg_lifecycle_v1"]);
    assert_eq!((view.cwd.as_deref(), view.user_message_uuids), (Some("/w"), vec!["q".to_owned()]));
    assert_eq!(
        view.common,
        Common { uuid: Some("u".into()), session_id: Some("s".into()), parent_tool_use_id: None }
    );
}

#[test]
fn assistant() {
    let view = view!(
        Assistant,
        r#"{"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":100,"cache_read_input_tokens":5,"output_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":60,"ephemeral_1h_input_tokens":40}},"context_management":null},"parent_tool_use_id":"toolu_0","session_id":"s","uuid":"u","timestamp":"2026-11-30T15:48:22.750Z","user_message_uuid":"q","user_message_uuids":["q","r"]}"#
    );
    assert_eq!((view.message_id.as_deref(), view.model.as_deref()), (Some("msg_1"), Some("claude-opus-5-5")));
    let [Block::ToolUse { id, name, input: Some(input) }] = &view.blocks[..] else { panic!("{view:?}") };
    assert_eq!((id.as_str(), name.as_str(), input.get()), ("toolu_1", "Bash", r#"{"command":"ls"}"#));
    assert_eq!(
        view.usage,
        Some(Usage {
            input: 10,
            output: 1,
            cache_read: 5,
            cache_write_5m: 60,
            cache_write_1h: 40,
            thinking: None
        })
    );
    assert_eq!(view.user_message_uuids, ["q", "r"]);
    assert_eq!(view.common.parent_tool_use_id.as_deref(), Some("toolu_0"));
    assert!(!view.is_synthetic() && !view.aborted && view.stop_reason.is_none());
    let failed = view!(
        Assistant,
        r#"{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]},"error":"rate_limit","aborted":true}"#
    );
    assert!(failed.is_synthetic() && failed.aborted);
    assert_eq!(failed.error.as_deref(), Some("rate_limit"));
}

#[test]
fn user_tool_result_replay_and_synthetic() {
    let view = view!(
        User,
        r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"no thanks","is_error":true,"tool_use_id":"toolu_1"}]},"parent_tool_use_id":null,"session_id":"s","uuid":"u","tool_use_result":"Error: no thanks"}"#
    );
    let [Block::ToolResult { tool_use_id, is_error: true, text_len: 9, text }] = &view.blocks[..] else {
        panic!("{view:?}")
    };
    assert_eq!((tool_use_id.as_str(), text.as_str()), ("toolu_1", "no thanks"));
    let replay = view!(
        User,
        r#"{"type":"user","message":{"role":"user","content":"hello there"},"session_id":"s","parent_tool_use_id":null,"uuid":"q","isReplay":true}"#
    );
    assert!(replay.is_replay && matches!(&replay.blocks[..], [Block::Text(text)] if text == "hello there"));
    let synthetic = view!(
        User,
        r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"x"}]},"isSynthetic":true,"origin":{"kind":"task-notification"}}"#
    );
    assert!(synthetic.is_synthetic && !synthetic.is_replay);
    assert_eq!(synthetic.origin.as_deref(), Some("task-notification"));
}

#[test]
fn a_long_tool_result_is_measured_and_cut_at_a_character() {
    let euro = "€".repeat(10_000);
    let blocks =
        format!(r#"[{{"type":"text","text":"{euro}"}},{{"type":"image"}},{{"type":"text","text":"end"}}]"#);
    for (content, len) in [(format!("\"{euro}\""), 30_000), (blocks, 30_003)] {
        let line = format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":{content}}}]}}}}"#
        );
        let view = view!(User, &line);
        let [Block::ToolResult { text_len, text, is_error: false, .. }] = &view.blocks[..] else {
            panic!("no result")
        };
        assert_eq!(*text_len, len);
        assert!(
            text.len() <= TEXT_HEAD && text.len() > TEXT_HEAD - 4 && text.starts_with('€'),
            "{}",
            text.len()
        );
    }
}

#[test]
fn result_of_a_newer_cli_has_its_type_in_the_middle() {
    let view = view!(
        Result,
        r#"{"duration_api_ms":27,"stop_reason":"end_turn","session_id":"s","total_cost_usd":0.000681,"usage":{"input_tokens":10,"cache_creation_input_tokens":100,"cache_read_input_tokens":5,"output_tokens":7,"output_tokens_details":{"thinking_tokens":2},"cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":100}},"modelUsage":{"claude-opus-5-5":{"inputTokens":10,"outputTokens":7,"cacheReadInputTokens":5,"cacheCreationInputTokens":100,"webSearchRequests":0,"costUSD":0.000681,"contextWindow":1000000,"cacheCreationEphemeral5mInputTokens":30,"cacheCreationEphemeral1hInputTokens":70}},"permission_denials":[{"tool_name":"Bash","tool_use_id":"toolu_1","tool_input":{"command":"x"}}],"terminal_reason":"completed","subagent_stats":{"spawned":2,"started_in_background":1,"completed":1,"failed":0},"is_error":false,"num_turns":1,"subtype":"success","api_error_status":null,"result":"You said: hello there ","type":"result","duration_ms":114,"uuid":"u","user_message_uuid":"q","user_message_uuids":["q"],"queued_turn_count":0,"result_index":0,"origin":{"kind":"task-notification"}}"#
    );
    assert_eq!((view.subtype.as_str(), view.is_error), ("success", false));
    assert_eq!(view.terminal_reason.as_deref(), Some("completed"));
    assert_eq!(view.result.as_deref(), Some("You said: hello there "));
    assert_eq!((view.total_cost_usd, view.num_turns, view.result_index), (Some(0.000681), Some(1), Some(0)));
    assert_eq!((view.duration_ms, view.duration_api_ms), (Some(114), Some(27)));
    assert_eq!(view.usage.expect("is there").thinking, Some(2));
    let [model] = &view.model_usage[..] else { panic!("one model") };
    assert_eq!(model.model, "claude-opus-5-5");
    assert_eq!((model.input, model.output, model.cache_read), (10, 7, 5));
    assert_eq!((model.cache_write_5m, model.cache_write_1h, model.cost_usd), (30, 70, Some(0.000681)));
    assert_eq!(
        view.permission_denials,
        [PermissionDenial { tool_name: "Bash".into(), tool_use_id: "toolu_1".into() }]
    );
    assert_eq!(view.subagent_stats.expect("is there").spawned, 2);
    assert_eq!(
        (view.user_message_uuids, view.origin.as_deref()),
        (vec!["q".to_owned()], Some("task-notification"))
    );
}

#[test]
fn result_of_an_older_cli_does_not_split_cache_writes_per_model() {
    let view = view!(
        Result,
        r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["x"],"modelUsage":{"claude-opus-4-8[1m]":{"inputTokens":20,"cacheCreationInputTokens":200,"costUSD":0.0017}},"user_message_uuid":"q"}"#
    );
    assert_eq!((view.model_usage[0].cache_write_5m, view.model_usage[0].cache_write_1h), (200, 0));
    assert_eq!((view.errors, view.result), (vec!["x".to_owned()], None));
    assert_eq!(view.user_message_uuids, ["q"]);
}

#[test]
fn cache_writes_beyond_the_split_count_as_five_minutes() {
    let usage = |text: &str| {
        view!(Result, &format!(r#"{{"type":"result","usage":{text}}}"#))
            .usage
            .map(|u| (u.cache_write_5m, u.cache_write_1h))
    };
    assert_eq!(usage(r#"{"cache_creation_input_tokens":100}"#), Some((100, 0)));
    assert_eq!(
        usage(r#"{"cache_creation_input_tokens":100,"cache_creation":{"ephemeral_1h_input_tokens":30}}"#),
        Some((70, 30))
    );
    assert_eq!(
        usage(r#"{"cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":3}}"#),
        Some((4, 3))
    );
    assert_eq!(usage("{}"), Some((0, 0)));
    assert_eq!(usage("null"), None);
}

#[test]
fn stream_events() {
    let event = |event: &str| {
        let line = format!(
            r#"{{"type":"stream_event","event":{event},"session_id":"s","parent_tool_use_id":null,"uuid":"u","api_message_id":"msg_1"}}"#
        );
        view!(StreamEvent, &line).event
    };
    let start = event(
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}"#,
    );
    let Event::MessageStart { message_id, model, usage: Some(usage) } = start else { panic!("{start:?}") };
    assert_eq!((message_id.as_deref(), model.as_deref(), usage.input), (Some("msg_1"), Some("m"), 10));
    assert_eq!(
        event(
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"Bash","input":{}}}"#
        ),
        Event::BlockStart {
            index: 1,
            kind: "tool_use".into(),
            id: Some("t".into()),
            name: Some("Bash".into())
        }
    );
    assert_eq!(
        event(r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"said: "}}"#),
        Event::TextDelta { index: 0, text: "said: ".into() }
    );
    assert_eq!(
        event(
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#
        ),
        Event::ThinkingDelta { index: 0, thinking: "hm".into() }
    );
    assert_eq!(
        event(
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}"#
        ),
        Event::InputDelta { index: 2, partial_json: "{\"a".into() }
    );
    assert_eq!(event(r#"{"type":"content_block_stop","index":2}"#), Event::BlockStop { index: 2 });
    let delta = event(
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7}}"#,
    );
    assert!(
        matches!(&delta, Event::MessageDelta { stop_reason: Some(why), usage: Some(u) } if why == "end_turn" && u.output == 7)
    );
    assert_eq!(event(r#"{"type":"message_stop"}"#), Event::MessageStop);
    assert_eq!(event(r#"{"type":"ping"}"#), Event::Other("ping".into()));
}

#[test]
fn background_tasks() {
    let view = view!(
        BackgroundTasks,
        r#"{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b1","run_id":"r","task_type":"local_bash","description":"d"},{"task_id":"a1","task_type":"local_agent","subagent_type":"Explore","description":"e","ambient":true}],"uuid":"u","session_id":"s"}"#
    );
    assert_eq!(view.tasks.len(), 2);
    assert_eq!((view.tasks[0].id.as_str(), view.tasks[0].kind.as_str()), ("b1", "local_bash"));
    assert!(!view.tasks[0].ambient && view.tasks[1].ambient);
    let done = view!(
        TaskNotification,
        r#"{"type":"system","subtype":"task_notification","task_id":"b1","run_id":"r","tool_use_id":"toolu_1","status":"completed","output_file":"/o","summary":"Background command \"d\" completed (exit code 0)","uuid":"u","session_id":"s"}"#
    );
    assert_eq!((done.task_id.as_str(), done.status.as_str()), ("b1", "completed"));
    assert_eq!((done.output_file.as_deref(), done.tool_use_id.as_deref()), (Some("/o"), Some("toolu_1")));
    let started = view!(
        TaskStarted,
        r#"{"type":"system","subtype":"task_started","task_id":"b1","tool_use_id":"toolu_1","description":"d","is_backgrounded":true,"task_type":"local_bash"}"#
    );
    assert_eq!(started.is_backgrounded, Some(true));
    let updated = view!(
        TaskUpdated,
        r#"{"type":"system","subtype":"task_updated","task_id":"b1","patch":{"status":"killed","end_time":1796053850441}}"#
    );
    assert_eq!(updated.status.as_deref(), Some("killed"));
    let progress = view!(
        TaskProgress,
        r#"{"type":"system","subtype":"task_progress","task_id":"a1","description":"d","usage":{"total_tokens":5,"tool_uses":1,"duration_ms":9},"last_tool_name":"Bash"}"#
    );
    assert_eq!(progress.usage, Some(TaskUsage { total_tokens: 5, tool_uses: 1, duration_ms: 9 }));
    let tool = view!(
        ToolProgress,
        r#"{"type":"tool_progress","tool_use_id":"t","tool_name":"Bash","parent_tool_use_id":null,"elapsed_time_seconds":30}"#
    );
    assert!((tool.elapsed_seconds - 30.0).abs() < f64::EPSILON);
}

#[test]
fn receipts() {
    let state = |state: &str| {
        let line = format!(
            r#"{{"type":"command_lifecycle","command_uuid":"c","state":"{state}","uuid":"u","session_id":"s"}}"#
        );
        let view = view!(Lifecycle, &line);
        assert_eq!(view.command_uuid, "c");
        view.state
    };
    let all = ["queued", "started", "completed", "cancelled", "discarded", "refused"].map(state);
    let finals = all.each_ref().map(LifecycleState::is_final);
    assert_eq!(finals, [false, false, true, true, true, true]);
    assert_eq!((&all[0], &all[5]), (&LifecycleState::Queued, &LifecycleState::Refused));
}

#[test]
fn what_the_child_says_about_itself() {
    let state = view!(
        SessionState,
        r#"{"type":"system","subtype":"session_state_changed","state":"idle","uuid":"u"}"#
    );
    assert_eq!(state.state, "idle");
    let status = view!(
        Status,
        r#"{"type":"system","subtype":"status","status":null,"compact_result":"success","session_id":"s","uuid":"u"}"#
    );
    assert_eq!((status.status, status.compact_result.as_deref()), (None, Some("success")));
    let hook = view!(
        HookLine,
        r#"{"type":"system","subtype":"hook_response","hook_id":"h","hook_name":"SessionStart:startup","hook_event":"SessionStart","output":"","stdout":"","stderr":"","exit_code":0,"outcome":"success","uuid":"u","session_id":"other"}"#
    );
    assert_eq!(
        (hook.phase, hook.exit_code, hook.hook_event.as_str()),
        (HookPhase::Response, Some(0), "SessionStart")
    );
    let retry = view!(
        ApiRetry,
        r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":512.7,"error_status":529,"error":"overloaded"}"#
    );
    assert_eq!(
        (retry.attempt, retry.error_status, retry.error.as_deref()),
        (1, Some(529), Some("overloaded"))
    );
    assert!(retry.retry_delay_ms > 512.0);
    let denied = view!(
        PermissionDenied,
        r#"{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t","message":"needs approval"}"#
    );
    assert_eq!((denied.tool_name.as_str(), denied.message.as_deref()), ("Bash", Some("needs approval")));
    let boundary = view!(
        CompactBoundary,
        r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"manual","pre_tokens":122,"post_tokens":2565,"duration_ms":30},"logical_parent_uuid":"x"}"#
    );
    assert_eq!(
        (boundary.trigger.as_deref(), boundary.pre_tokens, boundary.post_tokens),
        (Some("manual"), Some(122), Some(2565))
    );
    let reset = view!(
        ConversationReset,
        r#"{"type":"conversation_reset","new_conversation_id":"n","uuid":"n","trigger":"clear","user_message_uuid":"q","session_id":"old"}"#
    );
    assert_eq!(
        (reset.new_conversation_id.as_deref(), reset.common.session_id.as_deref()),
        (Some("n"), Some("old"))
    );
    let plugin = view!(
        PluginInstall,
        r#"{"type":"system","subtype":"plugin_install","status":"failed","name":"p","error":"e"}"#
    );
    assert_eq!((plugin.status.as_str(), plugin.error.as_deref()), ("failed", Some("e")));
    let lost = view!(
        WritesLost,
        r#"{"type":"system","subtype":"session_writes_lost","error_code":"ENOSPC","lost":["transcript"]}"#
    );
    assert_eq!((lost.error_code.as_deref(), lost.lost), (Some("ENOSPC"), vec!["transcript".to_owned()]));
    let leaving =
        view!(WorkerShuttingDown, r#"{"type":"system","subtype":"worker_shutting_down","reason":"r"}"#);
    assert_eq!(leaving.reason.as_deref(), Some("r"));
    let limit = view!(
        RateLimit,
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1796056000,"rateLimitType":"five_hour","utilization":1.01},"uuid":"u"}"#
    );
    assert_eq!(
        (limit.status.as_str(), limit.resets_at, limit.kind.as_deref()),
        ("rejected", Some(1_796_056_000), Some("five_hour"))
    );
    assert!(matches!(parse(r#"{"type":"keep_alive"}"#), Message::KeepAlive));
}

#[test]
fn every_line_with_ids_gives_them() {
    let with_ids = [
        "system\",\"subtype\":\"init",
        "assistant",
        "user",
        "result",
        "stream_event",
        "command_lifecycle",
        "brand_new",
    ];
    for kind in with_ids {
        let line = format!(r#"{{"type":"{kind}","uuid":"u","session_id":"s","parent_tool_use_id":"p"}}"#);
        let message = parse(&line);
        let common = message.common().expect(kind);
        assert_eq!(
            (common.uuid.as_deref(), common.parent_tool_use_id.as_deref()),
            (Some("u"), Some("p")),
            "{kind}"
        );
    }
    assert!(parse(r#"{"type":"control_request","uuid":"u"}"#).common().is_none());
}
