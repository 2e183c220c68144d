//! A against B: two sets of counters or two recordings, what changed and by how much.
//!
//! [`Comparison`] is the object `bandscope.compare/1` that `view` shows: of counters (`crate::counters`) or of recordings, with the conditions that the user
//! set (`condition.rs`), for gates. Of recordings, figures are those of both reports (`recordings/`) and intervals those of blocks of time (`recordings/`).

mod condition;
mod recordings;
mod sentence;
mod times;

use crate::Error;
use crate::conditions::{self, Checked, Condition, ConditionError, Figure as Named, Past};
use crate::counters::{self, Counters, Options};
use bandscope_recording::Source;
use bandscope_recording::counter_files::CounterSet;
pub use recordings::{
    BandPair, Delta, Figure, FindingPair, Recordings, SeriesPair, SignalChange, SignalPair,
};
use serde::Serialize;
pub use times::{Shares, Times};

/// Version of the object.
pub const SCHEMA: &str = "bandscope.compare/1";

/// What a comparison says.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// A and B.
    pub sides: [Side; 2],
    /// The answer in some sentences. May hold untrusted names.
    pub verdict: String,
    /// Of counters; `null` of recordings.
    pub counters: Option<Counters>,
    /// Modes of the runs of A and of B; `null` where either has but one run or a mean, and of recordings.
    pub times: Option<Times>,
    /// Of recordings; `null` of counters.
    pub recordings: Option<Recordings>,
    /// Conditions that were checked.
    pub conditions: Vec<Checked>,
    /// What limits all of the above, in sentences. May hold untrusted names.
    pub notes: Vec<String>,
}

/// One of the two.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Side {
    /// Its files. Untrusted.
    pub inputs: Vec<String>,
    /// The command or column, where the file says it. Untrusted.
    pub name: String,
}

/// Two sets of counters.
pub fn counter_sets(a: &[CounterSet], b: &[CounterSet], options: &Options) -> Comparison {
    let (side_a, set_a) = joined(a);
    let (side_b, set_b) = joined(b);
    let mut counters = counters::compare(&set_a.counters, &set_b.counters, options);
    let mut notes = std::mem::take(&mut counters.notes);
    let times = Times::of(&set_a, &set_b);
    notes.extend(set_a.notes);
    notes.extend(set_b.notes);
    Comparison {
        schema: SCHEMA,
        sides: [side_a, side_b],
        verdict: std::mem::take(&mut counters.verdict)
            + &times.as_ref().map(Times::sentence).unwrap_or_default(),
        times,
        counters: Some(counters),
        notes,
        ..Comparison::default()
    }
}

/// Two recordings, under the names that the user has for them.
///
/// # Errors
/// If one cannot be read.
pub fn recordings(a: &dyn Source, b: &dyn Source, names: [String; 2]) -> Result<Comparison, Error> {
    let (recordings, notes) = recordings::compare(a, b)?;
    Ok(Comparison {
        schema: SCHEMA,
        sides: names.map(|name| Side {
            inputs: vec![name],
            name: String::new(),
        }),
        verdict: sentence::verdict(&recordings),
        recordings: Some(recordings),
        notes,
        ..Comparison::default()
    })
}

/// Several sets of one side as one.
fn joined(sets: &[CounterSet]) -> (Side, CounterSet) {
    let mut all = CounterSet::default();
    let mut inputs: Vec<String> = Vec::new();
    for set in sets {
        if !inputs.contains(&set.origin) {
            inputs.push(set.origin.clone());
        }
        all.add(set.clone());
    }
    let name = all.name.clone();
    (Side { inputs, name }, all)
}

impl Comparison {
    /// The figures that conditions may name.
    pub fn figures(&self) -> Vec<Named> {
        let mut figures: Vec<Named> = self.times.as_ref().map(Times::figures).unwrap_or_default();
        let counters = self.counters.as_ref();
        for row in counters.iter().flat_map(|counters| &counters.rows) {
            let mut figure = |suffix: &str, change: &counters::Change, seconds: Option<f64>| {
                let scale = seconds.unwrap_or(1.0);
                let unit = seconds.map_or(conditions::Unit::Number, |_| conditions::Unit::Seconds);
                let name = format!("{}{suffix}", row.name);
                let values = [change.a * scale, change.b * scale];
                figures.push(named(name, unit, values, change.changed));
            };
            figure("", &row.per_work, counters::seconds_of(&row.unit));
            if let Some(change) = &row.per_second {
                figure("/second", change, None);
            }
            if let Some(change) = &row.per_instruction {
                figure("/instruction", change, None);
            }
        }
        for pair in self.recordings.iter().flat_map(|both| &both.series) {
            for delta in pair.figures.iter().chain(&pair.ledger) {
                let (name, values) = (delta.name.to_string(), [delta.a, delta.b]);
                let mut figure = named(name, delta.unit, values, delta.changed);
                figure.cpu = pair.cpu[1];
                // A share of the time, as every other gate has it.
                if let Figure::Gap(cause) = &delta.name {
                    let shares = values.map(|ns_per_second| ns_per_second * 1e-9);
                    let unit = conditions::Unit::Share;
                    let share = named(cause.to_string(), unit, shares, delta.changed);
                    figures.push(Named {
                        cpu: figure.cpu,
                        ..share
                    });
                }
                figures.push(figure);
            }
        }
        figures
    }

    /// Checks conditions, and keeps what came out.
    ///
    /// # Errors
    /// If one names a figure that there is not.
    pub fn check(&mut self, conditions: &[Condition]) -> Result<(), ConditionError> {
        let figures = self.figures();
        for condition in conditions {
            self.conditions.push(condition::check(condition, &figures)?);
        }
        Ok(())
    }

    /// Whether a condition was met, and so the check failed.
    pub fn failed(&self) -> bool {
        self.conditions.iter().any(|checked| checked.met)
    }
}

/// A figure of A and of B.
fn named(name: String, unit: conditions::Unit, [a, b]: [f64; 2], changed: bool) -> Named {
    Named {
        name,
        unit,
        value: Some(b),
        past: Some(Past { value: a, changed }),
        ..Named::default()
    }
}
