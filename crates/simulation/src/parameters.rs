//! Parameters of scenarios: names, defaults, units and the values that make sense.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Values of an entry's parameters: seconds, hertz, shares or plain numbers.
pub type Values = BTreeMap<&'static str, f64>;

/// A parameter of a scenario.
#[derive(Debug)]
pub struct Parameter {
    /// As written by the user.
    pub name: &'static str,
    /// Taken where the user says nothing.
    pub default: f64,
    /// Values that make sense.
    pub range: RangeInclusive<f64>,
    /// Unit: `s`, `Hz`, `quanta` or nothing.
    pub unit: &'static str,
    /// Whether it is a whole number.
    pub(crate) whole: bool,
    /// What it must not exceed, where others set its limit.
    pub(crate) limit: Option<Limit>,
}

/// A limit that other parameters set.
#[derive(Debug)]
pub(crate) struct Limit {
    /// In words.
    pub words: &'static str,
    /// The limit.
    pub of: fn(&Values) -> f64,
}

impl Parameter {
    /// It must be at most `of` the others, which is `words`.
    pub(crate) const fn at_most(self, words: &'static str, of: fn(&Values) -> f64) -> Parameter {
        Parameter {
            limit: Some(Limit { words, of }),
            ..self
        }
    }
}

/// Whether the switch `name` is on.
pub(crate) fn is_on(values: &Values, name: &str) -> bool {
    values.get(name).is_some_and(|value| *value == 1.0)
}

/// Any number that is not negative.
pub(crate) const fn any(name: &'static str, default: f64, unit: &'static str) -> Parameter {
    within(name, default, 0.0, f64::MAX, unit)
}

/// A number in a range.
pub(crate) const fn within(
    name: &'static str,
    default: f64,
    least: f64,
    most: f64,
    unit: &'static str,
) -> Parameter {
    Parameter {
        name,
        default,
        range: RangeInclusive::new(least, most),
        unit,
        whole: false,
        limit: None,
    }
}

/// A whole number in a range.
pub(crate) const fn whole(
    name: &'static str,
    default: f64,
    least: f64,
    most: f64,
    unit: &'static str,
) -> Parameter {
    Parameter {
        whole: true,
        ..within(name, default, least, most, unit)
    }
}

/// Off or on.
pub(crate) const fn switch(name: &'static str, default: f64) -> Parameter {
    whole(name, default, 0.0, 1.0, "")
}

/// A number of events per second. Faster ones than 10 MHz would leave no time between them.
pub(crate) const fn hz(default: f64) -> Parameter {
    within("hz", default, 1e-3, 1e7, "Hz")
}

/// A length of time between two events: at least a microsecond.
pub(crate) const fn span(name: &'static str, default: f64) -> Parameter {
    within(name, default, 1e-6, f64::MAX, "s")
}

/// A length of time that may be nothing.
pub(crate) const fn time(name: &'static str, default: f64) -> Parameter {
    any(name, default, "s")
}

/// A ratio of two paces. Beyond some ten a slow unit is a gap to most work kernels.
pub(crate) const fn ratio(name: &'static str, default: f64) -> Parameter {
    within(name, default, 1e-3, 1e3, "")
}

/// 0 to 1.
pub(crate) const fn share(name: &'static str, default: f64) -> Parameter {
    within(name, default, 0.0, 1.0, "")
}

/// Whether only work kernels that go through memory feel it.
pub(crate) const MEMORY: Parameter = switch("memory", 0.0);
/// Full width of the scatter of interrupts about their regular times, in periods.
pub(crate) const JITTER: Parameter = share("jitter", 0.0);
/// Whether interrupts come at random times.
pub(crate) const POISSON: Parameter = switch("poisson", 0.0);
