//! The dice with which scenes are drawn: ranges, noise, and how a scene is recorded. Everything follows from a seed.

use crate::figure::Figure;
use crate::scene::{Expected, Medium, Scene, Tolerance};
use bandscope_report::{Certainty, Kind};
use fastrand::Rng;

/// Draws the parameters of one scene.
#[derive(Debug)]
pub struct Draw {
    random: Rng,
    /// Number of the scene in its family.
    pub number: u64,
}

/// How much the machine is disturbed besides the phenomenon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Not at all.
    None,
    /// A core that wanders by 0.02 %, reads of the clock that scatter by 5 ns, two tasks a second.
    Weak,
    /// Ten times that.
    Strong,
}

impl Noise {
    /// As part of a scenario.
    pub fn scenario(self) -> &'static str {
        match self {
            Noise::None => "",
            Noise::Weak => "+noise:sigma=0.02%+reads:sigma=5ns+tasks:hz=2",
            Noise::Strong => "+noise:sigma=0.2%,every=2ms+reads:sigma=20ns+tasks:hz=20,mean=30us",
        }
    }
}

impl Draw {
    /// The dice of scene `number` of a family; the same numbers give the same scene.
    pub fn new(seed: u64, family: &str, number: u64) -> Draw {
        let name = family.bytes().fold(seed, |hash, byte| {
            hash.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte)
        });
        Draw {
            random: Rng::with_seed(name.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number),
            number,
        }
    }

    /// Uniform in `from..to`.
    pub fn uniform(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.random.f64()
    }

    /// Uniform in the logarithm.
    pub fn log_uniform(&mut self, from: f64, to: f64) -> f64 {
        self.uniform(from.ln(), to.ln()).exp()
    }

    /// One of a list.
    pub fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.random.usize(..list.len())]
    }

    /// `number` different ones of a list, in any order.
    pub fn some_of<T: Copy>(&mut self, list: &[T], number: usize) -> Vec<T> {
        let mut all = list.to_vec();
        self.random.shuffle(&mut all);
        all.truncate(number);
        all
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.random.f64() < probability
    }

    /// A strength of noise.
    pub fn noise(&mut self) -> Noise {
        self.one_of(&[Noise::None, Noise::Weak, Noise::Strong])
    }

    /// A seed for what is random in a scenario.
    pub fn seed(&mut self) -> u32 {
        self.random.u32(1..1_000_000)
    }

    /// Both rates in two of three scenes, else one of them.
    pub fn rates(&mut self) -> Vec<f64> {
        self.one_of(&[
            &[10_000.0, 7_777.0][..],
            &[10_000.0, 7_777.0],
            &[10_000.0, 7_777.0],
            &[10_000.0, 7_777.0],
            &[10_000.0],
            &[7_777.0],
        ])
        .to_vec()
    }

    /// A scene of `scenario`, with noise and a seed, on the default work kernel.
    pub fn scene(&mut self, scenario: &str, noise: Noise) -> Scene {
        let rates_hz = self.rates();
        Scene {
            scenario: format!("{scenario}{}+quiet:seed={}", noise.scenario(), self.seed()),
            rates_hz,
            kernels: vec!["mulss80"],
            seconds: self.uniform(4.0, 8.0).round(),
            expected: Vec::new(),
            // Counts that alternate at one pace do so whatever else happens.
            allowed: vec![Expected::new(Kind::Quantisation)],
            name: None,
            medium: Medium::Recording,
            least: Certainty::Likely,
            trains: Vec::new(),
            most_pace_loss: None,
        }
    }
}

impl Scene {
    /// Whether both rates are there.
    pub fn two_rates(&self) -> bool {
        self.rates_hz.len() > 1
    }

    /// With a register chain and a loop through memory in alternation.
    pub fn on_two_kernels(mut self) -> Scene {
        self.kernels = vec!["mulss80", "ftq-o2"];
        // A second at each rate and kernel, twice.
        self.seconds = self.seconds.max(4.0 * self.rates_hz.len() as f64);
        self
    }

    /// With what must be found.
    pub fn expecting(mut self, expected: Expected) -> Scene {
        self.expected.push(expected);
        self
    }

    /// With what may be said, too.
    pub fn allowing(mut self, expected: Expected) -> Scene {
        self.allowed.push(expected);
        self
    }

    /// With kinds that may be said, too.
    pub fn allowing_kinds(self, kinds: &[Kind]) -> Scene {
        kinds
            .iter()
            .fold(self, |scene, kind| scene.allowing(Expected::new(*kind)))
    }

    /// That something takes time with this frequency may be said; where it is short of being a gap it need not be.
    pub fn allowing_tick(self, hz: f64) -> Scene {
        self.allowing(Expected::new(Kind::PeriodicInterference).with(
            Figure::FrequencyHz,
            hz,
            Tolerance::Relative(1e-3),
        ))
    }
}
