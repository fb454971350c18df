//! The part of a spec that the child's environment is made from. How it is filled and used: [`crate::env`].

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where the child's variables come from. Nothing is inherited that isn't named here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Who pays.
    pub credential: Credential,
    /// Values of what isn't secret, as they were when the session was created.
    pub values: BTreeMap<String, String>,
    /// Secrets, and what goes stale: only the name and the source are stored, the value is looked up at each start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_name: Vec<ByName>,
}

/// A variable whose value isn't stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByName {
    /// The child's variable.
    pub name: String,
    /// Where its value comes from.
    pub source: Source,
    /// Without it the child starts all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// Where a value that isn't stored comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The variable of this name in the environment of whoever starts the child.
    Env(String),
    /// The file at this absolute path; one line break at its end is not part of the value.
    File(String),
}

/// Who pays for the session. One of them, never two: with an API key and another token both set, the CLI sends both
/// (measured), and nobody can say who paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Credential {
    /// `ANTHROPIC_API_KEY`.
    ApiKey,
    /// `ANTHROPIC_AUTH_TOKEN`, for gateways.
    AuthToken,
    /// `CLAUDE_CODE_OAUTH_TOKEN`, from `claude setup-token`.
    OauthToken,
    /// The person's login in the configuration directory or keychain (or an `apiKeyHelper` of the settings).
    Login,
    /// Amazon Bedrock.
    Bedrock,
    /// Google Vertex AI.
    Vertex,
    /// Microsoft Foundry.
    Foundry,
    /// Nobody: the lab.
    Lab,
}

impl Credential {
    /// Every credential.
    pub const ALL: [Self; 8] = [
        Self::ApiKey,
        Self::AuthToken,
        Self::OauthToken,
        Self::Login,
        Self::Bedrock,
        Self::Vertex,
        Self::Foundry,
        Self::Lab,
    ];

    /// Its name in options, files and messages.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::AuthToken => "auth_token",
            Self::OauthToken => "oauth_token",
            Self::Login => "login",
            Self::Bedrock => "bedrock",
            Self::Vertex => "vertex",
            Self::Foundry => "foundry",
            Self::Lab => "lab",
        }
    }

    /// May a child whose `init` line says `api_key_source` go on? A start whose child reports another payer stops.
    ///
    /// Measured on 2.1.200 and 2.1.332: `ANTHROPIC_API_KEY` when that variable is set, whatever else is; `none` for
    /// tokens and logins. A project's settings can set the variable behind our back, which is what this finds.
    #[must_use]
    pub fn accepts(self, api_key_source: Option<&str>) -> bool {
        const KEY: &str = "ANTHROPIC_API_KEY";
        let Some(source) = api_key_source else { return true };
        match self {
            Self::ApiKey | Self::Lab => source == KEY,
            Self::AuthToken | Self::OauthToken | Self::Login => source != KEY,
            Self::Bedrock | Self::Vertex | Self::Foundry => true,
        }
    }
}
