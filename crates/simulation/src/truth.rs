//! What really happened in a simulated run: the yardstick for everything that an analysis says of it.
//!
//! [`crate::world`] writes it while the machine runs. Times are ticks since the recording's origin, as in the
//! recording itself; what happened during the start delay has negative ones.

/// Entries that a list of the truth holds at most: 2^21, about an hour of 500 events a second and at most
/// 64 MiB. The totals go on beyond it, and [`Truth::omitted`] tells how many are missing.
pub const MOST_ENTRIES: usize = 1 << 21;

/// The truth about one CPU of a simulated run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truth {
    /// CPU that was asked for; the thread may have been moved away from it.
    pub cpu: u32,
    /// What the scenario consists of.
    pub parts: Vec<Part>,
    /// Ticks that the clock really counts per nanosecond.
    pub ticks_per_ns: f64,
    /// Ticks per nanosecond that the quanta were made with.
    pub used_ticks_per_ns: f64,
    /// Whether quanta were truncated to whole ticks.
    pub truncated: bool,
    /// Ticks from the machine's start to the recording's origin: the start delay, and what was left then of
    /// an absence.
    pub origin: f64,
    /// When the loop ran, in order.
    pub segments: Vec<Segment>,
    /// Times away, in order.
    pub absences: Vec<Absence>,
    /// Changes of pace, in order; the first is the state at the start.
    pub paces: Vec<PaceChange>,
    /// Costs of quantum boundaries, in order.
    pub boundaries: Vec<BoundaryCost>,
    /// Jumps of the phase of periodic changes of pace, and changes of CPU, in order.
    pub jumps: Vec<Jump>,
    /// Total time away, in ticks, those that found no room in the list included.
    pub away_ticks: f64,
    /// Total cost of boundaries, in ticks, likewise.
    pub boundary_ticks: f64,
    /// Absences, changes of pace, boundary costs and jumps that found no room in their lists.
    pub omitted: u64,
}

/// One part of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name in the catalogue.
    pub name: &'static str,
    /// Its parameters, in the order of the catalogue: seconds, hertz, shares or plain numbers.
    pub values: Vec<(&'static str, f64)>,
    /// Hertz, where it recurs in time: of interrupts that are not random, or of a whole turn of the paces.
    pub frequency_hz: Option<f64>,
    /// When the machine is warm, in seconds since its start; `None` of all but a warm-up.
    pub warm_up_s: Option<f64>,
    /// Kinds of findings that it is an example of, given these parameters and rates.
    pub kinds: Vec<&'static str>,
}

/// One run of the measuring loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Index into the request's series.
    pub series: usize,
    /// Ticks since the origin.
    pub start: f64,
    /// Ticks since the origin.
    pub end: f64,
    /// Ticks of an undisturbed unit.
    pub ticks_per_unit: f64,
    /// Length that the loop gave its quanta, in ticks.
    pub quantum_ticks: f64,
}

/// One time away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Absence {
    /// Ticks since the origin.
    pub start: f64,
    /// Ticks that the CPU was away.
    pub length: f64,
    /// Index of the part of the scenario.
    pub source: usize,
}

/// From here on a unit takes another time, or would if the work kernel were sensitive to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaceChange {
    /// Ticks since the origin.
    pub at: f64,
    /// Ticks per unit from then on, all parts together.
    pub ticks_per_unit: f64,
    /// Index of the part that changed; `None` where another work kernel begins.
    pub source: Option<usize>,
    /// By how much that part slows its work from then on; 1 is not at all.
    pub slowdown: f64,
}

/// What one boundary cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundaryCost {
    /// Ticks since the origin.
    pub at: f64,
    /// Ticks that it took.
    pub cost: f64,
    /// Index of the part of the scenario.
    pub source: usize,
}

/// The phase of periodic changes of pace jumped, or the thread changed its CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jump {
    /// Ticks since the origin.
    pub at: f64,
    /// By how much the edges of periodic changes of pace come later from then on, in ticks.
    pub delay: f64,
    /// CPU before; the same as after it where only the phase jumps.
    pub from: u32,
    /// CPU after; the same where only the phase jumped.
    pub to: u32,
    /// Index of the part of the scenario.
    pub source: usize,
}

impl Truth {
    /// Whether the loop ran at `at`, in ticks since the origin.
    pub fn measured_at(&self, at: f64) -> bool {
        let after = self.segments.partition_point(|segment| segment.start <= at);
        after > 0 && at < self.segments[after - 1].end
    }

    /// Printed quantum over nominal, less 1, in parts per million: as much as the quanta of `rate_hz` are
    /// too long (negative: too short) when their times are printed with the true clock.
    pub fn drift_ppm(&self, rate_hz: f64) -> f64 {
        let quantum = quantum_ticks(self.used_ticks_per_ns, rate_hz, self.truncated);
        (quantum / (self.ticks_per_ns * 1e9 / rate_hz) - 1.0) * 1e6
    }

    /// Shifts all times so that `origin`, in ticks of the machine, is tick 0.
    pub(crate) fn since(mut self, origin: f64) -> Truth {
        self.origin = origin;
        self.segments.iter_mut().for_each(|segment| {
            segment.start -= origin;
            segment.end -= origin;
        });
        self.absences.iter_mut().for_each(|a| a.start -= origin);
        self.paces.iter_mut().for_each(|p| p.at -= origin);
        self.boundaries.iter_mut().for_each(|b| b.at -= origin);
        self.jumps.iter_mut().for_each(|j| j.at -= origin);
        self
    }

    pub(crate) fn note_absence(&mut self, absence: Absence) {
        self.away_ticks += absence.length;
        keep(&mut self.absences, absence, &mut self.omitted);
    }

    pub(crate) fn note_pace(&mut self, change: PaceChange) {
        keep(&mut self.paces, change, &mut self.omitted);
    }

    pub(crate) fn note_boundary(&mut self, boundary: BoundaryCost) {
        self.boundary_ticks += boundary.cost;
        keep(&mut self.boundaries, boundary, &mut self.omitted);
    }

    pub(crate) fn note_jump(&mut self, jump: Jump) {
        keep(&mut self.jumps, jump, &mut self.omitted);
    }
}

fn keep<T>(list: &mut Vec<T>, entry: T, omitted: &mut u64) {
    if list.len() < MOST_ENTRIES {
        list.push(entry);
    } else {
        *omitted += 1;
    }
}

/// Ticks that the loop gives a quantum of `rate_hz`.
pub(crate) fn quantum_ticks(ticks_per_ns: f64, rate_hz: f64, truncated: bool) -> f64 {
    let ticks = ticks_per_ns * 1e9 / rate_hz;
    if truncated { ticks.floor() } else { ticks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_end_and_totals_go_on() {
        let mut truth = Truth::default();
        for _ in 0..MOST_ENTRIES + 3 {
            truth.note_absence(Absence {
                start: 0.0,
                length: 2.0,
                source: 0,
            });
        }
        assert_eq!(truth.absences.len(), MOST_ENTRIES);
        assert_eq!(truth.omitted, 3);
        assert_eq!(truth.away_ticks, 2.0 * (MOST_ENTRIES + 3) as f64);
    }

    #[test]
    fn drift_is_that_of_the_printed_quantum() {
        let truth = Truth {
            ticks_per_ns: 2.0 - 1e-9,
            used_ticks_per_ns: 2.0 - 1e-9,
            truncated: true,
            ..Truth::default()
        };
        assert!((truth.drift_ppm(1e4) + 4.9995).abs() < 1e-3);
        let wrong = Truth {
            ticks_per_ns: 2.3982,
            used_ticks_per_ns: 2.4,
            ..Truth::default()
        };
        assert!((wrong.drift_ppm(1e4) - 750.6).abs() < 0.1);
    }
}
