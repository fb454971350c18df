//! `ostler answer`: answers to questions of the model and to forms.

use super::approve::{meant, settle};
use super::face::Face;
use super::found;
use crate::exit::Exit;
use crate::failure::Failure;
use clap::Args;
use ostler_controller::client::{Choice, Question};
use ostler_core::question::Answers;
use ostler_core::rows::PermissionKind;

/// Answers what the model asks, or fills in what an MCP server asks for.
///
/// An answer is the number of a choice, its name, or any other text. Where several things are asked at once, each answer
/// says which it belongs to: QUESTION=ANSWER, where QUESTION is its number, its heading or its text; of a form, the name of
/// the field. Where several choices may be taken, give several answers. `ostler pending` shows what is asked.
///
/// `ostler deny` answers nothing.
///
/// Examples:
///
///     ostler answer 4f3a2b1c 2
///     ostler answer nightly "Neither: use the staging database"
///     ostler answer nightly 1=2 2=small 2=large
///     ostler answer nightly email=ann@example.org
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct AnswerArgs {
    /// The session
    session: String,
    /// The answers
    #[arg(required = true, value_name = "ANSWER")]
    answers: Vec<String>,
    /// Which question, where several are open: the beginning of its id
    #[arg(long)]
    request: Option<String>,
}

pub(super) fn answer(args: &AnswerArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let row = found::session(&ostler, &args.session)?;
    let asked = meant(&ostler, &row, args.request.as_deref())?;
    let answers = sorted(&ostler.question(&asked), &args.answers);
    settle(face, &ostler, &asked, Choice::Answer(answers))
}

/// Each answer to its question. What stands before a `=` is a question only where there is one of that name.
fn sorted(question: &Question, said: &[String]) -> Answers {
    let mut answers = Answers::new();
    for text in said {
        let named = text.split_once('=').filter(|(name, _)| is_named(question, name.trim()));
        let (name, answer) = named.map_or(("", text.as_str()), |(name, answer)| (name.trim(), answer));
        answers.entry(name.to_owned()).or_default().push(answer.to_owned());
    }
    answers
}

fn is_named(question: &Question, name: &str) -> bool {
    if question.kind == PermissionKind::Elicitation {
        return !name.is_empty();
    }
    let number = name.parse::<usize>().is_ok_and(|n| (1..=question.questions.len()).contains(&n));
    number
        || question
            .questions
            .iter()
            .any(|a| a.header.eq_ignore_ascii_case(name) || a.question.eq_ignore_ascii_case(name))
}
