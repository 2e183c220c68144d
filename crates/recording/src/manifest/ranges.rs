//! The ranges of the numbers in a manifest. Anybody can edit the file, and what is computed from a number out of its
//! range takes hours or all memory, so a reader refuses it by name. Each range stands beside its field.

use crate::order::MAX_TICKS;
use std::fmt::{Display, LowerExp};
use std::ops::RangeInclusive;

/// A number of events, nanoseconds or ticks that adds up with others of its kind.
pub const COUNT: RangeInclusive<u64> = 0..=MAX_TICKS;
/// A duration in seconds: up to 30 years.
pub const SECONDS: RangeInclusive<f64> = 0.0..=1e9;
/// A duration in ticks: up to three hours of the fastest clock.
pub const TICKS: RangeInclusive<f64> = 0.0..=1e15;
/// A rate in hertz: what the slowest and the fastest clock can measure at.
pub const RATE_HZ: RangeInclusive<f64> = 1e-4..=1e11;
/// A ratio or a share that may exceed 1.
pub const RATIO: RangeInclusive<f64> = 0.0..=1e6;

/// A number out of its range.
#[derive(Debug)]
pub struct OutOfRange {
    /// Path of the field, as in `kernels[0].operations`.
    pub field: String,
    /// What stands there.
    pub found: String,
    /// The range.
    pub expected: String,
}

/// A part of a manifest that holds numbers.
pub trait Ranges {
    /// Compares each number with its range.
    ///
    /// # Errors
    /// The first that lies outside.
    fn check(&self) -> Result<(), OutOfRange>;
}

impl OutOfRange {
    fn within(mut self, field: &str) -> OutOfRange {
        self.field = format!("{field}.{}", self.field);
        self
    }
}

/// Checks the number in `field`, where there is one. A NaN lies in no range.
pub fn number<N>(
    field: &str,
    value: impl Into<Option<N>>,
    range: &RangeInclusive<N>,
) -> Result<(), OutOfRange>
where
    N: PartialOrd + Display + LowerExp,
{
    match value.into() {
        Some(value) if !range.contains(&value) => Err(OutOfRange {
            field: field.into(),
            found: shown(&value),
            expected: format!("{} to {}", shown(range.start()), shown(range.end())),
        }),
        _ => Ok(()),
    }
}

/// Checks the numbers of the list in `field`.
pub fn numbers<N>(field: &str, values: &[N], range: &RangeInclusive<N>) -> Result<(), OutOfRange>
where
    N: PartialOrd + Display + LowerExp + Copy,
{
    let mut places = values.iter().enumerate();
    places.try_for_each(|(place, &value)| number(&format!("{field}[{place}]"), value, range))
}

/// Checks what stands in `field`.
pub fn inside(field: &str, value: &impl Ranges) -> Result<(), OutOfRange> {
    value.check().map_err(|wrong| wrong.within(field))
}

/// Checks each entry of the list in `field`.
pub fn each(field: &str, values: &[impl Ranges]) -> Result<(), OutOfRange> {
    let mut places = values.iter().enumerate();
    places.try_for_each(|(place, value)| {
        let within = |wrong: OutOfRange| wrong.within(&format!("{field}[{place}]"));
        value.check().map_err(within)
    })
}

/// In as few characters as `1e300` has, not in 301.
fn shown<N: Display + LowerExp>(value: &N) -> String {
    let plain = value.to_string();
    if plain.len() <= 20 {
        plain
    } else {
        format!("{value:e}")
    }
}

#[cfg(test)]
mod tests;
