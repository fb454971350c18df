//! Who runs this, under what, and who would pay.

use super::{Context, Finding};
use crate::launcher::config_file;
use ostler_core::argv::Platform;
use ostler_core::env::credential_of;
use ostler_core::spec::Credential;

pub(super) fn findings(context: &Context<'_>) -> Vec<Finding> {
    [Some(root()), nested(context), Some(inside()), Some(credential(context)), configuration(context)]
        .into_iter()
        .flatten()
        .collect()
}

fn root() -> Finding {
    const ID: &str = "account.root";
    if ostler_os::limits::is_root() {
        return Finding::warn(
            ID,
            "running as root",
            "claude refuses --dangerously-skip-permissions and the mode bypassPermissions as root",
            "run ostler as another user when sessions are to skip permissions; the broker's policy allow works as root",
        );
    }
    Finding::ok(ID, "not running as root")
}

fn nested(context: &Context<'_>) -> Option<Finding> {
    let inside = context.env.iter().any(|(n, v)| n == "CLAUDECODE" && !v.is_empty());
    inside.then(|| {
        Finding::warn(
            "account.nested",
            "running inside a Claude Code session (CLAUDECODE is set)",
            "children don't see it, but this session's own limits (sandbox, nice, memory) may still hold for them",
            "for clean surroundings, start sessions from a shell outside of it",
        )
    })
}

/// What it is not.
fn inside() -> Finding {
    let what =
        "decisions, rules and purges from inside a session are refused: that stops mistakes, not malice";
    Finding::ok("account.inside", what)
}

fn credential(context: &Context<'_>) -> Finding {
    const ID: &str = "account.credential";
    let credential = credential_of(context.env, Platform::of(std::env::consts::OS));
    let from = match credential {
        Credential::ApiKey => "ANTHROPIC_API_KEY",
        Credential::AuthToken => "ANTHROPIC_AUTH_TOKEN",
        Credential::OauthToken => "CLAUDE_CODE_OAUTH_TOKEN",
        Credential::Bedrock => "Amazon Bedrock (CLAUDE_CODE_USE_BEDROCK)",
        Credential::Vertex => "Google Vertex AI (CLAUDE_CODE_USE_VERTEX)",
        Credential::Foundry => "Microsoft Foundry (CLAUDE_CODE_USE_FOUNDRY)",
        Credential::Login | Credential::Lab => "claude's own login, or an apiKeyHelper in its settings",
    };
    Finding::ok(ID, format!("new sessions are paid by {from}"))
}

fn configuration(context: &Context<'_>) -> Option<Finding> {
    let path = config_file(context.env)?;
    path.exists()
        .then(|| Finding::ok("account.configuration", format!("configuration file {}", path.display())))
}
