//! The records' changes, of all sessions: read from the store each time that its files changed.

use super::bell::Rung;
use super::hub::{Hub, Visit};
use super::record;
use crate::app::App;
use crate::problem::Problem;
use bytes::Bytes;
use http_body::{Body, Frame};
use ostler_core::ids::SessionId;
use ostler_store::DbError;
use ostler_store::db::ChangePage;
use serde::Serialize;
use std::convert::Infallible;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// How many changes are read at once.
const PAGE: u32 = 500;

/// Something about a session changed.
#[derive(Debug, Serialize)]
struct ChangeBody {
    session: SessionId,
    kind: String,
}

/// What was asked for is no longer kept, or never was.
#[derive(Debug, Serialize)]
struct ResetBody {
    asked: u64,
    /// The newest change by now: what comes after it is told. Read what you need anew.
    newest: u64,
}

#[derive(Debug, Serialize)]
struct EndBody {
    reason: &'static str,
}

/// A look at the store that is under way.
type Looking = Pin<Box<dyn Future<Output = Result<Look, Problem>> + Send>>;

struct Look {
    page: ChangePage,
    newest: u64,
}

/// The stream of them.
pub(crate) struct Changes {
    app: App,
    visit: Visit,
    paths: Vec<PathBuf>,
    /// The last change that was told, or that is not to be.
    after: u64,
    /// One session's only.
    session: Option<SessionId>,
    rung: Rung,
    looking: Option<Looking>,
    greeted: bool,
    over: bool,
    heartbeat: Duration,
    alarm: Pin<Box<Sleep>>,
}

impl Changes {
    /// From behind a change on.
    pub(crate) fn new(
        app: App,
        hub: &Arc<Hub>,
        after: u64,
        session: Option<SessionId>,
        heartbeat: Duration,
    ) -> Self {
        let database = app.desk().home().join("ostler.db");
        let log = app.desk().home().join("ostler.db-wal");
        let visit = hub.enter(&database);
        let rung = visit.ear().rung();
        Self {
            paths: vec![app.desk().home().to_owned(), database, log],
            app,
            visit,
            after,
            session,
            rung,
            looking: None,
            greeted: false,
            over: false,
            heartbeat,
            alarm: Box::pin(sleep_until(Instant::now() + heartbeat)),
        }
    }

    fn look(&mut self) -> Looking {
        self.rung = self.visit.ear().rung();
        let (app, after) = (self.app.clone(), self.after);
        Box::pin(async move {
            app.desk()
                .quick(move |ostler| {
                    let page = ostler.db().changes_after(after, PAGE)?;
                    let newest = if page.reset { ostler.db().last_change_seq()? } else { 0 };
                    Ok::<_, DbError>(Look { page, newest })
                })
                .await
        })
    }

    /// What a look found, as records; empty: nothing new.
    fn tell(&mut self, look: Look) -> Vec<u8> {
        let mut out = Vec::new();
        if look.page.reset {
            let body = ResetBody { asked: self.after, newest: look.newest };
            record::document(&mut out, &look.newest.to_string(), "reset", &body);
            self.after = look.newest;
        }
        for change in look.page.changes {
            self.after = change.seq;
            if self.session.is_none_or(|session| session == change.session) {
                let body = ChangeBody { session: change.session, kind: change.kind };
                record::document(&mut out, &change.seq.to_string(), "change", &body);
            }
        }
        out
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Vec<u8>> {
        if !self.greeted {
            self.greeted = true;
            return Poll::Ready(b"retry: 1000\n\n".to_vec());
        }
        loop {
            if self.visit.hub().is_leaving() {
                return Poll::Ready(self.end("leaving"));
            }
            if self.looking.is_none() {
                let look = self.look();
                self.looking = Some(look);
            }
            let Some(looking) = &mut self.looking else { continue };
            let Poll::Ready(looked) = looking.as_mut().poll(cx) else { return Poll::Pending };
            let before = self.after;
            let out = match looked {
                Ok(look) => self.tell(look),
                Err(problem) => {
                    tracing::warn!(detail = problem.detail(), "changes can't be read");
                    return Poll::Ready(self.end("error"));
                }
            };
            self.looking = None;
            if !out.is_empty() {
                return Poll::Ready(out);
            }
            if self.after != before {
                continue;
            }
            match self.wait(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Wake::Look) => {}
                Poll::Ready(Wake::Alarm) => return Poll::Ready(record::LIFE.to_vec()),
            }
        }
    }

    /// Until it is worth looking again, or a sign of life is due.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Wake> {
        if self.visit.attend(self.rung, 0, || self.paths.clone()) {
            return Poll::Ready(Wake::Look);
        }
        if self.visit.ear().poll_rung(cx, self.rung).is_ready() {
            return Poll::Ready(Wake::Look);
        }
        if self.alarm.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Wake::Alarm);
        }
        Poll::Pending
    }

    fn end(&mut self, reason: &'static str) -> Vec<u8> {
        self.over = true;
        let mut out = Vec::new();
        record::document(&mut out, &self.after.to_string(), "end", &EndBody { reason });
        out
    }
}

/// Why waiting is over.
enum Wake {
    Look,
    Alarm,
}

impl Body for Changes {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.over {
            return Poll::Ready(None);
        }
        let Poll::Ready(out) = self.next(cx) else { return Poll::Pending };
        let due = Instant::now() + self.heartbeat;
        self.alarm.as_mut().reset(due);
        Poll::Ready(Some(Ok(Frame::data(out.into()))))
    }
}
