//! Values of parameters: what people write in, numbers that make sense out.

use super::ScenarioError;
use crate::catalogue::Entry;
use crate::parameters::{Parameter, Values};

/// A number with an optional unit of the dimension of `unit`, in seconds, hertz or as a share.
pub(super) fn parse(text: &str, unit: &str) -> Option<f64> {
    let digits = text
        .find(|c: char| c.is_ascii_alphabetic() || c == '%')
        .unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let scale = match (&text[digits..], unit) {
        ("", _) | ("s", "s") | ("Hz", "Hz") => 1.0,
        ("ms", "s") => 1e-3,
        ("us", "s") => 1e-6,
        ("ns", "s") => 1e-9,
        ("kHz", "Hz") => 1e3,
        ("MHz", "Hz") => 1e6,
        ("%", "") => 1e-2,
        _ => return None,
    };
    Some(number * scale).filter(|value| value.is_finite())
}

/// What reads where values have this unit.
pub(super) fn expected(unit: &str) -> &'static str {
    match unit {
        "s" => "a time, as in 2.5us",
        "Hz" => "a frequency, as in 250Hz",
        "" => "a number, as in 0.03 or 3%",
        _ => "a number, as in 256",
    }
}

/// Whether a value makes sense by itself; `found` is as it was written.
pub(super) fn check_range(
    scenario: &'static str,
    parameter: &Parameter,
    number: f64,
    found: &str,
) -> Result<(), ScenarioError> {
    if parameter.range.contains(&number) && (!parameter.whole || number.fract() == 0.0) {
        return Ok(());
    }
    let (least, most) = (*parameter.range.start(), *parameter.range.end());
    let (least, up_to) = (with_unit(parameter, least), with_unit(parameter, most));
    let whole = if parameter.whole {
        "a whole number, "
    } else {
        ""
    };
    Err(ScenarioError::Range {
        scenario,
        key: parameter.name,
        found: found.to_owned(),
        range: match most == f64::MAX {
            true => format!("{whole}{least} or more"),
            false => format!("{whole}{least} to {up_to}"),
        },
    })
}

/// Whether the values of a part make sense together.
pub(super) fn check_limits(entry: &Entry, values: &Values) -> Result<(), ScenarioError> {
    for parameter in entry.parameters {
        let Some(limit) = &parameter.limit else {
            continue;
        };
        let (found, most) = (values[parameter.name], (limit.of)(values));
        if found > most * (1.0 + ROUNDING) {
            return Err(ScenarioError::Range {
                scenario: entry.name,
                key: parameter.name,
                found: with_unit(parameter, found),
                range: format!("at most {} ({})", limit.words, with_unit(parameter, most)),
            });
        }
    }
    Ok(())
}

/// What the conversion of units may add to a value, relative to it.
const ROUNDING: f64 = 1e-12;

/// A value for people, without what the conversion of units added.
fn with_unit(parameter: &Parameter, number: f64) -> String {
    let number: f64 = format!("{number:.9e}").parse().unwrap_or(number);
    match parameter.unit {
        "" => format!("{number}"),
        unit => format!("{number} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_units_of_their_dimension() {
        assert_eq!(parse("250Hz", "Hz"), Some(250.0));
        assert_eq!(parse("1MHz", "Hz"), Some(1e6));
        assert_eq!(parse("3%", ""), Some(0.03));
        assert!((parse("2.5us", "s").unwrap() - 2.5e-6).abs() < 1e-18);
        assert_eq!(parse("256", "quanta"), Some(256.0));
        for bad in ["", "us", "nan", "1e400", "3 parsecs", "1µs", "3Hz", "3%"] {
            assert_eq!(parse(bad, "s"), None, "{bad}");
        }
    }
}
