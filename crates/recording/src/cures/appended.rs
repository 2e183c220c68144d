//! A session of cures that goes on, or was killed: its first line says what is to be tried, each further one has a pair of trials.

use super::{Cure, Cures};
use crate::appended::Grows;
use crate::document;
use serde::{Deserialize, Serialize};

/// A cure as it is known by then, with the pairs that no line before has.
#[derive(Serialize, Deserialize)]
pub(crate) struct Line {
    /// Its place in the list of cures; the end of the list for one that is not in it.
    place: usize,
    cure: Cure,
}

/// The first line, for a session that has no pair yet.
pub fn head(cures: &Cures) -> String {
    // So it is, unless the whole document takes its place.
    let head = Cures {
        interrupted: true,
        ..cures.clone()
    };
    head.to_json()
}

/// The line of the cure at `place`, without the first `written` pairs, which lines before it have.
pub fn line(place: usize, cure: &Cure, written: usize) -> String {
    let mut cure = cure.clone();
    cure.pairs.drain(..written.min(cure.pairs.len()));
    if written > 0 {
        // Those of all interrupts of a large machine are long.
        cure.changes.clear();
    }
    document::line(&Line { place, cure })
}

impl Grows for Cures {
    type Line = Line;
    const LINE: &'static str = "a pair of trials";

    fn add(&mut self, Line { place, mut cure }: Line) {
        if let Some(last) = cure.pairs.last() {
            self.duration_s = self.duration_s.max(last.at_s + 2.0 * self.trial_s);
        }
        match self.cures.get_mut(place) {
            Some(known) => {
                known.missing = cure.missing;
                known.out_of_time = cure.out_of_time;
                known.problems = cure.problems;
                known.pairs.append(&mut cure.pairs);
            }
            None => self.cures.push(cure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Change, Pair, SCHEMA, TOGETHER};
    use super::*;
    use std::path::Path;

    #[test]
    fn a_killed_session_has_the_pairs_that_ended() {
        let named = |name: &str| Cure {
            name: name.into(),
            changes: vec![Change::default()],
            ..Cure::default()
        };
        let mut cures = Cures {
            schema: SCHEMA.into(),
            trial_s: 1.0,
            rate_hz: 1e4,
            cures: vec![named("tasks"), named("idle")],
            ..Cures::default()
        };
        let mut text = head(&cures);
        cures.interrupted = true;
        cures.cures.push(named(TOGETHER));
        for (place, at_s) in [(0, 0.0), (0, 2.5), (2, 5.0), (2, 8.0)] {
            let cure = &mut cures.cures[place];
            let written = cure.pairs.len();
            cure.pairs.push(Pair {
                at_s,
                ..Pair::default()
            });
            cure.problems = vec![format!("at {at_s}")];
            text += &line(place, cure, written);
        }
        cures.duration_s = 10.0;
        let parse = |text: &str| Cures::parse(Path::new("c.json"), text.as_bytes());
        assert_eq!(parse(&text).unwrap(), cures);
        // Wherever the last line is cut off.
        let last = text.trim_end().rfind('\n').unwrap() + 1;
        let together = &mut cures.cures[2];
        together.pairs.pop();
        together.problems = vec!["at 5".into()];
        cures.duration_s = 7.0;
        for end in last..text.len() {
            assert_eq!(parse(&text[..end]).unwrap(), cures, "{end}");
        }
        let damaged = text.replacen("\"cure\"", "\"curd\"", 1);
        let error = parse(&damaged).unwrap_err().to_string();
        assert!(error.starts_with("c.json:2: found"), "{error}");
        assert!(error.contains("a pair of trials on a line"), "{error}");
    }
}
