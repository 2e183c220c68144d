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

    /// The same beside a limit that it is not, with as many more digits as tell it from that.
    pub fn written_beside(self, value: f64, limit: f64) -> String {
        let text = self.written(value);
        let of_limit = self.written(limit);
        let (shown, unit) = parted(&text);
        if value == limit || (shown, unit) != parted(&of_limit) {
            return text;
        }
        let factor = match (self, unit.split_whitespace().next()) {
            (Unit::Share, _) => 100.0,
            (Unit::Seconds, Some("ns")) => 1e9,
            (Unit::Seconds, Some("µs")) => 1e6,
            (Unit::Seconds, Some("ms")) => 1e3,
            (Unit::NsPerSecond, Some("µs")) => 1e-3,
            (Unit::NsPerSecond, Some("ms")) => 1e-6,
            (Unit::NsPerSecond, Some("s")) => 1e-9,
            _ => 1.0,
        };
        let digits = |value: f64, decimals: usize| format!("{:.decimals$}", value * factor);
        let is_told = |places: &usize| digits(value, *places) != digits(limit, *places);
        let places = (1..=MAX_DECIMALS).find(is_told);
        places.map_or(text.clone(), |places| digits(value, places) + unit)
    }
}

/// Digits behind the point at most: none counts more.
const MAX_DECIMALS: usize = 9;

/// A number, and the unit behind it.
fn parted(text: &str) -> (Option<f64>, &str) {
    let is_end = |one: char| !(one.is_ascii_digit() || ['.', '-'].contains(&one));
    let (number, unit) = text.split_at(text.find(is_end).unwrap_or(text.len()));
    (number.parse().ok(), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_not_written_as_the_limit_that_it_exceeds() {
        for (unit, value, limit, expected) in [
            (Unit::Share, 0.010_000_4, 0.01, "1.00004 %"),
            (Unit::Share, 0.009_96, 0.01, "0.996 %"),
            (Unit::Share, 0.02, 0.01, "2.0 %"),
            (Unit::Share, 0.000_001, 0.0, "0.0001 %"),
            (Unit::Share, 0.01, 0.01, "1.0 %"),
            (Unit::Seconds, 50.004e-6, 50e-6, "50.004 µs"),
            (Unit::PerSecond, 250.3, 250.0, "250.3/s"),
        ] {
            assert_eq!(unit.written_beside(value, limit), expected);
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
    /// Percent where nothing is a change.
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
            (Suffix::None, _)
            | (Suffix::Percent | Suffix::Points | Suffix::Hundredths, Unit::Share)
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
