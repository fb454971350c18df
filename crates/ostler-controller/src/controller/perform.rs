//! One action of the machine is carried out: its row first, then the deed.

use super::error::ControllerError;
use super::{Controller, log};
use crate::crash;
use claude_wire::{Frame, Message, build};
use ostler_core::ctl::{Event, KillReason, Line};
use ostler_core::ids::DeliveryId;
use ostler_core::machine::Action;
use ostler_core::{answer, content};
use ostler_store::DbError;
use ostler_store::db::Claim;

/// The request that takes a message out of the child's queue.
const CANCEL: &str = "cancel_async_message";

/// What came of claiming a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claimed {
    /// It may be written.
    Ours,
    /// Somebody took it back, or the session takes none any more.
    Gone,
    /// The store can't be written right now.
    Later,
}

impl Controller {
    /// False: nothing more can be done right now.
    pub(super) fn perform(&mut self, action: Action) -> Result<bool, ControllerError> {
        match action {
            // Whoever sent what waits for a slot may still take it back.
            Action::Spawn { .. } if !self.may_start()? => return Ok(false),
            Action::Spawn { delivery } => match self.claim(delivery)? {
                Claimed::Ours => self.start_generation(delivery)?,
                Claimed::Gone => {}
                Claimed::Later => return Ok(false),
            },
            Action::WriteUser { delivery } => match self.claim(delivery)? {
                Claimed::Ours => self.write_user(delivery)?,
                Claimed::Gone => {}
                Claimed::Later => return Ok(false),
            },
            Action::Request { request_id, subtype, cancel_queued } => {
                let request_id = request_id.unwrap_or_else(|| self.request_id(subtype));
                let bytes = request_line(subtype, &request_id, cancel_queued);
                let subtype = subtype.to_owned();
                let interrupts = subtype == "interrupt";
                let line = Line::Request { request_id, subtype, about: None, cancel_queued };
                self.write_line(line, bytes)?;
                if interrupts {
                    crash::point("interrupt-written");
                }
            }
            Action::Cancel { delivery } => {
                let request_id = self.request_id("cancel");
                let bytes = build::cancel_async_message(&request_id, delivery.0);
                let subtype = CANCEL.to_owned();
                let about = Some(delivery);
                crash::point("cancelling");
                self.write_line(Line::Request { request_id, subtype, about, cancel_queued: false }, bytes)?;
                crash::point("cancel-written");
            }
            Action::Repeat { write, line } => {
                if let Some(bytes) = self.line_again(&line)? {
                    self.put(write, bytes)?;
                } else {
                    // What it was can't be told any more: the same as a spoiled pipe.
                    self.kill(KillReason::SpoiledPipe)?;
                }
            }
            Action::Asked { request_id } => {
                self.say(Event::Asked { request_id })?;
                crash::point("asked");
            }
            Action::Decide { request_id, by, reply, given } => {
                self.say(reply.decided(request_id, by, given))?;
                crash::point("decided");
            }
            Action::Exhaust { request_id } => self.say(Event::Exhausted { request_id })?,
            Action::Answer { request_id } => {
                // A question that can't be read again is refused: it would wait for ever, and be decided for ever.
                let bytes = self.answer_line(&request_id)?.unwrap_or_else(|| answer::refusal(&request_id));
                self.write_line(Line::Answer { request_id }, bytes)?;
            }
            Action::Refuse { request_id } => {
                let bytes = answer::refusal(&request_id);
                self.write_line(Line::Answer { request_id }, bytes)?;
            }
            Action::Expire { deadline } => self.say(Event::Expired { deadline })?,
            Action::CacheSeen { seen } => {
                self.say(Event::Cache { seen })?;
                crash::point("cache-written");
                // In the store before the next one asks whether the cache is warm.
                self.commit()?;
                self.gate.canary = None;
            }
            Action::Slow { silent } => self.say(Event::Slow { silent })?,
            Action::Park { reason } => self.say(Event::Parked { reason, seen: Some(self.wants.seen) })?,
            Action::BeginTurn => {
                let turn = self.machine.rows().turns.last().map_or(1, |t| t.no + 1);
                self.say(Event::TurnBegan { turn })?;
                self.commit()?;
            }
            Action::Settle { gave_up_tasks } => self.settle(gave_up_tasks)?,
            Action::End { why } => {
                self.say(Event::Ending { why })?;
                crash::point("ending-written");
            }
            Action::Kill { why } => {
                self.kill(why)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// From here on nobody takes the delivery back behind our back. An earlier controller may have claimed it already.
    fn claim(&mut self, delivery: DeliveryId) -> Result<Claimed, ControllerError> {
        let claimed = match self.db.claim_delivery(delivery) {
            Ok(Claim::Yes { .. }) => Claimed::Ours,
            Ok(Claim::Final(_)) => {
                self.wants.pending.retain(|p| p.id != delivery);
                Claimed::Gone
            }
            Ok(Claim::Stopped | Claim::Closed) => {
                self.wants.halted = true;
                self.wants.pending.clear();
                Claimed::Gone
            }
            Err(error @ (DbError::DiskFull { .. } | DbError::Busy { .. })) => {
                log(&format!("delivery {delivery} can't be claimed yet: {error}"));
                Claimed::Later
            }
            Err(error) => return Err(error.into()),
        };
        crash::point("claimed");
        Ok(claimed)
    }

    fn write_user(&mut self, delivery: DeliveryId) -> Result<(), ControllerError> {
        let bytes = self.user_line(delivery)?;
        let began = self.machine.open_turn().is_none();
        self.wants.rested_since = None;
        self.write_line(Line::User { delivery }, bytes)?;
        if began {
            self.commit()?;
        }
        Ok(())
    }

    /// The same bytes each time: the uuid and the stored body are all that is in it.
    fn user_line(&self, delivery: DeliveryId) -> Result<Vec<u8>, ControllerError> {
        let body = self.db.delivery_body(delivery)?;
        Ok(build::user_line(delivery.0, &content::to_wire(&body), None))
    }

    /// Ids that no two requests of a session share.
    fn request_id(&self, subtype: &str) -> String {
        format!("ostler-{subtype}-{}-{}", self.machine.generation(), self.machine.next_write())
    }

    /// The bytes of an answer, from what the child asked and what was decided.
    fn answer_line(&self, request_id: &str) -> Result<Option<Vec<u8>>, ControllerError> {
        let rows = &self.machine.rows().permissions;
        let no = self.machine.generation();
        let Some(row) = rows.iter().rev().find(|p| p.generation == no && p.request_id == request_id) else {
            return Ok(None);
        };
        // Nobody decides what nobody knows.
        let Some(reply) = row.reply() else { return Ok(Some(answer::refusal(request_id))) };
        let (start, end) = row.line;
        let asked = ostler_store::journal::read_range(&self.dir.generation(no), start, end)?;
        let Message::ControlRequest(asked) = Frame::from_vec(asked).into_message() else { return Ok(None) };
        Ok(Some(answer::line(request_id, &asked.request, &reply)))
    }

    /// The bytes of a line that an earlier controller began.
    fn line_again(&self, line: &Line) -> Result<Option<Vec<u8>>, ControllerError> {
        match line {
            Line::User { delivery } => self.user_line(*delivery).map(Some),
            Line::Request { request_id, subtype, about: Some(delivery), .. } if subtype == CANCEL => {
                Ok(Some(build::cancel_async_message(request_id, delivery.0)))
            }
            Line::Request { request_id, subtype, cancel_queued, .. } => {
                Ok(Some(request_line(subtype, request_id, *cancel_queued)))
            }
            Line::Answer { request_id } => self.answer_line(request_id),
        }
    }
}

fn request_line(subtype: &str, request_id: &str, cancel_queued: bool) -> Vec<u8> {
    match subtype {
        "interrupt" => build::interrupt(request_id, cancel_queued),
        "end_session" => build::end_session(request_id),
        "initialize" => build::initialize(request_id),
        other => build::other_request(request_id, other),
    }
}
