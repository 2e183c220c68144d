//! Numbers as people read them: SI units, a fixed number of significant digits, thousands apart.

/// What stands where a number is missing or not finite.
pub const NONE: &str = "–";

/// `value` with `digits` significant digits; in exponent form only where nobody would read it otherwise.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    if value == 0.0 {
        return "0".into();
    }
    // Rounding may carry into another digit (9.996 to 10.00): ask the rounded number for its magnitude.
    let rounded: f64 = format!("{value:.*e}", digits.saturating_sub(1))
        .parse()
        .unwrap_or(value);
    let magnitude = rounded.abs().log10().floor() as i64;
    if !(-6..=9).contains(&magnitude) {
        return format!("{value:.*e}", digits.saturating_sub(1));
    }
    let decimals = (digits as i64 - 1 - magnitude).clamp(0, 12) as usize;
    format!("{rounded:.decimals$}")
}

/// Scales in descending order: from which value on, what is one, its symbol.
type Scale = &'static [(f64, f64, &'static str)];

const DURATIONS: Scale = &[
    (7.2e12, 3.6e12, "h"),
    (120e9, 60e9, "min"),
    (1e9, 1e9, "s"),
    (1e6, 1e6, "ms"),
    (1e3, 1e3, "µs"),
    (0.0, 1.0, "ns"),
];

const FREQUENCIES: Scale = &[
    (1e9, 1e9, "GHz"),
    (1e6, 1e6, "MHz"),
    (1e4, 1e3, "kHz"),
    (1.0, 1.0, "Hz"),
    (1e-3, 1e-3, "mHz"),
    (0.0, 1e-6, "µHz"),
];

/// `value` in the unit of `scale` that suits it.
fn scaled(value: f64, digits: usize, scale: Scale) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    let size = value.abs();
    // What rounds up to the next unit is written in it: 999.96 µs is 1.00 ms.
    let reached = |from: f64| size * (1.0 + 0.5 * 10f64.powi(-(digits as i32))) >= from;
    let (_, one, symbol) = scale
        .iter()
        .copied()
        .find(|(from, _, _)| reached(*from))
        .unwrap_or((0.0, 1.0, ""));
    if size == 0.0 {
        return format!("0 {}", if scale == DURATIONS { "ns" } else { "Hz" });
    }
    format!("{} {symbol}", significant(value / one, digits))
}

/// A duration in nanoseconds, three significant digits: `41.8 µs`.
pub fn duration(ns: f64) -> String {
    scaled(ns, 3, DURATIONS)
}

/// A line of an account in whole nanoseconds, four significant digits: `4.873 s`, `-1 ns`.
pub fn duration_fine(ns: i128) -> String {
    match ns.unsigned_abs() {
        0..1000 => format!("{ns} ns"),
        _ => scaled(ns as f64, 4, DURATIONS),
    }
}

/// A length of a window or tick of an axis, as short as it is exact to three digits: `10 ms`.
pub fn duration_round(ns: f64) -> String {
    shortened(duration(ns))
}

/// A duration to two digits, for axes of powers of two: `66 µs`.
pub fn duration_rough(ns: f64) -> String {
    shortened(scaled(ns, 2, DURATIONS))
}

/// A frequency as short as it is exact to three digits: `2.5 kHz`.
pub fn frequency_round(hz: f64) -> String {
    shortened(scaled(hz, 3, FREQUENCIES))
}

/// Without trailing zeros after a decimal point.
fn shortened(text: String) -> String {
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number} {unit}")
        }
        _ => text,
    }
}

/// `10⁵`.
pub fn power_of_ten(exponent: i32) -> String {
    let raised = |c: char| match c.to_digit(10) {
        Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize],
        None => '⁻',
    };
    "10".chars()
        .chain(exponent.to_string().chars().map(raised))
        .collect()
}

/// A nominal rate, exact as people name it: `10 kHz`, `7777 Hz`.
pub fn rate(hz: f64) -> String {
    if !hz.is_finite() || hz <= 0.0 {
        return format!("{NONE} Hz");
    }
    for (one, symbol) in [(1e6, "MHz"), (1e3, "kHz")] {
        if (one..1e9).contains(&hz) && (hz / one).fract() == 0.0 {
            return format!("{} {symbol}", hz / one);
        }
    }
    match hz {
        _ if hz >= 1e9 => format!("{hz:e} Hz"),
        _ if hz.fract() == 0.0 => format!("{hz} Hz"),
        _ => format!("{} Hz", significant(hz, 6)),
    }
}

/// A measured frequency with its standard deviation, to the digits that the latter allows.
pub fn frequency(hz: f64, uncertainty_hz: f64) -> String {
    if !hz.is_finite() {
        return NONE.into();
    }
    if !(uncertainty_hz.is_finite() && uncertainty_hz > 0.0) {
        return format!("{} Hz", significant(hz, 5));
    }
    if uncertainty_hz < 5e-7 {
        return format!("{hz:.6} Hz");
    }
    let decimals = (-uncertainty_hz.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{hz:.decimals$} ± {uncertainty_hz:.decimals$} Hz")
}

/// A pace in ns per unit, without its unit, four significant digits.
pub fn pace(ns_per_unit: f64) -> String {
    significant(ns_per_unit, 4)
}

/// A share as percent, two decimals; what is there but rounds to nothing says so.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return NONE.into();
    }
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.005 {
        return "<0.01 %".into();
    }
    if percent < 0.0 && percent > -0.005 {
        return ">-0.01 %".into();
    }
    if (99.995..100.0).contains(&percent) {
        return ">99.99 %".into();
    }
    format!("{percent:.2} %")
}

pub use bandscope_report::format::count;

/// Two nouns for one and for many: `1 gap`, `2 gaps`.
pub fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The page's script is held to the same table: `tests/script/numbers.test.js`. A number that is `null` is not finite.
    #[test]
    fn numbers_are_as_the_table_has_them() {
        let table = include_str!("../tests/numbers.json");
        let table: Vec<(String, Vec<Value>, String)> = serde_json::from_str(table).unwrap();
        for (function, of, text) in table {
            let number = of[0].as_f64().unwrap_or(f64::NAN);
            let second = of.get(1).and_then(Value::as_f64).unwrap_or(f64::NAN);
            let word = |index: usize| of[index].as_str().unwrap();
            let found = match function.as_str() {
                "count" => count(number as u64),
                "duration" => duration(number),
                "duration_fine" => duration_fine(number as i128),
                "duration_round" => duration_round(number),
                "frequency" => frequency(number, second),
                "frequency_round" => frequency_round(number),
                "pace" => pace(number),
                "percent" => percent(number),
                "plural" => plural(number as u64, word(1), word(2)),
                "significant" => significant(number, second as usize),
                other => panic!("{other}"),
            };
            assert_eq!(found, text, "{function} of {of:?}");
        }
    }

    #[test]
    fn what_the_page_does_not_write() {
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(duration(f64::INFINITY), NONE);
        assert_eq!(power_of_ten(-12), "10⁻¹²");
        assert_eq!(power_of_ten(5), "10⁵");
        assert_eq!(rate(10_000.0), "10 kHz");
        assert_eq!(rate(7_777.0), "7777 Hz");
        assert_eq!(rate(1e6), "1 MHz");
        assert_eq!(rate(0.5), "0.500000 Hz");
        assert_eq!(rate(f64::NAN), "– Hz");
        assert_eq!(rate(1e300), "1e300 Hz");
    }
}
