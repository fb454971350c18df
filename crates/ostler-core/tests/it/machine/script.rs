//! The words of a hand-written journal.
//!
//! | line | what it does |
//! | --- | --- |
//! | `spawn A`, `spawn A base=MODEL:IN/OUT/READ/W5/W1/USD` | a generation is started for delivery A, and runs |
//! | `write A`, `begin A` | A's line is written; begun only |
//! | `ask ID interrupt`, `answer R` | a request of ours, the answer to a question: begun and done |
//! | `decided R allow` `adopted` `ending stop` `kill` `began` `parked WHY` | the row of that name |
//! | `expired quiet` | a deadline's row |
//! | `forks 100`, `forks 100 interrupt` | the generation is a fork's that has to read so many tokens |
//! | `cache 100/90/10` | the row of what it had to read, read, and wrote |
//! | `settled`, `dead code 0`, `dead signal 9`, `dead unknown`, `dead not-started` | |
//! | `+500` | so many milliseconds pass |
//! | `cancel A`, `cancelled A` | A is asked back from the child; taken back from nobody |
//! | `want A B`, `now-wish` | A and B are wanted back; the interrupt that the next delivery needs is wanted |
//! | `pending A B/queue C/now`, `wish ID`, `stop`, `policy deny`, `pipe full` | what the world is like from now on |
//! | `? nothing` | what the machine wants to do next |
//! | `< …` | a line of the child's: JSON, `!` and any text, or one of the short forms of [`child_line`] |

use claude_wire::Frame;
use ostler_core::ctl::{
    Baseline, Deadline, Decision, EndReason, Event, Exit, KillReason, Line, ModelBaseline, Reply, Row,
};
use ostler_core::ids::{ConversationId, DeliveryId, Millis};
use ostler_core::limits::Limits;
use ostler_core::machine::{Action, Machine, Mode, Pending, Policy, Stored, Wish, World};
use ostler_core::rows::{CacheSeen, Delivery, Permission, Spend, Tokens, Turn};
use std::fmt::Write as _;
use uuid::Uuid;

/// Plays `journal` and compares what it folds to with `expect`, both line by line without their indentation.
#[track_caller]
pub(super) fn check(journal: &str, expect: &str) {
    let case = play(journal);
    let trimmed =
        |text: &str| text.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
    assert_eq!(summary(&case.machine), trimmed(expect), "\nof the journal{journal}");
}

/// Plays a journal.
#[track_caller]
pub(super) fn play(journal: &str) -> Case {
    let mut case = Case::new();
    for line in journal.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        case.line(line);
    }
    case
}

/// A journal being played.
pub(super) struct Case {
    pub(super) machine: Machine,
    now: u64,
    off: u64,
    made: u32,
    pending: Vec<Pending>,
    stored: Vec<Stored>,
    wish: Option<Wish>,
    cancels: Vec<DeliveryId>,
    stop: bool,
    limited: bool,
    policy: Policy,
    pipe_ready: bool,
}

impl Case {
    fn new() -> Self {
        Self {
            machine: Machine::new(ConversationId(Uuid::from_u128(0xc0)), Limits::default()),
            now: 0,
            off: 0,
            made: 0,
            pending: Vec::new(),
            stored: Vec::new(),
            wish: None,
            cancels: Vec::new(),
            stop: false,
            limited: false,
            policy: Policy::Ask,
            pipe_ready: true,
        }
    }

    fn row(&mut self, ev: Event) {
        let at = Millis(i64::try_from(self.now).unwrap());
        let off = if matches!(ev, Event::Spawn { .. }) { 0 } else { self.off };
        self.machine.row(&Row { at, off, ev }, self.now);
    }

    #[track_caller]
    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["<", ..] => self.says(line[1..].trim()),
            ["?", ..] => {
                let wants = self.wants();
                assert_eq!(wants, line[1..].trim(), "wanted at {} ms", self.now);
            }
            ["spawn", delivery, rest @ ..] => self.spawn(delivery, rest),
            ["write", delivery] => self.write(Line::User { delivery: id(delivery) }, true),
            ["begin", delivery] => self.write(Line::User { delivery: id(delivery) }, false),
            ["done", write] => self.row(Event::Done { write: write.parse().unwrap() }),
            ["ask", request, subtype] => {
                let (request_id, subtype) = ((*request).to_owned(), (*subtype).to_owned());
                self.write(Line::Request { request_id, subtype, about: None, cancel_queued: false }, true);
            }
            ["cancel", about] => {
                let (request_id, subtype) = (format!("c-{about}"), "cancel_async_message".to_owned());
                let about = Some(id(about));
                self.write(Line::Request { request_id, subtype, about, cancel_queued: false }, true);
            }
            ["cancelled", about] => self.row(Event::Cancelled { delivery: id(about) }),
            ["answer", request] => self.write(Line::Answer { request_id: (*request).to_owned() }, true),
            ["decided", request, decision] => {
                let decision = if *decision == "allow" { Decision::Allow } else { Decision::Deny };
                let request_id = (*request).to_owned();
                self.row(reply(decision).decided(request_id, "me".into(), None));
            }
            ["stored", request, decision] => {
                let decision = if *decision == "allow" { Decision::Allow } else { Decision::Deny };
                let (generation, request_id) = (self.machine.generation(), (*request).to_owned());
                self.stored.push(Stored { generation, request_id, by: "me".into(), reply: reply(decision) });
            }
            ["forks", expected, rest @ ..] => {
                let from = ConversationId(Uuid::from_u128(0xba5e));
                let (expected_read, interrupt) = (expected.parse().unwrap(), rest == ["interrupt"]);
                self.row(Event::Forks { from, expected_read, interrupt });
            }
            ["cache", numbers] => {
                let n: Vec<u64> = numbers.split('/').map(|n| n.parse().unwrap()).collect();
                self.row(Event::Cache { seen: CacheSeen { expected: n[0], read: n[1], written: n[2] } });
            }
            ["adopted"] => self.row(Event::Adopted { pid: 1, version: "v".into() }),
            ["began"] => self.row(Event::TurnBegan { turn: 1 }),
            ["slow", silent] => self.row(Event::Slow { silent: silent.parse().unwrap() }),
            ["kill"] => self.row(Event::Kill { why: KillReason::Deaf }),
            ["parked", ..] => {
                let reason = line["parked".len()..].trim().to_owned();
                self.row(Event::Parked { reason, seen: None });
            }
            ["ending", "stop"] => self.row(Event::Ending { why: EndReason::Stop }),
            ["ending", "settled"] => self.row(Event::Ending { why: EndReason::Settled }),
            ["settled", ..] => {
                let gave_up_tasks = words.get(1).map_or(0, |n| n.parse().unwrap());
                self.row(Event::Settled { turn: 1, gave_up_tasks });
            }
            ["expired", deadline] => self.row(Event::Expired { deadline: named(deadline) }),
            ["dead", exit @ ..] => {
                let exit = match exit {
                    ["code", n] => Exit::Code(n.parse().unwrap()),
                    ["signal", n] => Exit::Signal(n.parse().unwrap()),
                    ["unknown"] => Exit::Unknown,
                    _ => Exit::NotStarted,
                };
                self.row(Event::Dead { exit, proven: true, killed: 0, said: None });
            }
            ["pending", list @ ..] => {
                self.pending = list.iter().map(|word| pending(word, self.now)).collect();
            }
            ["wish", request] => {
                self.wish = Some(Wish { request_id: (*request).to_owned(), cancel_queued: false });
            }
            ["want", list @ ..] => self.cancels = list.iter().map(|n| id(n)).collect(),
            ["now-wish"] => self.wish = self.machine.now_wish(&self.pending),
            ["stop"] => self.stop = true,
            ["limit", state] => self.limited = *state == "on",
            ["policy", policy] => {
                self.policy = if *policy == "deny" { Policy::Deny } else { Policy::Allow };
            }
            ["pipe", state] => self.pipe_ready = *state == "empty",
            [time] if time.starts_with('+') => self.now += time[1..].parse::<u64>().unwrap(),
            _ => panic!("nobody knows what `{line}` means"),
        }
    }

    fn spawn(&mut self, delivery: &str, rest: &[&str]) {
        let mut baseline = Baseline::default();
        for word in rest {
            let (model, numbers) = word.strip_prefix("base=").unwrap().split_once(':').unwrap();
            let (tokens, usd) = amount(numbers);
            baseline.usd += usd;
            baseline.models.push(ModelBaseline { model: model.to_owned(), tokens, usd });
        }
        self.off = 0;
        let (generation, conversation) = (self.machine.generation() + 1, self.machine.conversation());
        let resume = generation > 1;
        let (delivery, version) = (id(delivery), "2".to_owned());
        self.row(Event::Spawn { generation, delivery, conversation, resume, baseline, version });
        self.row(Event::Child { pid: 1, start: 1, boot: "b".into() });
    }

    fn write(&mut self, line: Line, whole: bool) {
        let write = self.machine.next_write();
        self.row(Event::Begin { write, line, len: 100, hash: String::new() });
        if whole {
            self.row(Event::Done { write });
        }
    }

    /// The child writes a line.
    fn says(&mut self, text: &str) {
        self.made += 1;
        let raw = text.strip_prefix('!').or_else(|| text.starts_with('{').then_some(text));
        let line = raw.map_or_else(|| child_line(text, self.made), str::to_owned);
        let start = self.off;
        self.off += line.len() as u64 + 1;
        self.machine.out((start, self.off), &Frame::parse(line.as_bytes()), self.now);
    }

    /// What is wanted, behind whatever is only written down.
    fn wants(&self) -> String {
        self.wants_of(self.machine.clone())
    }

    fn wants_of(&self, mut machine: Machine) -> String {
        let note = |machine: &mut Machine, ev: Event| {
            let at = Millis(i64::try_from(self.now).unwrap());
            machine.row(&Row { at, off: self.off, ev }, self.now);
        };
        let action = machine.decide(&World {
            now: self.now,
            wall: Millis(i64::try_from(self.now).unwrap()),
            pending: &self.pending,
            stored: &self.stored,
            policy: self.policy,
            pipe_ready: self.pipe_ready,
            pipe_capacity: 1_000,
            interrupt: self.wish.as_ref(),
            cancels: &self.cancels,
            stop: self.stop,
            hold: false,
            limited: self.limited,
            rested: 0,
            ..World::default()
        });
        match action {
            None => "nothing".to_owned(),
            Some(Action::Spawn { delivery }) => format!("spawn {}", name(delivery)),
            Some(Action::WriteUser { delivery }) => format!("write {}", name(delivery)),
            Some(Action::Request { subtype, request_id, .. }) => match request_id {
                Some(id) => format!("ask {id} {subtype}"),
                None => format!("ask {subtype}"),
            },
            Some(Action::Cancel { delivery }) => format!("cancel {}", name(delivery)),
            Some(Action::Repeat { write, .. }) => format!("repeat {write}"),
            Some(Action::Answer { request_id }) => {
                let decision = machine.decided(&request_id).unwrap().decision;
                format!("answer {request_id} {}", format!("{decision:?}").to_lowercase())
            }
            // Rows without a deed: whoever asks what is wanted sees what comes of them.
            Some(Action::Asked { request_id }) => {
                note(&mut machine, Event::Asked { request_id });
                self.wants_of(machine)
            }
            Some(Action::Decide { request_id, by, reply, given }) => {
                note(&mut machine, reply.decided(request_id, by, given));
                self.wants_of(machine)
            }
            Some(Action::Exhaust { request_id }) => {
                note(&mut machine, Event::Exhausted { request_id });
                self.wants_of(machine)
            }
            Some(Action::Refuse { request_id }) => format!("refuse {request_id}"),
            Some(Action::Expire { deadline }) => format!("expire {}", format!("{deadline:?}").to_lowercase()),
            Some(Action::CacheSeen { seen }) => {
                format!("cache {} {}/{}/{}", seen.verdict().word(), seen.expected, seen.read, seen.written)
            }
            Some(Action::Slow { silent }) => format!("slow {silent}"),
            Some(Action::Park { reason }) => format!("park {}", reason.split(':').next().unwrap()),
            Some(Action::BeginTurn) => "begin turn".to_owned(),
            Some(Action::Settle { gave_up_tasks: 0 }) => "settle".to_owned(),
            Some(Action::Settle { gave_up_tasks }) => format!("settle {gave_up_tasks}"),
            Some(Action::End { why }) => format!("end {}", format!("{why:?}").to_lowercase()),
            Some(Action::Kill { why }) => format!("kill {}", format!("{why:?}").to_lowercase()),
        }
    }
}

/// A line of the child's in short: `running`, `idle`, `init`, `init CONVERSATION`, `queued A`, `started A`,
/// `completed A`, `cancelled A`, `discarded A`, `refused A`, `replay A`, `told TASK`, `tasks T…`, `task T`,
/// `task T call=C`, `notified T`, `notified T call=C`, `tool C`, `tool C lane=L`, `tool C message=M`, `done C`, `asks R`, `cancels R`,
/// `reads READ/WRITTEN`, `reads READ/WRITTEN lane=L` (a message of the model's),
/// `block`, `stop` (of a streamed message), `status WHAT`, `retry MS`, `limited UNTIL`,
/// `ok ID`, `ok ID queued=A,B`, `no ID`, `gives ID true`, `lists R…`, `message ID MODEL IN/OUT/READ/W5/W1`, `delta OUT`, `clear`,
/// `result KIND …` with KIND `success`, `api_error`, `max_turns`, `aborted`, `execution` and `for=A,B`, `rounds=N`,
/// `ok ID`, `ok ID queued=A,B`, `no ID`, `lists R…`, `message ID MODEL IN/OUT/READ/W5/W1`, `delta OUT`, `clear`,
/// `refused KIND` (of the API), `result KIND …` with KIND `success`, `api_error`, `max_turns`, `aborted`, `execution` and `for=A,B`, `rounds=N`,
/// `used=…`, `MODEL=IN/OUT/READ/W5/W1/USD`, `total=USD`.
fn child_line(text: &str, made: u32) -> String {
    let uuid = format!(r#""uuid":"{made:08x}-2222-4222-8222-222222222222""#);
    let system =
        |subtype: &str, rest: &str| format!(r#"{{"type":"system","subtype":"{subtype}",{rest}{uuid}}}"#);
    let words: Vec<&str> = text.split_whitespace().collect();
    let option = |key: &str| words.iter().find_map(|w| w.strip_prefix(key)?.strip_prefix('='));
    match words.as_slice() {
        [state @ ("running" | "idle" | "requires_action")] => {
            system("session_state_changed", &format!(r#""state":"{state}","#))
        }
        ["init", conversation @ ..] => {
            let id = conversation.first().copied().unwrap_or("x");
            system("init", &format!(r#""session_id":"{id}","model":"m","#))
        }
        [state @ ("queued" | "started" | "completed" | "cancelled" | "discarded" | "refused"), about] => {
            format!(
                r#"{{"type":"command_lifecycle","command_uuid":"{}","state":"{state}",{uuid}}}"#,
                id(about)
            )
        }
        ["replay", about] => format!(
            r#"{{"type":"user","isReplay":true,"uuid":"{}","message":{{"role":"user","content":"x"}}}}"#,
            id(about)
        ),
        ["told", task] => format!(
            r#"{{"type":"user","isReplay":true,{uuid},"message":{{"role":"user","content":"<task-notification>\n<task-id>{task}</task-id>"}}}}"#
        ),
        ["tasks", tasks @ ..] => {
            let list: Vec<_> =
                tasks.iter().map(|t| format!(r#"{{"task_id":"{t}","task_type":"local_bash"}}"#)).collect();
            system("background_tasks_changed", &format!(r#""tasks":[{}],"#, list.join(",")))
        }
        ["task", task, ..] => {
            let call = option("call").map_or(String::new(), |c| format!(r#""tool_use_id":"{c}","#));
            system("task_started", &format!(r#""task_id":"{task}",{call}"task_type":"local_bash","#))
        }
        ["notified", task, ..] => {
            let call = option("call").map_or(String::new(), |c| format!(r#""tool_use_id":"{c}","#));
            let status = option("status").unwrap_or("completed");
            system("task_notification", &format!(r#""task_id":"{task}",{call}"status":"{status}","#))
        }
        ["tool", call, ..] => {
            let lane = option("lane").map_or("null".to_owned(), |l| format!("\"{l}\""));
            let name = option("name").unwrap_or("Bash");
            let of = option("message").map_or(String::new(), |m| format!(r#""id":"{m}","#));
            format!(
                r#"{{"type":"assistant",{uuid},"parent_tool_use_id":{lane},"message":{{{of}"role":"assistant","content":[{{"type":"tool_use","id":"{call}","name":"{name}","input":{{}}}}]}}}}"#
            )
        }
        ["reads", numbers, ..] => {
            let lane = option("lane").map_or("null".to_owned(), |l| format!("\"{l}\""));
            let (read, written) = numbers.split_once('/').unwrap();
            let usage = usage(amount(&format!("1/1/{read}/{written}/0")).0);
            format!(
                r#"{{"type":"assistant",{uuid},"parent_tool_use_id":{lane},"message":{{"id":"m{made}","model":"m","role":"assistant","content":[{{"type":"text","text":"x"}}],"usage":{usage}}}}}"#
            )
        }
        ["done", call] => format!(
            r#"{{"type":"user",{uuid},"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{call}","content":"x"}}]}}}}"#
        ),
        ["asks", request, ..] => question(request, option("tool").unwrap_or("Bash")),
        ["cancels", request] => format!(r#"{{"type":"control_cancel_request","request_id":"{request}"}}"#),
        ["ok", request, ..] => {
            let queued = option("queued").map_or(String::new(), |list| {
                let ids: Vec<_> = list.split(',').map(|n| format!("\"{}\"", id(n))).collect();
                format!(r#","response":{{"still_queued":[{}]}}"#, ids.join(","))
            });
            format!(
                r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"{request}"{queued}}}}}"#
            )
        }
        ["gives", request, gave] => format!(
            r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"{request}","response":{{"cancelled":{gave}}}}}}}"#
        ),
        ["no", request] => format!(
            r#"{{"type":"control_response","response":{{"subtype":"error","request_id":"{request}","error":"no"}}}}"#
        ),
        ["lists", request, questions @ ..] => {
            let list: Vec<_> = questions.iter().map(|q| question(q, "Bash")).collect();
            format!(
                r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"{request}","response":{{}}}},"pending_permission_requests":[{}]}}"#,
                list.join(",")
            )
        }
        ["message", message, model, numbers] => format!(
            r#"{{"type":"stream_event",{uuid},"event":{{"type":"message_start","message":{{"id":"{message}","model":"{model}","usage":{}}}}}}}"#,
            usage(amount(numbers).0)
        ),
        ["delta", output] => format!(
            r#"{{"type":"stream_event",{uuid},"event":{{"type":"message_delta","delta":{{}},"usage":{{"output_tokens":{output}}}}}}}"#
        ),
        ["block"] => format!(
            r#"{{"type":"stream_event",{uuid},"event":{{"type":"content_block_start","index":0,"content_block":{{"type":"text","text":""}}}}}}"#
        ),
        ["stop"] => format!(r#"{{"type":"stream_event",{uuid},"event":{{"type":"message_stop"}}}}"#),
        ["status", status] => system("status", &format!(r#""status":"{status}","#)),
        ["retry", delay] => system("api_retry", &format!(r#""attempt":1,"retry_delay_ms":{delay},"#)),
        ["limited", until] => format!(
            r#"{{"type":"rate_limit_event",{uuid},"rate_limit_info":{{"status":"rejected","resetsAt":{until}}}}}"#
        ),
        ["refused", kind, "api"] => format!(
            r#"{{"type":"assistant",{uuid},"error":"{kind}","parent_tool_use_id":null,"message":{{"role":"assistant","model":"<synthetic>","content":[]}}}}"#
        ),
        ["clear"] => format!(
            r#"{{"type":"conversation_reset","new_conversation_id":"99999999-0000-4000-8000-000000000000",{uuid}}}"#
        ),
        ["result", kind, rest @ ..] => result_line(kind, rest, &uuid),
        _ => panic!("the child can't say `{text}`"),
    }
}

fn result_line(kind: &str, rest: &[&str], uuid: &str) -> String {
    let (subtype, is_error, reason) = match kind {
        "success" => ("success", false, "completed"),
        "api_error" => ("success", true, "api_error"),
        "max_turns" => ("error_max_turns", true, "max_turns"),
        "aborted" => ("error_during_execution", true, "aborted_streaming"),
        "now" => ("success", false, "aborted_streaming"),
        "execution" => ("error_during_execution", true, ""),
        other => (other, true, ""),
    };
    let (mut more, mut models) = (String::new(), Vec::new());
    for word in rest {
        let (key, value) = word.split_once('=').unwrap();
        let _ = match key {
            "for" => {
                let ids: Vec<_> = value.split(',').map(|n| format!("\"{}\"", id(n))).collect();
                write!(more, r#""user_message_uuids":[{}],"#, ids.join(","))
            }
            "rounds" => write!(more, r#""num_turns":{value},"#),
            "session" => write!(more, r#""session_id":"{value}","#),
            "status" => write!(more, r#""api_error_status":{value},"#),
            "said" => write!(more, r#""result":"{value}","#),
            "total" => write!(more, r#""total_cost_usd":{value},"#),
            "used" => write!(more, r#""usage":{},"#, usage(amount(value).0)),
            "denied" => {
                write!(more, r#""permission_denials":[{{"tool_name":"{value}","tool_use_id":"t"}}],"#)
            }
            model => {
                let (t, usd) = amount(value);
                models.push(format!(
                    r#""{model}":{{"inputTokens":{},"outputTokens":{},"cacheReadInputTokens":{},"cacheCreationInputTokens":{},"cacheCreationEphemeral5mInputTokens":{},"cacheCreationEphemeral1hInputTokens":{},"costUSD":{usd}}}"#,
                    t.input, t.output, t.cache_read, t.cache_write_5m + t.cache_write_1h, t.cache_write_5m, t.cache_write_1h
                ));
                Ok(())
            }
        };
    }
    format!(
        r#"{{"type":"result","subtype":"{subtype}","is_error":{is_error},"terminal_reason":"{reason}",{more}"modelUsage":{{{}}},{uuid}}}"#,
        models.join(",")
    )
}

fn question(request: &str, tool: &str) -> String {
    format!(
        r#"{{"type":"control_request","request_id":"{request}","request":{{"subtype":"can_use_tool","tool_name":"{tool}","input":{{}},"tool_use_id":"t-{request}"}}}}"#
    )
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

/// `IN/OUT/READ/W5/W1` and, behind it, dollars.
fn amount(text: &str) -> (Tokens, f64) {
    let parts: Vec<&str> = text.split('/').collect();
    let number = |n: usize| parts.get(n).map_or(0, |p| p.parse().unwrap());
    let tokens = Tokens {
        input: number(0),
        output: number(1),
        cache_read: number(2),
        cache_write_5m: number(3),
        cache_write_1h: number(4),
    };
    (tokens, parts.get(5).map_or(0.0, |p| p.parse().unwrap()))
}

/// `A` is a delivery whose uuid begins with it.
fn id(name: &str) -> DeliveryId {
    let letter = name.bytes().next().unwrap();
    DeliveryId(Uuid::from_u128(u128::from(letter) << 120 | 0x4000_8000_0000_0000_0001))
}

fn name(id: DeliveryId) -> char {
    char::from(id.0.as_bytes()[0])
}

fn pending(word: &str, now: u64) -> Pending {
    let mode = match word.split_once('/') {
        Some((_, "queue")) => Mode::Queue,
        Some((_, "now")) => Mode::Now,
        _ => Mode::Auto,
    };
    let line_len = if word.contains("/long") { 5_000 } else { 100 };
    let accepted_at = Millis(i64::try_from(now).unwrap());
    Pending { id: id(word), mode, line_len, seq: 0, accepted_at }
}

fn reply(decision: Decision) -> Reply {
    Reply { decision, ..Reply::allow() }
}

fn named(deadline: &str) -> Deadline {
    serde_json::from_value(serde_json::Value::String(deadline.to_owned())).unwrap()
}

/// What a machine folded, in short.
fn summary(machine: &Machine) -> String {
    let rows = machine.project();
    let turns = rows.turns.iter().map(turn);
    let deliveries = rows.deliveries.iter().map(delivery);
    let questions = rows.permissions.iter().map(permission);
    let spend = rows.spend.iter().map(spend);
    turns.chain(deliveries).chain(questions).chain(spend).collect::<Vec<_>>().join("\n")
}

fn turn(t: &Turn) -> String {
    let mut text = format!("turn {}", t.no);
    match t.outcome {
        Some(outcome) => text += &format!(" {}", format!("{outcome:?}").to_lowercase()),
        None => text += " open",
    }
    for (word, said) in [("because", &t.failure)] {
        if let Some(said) = said {
            text += &format!(", {word} {said}");
        }
    }
    for (word, number) in [("results", t.results), ("denials", t.denials), ("killed", t.killed_tasks)] {
        if number > 0 {
            text += &format!(", {number} {word}");
        }
    }
    for (word, is) in [("unclean", t.unclean), ("garbled", t.garbled)] {
        if is {
            text += &format!(", {word}");
        }
    }
    text
}

fn delivery(d: &Delivery) -> String {
    format!("{} {}", name(d.id), format!("{:?}", d.state).to_lowercase())
}

fn permission(p: &Permission) -> String {
    let mut text = format!("{} {}", p.request_id, format!("{:?}", p.state).to_lowercase());
    if let Some(decision) = p.decision {
        text += &format!(" {}", format!("{decision:?}").to_lowercase());
    }
    if let Some(why) = &p.withdrawn {
        text += &format!(", {why}");
    }
    text
}

fn spend(s: &Spend) -> String {
    let t = s.tokens;
    let usd = s.usd.map_or("?".to_owned(), |usd| format!("{usd:.4}"));
    let how = serde_json::to_value(s.method).unwrap();
    format!(
        "{} {} {}/{}/{}/{}/{} ${usd} {}",
        s.generation,
        s.model,
        t.input,
        t.output,
        t.cache_read,
        t.cache_write_5m,
        t.cache_write_1h,
        how.as_str().unwrap()
    )
}
