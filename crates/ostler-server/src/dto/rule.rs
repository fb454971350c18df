//! Permission rules.

use super::rfc3339;
use ostler_controller::client::Explained;
use ostler_core::rule::Rule;
use serde::Serialize;
use utoipa::ToSchema;

/// A rule.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RuleBody {
    /// Its id.
    rule: String,
    /// What it says: `allow`, `ask`, `deny`.
    effect: &'static str,
    /// Of which calls: `Bash(git *)`.
    pattern: String,
    /// Where: `everything`, `cwd`, `label`, `session`.
    scope: &'static str,
    /// Which directory, label or session; null: everything.
    place: Option<String>,
    /// Who made it.
    made_by: String,
    /// When.
    made_at: String,
    /// Until when it holds; null: until it is removed.
    expires_at: Option<String>,
}

impl From<&Rule> for RuleBody {
    fn from(rule: &Rule) -> Self {
        Self {
            rule: rule.id.to_string(),
            effect: rule.effect.word(),
            pattern: rule.pattern.to_string(),
            scope: rule.scope.word(),
            place: rule.scope.what(),
            made_by: rule.made_by.clone(),
            made_at: rfc3339(rule.made_at),
            expires_at: rule.expires_at.map(rfc3339),
        }
    }
}

/// All rules.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RulesBody {
    /// Each, the oldest first.
    pub(crate) items: Vec<RuleBody>,
}

/// Which rule decides a call.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExplainedBody {
    /// What it says: `allow`, `ask`, `deny`; null: no rule decides, so the session's policy does.
    effect: Option<&'static str>,
    /// The one that decides.
    by: Option<RuleBody>,
    /// Others that speak of the call, and count less.
    besides: Vec<RuleBody>,
}

impl From<&Explained> for ExplainedBody {
    fn from(explained: &Explained) -> Self {
        Self {
            effect: explained.by.as_ref().map(|rule| rule.effect.word()),
            by: explained.by.as_ref().map(Into::into),
            besides: explained.besides.iter().map(Into::into).collect(),
        }
    }
}
