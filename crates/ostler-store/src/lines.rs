//! Complete lines of a file that another process may still be writing.
