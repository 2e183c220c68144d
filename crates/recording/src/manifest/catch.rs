//! A flight recorder: what it catches, and what it saw of the time that it did not keep.

use super::ranges::{COUNT, OutOfRange, Ranges, SECONDS, number};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A share of something.
const SHARE: std::ops::RangeInclusive<f64> = 0.0..=1.0;

/// A condition on gaps. Either `longer_than_s`, or both `window_s` and `less_than`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Trigger {
    /// As the user wrote it: `gap:task:* > 100 us on cpu 1`.
    pub text: String,
    /// Whose part of a gap counts, as in a ledger, with a `*` at the end for all of a family; empty for all of them. Untrusted.
    pub cause: String,
    /// Whose parts of a gap do not count, likewise. Untrusted.
    pub except: Vec<String>,
    /// The CPU that is meant; `None` of all that are measured.
    pub cpu: Option<u32>,
    /// A gap, or that part of it, is caught if it is longer, in seconds.
    pub longer_than_s: Option<f64>,
    /// A stretch of so many seconds is caught if gaps leave less than `less_than` of it.
    pub window_s: Option<f64>,
    /// Share of the stretch.
    pub less_than: Option<f64>,
}

impl Trigger {
    /// Whether it is about what a gap was.
    pub fn asks_who(&self) -> bool {
        !self.cause.is_empty() || !self.except.is_empty()
    }

    /// Length of the stretches that it is about, in seconds; `None` if it is about gaps.
    pub fn stretch_s(&self) -> Option<f64> {
        self.window_s.filter(|_| self.longer_than_s.is_none())
    }
}

impl Ranges for Trigger {
    fn check(&self) -> Result<(), OutOfRange> {
        number("longer_than_s", self.longer_than_s, &SECONDS)?;
        number("window_s", self.window_s, &SECONDS)?;
        number("less_than", self.less_than, &SHARE)
    }
}

/// What a flight recorder was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Catch {
    /// What is caught, if any of them is met; empty where everything is kept.
    pub conditions: Vec<Trigger>,
    /// What ends the run.
    pub stop_if: Vec<Trigger>,
    /// What is kept before and after each, in seconds.
    pub around_s: f64,
}

impl Catch {
    /// Whether only what was caught is kept.
    pub fn keeps_moments(&self) -> bool {
        !self.conditions.is_empty()
    }
}

impl Ranges for Catch {
    fn check(&self) -> Result<(), OutOfRange> {
        super::each("conditions", &self.conditions)?;
        super::each("stop_if", &self.stop_if)?;
        number("around_s", self.around_s, &SECONDS)
    }
}

/// What a flight recorder saw of one CPU, kept or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Watched {
    /// The CPU.
    pub cpu: u32,
    /// Wall time of its quanta, in ticks.
    pub wall_ticks: u64,
    /// Gaps, and their time.
    pub gaps: u64,
    /// Their time, in ticks.
    pub gap_ticks: u64,
    /// The longest.
    pub longest_ticks: u64,
    /// What took most of it, as in a ledger; empty where nobody knows, and in older recordings. Untrusted.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub longest_cause: String,
    /// Conditions, as the user wrote them, whose cause had a part in no gap that was long enough; absent where each had, and in older recordings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// How often a condition was met. Stretches that overlap count once.
    pub met: u64,
    /// The same by main cause, as a ledger names it, a kernel worker without its number; `task:*` and the like for what came up after 64 causes, and empty
    /// where nobody knows. Absent in older recordings. Untrusted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub met_by: BTreeMap<String, u64>,
    /// How many of those were kept: each that was among the hundred longest when it came, or among the eight longest of its main cause.
    pub kept: u64,
}

impl Ranges for Watched {
    fn check(&self) -> Result<(), OutOfRange> {
        number("wall_ticks", self.wall_ticks, &COUNT)?;
        number("gaps", self.gaps, &COUNT)?;
        number("gap_ticks", self.gap_ticks, &COUNT)?;
        number("longest_ticks", self.longest_ticks, &COUNT)?;
        number("met", self.met, &COUNT)?;
        for (cause, met) in &self.met_by {
            number(&format!("met_by.{cause}"), *met, &COUNT)?;
        }
        number("kept", self.kept, &COUNT)
    }
}
