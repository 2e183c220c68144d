//! What is asked of a measurement of fixed work, checked against this machine.

use super::work::Work;
use bandscope_probe::{plan, quietest};
use bandscope_sampler::MachineError;
use bandscope_sampler::machine::Length;

/// Lengths of work in microseconds: shorter, two clock reads are a hundredth of it; longer, few are undisturbed.
const WORKS_US: std::ops::RangeInclusive<f64> = 1.0..=1e6;
/// Kernels times lengths of work, each of which takes half a megabyte a CPU.
const MOST_RUNGS: usize = 64;
/// The longest run, a year.
const LONGEST_S: f64 = 366.0 * 86_400.0;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Request {
    /// CPUs; the quietest if empty.
    pub cpus: Vec<u32>,
    /// Loops and work kernels, see [`super::names`].
    pub kernels: Vec<String>,
    /// Lengths of work at their best, in microseconds.
    pub works_us: Vec<f64>,
    /// Of the run, or samples of each length and kernel on each CPU.
    pub length: Length,
}

impl Request {
    /// Refuses what cannot be had.
    pub(super) fn check(&self, allowed: &[u32]) -> Result<(), MachineError> {
        let refuse = |why: String| Err(MachineError::Request(why));
        for (index, &cpu) in self.cpus.iter().enumerate() {
            plan::check_cpu(cpu, allowed)?;
            if self.cpus[..index].contains(&cpu) {
                return refuse(format!("CPU {cpu} is named twice"));
            }
        }
        for (index, kernel) in self.kernels.iter().enumerate() {
            Work::named(kernel).map_err(|why| MachineError::Request(why.to_string()))?;
            if self.kernels[..index].contains(kernel) {
                return refuse(format!("{kernel} is named twice"));
            }
        }
        for (index, work) in self.works_us.iter().enumerate() {
            if !WORKS_US.contains(work) {
                return refuse(format!("--work: found {work} µs, expected 1 µs to 1 s"));
            }
            if self.works_us[..index].contains(work) {
                return refuse(format!("work of {work} us is named twice"));
            }
        }
        let rungs = self.kernels.len() * self.works_us.len();
        if !(1..=MOST_RUNGS).contains(&rungs) {
            return refuse(format!(
                "{} kernels times {} lengths of work: expected 1 to {MOST_RUNGS} in all",
                self.kernels.len(),
                self.works_us.len()
            ));
        }
        match self.length {
            Length::Duration(seconds) if !(1e-3..=LONGEST_S).contains(&seconds) => refuse(format!(
                "a duration of {seconds} s: expected 1 ms to a year"
            )),
            Length::Samples(0) => refuse("0 samples: expected 1 at least".into()),
            Length::Samples(samples) if samples > 1 << 48 => {
                refuse(format!("{samples} samples: expected 2^48 at most"))
            }
            _ => Ok(()),
        }
    }

    /// The CPUs that were named, or the quietest.
    pub(super) fn choose(
        &self,
        allowed: &[u32],
        ticks_per_ns: f64,
    ) -> Result<Vec<u32>, MachineError> {
        if !self.cpus.is_empty() {
            return Ok(self.cpus.clone());
        }
        let quietest = quietest::quietest(allowed, ticks_per_ns);
        let refused = || MachineError::Refused("this process may use no CPU".to_owned());
        Ok(vec![quietest.ok_or_else(refused)?])
    }
}
