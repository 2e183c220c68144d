//! What the manifest says about work kernels and counters.

use super::ranges::{COUNT, OutOfRange, RATIO, Ranges, TICKS, number, numbers};
use serde::{Deserialize, Serialize};

/// A work kernel and what its self-test said on this CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kernel {
    /// Name, as given to `--kernel`.
    pub name: String,
    /// One line: what a unit does.
    pub description: String,
    /// Hash of the machine code of a unit, as `fnv1a64:HEX`.
    pub hash: String,
    /// Operations in one unit.
    pub operations: u32,
    /// A unit that takes longer than this many ticks is a gap.
    pub gap_threshold_ticks: u64,
    /// The best pace that the self-test saw, in ticks per unit with the clock read that ends it: the
    /// absolute baseline. `None` if no undisturbed stretch was seen.
    pub best_ticks_per_unit: Option<f64>,
    /// Relative spread of the pace over 64 placements, (max - min) / min; `None` if not measured.
    pub placement_spread: Option<f64>,
    /// Whether that spread is below 0.5 %.
    pub invariant: Option<bool>,
    /// Cost of a quantum's boundary in ticks (median): the excess over the pace around it of the first
    /// unit, which holds the store, and of the last, which ends with an ordered read.
    pub boundary_ticks: Option<f64>,
    /// How much earlier than its work a clock read inside a quantum comes, in ticks (median): reading the clock in order, as after each gap,
    /// waits for that work, so each gap takes so much of the time of the units before it. `None` if not measured.
    pub read_ahead_ticks: Option<f64>,
    /// Fractions of a unit that its structure declares, for `sub-loop-mixture`; empty for most.
    pub fractions: Vec<f64>,
    /// Whether a unit is a chain of operations between registers and nothing else: then its pace is the clock frequency's, and
    /// what slows another work kernel in the same run more than this one is no frequency.
    pub registers_only: bool,
    /// Whether it fills the core with independent operations on registers: what shares the core slows it, and leaves a chain alone.
    pub throughput: bool,
    /// Of a tripwire: time of an operation in the rest of a unit that was interrupted, over that before; below 1 where it goes faster. `None` of
    /// other work kernels.
    pub pace_after_interruption: Option<f64>,
}

impl Ranges for Kernel {
    fn check(&self) -> Result<(), OutOfRange> {
        number("gap_threshold_ticks", self.gap_threshold_ticks, &COUNT)?;
        number("best_ticks_per_unit", self.best_ticks_per_unit, &TICKS)?;
        number("placement_spread", self.placement_spread, &RATIO)?;
        // Differences of two medians, which noise may turn.
        let difference = -TICKS.end()..=*TICKS.end();
        number("boundary_ticks", self.boundary_ticks, &difference)?;
        number("read_ahead_ticks", self.read_ahead_ticks, &difference)?;
        numbers("fractions", &self.fractions, &(0.0..=1.0))?;
        number(
            "pace_after_interruption",
            self.pace_after_interruption,
            &RATIO,
        )
    }
}

/// A counter that was believed and read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counter {
    /// Name from the event list, as in `cycles` or `context-switches`.
    pub name: String,
    /// `rdpmc` or `read`.
    pub method: String,
    /// Cost of reading it after a gap, in ticks (median).
    pub read_ticks: f64,
}

impl Ranges for Counter {
    fn check(&self) -> Result<(), OutOfRange> {
        number("read_ticks", self.read_ticks, &TICKS)
    }
}
