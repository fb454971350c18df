//! What `--json` prints. These types are what programs see and nothing else: never the stored ones, so that either can
//! change alone. docs/json.md says what every field means, and a test holds every verb's output against it.
//!
//! Two rules: a field is always there, null when it has no value; and fields are only ever added.

mod base;
mod bridge;
mod cost;
mod doctor;
mod error;
mod event;
mod permissions;
mod result;
mod session;
mod show;
mod verbs;

pub(crate) use base::{
    BaseDocument, BaseListDocument, BaseView, CacheBody, DiffDocument, DiffField, ForkDocument, ForkedBody,
    ForksEvent, Warmth,
};
pub(crate) use bridge::BridgeDocument;
pub(crate) use cost::CostDocument;
pub(crate) use doctor::{DoctorDocument, RebuildDocument};
pub(crate) use error::ErrorDocument;
pub(crate) use event::{JournalEvent, SessionEvent};
pub(crate) use permissions::{PendingDocument, RuleTestDocument, RulesDocument};
pub(crate) use result::{Ending, ResultDocument, ResultEvent, Tokens};
pub(crate) use session::{ListDocument, Listed, SessionDocument};
pub(crate) use show::{ShowDocument, Shown};
pub(crate) use verbs::{
    CancelDocument, CloseDocument, CompletionsDocument, DecisionDocument, DeclareDocument, GcDocument,
    InterruptDocument, LabDocument, ManDocument, ResumeDocument, SendDocument, ServeDocument, StartDocument,
    StopDocument,
};
