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
    condition.hold(&of_none).map(|_| condition)
}

/// Whether a condition is met, and what was found; it is not where there is nothing to compare.
///
/// # Errors
/// If it compares a time with a metric that is none.
pub fn check(condition: &Condition, repeat: &Repeat) -> Result<Checked, ConditionError> {
    let median = match seconds_of(&repeat.metric.unit) {
        Some(_) => Unit::Seconds,
        None => Unit::Number,
    };
    let drift = repeat.session.change.filter(|_| repeat.session.drifts);
    let values = [
        Some(repeat.modes.modes.len() as f64),
        (!repeat.modes.modes.is_empty())
            .then(|| repeat.modes.slow_share(repeat.metric.higher_is_better)),
        Some(repeat.modes.ratio().unwrap_or(1.0)),
        median_between(repeat.values.clone()),
        Some(drift.unwrap_or(0.0).abs()),
        Some(repeat.runs.failed as f64),
    ];
    let figures = figures(values, median);
    let outcomes = condition.hold(&figures)?;
    let met = outcomes.iter().any(|outcome| outcome.met);
    let found = outcomes.iter().map(|outcome| {
        let name = &outcome.figure.name;
        match outcome.figure.value {
            Some(value) => format!("{name} is {value}"),
            None => format!("no {name} is known"),
        }
    });
    Ok(condition.checked(met, found.collect()))
}

/// The figures of runs, in this order.
fn figures(values: [Option<f64>; 6], median: Unit) -> Vec<Figure> {
    let units = [
        ("modes", Unit::Number),
        ("slow-share", Unit::Share),
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
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn no_runs_meet_no_condition_on_values() {
        let repeat = repeat(&[]);
        let checked = check(&parse("median>0").unwrap(), &repeat).unwrap();
        assert!(!checked.met);
        assert_eq!(checked.found, "no median is known");
        assert!(repeat.findings.is_empty() && repeat.answer.is_none());
    }
}
