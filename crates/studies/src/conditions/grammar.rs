//! How a condition is written.

use super::unit::{SUFFIXES, Suffix};
use bandscope_recording::cpu_list;

/// What a value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// The change, over the baseline's figure.
    Share,
    /// The figure less the baseline's.
    Difference,
    /// The figure itself.
    Itself,
}

/// How figure and value compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    AtLeast,
    AtMost,
    Above,
    Below,
}

impl Comparison {
    pub(super) fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Comparison::AtLeast => a >= b,
            Comparison::AtMost => a <= b,
            Comparison::Above => a > b,
            Comparison::Below => a < b,
        }
    }
}

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub(super) text: String,
    pub(super) figure: String,
    pub(super) cpu: Option<u32>,
    pub(super) comparison: Comparison,
    pub(super) basis: Basis,
    pub(super) value: f64,
    pub(super) suffix: Suffix,
    /// The value, as people read it.
    pub(super) limit: String,
}

/// What is wrong with a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// It does not read.
    #[error(
        "found {0:?}, expected a condition such as \"lost > 1 %\", \"longest gap > 50 us on cpu 1\", \"cycles > +5 %\" or \"finding:throttled\""
    )]
    Unreadable(String),
    /// Percent of what is no share are a change, which has a sign.
    #[error(
        "--fail-if {condition:?}: a percentage needs a sign, as {figure:?} is not a share: write +5 % for a change by 5 %"
    )]
    NoSign {
        /// The condition.
        condition: String,
        /// Its figure.
        figure: String,
    },
    /// Points are a change, which has a sign.
    #[error(
        "found {0} pp without a sign, expected +{0} pp for a change of a share, or {0} % for a share"
    )]
    UnsignedPoints(String),
    /// There is no figure of its name.
    #[error("--fail-if {condition:?}: found no figure {figure:?}, expected {known}")]
    UnknownFigure {
        /// The condition.
        condition: String,
        /// Its figure.
        figure: String,
        /// Those that there are, as the sentence ends.
        known: String,
    },
    /// Its value has the unit of something else.
    #[error("--fail-if {condition:?}: found {found}, expected {expected}, as {figure:?} is one")]
    Unit {
        /// The condition.
        condition: String,
        /// Its figure.
        figure: String,
        /// What its value is.
        found: &'static str,
        /// What its figure is.
        expected: &'static str,
    },
    /// Its figure is a share, and its value has no unit: nobody knows whether 1 is all or a hundredth.
    #[error(
        "--fail-if {condition:?}: found {found} without a unit, expected {expected}, as {figure:?} is a share"
    )]
    BareShare {
        /// The condition.
        condition: String,
        /// Its figure.
        figure: String,
        /// Its value.
        found: String,
        /// What may be meant.
        expected: String,
    },
    /// It asks for a change, and there is nothing to change from.
    #[error(
        "--fail-if {0:?}: found a change, expected --against BASELINE.json, or a value without a sign"
    )]
    NoBaseline(String),
    /// It asks for a change of what the baseline does not know.
    #[error(
        "--fail-if {condition:?}: the baseline has no {figure:?} to change from, expected a value without a sign, or another baseline"
    )]
    NotInBaseline {
        /// The condition.
        condition: String,
        /// Its figure.
        figure: String,
    },
    /// It asks for a CPU that was not measured.
    #[error("--fail-if {condition:?}: found CPU {cpu}, expected a CPU that is measured{}", listed(.measured))]
    NoCpu {
        /// The condition.
        condition: String,
        /// The CPU.
        cpu: u32,
        /// Those that are.
        measured: Vec<u32>,
    },
    /// Its value lies beyond all that its figure can be.
    #[error("--fail-if {condition:?}: found {found}, expected {expected}")]
    Range {
        /// The condition.
        condition: String,
        /// Its value.
        found: String,
        /// What it could be met with.
        expected: &'static str,
    },
    /// The baseline of a CPU has no figure that is compared.
    #[error("--against: the baseline has no figure of {0} to compare; save a new one (--save)")]
    NotJudged(String),
    /// What it asks for was not measured.
    #[error("--fail-if {condition:?}: {figure} is not known{why}")]
    NotMeasured {
        /// The condition.
        condition: String,
        /// Its figure.
        figure: String,
        /// Why, and what to do.
        why: &'static str,
    },
}

/// Where a sentence goes on with CPUs that it asks for.
fn listed(cpus: &[u32]) -> String {
    match cpus {
        [] => String::new(),
        cpus => format!(": {}", cpu_list::written(cpus)),
    }
}

/// What a figure begins with that is there or not, so that it needs no value.
pub(super) const FINDING: &str = "finding:";

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// What was found, and what is expected.
    pub fn parse(text: &str) -> Result<Condition, ConditionError> {
        let wrong = || ConditionError::Unreadable(text.to_owned());
        let (rest, cpu) = on_cpu(text.trim()).ok_or_else(wrong)?;
        let Some(at) = rest.rfind(['<', '>']) else {
            let is_finding = rest.starts_with(FINDING) && rest.len() > FINDING.len();
            return match is_finding {
                true => Ok(Condition::there_is(text, rest, cpu)),
                false => Err(wrong()),
            };
        };
        let (figure, after) = (rest[..at].trim(), &rest[at + 1..]);
        let (value, or_equal) = match after.strip_prefix('=') {
            Some(value) => (value.trim(), true),
            None => (after.trim(), false),
        };
        let comparison = match (rest[at..].starts_with('>'), or_equal) {
            (true, true) => Comparison::AtLeast,
            (true, false) => Comparison::Above,
            (false, true) => Comparison::AtMost,
            (false, false) => Comparison::Below,
        };
        let found = SUFFIXES.iter().find_map(|(end, suffix, scale)| {
            Some((value.strip_suffix(end)?, *end, *suffix, *scale))
        });
        let (number, end, suffix, scale) = found.unwrap_or((value, "", Suffix::None, 1.0));
        let number = number.trim();
        let value: f64 = number.parse().map_err(|_| wrong())?;
        if figure.is_empty() || figure.ends_with(['<', '>', '=']) || !value.is_finite() {
            return Err(wrong());
        }
        let signed = number.starts_with(['+', '-']);
        if suffix == Suffix::Points && !signed {
            return Err(ConditionError::UnsignedPoints(number.into()));
        }
        Ok(Condition {
            text: text.trim().into(),
            figure: figure.into(),
            cpu,
            comparison,
            basis: match (signed, suffix) {
                (true, Suffix::Percent) => Basis::Share,
                (true, _) => Basis::Difference,
                (false, _) => Basis::Itself,
            },
            value: value * scale,
            suffix,
            limit: limit(number, end),
        })
    }

    /// A finding that must not be there.
    fn there_is(text: &str, finding: &str, cpu: Option<u32>) -> Condition {
        Condition {
            text: text.trim().into(),
            figure: finding.into(),
            cpu,
            comparison: Comparison::Above,
            basis: Basis::Itself,
            value: 0.0,
            suffix: Suffix::None,
            limit: "none".into(),
        }
    }

    /// As the user wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The figure that it names.
    pub fn figure(&self) -> &str {
        &self.figure
    }

    /// Whether it is met by more, and not by less.
    pub fn is_upper_bound(&self) -> bool {
        matches!(self.comparison, Comparison::Above | Comparison::AtLeast)
    }

    /// The CPU that it is about; `None` of all.
    pub fn cpu(&self) -> Option<u32> {
        self.cpu
    }

    /// Its value, as people read it.
    pub fn limit(&self) -> &str {
        &self.limit
    }

    /// Whether it is about a change.
    pub fn is_change(&self) -> bool {
        self.basis != Basis::Itself
    }

    /// The same where nothing is a change: a sign is a sign, and percent are of shares only.
    #[must_use]
    pub fn of_itself(mut self) -> Condition {
        self.basis = Basis::Itself;
        if self.suffix == Suffix::Percent {
            self.suffix = Suffix::Hundredths;
        }
        self
    }
}

/// What stands before ` on cpu N`, and the CPU; `None` if something else stands there.
fn on_cpu(text: &str) -> Option<(&str, Option<u32>)> {
    let lower = text.to_ascii_lowercase();
    let Some(at) = lower.rfind(" on cpu") else {
        return Some((text, None));
    };
    let number = text[at + " on cpu".len()..].trim();
    Some((text[..at].trim_end(), Some(number.parse().ok()?)))
}

/// A number with its unit.
fn limit(number: &str, end: &str) -> String {
    match end {
        "" => number.into(),
        "us" | "μs" => format!("{number} µs"),
        "pp" => format!("{number} percentage points"),
        "/s" => format!("{number}/s"),
        end => format!("{number} {end}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_condition() {
        for text in [
            "",
            "cycles",
            ">5",
            "cycles>",
            "cycles>+5us%",
            "cycles>+x%",
            "cycles>nan",
            "cycles>inf",
            "lost > 1 % on cpu x",
            "modes>1>2",
            "finding:",
            "lost = 1 %",
        ] {
            let figure = Condition::parse(text).map(|condition| condition.figure);
            // A name that holds a sign is a figure that nobody knows.
            let figure = figure.unwrap_or_default();
            assert!(
                figure.is_empty() || figure.contains('>'),
                "{text}: {figure}"
            );
        }
    }

    #[test]
    fn units_are_read_as_people_write_them() {
        for (text, value, cpu, limit) in [
            ("lost > 1 %", 0.01, None, "1 %"),
            ("lost>1%", 0.01, None, "1 %"),
            ("lost>0.01", 0.01, None, "0.01"),
            ("longest gap >= 50us on CPU 3", 50e-6, Some(3), "50 µs"),
            ("longest gap > 50 µs", 50e-6, None, "50 µs"),
            ("gaps > 1000/s", 1000.0, None, "1000/s"),
            ("pace > 115 ns/unit", 115.0, None, "115 ns/unit"),
            ("lost > +0.5 pp", 0.005, None, "+0.5 percentage points"),
            ("finding:throttled on cpu 2", 0.0, Some(2), "none"),
        ] {
            let condition = Condition::parse(text).unwrap();
            let found = (condition.value, condition.cpu, &*condition.limit);
            assert!((found.0 - value).abs() < 1e-12, "{text}: {found:?}");
            assert_eq!((found.1, found.2), (cpu, limit), "{text}");
            assert_eq!(condition.text(), text);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_condition_or_none(text in "[a-z<>=+\\-0-9.%us éµ]{0,20}") {
            if let Ok(condition) = Condition::parse(&text) {
                prop_assert!(condition.value.is_finite() && !condition.figure.is_empty());
            }
        }
    }
}
