//! Enums of `ostler-core` as words in columns.
