//! Tests of the store over real files and databases.
#![expect(clippy::unwrap_used, reason = "a test fails where it fails; its helpers too")]

#[path = "it/alone_full_disk.rs"]
mod alone_full_disk;
#[path = "it/ctl_file.rs"]
mod ctl_file;
#[path = "it/db.rs"]
mod db;
#[path = "it/fixture.rs"]
mod fixture;
#[path = "it/golden.rs"]
mod golden;
#[path = "it/home.rs"]
mod home;
#[path = "it/journal.rs"]
mod journal;
#[path = "it/rebuild.rs"]
mod rebuild;
