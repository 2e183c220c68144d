//! What a scene is: a scenario, how it is recorded, and what a right report of it says.

use crate::figure::{Figure, Why};
use bandscope_report::{Cause, Certainty, Finding, Kind};
use bandscope_sampler::Request;
use bandscope_sampler::machine::{Choice, Length, Watch};

/// One labelled recording to be made.
#[derive(Clone, Debug)]
pub struct Scene {
    /// What happens on the simulated machine, as `bandscope synth` takes it.
    pub scenario: String,
    /// Rates, in hertz.
    pub rates_hz: Vec<f64>,
    /// Work kernels, each of which gives a series.
    pub kernels: Vec<&'static str>,
    /// Length of the recording, all segments together.
    pub seconds: f64,
    /// What must be found at `likely` or better.
    pub expected: Vec<Expected>,
    /// What else may be said of it at any certainty, because it is true as well.
    pub allowed: Vec<Expected>,
    /// Its name, where it is not drawn.
    pub name: Option<&'static str>,
    /// What the analysis is given.
    pub medium: Medium,
    /// Least certainty at which something counts as said: one file of counts decides nothing.
    pub least: Certainty,
    /// What recurs at a constant frequency; a finding may not say more of it than was lost.
    pub trains: Vec<Train>,
    /// Share of the time that the ledger may book to pace at most, where that is judged.
    pub most_pace_loss: Option<f64>,
}

/// What the analysis is given of a scene.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Medium {
    /// A recording without kernel events.
    #[default]
    Recording,
    /// A recording with kernel events.
    Events,
    /// Files of the original FTQ, one a rate, of one machine at different times.
    Counts,
}

/// A periodic disturbance of a crowd.
#[derive(Clone, Debug, PartialEq)]
pub struct Train {
    /// Its place in the scenario.
    pub part: usize,
    /// What kernel events book it to.
    pub cause: Cause,
}

/// A finding that is true of a scene.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The kind of finding that is expected.
    pub kind: Kind,
    /// Its evidence: figure, true value, error beyond which the finding is another one.
    pub values: Vec<Value>,
    /// Why it is so, where its evidence says that.
    pub why: Option<Why>,
    /// Whether this recording decides it, so that `certain` should be said.
    pub decidable: bool,
    /// Whether only two rates can say it with confidence.
    pub needs_two_rates: bool,
    /// At which certainty it may be said at most: more would be wrong.
    pub at_most: Certainty,
    /// Whether the scene's clock is right, so that stated uncertainties can be held against the truth.
    pub clock_is_right: bool,
}

/// A number of the evidence.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Which of its figures is known.
    pub figure: Figure,
    /// Number in a list, 0 for a single number.
    pub place: usize,
    /// What the scene was made with.
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
    /// A frequency: three of the finding's own standard deviations, or [`FREQUENCY`] of the truth if that is more.
    Stated,
}

/// What a frequency may be off where gaps were timed, as a share of it.
pub const FREQUENCY: f64 = 1e-6;
/// Beyond this share of it another frequency is meant, whatever uncertainty is stated.
const SAME_FREQUENCY: f64 = 1e-4;
/// Deviations that a stated 95 % interval reaches to either side.
pub const Z95: f64 = 1.96;

impl Expected {
    /// A kind of which only its presence is judged.
    pub fn new(kind: Kind) -> Expected {
        Expected {
            kind,
            values: Vec::new(),
            why: None,
            decidable: false,
            needs_two_rates: false,
            at_most: Certainty::Certain,
            clock_is_right: true,
        }
    }

    /// With a number of its evidence.
    pub fn with(mut self, figure: Figure, truth: f64, tolerance: Tolerance) -> Expected {
        self.values.push(Value {
            figure,
            place: 0,
            truth,
            tolerance,
        });
        self
    }

    /// With a list of its evidence.
    pub fn with_list(mut self, figure: Figure, truths: &[f64], tolerance: Tolerance) -> Expected {
        self.values
            .extend(truths.iter().enumerate().map(|(place, &truth)| Value {
                figure,
                place,
                truth,
                tolerance,
            }));
        self
    }

    /// With what its evidence says of why it is so.
    pub fn saying(mut self, why: Why) -> Expected {
        self.why = Some(why);
        self
    }

    /// That this recording decides it, if so.
    pub fn decided(mut self, decidable: bool) -> Expected {
        self.decidable = decidable;
        self
    }

    /// As one of several explanations that the data do not decide between.
    pub fn only_possible(mut self) -> Expected {
        self.at_most = Certainty::Possible;
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
                Tolerance::Stated => {}
            }
        }
        self.clock_is_right &= share == 0.0;
        self
    }

    /// What tells it from others of its kind.
    pub fn about(&self) -> String {
        let first = self.values.first();
        first.map_or_else(String::new, |value| {
            format!("{}={}", value.figure.name(), value.truth)
        })
    }

    /// Whether `finding` is this one and right.
    pub fn is_met_by(&self, finding: &Finding) -> bool {
        finding.kind == self.kind
            && finding.certainty <= self.at_most
            && self.values.iter().all(|value| {
                value
                    .error(finding)
                    .is_some_and(|error| value.holds(error, finding))
            })
            && (self.why.is_none() || self.why == Why::of(&finding.evidence))
    }
}

impl Value {
    /// Signed error of the finding, in the measure of the tolerance; `None` without such evidence.
    pub fn error(&self, finding: &Finding) -> Option<f64> {
        let said = self.figure.said(&finding.evidence, self.place)?;
        Some(match self.tolerance {
            Tolerance::Relative(_) | Tolerance::Stated => said / self.truth - 1.0,
            Tolerance::Absolute(_) => said - self.truth,
        })
    }

    fn holds(&self, error: f64, finding: &Finding) -> bool {
        let most = match self.tolerance {
            Tolerance::Relative(most) | Tolerance::Absolute(most) => most,
            Tolerance::Stated => {
                let stated = self.figure.uncertainty(&finding.evidence).unwrap_or(0.0) / self.truth;
                (3.0 * stated).clamp(FREQUENCY, SAME_FREQUENCY)
            }
        };
        error.abs() <= most
    }

    /// Whether the truth lies in the 95 % interval that the finding states, where it is about this truth and states one.
    pub fn is_covered(&self, finding: &Finding) -> Option<bool> {
        let uncertainty = self.figure.uncertainty(&finding.evidence)?;
        let error = self.error(finding)?;
        let (relative, size) = match self.tolerance {
            Tolerance::Absolute(_) => (error / self.truth, error.abs()),
            Tolerance::Relative(_) | Tolerance::Stated => (error, (error * self.truth).abs()),
        };
        // A frequency that is off by more is another one; one that is off by less counts even if it is not right.
        if self.figure == Figure::FrequencyHz && relative.abs() > SAME_FREQUENCY {
            return None;
        }
        Some(size <= Z95 * uncertainty)
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
            watch: Watch::default(),
            tracepoints: Vec::new(),
            trace: match self.medium {
                Medium::Events => Choice::On,
                Medium::Recording | Medium::Counts => Choice::Off,
            },
            store_bypass: Default::default(),
            priority: None,
            housekeeping: Vec::new(),
            self_test: true,
        }
    }

    /// How it is made as FTQ files: a run for each rate, the second on the same machine some time later.
    pub fn requests_of_files(&self) -> Vec<Request> {
        let apart_s = self.seconds + PAUSE_S;
        let requests = self.rates_hz.iter().enumerate().map(|(n, &rate)| Request {
            rates_hz: vec![rate],
            start_delay_s: n as f64 * apart_s,
            ..self.request()
        });
        requests.collect()
    }

    /// The command that makes the same recording.
    pub fn command(&self) -> String {
        let rates: Vec<String> = self.rates_hz.iter().map(f64::to_string).collect();
        let run = format!(
            "--kernel {} --duration {}s",
            self.kernels.join(","),
            self.seconds
        );
        let scenario = &self.scenario;
        match self.medium {
            Medium::Recording => format!(
                "bandscope synth '{scenario}' --rate {} {run} --start-delay 0s",
                rates.join(",")
            ),
            Medium::Events => format!(
                "bandscope record --machine 'simulated:{scenario}' --rate {} {run} --start-delay 0s --trace on",
                rates.join(",")
            ),
            Medium::Counts => {
                let files = self.requests_of_files().into_iter().zip(&rates);
                let files = files.map(|(request, rate)| {
                    format!(
                        "bandscope synth '{scenario}' --rate {rate} {run} --start-delay {}s --output {rate}.dat",
                        request.start_delay_s
                    )
                });
                let names: Vec<String> = rates.iter().map(|rate| format!("{rate}.dat")).collect();
                let commands: Vec<String> = files.collect();
                format!(
                    "{} && bandscope report {}",
                    commands.join(" && "),
                    names.join(" ")
                )
            }
        }
    }
}

/// Time between the runs of two FTQ files, in seconds: no multiple of any period that is drawn.
const PAUSE_S: f64 = 1.3717;
