//! What runs are compared by, run for run: how many modes each side has, and whether B is more often in the worse one.
//!
//! A benchmark of two speeds has a mean that no run ever had, and its mean moves when nothing did but luck. So modes are found as `repeat` finds them
//! ([`crate::repeat::modes`]), of each side and of both together; if both together have several, the shares of slow runs ([`Modes::slow`]) are compared
//! (Fisher's exact test, either way).

use super::named;
use crate::conditions::{Figure, Unit};
use crate::repeat::modes::Modes;
use crate::repeat::{p_in_words, value_in_words};
use bandscope_recording::counter_files::{CounterSet, ELAPSED};
use bandscope_recording::runs::Metric;
use bandscope_report::format;
use bandscope_statistics::counts::{fisher_exact, wilson_interval};
use serde::Serialize;

/// Shares that differ as much by chance less often than this differ.
const DIFFERS: f64 = 0.01;
/// The last digit of values of which nobody says how many they have: a nanosecond of seconds. Their common step is found from them.
const DIGIT: f64 = 1e-9;

/// What the runs of both sides look like.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Times {
    /// What they are compared by.
    #[serde(flatten)]
    metric: Metric,
    /// Modes of A and of B.
    pub sides: [Modes; 2],
    /// Runs of both sides together in their modes; `null` where these have one.
    pub shares: Option<Shares>,
}

/// How often a side is slow, by the modes of both.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shares {
    /// Values that divide the modes, lowest first.
    pub modes: Vec<f64>,
    /// Of A and of B: slow runs, beyond the widest step between modes, and all.
    pub runs: [[u64; 2]; 2],
    /// Share of A and of B, 95 %.
    pub intervals: [[f64; 2]; 2],
    /// Chance of shares as far apart, if A and B were alike.
    pub p_value: f64,
}

impl Times {
    /// Of two sides that have a value for each run; `None` where one has not, or they are compared by different things.
    pub(super) fn of(a: &CounterSet, b: &CounterSet) -> Option<Times> {
        // Of a rate more is better, of a time less.
        if let (Some(of_a), Some(of_b)) = (&a.metric, &b.metric)
            && (of_a, a.higher_is_better) != (of_b, b.higher_is_better)
        {
            return None;
        }
        let name = a.metric.as_deref().or(b.metric.as_deref());
        let name = name.unwrap_or(ELAPSED);
        let [(of_a, unit), (of_b, _)] = [values(a, name)?, values(b, name)?];
        let metric = Metric {
            name: name.to_owned(),
            unit: unit.to_owned(),
            higher_is_better: a.higher_is_better || b.higher_is_better,
            resolution: DIGIT,
        };
        let of = |values: &[f64]| Modes::of(values, DIGIT);
        let sorted = |values: &[f64]| {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted
        };
        // The same file twice: values in pairs would look like modes of two.
        let together = match sorted(of_a) == sorted(of_b) {
            true => of(of_a),
            false => of(&[of_a, of_b].concat()),
        };
        Some(Times {
            sides: [of(of_a), of(of_b)],
            shares: shares([of_a, of_b], &together, metric.higher_is_better),
            metric,
        })
    }

    /// What the verdict says of it; empty where there is one mode.
    pub(super) fn sentence(&self) -> String {
        let mut text = String::new();
        let value = |value: f64| value_in_words(&self.metric, value);
        for (letter, side) in ["A", "B"].into_iter().zip(&self.sides) {
            let (modes, sure) = match side.possible.is_empty() {
                true => (&side.modes, "have"),
                false => (&side.possible, "may have"),
            };
            if modes.len() > 1 {
                let named: Vec<String> = (modes.iter())
                    .map(|mode| format!("{} ({})", value(mode.value), format::percent(mode.share)))
                    .collect();
                text += &format!(
                    " Runs of {letter} {sure} {} modes, and the mean is not one of them: {}.",
                    modes.len(),
                    named.join(", ")
                );
            }
        }
        if let Some(shares) = &self.shares {
            let [[slow_a, all_a], [slow_b, all_b]] = shares.runs;
            let differ = match shares.p_value < DIFFERS {
                true => "they differ",
                false => "no difference beyond chance",
            };
            text += &format!(
                " Slow runs: {slow_a} of {all_a} of A, {slow_b} of {all_b} of B; {differ} (p = {}).",
                p_in_words(shares.p_value)
            );
        }
        text
    }

    /// For conditions: `modes`, and `slow-share` where both together have several.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let modes = [0, 1].map(|side| self.sides[side].modes.len() as f64);
        let shares = self.shares.as_ref();
        let slow = shares.map_or([0.0; 2], |shares| {
            shares.runs.map(|[slow, all]| slow as f64 / all as f64)
        });
        let differ = shares.is_some_and(|shares| shares.p_value < DIFFERS);
        vec![
            named("modes".into(), Unit::Number, modes, modes[0] != modes[1]),
            named("slow-share".into(), Unit::Share, slow, differ),
        ]
    }
}

/// The values of a counter and its unit; `None` of a mean without its runs.
fn values<'a>(set: &'a CounterSet, name: &str) -> Option<(&'a [f64], &'a str)> {
    let counter = set.counters.iter().find(|counter| counter.name == name)?;
    (counter.runs.len() > 1).then_some((&counter.runs, &counter.unit))
}

fn shares(of: [&[f64]; 2], together: &Modes, higher_is_better: bool) -> Option<Shares> {
    let modes = together.slow(higher_is_better);
    if modes.is_empty() {
        return None;
    }
    let runs = of.map(|values| {
        let slow = (values.iter()).filter(|value| modes.contains(&together.index(**value)));
        [slow.count() as u64, values.len() as u64]
    });
    let [[slow_a, all_a], [slow_b, all_b]] = runs;
    let one_way = [
        fisher_exact(slow_a, all_a, slow_b, all_b),
        fisher_exact(slow_b, all_b, slow_a, all_a),
    ];
    Some(Shares {
        modes: together.modes.iter().map(|mode| mode.value).collect(),
        runs,
        intervals: runs.map(|[slow, all]| wilson_interval(slow, all)),
        p_value: (2.0 * one_way[0].min(one_way[1])).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::counter_files::Counter;

    fn side(times: &[f64]) -> CounterSet {
        CounterSet {
            counters: vec![Counter {
                name: ELAPSED.into(),
                unit: "s".into(),
                runs: times.to_vec(),
                ..Counter::default()
            }],
            ..CounterSet::default()
        }
    }

    /// Runs of a second, every so manieth of 1.7.
    fn mixed(number: usize, every: usize) -> Vec<f64> {
        (0..number)
            .map(|run| if run % every == every - 1 { 1.7 } else { 1.0 } + 0.001 * (run * 7 % 11) as f64)
            .collect()
    }

    #[test]
    fn the_published_sort_may_have_two_modes() {
        // cases/rsort-runs.tsv, against itself.
        let runs = [
            13.115_873, 22.135_310, 13.009_435, 13.008_352, 13.083_947, 21.942_109, 13.088_477,
            13.064_438,
        ];
        let found = Times::of(&side(&runs), &side(&runs)).unwrap();
        let text = found.sentence();
        assert!(text.contains("Runs of A may have 2 modes"), "{text}");
        assert_eq!(found.shares, None);
    }

    #[test]
    fn a_slow_mode_that_comes_more_often_is_told_from_luck() {
        let of = |a: &[f64], b: &[f64]| Times::of(&side(a), &side(b)).unwrap();
        let more = of(&mixed(40, 20), &mixed(40, 2));
        let shares = more.shares.clone().unwrap();
        assert_eq!(shares.runs, [[2, 40], [20, 40]]);
        assert!(shares.p_value < 1e-4, "{shares:?}");
        assert!(
            more.sentence()
                .contains("2 of 40 of A, 20 of 40 of B; they differ")
        );
        let slow = more.figures().remove(1);
        let changed = |figure: &Figure| figure.past.is_some_and(|past| past.changed);
        assert!(slow.name == "slow-share" && slow.value == Some(0.5) && changed(&slow));
        let luck = of(&mixed(40, 8), &mixed(40, 5));
        assert!(luck.sentence().contains("no difference beyond chance"));
        assert!(!changed(&luck.figures()[1]));
    }

    #[test]
    fn what_is_slower_in_every_run_has_slow_runs_only() {
        let faster: Vec<f64> = mixed(30, 99);
        let slower: Vec<f64> = faster.iter().map(|time| time * 1.5).collect();
        let found = Times::of(&side(&faster), &side(&slower)).unwrap();
        let told = "0 of 30 of A, 30 of 30 of B; they differ";
        assert!(found.sentence().contains(told), "{}", found.sentence());
        let slow = found.figures().remove(1);
        assert!(slow.value == Some(1.0) && slow.past.is_some_and(|past| past.changed));
        assert!(Times::of(&side(&[1.0]), &side(&faster)).is_none());
    }

    #[test]
    fn of_a_rate_the_lower_mode_is_the_worse_one() {
        let rate = |times: &[f64]| CounterSet {
            higher_is_better: true,
            ..side(times)
        };
        let found = Times::of(&rate(&mixed(40, 4)), &rate(&mixed(40, 4))).unwrap();
        assert_eq!(found.shares.unwrap().runs, [[30, 40]; 2]);
        let by = |metric: &str, set: CounterSet| CounterSet {
            metric: Some(metric.into()),
            ..set
        };
        let two = [
            by("rate", rate(&mixed(40, 4))),
            by(ELAPSED, side(&mixed(40, 4))),
        ];
        assert_eq!(Times::of(&two[0], &two[1]), None);
    }
}
