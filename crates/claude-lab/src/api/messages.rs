//! `POST /v1/messages`: from a request to its answer.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue as WireValue};
use axum::http::{HeaderMap, Response};

use super::answer::{Answer, short_hash};
use super::request::{Request, is_compaction};
use super::{Shared, problem, stream, whole};
use crate::cache::blocks::Blocks;
use crate::price::{self, PriceList, bill::Charge, bill::Lane};
use crate::script::fill::Values;
use crate::script::pick::{self, Asked};
use crate::script::{HeaderValue, Reply, Script, Step};

/// What a place of a script gives for a request.
struct Picked {
    reply: Reply,
    values: Values,
    rule_line: Option<usize>,
    /// The rule's words for the log and for ids: how often this place was asked before.
    attempt: u64,
}

/// Answers; `seq` is the request's number in the log.
pub(super) async fn answer(
    shared: Arc<Shared>,
    script: &Script,
    request: Request,
    seq: u64,
) -> Response<Body> {
    let request_id = format!("req_lab_{seq}");
    let refuse = |code, message: &str| {
        shared.log.answered(seq, code, None);
        problem::respond(code, None, message, &request_id)
    };
    let Some(price) = price::of_model(&request.model).filter(|_| script.allows(&request.model)) else {
        return refuse(404, &format!("model: {}", request.model));
    };
    let picked = match pick(&shared, script, &request) {
        Ok(picked) => picked,
        Err(message) => return refuse(400, &message),
    };
    if let Some(hold) = &picked.reply.hold {
        shared.hold(hold).await;
    }
    let mut response = match &picked.reply.status {
        Some(status) => {
            let message = status.message.as_deref().map(|message| picked.values.fill(message));
            let message = message.unwrap_or_else(|| problem::default_message(status.code).to_owned());
            let mut response = problem::respond(status.code, status.kind.as_deref(), &message, &request_id);
            if let Some(seconds) = status.retry_after {
                response.headers_mut().insert("retry-after", WireValue::from(seconds));
            }
            response
        }
        None => speak(Arc::clone(&shared), script, &request, &picked, price, seq).await,
    };
    add_headers(response.headers_mut(), &picked.reply, shared.clock.now_ms());
    if let Ok(id) = WireValue::from_str(&request_id) {
        response.headers_mut().insert("request-id", id);
    }
    shared.log.answered(seq, response.status().as_u16(), picked.rule_line);
    response
}

/// Charges the request and lets the model's words out.
async fn speak(
    shared: Arc<Shared>,
    script: &Script,
    request: &Request,
    picked: &Picked,
    price: PriceList,
    seq: u64,
) -> Response<Body> {
    let blocks = Blocks::of(&request.body, &request.model);
    let input = shared.charge_cache(&blocks);
    let session_id = request.session_id.clone().unwrap_or_default();
    let identity = format!("{session_id} {} {} {}", request.agent_id, blocks.whole(), picked.attempt);
    let answer = Answer::new(&picked.reply, &picked.values, &identity, input);
    shared.charges.begin(
        Charge {
            seq,
            session_id,
            model: request.model.clone(),
            lane: request.lane,
            tokens: crate::Tokens { output: 1, ..answer.tokens },
            usd: 0.0,
            complete: false,
        },
        price,
    );
    let pace = picked.reply.pace.unwrap_or(script.pace);
    let (kind, body) = if request.stream {
        ("text/event-stream; charset=utf-8", stream::body(shared, answer, seq, pace))
    } else {
        ("application/json", whole::body(&shared, &answer, seq).await)
    };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, WireValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, WireValue::from_static("no-cache"));
    response
}

/// Chooses the reply. The error is for a script that has none.
fn pick(shared: &Shared, script: &Script, request: &Request) -> Result<Picked, String> {
    let turn = &request.turn;
    let asked = Asked {
        text: &turn.text,
        notice: turn.notice,
        turn: turn.number,
        round: turn.round,
        lane: request.lane,
        model: &request.model,
        system: &request.system,
    };
    let session = request.session_id.as_deref().unwrap_or_default();
    let Some(place) = script.place(&asked) else {
        return generic(&asked, session).ok_or_else(|| no_rule(&asked));
    };
    let values = pick::values(&asked, &place, &turn.result, session);
    let key = format!(
        "{} {session} {} {} {} {}",
        script.reference(),
        request.agent_id,
        place.rule.line,
        turn.number,
        turn.round
    );
    let attempt = shared.attempt(short_hash(&key));
    let reply = match place.round {
        Some(round) => round.attempt(attempt).cloned(),
        None => None,
    };
    let reply = reply.unwrap_or_else(|| says("Done."));
    Ok(Picked { reply, values, rule_line: Some(place.rule.line), attempt })
}

/// What side requests and notices get that no rule asks for: something short that spends nothing of the script.
fn generic(asked: &Asked<'_>, session: &str) -> Option<Picked> {
    let text = match asked.lane {
        // The CLI takes a summary only with these tags, and asks again without.
        Lane::Side if is_compaction(asked.text) => {
            "<analysis>\nNothing to weigh.\n</analysis>\n\n<summary>\nA conversation with the lab.\n</summary>"
        }
        // What the permission classifier of older CLIs reads as "may run".
        Lane::Side if asked.system.contains("You are a security monitor") => "<block>no</block>",
        Lane::Side => "Done.",
        _ if asked.notice => "Noted.",
        _ => return None,
    };
    let values = Values { model: asked.model.to_owned(), session: session.to_owned(), ..Values::default() };
    Some(Picked { reply: says(text), values, rule_line: None, attempt: 0 })
}

fn says(text: &str) -> Reply {
    Reply { steps: vec![Step::Say(text.to_owned())], pace: Some(Duration::ZERO), ..Reply::default() }
}

fn no_rule(asked: &Asked<'_>) -> String {
    let text: String = asked.text.chars().take(80).collect();
    format!(
        "the lab's script has no rule for \"{text}\" (prompt {}, {} lane); add a rule, or `otherwise`",
        asked.turn,
        asked.lane.as_str()
    )
}

fn add_headers(headers: &mut HeaderMap, reply: &Reply, now_ms: u64) {
    for (name, value) in &reply.headers {
        let text = match value {
            HeaderValue::Text(text) => text.clone(),
            HeaderValue::In(ahead) => (now_ms / 1000 + ahead.as_secs()).to_string(),
        };
        // Both were checked when the script was read.
        if let (Ok(name), Ok(text)) = (HeaderName::try_from(name.as_str()), WireValue::from_str(&text)) {
            headers.insert(name, text);
        }
    }
}
