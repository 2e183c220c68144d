//! Conditions on a comparison, for gates: `cycles>+5%`, `fraction<-0.01`, `longest-gap>50us`.
//!
//! `FIGURE < VALUE` or `FIGURE > VALUE`. A value with a sign and `%` is the change of B against A as a share of A, one with a sign the difference of B and A, and one
//! without the figure of B itself. A change is one only where the comparison calls it so: what its interval does not tell from none never fails a gate.

use super::Measure;
use serde::Serialize;

/// What a value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Basis {
    /// B less A, over A.
    Share,
    /// B less A.
    Difference,
    /// B.
    Itself,
}

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// As the user wrote it.
    text: String,
    figure: String,
    above: bool,
    of: Basis,
    value: f64,
    /// Whether the value has a unit of time, and so is in seconds.
    seconds: bool,
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
}

/// What is wrong with a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// It does not read.
    #[error(
        "found {0:?}, expected a condition such as \"cycles>+5%\", \"fraction<-0.01\" or \"longest-gap>50us\""
    )]
    Unreadable(String),
    /// Percent are a change, which has a sign.
    #[error("{}; a percentage needs a sign, as it is relative to A", ConditionError::Unreadable(.0.clone()))]
    NoSign(String),
    /// There is no figure of its name.
    #[error(
        "--fail-if {condition:?}: found no figure {figure:?}, expected one of both sides{known}"
    )]
    UnknownFigure {
        /// The condition.
        condition: String,
        /// Its figure.
        figure: String,
        /// Some of those that there are, as the sentence ends.
        known: String,
    },
    /// Its figure is no time, and its value is one.
    #[error(
        "--fail-if {condition:?}: found a time, expected a number, as {figure:?} is not a time"
    )]
    NoTime {
        /// The condition.
        condition: String,
        /// Its figure.
        figure: String,
    },
}

/// Units of values; `%` apart.
const UNITS: [(&str, f64); 4] = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// What was found, and what is expected.
    pub fn parse(text: &str) -> Result<Condition, ConditionError> {
        let wrong = || ConditionError::Unreadable(text.to_owned());
        let at = text.rfind(['<', '>']).ok_or_else(wrong)?;
        let (figure, value) = (text[..at].trim(), text[at + 1..].trim());
        let signed = value.starts_with(['+', '-']);
        let (number, of) = match value.strip_suffix('%') {
            Some(number) if signed => (number, Basis::Share),
            Some(_) => return Err(ConditionError::NoSign(text.to_owned())),
            None if signed => (value, Basis::Difference),
            None => (value, Basis::Itself),
        };
        let unit = UNITS
            .into_iter()
            .find_map(|(unit, scale)| Some((number.strip_suffix(unit)?, scale)));
        let (number, scale) = unit.unwrap_or((number, 1.0));
        let value: f64 = number
            .trim()
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
            .ok_or_else(wrong)?;
        if figure.is_empty() || (of == Basis::Share && unit.is_some()) {
            return Err(wrong());
        }
        Ok(Condition {
            text: text.trim().into(),
            figure: figure.into(),
            above: text[at..].starts_with('>'),
            of,
            value: if of == Basis::Share {
                value / 100.0
            } else {
                value * scale
            },
            seconds: unit.is_some(),
        })
    }

    /// Whether it is met by any of the figures of its name: series have one each.
    ///
    /// # Errors
    /// If no measure has its name, or another unit.
    pub(super) fn check(&self, measures: &[Measure]) -> Result<Checked, ConditionError> {
        let mut first = None;
        for measure in measures
            .iter()
            .filter(|measure| measure.name == self.figure)
        {
            let checked = self.check_one(measure)?;
            if checked.met {
                return Ok(checked);
            }
            first.get_or_insert(checked);
        }
        first.ok_or_else(|| self.unknown(measures))
    }

    fn unknown(&self, measures: &[Measure]) -> ConditionError {
        let mut names: Vec<&str> = measures
            .iter()
            .map(|measure| &*measure.name)
            .filter(|name| !name.contains('/'))
            .collect();
        // Lines of a ledger, of which there are many, last.
        names.sort_unstable_by_key(|name| (name.contains(':'), *name));
        names.dedup();
        names.truncate(12);
        let known = match names.is_empty() {
            true => ", but both have no figure in common".into(),
            false => format!(", such as {}", names.join(", ")),
        };
        ConditionError::UnknownFigure {
            condition: self.text.clone(),
            figure: self.figure.clone(),
            known,
        }
    }

    fn check_one(&self, measure: &Measure) -> Result<Checked, ConditionError> {
        if self.seconds && !measure.seconds {
            return Err(ConditionError::NoTime {
                condition: self.text.clone(),
                figure: self.figure.clone(),
            });
        }
        let value = match self.of {
            Basis::Itself => measure.b,
            Basis::Difference => measure.b - measure.a,
            Basis::Share if measure.a == 0.0 => match measure.b > 0.0 {
                true => f64::INFINITY,
                false => 0.0,
            },
            Basis::Share => (measure.b - measure.a) / measure.a,
        };
        let beyond = match self.above {
            true => value > self.value,
            false => value < self.value,
        };
        let met = beyond && (self.of == Basis::Itself || measure.changed);
        let mut found = format!(
            "{} is {} in B and {} in A",
            measure.name,
            number(measure.b),
            number(measure.a)
        );
        if self.of == Basis::Share && measure.a > 0.0 {
            found += &format!(", {:+.2} %", 100.0 * value);
        }
        if beyond && !met {
            found += ", which is within its scatter";
        }
        Ok(Checked {
            condition: self.text.clone(),
            met,
            found,
        })
    }
}

fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if (1e-4..1e7).contains(&size) => format!("{}", (value * 1e6).round() / 1e6),
        _ => format!("{value:.4e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn measures() -> Vec<Measure> {
        let measure = |name: &str, seconds, a, b, changed| Measure {
            name: name.into(),
            seconds,
            a,
            b,
            changed,
        };
        vec![
            measure("cycles", false, 1e9, 1.1e9, true),
            measure("misses", false, 10.0, 20.0, false),
            measure("fraction", false, 0.99, 0.95, true),
            measure("longest-gap", true, 40e-6, 60e-6, false),
            measure("irqs", false, 0.0, 9.0, true),
        ]
    }

    fn met(text: &str) -> bool {
        Condition::parse(text)
            .unwrap()
            .check(&measures())
            .unwrap()
            .met
    }

    #[test]
    fn what_conditions_hold() {
        assert!(met("cycles>+5%") && !met("cycles > +20%") && !met("cycles<-5%"));
        assert!(met("fraction<-0.01") && !met("fraction<-0.05"));
        assert!(met("longest-gap>50us") && met("longest-gap>0.00005") && !met("longest-gap>1ms"));
        assert!(met("irqs>+20%") && met("cycles>1e9"));
        // Twice as many, and no more than they scatter by.
        assert!(!met("misses>+20%") && met("misses>15"));
        let found = Condition::parse("misses>+20%")
            .unwrap()
            .check(&measures())
            .unwrap()
            .found;
        assert_eq!(
            found,
            "misses is 20 in B and 10 in A, +100.00 %, which is within its scatter"
        );
    }

    #[test]
    fn what_is_no_condition() {
        for text in [
            "",
            "cycles",
            ">5",
            "cycles>",
            "cycles>5%",
            "cycles>+5us%",
            "cycles>+x%",
            "cycles>nan",
            "cycles>inf",
        ] {
            assert!(Condition::parse(text).is_err(), "{text}");
        }
        for (text, expected) in [
            (
                "nothing>5",
                "found no figure \"nothing\", expected one of both sides, such as cycles, fraction, irqs",
            ),
            ("cycles>5us", "found a time"),
        ] {
            let error = Condition::parse(text)
                .unwrap()
                .check(&measures())
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_condition_or_none(text in "[a-z<>+\\-0-9.%us é]{0,16}") {
            if let Ok(condition) = Condition::parse(&text) {
                prop_assert!(condition.value.is_finite() && !condition.figure.is_empty());
            }
        }
    }
}
