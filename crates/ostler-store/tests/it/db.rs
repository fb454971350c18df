//! The database.

#[path = "db/bases.rs"]
mod bases;
#[path = "db/changes.rs"]
mod changes;
#[path = "db/costs.rs"]
mod costs;
#[path = "db/deliveries.rs"]
mod deliveries;
#[path = "db/figures.rs"]
mod figures;
#[path = "db/finding.rs"]
mod finding;
#[path = "db/glance.rs"]
mod glance;
#[path = "db/limits.rs"]
mod limits;
#[path = "db/opening.rs"]
mod opening;
#[path = "db/pages.rs"]
mod pages;
#[path = "db/permissions.rs"]
mod permissions;
#[path = "db/projections.rs"]
mod projections;
#[path = "db/sessions.rs"]
mod sessions;
#[path = "db/tasks.rs"]
mod tasks;
#[path = "db/webhooks.rs"]
mod webhooks;
