//! Scenarios as people write them: `NAME[:KEY=VALUE,...]`, several joined by `+`.
//!
//! `tick:hz=250,cost=2.5us+flips:ratio=5.35` is a machine with a timer tick whose pace flips. Values are
//! numbers with an optional unit of time (`ns`, `us`, `ms`, `s`), of frequency (`Hz`, `kHz`) or `%`, and
//! arrive as seconds, hertz or a share. `seed` is a key of every scenario.

use crate::catalogue::{self, Entry};
use crate::world::Disturbance;
use std::collections::BTreeMap;

/// A parsed scenario: the disturbances of a machine.
#[derive(Clone, Debug)]
pub struct Scenario {
    text: String,
    parts: Vec<Part>,
    seed: u64,
}

#[derive(Clone, Debug)]
struct Part {
    entry: &'static Entry,
    values: BTreeMap<&'static str, f64>,
}

/// What is wrong with a scenario.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    /// No such name.
    #[error("no simulated scenario is called {found:?}; there are: {known}")]
    Unknown {
        /// What was given.
        found: String,
        /// The names.
        known: String,
    },
    /// No such parameter.
    #[error("scenario {scenario} has no parameter {found:?}; it has: {known}")]
    Parameter {
        /// The scenario.
        scenario: &'static str,
        /// What was given.
        found: String,
        /// The parameters.
        known: String,
    },
    /// A value does not read.
    #[error(
        "scenario {scenario}: {key}={found:?}, expected a positive number with an optional unit, as in 2.5us, 250Hz or 3%"
    )]
    Value {
        /// The scenario.
        scenario: &'static str,
        /// The parameter.
        key: String,
        /// What was given.
        found: String,
    },
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// Names what was found and what there is.
    pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
        let mut seed = 1;
        let mut parts = Vec::new();
        for part in text.split('+') {
            let (name, parameters) = part.split_once(':').unwrap_or((part, ""));
            let entry = catalogue::find(name).ok_or_else(|| ScenarioError::Unknown {
                found: name.to_owned(),
                known: catalogue::names(),
            })?;
            let mut values: BTreeMap<_, _> = entry
                .parameters
                .iter()
                .map(|p| (p.name, p.default))
                .collect();
            for parameter in parameters.split(',').filter(|p| !p.is_empty()) {
                let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
                let number = parse_value(value).ok_or_else(|| ScenarioError::Value {
                    scenario: entry.name,
                    key: key.to_owned(),
                    found: value.to_owned(),
                })?;
                if key == "seed" {
                    seed = number as u64;
                    continue;
                }
                let known = entry.parameters.iter().find(|p| p.name == key);
                let known = known.ok_or_else(|| ScenarioError::Parameter {
                    scenario: entry.name,
                    found: key.to_owned(),
                    known: entry.parameter_names(),
                })?;
                values.insert(known.name, number);
            }
            parts.push(Part { entry, values });
        }
        Ok(Scenario {
            text: text.to_owned(),
            parts,
            seed,
        })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Fresh disturbances for `cpu`. The same scenario, seed and CPU give the same ones.
    pub fn disturbances(&self, cpu: u32, ticks_per_s: f64) -> Vec<Box<dyn Disturbance>> {
        self.parts
            .iter()
            .enumerate()
            .flat_map(|(n, part)| {
                let stream = (u64::from(cpu) << 32) + n as u64;
                let random = fastrand::Rng::with_seed(
                    self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream,
                );
                (part.entry.build)(&part.values, ticks_per_s, random)
            })
            .collect()
    }

    /// Relative error of the simulated calibration, as `drift` sets it.
    pub fn calibration_error(&self) -> f64 {
        let drift = self.parts.iter().filter(|part| part.entry.name == "drift");
        drift.filter_map(|part| part.values.get("ppm")).sum::<f64>() * 1e-6
    }
}

/// A positive number with an optional unit, in seconds, hertz or as a share.
fn parse_value(text: &str) -> Option<f64> {
    let digits = text
        .find(|c: char| c.is_ascii_alphabetic() || c == '%')
        .unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let scale = match &text[digits..] {
        "" | "s" | "Hz" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        "kHz" => 1e3,
        "%" => 1e-2,
        _ => return None,
    };
    Some(number * scale).filter(|value| value.is_finite() && *value >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_units() {
        assert_eq!(parse_value("250Hz"), Some(250.0));
        assert_eq!(parse_value("3%"), Some(0.03));
        assert!((parse_value("2.5us").unwrap() - 2.5e-6).abs() < 1e-18);
        for bad in ["", "us", "-1", "nan", "1e400", "3 parsecs", "1µs"] {
            assert_eq!(parse_value(bad), None, "{bad}");
        }
    }

    #[test]
    fn parts_are_joined_and_have_defaults() {
        let scenario = Scenario::parse("tick:hz=1000+flips").unwrap();
        assert_eq!(scenario.parts.len(), 2);
        assert_eq!(scenario.parts[0].values["hz"], 1000.0);
        assert_eq!(scenario.parts[1].values["ratio"], 5.35);
    }

    #[test]
    fn mistakes_name_what_there_is() {
        let error = Scenario::parse("tock").unwrap_err().to_string();
        assert!(
            error.contains("\"tock\"") && error.contains("tick"),
            "{error}"
        );
        let error = Scenario::parse("tick:rate=5").unwrap_err().to_string();
        assert!(error.contains("rate") && error.contains("hz"), "{error}");
        let error = Scenario::parse("tick:hz=fast").unwrap_err().to_string();
        assert!(error.contains("fast") && error.contains("250Hz"), "{error}");
    }

    #[test]
    fn a_scenario_is_reproducible() {
        let first = |cpu| {
            let scenario = Scenario::parse("tasks:seed=7").unwrap();
            let mut tasks = scenario.disturbances(cpu, 1e9);
            (0..5).map(|_| tasks[0].next().0).collect::<Vec<_>>()
        };
        assert_eq!(first(0), first(0));
        assert_ne!(first(0), first(1));
    }
}
