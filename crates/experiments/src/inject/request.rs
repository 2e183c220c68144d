//! What is asked of a disturber, checked against this machine.

use super::kinds::Kind;
use super::witness::siblings;
use bandscope_probe::{pin, plan, preparation, quietest};
use bandscope_recording::cpu_list;
use bandscope_sampler::MachineError;
use bandscope_sampler::machine::Priority;

/// The longest period and run, a year: no count of ticks overflows.
const LONGEST_S: f64 = 366.0 * 86_400.0;

/// What to do, and where. Times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What.
    pub kind: Kind,
    /// CPU that it runs on.
    pub cpu: u32,
    /// CPUs that are measured meanwhile, as far as they are known: nothing is written on them where there are others.
    pub measured: Vec<u32>,
    /// Its real-time priority where it takes the CPU: above that of whoever is measured.
    pub priority: Priority,
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
        let allowed = allowed()?;
        plan::check_cpu(
            self.cpu,
            &pin::reachable().unwrap_or_else(|_| allowed.clone()),
        )?;
        Ok(self.left_of(&allowed))
    }

    /// Those that are neither disturbed nor measured, or the neighbour's own, or else any but the disturbed one.
    fn left_of(&self, allowed: &[u32]) -> Vec<u32> {
        let but = |taken: &[u32]| -> Vec<u32> {
            let left = allowed.iter().filter(|cpu| !taken.contains(cpu));
            left.copied().collect()
        };
        let neighbours = match self.kind.takes_the_cpu() || self.measured.is_empty() {
            true => Vec::new(),
            false => but(&self.measured),
        };
        let apart = but(&[&[self.cpu], &self.measured[..]].concat());
        let mut choices = [apart, neighbours, but(&[self.cpu])].into_iter();
        choices.find(|cpus| !cpus.is_empty()).unwrap_or_default()
    }
}

fn allowed() -> Result<Vec<u32>, MachineError> {
    pin::allowed().map_err(|error| {
        MachineError::Refused(format!("cannot ask which CPUs may be used: {error}"))
    })
}

/// A CPU to disturb and to measure: the quietest but for those that are `taken`, by a neighbour or by the threads that write.
///
/// # Errors
/// [`MachineError::Request`] if there is no other CPU.
pub fn choose_cpu(taken: &[u32]) -> Result<u32, MachineError> {
    let mut candidates = allowed()?;
    candidates.retain(|cpu| !taken.contains(cpu));
    quietest::quietest(&candidates, preparation::rough_ticks_per_ns())
        .ok_or_else(|| no_other(taken))
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
        .ok_or_else(|| no_other(&[measured]))
}

fn no_other(taken: &[u32]) -> MachineError {
    MachineError::Request(match taken {
        [] => "this process may use no CPU".to_owned(),
        _ => format!(
            "found no CPU that this process may use but {}, expected another one",
            cpu_list::written(taken)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            kind: Kind::Task,
            cpu: 0,
            measured: Vec::new(),
            priority: Priority::LOWEST,
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
                ..all_the_time.clone()
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
    fn rows_are_written_where_nothing_is_disturbed_or_measured_if_that_can_be() {
        let neighbour = Kind::Neighbour(super::super::Neighbour::Spin);
        let four = &[0, 1, 2, 3][..];
        for (kind, cpu, measured, allowed, wanted) in [
            (Kind::Task, 1, &[1][..], four, &[0, 2, 3][..]),
            (Kind::Task, 1, &[1, 2], four, &[0, 3]),
            (Kind::Task, 1, &[1, 0], &[0, 1], &[0]),
            (Kind::Task, 1, &[1], &[1], &[]),
            (neighbour, 1, &[3], four, &[0, 2]),
            (neighbour, 1, &[0], &[0, 1], &[1]),
            (neighbour, 1, &[], &[0, 1], &[0]),
            (neighbour, 1, &[], &[1], &[]),
        ] {
            let request = Request {
                kind,
                cpu,
                measured: measured.to_vec(),
                ..request()
            };
            assert_eq!(request.left_of(allowed), wanted, "{request:?}");
        }
    }

    #[test]
    fn what_is_taken_is_not_chosen() {
        let allowed = allowed().unwrap();
        assert_eq!(choose_cpu(&allowed[1..]).unwrap(), allowed[0]);
        let why = choose_cpu(&allowed).unwrap_err().to_string();
        assert!(why.contains("expected another one"), "{why}");
    }

    #[test]
    fn a_neighbour_is_another_cpu_or_refused() {
        let allowed = allowed().unwrap();
        match choose_neighbour(allowed[0]) {
            Ok(cpu) => assert!(cpu != allowed[0] && allowed.contains(&cpu)),
            Err(why) => {
                assert_eq!(allowed.len(), 1);
                assert!(why.to_string().contains("expected another one"));
            }
        }
    }
}
