//! New sessions over HTTP: the same spec that `ostler run` would make.

use super::super::spec::{lab_of, spec_with};
use super::super::spec_options::SpecArgs;
use crate::failure::{Failure, Kind, UsageError};
use clap::{Args, Command, FromArgMatches};
use ostler_core::spec::LaunchSpec;
use ostler_server::launch::{Fault, Lab, Launch, NewSpec, Refused};
use std::ffi::OsString;

/// This program.
#[derive(Debug)]
pub(super) struct Program;

impl Launch for Program {
    fn spec(&self, asked: &NewSpec) -> Result<LaunchSpec, Refused> {
        made(asked).map_err(|failure| refused(failure, asked.claude.is_some()))
    }
}

fn made(asked: &NewSpec) -> Result<LaunchSpec, Failure> {
    let lab = match &asked.lab {
        None => None,
        Some(Lab::Usual) => Some(lab_of(None)?),
        Some(Lab::Script(text)) => Some(lab_of(Some(text.clone()))?),
    };
    spec_with(&options(asked)?, lab, &mut |_| {})
}

/// The options that mean the same, read by the one parser that knows what each may be.
fn options(asked: &NewSpec) -> Result<SpecArgs, Failure> {
    let parser = SpecArgs::augment_args(Command::new("spec").no_binary_name(true));
    let matches = parser.try_get_matches_from(words(asked));
    let args = matches.and_then(|m| SpecArgs::from_arg_matches(&m));
    args.map_err(|e| UsageError::Parser(first_line(&e)).into())
}

fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    text.lines().next().unwrap_or_default().to_owned()
}

fn words(asked: &NewSpec) -> Vec<OsString> {
    let mut words = Words(Vec::new());
    words.one("cwd", asked.cwd.as_ref());
    words.one("claude", asked.claude.as_ref());
    words.one("model", asked.model.as_ref());
    words.all("fallback-model", &asked.fallback_models);
    words.one("effort", asked.effort.as_ref());
    words.one("permission-mode", asked.permission_mode.as_ref());
    words.one("permission", asked.permission.as_ref());
    words.one("permission-timeout", asked.permission_timeout.as_ref());
    words.flag("auto-continue", asked.auto_continue);
    words.flag("skip-permissions", asked.skip_permissions);
    words.list("tools", asked.tools.as_deref());
    words.all("allowed-tools", &asked.allowed_tools);
    words.all("disallowed-tools", &asked.disallowed_tools);
    words.all("mcp-config", &asked.mcp_config);
    words.flag("strict-mcp-config", asked.strict_mcp_config);
    words.one("settings", asked.settings.as_ref());
    words.list("setting-sources", asked.setting_sources.as_deref());
    words.flag("bare", asked.bare);
    words.all("plugin-dir", &asked.plugin_dirs);
    words.all("add-dir", &asked.added_dirs);
    words.one("agents", asked.agents.as_ref());
    words.one("agent", asked.agent.as_ref());
    words.one("system-prompt", asked.system_prompt.as_ref());
    words.one("append-system-prompt", asked.append_system_prompt.as_ref());
    words.one("json-schema", asked.json_schema.as_ref());
    words.one("cache-ttl", asked.cache_ttl.as_ref());
    words.one("max-turns", asked.max_turns.as_ref());
    words.one("max-budget-usd", asked.max_budget_usd.as_ref());
    words.one("credential", asked.credential.as_ref());
    words.one("max-pids", asked.max_pids.as_ref());
    words.one("max-memory", asked.max_memory.as_ref());
    words.one("on-cut", asked.on_cut.as_ref());
    words.one("on-limit", asked.on_limit.as_ref());
    words.all("env", &asked.env);
    words.all("claude-flag", &asked.claude_flags);
    words.0
}

/// Options as one word each, so that no value is taken for an option.
struct Words(Vec<OsString>);

impl Words {
    fn one(&mut self, name: &str, value: Option<&impl ToString>) {
        self.0.extend(value.map(|value| format!("--{name}={}", value.to_string()).into()));
    }

    fn all(&mut self, name: &str, values: &[impl ToString]) {
        values.iter().for_each(|value| self.one(name, Some(value)));
    }

    fn list(&mut self, name: &str, values: Option<&[String]>) {
        self.one(name, values.map(|values| values.join(",")).as_ref());
    }

    fn flag(&mut self, name: &str, set: bool) {
        self.0.extend(set.then(|| format!("--{name}").into()));
    }
}

/// A claude that the request has named itself, and that can't be used, is the request's fault.
fn refused(failure: Failure, named: bool) -> Refused {
    let fault = match failure.kind {
        Kind::Claude if !named => Fault::Claude,
        Kind::Store => Fault::Store,
        _ => Fault::Request,
    };
    Refused { fault, source: failure.source, hints: failure.hints }
}
