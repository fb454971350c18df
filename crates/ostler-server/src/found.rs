//! What a name in a path means: as the command line has it, the beginning of an id, or a label.

use crate::problem::Problem;
use axum::http::StatusCode;
use ostler_controller::client::Ostler;
use ostler_store::db::{DeliveryRow, SessionRow};

/// The one session whose id begins with `name`, or whose label it is.
pub(crate) fn session(ostler: &Ostler, name: &str) -> Result<SessionRow, Problem> {
    Ok(ostler.db().find_session(name)?)
}

/// The one message of a session whose id begins with `name`.
pub(crate) fn delivery(ostler: &Ostler, row: &SessionRow, name: &str) -> Result<DeliveryRow, Problem> {
    let mut found = ostler.db().deliveries_called(row.id, name)?;
    match (found.pop(), found.len()) {
        (Some(only), 0) => Ok(only),
        (None, _) => {
            let detail = format!("no message of session {} has an id that begins with {name:?}", row.id);
            Err(Problem::new(StatusCode::NOT_FOUND, "no-delivery", "No such message", detail)
                .with("session", row.id.to_string()))
        }
        (Some(last), _) => {
            found.push(last);
            let ids: Vec<_> = found.iter().map(|row| row.id.to_string()).collect();
            let detail = format!("{name:?} means several messages; give more of the id");
            let title = "The name means several messages";
            Err(Problem::new(StatusCode::CONFLICT, "ambiguous", title, detail).with("candidates", ids))
        }
    }
}
