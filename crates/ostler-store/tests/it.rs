//! Tests of the store over real files and databases.

#[path = "it/ctl_file.rs"]
mod ctl_file;
#[path = "it/db.rs"]
mod db;
#[path = "it/fixture.rs"]
mod fixture;
#[path = "it/full_disk.rs"]
mod full_disk;
#[path = "it/golden.rs"]
mod golden;
#[path = "it/home.rs"]
mod home;
#[path = "it/journal.rs"]
mod journal;
#[path = "it/rebuild.rs"]
mod rebuild;
