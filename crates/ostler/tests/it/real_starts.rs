//! Twenty of the real CLI at once: each takes a core while it starts, and 0.2 GB.

use super::real_stage::{Paid, Stage, answer_to, on_both_versions};
use ostler_controller::client::Waited;
use ostler_core::rows::{DeliveryState, Outcome};
use std::time::{Duration, Instant};

on_both_versions! {
    twenty_starts_at_once
}

/// How many.
const MANY: usize = 20;
/// For all of them together, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(150);

fn twenty_starts_at_once(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n say You said $text.\n");
    let sessions: Vec<_> = (0..MANY).map(|_| stage.session()).collect();
    let sent: Vec<_> =
        sessions.iter().enumerate().map(|(n, session)| session.send(&format!("word{n}"))).collect();
    let deadline = Instant::now() + PATIENCE;
    for (n, (session, id)) in sessions.iter().zip(sent).enumerate() {
        let Waited::Settled(Some(turn)) = stage.stable.ostler.wait(session.id, Some(deadline)).unwrap()
        else {
            panic!("session {n} did not settle: {:?}", session.status());
        };
        assert_eq!((turn.outcome, turn.generation), (Some(Outcome::Completed), 1), "{turn:?}");
        assert_eq!(session.delivery(id).state, DeliveryState::Completed);
        assert_eq!(answer_to(session, id), format!("You said word{n}."));
    }
    stage.finish(&Paid::Exactly);
}
