//! Scenarios as people write them: `NAME[:KEY=VALUE,...]`, several joined by `+`.
//!
//! `tick:hz=250,cost=2.5us+flips:ratio=5.35` is a machine with a timer tick whose pace flips. Values are
//! numbers with an optional unit of time (`ns`, `us`, `ms`, `s`), of frequency (`Hz`, `kHz`, `MHz`) or `%`, and
//! arrive as seconds, hertz or a share. `seed` is a key of every scenario.

mod limits;
mod values;

use crate::catalogue::{self, By, Entry, Example, Rhythm, Seen, Settings, Setup};
use crate::disturbances::Placed;
use crate::disturbances::jumps::Jumps;
use crate::kernels::{self, Feels};
use crate::parameters::{Values, is_on};
use crate::presets;
use crate::truth;
use bandscope_sampler::Request;
use bandscope_sampler::machine::Choice;
use fastrand::Rng;

/// Stands for a CPU where all of them have the same numbers.
const ALL_CPUS: u32 = u32::MAX;

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
    values: Values,
}

/// The fastest tick that a kernel is built with.
const MAX_TICK_HZ: f64 = 1000.0;

/// What is wrong with a scenario.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    /// No such name.
    #[error("found scenario {found:?}, expected one of: {known}")]
    Unknown {
        /// What was given.
        found: String,
        /// Names of the catalogue, joined by commas.
        known: String,
    },
    /// No such parameter.
    #[error("scenario {scenario}: found parameter {found:?}, expected one of: {known}")]
    Parameter {
        /// Its name in the catalogue.
        scenario: &'static str,
        /// What was given.
        found: String,
        /// Its parameters and `seed`, joined by commas.
        known: String,
    },
    /// A value makes no sense.
    #[error("scenario {scenario}: {key}={found}, expected {range}")]
    Range {
        /// Its name in the catalogue.
        scenario: &'static str,
        /// The parameter, as the user named it.
        key: &'static str,
        /// What was given.
        found: String,
        /// Values that make sense.
        range: String,
    },
    /// A part that sets something once and for all stands twice.
    #[error("scenario {0}: found it twice, expected it once")]
    Twice(&'static str),
    /// No time is left for the work, or next to none.
    #[error(
        "found parts that take the CPU away for {:.1} % of the time together, expected at most {:.1} %",
        100.0 * found, 100.0 * limits::MOST_AWAY
    )]
    Away {
        /// As a share.
        found: f64,
    },
    /// A value does not read.
    #[error("scenario {scenario}: {key}={found:?}, expected {expected}")]
    Value {
        /// Its name in the catalogue.
        scenario: &'static str,
        /// The parameter, as the user named it.
        key: String,
        /// What was given.
        found: String,
        /// What reads, with an example.
        expected: &'static str,
    },
}

impl Scenario {
    /// Reads a scenario; presets stand for theirs.
    ///
    /// # Errors
    /// Names what was found and what there is.
    pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
        let mut seed = 1;
        let mut parts = Vec::new();
        let expanded = presets::expand(text);
        for part in expanded.split('+') {
            let (name, parameters) = part.split_once(':').unwrap_or((part, ""));
            let entry = catalogue::find(name).ok_or_else(|| ScenarioError::Unknown {
                found: name.to_owned(),
                known: catalogue::names(),
            })?;
            let mut values: Values = entry
                .parameters
                .iter()
                .map(|p| (p.name, p.default))
                .collect();
            for parameter in parameters.split(',').filter(|p| !p.is_empty()) {
                let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
                let wrong = |expected| ScenarioError::Value {
                    scenario: entry.name,
                    key: key.to_owned(),
                    found: value.to_owned(),
                    expected,
                };
                if key == "seed" {
                    // A seed is no measure: all 64 bits of a whole number count.
                    seed = (value.parse()).map_err(|_| wrong("a whole number, as in 7"))?;
                    continue;
                }
                let known = entry.parameters.iter().find(|p| p.name == key);
                let known = known.ok_or_else(|| ScenarioError::Parameter {
                    scenario: entry.name,
                    found: key.to_owned(),
                    known: entry.parameter_names(),
                })?;
                let number = values::parse(value, known.unit);
                let number = number.ok_or_else(|| wrong(values::expected(known.unit)))?;
                values::check_range(entry.name, known, number, value)?;
                values.insert(known.name, number);
            }
            values::check_limits(entry, &values)?;
            parts.push(Part { entry, values });
        }
        limits::check(&parts)?;
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

    /// What all random numbers are drawn from, beside CPU and part; 1 unless the text says.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The same scenario with another seed, which its text then tells.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Scenario {
        self.seed = seed;
        self.text = presets::with_parameters(&self.text, &format!("seed={seed}"));
        self
    }

    /// What the parts set once and for all.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        for part in &self.parts {
            (part.entry.settings)(&part.values, &mut settings);
        }
        settings
    }

    /// A generator for `cpu` and what is called `name`, number `n`: of the seed, and of nothing else.
    pub(crate) fn random(&self, cpu: u32, name: &str, n: usize) -> Rng {
        // FNV-1a.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let stream = (u64::from(cpu) << 32).wrapping_add(n as u64) ^ hash;
        Rng::with_seed(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream)
    }

    /// What a kernel with this tick says of itself: a whole number, as its HZ is one.
    pub fn tick_hz(&self) -> Option<f64> {
        let ticking = |part: &&Part| matches!(part.entry.rhythm, Rhythm::Tick | Rhythm::Slices);
        let hz = self.parts.iter().find(ticking)?.values.get("hz")?;
        (hz.fract() == 0.0 && *hz <= MAX_TICK_HZ).then_some(*hz)
    }

    /// Whether something happens on the other hardware thread of each core.
    pub(crate) fn has_siblings(&self) -> bool {
        let on_sibling = |part: &Part| part.entry.by == By::Sibling;
        self.parts.iter().any(on_sibling)
    }

    /// Fresh disturbances for `cpu`. The same scenario, seed and CPU give the same ones.
    pub(crate) fn disturbances(&self, cpu: u32) -> Vec<Placed> {
        let settings = self.settings();
        let scale = settings.ticks_per_ns * 1e9;
        let (every, size) = settings.jumps.unwrap_or((f64::INFINITY, 0.0));
        let jumps = Jumps::new(every * scale, size * scale, self.random(cpu, "jumps", 0));
        let place = |(part, Part { entry, values }): (usize, &Part)| {
            let setup = Setup {
                scale,
                cpu,
                random: self.random(cpu, entry.name, part),
                shared: self.random(ALL_CPUS, entry.name, part),
                jumps: jumps.clone(),
            };
            Some(Placed {
                part,
                only: entry.only(values),
                told: entry.by.told(part),
                disturbance: entry.disturbance?(values, &setup),
            })
        };
        self.parts.iter().enumerate().filter_map(place).collect()
    }

    /// The parts, for the truth of a run whose quanta are made with so many ticks per nanosecond.
    pub(crate) fn truths(&self, request: &Request, used_ticks_per_ns: f64) -> Vec<truth::Part> {
        let values = |part: &Part| {
            let names = part.entry.parameters.iter().map(|p| p.name);
            names.map(|name| (name, part.values[name])).collect()
        };
        self.parts
            .iter()
            .map(|part| truth::Part {
                name: part.entry.name,
                values: values(part),
                frequency_hz: frequency_hz(part),
                warm_up_s: warm_up_s(part),
                kinds: self.kinds(part, request, used_ticks_per_ns),
            })
            .collect()
    }

    /// The kinds of findings that a part is an example of in this run: those of its entry, less what other parts, the rates, CPUs or
    /// work kernels rule out altogether. A part without effect, such as a ratio of 1, keeps its kinds.
    fn kinds(&self, part: &Part, request: &Request, used_ticks_per_ns: f64) -> Vec<&'static str> {
        let values = &part.values;
        let settings = self.settings();
        let sensitive =
            !is_on(values, "memory") || request.kernels.iter().any(|k| kernels::through_memory(k));
        let aliased = |rate: &f64| values["hz"] > rate / 2.0;
        let is_gap = |name: &String| {
            let kernel = kernels::kernel(name, settings.ticks_per_ns, settings.unit_ratio);
            let ticks = |seconds: f64| seconds * 1e9 * settings.ticks_per_ns;
            kernel.is_ok_and(|kernel| {
                let unit = kernel.best_ticks_per_unit.unwrap_or(0.0);
                unit + ticks(values["cost"]) > kernel.gap_threshold_ticks as f64
            })
        };
        let drifts = |&rate: &f64| {
            truth::quantum_ticks(used_ticks_per_ns, rate, settings.truncates)
                != truth::quantum_ticks(settings.ticks_per_ns, rate, false)
        };
        let has_edges = |part: &Part| part.entry.rhythm == Rhythm::Period;
        let cpus = &request.cpus;
        let holds = |example: &&Example| match example.seen {
            Seen::Always => sensitive,
            Seen::Regular => !is_on(values, "poisson"),
            Seen::Aliased => {
                !is_on(values, "poisson")
                    && request.rates_hz.iter().any(aliased)
                    && !request.kernels.iter().all(is_gap)
            }
            Seen::BesideChain => [Feels::Throughput, Feels::Clock]
                .iter()
                .all(|feels| request.kernels.iter().any(|k| kernels::feels(k) == *feels)),
            Seen::Traced => request.trace != Choice::Off,
            Seen::OnSeveralCpus => cpus.len() > 1,
            Seen::OnAPair => cpus.iter().any(|cpu| cpus.contains(&(cpu ^ 1))),
            Seen::InnerLoops => (request.kernels.iter()).any(|k| kernels::has_inner_loops(k)),
            Seen::Moved => is_on(values, "cpu") || self.parts.iter().any(has_edges),
            Seen::Drifting => request.rates_hz.iter().any(drifts),
            Seen::BeforeWarm => request.start_delay_s < values["duration"],
        };
        let seen = part.entry.examples.iter().filter(holds);
        seen.map(|example| example.kind).collect()
    }
}

fn warm_up_s(part: &Part) -> Option<f64> {
    let mut examples = part.entry.examples.iter();
    let warms_up = examples.any(|example| example.seen == Seen::BeforeWarm);
    warms_up.then(|| part.values["duration"])
}

fn frequency_hz(part: &Part) -> Option<f64> {
    let value = |name| part.values.get(name).copied();
    match part.entry.rhythm {
        Rhythm::None | Rhythm::Slices => None,
        Rhythm::Period => value("period").map(|period| 1.0 / period),
        Rhythm::Hz | Rhythm::Tick => value("hz").filter(|_| !is_on(&part.values, "poisson")),
    }
}

#[cfg(test)]
mod tests;
