//! Which reply of a script answers a request.

use super::fill::Values;
use super::{Condition, Reply, Round, Rule, Script};
use crate::price::bill::Lane;

/// What a rule is compared with.
#[derive(Debug, Clone)]
pub(crate) struct Asked<'a> {
    /// The text that opened the turn.
    pub(crate) text: &'a str,
    /// No prompt opened it, a background task's notice did.
    pub(crate) notice: bool,
    /// Prompts in the conversation so far, this one included.
    pub(crate) turn: usize,
    /// The model's answers in this turn so far.
    pub(crate) round: usize,
    pub(crate) lane: Lane,
    pub(crate) model: &'a str,
    pub(crate) system: &'a str,
}

/// The place in a script that answers.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) rule: &'a Rule,
    /// None: the rule's rounds are used up.
    pub(crate) round: Option<&'a Round>,
    pub(crate) captures: Vec<String>,
}

impl Script {
    /// The first rule whose conditions all hold.
    pub(crate) fn place(&self, asked: &Asked<'_>) -> Option<Place<'_>> {
        self.rules.iter().find_map(|rule| {
            let captures = rule.holds(asked)?;
            Some(Place { rule, round: rule.round(asked.round), captures })
        })
    }
}

impl Rule {
    fn holds(&self, asked: &Asked<'_>) -> Option<Vec<String>> {
        // Notices and side requests are answered only by rules that ask for them: they must not use up what is
        // written for prompts.
        let wants_notice = self.when.contains(&Condition::Notice);
        let wants_side = self.when.contains(&Condition::Lane(Lane::Side));
        if asked.notice != wants_notice || (asked.lane == Lane::Side) != wants_side {
            return None;
        }
        let mut captures = Vec::new();
        for condition in &self.when {
            captures.extend(condition.holds(asked)?);
        }
        Some(captures)
    }

    fn round(&self, round: usize) -> Option<&Round> {
        self.rounds.get(round).or_else(|| self.rounds.last().filter(|last| last.repeat))
    }
}

impl Condition {
    fn holds(&self, asked: &Asked<'_>) -> Option<Vec<String>> {
        let holds = match self {
            Condition::Like(glob) => return glob.captures(asked.text),
            Condition::Contains(part) => contains(asked.text, part),
            Condition::Is(text) => asked.text == text,
            Condition::Turn(turn) => asked.lane == Lane::Main && asked.turn == *turn,
            Condition::Lane(lane) => asked.lane == *lane,
            Condition::Notice => asked.notice,
            Condition::Model(glob) => glob.matches(asked.model),
            Condition::System(part) => contains(asked.system, part),
        };
        holds.then(Vec::new)
    }
}

fn contains(text: &str, part: &str) -> bool {
    text.to_ascii_lowercase().contains(&part.to_ascii_lowercase())
}

impl Round {
    /// The reply for the nth request (from 0) to this place.
    pub(crate) fn attempt(&self, nth: u64) -> Option<&Reply> {
        let mut before = 0;
        for reply in &self.attempts {
            match reply.times {
                Some(times) if nth >= before + times => before += times,
                _ => return Some(reply),
            }
        }
        self.attempts.last()
    }
}

/// The values of the variables for a place.
pub(crate) fn values(asked: &Asked<'_>, place: &Place<'_>, result: &str, session: &str) -> Values {
    Values {
        text: asked.text.to_owned(),
        result: result.to_owned(),
        turn: asked.turn,
        model: asked.model.to_owned(),
        session: session.to_owned(),
        captures: place.captures.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Asked<'_> {
        Asked {
            text,
            notice: false,
            turn: 1,
            round: 0,
            lane: Lane::Main,
            model: "claude-haiku-4-5",
            system: "Be brief",
        }
    }

    fn line(script: &Script, asked: &Asked<'_>) -> Option<usize> {
        script.place(asked).map(|place| place.rule.line)
    }

    #[test]
    fn first_match_wins_and_lanes_stay_apart() {
        let script = Script::parse(
            "when \"PEAR\"\n say 1\nwhen turn 2\n say 2\nwhen sub\n say 3\nwhen notice\n say 4\nwhen side\n say 5\nwhen system \"brief\" and model \"*opus*\"\n say 6\notherwise\n say 7\n",
        )
        .unwrap();
        assert_eq!(line(&script, &asked("a pear")), Some(1));
        assert_eq!(line(&script, &Asked { turn: 2, ..asked("x") }), Some(3));
        assert_eq!(line(&script, &Asked { turn: 2, lane: Lane::Sub, ..asked("x") }), Some(5));
        assert_eq!(line(&script, &Asked { notice: true, turn: 2, ..asked("pear") }), Some(7));
        assert_eq!(line(&script, &Asked { lane: Lane::Side, ..asked("pear") }), Some(9));
        assert_eq!(line(&script, &Asked { model: "claude-opus-5-5", ..asked("x") }), Some(11));
        assert_eq!(line(&script, &asked("x")), Some(13));
    }

    #[test]
    fn rounds_go_on_and_the_last_may_repeat() {
        let script = Script::parse("when \"a\"\n say 1\nthen\n say 2\notherwise\n say 3\n repeat\n").unwrap();
        let round = |text, round| script.place(&Asked { round, ..asked(text) }).unwrap().round.is_some();
        assert!(round("a", 0) && round("a", 1) && !round("a", 2));
        assert!(round("z", 7));
    }

    #[test]
    fn attempts_are_counted() {
        let script =
            Script::parse("otherwise\n status 529\n times 2\nretry\n status 401\nretry\n say x\n").unwrap();
        let round = script.place(&asked("x")).unwrap().round.unwrap();
        let codes: Vec<Option<u16>> =
            (0..5).map(|nth| round.attempt(nth).unwrap().status.as_ref().map(|s| s.code)).collect();
        assert_eq!(codes, [Some(529), Some(529), Some(401), None, None]);
    }
}
