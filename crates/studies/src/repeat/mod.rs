//! What the runs of a command say: its modes, what goes with the slow one, and what decides it.
//!
//! [`explain`] makes of [`bandscope_recording::runs`] the object `bandscope.repeat/1`. [`modes`] finds modes by the valleys between them
//! ([`bandscope_statistics::valley`]), [`session`] tells drift from modes, [`association`] ranks what was counted, [`factors`] says what decides, and [`design`] which
//! runs to make for that. docs/repeat.md has the formulas and their sources.

pub mod association;
pub mod design;
pub mod factors;
mod findings;
pub mod gate;
pub mod hidden;
mod meaning;
pub mod modes;
pub mod session;
mod slow;

use bandscope_recording::manifest::Machine;
use bandscope_recording::runs::{Measured, Metric, Phase, Run, Runs};
use bandscope_report::Finding;
pub use meaning::{probability as p_in_words, value as value_in_words};
use modes::Modes;
use serde::Serialize;
pub use slow::Slow;

/// Version of the object.
pub const SCHEMA: &str = "bandscope.repeat/1";

/// A mode of this share should not be missed (docs/method.md, section 10.1).
const SHARE: f64 = 0.2;
/// A second mode is certain if so deep a valley is an accident less often than this.
const CERTAIN: f64 = 0.001;

/// The result of `bandscope repeat`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repeat {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// One sentence: the modes, and what decides.
    pub verdict: String,
    /// Program and version that measured.
    pub tool: String,
    /// When, RFC 3339 in UTC.
    pub started: String,
    /// How long, in seconds.
    pub duration_s: f64,
    /// Whether it was ended early.
    pub interrupted: bool,
    /// The command. Untrusted.
    pub command: Vec<String>,
    /// What is compared.
    pub metric: Metric,
    /// From which orders were drawn.
    pub seed: u64,
    /// Facts of the machine.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::facts"))]
    pub machine: Machine,
    /// How many runs there were.
    pub runs: Numbers,
    /// Values of the runs with nothing varied, in order of time.
    pub values: Vec<f64>,
    /// Their modes.
    #[serde(flatten)]
    pub modes: Modes,
    /// The modes that tell slow runs from the others, if these are not the modes of the plain runs: the modes of all runs, or one level
    /// against all others. Empty otherwise.
    pub modes_at_levels: Vec<modes::Mode>,
    /// What has several modes where the metric has one.
    pub hidden: Vec<hidden::Hidden>,
    /// The chance that a mode was missed.
    pub missed: Missed,
    /// How they follow each other.
    pub session: session::Session,
    /// What goes with the slow mode.
    #[serde(rename = "beside")]
    pub associations: Vec<association::Association>,
    /// What was varied.
    pub factors: Vec<factors::Varied>,
    /// What decides, in a sentence; `null` if nothing was varied.
    pub answer: Option<String>,
    /// Phenomena, as in `bandscope.report/1`; `series` is empty.
    pub findings: Vec<Finding>,
    /// What limits all of the above, in sentences.
    pub warnings: Vec<String>,
}

/// How many runs there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Numbers {
    /// With nothing varied, and a value.
    pub plain: usize,
    /// To see which factors may decide.
    pub screening: usize,
    /// Fresh ones, to see whether they do.
    pub confirmation: usize,
    /// To warm up; not analysed.
    pub warm_up: usize,
    /// That failed; not analysed.
    pub failed: usize,
}

impl Numbers {
    /// Those that results rest on.
    const fn analysed(self) -> usize {
        self.plain + self.screening + self.confirmation
    }
}

/// The chance that a mode was missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Missed {
    /// Of a mode of this share.
    pub share: f64,
    /// That no plain run was in it.
    pub never_ran: f64,
    /// That fewer than three were, which are too few to be told from an accident.
    pub too_few: f64,
}

/// Explains runs.
pub fn explain(runs: &Runs) -> Repeat {
    let plain_modes = plain_modes(runs);
    let slow = Slow::of(runs);
    let session = session::session(runs, &slow);
    let factors = factors::all(runs, &slow);
    let values: Vec<f64> = plain(runs).filter_map(|run| run.value).collect();
    let at_levels = match slow.modes() == &plain_modes {
        true => Vec::new(),
        false => slow.modes().modes.clone(),
    };
    let mut repeat = Repeat {
        schema: SCHEMA,
        verdict: String::new(),
        tool: runs.tool.clone(),
        started: runs.started.clone(),
        duration_s: runs.duration_s,
        interrupted: runs.interrupted,
        command: runs.command.clone(),
        metric: runs.metric.clone(),
        seed: runs.seed,
        machine: runs.machine.clone(),
        runs: numbers(runs),
        missed: missed(values.len()),
        values,
        hidden: hidden::all(runs, &plain_modes),
        modes: plain_modes,
        modes_at_levels: at_levels,
        session,
        associations: association::associations(runs, &slow),
        factors,
        answer: None,
        findings: Vec::new(),
        warnings: Vec::new(),
    };
    repeat.answer = meaning::answer(&repeat);
    repeat.verdict = meaning::verdict(&repeat);
    repeat.findings = findings::all(&repeat);
    repeat.warnings = meaning::warnings(&repeat, runs);
    repeat
}

/// Runs with nothing varied.
fn plain(runs: &Runs) -> impl Iterator<Item = &Run> {
    runs.runs
        .iter()
        .filter(|run| run.factor.is_none() && run.phase != Phase::WarmUp)
}

/// Modes of the runs with nothing varied.
fn plain_modes(runs: &Runs) -> Modes {
    modes_of(runs, |run| run.factor.is_none())
}

fn modes_of(runs: &Runs, wanted: impl Fn(&Run) -> bool) -> Modes {
    let of = runs
        .runs
        .iter()
        .filter(|run| run.phase != Phase::WarmUp && wanted(run));
    let values: Vec<f64> = of.filter_map(|run| run.value).collect();
    modes_of_values(runs, &runs.metric, &values)
}

/// Modes of values of a metric. A kernel knows the CPU time of a command exactly; what of it was its own the tick decides by where it meets
/// the command, unless CPUs go without a tick. So a command of a few ticks has some runs without any time of its own.
fn modes_of_values(runs: &Runs, metric: &Metric, values: &[f64]) -> Modes {
    let is_shared_out = matches!(metric.own(), Some(Measured::User | Measured::System));
    let tick_hz = runs.machine.tick_hz.filter(|hz| is_shared_out && *hz > 0.0);
    let tick_s = match runs.machine.nohz_full_cpus {
        None => tick_hz.map_or(0.0, f64::recip),
        Some(_) => 0.0,
    };
    Modes::of_inexact(values, metric.resolution, tick_s)
}

fn numbers(runs: &Runs) -> Numbers {
    let mut numbers = Numbers::default();
    for run in &runs.runs {
        let number = match run.phase {
            Phase::WarmUp => &mut numbers.warm_up,
            _ if run.value.is_none() => &mut numbers.failed,
            _ if run.factor.is_none() => &mut numbers.plain,
            Phase::Confirmation => &mut numbers.confirmation,
            _ => &mut numbers.screening,
        };
        *number += 1;
    }
    numbers
}

fn missed(number: usize) -> Missed {
    let n = number as f64;
    let none = (1.0 - SHARE).powf(n);
    let odds = SHARE / (1.0 - SHARE);
    Missed {
        share: SHARE,
        never_ran: none,
        too_few: none * (1.0 + n * odds + n * (n - 1.0) / 2.0 * odds * odds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `repeat --metric user` of a command of 4 or 22 ms, where the kernel ticks each 4 ms: eight runs had no time of their own.
    #[test]
    fn a_tick_without_user_time_is_no_mode() {
        let mut runs = Runs {
            metric: Metric::own_of(Measured::User),
            machine: Machine {
                tick_hz: Some(250.0),
                ..Machine::default()
            },
            ..Runs::default()
        };
        for k in 0..51_u32 {
            let scatter = f64::from(k * 7 % 10);
            let user_s = match k % 51 {
                0..8 => 0.0,
                8..38 => 0.0029 + 0.000_15 * scatter,
                _ => 0.0189 + 0.000_6 * scatter,
            };
            runs.runs.push(Run {
                value: Some(user_s),
                user_s,
                wall_s: 0.001 + user_s.max(0.003),
                ..Run::default()
            });
        }
        let numbers = |runs: &Runs| {
            let modes = explain(runs).modes.modes;
            modes.iter().map(|mode| mode.runs).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&runs), [38, 13]);
        // Four ticks apart are two.
        for (k, run) in runs.runs.iter_mut().enumerate() {
            let scatter = 1e-6 * (k * 7 % 10) as f64;
            run.value = Some(scatter + if k % 2 == 0 { 0.4 } else { 0.416 });
        }
        assert_eq!(numbers(&runs), [26, 25]);
        for run in &mut runs.runs {
            run.value = Some(run.user_s);
        }
        // Where CPUs go without a tick, the kernel asks the clock.
        runs.machine.nohz_full_cpus = Some("2-3".to_owned());
        assert_eq!(numbers(&runs), [8, 30, 13]);
    }
}
