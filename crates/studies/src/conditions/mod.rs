//! Conditions on figures, for gates: one grammar for `check`, `report`, `compare` and `repeat`.
//!
//! `FIGURE`, then `>`, `>=`, `<` or `<=`, then a value with its unit, then `on cpu N` where one CPU is meant: `lost > 1 %`, `longest gap > 50 us on cpu 1`.
//! A value with a sign is a change: with `%` a share of the baseline's figure, else a difference. `grammar.rs` reads, `outcome.rs` holds a condition against figures,
//! and `figures.rs` takes them from a report. Who names its own figures (`compare`, `repeat`) passes them as [`Figure`]s.

mod catch;
mod figures;
mod grammar;
mod outcome;
mod unit;

pub use catch::{CatchError, trigger};
pub use figures::{
    LINE_OF_PACE, LONGEST_GAP, all_of, figures, is_any_name, is_line, known_to_reports, next_step,
    written,
};
pub use grammar::{Condition, ConditionError};
pub use outcome::Outcome;
pub(crate) use outcome::same;
use serde::Serialize;
pub use unit::Unit;

/// A figure that conditions may name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Its name. May hold the name of a task or of a counter, untrusted.
    pub name: String,
    /// CPU, where it is of one.
    pub cpu: Option<u32>,
    /// Its unit.
    pub unit: Unit,
    /// Its value; `None` where it is not known.
    pub value: Option<f64>,
    /// Of the baseline or of A, where there is one.
    pub past: Option<Past>,
    /// When it happened, in seconds since the start of the recording, where it has a moment.
    pub at_s: Option<f64>,
    /// What it was, as in a ledger, where it is one event that has a name. Untrusted.
    pub by: Option<String>,
}

/// The same figure of the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Past {
    /// Its value.
    pub value: f64,
    /// Whether the difference exceeds its interval.
    pub changed: bool,
}

/// What came of a condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checked {
    /// The condition, as the user wrote it.
    pub condition: String,
    /// Whether it is met, which fails the check.
    pub met: bool,
    /// What was found, in a sentence.
    pub found: String,
    /// The figure, as this program names it; empty where there is none. Untrusted.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub figure: String,
}
