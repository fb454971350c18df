//! The prompt cache: which part of a request was read from it and which was written to it.
