//! What the manifest says about the clock of a recording.

use super::ranges::{COUNT, OutOfRange, Ranges, TICKS, each, number};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Ticks per nanosecond that a clock may have: 1 MHz to 100 GHz. The slowest counter that architectures allow
/// (the generic timer of Armv8.0 boards, some MHz) and the fastest (the TSC, below 10 GHz) lie well within;
/// beyond it, durations in ticks overflow or round to nothing.
pub const TICKS_PER_NS: std::ops::RangeInclusive<f64> = 0.001..=100.0;

/// Bound of the relative error of a clock, in parts per million: up to all of its rate. Whatever is looked for near a
/// frequency is looked for that far from it.
pub const ERROR_PPM: std::ops::RangeInclusive<f64> = 0.0..=1e6;

/// The clock: an affine map from ticks to nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Clock {
    /// `tsc`, `generic-timer`, `simulated`, or `imported` for files that hold nanoseconds.
    pub name: String,
    /// Ticks per nanosecond, as used for every conversion.
    pub ticks_per_ns: f64,
    /// Bound of the relative error of `ticks_per_ns` against CLOCK_MONOTONIC_RAW, in parts per million;
    /// `None` where it was not calibrated.
    pub error_ppm: Option<f64>,
    /// What calibration found, where `--ticks-per-ns` overrode it.
    pub measured_ticks_per_ns: Option<f64>,
    /// Where `ticks_per_ns` comes from.
    pub origin: ClockOrigin,
    /// Sandwiched readings: tick since the origin, nanoseconds of CLOCK_MONOTONIC_RAW since the first
    /// reading, half width of the sandwich in nanoseconds. At most a few hundred, over the whole run.
    pub readings: Vec<ClockReading>,
    /// Whether the CPU declares the clock invariant (constant rate, runs in idle states).
    pub invariant: Option<bool>,
    /// Raw value of the hardware counter at tick 0 of the recording.
    pub origin_ticks: u64,
    /// CLOCK_REALTIME at tick 0, in nanoseconds since 1970, to a millisecond or so.
    pub origin_unix_ns: i64,
    /// Cost of one read in ticks (median): plain and ordered.
    pub read_ticks: BTreeMap<String, f64>,
}

impl Ranges for Clock {
    fn check(&self) -> Result<(), OutOfRange> {
        number("ticks_per_ns", self.ticks_per_ns, &TICKS_PER_NS)?;
        number("error_ppm", self.error_ppm, &ERROR_PPM)?;
        number(
            "measured_ticks_per_ns",
            self.measured_ticks_per_ns,
            &TICKS_PER_NS,
        )?;
        each("readings", &self.readings)?;
        for (read, ticks) in &self.read_ticks {
            number(
                &format!("read_ticks.{}", read.escape_debug()),
                *ticks,
                &TICKS,
            )?;
        }
        Ok(())
    }
}

impl Clock {
    /// Nanoseconds in `ticks`.
    pub fn ns(&self, ticks: f64) -> f64 {
        ticks / self.ticks_per_ns
    }

    /// A clock of nanoseconds, for imported files.
    pub fn imported() -> Clock {
        Clock {
            name: "imported".into(),
            ticks_per_ns: 1.0,
            origin: ClockOrigin::Imported,
            ..Clock::default()
        }
    }
}

/// Where the scale of a clock comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockOrigin {
    /// Measured against CLOCK_MONOTONIC_RAW.
    Calibrated,
    /// `--ticks-per-ns`: the user knew better than the calibration.
    Given,
    /// A file that holds nanoseconds: no machine of which anything is known.
    Imported,
    /// The simulated machine's own.
    Simulated,
    /// Nothing says, or a later version's word.
    #[default]
    #[serde(rename = "", other)]
    Unknown,
}

/// One sandwiched reading of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockReading {
    /// Ticks since the recording's origin, in the middle of the sandwich.
    pub ticks: i64,
    /// CLOCK_MONOTONIC_RAW in nanoseconds since the first reading.
    pub raw_ns: u64,
    /// Half width of the sandwich in ticks: the reading's error bound.
    pub half_width_ticks: u64,
}

impl Ranges for ClockReading {
    fn check(&self) -> Result<(), OutOfRange> {
        number("raw_ns", self.raw_ns, &COUNT)?;
        number("half_width_ticks", self.half_width_ticks, &COUNT)
    }
}
