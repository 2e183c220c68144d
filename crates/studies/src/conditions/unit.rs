//! Units of figures, and of the values that people write.

use bandscope_report::format;
use serde::Serialize;

/// The unit of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Unit {
    /// None.
    #[default]
    #[serde(rename = "")]
    Number,
    /// Of 1.
    #[serde(rename = "share")]
    Share,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// A number in a second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Nanoseconds in a second.
    #[serde(rename = "ns/s")]
    NsPerSecond,
    /// Nanoseconds for each unit of work.
    #[serde(rename = "ns/unit")]
    NsPerUnit,
}

impl Unit {
    /// A value of this unit, as people read it.
    pub fn written(self, value: f64) -> String {
        match self {
            Unit::Share => format::percent(value),
            Unit::NsPerSecond => format!("{} a second", format::duration(value)),
            Unit::Seconds => format::duration(value * 1e9),
            Unit::PerSecond if value < 10.0 => format!("{value:.1}/s"),
            Unit::PerSecond => format!("{value:.0}/s"),
            Unit::NsPerUnit => format!("{value:.2} ns/unit"),
            Unit::Number => format!("{value}"),
        }
    }
}

/// What a value was written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suffix {
    None,
    Percent,
    /// Percentage points.
    Points,
    /// Percent of whatever the figure is.
    Hundredths,
    Time,
    PerSecond,
    PerUnit,
}

/// As they are written, each with what one of it is in the unit of a figure. Those that end with another one first.
pub(super) const SUFFIXES: [(&str, Suffix, f64); 15] = [
    ("%", Suffix::Percent, 0.01),
    ("pp", Suffix::Points, 0.01),
    ("ns/unit", Suffix::PerUnit, 1.0),
    ("/s", Suffix::PerSecond, 1.0),
    ("per second", Suffix::PerSecond, 1.0),
    ("kHz", Suffix::PerSecond, 1e3),
    ("Hz", Suffix::PerSecond, 1.0),
    ("ns", Suffix::Time, 1e-9),
    ("us", Suffix::Time, 1e-6),
    ("µs", Suffix::Time, 1e-6),
    ("μs", Suffix::Time, 1e-6),
    ("ms", Suffix::Time, 1e-3),
    ("min", Suffix::Time, 60.0),
    ("h", Suffix::Time, 3600.0),
    ("s", Suffix::Time, 1.0),
];

impl Suffix {
    /// What a value written so is multiplied with to be in the unit of a figure; `None` if they do not go together.
    pub(super) fn scale(self, unit: Unit) -> Option<f64> {
        match (self, unit) {
            (Suffix::None | Suffix::Hundredths, _)
            | (Suffix::Percent | Suffix::Points, Unit::Share)
            | (Suffix::Time, Unit::Seconds)
            | (Suffix::PerSecond, Unit::PerSecond)
            | (Suffix::PerUnit, Unit::NsPerUnit) => Some(1.0),
            (Suffix::Percent | Suffix::Points | Suffix::Time, Unit::NsPerSecond)
            | (Suffix::Time, Unit::NsPerUnit) => Some(1e9),
            _ => None,
        }
    }

    /// In a message.
    pub(super) fn name(self) -> &'static str {
        match self {
            Suffix::None => "a number",
            Suffix::Percent | Suffix::Hundredths => "percent",
            Suffix::Points => "percentage points",
            Suffix::Time => "a time",
            Suffix::PerSecond => "a rate",
            Suffix::PerUnit => "a pace",
        }
    }
}
