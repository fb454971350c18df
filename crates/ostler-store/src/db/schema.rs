//! Tables, and how an older database becomes a newer one.
