//! Everything that can reach the cached prefix has a field, and each field sees its own alone.

use super::samples::{full, plain};
use ostler_core::fingerprint::{Class, Field, Fingerprint, Found};
use ostler_core::spec::{CacheTtl, Credential, ExtraFlag, LaunchSpec, PermissionMode, SettingSources, Ttl};

fn found() -> Found {
    Found { program: Some("a".repeat(64)), git: Some("head\n## main".to_owned()) }
}

type Change = Box<dyn Fn(&mut LaunchSpec, &mut Found)>;

/// What changes in each field.
fn changes() -> Vec<(Field, Change)> {
    fn of(field: Field, change: impl Fn(&mut LaunchSpec, &mut Found) + 'static) -> (Field, Change) {
        (field, Box::new(change))
    }
    let text = |s: &str| s.to_owned();
    vec![
        of(Field::Model, move |s, _| s.model = text("claude-other")),
        of(Field::Program, |_, f| f.program = Some("b".repeat(64))),
        of(Field::Version, move |s, _| s.launcher.resolved.version = text("2.1.1")),
        of(Field::Tools, move |s, _| s.tools = Some(vec![text("Bash")])),
        of(Field::Tools, move |s, _| s.disallowed.push(text("Edit"))),
        of(Field::Permissions, |s, _| s.permission_mode = PermissionMode::Plan),
        of(Field::Permissions, move |s, _| s.disallowed.push(text("Bash(rm *)"))),
        of(Field::Mcp, move |s, _| s.mcp.push(text("{\"mcpServers\":{}}"))),
        of(Field::Settings, move |s, _| s.settings = Some(text("{\"a\":1}"))),
        of(Field::Sources, |s, _| s.setting_sources = SettingSources::Bare),
        of(Field::Dirs, move |s, _| s.added_dirs.push(text("/more"))),
        of(Field::Dirs, move |s, _| s.plugin_dirs.push(text("/more"))),
        of(Field::Agents, move |s, _| s.agent = Some(text("reviewer"))),
        of(Field::Prompt, move |s, _| s.append_system_prompt = Some(text("Be brief."))),
        of(Field::Schema, move |s, _| s.json_schema = Some(text("{}"))),
        of(Field::Flags, move |s, _| s.effort = Some(text("other"))),
        of(Field::Flags, move |s, _| s.extra.push(ExtraFlag { flag: text("--brief"), value: None })),
        of(Field::Cwd, move |s, _| s.cwd = text("/elsewhere")),
        of(Field::Git, |_, f| f.git = None),
        of(Field::Environment, move |s, _| {
            s.environment.values.insert(text("LANG"), text("other"));
        }),
        of(Field::Environment, |s, _| s.environment.credential = Credential::Login),
        of(Field::CacheTtl, |s, _| s.cache_ttl = CacheTtl { main: Some(Ttl::FiveMinutes), subagents: None }),
    ]
}

#[test]
fn each_field_sees_its_own_change_and_no_other_one() {
    for sample in [plain(), full()] {
        let before = Fingerprint::of(&sample, &found());
        assert_eq!(before.differences(&Fingerprint::of(&sample, &found()), "2.1.332"), []);
        for (field, change) in changes() {
            let (mut spec, mut found) = (sample.clone(), found());
            change(&mut spec, &mut found);
            let differences = before.differences(&Fingerprint::of(&spec, &found), "2.1.332");
            let fields: Vec<Field> = differences.iter().map(|d| d.field).collect();
            assert_eq!(fields, [field], "{}", field.word());
        }
    }
    let tested: Vec<Field> = changes().into_iter().map(|(field, _)| field).collect();
    let missing: Vec<_> = Field::ALL.iter().filter(|f| !tested.contains(f)).collect();
    // ostler passes it always: no spec can differ in it.
    assert_eq!(missing, [&Field::PromptTool]);
}

#[test]
fn a_stored_fingerprint_of_fewer_fields_differs_in_those_it_lacks() {
    let whole = Fingerprint::of(&plain(), &found());
    let mut json = serde_json::to_value(&whole).unwrap();
    json.as_object_mut().unwrap().remove("git");
    let older: Fingerprint = serde_json::from_value(json).unwrap();
    let differences = older.differences(&whole, "2.1.332");
    assert_eq!(differences.len(), 1);
    assert_eq!((differences[0].field, differences[0].class), (Field::Git, Class::Neutral));
    assert_eq!(older.differences(&whole, "unheard of")[0].class, Class::Breaking);
}

#[test]
fn what_the_caller_of_a_fork_may_choose_is_in_no_field() {
    let (mut spec, before) = (plain(), Fingerprint::of(&plain(), &found()));
    (spec.max_turns, spec.max_budget_usd) = (Some(3), Some(1.5));
    assert_eq!(before.differences(&Fingerprint::of(&spec, &found()), "2.1.332"), []);
}

#[test]
fn texts_never_run_into_each_other() {
    let of = |dirs: &[&str], plugins: &[&str]| {
        let mut spec = plain();
        spec.added_dirs = dirs.iter().map(|d| (*d).to_owned()).collect();
        spec.plugin_dirs = plugins.iter().map(|d| (*d).to_owned()).collect();
        Fingerprint::of(&spec, &found())
    };
    let all = [of(&["/a", "/b"], &[]), of(&["/a"], &["/b"]), of(&["/a/b"], &[]), of(&["/a,2:/b"], &[])];
    for (at, one) in all.iter().enumerate() {
        assert!(all[at + 1..].iter().all(|other| other != one), "{at}");
    }
}
