//! Two sets of counters against each other: which changed, and which of them can pay for the lost cycles.
//!
//! [`compare`] takes what `recording::counter_files` read, or what `repeat` counted itself, and ranks it per unit of
//! work, per second and per instruction (`effect.rs`). Then it demands budget closure (docs/method.md, section 10.2):
//! the events that B has more of, times what one costs (`costs.rs`), must pay for the cycles that B took more than A
//! (`budget.rs`); what goes with the loss and cannot pay is a lead, and the next step is an intervention. `sentence.rs`
//! words it.

mod budget;
mod costs;
mod effect;
mod sentence;
#[cfg(test)]
mod tests;

use bandscope_recording::counter_files::{Absent, Counter, ELAPSED};
use bandscope_statistics::holm;
pub(crate) use budget::closure;
pub use budget::{Budget, BudgetBasis, Verdict};
pub use costs::{Cost, Role};
pub(crate) use costs::{cost, cycles, role, seconds_of};
pub use effect::{Change, Mean};
use serde::Serialize;

/// What else is known of the two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Cycles that B lost against A in a unit of work, where no counter of both says it.
    pub lost_cycles: Option<f64>,
    /// Units of work of a run of A and of B.
    pub work: [f64; 2],
}

impl Default for Options {
    fn default() -> Options {
        Options {
            lost_cycles: None,
            work: [1.0; 2],
        }
    }
}

/// What two sets of counters say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters {
    /// The answer in some sentences. Holds untrusted names.
    pub verdict: String,
    /// How long a unit of work took, in seconds.
    pub seconds: Option<Change>,
    /// Its cycles.
    pub cycles: Option<Change>,
    /// Its instructions.
    pub instructions: Option<Change>,
    /// Instructions per cycle of A and of B.
    pub instructions_per_cycle: Option<[f64; 2]>,
    /// What has to be paid for; `null` where it is not known, or there is nothing.
    pub budget: Option<Budget>,
    /// All counters that both sides have, those that matter most first.
    pub rows: Vec<Row>,
    /// What limits all of the above, in sentences. May hold untrusted names.
    pub notes: Vec<String>,
}

/// One counter.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// Its name. Untrusted.
    pub name: String,
    /// Its unit; empty of events. Untrusted.
    pub unit: String,
    /// Runs of A and of B in which it counted.
    pub runs: [usize; 2],
    /// Share of the time in which it counted, the smaller of both sides.
    pub running: f64,
    /// In a unit of work.
    pub per_work: Change,
    /// In a second.
    pub per_second: Option<Change>,
    /// For an instruction.
    pub per_instruction: Option<Change>,
    /// Chance of such a change per unit of work where there is none, corrected for the number of counters (Holm).
    pub p_value: Option<f64>,
    /// Whether it can pay.
    pub verdict: Verdict,
    /// What one event costs, in cycles.
    pub cost: Option<Cost>,
    /// Share of the lost cycles that its events pay for, at the lower and the upper bound of their cost.
    pub pays: Option<[f64; 2]>,
    /// Lost cycles for each event that B has more of.
    pub cycles_for_each: Option<f64>,
    /// Instructions that B has more of, for each of them.
    pub instructions_for_each: Option<f64>,
    /// Why the verdict is what it is.
    pub reason: String,
}

/// A counter changed if the chance of that, with all counters at one error rate, is this at most.
const ERROR_RATE: f64 = 0.05;

impl Row {
    /// Whether it changed per unit of work, as one of many counters.
    pub fn changed(&self) -> bool {
        self.per_work.changed && self.p_value.is_none_or(|chance| chance <= ERROR_RATE)
    }
}

/// A counter of both sides.
struct Pair<'a> {
    counter: &'a Counter,
    role: Role,
    a: Mean,
    b: Mean,
    runs: [usize; 2],
    running: f64,
}

/// Compares B with A.
pub fn compare(a: &[Counter], b: &[Counter], options: &Options) -> Counters {
    let pairs: Vec<Pair<'_>> = a
        .iter()
        .filter_map(|counter| pair(counter, b, options))
        .collect();
    let seconds = seconds(&pairs);
    let of = |role: Role, name: &str| {
        let such =
            |pair: &&Pair<'_>| pair.role == role && costs::is_of_all(&pair.counter.name, name);
        pairs.iter().find(such).or_else(|| {
            pairs
                .iter()
                .find(|pair| pair.role == role && costs::is(&pair.counter.name, name))
        })
    };
    let cycles =
        of(Role::Cycles, "cycles").or_else(|| pairs.iter().find(|pair| pair.role == Role::Cycles));
    let instructions = of(Role::Instructions, "instructions");
    let change = |pair: &Pair<'_>| effect::change(pair.a, pair.b);
    let mut result = Counters {
        seconds: seconds.map(|(a, b)| effect::change(a, b)),
        cycles: cycles.map(change),
        instructions: instructions.map(change),
        instructions_per_cycle: cycles.zip(instructions).and_then(|(cycles, instructions)| {
            let both = [
                instructions.a.value / cycles.a.value,
                instructions.b.value / cycles.b.value,
            ];
            both.iter().all(|ratio| ratio.is_finite()).then_some(both)
        }),
        ..Counters::default()
    };
    result.budget = Budget::of(&result, options);
    result.rows = pairs
        .iter()
        .map(|pair| row(pair, seconds, instructions))
        .collect();
    correct(&mut result.rows);
    budget::judge(&mut result, &pairs);
    result.rows.sort_by(|one, other| {
        one.verdict
            .cmp(&other.verdict)
            .then(distance(other).total_cmp(&distance(one)))
    });
    result.notes = notes(a, b, &pairs, options);
    result.verdict = sentence::verdict(&result);
    result
}

fn pair<'a>(counter: &'a Counter, b: &[Counter], options: &Options) -> Option<Pair<'a>> {
    let other = b.iter().find(|other| other.name == counter.name)?;
    if counter.runs.is_empty() || other.runs.is_empty() {
        return None;
    }
    let events = counter.unit.is_empty();
    let mean = |counter: &Counter, work: f64| {
        let stated = counter.standard_error.map(|error| (error, counter.mean_of));
        Mean::new(&counter.runs, stated, events).per(work)
    };
    Some(Pair {
        counter,
        role: costs::role(&counter.name, &counter.unit),
        a: mean(counter, options.work[0]),
        b: mean(other, options.work[1]),
        runs: [counter.runs.len(), other.runs.len()],
        running: counter.running.min(other.running),
    })
}

/// How long a unit of work took: wall time if it is known, else the CPU's.
fn seconds(pairs: &[Pair<'_>]) -> Option<(Mean, Mean)> {
    let scales = [
        (ELAPSED, 1.0),
        ("duration_time", 1e9),
        ("task-clock", 1e3),
        ("cpu-clock", 1e3),
    ];
    scales.into_iter().find_map(|(name, scale)| {
        let pair = pairs.iter().find(|pair| pair.counter.name == name)?;
        Some((pair.a.per(scale), pair.b.per(scale)))
    })
}

fn row(pair: &Pair<'_>, seconds: Option<(Mean, Mean)>, instructions: Option<&Pair<'_>>) -> Row {
    Row {
        name: pair.counter.name.clone(),
        unit: pair.counter.unit.clone(),
        runs: pair.runs,
        running: pair.running,
        per_work: effect::change(pair.a, pair.b),
        per_second: seconds
            .filter(|_| pair.role != Role::Time)
            .and_then(|(a, b)| effect::rate(pair.a, pair.b, a, b)),
        per_instruction: instructions
            .filter(|_| pair.role != Role::Time)
            .and_then(|per| effect::rate(pair.a, pair.b, per.a, per.b)),
        ..Row::default()
    }
}

fn correct(rows: &mut [Row]) {
    let known = |row: &Row| row.per_work.p_value;
    let chances: Vec<f64> = rows.iter().filter_map(known).collect();
    let mut corrected = holm(&chances).into_iter();
    for row in rows {
        row.p_value = known(row).and_then(|_| corrected.next());
    }
}

/// How far from 1 its ratio is for sure.
fn distance(row: &Row) -> f64 {
    match (row.per_work.interval, row.per_work.ratio) {
        (Some([low, high]), _) if low <= 1.0 && high >= 1.0 => 0.0,
        (Some([low, high]), _) => low.ln().abs().min(high.ln().abs()),
        (None, Some(ratio)) if ratio > 0.0 => ratio.ln().abs(),
        _ => 0.0,
    }
}

/// Names that a note lists.
const LISTED: usize = 6;

fn notes(a: &[Counter], b: &[Counter], pairs: &[Pair<'_>], options: &Options) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |what: &str, names: Vec<&str>| {
        if !names.is_empty() {
            let more = match names.len() {
                0..=LISTED => String::new(),
                all => format!(" and {} more", all - LISTED),
            };
            let shown = &names[..names.len().min(LISTED)];
            notes.push(format!("{what}: {}{more}.", shown.join(", ")));
        }
    };
    let only = |own: &[Counter], other: &[Counter]| {
        let alone = |counter: &&Counter| !other.iter().any(|other| other.name == counter.name);
        own.iter()
            .filter(alone)
            .map(|counter| counter.name.clone())
            .collect::<Vec<_>>()
    };
    let (only_a, only_b) = (only(a, b), only(b, a));
    note(
        "Counted in A only",
        only_a.iter().map(String::as_str).collect(),
    );
    note(
        "Counted in B only",
        only_b.iter().map(String::as_str).collect(),
    );
    let absent = |why: Absent| {
        let mut names: Vec<&str> = a
            .iter()
            .chain(b)
            .filter(|counter| counter.absent == Some(why))
            .map(|counter| &*counter.name)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    note(
        "Not supported on this machine",
        absent(Absent::NotSupported),
    );
    note("Never counted", absent(Absent::NotCounted));
    let shared = pairs.iter().filter(|pair| pair.running < 1.0);
    note(
        "Multiplexed, so estimates",
        shared.map(|pair| &*pair.counter.name).collect(),
    );
    let single = pairs
        .iter()
        .filter(|pair| !(pair.a.is_of_runs() && pair.b.is_of_runs()));
    note(
        "Fewer than 3 runs on a side, so a change below 5 % does not count",
        single.map(|pair| &*pair.counter.name).collect(),
    );
    if options.work == [1.0; 2] {
        notes.push("A run of A and one of B are taken to have done the same work.".into());
    }
    notes
}
