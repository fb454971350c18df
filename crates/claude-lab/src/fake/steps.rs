//! What the steps of a script do.

use serde_json::Value;

use super::engine::{Engine, Flow, Halt};
use super::flood::Flood;
use super::output;
use super::script::{Pause, Step};
use super::spawn::{kill_self, spawn};
use super::tools::CallKind;

impl Engine {
    /// Plays steps in order.
    pub(super) fn steps(&mut self, steps: &[Step]) -> Flow {
        for step in steps {
            self.pump(Some(std::time::Instant::now()))?;
            self.check()?;
            if !matches!(step, Step::Tool(_) | Step::Background(_)) {
                // A call runs when the message that it is in has no further one.
                self.finish_calls()?;
            }
            match step {
                Step::Say(pieces) => self.say(pieces)?,
                Step::Think(text) => self.think(text)?,
                Step::Tool(tool) => self.call(CallKind::Tool(tool.clone()))?,
                Step::Background(task) => self.call(CallKind::Background(task.clone()))?,
                Step::Then => self.close_message()?,
                other => self.aside(other)?,
            }
        }
        Ok(())
    }

    /// A step that is no part of what the model says.
    fn aside(&mut self, step: &Step) -> Flow {
        match step {
            Step::Line(fields) => self.emit(Value::Object(fields.clone())),
            Step::Bytes(bytes) => self.out.bytes(bytes),
            Step::Huge { bytes, seed } => self.out.bytes(&Flood::line(*bytes, *seed)),
            Step::Flood { bytes, seed } => {
                for chunk in Flood::new(*bytes, *seed) {
                    self.out.bytes(&chunk);
                }
            }
            Step::Stderr(text) => output::complain(&String::from_utf8_lossy(text)),
            Step::StderrFlood(bytes) => {
                for _ in 0..bytes / 64 {
                    output::complain(&"!".repeat(63));
                }
            }
            Step::Mark(gate) => self.gates.open(gate),
            Step::Spawn { how, command } => {
                if let Err(error) = spawn(*how, command) {
                    output::complain(&format!("fake-claude: cannot spawn `{command}`: {error}"));
                    return Err(Halt::Exit(1));
                }
            }
            Step::Cost(usd) => {
                if let Some(live) = &mut self.live {
                    live.cost = Some(*usd);
                }
            }
            Step::Usage(usage) => {
                if let Some(live) = &mut self.live {
                    live.usage = *usage;
                }
            }
            Step::Receipts(receipts) => {
                if let Some(live) = &mut self.live {
                    live.receipts = receipts.clone();
                }
            }
            other => return self.stand_still(other),
        }
        Ok(())
    }

    /// A step that waits or ends something.
    fn stand_still(&mut self, step: &Step) -> Flow {
        match step {
            Step::Wait(pause) => self.wait(pause),
            Step::Silence => {
                self.transcript.flush();
                loop {
                    self.pump(None)?;
                    self.check()?;
                }
            }
            Step::Deaf(gate) => {
                self.input.set_deaf(true);
                let waited = self.wait(&Pause::Gate(gate.clone()));
                self.input.set_deaf(false);
                waited
            }
            Step::End(ending) => {
                self.close_message()?;
                Err(Halt::Ended(ending.clone()))
            }
            Step::Exit(status) => {
                self.transcript.flush();
                Err(Halt::Exit(*status))
            }
            Step::Kill(signal) => {
                self.transcript.flush();
                kill_self(signal);
                loop {
                    self.pump(None)?;
                }
            }
            _ => Ok(()),
        }
    }
}
