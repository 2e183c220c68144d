//! What a run of the lab does, one step after the other.

use super::pairs;

/// How much of everything.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The CPU; the quietest if left open.
    pub cpu: Option<u32>,
    /// Names of the pairs to measure, and `switching`; all if empty.
    pub only: Vec<String>,
    /// Passes over all pairs.
    pub passes: u32,
    /// Rounds of a pass in which each level has a piece; a quarter of it for the 64 levels of a placement.
    pub rounds: u32,
    /// Length of a piece in seconds.
    pub piece_s: f64,
    /// Rates of interruptions in hertz, and how long each is tried on each loop, in seconds.
    pub interruptions: Vec<(u32, f64)>,
    /// Length of one run of an interrupted loop in seconds.
    pub run_s: f64,
}

impl Default for Plan {
    /// About 40 seconds. A piece of 20 us is seldom interrupted and hundreds of times longer than the clock takes to be read; a run of
    /// 2 ms is interrupted twice at 1 kHz.
    fn default() -> Plan {
        Plan {
            cpu: None,
            only: Vec::new(),
            passes: 24,
            rounds: 40,
            piece_s: 20e-6,
            interruptions: vec![(0, 0.5), (10, 2.0), (100, 1.0), (1000, 0.6)],
            run_s: 2e-3,
        }
    }
}

/// The name by which the loops under interruptions are asked for, beside the pairs'.
pub const SWITCHING: &str = "switching";

/// Names that [`Plan::only`] may hold.
pub fn names() -> Vec<&'static str> {
    let pairs = pairs::pairs().into_iter().map(|pair| pair.name);
    pairs.chain([SWITCHING]).collect()
}

/// One thing after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// Over all pairs.
    Pass,
    /// A loop, signals a second, seconds.
    Switching(&'static str, u32, f64),
}

impl Plan {
    /// Whether it was asked for.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// The passes, spread evenly among the interrupted loops, so that they see the machine at different times. One rate comes after
    /// the other, so that what changes with time is in all of them.
    pub(super) fn steps(&self) -> Vec<Step> {
        let rates = self.interruptions.iter().filter(|_| self.wants(SWITCHING));
        let switching: Vec<Step> = rates
            .flat_map(|&(rate_hz, seconds)| {
                pairs::SWITCHED
                    .iter()
                    .map(move |&name| Step::Switching(name, rate_hz, seconds))
            })
            .collect();
        let passes = match self.only.iter().all(|only| only == SWITCHING) && !self.only.is_empty() {
            true => 0,
            false => self.passes as usize,
        };
        let mut steps = vec![Step::Pass; passes];
        for (index, step) in switching.iter().enumerate().rev() {
            steps.insert(index * passes / switching.len(), *step);
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_spread_among_the_interrupted_loops() {
        let steps = Plan::default().steps();
        let passes = steps.iter().filter(|step| **step == Step::Pass).count();
        assert_eq!(
            (passes, steps.len() - passes),
            (24, 4 * pairs::SWITCHED.len())
        );
        let longest = steps
            .split(|step| *step == Step::Pass)
            .map(<[Step]>::len)
            .max();
        assert!(longest <= Some(steps.len() / 24 + 1), "{longest:?}");
    }
}
