//! The document of `bridge`.

use ostler_server::{BridgeKey, Holder};
use serde::Serialize;

/// `bridge enable`, `bridge disable`, `bridge status`.
#[derive(Debug, Serialize)]
pub(crate) struct BridgeDocument {
    running: bool,
    answers: bool,
    cwd: String,
    port: u16,
    url: Option<String>,
    pid: Option<u32>,
    home_mode: Option<bool>,
    max_concurrent: Option<u32>,
    version: Option<String>,
    key: Option<String>,
}

impl BridgeDocument {
    /// `usual`: the port that clients compute. The key is told to whoever starts a bridge.
    pub(crate) fn of(
        cwd: &str,
        usual: u16,
        holder: Option<&Holder>,
        answers: bool,
        key: Option<&BridgeKey>,
    ) -> Self {
        Self {
            running: holder.is_some(),
            answers,
            cwd: cwd.to_owned(),
            port: holder.map_or(usual, |h| h.address.port()),
            url: holder.map(|h| format!("http://{}", h.address)),
            pid: holder.map(|h| h.pid),
            home_mode: holder.map(|h| h.home_mode),
            max_concurrent: holder.map(|h| h.max_concurrent),
            version: holder.map(|h| h.version.clone()),
            key: key.map(|key| key.text().to_owned()),
        }
    }
}
