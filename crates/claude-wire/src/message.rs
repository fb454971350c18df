//! From the bytes of a line to what it says.
//!
//! First the tag (`type`, `subtype`), then the body that belongs to it, straight from the bytes: payloads that no
//! view wants are skipped, not built. Nearly every line begins with its tag, so that costs nothing; the others (a
//! `result` of a newer CLI has its `type` in the middle) are read twice.

use crate::known::Shape;
use crate::read::{Mode, Object, ObjectVisitor, Read, Scalar, Seed, object, structure, whole};
use crate::view::*;
use serde::de::{Deserializer, IgnoredAny, MapAccess};
use std::borrow::Cow;
use std::marker::PhantomData;

/// What a line says.
#[derive(Clone, Debug)]
pub enum Message {
    /// `system/init`: a turn begins.
    Init(Init),
    /// `system/session_state_changed`, also the old top-level line of that name.
    SessionState(SessionState),
    /// `system/status`.
    Status(Status),
    /// `system/hook_*`.
    HookLine(Hook),
    /// `system/plugin_install`.
    PluginInstall(PluginInstall),
    /// `system/task_started`.
    TaskStarted(TaskStarted),
    /// `system/task_progress`.
    TaskProgress(TaskProgress),
    /// `system/task_updated`.
    TaskUpdated(TaskUpdated),
    /// `system/task_notification`: a background task ended.
    TaskNotification(TaskNotification),
    /// `system/background_tasks_changed`: all that live.
    BackgroundTasks(BackgroundTasks),
    /// `system/compact_boundary`.
    CompactBoundary(CompactBoundary),
    /// `conversation_reset`.
    ConversationReset(ConversationReset),
    /// `system/api_retry`.
    ApiRetry(ApiRetry),
    /// `system/permission_denied`.
    PermissionDenied(PermissionDenied),
    /// `system/session_writes_lost`.
    WritesLost(WritesLost),
    /// `system/worker_shutting_down`.
    WorkerShuttingDown(WorkerShuttingDown),
    /// `system` of a subtype that has no view.
    System(OtherSystem),
    /// `assistant`.
    Assistant(Assistant),
    /// `user`.
    User(UserLine),
    /// `result`: a turn ends.
    Result(ResultLine),
    /// `stream_event`.
    StreamEvent(StreamEvent),
    /// `tool_progress`.
    ToolProgress(ToolProgress),
    /// `control_request`.
    ControlRequest(ControlRequest),
    /// `control_response`.
    ControlResponse(ControlResponse),
    /// `control_cancel_request`.
    ControlCancel(ControlCancel),
    /// `command_lifecycle`.
    Lifecycle(Lifecycle),
    /// `rate_limit_event`.
    RateLimit(RateLimit),
    /// A line of a very old CLI.
    Legacy(Legacy),
    /// `keep_alive`.
    KeepAlive,
    /// An object of a type that has no view.
    Unknown(Unknown),
    /// Not a JSON object. Noise that stands in front of an object on the same line makes the whole line noise: what
    /// looks like an object there may be a quotation, and taking it for one would let any text that a tool prints
    /// answer or end a turn.
    Noise,
    /// Nothing but white space.
    Blank,
}

/// Writes the table of messages: tag, struct that is read, what becomes of it.
macro_rules! messages {
    ($( ($kind:pat, $subtype:pat) => $Body:ty, $make:expr; )*) => {
        fn view(tag: &Tag<'_>, line: &[u8], mode: Mode) -> serde_json::Result<Message> {
            match tag.names() {
                $( ($kind, $subtype) => whole::<$Body>(line, mode).map($make), )*
                (Some("system"), _) => whole(line, mode).map(|common| {
                    Message::System(OtherSystem { common, subtype: tag.owned().1.unwrap_or_default() })
                }),
                _ => whole(line, mode).map(|common| {
                    let (kind, subtype) = tag.owned();
                    Message::Unknown(Unknown { common, kind, subtype })
                }),
            }
        }

        /// What the view of a line reads; `None` for a line without one.
        pub(crate) fn shape(line: &[u8]) -> Option<&'static Shape> {
            let tag: Tag<'_> = whole(line, Mode::Tolerant).ok()?;
            match tag.names() {
                $( ($kind, $subtype) => Some(&<$Body as Read<'static>>::SHAPE), )*
                _ => None,
            }
        }
    };
}

messages! {
    (Some("stream_event"), _) => StreamEventBody, |body| Message::StreamEvent(body.into());
    (Some("assistant"), _) => AssistantBody, |body| Message::Assistant(body.into());
    (Some("user"), _) => UserBody, |body| Message::User(body.into());
    (Some("result"), _) => ResultBody, |body| Message::Result(body.into());
    (Some("command_lifecycle"), _) => LifecycleBody, |body| Message::Lifecycle(body.into());
    (Some("control_request"), _) => ControlRequestBody, |body| Message::ControlRequest(body.into());
    (Some("control_response"), _) => ControlResponseBody, |body| Message::ControlResponse(body.into());
    (Some("control_cancel_request"), _) => ControlCancel, Message::ControlCancel;
    (Some("conversation_reset"), _) => ConversationReset, Message::ConversationReset;
    (Some("rate_limit_event"), _) => RateLimitBody, |body| Message::RateLimit(body.into());
    (Some("tool_progress"), _) => ToolProgress, Message::ToolProgress;
    (Some("keep_alive"), _) => Common, |_| Message::KeepAlive;
    (Some("session_state_changed"), _) => SessionState, Message::SessionState;
    (Some("system"), Some("session_state_changed")) => SessionState, Message::SessionState;
    (Some("system"), Some("init")) => Init, Message::Init;
    (Some("system"), Some("status")) => Status, Message::Status;
    (Some("system"), Some("hook_started")) => HookBody, |body| Message::HookLine(body.at(HookPhase::Started));
    (Some("system"), Some("hook_progress")) => HookBody, |body| Message::HookLine(body.at(HookPhase::Progress));
    (Some("system"), Some("hook_response")) => HookBody, |body| Message::HookLine(body.at(HookPhase::Response));
    (Some("system"), Some("plugin_install")) => PluginInstall, Message::PluginInstall;
    (Some("system"), Some("task_started")) => TaskStarted, Message::TaskStarted;
    (Some("system"), Some("task_progress")) => TaskProgress, Message::TaskProgress;
    (Some("system"), Some("task_updated")) => TaskUpdatedBody, |body| Message::TaskUpdated(body.into());
    (Some("system"), Some("task_notification")) => TaskNotification, Message::TaskNotification;
    (Some("system"), Some("background_tasks_changed")) => BackgroundTasks, Message::BackgroundTasks;
    (Some("system"), Some("compact_boundary"))
        => CompactBoundaryBody, |body| Message::CompactBoundary(body.into());
    (Some("system"), Some("api_retry")) => ApiRetry, Message::ApiRetry;
    (Some("system"), Some("permission_denied")) => PermissionDenied, Message::PermissionDenied;
    (Some("system"), Some("session_writes_lost")) => WritesLost, Message::WritesLost;
    (Some("system"), Some("worker_shutting_down")) => WorkerShuttingDown, Message::WorkerShuttingDown;
    (Some(LEGACY), _) => LegacyBody, |body| Message::Legacy(body.into());
}

/// The tag of a line that has a role instead of a type; no real type can have this name.
const LEGACY: &str = "\0legacy";

impl Message {
    /// Reads a line (with or without its newline); never fails. The flag says that the strict try failed and the
    /// tolerant one did not.
    #[must_use]
    pub fn parse(line: &[u8]) -> (Self, bool) {
        match line.iter().find(|byte| !byte.is_ascii_whitespace()) {
            None => return (Self::Blank, false),
            Some(b'{') => {}
            Some(_) => return (Self::Noise, false),
        }
        if let Ok(message) = Self::attempt(line, Mode::Strict) {
            return (message, false);
        }
        // Only UTF-8 can be cut into parts of text; what isn't becomes U+FFFD here.
        let text = String::from_utf8_lossy(line);
        match Self::attempt(text.as_bytes(), Mode::Tolerant) {
            Ok(message) => (message, true),
            Err(_) => (Self::Noise, false),
        }
    }

    fn attempt(line: &[u8], mode: Mode) -> serde_json::Result<Self> {
        let tag = match Tag::at_start(line) {
            Some(tag) => tag,
            None => whole(line, mode)?,
        };
        view(&tag, line, mode)
    }

    /// The ids that the line carries; `None` for the kinds that never carry any.
    #[must_use]
    pub const fn common(&self) -> Option<&Common> {
        Some(match self {
            Self::Init(view) => &view.common,
            Self::SessionState(view) => &view.common,
            Self::Status(view) => &view.common,
            Self::HookLine(view) => &view.common,
            Self::PluginInstall(view) => &view.common,
            Self::TaskStarted(view) => &view.common,
            Self::TaskProgress(view) => &view.common,
            Self::TaskUpdated(view) => &view.common,
            Self::TaskNotification(view) => &view.common,
            Self::BackgroundTasks(view) => &view.common,
            Self::CompactBoundary(view) => &view.common,
            Self::ConversationReset(view) => &view.common,
            Self::ApiRetry(view) => &view.common,
            Self::PermissionDenied(view) => &view.common,
            Self::WritesLost(view) => &view.common,
            Self::WorkerShuttingDown(view) => &view.common,
            Self::System(view) => &view.common,
            Self::Assistant(view) => &view.common,
            Self::User(view) => &view.common,
            Self::Result(view) => &view.common,
            Self::StreamEvent(view) => &view.common,
            Self::ToolProgress(view) => &view.common,
            Self::Lifecycle(view) => &view.common,
            Self::RateLimit(view) => &view.common,
            Self::Legacy(view) => &view.common,
            Self::Unknown(view) => &view.common,
            Self::ControlRequest(_)
            | Self::ControlResponse(_)
            | Self::ControlCancel(_)
            | Self::KeepAlive
            | Self::Noise
            | Self::Blank => return None,
        })
    }
}

/// The `type` of a line, and the `subtype` of one of type `system`, without reading the rest where they stand at the line's
/// beginning, as they nearly always do. `line` may then also be only the beginning of one. None: no JSON object, or one
/// without a type.
#[must_use]
pub fn names(line: &[u8]) -> Option<(Cow<'_, str>, Option<Cow<'_, str>>)> {
    let tag = match Tag::at_start(line) {
        Some(tag) => tag,
        None if line.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') => return None,
        None => whole(line, Mode::Strict).ok()?,
    };
    let kind = tag.kind?;
    let subtype = tag.subtype.filter(|_| kind == "system");
    Some((kind, subtype))
}

/// What decides which view reads a line. Of two equal keys the first counts here, so that both ways to find the tag
/// agree.
#[derive(Debug, Default)]
struct Tag<'a> {
    kind: Option<Cow<'a, str>>,
    subtype: Option<Cow<'a, str>>,
    /// There is a `role`, here or under `message`, or a `stop_reason`.
    role: bool,
}

impl<'a> Tag<'a> {
    /// Finds the tag where it nearly always is. `None` only means that the line has to be searched.
    fn at_start(line: &'a [u8]) -> Option<Self> {
        let (kind, rest) = name(line.strip_prefix(br#"{"type":""#)?)?;
        let subtype = match kind {
            "system" => Some(name(rest.strip_prefix(br#","subtype":""#)?)?.0),
            // The others need no subtype to find their view; a type without a view must show its own.
            _ if is_plain(kind) => None,
            _ => return None,
        };
        Some(Self { kind: Some(kind.into()), subtype: subtype.map(Into::into), role: false })
    }

    fn names(&self) -> (Option<&str>, Option<&str>) {
        let kind = match self.kind.as_deref() {
            None | Some("message") if self.role => Some(LEGACY),
            // Nobody gets there by its name.
            Some(LEGACY) => Some(""),
            kind => kind,
        };
        (kind, self.subtype.as_deref())
    }

    fn owned(&self) -> (Option<String>, Option<String>) {
        (self.kind.as_deref().map(str::to_owned), self.subtype.as_deref().map(str::to_owned))
    }
}

/// A word up to its closing quote, and what follows.
fn name(text: &[u8]) -> Option<(&str, &[u8])> {
    let end = text.iter().position(|&b| !(b.is_ascii_lowercase() || b == b'_'))?;
    let rest = text[end..].strip_prefix(b"\"")?;
    Some((str::from_utf8(&text[..end]).ok()?, rest))
}

fn is_plain(kind: &str) -> bool {
    matches!(
        kind,
        "stream_event"
            | "assistant"
            | "user"
            | "result"
            | "command_lifecycle"
            | "control_request"
            | "control_response"
            | "control_cancel_request"
    )
}

impl<'de> Object<'de> for Tag<'de> {
    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A, mode: Mode) -> Result<(), A::Error> {
        match key {
            "type" if self.kind.is_none() => {
                self.kind = map.next_value_seed(Seed::<Word<'de>>::new(mode))?.map(|w| w.0)
            }
            "subtype" if self.subtype.is_none() => {
                self.subtype = map.next_value_seed(Seed::<Word<'de>>::new(mode))?.map(|w| w.0);
            }
            "role" | "stop_reason" => {
                self.role |= map.next_value_seed(Seed::<Word<'de>>::new(mode))?.is_some();
            }
            "message" => {
                self.role |=
                    map.next_value_seed(Seed::<Speaker>::new(mode))?.is_some_and(|s| s.role.is_some())
            }
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }
}

impl<'de> Read<'de> for Tag<'de> {
    const SHAPE: Shape = Shape::Opaque;

    fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Option<Self>, D::Error> {
        structure(from, mode, b'{', ObjectVisitor(mode, PhantomData))
    }
}

/// A string, borrowed from the line where it has no escapes.
struct Word<'a>(Cow<'a, str>);

impl<'de> Read<'de> for Word<'de> {
    const SHAPE: Shape = Shape::Leaf;

    fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Option<Self>, D::Error> {
        Ok(match Scalar::read(from, mode)? {
            Scalar::Text(text) => Some(Self(text)),
            _ => None,
        })
    }
}

object! {
    struct Speaker {
        role: Option<String> = "role",
    }
}
