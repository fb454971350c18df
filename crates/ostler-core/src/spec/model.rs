//! Model ids. A spec names a model in full, because an alias means another model on another CLI version.

/// The model of a session that doesn't say: what 2.1.332 takes by itself with an API key (measured).
pub const DEFAULT_MODEL: &str = "claude-opus-5-5";

/// Aliases and what 2.1.332 makes of them (measured on the `init` line). Older versions mean older models, so the
/// id is fixed here and not left to the CLI.
const ALIASES: &[(&str, &str)] = &[
    ("best", "claude-opus-5-5"),
    ("default", DEFAULT_MODEL),
    ("fable", "claude-fable-5-2"),
    ("haiku", "claude-haiku-5-5"),
    ("opus", "claude-opus-5-5"),
    ("opusplan", "claude-sonnet-5-5"),
    ("sonnet", "claude-sonnet-5-5"),
];

/// The full id for a name that a person typed: an alias is replaced (`opus[1m]` keeps its suffix), anything else is
/// given back as it is.
#[must_use]
pub fn full_model_id(name: &str) -> String {
    let (stem, suffix) = split_suffix(name);
    match alias(stem) {
        Some(id) => format!("{id}{suffix}"),
        None => name.to_owned(),
    }
}

/// What the stem of `name` would stand for, when it is an alias.
pub(super) fn is_alias(name: &str) -> Option<&'static str> {
    alias(split_suffix(name).0)
}

fn alias(stem: &str) -> Option<&'static str> {
    ALIASES.iter().find(|(a, _)| a.eq_ignore_ascii_case(stem)).map(|(_, id)| *id)
}

fn split_suffix(name: &str) -> (&str, &str) {
    name.find('[').map_or((name, ""), |at| name.split_at(at))
}
