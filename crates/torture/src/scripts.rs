//! What the fake children do: what each prompt brings about, and what is wrong with a child as a whole. The letters are
//! the themes of `docs/reliability.md`.

use crate::dice::Dice;

/// The one prompt that is a command.
pub(crate) const CLEAR: &str = "clear";

/// A word in a prompt, how often it comes, and the steps of its turn. `$token` marks processes that are left behind, `$soon` is a time shortly after the
/// session was made.
const TURNS: &[(&str, usize, &str)] = &[
    ("plain", 12, "say You said $text"),
    ("thought", 3, "think Let me see.\n say Done."),
    ("slow", 8, "say First {pause 120ms} second {pause 120ms} and the last words."),
    ("tool", 8, "tool Bash {\"command\":\"make\"}\n takes 60ms\n gives built\n then\n say Done."),
    ("tools", 3, "tool Bash {}\n takes 20ms\n tool Read {}\n fails not there\n then\n say Done."),
    ("rounds", 3, "tool Bash {}\n takes 40ms\n then\n tool Bash {}\n takes 40ms\n then\n say Done."),
    ("long", 3, "tool Bash {}\n takes 900ms\n gives late\n then\n say Done."),
    // A: silence, ends without an end, background tasks.
    ("silent", 2, "silence"),
    ("mid-silence", 2, "say Some words {until never} and no more."),
    ("no-result", 2, "say Words.\n no-result"),
    ("leaves", 2, "say Words.\n exit 0"),
    ("exit-1", 2, "say Words.\n exit 1"),
    ("exit-143", 2, "say Words.\n exit 143"),
    ("dies", 2, "say Words. {pause 20ms}\n kill KILL"),
    ("dies-at-once", 2, "kill KILL"),
    ("aborts", 1, "tool Bash {}\n takes 10ms\n then\n kill ABRT"),
    ("shell", 4, "shell s sleep\n takes 120ms\n say Started."),
    ("agent", 3, "agent a look\n takes 80ms\n says I looked.\n say Started."),
    ("failing-task", 2, "shell f sleep\n takes 30ms\n ends failed\n say Started."),
    ("lagging-wake", 2, "shell l sleep\n takes 10ms\n lag 120ms\n say Started."),
    ("no-wake", 2, "shell n sleep\n takes 10ms\n wakes nothing\n say Started."),
    ("endless-shell", 1, "shell e sleep\n until never\n say Started."),
    ("endless-agent", 1, "agent e look\n until never\n say Started."),
    (
        "tasks-together",
        2,
        "shell s sleep\n takes 60ms\n agent a look\n takes 60ms\n says I looked.\n shell t sleep\n takes 60ms\n say Started.",
    ),
    (
        "killed-task",
        2,
        "agent k look\n takes 50ms\n ends killed\n say Started.\n stderr Background tasks still running after 600s; terminating.\\n",
    ),
    ("task-beside-tool", 2, "shell s sleep\n takes 80ms\n tool Bash {}\n takes 200ms\n then\n say Done."),
    ("dies-with-task", 1, "shell s sleep\n takes 300ms\n say Started.\n pause 20ms\n kill KILL"),
    ("result-then-dies", 2, "say Done.\n receipts late late\n result success"),
    ("exit-137", 1, "say Words.\n exit 137"),
    ("segv", 1, "tool Bash {}\n takes 10ms\n then\n kill SEGV"),
    ("term", 1, "say Words. {pause 10ms}\n kill TERM"),
    ("compacts", 2, "compacting\n pause 200ms\n compacted\n say Done."),
    ("half-compacts", 1, "compacting\n pause 100ms\n exit 1"),
    // B: the control channel and questions.
    ("asks", 6, "ask Bash {\"command\":\"make\"}\n gives built\n then\n say Done."),
    ("asks-twice", 3, "ask Bash {}\n ask Write {}\n then\n say Done."),
    ("withdraws", 2, "ask Bash {}\n withdrawn now\n then\n say Done."),
    (
        "hook",
        1,
        "ask Bash {}\n request {\"subtype\":\"hook_callback\",\"callback_id\":\"h\",\"input\":{}}\n then\n say Done.",
    ),
    (
        "elicitation",
        1,
        "ask Bash {}\n request {\"subtype\":\"elicitation\",\"mcp_server_name\":\"m\",\"message\":\"Which?\",\"requested_schema\":{}}\n then\n say Done.",
    ),
    ("plan", 1, "ask ExitPlanMode {\"plan\":\"first this\"}\n then\n say Done."),
    ("asks-and-waits", 1, "ask Bash {}\n withdrawn late\n takes 100ms\n then\n say Done."),
    ("asks-beside-task", 2, "shell s sleep\n takes 60ms\n ask Bash {}\n then\n say Done."),
    ("asks-and-dies", 1, "ask Bash {}\n then\n kill KILL"),
    ("unknown-request", 1, "ask Bash {}\n request {\"subtype\":\"never_heard_of\"}\n then\n say Done."),
    ("question", 2, "ask AskUserQuestion {\"questions\":[]}\n then\n say Done."),
    ("deaf", 1, "deaf until late"),
    ("deaf-and-dies", 1, "deaf until late\n say Words. {pause 300ms}\n kill KILL"),
    // D: receipts.
    ("late-receipts", 2, "receipts late late\n say Done."),
    ("no-receipts", 2, "receipts never\n say Done."),
    ("double-receipts", 2, "receipts twice\n say Done."),
    ("many-receipts", 1, "receipts twice\n tool Bash {}\n takes 60ms\n then\n say Done."),
    // E: the conversation.
    (CLEAR, 3, ""),
    // J: money.
    (
        "money",
        2,
        "cost 0.25\n usage input=10 output=7 cache_read=5 cache_write_5m=100 cache_write_1h=0\n say Done.",
    ),
    // F, L: what the API says.
    ("api-400", 2, "result api 400 messages: text content blocks must be non-empty"),
    ("api-401", 1, "result api 401 invalid x-api-key"),
    ("api-429", 2, "limit rejected 1\n result api 429 rate_limit_error"),
    ("limited-for-a-while", 1, "limit rejected $soon\n result api 429 rate_limit_error"),
    ("retries", 1, "retry 3 60ms\n say Done."),
    ("keeps-retrying", 1, "retry 9 400ms\n silence"),
    ("api-529", 1, "retry 2 10ms\n result api 529 overloaded_error"),
    ("allowed", 1, "limit allowed 1\n say Done."),
    ("max-turns", 1, "say Words.\n result max_turns"),
    ("budget", 1, "say Words.\n result budget"),
    ("execution", 1, "say Words.\n result execution"),
    // G: framing.
    ("torn", 2, "say Words.\n bytes {\"type\":\"assistant\",\"mess\n exit 1"),
    ("torn-kill", 2, "bytes {\"type\":\"result\",\"sub\n kill KILL"),
    (
        "noise",
        3,
        "raw no JSON at all\n raw \\xff\\xfe\n line {\"type\":\"never_heard_of\"}\n raw {\"type\":7}\n say Done.",
    ),
    ("surrogate", 1, "line {\"type\":\"system\",\"subtype\":\"x\",\"text\":\"\\\\ud99c\"}\n say Done."),
    ("glued", 1, "bytes {\"type\":\"assistant\"\n line {\"type\":\"system\",\"subtype\":\"x\"}\n say Done."),
    ("separators", 1, "say A\\u{2028}B\\u{2029}C\\u{85}D"),
    ("crlf", 1, "raw {\"type\":\"never_heard_of\"}\\r\n say Done."),
    ("flood", 2, "flood 300k seed 5\n say Done."),
    ("huge", 1, "huge 3m seed 6\n say Done."),
    ("stderr", 2, "stderr-flood 300k\n say Done."),
    // I: what it leaves behind.
    ("group", 1, "spawn group sleep $token\n say Done."),
    ("own-group", 1, "spawn own-group sleep $token\n say Done."),
    ("setsid", 2, "spawn session sleep $token\n say Done."),
    ("daemon", 2, "spawn orphan sleep $token\n say Done."),
    (
        "everything",
        1,
        "spawn group sleep $token\n spawn session sleep $token\n spawn orphan sleep $token\n spawn stdout sleep $token\n kill KILL",
    ),
    ("holds-stdout", 2, "spawn stdout sleep $token\n say Done."),
];

/// What is wrong with every child of a session: how often, its name, lines at the head of its script.
const NATURES: &[(usize, &str, &str)] = &[
    (10, "current", ""),
    (4, "2.1.240", "version 2.1.240\n"),
    (6, "2.1.200", "version 2.1.200\n"),
    (2, "ignores end_session", "ignore end_session\n"),
    (1, "ignores end_session on 2.1.200", "version 2.1.200\nignore end_session\n"),
    (2, "ignores initialize", "ignore initialize\n"),
    (2, "ignores interrupt", "ignore interrupt\n"),
    (1, "ignores every request", "ignore control\n"),
    (2, "ignores requests and signals", "ignore end_session sigterm sigint\n"),
    (2, "stays after end_session", "ignore leave\n"),
    (1, "other ids", "init {\"session_id\":\"99999999-9999-4999-8999-999999999999\"}\n"),
    (
        2,
        "hooks first",
        "start\n line {\"type\":\"system\",\"subtype\":\"hook_started\",\"session_id\":\"88888888-8888-4888-8888-888888888888\"}\n raw noise\n",
    ),
    (1, "no receipts", "habit lifecycle off\n"),
    (1, "no interrupt receipts", "habit interrupt-receipt off\nhabit cancel-queued off\n"),
    (1, "names nothing", "habit names-prompts off\nhabit names-init off\nhabit names-requests off\n"),
    (
        1,
        "too many files",
        "start\n stderr Error: EMFILE: too many open files, watch\\n    at FSWatcher\\n\n exit 1\n",
    ),
    (1, "in use already", "start\n stderr Error: Session ID is already in use.\\n\n exit 1\n"),
    (1, "stderr first", "start\n stderr-flood 200k\n"),
    (1, "slow start", "start\n pause 400ms\n"),
    (1, "leaves with 143", "leave\n exit 143\n"),
    (1, "leaves with 1", "leave\n exit 1\n"),
    (1, "is killed at its end", "leave\n kill KILL\n"),
    (1, "never says a word", "start\n until never\n"),
    (1, "ends at once", "start\n exit 1\n"),
];

/// The key of a turn, by weight.
pub(crate) fn key(dice: &mut Dice) -> &'static str {
    let mut left = dice.below(TURNS.iter().map(|(_, weight, _)| weight).sum());
    for (key, weight, _) in TURNS {
        if left < *weight {
            return key;
        }
        left -= weight;
    }
    "plain"
}

/// A session's nature and the whole script of its children. `token`: what left processes sleep for; `soon`: when a limit
/// ends that is told of, in seconds since 1970.
pub(crate) fn script(dice: &mut Dice, token: &str, soon: i64) -> (&'static str, String) {
    let mut left = dice.below(NATURES.iter().map(|(weight, ..)| weight).sum());
    let mut nature = NATURES[0];
    for candidate in NATURES {
        if left < candidate.0 {
            nature = *candidate;
            break;
        }
        left -= candidate.0;
    }
    (nature.1, text(nature.2, token).replace("$soon", &soon.to_string()))
}

fn text(head: &str, token: &str) -> String {
    let mut text = head.to_owned();
    for (key, _, steps) in TURNS.iter().filter(|(key, ..)| *key != CLEAR) {
        text.push_str(&format!("when [{key}]\n {}\n", steps.replace("$token", token)));
    }
    text + "wake\n say The background task has ended.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_can_be_read() {
        for (_, name, head) in NATURES {
            if let Err(error) = claude_lab::fake::FakeScript::parse(&text(head, "1.5").replace("$soon", "1"))
            {
                panic!("{name}: {error}");
            }
        }
    }

    #[test]
    fn keys_are_told_apart() {
        for (key, ..) in TURNS {
            assert_eq!(TURNS.iter().filter(|(other, ..)| other == key).count(), 1, "{key}");
        }
    }
}
