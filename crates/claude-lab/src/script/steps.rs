//! The statements inside a rule, one function a kind.

use serde_json::Value;

use super::lines::Line;
use super::{HeaderValue, Hold, Reply, ScriptError, Status, Step, Usage, duration};

const WORDS: &str = "use say, think, tool, pause, hold, cut, garble, event, status, header, usage, stop, pace, times, repeat, \
                     then, retry, when or otherwise";

/// Adds one statement to a reply.
pub(super) fn add(reply: &mut Reply, line: &Line) -> Result<(), ScriptError> {
    match line.word.as_str() {
        "say" => reply.steps.push(Step::Say(text(line)?)),
        "think" => reply.steps.push(Step::Think(text(line)?)),
        "tool" => reply.steps.push(tool(line)?),
        "pause" => reply.steps.push(Step::Pause(hold(line)?)),
        "hold" => reply.hold = Some(hold(line)?),
        "cut" => reply.steps.push(Step::Cut),
        "garble" => reply.steps.push(Step::Garble(garble(line))),
        "event" => reply.steps.push(event(line)?),
        "status" => reply.status = Some(status(line)?),
        "header" => reply.headers.push(header(line)?),
        "usage" => reply.usage = usage(line, reply.usage)?,
        "stop" => reply.stop = Some(word(line, "write stop max_tokens")?),
        "pace" => reply.pace = Some(pace(line)?),
        "times" => reply.times = Some(times(line)?),
        other => return Err(line.error(format!("unknown word `{other}`"), WORDS)),
    }
    Ok(())
}

/// The value of `pace`.
pub(super) fn pace(line: &Line) -> Result<std::time::Duration, ScriptError> {
    duration::parse(&line.rest).ok_or_else(|| line.error("`pace` needs a duration", "write pace 20ms"))
}

/// A text: the block, a quoted text as in JSON, or the rest of the line as it stands.
fn text(line: &Line) -> Result<String, ScriptError> {
    if let Some(block) = &line.block {
        return Ok(block.clone());
    }
    if line.rest.starts_with('"') && line.rest.len() > 1 && line.rest.ends_with('"') {
        return serde_json::from_str(&line.rest).map_err(|error| {
            line.error(format!("a bad quoted text ({error})"), "write it as in JSON: \"a\\nb\"")
        });
    }
    Ok(line.rest.clone())
}

fn tool(line: &Line) -> Result<Step, ScriptError> {
    let hint = "write tool Bash {\"command\": \"ls\"}";
    let (name, rest) = line.rest.split_once(char::is_whitespace).unwrap_or((line.rest.as_str(), ""));
    if name.is_empty() || name.starts_with('{') {
        return Err(line.error("`tool` needs a name", hint));
    }
    let json = line.block.as_deref().unwrap_or(rest).trim();
    let json = if json.is_empty() { "{}" } else { json };
    match serde_json::from_str(json) {
        Ok(input @ Value::Object(_)) => Ok(Step::Tool { name: name.to_owned(), input }),
        Ok(_) => Err(line.error("a tool's input must be a JSON object", hint)),
        Err(error) => Err(line.error(format!("a tool's input is not JSON ({error})"), hint)),
    }
}

/// `200ms`, `until NAME`, or nothing for as long as the client stays.
fn hold(line: &Line) -> Result<Hold, ScriptError> {
    let wrong = || {
        let hint =
            format!("write {0} 3s, {0} until NAME, or {0} alone for as long as the client stays", line.word);
        line.error(format!("`{}` does not understand `{}`", line.word, line.rest), hint)
    };
    if line.rest.is_empty() {
        return Ok(Hold::Forever);
    }
    if let Some(gate) = line.rest.strip_prefix("until ") {
        let gate = gate.trim();
        return if gate.is_empty() || gate.contains(['/', '?', '#', ' ']) {
            Err(wrong())
        } else {
            Ok(Hold::Gate(gate.to_owned()))
        };
    }
    duration::parse(&line.rest).map(Hold::For).ok_or_else(wrong)
}

fn garble(line: &Line) -> String {
    let half = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delt\n\n";
    match (&line.block, line.rest.is_empty()) {
        (Some(block), _) => format!("{block}\n\n"),
        (None, true) => half.to_owned(),
        (None, false) => format!("{}\n\n", line.rest),
    }
}

fn event(line: &Line) -> Result<Step, ScriptError> {
    let hint = "write event ping {\"type\": \"ping\"}";
    let (name, rest) = line.rest.split_once(char::is_whitespace).unwrap_or((line.rest.as_str(), ""));
    if name.is_empty() || name.starts_with('{') {
        return Err(line.error("`event` needs a name", hint));
    }
    let json = line.block.as_deref().unwrap_or(rest);
    let data = serde_json::from_str(json)
        .map_err(|error| line.error(format!("an event is not JSON ({error})"), hint))?;
    Ok(Step::Event { name: name.to_owned(), data })
}

fn status(line: &Line) -> Result<Status, ScriptError> {
    let hint = "write status 429 retry-after 3 kind rate_limit_error \"Slow down\"; code, then what you need";
    let wrong = |what: &str| line.error(format!("`status`: {what}"), hint);
    let (head, message) = match line.rest.split_once('"') {
        Some((head, tail)) => {
            let quoted = format!("\"{tail}");
            (head, Some(serde_json::from_str(quoted.trim()).map_err(|_| wrong("the message is not closed"))?))
        }
        None => (line.rest.as_str(), None),
    };
    let mut words = head.split_whitespace();
    let code = words.next().and_then(|code| code.parse().ok()).filter(|code| (400..600).contains(code));
    let code = code.ok_or_else(|| wrong("needs a code from 400 to 599"))?;
    let mut status = Status { code, kind: None, message, retry_after: None };
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| wrong("a value is missing"))?;
        match word {
            "retry-after" => {
                let seconds = value.parse().ok().or_else(|| duration::parse(value).map(|d| d.as_secs()));
                status.retry_after = Some(seconds.ok_or_else(|| wrong("retry-after needs seconds"))?);
            }
            "kind" => status.kind = Some(value.to_owned()),
            _ => return Err(wrong("only retry-after, kind and a quoted message may follow the code")),
        }
    }
    Ok(status)
}

fn header(line: &Line) -> Result<(String, HeaderValue), ScriptError> {
    let hint = "write header NAME VALUE, or header NAME in 1h for a time in seconds since 1970";
    let (name, value) = line
        .rest
        .split_once(char::is_whitespace)
        .ok_or_else(|| line.error("`header` needs a name and a value", hint))?;
    let (name, value) = (name.trim_end_matches(':').to_ascii_lowercase(), value.trim());
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if name.is_empty() || !name.bytes().all(allowed) || !value.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return Err(line.error("a header must be plain ASCII", hint));
    }
    let value = match value.strip_prefix("in ").map(|d| duration::parse(d.trim())) {
        Some(Some(ahead)) => HeaderValue::In(ahead),
        _ => HeaderValue::Text(value.to_owned()),
    };
    Ok((name, value))
}

fn usage(line: &Line, mut usage: Usage) -> Result<Usage, ScriptError> {
    let hint = "write usage input=10 output=20 cache_read=0 cache_write_5m=0 cache_write_1h=0; leave out what is counted";
    for pair in line.rest.split_whitespace() {
        let value = pair.split_once('=').and_then(|(name, value)| Some((name, value.parse::<u64>().ok()?)));
        match value {
            Some(("input", n)) => usage.input = Some(n),
            Some(("output", n)) => usage.output = Some(n),
            Some(("cache_read", n)) => usage.cache_read = Some(n),
            Some(("cache_write_5m", n)) => usage.cache_write_5m = Some(n),
            Some(("cache_write_1h", n)) => usage.cache_write_1h = Some(n),
            _ => return Err(line.error(format!("`usage` does not understand `{pair}`"), hint)),
        }
    }
    Ok(usage)
}

fn word(line: &Line, hint: &str) -> Result<String, ScriptError> {
    if line.rest.is_empty() || line.rest.contains(char::is_whitespace) {
        return Err(line.error(format!("`{}` needs one word", line.word), hint));
    }
    Ok(line.rest.clone())
}

fn times(line: &Line) -> Result<u64, ScriptError> {
    let number = line.rest.parse().ok().filter(|&n| n > 0);
    number
        .ok_or_else(|| line.error("`times` needs a number", "write times 2, then `retry` with what follows"))
}
