//! What a machine must offer so that a run can be made of it: this machine, or a simulated one.
//!
//! `prepare` looks and tests, `run` measures. Between the two the caller has a complete manifest, from
//! which it can open a recording; everything measured passes through `consume`.

use bandscope_recording::{Gap, Manifest, Quanta};
use std::sync::atomic::AtomicBool;

/// What to measure: the resolved plan of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// CPUs to measure at the same time; empty lets the machine choose the quietest.
    pub cpus: Vec<u32>,
    /// Rates in hertz; segments alternate over rates x work kernels.
    pub rates_hz: Vec<f64>,
    /// Work kernels by name.
    pub kernels: Vec<String>,
    /// Length of the run.
    pub length: Length,
    /// How long the work kernel runs before the first quantum, in seconds.
    pub start_delay_s: f64,
    /// Length of a segment in seconds where there is more than one series; a run of one series is
    /// one segment.
    pub segment_s: f64,
    /// Ticks per nanosecond given by hand.
    pub ticks_per_ns: Option<f64>,
    /// Read the clock ordered inside a quantum too.
    pub ordered_reads: bool,
    /// Keep everything in locked memory until the end.
    pub buffered: bool,
    /// Whether to read counters at gaps.
    pub counters: Choice,
    /// Run the 64-placement self-test and price the counters.
    pub self_test: bool,
}

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// Seconds, all segments together.
    Duration(f64),
    /// Quanta of each series.
    Samples(u64),
}

/// Whether to use something that may not be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// If it is there and cheap enough.
    Auto,
    /// Or fail.
    On,
    /// Not at all.
    Off,
}

/// Some quanta and gaps of one series.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The CPU that the measuring thread was asked to stay on.
    pub cpu: u32,
    /// Index into [`Request::series`].
    pub series: usize,
    /// In order of time; may be of several segments.
    pub quanta: &'a Quanta,
    /// In order of time, and within the time of these quanta.
    pub gaps: &'a [Gap],
}

/// Why a machine could not measure.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The request cannot be met: bad usage, exit status 2.
    #[error("{0}")]
    Request(String),
    /// The machine refused something that cannot be done without.
    #[error("{0}")]
    Refused(String),
    /// The consumer failed; the run was ended in good order.
    #[error("{0}")]
    Consumer(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// What `consume` may answer.
pub type Consumed = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// A machine that can be measured.
pub trait Machine {
    /// Checks the request, chooses CPUs, looks at the machine, tests work kernels and counters, and
    /// calibrates the clock. The manifest is complete but for what only the end of the run can tell.
    ///
    /// # Errors
    /// [`MachineError::Request`] for a CPU, rate or work kernel that is not to be had.
    fn prepare(&mut self, request: &Request) -> Result<Manifest, MachineError>;

    /// Measures. `consume` is called from the calling thread. When `stop` becomes true the run ends
    /// after the quantum under way and everything measured is still consumed. At the end `manifest`
    /// holds the final calibration, what was lost, incidents and the state.
    ///
    /// # Errors
    /// [`MachineError::Consumer`] if `consume` failed; the manifest is up to date then, too.
    fn run(
        &mut self,
        request: &Request,
        manifest: &mut Manifest,
        stop: &AtomicBool,
        consume: &mut dyn FnMut(Batch<'_>) -> Consumed,
    ) -> Result<(), MachineError>;
}

impl Request {
    /// Rate and work kernel of each series, in the order in which their segments alternate.
    pub fn series(&self) -> Vec<(f64, String)> {
        self.kernels
            .iter()
            .flat_map(|kernel| self.rates_hz.iter().map(|&rate| (rate, kernel.clone())))
            .collect()
    }

    /// The segments of the run: series and number of quanta of each, in order.
    ///
    /// Durations are met to a quantum; no segment is shorter than one quantum.
    pub fn segments(&self) -> Vec<(usize, u64)> {
        let series = self.series();
        let quanta_of = |index: usize| match self.length {
            Length::Duration(s) => {
                ((s / series.len() as f64 * series[index].0).round() as u64).max(1)
            }
            Length::Samples(n) => n,
        };
        if series.len() == 1 {
            return vec![(0, quanta_of(0))];
        }
        let mut left: Vec<u64> = (0..series.len()).map(quanta_of).collect();
        let mut segments = Vec::new();
        while left.iter().any(|&n| n > 0) {
            for (index, left) in left.iter_mut().enumerate().filter(|(_, left)| **left > 0) {
                let quanta = ((self.segment_s * series[index].0).round() as u64).clamp(1, *left);
                *left -= quanta;
                segments.push((index, quanta));
            }
        }
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            cpus: vec![0],
            rates_hz: vec![10_000.0, 7_777.0],
            kernels: vec!["mulss80".into()],
            length: Length::Duration(10.0),
            start_delay_s: 0.0,
            segment_s: 1.0,
            ticks_per_ns: None,
            ordered_reads: false,
            buffered: false,
            counters: Choice::Auto,
            self_test: true,
        }
    }

    #[test]
    fn two_rates_alternate_second_by_second() {
        let segments = request().segments();
        assert_eq!(segments.len(), 10);
        assert_eq!(segments[..3], [(0, 10_000), (1, 7_777), (0, 10_000)]);
    }

    #[test]
    fn one_series_is_one_segment() {
        let request = Request {
            rates_hz: vec![10_000.0],
            ..request()
        };
        assert_eq!(request.segments(), [(0, 100_000)]);
    }

    #[test]
    fn samples_are_met_exactly() {
        let request = Request {
            length: Length::Samples(12_345),
            ..request()
        };
        for series in 0..2 {
            let total: u64 = request
                .segments()
                .iter()
                .filter(|(index, _)| *index == series)
                .map(|(_, quanta)| quanta)
                .sum();
            assert_eq!(total, 12_345);
        }
    }
}
