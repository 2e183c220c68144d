//! Which runs count as slow: those beyond the widest step between modes ([`Modes::slow`]).

use super::modes::{Mode, Modes};
use bandscope_recording::runs::{Phase, Run, Runs};

/// Fewest runs that make a mode.
const MIN_RUNS_OF_A_MODE: usize = 3;
/// A level stands apart if by chance one of all levels would less often than this.
const MAX_CHANCE_OF_A_LEVEL: f64 = 0.01;

/// The two modes of runs of which all at one level lie beyond all others, too few to be a mode among all runs together.
fn of_a_level(runs: &Runs) -> Option<Modes> {
    let levels = runs
        .factors
        .iter()
        .filter(|factor| factor.missing.is_none());
    let levels: Vec<(&String, &String)> = levels
        .flat_map(|factor| factor.levels.iter().map(move |level| (&factor.name, level)))
        .collect();
    let apart = |&(factor, level): &(&String, &String)| {
        let counts = |run: &&Run| run.phase != Phase::WarmUp && run.value.is_some();
        let (here, others): (Vec<&Run>, Vec<&Run>) = (runs.runs.iter().filter(counts))
            .partition(|run| run.factor.as_ref() == Some(factor) && run.level(factor) == level);
        let values =
            |runs: &[&Run]| -> Vec<f64> { runs.iter().filter_map(|run| run.value).collect() };
        let [here, others] = [values(&here), values(&others)];
        let all = here.len() + others.len();
        // So many of them the highest or the lowest, wherever they fall.
        let ways = (0..here.len()).map(|k| (all - k) as f64 / (k + 1) as f64);
        let chance = 2.0 * levels.len() as f64 / ways.product::<f64>();
        let [a, b] = [mode(&here, all)?, mode(&others, all)?];
        let (low, high) = if a.value < b.value { (a, b) } else { (b, a) };
        // Beyond them by more than all of them are wide.
        let gap = high.range[0] - low.range[1];
        let wide = [&low, &high].map(|mode| mode.range[1] - mode.range[0]);
        (chance < MAX_CHANCE_OF_A_LEVEL && gap > wide[0].max(wide[1])).then(|| Modes {
            modes: vec![low, high],
            p_value: chance,
            ..Modes::default()
        })
    };
    levels.iter().find_map(apart)
}

/// These values as one mode of so many runs.
fn mode(values: &[f64], all: usize) -> Option<Mode> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Mode::of(&sorted, all).filter(|mode| mode.runs >= MIN_RUNS_OF_A_MODE)
}

/// Tells slow runs from the others.
#[derive(Clone, Debug)]
pub struct Slow {
    modes: Modes,
    higher_is_better: bool,
}

impl Slow {
    /// By the modes of the runs with nothing varied, if these are sure. Else a level may bring out a mode that is seldom or never seen
    /// otherwise: by the modes of these, of all runs, or of one level and the others, whichever is least likely an accident.
    pub fn of(runs: &Runs) -> Slow {
        let plain = super::plain_modes(runs);
        let sure = plain.modes.len() > 1 && plain.p_value < super::CERTAIN;
        let at_levels = || [Some(super::modes_of(runs, |_| true)), of_a_level(runs)];
        let others = (!sure).then(at_levels).into_iter().flatten().flatten();
        let modes = others.fold(plain, |best, other| {
            let better = best.modes.len() < 2 || other.p_value < best.p_value;
            if other.modes.len() > 1 && better {
                other
            } else {
                best
            }
        });
        Slow {
            modes,
            higher_is_better: runs.metric.higher_is_better,
        }
    }

    /// The modes by which it tells.
    pub fn modes(&self) -> &Modes {
        &self.modes
    }

    /// Whether a run is; `None` of one without a value, and if there is but one mode.
    pub fn is_slow(&self, run: &Run) -> Option<bool> {
        let slow = self.modes.slow(self.higher_is_better);
        (!slow.is_empty()).then_some(slow.contains(&self.modes.index(run.value?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::runs::{Factor, Metric};

    /// 40 plain runs from 1.0 on, 1 ms apart, the last 12 of them later by `valley`; then three runs at each of ten levels, which fill the
    /// valley but for those at one level: these take half as long again.
    fn runs(valley: f64) -> Runs {
        let plain = (0..40).map(|n| {
            let later = if n < 28 { 0.0 } else { valley };
            Run {
                value: Some(1.0 + 1e-3 * f64::from(n) + later),
                ..Run::default()
            }
        });
        let screened = (0..30).map(|n| {
            let level = n / 3;
            Run {
                phase: Phase::Screening,
                factor: Some("environment".into()),
                levels: [("environment".into(), level.to_string())].into(),
                value: Some(if level == 7 { 1.5 } else { 1.0 } + 2e-3 * f64::from(n)),
                ..Run::default()
            }
        });
        Runs {
            metric: Metric::measured("wall").unwrap(),
            factors: vec![Factor {
                name: "environment".into(),
                levels: (0..10).map(|level| level.to_string()).collect(),
                ..Factor::default()
            }],
            runs: plain.chain(screened).collect(),
            ..Runs::default()
        }
    }

    fn slow_runs(runs: &Runs) -> Vec<&Run> {
        let slow = Slow::of(runs);
        let is_slow = |run: &&Run| slow.is_slow(run) == Some(true);
        runs.runs.iter().filter(is_slow).collect()
    }

    #[test]
    fn an_accidental_valley_of_the_plain_runs_does_not_hide_a_level_far_beyond_them() {
        let runs = runs(0.0135);
        let plain = crate::repeat::plain_modes(&runs);
        assert_eq!(plain.modes.len(), 2);
        assert!((0.001..0.01).contains(&plain.p_value), "{}", plain.p_value);
        let slow = slow_runs(&runs);
        assert_eq!(slow.len(), 3);
        assert!(slow.iter().all(|run| run.level("environment") == "7"));
    }

    #[test]
    fn certain_modes_of_the_plain_runs_tell_slow_runs_whatever_a_level_shows() {
        let runs = runs(0.03);
        let plain = crate::repeat::plain_modes(&runs);
        assert!(plain.p_value < 0.001, "{}", plain.p_value);
        let of_plain = |run: &&&Run| run.factor.is_none();
        assert_eq!(slow_runs(&runs).iter().filter(of_plain).count(), 12);
    }
}
