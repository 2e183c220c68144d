//! Conditions for a gate, `--fail-if`: `modes>1`, `slow-share>0.1`, ...

use super::Repeat;
use crate::compare::Checked;
use bandscope_statistics::order::median_between;
use std::fmt;
use std::str::FromStr;

/// Something to compare, and what it must not be.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    quantity: &'static Quantity,
    comparison: Comparison,
    limit: f64,
}

/// What a condition can be about.
struct Quantity {
    name: &'static str,
    of: fn(&Repeat) -> Option<f64>,
}

const QUANTITIES: &[Quantity] = &[
    Quantity {
        name: "modes",
        of: |repeat| Some(repeat.modes.modes.len() as f64),
    },
    Quantity {
        name: "slow-share",
        of: slow_share,
    },
    Quantity {
        name: "ratio",
        of: |repeat| Some(repeat.modes.ratio().unwrap_or(1.0)),
    },
    Quantity {
        name: "median",
        of: |repeat| median_between(repeat.values.clone()),
    },
    Quantity {
        name: "drift",
        of: |repeat| {
            Some(
                repeat
                    .session
                    .change
                    .filter(|_| repeat.session.drifts)
                    .unwrap_or(0.0)
                    .abs(),
            )
        },
    },
    Quantity {
        name: "failed",
        of: |repeat| Some(repeat.runs.failed as f64),
    },
];

/// How two numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    AtMost,
    Above,
    Below,
}

impl Comparison {
    /// Longer signs first, so that `>=` is not taken for `>`.
    const ALL: [Comparison; 4] = [
        Comparison::AtLeast,
        Comparison::AtMost,
        Comparison::Above,
        Comparison::Below,
    ];

    const fn sign(self) -> &'static str {
        match self {
            Comparison::AtLeast => ">=",
            Comparison::AtMost => "<=",
            Comparison::Above => ">",
            Comparison::Below => "<",
        }
    }

    fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Comparison::AtLeast => a >= b,
            Comparison::AtMost => a <= b,
            Comparison::Above => a > b,
            Comparison::Below => a < b,
        }
    }
}

impl Condition {
    /// Whether it is met, and what was found; it is not where there is nothing to compare.
    pub fn check(&self, repeat: &Repeat) -> Checked {
        let value = (self.quantity.of)(repeat);
        let name = self.quantity.name;
        Checked {
            condition: self.to_string(),
            met: value.is_some_and(|value| self.comparison.holds(value, self.limit)),
            found: match value {
                Some(value) => format!("{name} is {value}"),
                None => format!("no {name} is known"),
            },
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, sign) = (self.quantity.name, self.comparison.sign());
        write!(f, "{name}{sign}{}", self.limit)
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Quantity) -> bool {
        self.name == other.name
    }
}

/// What is no condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found {:?}, expected one of {}, then >, >=, < or <=, then a number, as in modes>1", .0, QUANTITIES.iter().map(|quantity| quantity.name).collect::<Vec<_>>().join(", "))]
pub struct UnreadableCondition(String);

impl FromStr for Condition {
    type Err = UnreadableCondition;

    fn from_str(text: &str) -> Result<Condition, UnreadableCondition> {
        let wrong = || UnreadableCondition(text.to_owned());
        let split = Comparison::ALL
            .into_iter()
            .find_map(|comparison| Some((text.split_once(comparison.sign())?, comparison)));
        let ((name, limit), comparison) = split.ok_or_else(wrong)?;
        let quantity = QUANTITIES
            .iter()
            .find(|quantity| quantity.name == name.trim())
            .ok_or_else(wrong)?;
        let limit = limit.trim();
        let number = match limit.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
            None => limit.parse(),
        };
        Ok(Condition {
            quantity,
            comparison,
            limit: number
                .ok()
                .filter(|limit| limit.is_finite())
                .ok_or_else(wrong)?,
        })
    }
}

/// Share of runs that are not in the best mode.
fn slow_share(repeat: &Repeat) -> Option<f64> {
    let best = match repeat.metric.higher_is_better {
        true => repeat.modes.modes.last(),
        false => repeat.modes.modes.first(),
    };
    Some(1.0 - best?.share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::runs::{Metric, Run, Runs};

    fn repeat(values: &[f64]) -> Repeat {
        super::super::explain(&Runs {
            metric: Metric::measured("wall").unwrap(),
            runs: (values.iter())
                .map(|value| Run {
                    value: Some(*value),
                    ..Run::default()
                })
                .collect(),
            ..Runs::default()
        })
    }

    #[test]
    fn conditions_hold_or_do_not() {
        let values: Vec<f64> = (0..40)
            .map(|n| if n % 4 == 0 { 2.0 } else { 1.0 } + 1e-4 * f64::from(n))
            .collect();
        let repeat = repeat(&values);
        for (condition, met) in [
            ("modes>1", true),
            ("modes>2", false),
            ("slow-share>0.1", true),
            ("slow-share >= 26%", false),
            ("ratio<=1.5", false),
            ("median<1.5", true),
            ("failed>0", false),
        ] {
            let parsed: Condition = condition.parse().unwrap();
            assert_eq!(
                parsed.check(&repeat).met,
                met,
                "{condition}: {:?}",
                repeat.modes
            );
        }
        let checked = "modes>1".parse::<Condition>().unwrap().check(&repeat);
        assert_eq!(
            (&*checked.condition, &*checked.found),
            ("modes>1", "modes is 2")
        );
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for text in [
            "",
            "modes",
            "modes>",
            "speed>1",
            "modes=1",
            "modes>NaN",
            "modes>1>2",
        ] {
            assert!(text.parse::<Condition>().is_err(), "{text}");
        }
    }

    #[test]
    fn no_runs_meet_no_condition_on_values() {
        let repeat = repeat(&[]);
        let checked = "median>0".parse::<Condition>().unwrap().check(&repeat);
        assert!(!checked.met);
        assert_eq!(checked.found, "no median is known");
        assert!(repeat.findings.is_empty() && repeat.answer.is_none());
    }
}
