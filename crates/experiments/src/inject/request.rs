//! What is asked of a disturber, checked against this machine.

use super::kinds::Kind;
use super::witness::siblings;
use bandscope_probe::{pin, plan, preparation, quietest};
use bandscope_sampler::MachineError;

/// The longest period and run, a year: no count of ticks overflows.
const LONGEST_S: f64 = 366.0 * 86_400.0;

/// What to do, and where. Times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What.
    pub kind: Kind,
    /// CPU that it runs on.
    pub cpu: u32,
    /// From one regular start to the next.
    pub period_s: f64,
    /// How long each lasts.
    pub length_s: f64,
    /// Full width of the uniform scatter of starts about the regular ones.
    pub jitter_s: f64,
    /// Decides the scatter.
    pub seed: u64,
    /// How long; `None` until it is told to end.
    pub duration_s: Option<f64>,
}

impl Request {
    /// Checks that times are times, and that disturbances cannot overlap.
    pub(super) fn check(&self) -> Result<(), MachineError> {
        let refuse = |why: String| Err(MachineError::Request(why));
        for (name, seconds) in [("period", self.period_s), ("length", self.length_s)] {
            if !(seconds > 0.0 && seconds <= LONGEST_S) {
                return refuse(format!(
                    "{name}: found {seconds} s, expected more than 0 and at most a year"
                ));
            }
        }
        if self
            .duration_s
            .is_some_and(|seconds| !(0.0..=LONGEST_S).contains(&seconds))
        {
            return refuse("duration: expected at most a year".to_owned());
        }
        // 200 ms and 100 ms are 300 ms, whatever the sum of two binary fractions is.
        let ns = |seconds: f64| (seconds * 1e9).round();
        let fits = ns(self.length_s) + ns(self.jitter_s) <= ns(self.period_s);
        if !(self.jitter_s >= 0.0 && fits) {
            return refuse(format!(
                "length and jitter: found {} s and {} s, expected together at most the period of {} s, so that no \
                 disturbance runs into the next",
                self.length_s, self.jitter_s, self.period_s
            ));
        }
        Ok(())
    }

    /// The CPUs that are left for everything else.
    pub(super) fn others(&self) -> Result<Vec<u32>, MachineError> {
        let mut allowed = allowed()?;
        plan::check_cpu(
            self.cpu,
            &pin::reachable().unwrap_or_else(|_| allowed.clone()),
        )?;
        allowed.retain(|&cpu| cpu != self.cpu);
        Ok(allowed)
    }
}

fn allowed() -> Result<Vec<u32>, MachineError> {
    pin::allowed().map_err(|error| {
        MachineError::Refused(format!("cannot ask which CPUs may be used: {error}"))
    })
}

/// A CPU to disturb and to measure: the quietest, as `record` would choose, but for that of a neighbour.
///
/// # Errors
/// [`MachineError::Request`] if there is no other CPU than the neighbour's.
pub fn choose_cpu(neighbour: Option<u32>) -> Result<u32, MachineError> {
    let mut candidates = allowed()?;
    candidates.retain(|&cpu| Some(cpu) != neighbour);
    quietest::quietest(&candidates, preparation::rough_ticks_per_ns())
        .ok_or_else(|| no_other(neighbour))
}

/// A CPU for a neighbour of `measured`: an SMT sibling, or else any other one.
///
/// # Errors
/// [`MachineError::Request`] if there is no other CPU.
pub fn choose_neighbour(measured: u32) -> Result<u32, MachineError> {
    let mut others = allowed()?;
    others.retain(|&cpu| cpu != measured);
    let siblings = siblings(measured);
    let sibling = others.iter().find(|cpu| siblings.contains(cpu));
    sibling
        .or(others.first())
        .copied()
        .ok_or_else(|| no_other(Some(measured)))
}

fn no_other(taken: Option<u32>) -> MachineError {
    MachineError::Request(match taken {
        Some(cpu) => format!(
            "a neighbour needs another CPU than the measured one, and this process may use CPU {cpu} only"
        ),
        None => "this process may use no CPU".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            kind: Kind::Task,
            cpu: 0,
            period_s: 5e-3,
            length_s: 50e-6,
            jitter_s: 0.0,
            seed: 0,
            duration_s: None,
        }
    }

    #[test]
    fn disturbances_that_would_overlap_are_refused() {
        request().check().unwrap();
        let all_the_time = Request {
            length_s: 5e-3,
            ..request()
        };
        all_the_time.check().unwrap();
        let exactly = Request {
            period_s: 0.3,
            length_s: 0.2,
            jitter_s: 0.1,
            ..request()
        };
        exactly.check().unwrap();
        for wrong in [
            Request {
                jitter_s: 1e-6,
                ..all_the_time
            },
            Request {
                jitter_s: -1e-6,
                ..request()
            },
            Request {
                jitter_s: f64::NAN,
                ..request()
            },
            Request {
                period_s: 0.0,
                ..request()
            },
            Request {
                length_s: f64::NAN,
                ..request()
            },
            Request {
                period_s: 1e300,
                ..request()
            },
            Request {
                duration_s: Some(1e300),
                ..request()
            },
        ] {
            let why = wrong.check().unwrap_err().to_string();
            assert!(
                why.contains("expected") && why.lines().count() == 1,
                "{why}"
            );
        }
    }

    #[test]
    fn a_neighbour_is_another_cpu_or_refused() {
        let allowed = allowed().unwrap();
        match choose_neighbour(allowed[0]) {
            Ok(cpu) => assert!(cpu != allowed[0] && allowed.contains(&cpu)),
            Err(why) => {
                assert_eq!(allowed.len(), 1);
                assert!(why.to_string().contains("needs another CPU"));
            }
        }
    }
}
