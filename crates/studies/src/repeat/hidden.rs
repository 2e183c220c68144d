//! Modes that the metric does not show: runs that do two kinds of work, of which noise on the machine hides what they cost.
//!
//! A kernel counts CPU time and page faults of a command for itself. On a busy machine the run times have one wide mode, while every run has either
//! 150 faults or 32,850.

use super::modes::{Mode, Modes};
use super::{CERTAIN, modes_of_values, plain};
use bandscope_recording::runs::{Measured, Metric, Run, Runs};
use serde::Serialize;

/// Medians of neighbouring modes are so many times apart, or nobody would call it two kinds of work. Chosen, not measured.
const MIN_RATIO: f64 = 1.2;
/// And so many faults: fewer are a page more of a stack. Chosen, not measured.
const MIN_FAULTS: f64 = 100.0;
/// And such a share of the run time: less CPU time cannot matter.
const MIN_SHARE: f64 = 0.01;

/// Something of the command itself that has several modes where the metric has one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hidden {
    /// `user`, `system`, or a count such as `faults:minor`.
    pub name: String,
    /// `s`, or empty of a count.
    pub unit: String,
    /// Its modes, lowest first; two or more.
    pub modes: Vec<Mode>,
}

impl Hidden {
    /// As a metric, whose values are written with their unit.
    pub(super) fn metric(&self) -> Metric {
        Metric {
            name: self.name.clone(),
            unit: self.unit.clone(),
            ..Metric::default()
        }
    }
}

/// Those of the runs with nothing varied; none where the metric itself has two modes.
pub(super) fn all(runs: &Runs, shown: &Modes) -> Vec<Hidden> {
    if shown.modes.len() != 1 {
        return Vec::new();
    }
    let wall_s = shown_time(runs);
    let of_times = [Measured::System, Measured::User].into_iter().map(|time| {
        let metric = Metric::own_of(time);
        let least = MIN_SHARE * wall_s;
        (metric, least)
    });
    let faults = Metric {
        name: "faults:minor".to_owned(),
        resolution: 1.0,
        ..Metric::default()
    };
    let candidates = of_times.chain([(faults, MIN_FAULTS)]);
    candidates
        .filter(|(metric, _)| metric.name != runs.metric.name)
        .filter_map(|(metric, least)| hidden(runs, metric, least))
        .collect()
}

/// Median time from begin to end, in seconds.
fn shown_time(runs: &Runs) -> f64 {
    let of_runs = plain(runs).map(|run| run.wall_s).collect();
    bandscope_statistics::order::median_between(of_runs).unwrap_or(0.0)
}

fn hidden(runs: &Runs, metric: Metric, least: f64) -> Option<Hidden> {
    let of = |run: &Run| match metric.own() {
        Some(_) => metric.of(run),
        None => run.counts.get(&metric.name).copied(),
    };
    let with_value = plain(runs).filter(|run| run.value.is_some());
    let values: Vec<f64> = with_value.filter_map(of).collect();
    let found = modes_of_values(runs, &metric, &values);
    let apart = |pair: &[Mode]| {
        let [low, high] = [pair[0].value, pair[1].value];
        high - low >= least && high >= MIN_RATIO * low
    };
    let differs = found.modes.windows(2).any(apart) && found.p_value < CERTAIN;
    differs.then_some(Hidden {
        name: metric.name,
        unit: metric.unit,
        modes: found.modes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forty runs on a busy machine: every second one asks for pages of its own.
    fn runs() -> Runs {
        let mut runs = Runs {
            metric: Metric::measured("wall").unwrap(),
            ..Runs::default()
        };
        for k in 0..40_u32 {
            let many = f64::from(k % 2);
            let wall_s = 0.15 * (1.0 + 0.03 * f64::from(k * 7 % 40));
            runs.runs.push(Run {
                wall_s,
                value: Some(wall_s),
                user_s: 0.02 * (1.0 + 0.01 * f64::from(k * 3 % 40)),
                system_s: (0.005 + 0.045 * many) * (1.0 + 0.005 * f64::from(k * 11 % 40)),
                counts: [(
                    "faults:minor".to_owned(),
                    150.0 + 32_700.0 * many + f64::from(k % 5),
                )]
                .into(),
                ..Run::default()
            });
        }
        runs
    }

    #[test]
    fn what_the_metric_hides_is_found_in_what_the_kernel_counted() {
        let mut runs = runs();
        let repeat = super::super::explain(&runs);
        assert_eq!(repeat.modes.modes.len(), 1, "{:?}", repeat.modes);
        let names: Vec<&str> = repeat.hidden.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["system", "faults:minor"]);
        assert!(
            repeat.verdict.contains(
                "system is 5.5 ms in 20, 55.0 ms in 20; faults:minor is 152 in 20, 32852 in 20."
            ) && repeat.verdict.contains("--metric system"),
            "{}",
            repeat.verdict
        );
        // By the system time no time is hidden, and none is advised.
        runs.metric = Metric::measured("system").unwrap();
        for run in &mut runs.runs {
            run.system_s = 0.01 + 1e-4 * run.wall_s;
            run.value = Some(run.system_s);
        }
        let verdict = super::super::explain(&runs).verdict;
        assert!(
            verdict.contains("faults:minor is 152") && verdict.ends_with("hides what that costs."),
            "{verdict}"
        );
    }

    #[test]
    fn a_metric_with_two_modes_hides_nothing_and_equal_runs_have_nothing_to_hide() {
        let mut runs = runs();
        for run in &mut runs.runs {
            run.value = Some(run.system_s);
        }
        assert!(super::super::explain(&runs).hidden.is_empty());
        for run in &mut runs.runs {
            run.value = Some(run.wall_s);
            run.counts.clear();
            run.system_s = 0.005 + 1e-6 * (run.at_s + run.wall_s);
        }
        assert!(super::super::explain(&runs).hidden.is_empty());
    }
}
