//! A condition against figures.

use super::grammar::{Basis, Comparison, Condition, ConditionError};
use super::unit::{Suffix, Unit};
use super::{Checked, Figure};
use std::collections::BTreeSet;

/// The longest run, in seconds.
const LONGEST_S: f64 = 366.0 * 86_400.0;

/// What came of a condition on one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<'a> {
    /// The figure.
    pub figure: &'a Figure,
    /// Whether the condition is met, which fails the check.
    pub met: bool,
    /// Whether the value lies beyond the limit, within its scatter or not.
    pub beyond: bool,
    /// The change over the baseline's figure, where the condition is about that.
    pub share: Option<f64>,
    /// What the figure itself may be: of a change, from the baseline's on.
    pub limit: f64,
}

impl Condition {
    /// What comes of it on each figure of its name and CPU: series have one each. Without a value there is nothing to meet.
    ///
    /// # Errors
    /// If there is no figure of its name, or its value has the unit of something else.
    pub fn hold<'a>(&self, figures: &'a [Figure]) -> Result<Vec<Outcome<'a>>, ConditionError> {
        let named: Vec<&Figure> = figures
            .iter()
            .filter(|figure| same(&figure.name, &self.figure))
            .collect();
        if named.is_empty() {
            return Err(self.unknown(&names(figures, &self.figure)));
        }
        let measured: BTreeSet<u32> = named.iter().filter_map(|figure| figure.cpu).collect();
        // A ledger has a pace, too, a time per second; a pace of units is meant where there is one.
        let of_units = named.iter().any(|one| one.unit == Unit::NsPerUnit);
        let is_meant = |one: &&Figure| !of_units || one.unit == Unit::NsPerUnit;
        let named = named.into_iter().filter(is_meant);
        let on_cpu: Vec<&Figure> = named
            .filter(|figure| self.cpu.is_none() || self.cpu == figure.cpu)
            .collect();
        match (on_cpu.is_empty(), self.cpu) {
            (true, Some(cpu)) => Err(self.no_cpu(cpu, measured.into_iter().collect())),
            _ => on_cpu.into_iter().map(|one| self.hold_one(one)).collect(),
        }
    }

    /// Whether it is about this figure of this CPU.
    pub fn is_about(&self, figure: &str, cpu: Option<u32>) -> bool {
        same(figure, &self.figure) && (self.cpu.is_none() || self.cpu == cpu)
    }

    /// Refuses one on a CPU that is not among these.
    ///
    /// # Errors
    /// If it names another.
    pub fn is_measured(&self, cpus: &[u32]) -> Result<(), ConditionError> {
        match self.cpu.filter(|cpu| !cpus.contains(cpu)) {
            None => Ok(()),
            Some(cpu) => Err(self.no_cpu(cpu, cpus.to_vec())),
        }
    }

    /// Whether each CPU must pass.
    pub fn is_of_every_cpu(&self) -> bool {
        self.cpu.is_none()
    }

    fn no_cpu(&self, cpu: u32, measured: Vec<u32>) -> ConditionError {
        ConditionError::NoCpu {
            condition: self.text.clone(),
            cpu,
            measured,
        }
    }

    /// Refuses a limit that no figure of this unit reaches.
    ///
    /// # Errors
    /// If it is a share beyond all or less than nothing, a time beyond that of the longest run, or the value has the unit of something else.
    pub fn is_in_range(&self, unit: Unit) -> Result<(), ConditionError> {
        let value = self.value * self.scale(unit)?;
        let most = match unit {
            Unit::Share => 1.0,
            Unit::Seconds => LONGEST_S,
            _ => f64::INFINITY,
        };
        let expected = match (self.comparison, unit) {
            (Comparison::Below, _) if value <= 0.0 => "more than 0",
            (Comparison::Above, Unit::Share) if value >= most => "less than 100 %",
            (_, Unit::Share) if value > most => "100 % at most",
            _ if value > most => "366 days at most",
            _ => return Ok(()),
        };
        match self.basis {
            Basis::Itself => Err(ConditionError::Range {
                condition: self.text.clone(),
                found: self.limit.clone(),
                expected,
            }),
            Basis::Share | Basis::Difference => Ok(()),
        }
    }

    fn hold_one<'a>(&self, figure: &'a Figure) -> Result<Outcome<'a>, ConditionError> {
        let limit = self.value * self.scale(figure.unit)?;
        if self.is_change() && figure.past.is_none() {
            return Err(ConditionError::NoBaseline(self.text.clone()));
        }
        let past = figure.past.unwrap_or_default();
        let value = figure.value.map(|value| match self.basis {
            Basis::Itself => value,
            Basis::Difference => value - past.value,
            Basis::Share if past.value == 0.0 && value > 0.0 => f64::INFINITY,
            Basis::Share if past.value == 0.0 => 0.0,
            Basis::Share => (value - past.value) / past.value,
        });
        let beyond = value.is_some_and(|value| self.comparison.holds(value, limit));
        Ok(Outcome {
            figure,
            met: beyond && (!self.is_change() || past.changed),
            beyond,
            share: value.filter(|_| self.basis == Basis::Share),
            limit: match self.basis {
                Basis::Itself => limit,
                Basis::Difference => past.value + limit,
                Basis::Share => past.value * (1.0 + limit),
            },
        })
    }

    /// What its value is multiplied with, to be in the unit of a figure.
    ///
    /// # Errors
    /// If its value has the unit of something else.
    pub fn scale(&self, unit: Unit) -> Result<f64, ConditionError> {
        if self.is_bare_share(unit) {
            return Err(self.bare_share());
        }
        let relative = self.basis == Basis::Share;
        let scale = match relative {
            true => Some(1.0),
            false => self.suffix.scale(unit),
        };
        scale.ok_or_else(|| match self.suffix {
            Suffix::Percent => ConditionError::NoSign {
                condition: self.text.clone(),
                figure: self.figure.clone(),
            },
            found => ConditionError::Unit {
                condition: self.text.clone(),
                figure: self.figure.clone(),
                found: found.name(),
                expected: match unit {
                    Unit::Number => Suffix::None.name(),
                    Unit::Share => "a share such as 1 %",
                    Unit::Seconds | Unit::NsPerSecond => Suffix::Time.name(),
                    Unit::PerSecond => "a rate such as 100/s",
                    Unit::NsPerUnit => "a pace such as 115 ns",
                },
            },
        })
    }

    /// Whether its value is a bare number, and the figure a share. Only 0 is clear.
    fn is_bare_share(&self, unit: Unit) -> bool {
        let is_share = matches!(unit, Unit::Share | Unit::NsPerSecond);
        is_share && self.suffix == Suffix::None && self.value != 0.0
    }

    fn bare_share(&self) -> ConditionError {
        let unit = match self.basis {
            Basis::Difference => "pp",
            Basis::Itself | Basis::Share => "%",
        };
        let sign = if self.limit.starts_with('+') { "+" } else { "" };
        // No more digits than a person writes.
        let hundredths = (self.value * 1e8).round() / 1e6;
        ConditionError::BareShare {
            condition: self.text.clone(),
            figure: self.figure.clone(),
            found: self.limit.clone(),
            expected: match self.value.abs() <= 1.0 {
                true => format!("{} {unit} or {sign}{hundredths} {unit}", self.limit),
                false => format!("{} {unit}", self.limit),
            },
        }
    }

    /// That there is no figure of its name; `known` are those that there are.
    pub fn unknown(&self, known: &[&str]) -> ConditionError {
        ConditionError::UnknownFigure {
            condition: self.text.clone(),
            figure: self.figure.clone(),
            known: match known.is_empty() {
                true => "one that both sides have, but they have none in common".into(),
                false => format!("one of {}", known.join(", ")),
            },
        }
    }

    /// With what was found, in a sentence.
    pub fn checked(&self, met: bool, found: String) -> Checked {
        Checked {
            condition: self.text.clone(),
            met,
            found,
            ..Checked::default()
        }
    }
}

/// Names of figures in a message, at most.
const MAX_NAMES: usize = 24;

/// Names of figures, each once: those of the family that was asked for first, and lines of a ledger, of which there are many, last.
fn names<'a>(figures: &'a [Figure], asked: &str) -> Vec<&'a str> {
    let family = |name: &str| name.split_once(':').map(|(family, _)| family.to_owned());
    let asked = family(asked);
    let is_other = |name: &str| asked.is_none() || family(name) != asked;
    let mut names: Vec<&str> = figures
        .iter()
        .map(|figure| &*figure.name)
        .filter(|name| !name.contains('/'))
        .collect();
    names.sort_unstable_by_key(|name| (is_other(name), name.contains(':'), *name));
    names.dedup();
    names.truncate(MAX_NAMES);
    names
}

/// Whether two names of figures are the same to people: blanks, hyphens and underscores are, but not in names of tasks and the like.
pub(crate) fn same(a: &str, b: &str) -> bool {
    let plain = |name: &str| -> String {
        let kept = name.chars().filter(|one| ![' ', '-', '_'].contains(one));
        kept.collect::<String>().to_ascii_lowercase()
    };
    a == b || (!a.contains(':') && !b.contains(':') && plain(a) == plain(b))
}

#[cfg(test)]
mod tests {
    use super::super::Past;
    use super::*;

    fn figure(name: &str, unit: Unit, value: f64) -> Figure {
        Figure {
            name: name.into(),
            unit,
            value: Some(value),
            ..Figure::default()
        }
    }

    fn met(text: &str, figures: &[Figure]) -> Result<bool, ConditionError> {
        let outcomes = Condition::parse(text)?.hold(figures)?;
        Ok(outcomes.iter().any(|one| one.met))
    }

    #[test]
    fn an_unknown_name_lists_its_own_family_first() {
        let named = |name: &str| figure(name, Unit::Share, 0.0);
        let figures = ["lost", "gap: tick", "task:b", "irq:x", "task:a"].map(named);
        let listed = |text: &str| match met(text, &figures) {
            Err(ConditionError::UnknownFigure { known, .. }) => known,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            listed("task:c > 1 %"),
            "one of task:a, task:b, lost, gap: tick, irq:x"
        );
        assert_eq!(
            listed("pace > 1 %"),
            "one of lost, gap: tick, irq:x, task:a, task:b"
        );
    }

    #[test]
    fn values_have_the_unit_of_their_figure() {
        let figures = [
            figure("lost", Unit::Share, 0.02),
            figure("longest gap", Unit::Seconds, 60e-6),
            figure("gaps", Unit::PerSecond, 250.0),
            figure("pace", Unit::NsPerUnit, 113.5),
        ];
        for text in [
            "lost > 1 %",
            "lost>=2%",
            "lost > 0",
            "longest-gap > 50 us",
            "Longest gap>0.00005",
            "gaps > 200/s",
            "gaps > 0.2 kHz",
            "pace > 113 ns",
            "pace > 113 ns/unit",
        ] {
            assert_eq!(met(text, &figures), Ok(true), "{text}");
        }
        assert_eq!(met("lost < 1 %", &figures), Ok(false));
        for (text, expected) in [
            (
                "lost > 5",
                "found 5 without a unit, expected 5 %, as \"lost\" is a share",
            ),
            ("lost > 1", "expected 1 % or 100 %, as"),
            ("lost > 0.07", "expected 0.07 % or 7 %, as"),
            (
                "lost > 0.5 pp",
                "expected +0.5 pp for a change of a share, or 0.5 %",
            ),
            ("lost > +0.1", "expected +0.1 pp or +10 pp, as"),
            ("lost > -0.1", "expected -0.1 pp or -10 pp, as"),
        ] {
            let error = met(text, &figures).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        for text in [
            "lost > 5 us",
            "gaps > 5 %",
            "longest gap > 5 /s",
            "pace > 1 %",
            "idle > 1",
            "lost > +1 %",
            "lost > 1 % on cpu 3",
        ] {
            assert!(met(text, &figures).is_err(), "{text}");
        }
        let error = met("idle > 1", &figures).unwrap_err().to_string();
        assert!(
            error.contains("one of gaps, longest gap, lost, pace"),
            "{error}"
        );
    }

    #[test]
    fn all_of_a_share_can_be_reached_but_not_exceeded() {
        for (text, is_possible) in [
            ("lost >= 100 %", true),
            ("lost >= 101 %", false),
            ("lost > 100 %", false),
        ] {
            let condition = Condition::parse(text).unwrap();
            let checked = condition.is_in_range(Unit::Share);
            assert_eq!(checked.is_ok(), is_possible, "{text}");
        }
    }

    #[test]
    fn a_pace_is_that_of_units_and_not_that_of_the_ledger() {
        let with_past = |unit, past: f64, value: f64| Figure {
            past: Some(Past {
                value: past,
                changed: true,
            }),
            ..figure("pace", unit, value)
        };
        let figures = [
            with_past(Unit::NsPerUnit, 100.0, 101.0),
            with_past(Unit::NsPerSecond, 1e3, 9e3),
        ];
        assert_eq!(met("pace > +5 %", &figures), Ok(false));
        assert_eq!(met("pace > +0.5 %", &figures), Ok(true));
        assert_eq!(met("pace > 200 ns", &figures), Ok(false));
    }

    #[test]
    fn a_change_must_exceed_its_interval() {
        let mut one = figure("task:*", Unit::Share, 0.03);
        for (changed, expected) in [(true, true), (false, false)] {
            one.past = Some(Past {
                value: 0.01,
                changed,
            });
            let figures = [one.clone()];
            assert_eq!(met("task:* > +1 pp", &figures), Ok(expected));
            assert_eq!(met("task:* > +100 %", &figures), Ok(expected));
            assert_eq!(met("task:* > +300 %", &figures), Ok(false));
            assert_eq!(met("task:* > 2 %", &figures), Ok(true));
        }
    }
}
