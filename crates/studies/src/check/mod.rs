//! Pass or fail: reports of one or several runs against limits and against a baseline, `bandscope.check/1`.
//!
//! `merge.rs` makes one set of figures of the runs, `cpu.rs` judges each CPU, `line.rs` words its line, `cause.rs` finds what a failure came from, `judge.rs` tests against the baseline, `save.rs` makes one,
//! `notes.rs` says what limits the result.

mod cause;
mod cpu;
mod judge;
mod line;
mod merge;
mod notes;
mod save;

use crate::conditions::{Checked, Condition, ConditionError, Unit, known_to_reports, same};
use bandscope_recording::baseline::Baseline;
use bandscope_report::Report;
pub use save::{baseline, cannot_fail, differences, disturbed, limits_of};
use serde::Serialize;

/// Version of the object.
pub const SCHEMA: &str = "bandscope.check/1";

/// The limit where nobody names one.
pub const DEFAULT_CONDITION: &str = "lost > 1 %";

/// Figures that are held against a baseline, unless conditions name others: how much is lost, how often, at which pace, and to whom. Few, as all of them share one
/// error rate; but a timer that takes 0.3 % hides in what is lost, whose runs scatter by more. None that is the extreme of a run: of unchanged runs the last has the longest gap of all n + 1 in one case of n + 1, whatever the scatter.
pub const JUDGED: [&str; 8] = [
    "lost",
    "gaps",
    "pace",
    "task:*",
    "timer:*",
    "irq:*",
    "softirq:*",
    "host",
];

/// The result of `bandscope check`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// One sentence: what passes and what fails.
    pub verdict: String,
    /// Whether all CPUs pass.
    pub passes: bool,
    /// Number of runs.
    pub runs: usize,
    /// Length of each, in seconds.
    pub run_s: f64,
    /// When the baseline was measured, RFC 3339 in UTC; `null` without one.
    pub baseline: Option<String>,
    /// One for each CPU.
    pub cpus: Vec<CpuCheck>,
    /// What limits all of the above, in sentences. May hold untrusted names.
    pub notes: Vec<String>,
    /// The command that explains a failure.
    pub next_step: Option<String>,
}

/// What came of the checks of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuCheck {
    /// Its number; `null` where it is not known.
    pub cpu: Option<u32>,
    /// Whether no check failed.
    pub passes: bool,
    /// One line: pass or fail, why, and by what. May hold untrusted names.
    pub sentence: String,
    /// Conditions.
    pub conditions: Vec<Checked>,
    /// Figures against those of the baseline.
    pub changes: Vec<Change>,
    /// The line of the ledger that says most about a failure: that grew most since the baseline, or is the largest.
    pub cause: Option<Line>,
    /// Its figures, over all runs.
    pub figures: Vec<Measured>,
}

/// A figure against that of a baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Mean of the runs: of rates and lengths the geometric one.
    pub value: f64,
    /// The same of the baseline.
    pub baseline: f64,
    /// Beyond this it fails; of a share 1, else infinite (`null`), where nothing fails.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub limit: f64,
    /// Chance that an unchanged machine is so much worse, corrected for the number of figures and CPUs.
    pub p_value: f64,
    /// Whether it is worse, which fails the check.
    pub fails: bool,
    /// Whether the limit is so far off that it hardly bounds anything: runs are few, or those of the baseline scatter much.
    pub is_far_off: bool,
    /// Runs of a baseline that scatter as these and would bring it near; `null` if it is near, or no number of runs does.
    pub enough_runs: Option<u32>,
}

/// A line of the ledger.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Line {
    /// Its name, as in `gaps_ns` of a report; or `slower pace`. Untrusted.
    pub name: String,
    /// Share of the time.
    pub share: f64,
    /// The same in the baseline; `null` without one.
    pub baseline: Option<f64>,
}

/// A figure over all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// Its name, as in a condition. May hold the name of a task, untrusted.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Mean of the runs; of lengths the longest, of windows the worst. `null` where it is not known.
    pub value: Option<f64>,
    /// Of each run, in order of time.
    pub values: Vec<Option<f64>>,
    /// When it happened, in seconds since the start of its run, where it has a moment.
    pub at_s: Option<f64>,
    /// What it was, as in `gaps_ns` of a report, where it is one event that has a name. Untrusted.
    pub by: Option<String>,
}

/// What runs are judged by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Criteria<'a> {
    /// Limits and changes that fail the check.
    pub conditions: &'a [Condition],
    /// What the runs are held against.
    pub baseline: Option<&'a Baseline>,
    /// Whether a CPU fails if a condition ended its run (`--stop-if`): nobody knows what would have come after it.
    pub whole_runs: bool,
}

impl Criteria<'_> {
    /// Refuses what no run could answer, before anything is measured.
    ///
    /// # Errors
    /// As [`known_to_reports`].
    pub fn check(&self) -> Result<(), ConditionError> {
        let has_baseline = self.baseline.is_some();
        let mut conditions = self.conditions.iter();
        conditions.try_for_each(|condition| known_to_reports(condition, has_baseline))
    }

    /// Refuses a condition on a CPU that is not among those to be measured.
    ///
    /// # Errors
    /// If one is.
    pub fn check_cpus(&self, measured: &[u32]) -> Result<(), ConditionError> {
        (self.conditions.iter()).try_for_each(|condition| condition.is_measured(measured))
    }
}

/// Judges the reports of one or several runs of the same CPUs.
///
/// # Errors
/// If a condition asks for what was not measured.
pub fn check(runs: &[Report], criteria: &Criteria<'_>) -> Result<Check, ConditionError> {
    criteria.check()?;
    let settings = runs.iter().find_map(|run| run.recording.as_ref());
    let stopped_by = settings.map(|manifest| &*manifest.stopped_by);
    let cpus = cpu::judged(
        &merge::merged(runs, criteria.conditions),
        criteria,
        stopped_by.filter(|condition| criteria.whole_runs && !condition.is_empty()),
    )?;
    let passes = cpus.iter().all(|cpu| cpu.passes);
    Ok(Check {
        schema: SCHEMA,
        verdict: verdict(&cpus),
        passes,
        runs: runs.len(),
        run_s: settings.map_or(0.0, |manifest| manifest.settings.duration_s),
        baseline: criteria.baseline.map(|baseline| baseline.started.clone()),
        notes: notes::of(&cpus, criteria, settings),
        cpus,
        next_step: None,
    })
}

fn verdict(cpus: &[CpuCheck]) -> String {
    let names = |passes: bool| -> Vec<String> {
        let such = cpus.iter().filter(|cpu| cpu.passes == passes);
        such.map(|cpu| cpu.name()).collect()
    };
    let failed = names(false);
    match (failed.len(), cpus.len()) {
        (0, 1) => format!("{} passes.", names(true).join("")),
        (0, all) => format!("All {all} CPUs pass."),
        (1, 1) => format!("{} FAILS.", failed.join("")),
        (some, all) => format!("{some} of {all} CPUs FAIL: {}.", failed.join(", ")),
    }
}

impl CpuCheck {
    /// Its name in a sentence.
    pub fn name(&self) -> String {
        match self.cpu {
            Some(cpu) => format!("CPU {cpu}"),
            None => "This recording".into(),
        }
    }

    /// Everything that was checked, as conditions that name the CPU.
    pub fn checked(&self) -> Vec<Checked> {
        let of_limit = self.conditions.iter().map(|one| Checked {
            condition: format!("{}: {}", self.name(), one.condition),
            ..one.clone()
        });
        let of_change = self.changes.iter().map(|change| Checked {
            condition: format!("{}: {} as in the baseline", self.name(), change.name),
            met: change.fails,
            found: change.sentence(),
            figure: change.name.clone(),
        });
        of_limit.chain(of_change).collect()
    }

    fn checked_with_cause(&self) -> Vec<Checked> {
        let mut checked = self.checked();
        let Some(line) = &self.cause else {
            return checked;
        };
        let failed = checked.iter_mut().filter(|one| one.met);
        for one in failed.filter(|one| !one.figure.is_empty()) {
            if cause::is_made_of(&one.figure, &line.name) {
                one.found.push_str(&cause::cause_in_words(line));
            }
        }
        checked
    }
}

impl Change {
    /// What it is, was, and may be.
    pub fn sentence(&self) -> String {
        let written = |value: f64| self.unit.written(value);
        let is_bound = self.limit.is_finite() && (self.unit != Unit::Share || self.limit < 1.0);
        let limit = match is_bound {
            true => format!("limit {}", written(self.limit)),
            false => "no limit".to_owned(),
        };
        format!(
            "{} {} (baseline {}, {limit})",
            self.name,
            self.unit.written_beside(self.value, self.limit),
            written(self.baseline),
        )
    }
}

impl Check {
    /// The run in which the figure was worst that the first CPU that fails failed on.
    pub fn worst_run(&self) -> Option<usize> {
        let failed = self.cpus.iter().find(|cpu| !cpu.passes)?;
        let changed = failed
            .changes
            .iter()
            .find(|one| one.fails)
            .map(|one| one.name.clone());
        let met = failed.conditions.iter().find(|one| one.met);
        let met = met.and_then(|one| Condition::parse(&one.condition).ok());
        let name = met
            .map(|condition| condition.figure().to_owned())
            .or(changed)?;
        let figure = failed.figures.iter().find(|one| same(&one.name, &name))?;
        let sign = if judge::is_worst(&figure.name) {
            -1.0
        } else {
            1.0
        };
        let of = |run: &usize| sign * figure.values[*run].unwrap_or(0.0);
        (0..figure.values.len()).max_by(|a, b| of(a).total_cmp(&of(b)))
    }

    /// Everything that was checked, CPU by CPU.
    pub fn checked(&self) -> Vec<Checked> {
        self.cpus.iter().flat_map(CpuCheck::checked).collect()
    }

    /// The same, where a failure tells what it came from: for readers who see nothing else.
    pub fn checked_with_causes(&self) -> Vec<Checked> {
        self.cpus
            .iter()
            .flat_map(CpuCheck::checked_with_cause)
            .collect()
    }
}
