//! What a spec must satisfy before a command line is made from it. Done at creation and again at every start, for
//! the file may have been edited in between.

use super::{Credential, LaunchSpec, SPEC_VERSION, SettingSources, SpecError, extra, model};
use crate::argv::Platform;

/// Longest single word of a command line (Linux: `MAX_ARG_STRLEN` is 131 072 with the final NUL).
pub const MAX_WORD_BYTES: usize = 131_071;

/// Longest schema: it shares a command line with everything else, and Windows has 32 767 characters in all.
pub const MAX_SCHEMA_BYTES: usize = 24_000;

/// Budgets are passed on with six decimals: less than this would print as zero.
const MIN_BUDGET_USD: f64 = 1e-6;

/// Nobody means more than this.
const MAX_BUDGET_USD: f64 = 1e6;

impl LaunchSpec {
    /// Checks every field.
    ///
    /// # Errors
    /// The first thing that is wrong, by field.
    pub fn validate(&self, platform: Platform) -> Result<(), SpecError> {
        if self.version > SPEC_VERSION {
            return Err(SpecError::Newer { found: self.version, known: SPEC_VERSION });
        }
        self.check_launcher(platform)?;
        self.check_models()?;
        self.check_words()?;
        self.check_texts()?;
        self.check_paths(platform)?;
        self.check_limits()?;
        self.check_credential()?;
        crate::env::check(&self.environment, &self.launcher.resolved.env, platform)?;
        extra::check_extra(&self.extra)
    }

    fn check_launcher(&self, platform: Platform) -> Result<(), SpecError> {
        let resolved = &self.launcher.resolved;
        if self.launcher.command.is_empty() {
            return Err(SpecError::Empty { field: "launcher.command" });
        }
        absolute("launcher.resolved.program", &resolved.program.path, platform)?;
        for arg in &resolved.args {
            no_control("launcher.resolved.args", arg)?;
        }
        extra::check_launcher_words(&resolved.program.path, &resolved.args)
    }

    fn check_models(&self) -> Result<(), SpecError> {
        for id in std::iter::once(&self.model).chain(&self.fallback_models) {
            word("model", id)?;
            if let Some(example) = model::is_alias(id) {
                return Err(SpecError::ModelAlias { alias: id.clone(), example });
            }
        }
        Ok(())
    }

    fn check_words(&self) -> Result<(), SpecError> {
        words("tools", self.tools.iter().flatten())?;
        words("allowed", &self.allowed)?;
        words("disallowed", &self.disallowed)?;
        words("agent", &self.agent)?;
        words("effort", &self.effort)
    }

    fn check_texts(&self) -> Result<(), SpecError> {
        for text in &self.mcp {
            json_object("mcp", text)?;
        }
        for (field, text) in
            [("settings", &self.settings), ("agents", &self.agents), ("json_schema", &self.json_schema)]
        {
            text.as_ref().map_or(Ok(()), |t| json_object(field, t))?;
        }
        for (field, text) in
            [("system_prompt", &self.system_prompt), ("append_system_prompt", &self.append_system_prompt)]
        {
            if text.as_ref().is_some_and(String::is_empty) {
                return Err(SpecError::Empty { field });
            }
        }
        if self.agents.is_some() && !self.launcher.resolved.agents_by_file {
            return Err(SpecError::AgentsByFile { version: self.launcher.resolved.version.clone() });
        }
        match &self.json_schema {
            Some(s) if s.len() > MAX_SCHEMA_BYTES => {
                Err(SpecError::TooLong { field: "json_schema", bytes: s.len(), limit: MAX_SCHEMA_BYTES })
            }
            _ => Ok(()),
        }
    }

    fn check_paths(&self, platform: Platform) -> Result<(), SpecError> {
        absolute("cwd", &self.cwd, platform)?;
        for dir in &self.plugin_dirs {
            absolute("plugin_dirs", dir, platform)?;
        }
        for dir in &self.added_dirs {
            absolute("added_dirs", dir, platform)?;
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<(), SpecError> {
        if self.max_turns == Some(0) {
            return Err(SpecError::MaxTurns);
        }
        match self.max_budget_usd {
            Some(usd) if !(MIN_BUDGET_USD..=MAX_BUDGET_USD).contains(&usd) => Err(SpecError::Budget(usd)),
            _ => Ok(()),
        }
    }

    fn check_credential(&self) -> Result<(), SpecError> {
        let credential = self.environment.credential;
        if self.lab.is_some() != (credential == Credential::Lab) {
            return Err(SpecError::LabCredential);
        }
        let login = matches!(credential, Credential::Login | Credential::OauthToken);
        // An apiKeyHelper in the given settings is the one login that --bare does read.
        let helper = self.settings.as_ref().is_some_and(|s| s.contains("apiKeyHelper"));
        if self.setting_sources == SettingSources::Bare && login && !helper {
            return Err(SpecError::BareLogin);
        }
        Ok(())
    }
}

/// A word of a command line that stands behind a flag: not empty, no flag itself, no control characters, not too
/// long.
pub(super) fn word(field: &'static str, value: &str) -> Result<(), SpecError> {
    if value.trim().is_empty() {
        return Err(SpecError::Empty { field });
    }
    if value.starts_with('-') {
        return Err(SpecError::LeadingDash { field, value: value.to_owned() });
    }
    no_control(field, value)
}

fn words<'a>(field: &'static str, values: impl IntoIterator<Item = &'a String>) -> Result<(), SpecError> {
    values.into_iter().try_for_each(|v| word(field, v))
}

fn no_control(field: &'static str, value: &str) -> Result<(), SpecError> {
    if value.len() > MAX_WORD_BYTES {
        return Err(SpecError::TooLong { field, bytes: value.len(), limit: MAX_WORD_BYTES });
    }
    if value.chars().any(char::is_control) {
        return Err(SpecError::ControlCharacter { field, value: value.to_owned() });
    }
    Ok(())
}

fn absolute(field: &'static str, value: &str, platform: Platform) -> Result<(), SpecError> {
    if !platform.is_absolute(value) {
        return Err(SpecError::NotAbsolute { field, value: value.to_owned() });
    }
    no_control(field, value)
}

fn json_object(field: &'static str, text: &str) -> Result<(), SpecError> {
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|source| SpecError::NotJson { field, source })?;
    if value.is_object() { Ok(()) } else { Err(SpecError::NotAnObject { field }) }
}
