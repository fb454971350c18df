//! The rules of this repository that a machine can hold, as tests; STYLE.md says them in words.
//!
//! Each rule is a function from files in memory to findings. It has two tests: one runs it over the repository, the
//! other proves on a few lines of its own that it finds what it should and nothing else.

mod it {
    // What the rules stand on.
    mod lexer;
    mod paths;
    mod source;
    mod tokens;

    // The rules.
    mod attributes;
    mod boundaries;
    mod dependencies;
    mod links;
    mod machine;
    mod modules;
    mod naming;
    mod platform;
    mod printing;
    mod pure;
    mod scripts;
    mod size;
    mod sleeps;
    mod sql;
    mod unfinished;
}
