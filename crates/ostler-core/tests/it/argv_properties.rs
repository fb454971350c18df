//! Whatever a spec holds, only our own flags come out.

use crate::samples::{conversation, launcher, plain};
use ostler_core::argv::{Files, Platform, Start, build};
use ostler_core::spec::{ExtraFlag, LaunchSpec, PermissionMode, SettingSource, SettingSources, parse_extra};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

/// Every word that begins with a dash and may stand in a command line.
const OURS: &[&str] = &[
    "-p",
    "--add-dir",
    "--agent",
    "--agents",
    "--allowedTools",
    "--append-system-prompt-file",
    "--bare",
    "--dangerously-skip-permissions",
    "--disallowedTools",
    "--effort",
    "--fallback-model",
    "--include-partial-messages",
    "--input-format",
    "--json-schema",
    "--max-budget-usd",
    "--max-turns",
    "--mcp-config",
    "--model",
    "--output-format",
    "--permission-mode",
    "--permission-prompt-tool",
    "--plugin-dir",
    "--replay-user-messages",
    "--resume",
    "--session-id",
    "--setting-sources",
    "--settings",
    "--strict-mcp-config",
    "--system-prompt-file",
    "--tools",
    "--verbose",
];

const FORBIDDEN: &[&str] = &[
    "--background",
    "--bg",
    "--continue",
    "--fork-session",
    "--from-pr",
    "--input-format",
    "--no-session-persistence",
    "--output-format",
    "--print",
    "--resume",
    "--sdk-url",
    "--session-id",
    "--teleport",
    "-c",
    "-p",
    "-r",
];

/// A word that somebody with bad intentions, or a cat on the keyboard, may put anywhere.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[A-Za-z(): *.,/_-]{0,12}",
        1 => any::<String>(),
        3 => (prop::sample::select(FORBIDDEN), "(=[a-z]{0,4})?").prop_map(|(f, v)| format!("{f}{v}")),
        1 => (prop::sample::select(FORBIDDEN), 3_usize..9).prop_map(|(f, n)| f.chars().take(n).collect()),
        1 => prop::sample::select(FORBIDDEN).prop_map(str::to_uppercase),
        1 => prop::sample::select(FORBIDDEN).prop_map(|f| format!(" {f}")),
        1 => prop::sample::select(FORBIDDEN).prop_map(|f| format!("x\n{f}")),
        1 => prop::sample::select(FORBIDDEN).prop_map(|f| f.replace("--", "\u{2014}")),
    ]
}

fn dir() -> impl Strategy<Value = String> {
    prop_oneof![hostile(), hostile().prop_map(|h| format!("/{h}"))]
}

fn spec() -> impl Strategy<Value = LaunchSpec> {
    let names = (
        hostile(),
        vec(hostile(), 0..3),
        of(vec(hostile(), 0..3)),
        vec(hostile(), 0..3),
        vec(hostile(), 0..3),
    );
    let texts = (of(hostile()), of(hostile()), of(hostile()), of(hostile()), of(hostile()));
    let dirs = (dir(), vec(dir(), 0..2), vec(dir(), 0..2));
    let sources = prop_oneof![
        Just(SettingSources::Full),
        Just(SettingSources::Bare),
        vec(prop::sample::select(SettingSource::ALL.to_vec()), 0..4).prop_map(SettingSources::Chosen),
    ];
    let numbers = (
        of(any::<u32>()),
        of(any::<f64>()),
        prop::sample::select(PermissionMode::ALL.to_vec()),
        any::<bool>(),
    );
    let extra = vec((hostile(), of(hostile())).prop_map(|(flag, value)| ExtraFlag { flag, value }), 0..2);
    (names, texts, dirs, sources, numbers, extra).prop_map(|(names, texts, dirs, sources, numbers, extra)| {
        let mut s = plain();
        (s.model, s.fallback_models, s.tools, s.allowed, s.disallowed) = names;
        (s.agent, s.effort, s.system_prompt, s.append_system_prompt, s.json_schema) = texts;
        (s.cwd, s.added_dirs, s.plugin_dirs) = dirs;
        s.setting_sources = sources;
        (s.max_turns, s.max_budget_usd, s.permission_mode, s.skip_permissions) = numbers;
        s.extra = extra;
        s
    })
}

/// The same with every field sane but one: most wholly hostile specs are refused before they say anything.
fn nearly_sane() -> impl Strategy<Value = LaunchSpec> {
    (spec(), 0_usize..12).prop_map(|(h, field)| {
        let mut s = plain();
        match field {
            0 => s.model = h.model,
            1 => s.fallback_models = h.fallback_models,
            2 => s.tools = h.tools,
            3 => s.allowed = h.allowed,
            4 => s.disallowed = h.disallowed,
            5 => s.agent = h.agent,
            6 => s.effort = h.effort,
            7 => (s.system_prompt, s.append_system_prompt) = (h.system_prompt, h.append_system_prompt),
            8 => (s.added_dirs, s.plugin_dirs) = (h.added_dirs, h.plugin_dirs),
            9 => s.cwd = h.cwd,
            10 => (s.max_turns, s.max_budget_usd) = (h.max_turns, h.max_budget_usd),
            _ => s.extra = h.extra,
        }
        s
    })
}

fn files() -> Files {
    Files::in_dir("/s/launch")
}

fn holds(spec: &LaunchSpec, resume: bool) -> Result<(), TestCaseError> {
    let conversation = conversation();
    let start = if resume { Start::Resume { conversation } } else { Start::Fresh { conversation } };
    let Ok(argv) = build(spec, start, Platform::Unix, &files()) else { return Ok(()) };
    prop_assert_eq!(
        build(spec, start, Platform::Unix, &files()).ok(),
        Some(argv.clone()),
        "same in, same out"
    );
    let words: Vec<String> = argv.iter().map(|w| w.to_str().unwrap().to_owned()).collect();
    for word in &words {
        let known = OURS.contains(&word.as_str()) || spec.extra.iter().any(|e| e.flag == *word);
        prop_assert!(!word.starts_with('-') || known, "{word} in {words:?}");
        prop_assert!(!word.chars().any(char::is_control), "{word:?}");
    }
    let count = |flag: &str| words.iter().filter(|w| *w == flag).count();
    for once in ["-p", "--input-format", "--output-format", "--verbose", "--model", "--permission-mode"] {
        prop_assert_eq!(count(once), 1, "{}", once);
    }
    for once in ["--permission-prompt-tool", "--include-partial-messages", "--setting-sources"] {
        prop_assert_eq!(count(once), 1, "{}", once);
    }
    prop_assert_eq!((count("--resume"), count("--session-id")), (usize::from(resume), usize::from(!resume)));
    prop_assert!(spec.extra.iter().all(|e| !FORBIDDEN.contains(&e.flag.as_str())));
    Ok(())
}

proptest! {
    #[test]
    fn no_spec_yields_a_flag_that_is_not_ours(spec in spec(), resume: bool) {
        holds(&spec, resume)?;
    }

    #[test]
    fn nor_does_one_bad_field(spec in nearly_sane(), resume: bool) {
        holds(&spec, resume)?;
    }

    #[test]
    fn no_pass_through_list_brings_one_in(words in vec(hostile(), 0..4)) {
        if let Ok(flags) = parse_extra(&words) {
            for f in &flags {
                prop_assert!(!FORBIDDEN.contains(&f.flag.as_str()));
                prop_assert!(!f.value.as_deref().unwrap_or("").starts_with('-'));
            }
        }
    }

    #[test]
    fn nor_does_a_launcher(args in vec(hostile(), 0..4)) {
        let mut spec = plain();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        spec.launcher = launcher("/usr/bin/claude", &args);
        let start = Start::Fresh { conversation: conversation() };
        if let Ok(argv) = build(&spec, start, Platform::Unix, &files()) {
            let given = &argv[1..=args.len()];
            for flag in FORBIDDEN {
                let bad = |w: &str| w == *flag || w.starts_with(&format!("{flag}="));
                prop_assert!(!given.iter().any(|w| bad(w.to_str().unwrap())), "{flag} in {given:?}");
            }
        }
    }
}

#[test]
fn every_spelling_of_a_forbidden_flag_is_refused() {
    for flag in FORBIDDEN {
        for words in
            [vec![(*flag).to_owned()], vec![format!("{flag}=x")], vec![(*flag).to_owned(), "x".to_owned()]]
        {
            assert!(parse_extra(&words).is_err(), "{words:?}");
        }
        // Whoever shortens a flag hopes that a parser completes it.
        for n in 3..flag.len() {
            assert!(parse_extra(&[flag[..n].to_owned()]).is_err(), "{}", &flag[..n]);
        }
        let mut spec = plain();
        spec.launcher = launcher("/usr/bin/claude", &[flag]);
        assert!(spec.validate(Platform::Unix).is_err(), "{flag}");
    }
    let mut spec = plain();
    spec.launcher = launcher("/usr/bin/npx", &["-p", "@anthropic-ai/claude-code", "claude"]);
    assert!(spec.validate(Platform::Unix).is_ok(), "npx has a -p of its own");
}
