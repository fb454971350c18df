//! A row of ours is applied.

use super::child::{Asked, CANCEL, Child, Ending, Interrupt, InterruptStatus, Unfinished};
use super::tasks::TaskKind;
use super::{Declared, Machine, Parked, Phase};
use crate::ctl::{Deadline, EndReason, Event, Line, Reply, Row};
use crate::ids::Millis;
use crate::rows::{Generation, Turn};

impl Machine {
    /// Applies a row of `ctl`. `now`: monotonic milliseconds.
    pub fn row(&mut self, row: &Row, now: u64) {
        match &row.ev {
            Event::Spawn { .. } => self.spawning(row, now),
            Event::Forks { expected_read, interrupt, .. } => self.forking(*expected_read, *interrupt),
            Event::Cache { seen } => self.cache_seen(*seen),
            Event::Child { .. } => self.with_child(|c| {
                if c.phase == Phase::Starting {
                    c.phase = Phase::Resident;
                }
            }),
            Event::Begin { write, line, len, .. } => self.begin(*write, line, *len, row.at, now),
            Event::Done { write } => self.done(*write, now),
            Event::Decided { request_id, decision, by, message, input, always, interrupt, given } => {
                let (message, input) = (message.clone(), input.clone());
                let reply =
                    Reply { decision: *decision, message, input, always: *always, interrupt: *interrupt };
                self.decide_permission(request_id, reply, by, given.as_deref());
            }
            Event::Asked { request_id } => self.asked(request_id, row.at),
            Event::Exhausted { request_id } => self.exhausted(request_id),
            Event::Adopted { .. } => self.adopt(now),
            Event::Expired { deadline } => self.expired(*deadline, now),
            Event::Ending { why } => self.ending_begins(*why, now),
            Event::Declared { declaration, note, turn } => {
                self.declared = Some(Declared { kind: *declaration, note: note.clone(), turn: *turn });
            }
            Event::Closed => self.take_everything_back(),
            Event::Kill { .. } => self.with_child(|c| c.killing = true),
            Event::Dead { exit, proven, killed, said } => {
                self.dead(*exit, *proven, *killed, said.clone(), row.at);
            }
            Event::TurnBegan { .. } => self.open_new_turn(row.at),
            Event::Settled { gave_up_tasks, .. } => self.settled(*gave_up_tasks, row.at),
            Event::Cancelled { delivery } => self.taken_back(*delivery),
            Event::Parked { reason, seen } => {
                self.parked = Some(Parked { reason: reason.clone(), at: row.at, seen: *seen });
                self.refused.acknowledged();
            }
            Event::Slow { .. } => self.with_child(|c| c.watch.slow()),
            Event::Foreign { .. } | Event::Note { .. } | Event::Unknown => {}
        }
    }

    fn ending_begins(&mut self, why: EndReason, now: u64) {
        self.with_child(|c| {
            c.phase = Phase::Ending;
            c.ending = Some(Ending { why, since: now, told: false, expired: false });
        });
        if why == EndReason::Declared {
            self.withdraw_all("declared");
        }
    }

    fn spawning(&mut self, row: &Row, now: u64) {
        let Event::Spawn { generation, delivery, conversation, resume, baseline, version } = &row.ev else {
            return;
        };
        self.conversation = *conversation;
        self.parked = None;
        self.refused.acknowledged();
        self.forget_old_answers(*generation);
        self.child = Some(Child::new(*generation, *delivery, baseline.clone(), now));
        *self.starts.entry(*delivery).or_default() += 1;
        self.rows.generations.push(Generation {
            no: *generation,
            conversation: *conversation,
            resumed: *resume,
            version: version.clone(),
            model: None,
            credential: None,
            started_at: row.at,
            ended_at: None,
            exit: None,
            garbled: 0,
            killed: 0,
            proven: false,
            cache: None,
        });
    }

    fn begin(&mut self, write: u64, line: &Line, len: u64, at: Millis, now: u64) {
        self.with_child(|c| {
            c.next_write = c.next_write.max(write + 1);
            c.unfinished = Some(Unfinished { write, line: line.clone(), len, since: now, orphaned: false });
        });
        match line {
            Line::User { delivery } => {
                if self.open_turn().is_none() {
                    self.open_new_turn(at);
                }
                self.offered(*delivery, at);
                self.with_child(|c| {
                    c.first_write.get_or_insert(now);
                    c.last_user_write = write;
                    c.read_all = false;
                    c.quiet_expired = false;
                    c.last_line = now;
                    if !c.segment_open {
                        c.watch.heard(now);
                    }
                    // An interrupt that found nothing to break off is not meant for what comes later.
                    c.interrupt.take_if(|i| i.found_nothing() && !c.segment_open);
                });
            }
            Line::Request { .. } => self.asking(write, line, now),
            Line::Answer { request_id } => self.answer_begins(request_id),
        }
    }

    fn asking(&mut self, write: u64, line: &Line, now: u64) {
        let Line::Request { request_id, subtype, about, cancel_queued } = line else { return };
        let Some(c) = &mut self.child else { return };
        let asked = Asked { subtype: subtype.clone(), about: *about, since: now, write };
        c.asked.insert(request_id.clone(), asked);
        match subtype.as_str() {
            "interrupt" => {
                let again = c.interrupt.as_ref().is_some_and(|i| i.request_id == *request_id);
                if !again {
                    let early = !c.segment_open;
                    c.interrupt = Some(Interrupt {
                        request_id: request_id.clone(),
                        cancel_queued: *cancel_queued,
                        since: now,
                        confirmed: false,
                        early,
                        listed: false,
                        outrun: false,
                        again: false,
                    });
                    c.interrupt_expired = false;
                }
            }
            CANCEL => {
                c.cancels.extend(about.map(|delivery| (delivery, None)));
            }
            "end_session" => {
                if let Some(ending) = &mut c.ending {
                    ending.told = true;
                }
            }
            _ => {}
        }
    }

    fn done(&mut self, write: u64, now: u64) {
        let Some(child) = &mut self.child else { return };
        let Some(unfinished) = child.unfinished.take_if(|u| u.write == write) else { return };
        child.watch.written(now);
        if let Line::Answer { request_id } = &unfinished.line {
            child.watch.answered(true);
            child.watch.heard(now);
            self.permission_answered(request_id);
        }
    }

    fn adopt(&mut self, now: u64) {
        self.with_child(|c| {
            c.adopted = true;
            c.last_line = now;
            c.watch.heard(now);
            c.watch.written(now);
            c.last_result = now;
            c.started = now;
            c.tasks.restart_clocks(now);
            c.asked.values_mut().for_each(|a| a.since = now);
            if let Some(first) = &mut c.first_write {
                *first = now;
            }
            if let Some(interrupt) = &mut c.interrupt {
                interrupt.since = now;
            }
            if let Some(ending) = &mut c.ending {
                ending.since = now;
            }
            if let Some(unfinished) = &mut c.unfinished {
                unfinished.orphaned = true;
                unfinished.since = now;
            }
        });
    }

    fn expired(&mut self, deadline: Deadline, now: u64) {
        if deadline == Deadline::Quiet {
            self.count_as_answered();
        }
        self.with_child(|c| match deadline {
            Deadline::Start => c.start_expired = true,
            Deadline::Notification => c.tasks.stop_waiting(),
            Deadline::Shells => c.tasks.give_up(TaskKind::Shell),
            Deadline::Agents => c.tasks.give_up(TaskKind::Agent),
            Deadline::Quiet => {
                c.quiet_expired = true;
                c.last_line = now;
            }
            Deadline::Interrupt => {
                c.interrupt_expired = true;
                if let Some(interrupt) = &c.interrupt {
                    let id = interrupt.request_id.clone();
                    c.remember_answer(&id, InterruptStatus::Gone);
                }
            }
            Deadline::End => {
                if let Some(ending) = &mut c.ending {
                    ending.expired = true;
                }
            }
            Deadline::Answer => c.answer_expired = true,
            Deadline::WakeWait => c.wake_expired = true,
            Deadline::Stalled | Deadline::Compaction => c.watch.expired(deadline, now),
            Deadline::Write => c.write_expired = true,
        });
    }

    pub(super) fn open_new_turn(&mut self, at: Millis) {
        let no = self.rows.turns.last().map_or(1, |t| t.no + 1);
        self.declared = None;
        let generation = self.generation();
        // What the child did by itself before this is part of the turn.
        let alone = self.child.as_mut().and_then(|c| c.alone.take());
        self.with_child(|c| {
            if alone.is_none() {
                c.verdict = None;
            }
            c.denied_by_child = 0;
            c.denied_by_us = 0;
            c.auto_continued = 0;
            c.settled = false;
        });
        let alone = alone.unwrap_or_default();
        self.rows.turns.push(Turn {
            no,
            generation,
            started_at: at,
            settled_at: None,
            outcome: None,
            failure: None,
            message: None,
            results: alone.results,
            rounds: alone.rounds,
            denials: alone.denials,
            killed_tasks: 0,
            unclean: false,
            garbled: false,
            answer: alone.answer,
        });
    }
}
