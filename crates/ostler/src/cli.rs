//! The command line: one file a verb. The doc comment of a verb's `Args` is its help text.
//!
//! | file | subject |
//! | --- | --- |
//! | `cli/<verb>.rs` | what that verb takes and does |
//! | `cli/face.rs` | what every verb needs: the home, where output goes, how it looks |
//! | `cli/prompt.rs` | reading a prompt, and refusing one that can't be meant |
//! | `cli/spec_options.rs` `cli/spec.rs` | options about a session, and the launch spec made of them |
//! | `cli/created.rs` | a session comes into being |
//! | `cli/follow.rs` `cli/follow/…` | following a session live: view or events, questions, Ctrl-C |
//! | `cli/closing.rs` | the end of a turn: what to print and which exit status |
//! | `cli/found.rs` | the session that a name means |
//! | `cli/words.rs` | commands to copy: quoting, the program's own name |

mod answer;
mod approve;
mod base;
mod bridge;
mod cancel;
mod close;
mod closing;
mod completions;
mod cost;
mod created;
mod declare;
mod deny;
mod doctor;
mod face;
mod follow;
mod fork;
mod found;
mod gc;
mod interrupt;
mod lab;
mod ls;
mod man;
mod pending;
mod prompt;
mod question;
mod resume;
mod rule;
mod run;
mod send;
mod serve;
mod show;
mod spec;
mod spec_options;
mod start;
mod stop;
mod wait;
mod watch;
mod words;

use crate::exit::Exit;
use crate::failure::{Failure, Kind, UsageError};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
pub(crate) use cost::Named;
use face::Face;
pub(crate) use fork::Sum;
pub(crate) use question::argument as argument_of;
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs headless Claude Code sessions and never loses one.
///
/// A session is a durable thing that one can send messages to. It lives on disk and in small processes of its own, not
/// in this command: closing a terminal, killing `ostler run` or rebooting loses nothing that was accepted.
///
/// Try it without an account, against a scripted model:
///
///     ostler run --lab "Say hello"
///
/// With an account, in a project:
///
///     ostler run "Find out why the tests are slow"
///     ostler ls
///     ostler send --watch 4f3a2b1c "And now make them faster"
#[derive(Debug, Parser)]
#[command(name = "ostler", version, verbatim_doc_comment, after_long_help = exit_table(), max_term_width = 100)]
#[command(disable_help_subcommand = true, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    common: Options,
    #[command(subcommand)]
    verb: Verb,
}

/// Options of every verb.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of every command")]
struct Options {
    /// Where ostler keeps everything [default: $OSTLER_HOME, else $XDG_STATE_HOME/ostler, else ~/.local/state/ostler]
    #[arg(long, global = true, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Print JSON: one document, or one event a line where the command goes on
    #[arg(long, global = true)]
    json: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    color: face::ColorChoice,
    /// Print only the answer, the id, or what was asked for
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Run(run::RunArgs),
    Start(start::StartArgs),
    Send(send::SendArgs),
    Wait(wait::WaitArgs),
    Watch(watch::WatchArgs),
    Ls(ls::LsArgs),
    Show(show::ShowArgs),
    Interrupt(interrupt::InterruptArgs),
    Cancel(cancel::CancelArgs),
    Stop(stop::StopArgs),
    Resume(resume::ResumeArgs),
    Close(close::CloseArgs),
    Pending(pending::PendingArgs),
    Approve(approve::ApproveArgs),
    Deny(deny::DenyArgs),
    Answer(answer::AnswerArgs),
    Rule(rule::RuleArgs),
    Declare(declare::DeclareArgs),
    Base(base::BaseArgs),
    Fork(fork::ForkArgs),
    Cost(cost::CostArgs),
    Gc(gc::GcArgs),
    Serve(serve::ServeArgs),
    Bridge(bridge::BridgeVerb),
    Lab(lab::LabArgs),
    Doctor(doctor::DoctorArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// The whole command, for completions, man pages and the reference.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs a command line, the program's name first.
#[must_use]
pub fn main(args: Vec<OsString>) -> Exit {
    let json = args.iter().take_while(|a| *a != "--").any(|a| a == "--json");
    match Cli::try_parse_from(&args) {
        Ok(cli) => {
            let mut face = Face::new(&cli.common);
            let done = run_verb(cli.verb, &mut face);
            face.finish(done)
        }
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            match face::print_help(&error) {
                Ok(()) => Exit::Completed,
                Err(_) => Exit::Failed,
            }
        }
        // Without a verb: the help is the answer, and not an error to be explained.
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !json => {
            let _ = face::print_help(&error);
            Exit::Usage
        }
        Err(error) => {
            let mut face = Face::without_options(json);
            face.finish(Err(parser_failure(&error)))
        }
    }
}

fn run_verb(verb: Verb, face: &mut Face) -> Result<Exit, Failure> {
    match verb {
        Verb::Run(args) => run::run(args, face),
        Verb::Start(args) => start::start(args, face),
        Verb::Send(args) => send::send(args, face),
        Verb::Wait(args) => wait::wait(&args, face),
        Verb::Watch(args) => watch::watch(&args, face),
        Verb::Ls(args) => ls::ls(&args, face),
        Verb::Show(args) => show::show(&args, face),
        Verb::Interrupt(args) => interrupt::interrupt(&args, face),
        Verb::Cancel(args) => cancel::cancel(&args, face),
        Verb::Stop(args) => stop::stop(&args, face),
        Verb::Resume(args) => resume::resume(&args, face),
        Verb::Close(args) => close::close(&args, face),
        Verb::Pending(args) => pending::pending(&args, face),
        Verb::Approve(args) => approve::approve(&args, face),
        Verb::Deny(args) => deny::deny(&args, face),
        Verb::Answer(args) => answer::answer(&args, face),
        Verb::Rule(args) => rule::rule(&args, face),
        Verb::Declare(args) => declare::declare(&args, face),
        Verb::Base(args) => base::base(args, face),
        Verb::Fork(args) => fork::fork(&args, face),
        Verb::Cost(args) => cost::cost(&args, face),
        Verb::Gc(args) => gc::gc(&args, face),
        Verb::Serve(args) => serve::serve(&args, face),
        Verb::Bridge(args) => bridge::bridge(&args, face),
        Verb::Lab(args) => lab::lab(&args, face),
        Verb::Doctor(args) => doctor::doctor(&args, face),
        Verb::Completions(args) => completions::completions(&args, face),
        Verb::Man(args) => man::man(&args, face),
    }
}

/// The base of that name.
fn base_id(
    ostler: &ostler_controller::client::Ostler,
    name: &str,
) -> Result<Option<ostler_core::ids::SessionId>, Failure> {
    Ok(ostler.db().base_named(name)?.map(|base| base.session))
}

/// What the parser says, in our form.
fn parser_failure(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let failure = Failure::new(Kind::Usage, UsageError::Parser(text.to_owned()));
    if error.kind() == ErrorKind::UnknownArgument && text.contains("PROMPT") {
        return failure.hint("a prompt that begins with `-` goes behind `--`: ostler run -- \"- one\"");
    }
    failure
}

/// The exit statuses, for the end of the long help.
fn exit_table() -> String {
    let mut out = String::from("Exit status:\n");
    for exit in Exit::ALL {
        out.push_str(&format!("  {:>2}  {}\n", exit.code(), exit.meaning()));
    }
    out.truncate(out.trim_end().len());
    out
}
