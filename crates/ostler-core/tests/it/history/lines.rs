//! The lines that the simulated child writes.

use super::truth::{Amount, Totals};
use ostler_core::rows::Tokens;
use std::fmt::Write as _;
use uuid::Uuid;

/// Gives every line a uuid of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    process: u32,
    made: u64,
}

impl Lines {
    pub(super) fn of_process(process: u32) -> Self {
        Self { process, made: 0 }
    }

    fn uuid(&mut self) -> String {
        self.made += 1;
        format!("{:08x}-{:04x}-4111-8111-111111111111", self.made, self.process)
    }

    pub(super) fn system(&mut self, subtype: &str, rest: &str) -> String {
        format!(
            r#"{{"type":"system","subtype":"{subtype}",{rest}"uuid":"{}","session_id":"x"}}"#,
            self.uuid()
        )
    }

    pub(super) fn state(&mut self, state: &str) -> String {
        self.system("session_state_changed", &format!(r#""state":"{state}","#))
    }

    pub(super) fn init(&mut self, conversation: Uuid, can_cancel: bool) -> String {
        let can = if can_cancel { r#""interrupt_cancel_queued_v1""# } else { "" };
        format!(
            r#"{{"type":"system","subtype":"init","model":"a","claude_code_version":"2","apiKeySource":"k","capabilities":[{can}],"uuid":"{}","session_id":"{conversation}"}}"#,
            self.uuid()
        )
    }

    pub(super) fn receipt(&mut self, about: Uuid, state: &str) -> String {
        format!(
            r#"{{"type":"command_lifecycle","command_uuid":"{about}","state":"{state}","uuid":"{}"}}"#,
            self.uuid()
        )
    }

    pub(super) fn replay(about: Uuid) -> String {
        format!(
            r#"{{"type":"user","message":{{"role":"user","content":"hi"}},"uuid":"{about}","isReplay":true}}"#
        )
    }

    pub(super) fn told(&mut self, task: &str) -> String {
        format!(
            r#"{{"type":"user","message":{{"role":"user","content":"<task-notification>\n<task-id>{task}</task-id>"}},"uuid":"{}","isReplay":true}}"#,
            self.uuid()
        )
    }

    pub(super) fn message_start(&mut self, id: &str, model: &str, tokens: Tokens) -> String {
        format!(
            r#"{{"type":"stream_event","event":{{"type":"message_start","message":{{"id":"{id}","model":"{model}","usage":{}}}}},"uuid":"{}","parent_tool_use_id":null}}"#,
            usage(Tokens { output: 1, ..tokens }),
            self.uuid()
        )
    }

    pub(super) fn message_delta(&mut self, output: u64) -> String {
        format!(
            r#"{{"type":"stream_event","event":{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{{"output_tokens":{output}}}}},"uuid":"{}","parent_tool_use_id":null}}"#,
            self.uuid()
        )
    }

    pub(super) fn assistant(
        &mut self,
        id: &str,
        model: &str,
        tokens: Tokens,
        lane: Option<&str>,
        content: &str,
    ) -> String {
        let lane = lane.map_or("null".to_owned(), |l| format!("\"{l}\""));
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"{model}","role":"assistant","content":[{content}],"usage":{}}},"parent_tool_use_id":{lane},"uuid":"{}"}}"#,
            usage(Tokens { output: 1, ..tokens }),
            self.uuid()
        )
    }

    pub(super) fn tool_result(&mut self, call: &str) -> String {
        format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{call}","content":"ok"}}]}},"uuid":"{}"}}"#,
            self.uuid()
        )
    }

    pub(super) fn note(&mut self) -> String {
        format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"text","text":"[Request interrupted by user]"}}]}},"uuid":"{}"}}"#,
            self.uuid()
        )
    }

    pub(super) fn result(&mut self, end: &ResultLine<'_>) -> String {
        let mut models = String::new();
        for (model, Amount { tokens: t, usd }) in end.totals {
            let comma = if models.is_empty() { "" } else { "," };
            let _ = write!(
                models,
                r#"{comma}"{model}":{{"inputTokens":{},"outputTokens":{},"cacheReadInputTokens":{},"cacheCreationInputTokens":{},"cacheCreationEphemeral5mInputTokens":{},"cacheCreationEphemeral1hInputTokens":{},"costUSD":{usd}}}"#,
                t.input,
                t.output,
                t.cache_read,
                t.cache_write_5m + t.cache_write_1h,
                t.cache_write_5m,
                t.cache_write_1h
            );
        }
        let total: f64 = end.totals.values().map(|a| a.usd).sum();
        let named = match end.answers {
            Some(uuids) => {
                let list: Vec<String> = uuids.iter().map(|u| format!("\"{u}\"")).collect();
                format!(r#""user_message_uuids":[{}],"#, list.join(","))
            }
            None => String::new(),
        };
        let reason = end.reason.map_or(String::new(), |r| format!(r#""terminal_reason":"{r}","#));
        format!(
            r#"{{"type":"result","subtype":"{}","is_error":{},{reason}"num_turns":{},"session_id":"{}",{named}"total_cost_usd":{total},"usage":{},"modelUsage":{{{models}}},"uuid":"{}"}}"#,
            end.subtype,
            end.is_error,
            end.rounds,
            end.conversation,
            usage(end.used),
            self.uuid()
        )
    }
}

/// What a `result` line says.
pub(super) struct ResultLine<'a> {
    pub(super) subtype: &'a str,
    pub(super) is_error: bool,
    pub(super) reason: Option<&'a str>,
    pub(super) rounds: u8,
    pub(super) conversation: Uuid,
    pub(super) answers: Option<&'a [Uuid]>,
    pub(super) used: Tokens,
    pub(super) totals: &'a Totals,
}

fn usage(t: Tokens) -> String {
    format!(
        r#"{{"input_tokens":{},"output_tokens":{},"cache_read_input_tokens":{},"cache_creation_input_tokens":{},"cache_creation":{{"ephemeral_5m_input_tokens":{},"ephemeral_1h_input_tokens":{}}}}}"#,
        t.input,
        t.output,
        t.cache_read,
        t.cache_write_5m + t.cache_write_1h,
        t.cache_write_5m,
        t.cache_write_1h
    )
}
