//! Tool calls of the model, and the permissions that they need.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::engine::{Engine, Flow, Halt};
use super::gates::LOOK;
use super::script::{Pause, Tool};
use super::stamp;

/// A question that was put to the other side.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) id: String,
    pub(super) request: Value,
    /// `initialize` lists it again.
    pub(super) relisted: bool,
    pub(super) answer: Option<Value>,
}

impl Asked {
    pub(super) fn line(&self) -> Value {
        json!({"type": "control_request", "request_id": self.id, "request": self.request})
    }
}

/// A call that the model has made and that has not run yet.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) kind: CallKind,
}

#[derive(Debug, Clone)]
pub(super) enum CallKind {
    Tool(Tool),
    Background(super::script::Background),
}

/// What a call came to.
struct Outcome {
    text: String,
    is_error: bool,
    /// The other side refused, or could not be asked.
    denied: bool,
    /// A denial that ends the turn.
    stops: bool,
}

impl Outcome {
    fn failed(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, denied: true, stops: false }
    }
}

const REJECTED: &str = "The user doesn't want to proceed with this tool use.";

impl Engine {
    /// Runs the calls of the model's last message, one after another.
    pub(super) fn run_calls(&mut self, calls: Vec<Call>) -> Flow {
        let mut calls = calls.into_iter();
        while let Some(call) = calls.next() {
            let ran = match &call.kind {
                CallKind::Tool(tool) => self.run_tool(&call.id, tool),
                CallKind::Background(task) => {
                    self.start_task(&call.id, task.clone());
                    Ok(())
                }
            };
            if let Err(halt) = ran {
                if matches!(halt, Halt::Interrupted) {
                    // None of the calls after this one ran; each gets its result, or the transcript is poisoned.
                    let own = (!self.answered_call(&call.id)).then_some(call);
                    for call in own.into_iter().chain(calls) {
                        self.tool_result(&call.id, REJECTED, Some(true), &json!("User rejected tool use"));
                    }
                }
                return Err(halt);
            }
        }
        Ok(())
    }

    fn run_tool(&mut self, id: &str, tool: &Tool) -> Flow {
        let outcome = self.outcome(id, tool)?;
        if outcome.denied {
            self.denied(id, tool);
        }
        let detail = if outcome.is_error {
            json!(format!("Error: {}", outcome.text))
        } else {
            json!({"stdout": outcome.text})
        };
        self.tool_result(id, &outcome.text, Some(outcome.is_error), &detail);
        if outcome.stops { Err(Halt::Interrupted) } else { Ok(()) }
    }

    fn outcome(&mut self, id: &str, tool: &Tool) -> Result<Outcome, Halt> {
        if (tool.asks && !self.allows_all()) || tool.request.is_some() {
            if let Some(refusal) = self.permission(id, tool)? {
                return Ok(refusal);
            }
            self.running();
        }
        for pause in &tool.waits {
            self.wait(pause)?;
        }
        self.check()?;
        Ok(match &tool.outcome {
            Ok(text) => Outcome { text: text.clone(), is_error: false, denied: false, stops: false },
            Err(text) => Outcome { text: text.clone(), is_error: true, denied: false, stops: false },
        })
    }

    fn denied(&mut self, id: &str, tool: &Tool) {
        let denial = json!({"tool_name": tool.name, "tool_use_id": id, "tool_input": tool.input});
        if let Some(live) = &mut self.live {
            live.denials.push(denial);
        }
    }

    fn allows_all(&self) -> bool {
        self.options.skips_permissions || self.options.permission_mode == "bypassPermissions"
    }

    /// Gets a permission; `Some` is a refusal.
    fn permission(&mut self, id: &str, tool: &Tool) -> Result<Option<Outcome>, Halt> {
        if !self.options.asks && tool.request.is_none() {
            return Ok(Some(self.deny_unasked(id, tool)));
        }
        let asked = self.ask(id, tool);
        let answer = self.answered(&asked.id, tool);
        self.asked.retain(|other| other.id != asked.id);
        self.state("running");
        if matches!(answer, Err(Halt::Interrupted)) {
            self.denied(id, tool);
        }
        let Some(answer) = answer? else {
            return Ok(Some(Outcome::failed("Tool permission request was cancelled.")));
        };
        Ok(self.refusal(&answer))
    }

    fn deny_unasked(&mut self, id: &str, tool: &Tool) -> Outcome {
        let text =
            format!("Claude requested permissions to use {}, but you haven't granted it yet.", tool.name);
        if self.habits.says_denied {
            self.emit(json!({
                "type": "system", "subtype": "permission_denied", "tool_name": tool.name, "tool_use_id": id,
                "message": text,
            }));
        }
        Outcome::failed(text)
    }

    fn ask(&mut self, id: &str, tool: &Tool) -> Asked {
        let request = match &tool.request {
            Some(request) => Value::Object(request.clone()),
            None => json!({
                "subtype": "can_use_tool", "tool_name": tool.name, "display_name": tool.name, "input": tool.input,
                "tool_use_id": id,
                "permission_suggestions": [{
                    "type": "addRules", "rules": [{"toolName": tool.name}], "behavior": "allow",
                    "destination": "localSettings",
                }],
            }),
        };
        // Hook callbacks are not listed again (protocol page, "Control channel").
        let relisted = request["subtype"] == "can_use_tool";
        let asked = Asked { id: Uuid::new_v4().to_string(), request, relisted, answer: None };
        self.asked.push(asked.clone());
        self.state("requires_action");
        self.out.line(&asked.line());
        asked
    }

    /// Waits for the answer; `None` when the question was withdrawn by the script.
    fn answered(&mut self, id: &str, tool: &Tool) -> Result<Option<Value>, Halt> {
        self.transcript.flush();
        loop {
            let answer =
                self.asked.iter().find(|asked| asked.id == id).and_then(|asked| asked.answer.clone());
            if answer.is_some() {
                return Ok(answer);
            }
            if self.eof.is_some() {
                let text = "Tool permission request failed: Error: Stream closed";
                return Ok(Some(json!({"subtype": "error", "error": text})));
            }
            if let Some(gate) = &tool.withdrawn
                && self.gates.is_open(gate)
            {
                self.out.line(&json!({"type": "control_cancel_request", "request_id": id}));
                return Ok(None);
            }
            let deadline = tool.withdrawn.is_some().then(|| std::time::Instant::now() + LOOK);
            self.pump(deadline)?;
            self.check()?;
        }
    }

    /// What an answer refuses; `None` when it allows.
    fn refusal(&self, answer: &Value) -> Option<Outcome> {
        if answer["subtype"] == "error" {
            let text = answer["error"].as_str().unwrap_or("unknown error");
            return Some(Outcome::failed(format!("Tool permission request failed: {text}")));
        }
        let body = &answer["response"];
        match body["behavior"].as_str() {
            Some("allow") if body["updatedInput"].is_object() || !self.habits.allow_needs_input => None,
            Some("deny") if body["message"].is_string() => Some(Outcome {
                stops: body["interrupt"] == true,
                ..Outcome::failed(body["message"].as_str().unwrap_or_default())
            }),
            _ => Some(Outcome::failed("Tool permission request failed: ZodError: invalid_union")),
        }
    }

    /// Takes an answer to one of our questions. Anything that isn't one, a second one, and a wrong envelope are
    /// passed over.
    pub(super) fn answer(&mut self, line: &Value) {
        let response = &line["response"];
        let Some(id) = response["request_id"].as_str() else { return };
        if let Some(asked) = self.asked.iter_mut().find(|asked| asked.id == id && asked.answer.is_none()) {
            asked.answer = Some(response.clone());
        }
    }

    /// Takes back every open question.
    pub(super) fn withdraw(&mut self) {
        for asked in self.asked.split_off(0) {
            self.out.line(&json!({"type": "control_cancel_request", "request_id": asked.id}));
        }
    }

    /// The `user` line of a tool's result.
    pub(super) fn tool_result(&mut self, id: &str, content: &str, is_error: Option<bool>, detail: &Value) {
        let mut block = json!({"tool_use_id": id, "type": "tool_result", "content": content});
        if let Some(is_error) = is_error {
            block["is_error"] = json!(is_error);
        }
        let message = json!({"role": "user", "content": [block]});
        let uuid = Uuid::new_v4().to_string();
        let mut line = json!({
            "type": "user", "message": message, "parent_tool_use_id": null, "uuid": uuid,
            "timestamp": stamp::now(), "tool_use_result": detail,
        });
        if self.habits.lifecycle {
            line["tool_result_meta"] = json!([{"id": id}]);
        }
        self.emit(line);
        self.transcript.message("user", &uuid, &message, Map::new());
        if let Some(live) = &mut self.live {
            live.user_lines += 1;
            live.answered_calls.insert(id.to_owned());
        }
    }

    fn answered_call(&self, id: &str) -> bool {
        self.live.as_ref().is_some_and(|live| live.answered_calls.contains(id))
    }

    /// Waits out a pause of a background task or a late line, without a turn's interrupts.
    pub(super) fn lag(&mut self, pause: &Pause) -> Flow {
        match self.wait(pause) {
            Err(Halt::Interrupted) => Ok(()),
            other => other,
        }
    }
}
