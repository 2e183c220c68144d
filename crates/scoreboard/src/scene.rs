//! What a scene is: a scenario, how it is recorded, and what a right report of it says.

use bandscope_analysis::report::{Evidence, Finding};
use bandscope_sampler::Request;
use bandscope_sampler::machine::{Choice, Length};

/// One labelled recording to be made.
#[derive(Clone, Debug)]
pub struct Scene {
    /// What happens on the simulated machine, as `bandscope synth` takes it.
    pub scenario: String,
    /// Rates, in hertz.
    pub rates_hz: Vec<f64>,
    /// Work kernels.
    pub kernels: Vec<&'static str>,
    /// Length of the recording, all segments together.
    pub seconds: f64,
    /// What must be found at `likely` or better.
    pub expected: Vec<Expected>,
    /// What else may be said of it at any certainty, because it is true as well.
    pub allowed: Vec<Expected>,
}

/// A finding that is true of a scene.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Its kind.
    pub kind: &'static str,
    /// Its evidence: key, true value, error beyond which the finding is another one.
    pub values: Vec<Value>,
    /// Word of its evidence, where it has one: key and right answer.
    pub word: Option<(&'static str, &'static str)>,
    /// Whether this recording decides it, so that `certain` should be said.
    pub decidable: bool,
    /// Whether only two rates can say it with confidence.
    pub needs_two_rates: bool,
}

/// A number of the evidence.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Key of the evidence.
    pub key: &'static str,
    /// Number in a list, 0 for a single number.
    pub place: usize,
    /// The truth.
    pub truth: f64,
    /// How far a right finding may be off.
    pub tolerance: Tolerance,
}

/// A distance from the truth.
#[derive(Clone, Copy, Debug)]
pub enum Tolerance {
    /// As a share of the truth.
    Relative(f64),
    /// In the unit of the evidence.
    Absolute(f64),
}

impl Expected {
    /// A kind of which only its presence is judged.
    pub fn new(kind: &'static str) -> Expected {
        Expected {
            kind,
            values: Vec::new(),
            word: None,
            decidable: false,
            needs_two_rates: false,
        }
    }

    /// With a number of its evidence.
    pub fn with(mut self, key: &'static str, truth: f64, tolerance: Tolerance) -> Expected {
        self.values.push(Value {
            key,
            place: 0,
            truth,
            tolerance,
        });
        self
    }

    /// With a list of its evidence.
    pub fn with_list(
        mut self,
        key: &'static str,
        truths: &[f64],
        tolerance: Tolerance,
    ) -> Expected {
        self.values
            .extend(truths.iter().enumerate().map(|(place, &truth)| Value {
                key,
                place,
                truth,
                tolerance,
            }));
        self
    }

    /// With a word of its evidence.
    pub fn saying(mut self, key: &'static str, word: &'static str) -> Expected {
        self.word = Some((key, word));
        self
    }

    /// That this recording decides it, if so.
    pub fn decided(mut self, decidable: bool) -> Expected {
        self.decidable = decidable;
        self
    }

    /// That one rate cannot tell it from other things.
    pub fn at_two_rates(mut self) -> Expected {
        self.needs_two_rates = true;
        self
    }

    /// On a machine whose clock is off by so much, as a share: every time and frequency is, too.
    pub fn by_a_clock_off_by(mut self, share: f64) -> Expected {
        for value in &mut self.values {
            match &mut value.tolerance {
                Tolerance::Relative(most) => *most += 1.1 * share,
                Tolerance::Absolute(most) => *most += 1.1 * share * value.truth.abs(),
            }
        }
        self
    }

    /// Whether `finding` is this one and right.
    pub fn is_met_by(&self, finding: &Finding) -> bool {
        finding.kind == self.kind
            && self
                .values
                .iter()
                .all(|value| value.error(finding).is_some_and(|error| value.holds(error)))
            && self.word.is_none_or(|(key, word)| {
                matches!(finding.evidence.get(key), Some(Evidence::Text(said)) if said == word)
            })
    }
}

impl Value {
    /// Signed error of the finding, in the measure of the tolerance; `None` without such evidence.
    pub fn error(&self, finding: &Finding) -> Option<f64> {
        let said = match finding.evidence.get(self.key)? {
            Evidence::Number(number) if self.place == 0 => *number,
            Evidence::Numbers(numbers) => *numbers.get(self.place)?,
            _ => return None,
        };
        Some(match self.tolerance {
            Tolerance::Relative(_) => said / self.truth - 1.0,
            Tolerance::Absolute(_) => said - self.truth,
        })
    }

    fn holds(&self, error: f64) -> bool {
        let (Tolerance::Relative(most) | Tolerance::Absolute(most)) = self.tolerance;
        error.abs() <= most
    }
}

impl Scene {
    /// How the sampler is asked for it.
    pub fn request(&self) -> Request {
        Request {
            cpus: vec![0],
            rates_hz: self.rates_hz.clone(),
            kernels: self
                .kernels
                .iter()
                .map(|&kernel| kernel.to_owned())
                .collect(),
            length: Length::Duration(self.seconds),
            start_delay_s: 0.0,
            segment_s: 1.0,
            ticks_per_ns: None,
            ordered_reads: false,
            buffered: false,
            counters: Choice::Off,
            trace: Choice::Off,
            store_bypass: Default::default(),
            self_test: true,
        }
    }

    /// The command that makes the same recording.
    pub fn command(&self) -> String {
        let rates: Vec<String> = self.rates_hz.iter().map(f64::to_string).collect();
        format!(
            "bandscope synth '{}' --rate {} --kernel {} --duration {}s --start-delay 0s",
            self.scenario,
            rates.join(","),
            self.kernels.join(","),
            self.seconds
        )
    }
}
