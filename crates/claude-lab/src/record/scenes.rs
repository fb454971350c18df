//! The scenarios.

use serde_json::json;

use super::scenario::{Act, Answer, Group, Scenario, Seen, Version};
use Act::{Again, Answer as Reply, Bytes, Close, Control, Open, Prompt, Resume, Signal, Wait};

const ECHO: &str = "otherwise\n say You said: $text\n";
const FAKE_ECHO: &str = "otherwise\n say You said: $text\n";

/// An answer of two blocks, with a gate between them that the scenario may open or not.
const HALF: &str =
    "when \"half\"\n say The first half\n pause until more\n say of it.\notherwise\n say You said: $text\n";
const FAKE_HALF: &str =
    "when half\n say The first half\n until more\n say of it.\notherwise\n say You said: $text\n";

const TOUCH: &str = "when \"go\"\n tool Bash {\"command\": \"touch made\", \"description\": \"Make a file\"}\nthen\n say Done.\n";
const FAKE_TOUCH: &str =
    "when go\n ask Bash {\"command\": \"touch made\", \"description\": \"Make a file\"}\n say Done.\n";

/// A command that runs until the scenario opens its gate; it needs no permission under `--allowedTools Bash`.
const LONG: &str = "when \"go\"\n tool Bash {\"command\": \"until [ -e more ]; do sleep 0.02; done; echo ran\", \"description\": \"Wait\"}\nthen\n say Done.\notherwise\n say You said: $text\n";
const FAKE_LONG: &str = "when go\n tool Bash {\"command\": \"wait\"}\n  until more\n say Done.\notherwise\n say You said: $text\n";

/// A background shell that ends when the scenario opens its gate.
const SHELL: &str = "when notice\n say I saw it end.\nwhen \"go\"\n tool Bash {\"command\": \"until [ -e more ]; do sleep 0.02; done\", \"description\": \"Wait\", \"run_in_background\": true}\nthen\n say Started.\n";
const FAKE_SHELL: &str = "when go\n shell wait Wait\n  until more\n say Started.\nwake\n say I saw it end.\n";

const BASH: &[&str] = &["--allowedTools", "Bash"];

fn end() -> Act {
    Control("end", json!({"subtype": "end_session"}))
}

fn interrupt() -> Act {
    Control("stop", json!({"subtype": "interrupt"}))
}

/// What ends most scenarios: idle, then `end_session`.
fn to_the_end(mut acts: Vec<Act>) -> Vec<Act> {
    acts.extend([Wait(Seen::Idle), end()]);
    acts
}

/// Waits until a prompt is queued: for its receipt, or for the answer to a request that was written behind it.
fn queued(version: &Version, number: u8) -> Vec<Act> {
    if version.has_receipts() {
        vec![Wait(Seen::Receipt(number, "queued"))]
    } else {
        vec![Control("seen", json!({"subtype": "no_such_thing"})), Wait(Seen::Response("seen"))]
    }
}

fn scenario(
    name: &'static str,
    lab: &'static str,
    fake: &'static str,
    acts: fn(&Version) -> Vec<Act>,
) -> Scenario {
    Scenario { name, group: Group::Turns, lab, fake: Some(fake), args: &[], acts, recorded: false }
}

impl Scenario {
    fn recorded(self) -> Self {
        Self { recorded: true, ..self }
    }

    fn only_recorded(self) -> Self {
        Self { recorded: true, fake: None, ..self }
    }

    fn with(self, args: &'static [&'static str]) -> Self {
        Self { args, ..self }
    }
}

/// Every scenario.
pub fn scenarios() -> Vec<Scenario> {
    let groups = [
        (Group::Turns, turns()),
        (Group::Tools, tools()),
        (Group::Interrupts, interrupts()),
        (Group::Ends, ends()),
        (Group::Channel, channel()),
        (Group::Failures, failures()),
    ];
    groups
        .into_iter()
        .flat_map(|(group, scenarios)| {
            scenarios.into_iter().map(move |scenario| Scenario { group, ..scenario })
        })
        .collect()
}

/// What prompts and texts do.
fn turns() -> Vec<Scenario> {
    vec![
        scenario("plain", ECHO, FAKE_ECHO, |_| to_the_end(vec![Prompt(1, "hello")])).recorded(),
        scenario(
            "thinking",
            "otherwise\n think Let me see.\n say I see.\n",
            "otherwise\n think Let me see.\n say I see.\n",
            |_| to_the_end(vec![Prompt(1, "hello")]),
        )
        .recorded(),
        scenario("two-quick", ECHO, FAKE_ECHO, |_| {
            to_the_end(vec![Prompt(1, "one"), Prompt(2, "two"), Wait(Seen::Result), Wait(Seen::Result)])
        }),
        scenario("late-delivery", HALF, FAKE_HALF, |version| {
            let mut acts = vec![Prompt(1, "half"), Wait(Seen::Assistant), Prompt(2, "late")];
            acts.extend(queued(version, 2));
            acts.extend([Open("more"), Wait(Seen::Result), Wait(Seen::Result)]);
            to_the_end(acts)
        })
        .recorded(),
        scenario("clear", ECHO, FAKE_ECHO, |_| {
            to_the_end(vec![
                Prompt(1, "hello"),
                Wait(Seen::Idle),
                Prompt(2, "/clear"),
                Wait(Seen::Idle),
                Prompt(3, "and now"),
            ])
        })
        .recorded(),
        scenario("resume", ECHO, FAKE_ECHO, |_| {
            let acts =
                vec![Prompt(1, "one"), Wait(Seen::Idle), end(), Resume, Prompt(1, "one"), Wait(Seen::Idle)];
            to_the_end([acts, vec![Prompt(2, "two")]].concat())
        })
        .recorded(),
        scenario("same-uuid", ECHO, FAKE_ECHO, |_| {
            let acts = vec![
                Prompt(1, "one"),
                Wait(Seen::Idle),
                Prompt(1, "one"),
                Wait(Seen::Idle),
                Prompt(2, "two"),
            ];
            to_the_end(acts)
        }),
        scenario("id-in-use", ECHO, FAKE_ECHO, |_| vec![Prompt(1, "one"), Wait(Seen::Idle), end(), Again]),
        scenario("resume-unknown", ECHO, FAKE_ECHO, |_| vec![Resume, Prompt(1, "one"), Close]),
    ]
}

/// What tools and background tasks do.
fn tools() -> Vec<Scenario> {
    vec![
        scenario(
            "parallel-tools",
            "when \"go\"\n say Two at once.\n tool Bash {\"command\": \"echo a\", \"description\": \"a\"}\n tool Bash {\"command\": \"echo b\", \"description\": \"b\"}\nthen\n say Done.\n",
            "when go\n say Two at once.\n tool Bash {\"command\": \"echo a\"}\n tool Bash {\"command\": \"echo b\"}\n say Done.\n",
            |_| to_the_end(vec![Prompt(1, "go")]),
        )
        .with(BASH)
        .recorded(),
        scenario("steer-in-tool", LONG, FAKE_LONG, |version| {
            let mut acts = vec![Prompt(1, "go"), Wait(Seen::Assistant), Prompt(2, "steer")];
            acts.extend(queued(version, 2));
            acts.push(Open("more"));
            to_the_end(acts)
        })
        .with(BASH)
        .recorded(),
        scenario("permission-allow", TOUCH, FAKE_TOUCH, |_| {
            to_the_end(vec![Prompt(1, "go"), Wait(Seen::Request), Reply(Answer::Allow)])
        })
        .recorded(),
        scenario("permission-deny", TOUCH, FAKE_TOUCH, |_| {
            to_the_end(vec![Prompt(1, "go"), Wait(Seen::Request), Reply(Answer::Deny)])
        })
        .recorded(),
        scenario("permission-deny-and-stop", TOUCH, FAKE_TOUCH, |_| {
            to_the_end(vec![Prompt(1, "go"), Wait(Seen::Request), Reply(Answer::DenyAndStop)])
        }),
        scenario("allow-without-input", TOUCH, FAKE_TOUCH, |_| {
            to_the_end(vec![Prompt(1, "go"), Wait(Seen::Request), Reply(Answer::AllowBare)])
        }),
        scenario("wrong-envelope", TOUCH, FAKE_TOUCH, |_| {
            // The answer to a later request proves that the wrong one was read before the right one is written.
            let asked = Control("seen", json!({"subtype": "no_such_thing"}));
            to_the_end(vec![
                Prompt(1, "go"),
                Wait(Seen::Request),
                Reply(Answer::WrongEnvelope),
                asked,
                Wait(Seen::Response("seen")),
                Reply(Answer::Allow),
            ])
        }),
        scenario(
            "background-shell",
            SHELL,
            FAKE_SHELL,
            |_| {
                let acts = vec![Prompt(1, "go"), Wait(Seen::Result), Wait(Seen::Idle), Open("more"), Wait(Seen::Result)];
                to_the_end(acts)
            },
        )
        .with(BASH)
        .recorded(),
        scenario(
            "background-agent",
            "when sub\n hold until more\n say The fruit is yellow.\nwhen notice\n say I saw it end.\nwhen \"go\"\n tool Agent {\"description\": \"Ask\", \"prompt\": \"What about the banana?\", \"subagent_type\": \"general-purpose\", \"run_in_background\": true}\nthen\n say Started.\n",
            "when go\n agent ask Ask\n  until more\n  says The fruit is yellow.\n say Started.\nwake\n say I saw it end.\n",
            |_| to_the_end(vec![Prompt(1, "go"), Wait(Seen::Result), Open("more"), Wait(Seen::Result)]),
        )
        .with(&["--allowedTools", "Agent"])
        .recorded(),
    ]
}

fn interrupts() -> Vec<Scenario> {
    vec![
        scenario("interrupt", HALF, FAKE_HALF, |_| {
            to_the_end(vec![Prompt(1, "half"), Wait(Seen::Assistant), interrupt()])
        })
        .recorded(),
        scenario(
            "interrupt-in-text",
            "pace 2s\notherwise\n say one two three four\n",
            "otherwise\n say one {until never}two\n",
            |_| to_the_end(vec![Prompt(1, "go"), Wait(Seen::Delta), interrupt()]),
        ),
        scenario("interrupt-in-tool", LONG, FAKE_LONG, |_| {
            to_the_end(vec![Prompt(1, "go"), Wait(Seen::MessageStop), interrupt()])
        })
        .with(BASH),
        scenario("interrupt-permission", TOUCH, FAKE_TOUCH, |_| {
            to_the_end(vec![Prompt(1, "go"), Wait(Seen::Request), interrupt()])
        }),
        scenario("interrupt-idle", ECHO, FAKE_ECHO, |_| {
            to_the_end(vec![
                Prompt(1, "one"),
                Wait(Seen::Idle),
                interrupt(),
                Wait(Seen::Response("stop")),
                Prompt(2, "two"),
            ])
        }),
        scenario("interrupt-queued", HALF, FAKE_HALF, |version| {
            let mut acts = vec![Prompt(1, "half"), Wait(Seen::Assistant), Prompt(2, "queued")];
            acts.extend(queued(version, 2));
            acts.extend([interrupt(), Wait(Seen::Result), Wait(Seen::Result)]);
            to_the_end(acts)
        }),
        scenario("interrupt-cancel-queued", HALF, FAKE_HALF, |version| {
            let stop = Control("stop", json!({"subtype": "interrupt", "cancel_queued": true}));
            let mut acts = vec![Prompt(1, "half"), Wait(Seen::Assistant), Prompt(2, "queued")];
            acts.extend(queued(version, 2));
            acts.push(stop);
            to_the_end(acts)
        }),
        scenario("bare-interrupt", HALF, FAKE_HALF, |_| {
            let asked = Control("seen", json!({"subtype": "no_such_thing"}));
            to_the_end(vec![
                Prompt(1, "half"),
                Wait(Seen::Assistant),
                Bytes(b"{\"subtype\":\"interrupt\"}\n"),
                asked,
                Wait(Seen::Response("seen")),
                Open("more"),
            ])
        }),
        scenario("now", HALF, FAKE_HALF, |_| {
            let now = b"{\"type\":\"user\",\"uuid\":\"11111111-0000-4000-8000-000000000002\",\"session_id\":\"\",\"parent_tool_use_id\":null,\"priority\":\"now\",\"message\":{\"role\":\"user\",\"content\":\"now\"}}\n";
            to_the_end(vec![
                Prompt(1, "half"),
                Wait(Seen::Assistant),
                Bytes(now),
                Wait(Seen::Result),
                Wait(Seen::Result),
            ])
        }),
    ]
}

fn ends() -> Vec<Scenario> {
    vec![
        scenario("end-session", ECHO, FAKE_ECHO, |_| {
            to_the_end(vec![Prompt(1, "hello"), Wait(Seen::Idle), Prompt(2, "more")])
        })
        .recorded(),
        scenario("end-mid-turn", HALF, FAKE_HALF, |_| vec![Prompt(1, "half"), Wait(Seen::Assistant), end()]),
        scenario("end-queued", HALF, FAKE_HALF, |version| {
            let mut acts = vec![Prompt(1, "half"), Wait(Seen::Assistant), Prompt(2, "queued")];
            acts.extend(queued(version, 2));
            acts.push(end());
            acts
        }),
        scenario("end-with-shell", SHELL, FAKE_SHELL, |_| {
            to_the_end(vec![Prompt(1, "go"), Wait(Seen::Result)])
        })
        .with(BASH),
        scenario("end-of-stdin-with-shell", SHELL, FAKE_SHELL, |_| {
            vec![Prompt(1, "go"), Wait(Seen::Idle), Close, Open("more")]
        })
        .with(BASH),
        scenario("terminated", HALF, FAKE_HALF, |_| {
            vec![Prompt(1, "half"), Wait(Seen::Assistant), Signal("TERM")]
        }),
        scenario("terminated-idle", ECHO, FAKE_ECHO, |_| {
            vec![Prompt(1, "one"), Wait(Seen::Idle), Signal("TERM")]
        }),
        scenario("interrupted-by-signal", HALF, FAKE_HALF, |_| {
            vec![Prompt(1, "half"), Wait(Seen::Assistant), Signal("INT")]
        }),
        scenario("interrupted-by-signal-idle", ECHO, FAKE_ECHO, |_| {
            vec![Prompt(1, "one"), Wait(Seen::Idle), Signal("INT")]
        }),
        scenario("end-then-prompt", ECHO, FAKE_ECHO, |_| {
            vec![Prompt(1, "one"), Wait(Seen::Idle), end(), Prompt(2, "behind")]
        }),
        scenario("end-of-stdin", ECHO, FAKE_ECHO, |_| vec![Prompt(1, "one"), Wait(Seen::Idle), Close]),
        scenario("end-of-stdin-queued", ECHO, FAKE_ECHO, |_| vec![Prompt(1, "one"), Prompt(2, "two"), Close]),
    ]
}

/// The control channel.
fn channel() -> Vec<Scenario> {
    vec![
        scenario("initialize-first", ECHO, FAKE_ECHO, |_| {
            to_the_end(vec![
                Control("hello", json!({"subtype": "initialize"})),
                Wait(Seen::Response("hello")),
                Prompt(1, "one"),
            ])
        }),
        scenario("initialize-pending", TOUCH, FAKE_TOUCH, |version| {
            let again = Control("again", json!({"subtype": "initialize"}));
            let mut acts = vec![Prompt(1, "go"), Wait(Seen::Request), again, Wait(Seen::Response("again"))];
            if version.lists_tasks() {
                acts.push(Wait(Seen::Tasks));
            }
            acts.push(Reply(Answer::Allow));
            to_the_end(acts)
        })
        .recorded(),
        scenario("cancel-queued", HALF, FAKE_HALF, |version| {
            let cancel = |id, uuid: &str| {
                Control(id, json!({"subtype": "cancel_async_message", "message_uuid": uuid}))
            };
            let mut acts = vec![Prompt(1, "half"), Wait(Seen::Assistant), Prompt(2, "queued")];
            acts.extend(queued(version, 2));
            acts.extend([
                cancel("known", "11111111-0000-4000-8000-000000000002"),
                Wait(Seen::Response("known")),
                cancel("unknown", "11111111-0000-4000-8000-000000000009"),
                Wait(Seen::Response("unknown")),
                Open("more"),
            ]);
            to_the_end(acts)
        }),
        scenario("unknown-lines", ECHO, FAKE_ECHO, |_| {
            to_the_end(vec![
                Bytes(b"{\"type\":\"keep_alive\"}\n\n{\"type\":\"what\"}\n"),
                Control("odd", json!({"subtype": "no_such_thing"})),
                Wait(Seen::Response("odd")),
                Prompt(1, "one"),
            ])
        }),
        scenario("malformed-line", ECHO, FAKE_ECHO, |_| {
            vec![Prompt(1, "one"), Wait(Seen::Idle), Bytes(b"nonsense\n")]
        }),
        scenario("half-line", ECHO, FAKE_ECHO, |_| vec![Bytes(b"{\"type\":\"user\""), Prompt(1, "one")]),
        scenario("request-without-request", ECHO, FAKE_ECHO, |_| {
            vec![Bytes(b"{\"type\":\"control_request\",\"request_id\":\"x\"}\n")]
        }),
    ]
}

fn failures() -> Vec<Scenario> {
    vec![
        scenario(
            "api-400",
            "otherwise\n status 400 \"scripted failure\"\n",
            "otherwise\n result api 400 scripted failure\n",
            |_| to_the_end(vec![Prompt(1, "hello")]),
        )
        .recorded(),
        scenario(
            "api-429-long",
            "otherwise\n status 429 retry-after 3600 \"scripted limit\"\n",
            "otherwise\n result api 429 scripted limit\n",
            |_| to_the_end(vec![Prompt(1, "hello")]),
        )
        .recorded(),
        scenario(
            "api-retry",
            "otherwise\n status 529\n times 1\nretry\n say Here I am.\n",
            "",
            |_| to_the_end(vec![Prompt(1, "hello")]),
        )
        .only_recorded(),
        scenario(
            "max-turns",
            "when \"go\"\n tool Bash {\"command\": \"echo a\", \"description\": \"a\"}\nthen\n say Never said.\n",
            "when go\n tool Bash {\"command\": \"echo a\"}\n say Never said.\n",
            |_| to_the_end(vec![Prompt(1, "go")]),
        )
        .with(&["--allowedTools", "Bash", "--max-turns", "1"])
        .recorded(),
        scenario(
            "budget",
            "when \"go\"\n tool Bash {\"command\": \"echo a\", \"description\": \"a\"}\nthen\n say Never said.\n",
            "when go\n tool Bash {\"command\": \"echo a\"}\n say Never said.\n",
            |_| to_the_end(vec![Prompt(1, "go")]),
        )
        .with(&["--allowedTools", "Bash", "--max-budget-usd", "0.0001"])
        .recorded(),
    ]
}
