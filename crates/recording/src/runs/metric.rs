//! What runs are compared by.

use super::Run;
use serde::{Deserialize, Serialize};

/// What runs are compared by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Metric {
    /// `wall`, `user`, `system`, `cycles`, or the regular expression that finds it in the output. Untrusted.
    pub name: String,
    /// `s`, `cycles`, or empty where only the command knows.
    pub unit: String,
    /// Whether more is better, as of a rate.
    pub higher_is_better: bool,
    /// The last digit of the values, in their unit: what lies closer together cannot be told apart.
    pub resolution: f64,
}

/// What bandscope measures of each run by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// From before the process was made to when its end was seen.
    Wall,
    /// CPU time in user mode.
    User,
    /// CPU time in the operating system.
    System,
    /// Cycles of the CPU, where they can be counted.
    Cycles,
}

impl Measured {
    fn named(name: &str) -> Option<Measured> {
        match name {
            "wall" => Some(Measured::Wall),
            "user" => Some(Measured::User),
            "system" => Some(Measured::System),
            "cycles" => Some(Measured::Cycles),
            _ => None,
        }
    }
}

impl Metric {
    /// One that bandscope measures itself; `None` if it does not know the name.
    pub fn measured(name: &str) -> Option<Metric> {
        Measured::named(name).map(Metric::own_of)
    }

    /// One that bandscope measures itself.
    pub fn own_of(measured: Measured) -> Metric {
        let (name, unit, resolution) = match measured {
            Measured::Wall => ("wall", "s", 1e-9),
            // getrusage(2) tells microseconds.
            Measured::User => ("user", "s", 1e-6),
            Measured::System => ("system", "s", 1e-6),
            Measured::Cycles => ("cycles", "cycles", 1.0),
        };
        Metric {
            name: name.to_owned(),
            unit: unit.to_owned(),
            higher_is_better: false,
            resolution,
        }
    }

    /// Which of those that bandscope measures itself; `None` if it must be found in the output.
    pub fn own(&self) -> Option<Measured> {
        Measured::named(&self.name)
    }

    /// Its value in a run that succeeded; `None` if it must be found in the output.
    pub fn of(&self, run: &Run) -> Option<f64> {
        match self.own()? {
            Measured::Wall => Some(run.wall_s),
            Measured::User => Some(run.user_s),
            Measured::System => Some(run.system_s),
            Measured::Cycles => run.counter("cycles"),
        }
    }
}

/// The worth of the last digit of a number as it is printed: `0.01` for `3.20`, `10` for `1.5e2`.
pub fn last_digit(text: &str) -> f64 {
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len());
    let exponent: i32 = exponent.parse().unwrap_or(0);
    10f64.powi(exponent - decimals as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digit_is_what_was_printed() {
        for (text, worth) in [("3.20", 0.01), ("17", 1.0), ("1.5e2", 10.0), ("-2.5", 0.1)] {
            assert!((last_digit(text) / worth - 1.0).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn what_is_measured_has_a_unit() {
        let run = Run {
            wall_s: 0.5,
            ..Run::default()
        };
        let wall = Metric::measured("wall").unwrap();
        assert_eq!((wall.of(&run), &*wall.unit), (Some(0.5), "s"));
        let cycles = Metric::measured("cycles").unwrap();
        assert_eq!(cycles.of(&run), None);
        assert_eq!(Metric::measured("MB/s"), None);
    }
}
