//! From text to a script.

use serde_json::{Map, Value, json};

use super::{
    Background, Ending, FakeScript, FakeScriptError, Ignored, MAX_SCRIPT, Pause, Receipts, ResultKind, Step,
    Ties, Tool, Turn, Usage, When, text, words,
};
use crate::fake::habits::Habits;

type Parsed<T> = Result<T, String>;

pub(super) fn parse(text: &str) -> Result<FakeScript, FakeScriptError> {
    if text.len() > MAX_SCRIPT {
        return Err(FakeScriptError { line: 1, what: format!("a script has at most {MAX_SCRIPT} bytes") });
    }
    let mut parser = Parser { script: FakeScript::default(), block: Block::Head };
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            parser.line(line).map_err(|what| FakeScriptError { line: index + 1, what })?;
        }
    }
    Ok(parser.script)
}

/// Where the steps of the next lines belong.
enum Block {
    Head,
    Start,
    Turn,
    Exit,
}

struct Parser {
    script: FakeScript,
    block: Block,
}

impl Parser {
    fn line(&mut self, line: &str) -> Parsed<()> {
        let (word, rest) = words::split(line);
        if self.head(word, rest)? || self.block(word, rest)? || self.option(word, rest)? {
            return Ok(());
        }
        let step = step(word, rest)?;
        self.steps()?.push(step);
        Ok(())
    }

    /// What is said once, for the whole child.
    fn head(&mut self, word: &str, rest: &str) -> Parsed<bool> {
        match word {
            "version" => self.script.version = Some(words::name(rest)?),
            "habit" => {
                let (name, state) = words::split(rest);
                let on = match state {
                    "on" => true,
                    "off" => false,
                    _ => return Err("write `habit NAME on` or `habit NAME off`".to_owned()),
                };
                if !Habits::of("").set(name, on) {
                    return Err(format!("there is no habit `{name}`"));
                }
                self.script.habits.push((name.to_owned(), on));
            }
            "ignore" => {
                for word in rest.split_whitespace() {
                    self.script.ignores.push(ignored(word)?);
                }
            }
            "init" => self.script.init.extend(object(rest)?),
            "forbid-env" => self.script.forbidden.extend(rest.split_whitespace().map(str::to_owned)),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn block(&mut self, word: &str, rest: &str) -> Parsed<bool> {
        let when = match word {
            "start" if rest.is_empty() => {
                self.block = Block::Start;
                return Ok(true);
            }
            "leave" if rest.is_empty() => {
                self.block = Block::Exit;
                return Ok(true);
            }
            "turn" if rest.is_empty() => When::Next,
            "when" if !rest.is_empty() => When::Contains(text::string(rest)?),
            "otherwise" if rest.is_empty() => When::Otherwise,
            "wake" if rest.is_empty() => When::Wake(None),
            "wake" => When::Wake(Some(words::name(rest)?)),
            _ => return Ok(false),
        };
        self.block = Block::Turn;
        self.script.turns.push(Turn { when, steps: Vec::new() });
        Ok(true)
    }

    fn steps(&mut self) -> Parsed<&mut Vec<Step>> {
        let steps = match self.block {
            Block::Start => Some(&mut self.script.start),
            Block::Exit => Some(&mut self.script.exit),
            Block::Turn => self.script.turns.last_mut().map(|turn| &mut turn.steps),
            Block::Head => None,
        };
        steps.ok_or_else(|| {
            "a step stands under `start`, `turn`, `when TEXT`, `otherwise`, `wake` or `leave`".to_owned()
        })
    }

    /// A line that says more about the tool or task above it.
    fn option(&mut self, word: &str, rest: &str) -> Parsed<bool> {
        if matches!(self.block, Block::Head) {
            return Ok(false);
        }
        match self.steps()?.last_mut() {
            Some(Step::Tool(tool)) => match word {
                "gives" => tool.outcome = Ok(text::string(rest)?),
                "fails" => tool.outcome = Err(text::string(rest)?),
                "until" => tool.waits.push(Pause::Gate(words::name(rest)?)),
                "takes" => tool.waits.push(Pause::For(words::time(rest)?)),
                "withdrawn" => tool.withdrawn = Some(words::name(rest)?),
                "request" => tool.request = Some(object(rest)?),
                _ => return Ok(false),
            },
            Some(Step::Background(task)) => match word {
                "until" => task.waits = Some(Pause::Gate(words::name(rest)?)),
                "takes" => task.waits = Some(Pause::For(words::time(rest)?)),
                "says" if task.agent => task.says = Some(text::string(rest)?),
                "lag" => task.lag = Some(pause(rest)?),
                "ends" => rest.clone_into(&mut task.status),
                "wakes" if rest == "nothing" => task.wakes = false,
                _ => return Ok(false),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn step(word: &str, rest: &str) -> Parsed<Step> {
    Ok(match word {
        "say" => Step::Say(words::pieces(&text::string(rest)?)?),
        "think" => Step::Think(text::string(rest)?),
        "tool" => Step::Tool(tool(rest, false)?),
        "ask" => Step::Tool(tool(rest, true)?),
        "then" if rest.is_empty() => Step::Then,
        "shell" => Step::Background(background(rest, false)?),
        "agent" => Step::Background(background(rest, true)?),
        "line" => Step::Line(object(rest)?),
        "raw" => {
            let mut bytes = text::bytes(rest)?;
            bytes.push(b'\n');
            Step::Bytes(bytes)
        }
        "bytes" => Step::Bytes(text::bytes(rest)?),
        "huge" => {
            let (bytes, seed) = seeded(rest)?;
            Step::Huge { bytes, seed }
        }
        "flood" => {
            let (bytes, seed) = seeded(rest)?;
            Step::Flood { bytes, seed }
        }
        "stderr" => Step::Stderr(text::bytes(rest)?),
        "stderr-flood" => Step::StderrFlood(words::size(rest)?),
        "until" => Step::Wait(Pause::Gate(words::name(rest)?)),
        "pause" => Step::Wait(Pause::For(words::time(rest)?)),
        "mark" => Step::Mark(words::name(rest)?),
        "silence" if rest.is_empty() => Step::Silence,
        "deaf" => Step::Deaf(words::name(rest.strip_prefix("until ").unwrap_or(rest))?),
        "cost" => Step::Cost(words::number(rest)?),
        "usage" => Step::Usage(usage(rest)?),
        "result" => Step::End(ending(rest)?),
        "no-result" if rest.is_empty() => Step::End(Ending::Nothing),
        "receipts" => Step::Receipts(receipts(rest)?),
        "exit" => Step::Exit(words::number(rest)?),
        "kill" => Step::Kill(words::name(rest)?),
        "spawn" => spawn(rest)?,
        "retry" => retry(rest)?,
        "limit" => limit(rest)?,
        "compacting" => line(json!({"type": "system", "subtype": "status", "status": "compacting"})),
        "compacted" => line(json!({
            "type": "system", "subtype": "compact_boundary",
            "compact_metadata": {"trigger": "auto", "pre_tokens": 150_000},
        })),
        _ => return Err(format!("`{word}` is no step that can stand here")),
    })
}

fn line(value: Value) -> Step {
    match value {
        Value::Object(fields) => Step::Line(fields),
        _ => Step::Line(Map::new()),
    }
}

/// `retry ATTEMPT DELAY`: the API is tried again.
fn retry(rest: &str) -> Parsed<Step> {
    let (attempt, delay) = words::split(rest);
    let attempt: u64 = words::number(attempt)?;
    let delay = u64::try_from(words::time(delay)?.as_millis()).unwrap_or(u64::MAX);
    Ok(line(json!({
        "type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": 10,
        "retry_delay_ms": delay, "error_status": 529, "error": "overloaded",
    })))
}

/// `limit STATUS [RESETS]`: what the API says about the rate limit.
fn limit(rest: &str) -> Parsed<Step> {
    let (status, resets) = words::split(rest);
    let mut info = json!({"status": words::name(status)?, "rateLimitType": "five_hour"});
    if !resets.is_empty() {
        info["resetsAt"] = json!(words::number::<u64>(resets)?);
    }
    Ok(line(json!({"type": "rate_limit_event", "rate_limit_info": info})))
}

fn object(text: &str) -> Parsed<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err(format!("`{text}` is no JSON object")),
    }
}

fn pause(rest: &str) -> Parsed<Pause> {
    match words::split(rest) {
        ("until", gate) => Ok(Pause::Gate(words::name(gate)?)),
        (time, "") => Ok(Pause::For(words::time(time)?)),
        _ => Err("write `until GATE` or a time".to_owned()),
    }
}

fn ignored(word: &str) -> Parsed<Ignored> {
    Ok(match word {
        "initialize" => Ignored::Initialize,
        "interrupt" => Ignored::Interrupt,
        "end_session" => Ignored::EndSession,
        "control" => Ignored::Control,
        "eof" => Ignored::Eof,
        "sigterm" => Ignored::Sigterm,
        "sigint" => Ignored::Sigint,
        "leave" => Ignored::Leave,
        _ => return Err(format!("`{word}` can't be ignored")),
    })
}

fn tool(rest: &str, asks: bool) -> Parsed<Tool> {
    let (name, input) = words::split(rest);
    Ok(Tool {
        name: words::name(name)?,
        input: Value::Object(object(if input.is_empty() { "{}" } else { input })?),
        asks,
        request: None,
        waits: Vec::new(),
        outcome: Ok("done".to_owned()),
        withdrawn: None,
    })
}

fn background(rest: &str, agent: bool) -> Parsed<Background> {
    let (name, what) = words::split(rest);
    Ok(Background {
        name: words::name(name)?,
        agent,
        says: None,
        what: if what.is_empty() { name.to_owned() } else { text::string(what)? },
        waits: None,
        lag: None,
        wakes: true,
        status: "completed".to_owned(),
    })
}

fn seeded(rest: &str) -> Parsed<(usize, u64)> {
    let (size, seed) = words::split(rest);
    let seed = match seed.strip_prefix("seed ") {
        Some(digits) => words::number(digits)?,
        None if seed.is_empty() => 1,
        None => return Err("write `SIZE` or `SIZE seed NUMBER`".to_owned()),
    };
    Ok((words::size(size)?, seed))
}

fn usage(rest: &str) -> Parsed<Usage> {
    let mut usage = Usage::default();
    for word in rest.split_whitespace() {
        let (name, value) = word.split_once('=').ok_or("write `usage input=10 output=7 …`")?;
        let field = match name {
            "input" => &mut usage.input,
            "output" => &mut usage.output,
            "cache_read" => &mut usage.cache_read,
            "cache_write_5m" => &mut usage.cache_write_5m,
            "cache_write_1h" => &mut usage.cache_write_1h,
            _ => return Err(format!("there is no usage `{name}`")),
        };
        *field = Some(words::number(value)?);
    }
    Ok(usage)
}

fn ending(rest: &str) -> Parsed<Ending> {
    let (word, rest) = words::split(rest);
    let (kind, rest) = match word {
        "success" => (ResultKind::Success, rest),
        "max_turns" => (ResultKind::MaxTurns, rest),
        "budget" => (ResultKind::Budget, rest),
        "execution" => (ResultKind::Execution, rest),
        "api" => {
            let (status, text) = words::split(rest);
            let (text, fields) = text.split_once(" with ").unwrap_or((text, ""));
            (ResultKind::Api(words::number(status)?, text::string(text)?), fields)
        }
        _ => {
            return Err(
                "a result is one of success, api STATUS TEXT, max_turns, budget, execution".to_owned()
            );
        }
    };
    let fields = rest.strip_prefix("with ").unwrap_or(rest);
    Ok(Ending::Result { kind, fields: if fields.is_empty() { Map::new() } else { object(fields)? } })
}

fn receipts(rest: &str) -> Parsed<Receipts> {
    match words::split(rest) {
        ("late", gate) => Ok(Receipts::Late(words::name(gate)?)),
        ("never", "") => Ok(Receipts::Never),
        ("twice", "") => Ok(Receipts::Twice),
        _ => Err("receipts are `late GATE`, `never` or `twice`".to_owned()),
    }
}

fn spawn(rest: &str) -> Parsed<Step> {
    let (how, command) = words::split(rest);
    let how = match how {
        "group" => Ties::Group,
        "own-group" => Ties::OwnGroup,
        "session" => Ties::Session,
        "orphan" => Ties::Orphan,
        "stdout" => Ties::Stdout,
        _ => return Err("write `spawn group|own-group|session|orphan|stdout COMMAND`".to_owned()),
    };
    if command.is_empty() {
        return Err("a spawn needs a command".to_owned());
    }
    Ok(Step::Spawn { how, command: command.to_owned() })
}
