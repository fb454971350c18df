//! Every while the server does what every command does once: sessions to which something is owed and on which nobody works
//! are taken over, stops and closes that were cut off are brought to their end.

use crate::app::App;
use std::time::Duration;

/// Between two sweeps.
const EVERY: Duration = Duration::from_secs(10);

/// Sweeps every while until the server leaves. The program swept once when it opened the home.
pub(crate) async fn sweep(app: App) {
    loop {
        tokio::select! {
            () = app.leaving() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        match app.desk().patient(|ostler| ostler.sweep()).await {
            Ok(0) => {}
            Ok(started) => tracing::info!(started, "keepers were started for sessions that nobody worked on"),
            Err(problem) => tracing::warn!(problem = problem.detail(), "the sweep failed"),
        }
    }
}
