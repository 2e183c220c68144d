//! Conditions on runs, for gates: `modes>1`, `slow-share>10%`, `median > 120 ms`. The grammar is that of every gate (`crate::conditions`).

use super::Repeat;
use crate::conditions::{Checked, Condition, ConditionError, Figure, Unit};
use crate::counters::seconds_of;
use bandscope_statistics::order::median_between;

/// Reads a condition; nothing changes here, so a sign is one of the number.
///
/// # Errors
/// If it does not read, or names no figure of runs.
pub fn parse(text: &str) -> Result<Condition, ConditionError> {
    let condition = Condition::parse(text)?.of_itself();
    // Before any run is made.
    let of_none = figures([None; 6], Unit::Seconds);
    for outcome in condition.hold(&of_none)? {
        // A drift may exceed all.
        if outcome.figure.name == SLOW_SHARE {
            condition.is_in_range(outcome.figure.unit)?;
        }
    }
    Ok(condition)
}

/// Whether a condition is met, and what was found.
///
/// # Errors
/// If it compares a time with a metric that is none, or its figure is not known.
pub fn check(condition: &Condition, repeat: &Repeat) -> Result<Checked, ConditionError> {
    let median = match seconds_of(&repeat.metric.unit) {
        Some(_) => Unit::Seconds,
        None => Unit::Number,
    };
    let drift = repeat.session.change.filter(|_| repeat.session.drifts);
    let measured = |value: f64| (!repeat.values.is_empty()).then_some(value);
    let values = [
        measured(repeat.modes.modes.len() as f64),
        (!repeat.modes.modes.is_empty())
            .then(|| repeat.modes.slow_share(repeat.metric.higher_is_better)),
        match &repeat.modes.modes[..] {
            [_] => Some(1.0),
            _ => repeat.modes.ratio(),
        },
        median_between(repeat.values.clone()),
        measured(drift.unwrap_or(0.0).abs()),
        Some(repeat.runs.failed as f64),
    ];
    let figures = figures(values, median);
    let outcomes = condition.hold(&figures)?;
    let met = outcomes.iter().any(|outcome| outcome.met);
    let found = outcomes.iter().map(|outcome| {
        let name = &outcome.figure.name;
        outcome
            .figure
            .value
            .map(|value| format!("{name} is {value}"))
    });
    match found.collect() {
        Some(found) => Ok(condition.checked(met, found)),
        None => Err(ConditionError::NotMeasured {
            condition: condition.text().into(),
            figure: condition.figure().into(),
            why: match &repeat.modes.modes[..] {
                [] => ": no run has a value",
                _ => " where the lowest mode is 0 or less",
            },
        }),
    }
}

/// The figure that is a part of all runs.
const SLOW_SHARE: &str = "slow-share";

/// The figures of runs, in this order.
fn figures(values: [Option<f64>; 6], median: Unit) -> Vec<Figure> {
    let units = [
        ("modes", Unit::Number),
        (SLOW_SHARE, Unit::Share),
        ("ratio", Unit::Number),
        ("median", median),
        ("drift", Unit::Share),
        ("failed", Unit::Number),
    ];
    let figure = |((name, unit), value): ((&str, Unit), Option<f64>)| Figure {
        name: name.into(),
        unit,
        value,
        ..Figure::default()
    };
    units.into_iter().zip(values).map(figure).collect()
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
            ("slow-share>10%", true),
            ("slow-share >= 26%", false),
            ("ratio<=1.5", false),
            ("median<1.5", true),
            ("median < 1500 ms", true),
            ("drift>+5%", false),
            ("failed>0", false),
        ] {
            let parsed = parse(condition).unwrap();
            assert_eq!(
                check(&parsed, &repeat).unwrap().met,
                met,
                "{condition}: {:?}",
                repeat.modes
            );
        }
        let checked = check(&parse("modes>1").unwrap(), &repeat).unwrap();
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
            "modes>5us",
            "modes>1 on cpu 1",
            "slow-share>0.1",
            "slow-share>100%",
            "failed>10%",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn no_runs_pass_no_condition_on_values() {
        let repeat = repeat(&[]);
        for condition in [
            "median>0",
            "modes>1",
            "slow-share>10%",
            "ratio>2",
            "drift>5%",
        ] {
            let error = check(&parse(condition).unwrap(), &repeat).unwrap_err();
            assert!(error.to_string().contains("is not known"), "{error}");
        }
        assert!(!check(&parse("failed>0").unwrap(), &repeat).unwrap().met);
        assert!(repeat.findings.is_empty() && repeat.answer.is_none());
    }

    #[test]
    fn a_ratio_to_0_is_not_known() {
        let repeat = repeat(&[0.0, 1.0].repeat(20));
        assert_eq!(repeat.modes.modes.len(), 2, "{:?}", repeat.modes);
        let error = check(&parse("ratio>2").unwrap(), &repeat).unwrap_err();
        assert!(error.to_string().contains("lowest mode is 0"), "{error}");
    }
}
