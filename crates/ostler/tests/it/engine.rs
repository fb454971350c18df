//! Whole sessions: keeper, controller and a fake child, driven through the library interface.

mod crashes;
mod deaths;
pub(crate) mod stable;
mod stops;
mod turns;
