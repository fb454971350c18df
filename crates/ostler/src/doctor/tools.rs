//! Programs that ostler can use and does not need.

use super::{Context, Finding};
use crate::launcher::on_path;

pub(super) fn findings(context: &Context<'_>) -> Vec<Finding> {
    let tool = |id: &'static str, name: &str, used_for: &str| match on_path(name, context.env).first() {
        Some(path) => Finding::ok(id, format!("{name}: {}", path.display())),
        None => Finding::ok(id, format!("{name} is not on PATH; it is only used {used_for}")),
    };
    vec![
        tool("tools.tmux", "tmux", "to show sessions in its windows"),
        tool("tools.npm", "npm", "to install claude when there is none"),
    ]
}

pub(super) fn has_npm(context: &Context<'_>) -> bool {
    !on_path("npm", context.env).is_empty()
}
