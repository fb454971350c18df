//! What arrives on stdin: prompts, control requests, and answers to our own.

use serde_json::{Value, json};

use super::engine::{Engine, Flow, Halt, Why};
use super::output::complain;
use super::prompts::Prompt;
use super::script::Ignored;

impl Engine {
    /// Handles one line. A malformed one ends the process, as it does the real one.
    pub(super) fn line(&mut self, line: &[u8]) -> Flow {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            return Err(self.refuse_line(line));
        };
        // Behind `end_session` nothing counts (protocol page, "Delivery receipts").
        if self.ending {
            return Ok(());
        }
        match value["type"].as_str() {
            Some("user") => self.accept(Prompt::read(&value)),
            Some("control_request") => return self.request(&value),
            Some("control_response") => self.answer(&value),
            // A bare `{"subtype":"interrupt"}`, `keep_alive` and unknown types are passed over.
            _ => {}
        }
        Ok(())
    }

    fn refuse_line(&self, line: &[u8]) -> Halt {
        let text = String::from_utf8_lossy(line);
        complain(&if self.habits.lifecycle {
            let kind = if text.contains("\"user\"") { "user" } else { "unknown" };
            format!(
                "Error parsing streaming input line (type={kind}, {} chars): SyntaxError",
                text.chars().count()
            )
        } else {
            format!("Error parsing streaming input line: {text}: SyntaxError: JSON Parse error")
        });
        Halt::Exit(1)
    }

    fn request(&mut self, line: &Value) -> Flow {
        let id = line["request_id"].as_str().unwrap_or_default().to_owned();
        let Some(subtype) = line["request"]["subtype"].as_str() else {
            if !self.habits.lifecycle {
                return Err(self.refuse_line(line.to_string().as_bytes()));
            }
            complain("Error: Missing request on control_request");
            return Err(Halt::Exit(1));
        };
        let ignored = match subtype {
            "initialize" => Some(Ignored::Initialize),
            "interrupt" => Some(Ignored::Interrupt),
            "end_session" => Some(Ignored::EndSession),
            _ => None,
        };
        if self.script.ignores(Ignored::Control) || ignored.is_some_and(|what| self.script.ignores(what)) {
            return Ok(());
        }
        match subtype {
            "initialize" => self.initialize(&id),
            "interrupt" => self.interrupt(&id, line["request"]["cancel_queued"] == true),
            "end_session" => self.end_session(&id),
            "cancel_async_message" => {
                self.cancel(&id, line["request"]["message_uuid"].as_str().unwrap_or_default())
            }
            "set_permission_mode" | "set_model" | "set_max_thinking_tokens" => self.respond(&id, None),
            other => {
                let mut response = json!({
                    "subtype": "error", "request_id": id,
                    "error": format!("Unsupported control request subtype: {other}"),
                });
                if self.habits.lifecycle {
                    response["error_code"] = json!("unsupported_request");
                }
                self.out.line(&json!({"type": "control_response", "response": response}));
            }
        }
        Ok(())
    }

    fn respond(&mut self, id: &str, body: Option<Value>) {
        let mut response = json!({"subtype": "success", "request_id": id});
        if let Some(body) = body {
            response["response"] = body;
        }
        self.out.line(&json!({"type": "control_response", "response": response}));
    }

    /// The first one starts the session; every later one lists again what is pending.
    fn initialize(&mut self, id: &str) {
        let pending: Vec<Value> =
            self.asked.iter().filter(|asked| asked.relisted).map(|asked| asked.line()).collect();
        let again = self.initialized || self.live.is_some() || self.results > 0;
        self.initialized = true;
        let mut response = json!({"subtype": "success", "request_id": id, "response": {
            "commands": [], "agents": [], "output_style": "default", "available_output_styles": ["default"],
            "models": [], "account": {"apiKeySource": self.key_source()}, "pid": std::process::id(),
        }});
        if again || self.habits.names_prompts {
            response["pending_permission_requests"] = json!(pending);
        }
        self.out.line(&json!({"type": "control_response", "response": response}));
        if again {
            self.list_tasks();
        }
    }

    fn interrupt(&mut self, id: &str, cancel_queued: bool) {
        let cancelled = if cancel_queued && self.habits.cancel_queued {
            Some(self.drop_queue("cancelled"))
        } else {
            None
        };
        self.withdraw();
        let body = self.habits.interrupt_receipt.then(|| {
            let mut body = json!({"still_queued": self.queued()});
            if let Some(cancelled) = cancelled {
                body["cancelled"] = json!(cancelled);
            }
            body
        });
        self.respond(id, body);
        if self.live.is_some() {
            self.stop = Some(Why::Request);
        }
    }

    fn end_session(&mut self, id: &str) {
        self.withdraw();
        self.respond(id, None);
        self.ending = true;
        self.discards = self.live.is_some() && self.habits.discards_queue;
        if self.live.is_some() {
            self.stop = Some(Why::EndSession);
        }
    }

    fn cancel(&mut self, id: &str, uuid: &str) {
        let at = self.queue.iter().position(|prompt| prompt.uuid.as_deref() == Some(uuid));
        let Some(prompt) = at.and_then(|at| self.queue.remove(at)) else {
            self.respond(id, Some(json!({"cancelled": false})));
            return;
        };
        self.receipt(&prompt, "cancelled");
        let mut body = json!({"cancelled": true});
        if self.habits.names_init {
            body["message_uuid"] = json!(uuid);
        }
        self.respond(id, Some(body));
    }
}
