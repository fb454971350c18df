//! Records in SQLite, session folders, journals, cursors and followers.
