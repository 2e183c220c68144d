//! Conditions on a comparison, for gates: `cycles>+5%`, `lost > 1 %`, `longest-gap>50us`.
//!
//! The grammar is that of every gate (`crate::conditions`). A change is one only where the comparison calls it so: what its interval does not tell from none never
//! fails a gate.

use crate::conditions::{Checked, Condition, ConditionError, Figure, Outcome, Unit};

/// What a condition says of the figures of its name: of several series, the first that meets it.
///
/// # Errors
/// If no figure has its name, or another unit, or a share cannot reach its value.
pub(super) fn check(condition: &Condition, figures: &[Figure]) -> Result<Checked, ConditionError> {
    let outcomes = condition.hold(figures)?;
    // Counters have no range, and a pace may be faster than the best.
    let mut shares = outcomes.iter().filter(|one| one.figure.unit == Unit::Share);
    shares.try_for_each(|one| condition.is_in_range(one.figure.unit))?;
    let told = outcomes.iter().find(|one| one.met).or(outcomes.first());
    let found = told.map(found).unwrap_or_default();
    Ok(condition.checked(told.is_some_and(|one| one.met), found))
}

fn found(outcome: &Outcome<'_>) -> String {
    let figure = outcome.figure;
    let of = |value: Option<f64>| match (figure.unit, value) {
        (Unit::Number, value) => number(value.unwrap_or(f64::NAN)),
        (unit, value) => unit.written(value.unwrap_or(f64::NAN)),
    };
    let mut found = format!(
        "{} is {} in B and {} in A",
        figure.name,
        of(figure.value),
        of(figure.past.map(|past| past.value))
    );
    if let Some(share) = outcome.share.filter(|share| share.is_finite()) {
        found += &format!(", {:+.2} %", 100.0 * share);
    }
    if outcome.beyond && !outcome.met {
        found += ", which is within its scatter";
    }
    found
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
    use crate::conditions::Past;

    fn figures() -> Vec<Figure> {
        let figure = |name: &str, unit, a, b, changed| Figure {
            name: name.into(),
            unit,
            value: Some(b),
            past: Some(Past { value: a, changed }),
            ..Figure::default()
        };
        vec![
            figure("cycles", Unit::Number, 1e9, 1.1e9, true),
            figure("misses", Unit::Number, 10.0, 20.0, false),
            figure("fraction", Unit::Share, 0.99, 0.95, true),
            figure("longest-gap", Unit::Seconds, 40e-6, 60e-6, false),
            figure("irqs", Unit::Number, 0.0, 9.0, true),
        ]
    }

    fn checked(text: &str) -> Result<Checked, ConditionError> {
        check(&Condition::parse(text)?, &figures())
    }

    fn met(text: &str) -> bool {
        checked(text).unwrap().met
    }

    #[test]
    fn what_conditions_hold() {
        assert!(met("cycles>+5%") && !met("cycles > +20%") && !met("cycles<-5%"));
        assert!(met("fraction<-1pp") && !met("fraction<-5pp") && met("fraction < 96 %"));
        assert!(met("longest-gap>50us") && met("longest-gap>0.00005") && !met("longest-gap>1ms"));
        assert!(met("irqs>+20%") && met("cycles>1e9"));
        // Twice as many, and no more than they scatter by.
        assert!(!met("misses>+20%") && met("misses>15"));
        assert_eq!(
            checked("misses>+20%").unwrap().found,
            "misses is 20 in B and 10 in A, +100.00 %, which is within its scatter"
        );
    }

    #[test]
    fn what_is_no_condition_on_them() {
        for (text, expected) in [
            (
                "nothing>5",
                "found no figure \"nothing\", expected one of cycles, fraction, irqs",
            ),
            ("cycles>5us", "found a time"),
            ("cycles>5%", "a percentage needs a sign"),
            ("fraction>200%", "found 200 %, expected less than 100 %"),
        ] {
            let error = checked(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
