//! When the segments of a run end: at ticks that are known at its start, so that an absence of the CPU does not lengthen the run.
//!
//! A segment that begins late is shorter. A segment whose end is past is left out, and its series takes the next one: so all series
//! have equally many segments, whatever the rhythm of the absences. A run of a given number of samples has no such ends.

use crate::machine::{Length, Request, Segments};

/// A segment that begins at most so late keeps all its quanta: reading the counters, and a setting of the thread, take less.
const MAX_LATENESS_S: f64 = 1e-3;
/// The run begins with its first segment, but at most so long after the moment that was set for all CPUs.
const MAX_LATE_START_S: f64 = 0.5;

/// The segments of one CPU that are still to come. Times are ticks since the recording's origin.
#[derive(Clone, Debug)]
pub struct Schedule {
    segments: Segments,
    /// Length of a quantum of each series.
    quantum_ticks: Vec<f64>,
    max_lateness_ticks: f64,
    max_late_start_ticks: f64,
    /// Whether segments end in time, or have all their quanta.
    keeps_time: bool,
    /// Planned end of the segment that was handed out last.
    planned_end: f64,
    left_out: u64,
}

/// The next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Index of its series.
    pub series: usize,
    /// Number of its quanta.
    pub quanta: u64,
}

impl Schedule {
    /// The schedule of `request` by a clock of so many ticks per nanosecond.
    pub fn new(request: &Request, ticks_per_ns: f64) -> Schedule {
        let ticks_per_s = ticks_per_ns * 1e9;
        let series = request.series();
        Schedule {
            segments: request.segments(),
            quantum_ticks: (series.iter().map(|(rate, _)| ticks_per_s / rate)).collect(),
            max_lateness_ticks: MAX_LATENESS_S * ticks_per_s,
            max_late_start_ticks: MAX_LATE_START_S * ticks_per_s,
            keeps_time: matches!(request.length, Length::Duration(_)),
            planned_end: 0.0,
            left_out: 0,
        }
    }

    /// The segments as they are planned.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Fixes all ends: the run was to begin at `planned`, and can begin `now`.
    pub fn begin(&mut self, planned: u64, now: u64) {
        self.planned_end = (now as f64).min(planned as f64 + self.max_late_start_ticks);
    }

    /// The next segment, which begins `now`; `None` at the end of the run.
    pub fn next_turn(&mut self, now: u64) -> Option<Turn> {
        loop {
            let (series, quanta) = self.segments.next()?;
            let planned_start = self.planned_end;
            self.planned_end += quanta as f64 * self.quantum_ticks[series];
            let is_late = now as f64 - planned_start > self.max_lateness_ticks;
            if !self.keeps_time || (!is_late && self.left_out == 0) {
                return Some(Turn { series, quanta });
            }
            let start = if is_late { now as f64 } else { planned_start };
            let series = self.delayed(series);
            let quanta = ((self.planned_end - start) / self.quantum_ticks[series]).round();
            if quanta >= 1.0 {
                return Some(Turn {
                    series,
                    quanta: quanta as u64,
                });
            }
            self.left_out += 1;
        }
    }

    /// Segments that were left out, because the CPU came too late for a quantum of them.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The series whose turn it is in place of `planned`: each segment that was left out delays all turns by one.
    fn delayed(&self, planned: usize) -> usize {
        let number = self.quantum_ticks.len();
        let delay = (self.left_out % number as u64) as usize;
        (planned + number - delay) % number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::request;

    const TICKS_PER_NS: f64 = 2.0;
    const SECOND: u64 = 2_000_000_000;

    fn schedule(request: &Request) -> Schedule {
        let mut schedule = Schedule::new(request, TICKS_PER_NS);
        schedule.begin(SECOND, SECOND);
        schedule
    }

    /// Runs it on a CPU that is there for `there` ticks of every `period`; the turns, and when the last one ended.
    fn run(schedule: &mut Schedule, (there, period): (u64, u64)) -> (Vec<Turn>, u64) {
        let (mut now, mut turns) = (SECOND, Vec::new());
        while let Some(turn) = schedule.next_turn(now) {
            now += (turn.quanta as f64 * schedule.quantum_ticks[turn.series]) as u64;
            // Where it is away at the end of the segment, it notices when it is back.
            now += match now % period {
                phase if phase < there => 0,
                phase => period - phase,
            };
            turns.push(turn);
        }
        (turns, now)
    }

    #[test]
    fn without_absences_segments_are_as_planned() {
        let request = request();
        let mut schedule = schedule(&request);
        // Each begins some microseconds after its predecessor.
        let mut now = SECOND;
        for (series, quanta) in request.segments() {
            assert_eq!(schedule.next_turn(now), Some(Turn { series, quanta }));
            now += SECOND + 20_000;
        }
        assert_eq!((schedule.next_turn(now), schedule.left_out()), (None, 0));
    }

    #[test]
    fn a_late_segment_ends_in_time() {
        let mut schedule = schedule(&request());
        let turn = |series, quanta| Some(Turn { series, quanta });
        assert_eq!(schedule.next_turn(SECOND), turn(0, 10_000));
        assert_eq!(schedule.next_turn(2 * SECOND + SECOND / 2), turn(1, 3_889));
        assert_eq!(schedule.next_turn(3 * SECOND), turn(0, 10_000));
        // It is back after the fourth and in the middle of the fifth, which the series of the fourth takes.
        assert_eq!(schedule.next_turn(5 * SECOND + SECOND / 2), turn(1, 3_889));
        assert_eq!(schedule.next_turn(6 * SECOND), turn(0, 10_000));
        assert_eq!(schedule.next_turn(7 * SECOND), turn(1, 7_777));
        assert_eq!(schedule.left_out(), 1);
        assert_eq!(schedule.next_turn(100 * SECOND), None);
    }

    #[test]
    fn a_starved_run_ends_in_time_and_all_series_have_their_turns() {
        let request = Request {
            length: Length::Duration(100.0),
            ..request()
        };
        // An absence of two segments would always come back to the same series.
        for period in [1, 2, 3, 4, 10].map(|tenths| tenths * SECOND / 2) {
            let mut schedule = schedule(&request);
            let (turns, end) = run(&mut schedule, (SECOND / 100, period));
            assert!(
                end <= 101 * SECOND + period + SECOND / 1000,
                "{period}: {end}"
            );
            let [first, second] = [0, 1].map(|series| {
                let of_series = turns.iter().filter(|turn| turn.series == series);
                of_series.count()
            });
            assert!(first.abs_diff(second) <= 1, "{period}: {first}, {second}");
            assert!(second >= 5, "{period}: {turns:?}");
        }
    }

    #[test]
    fn a_run_that_begins_too_late_is_shorter() {
        let one = Request {
            rates_hz: vec![10_000.0],
            ..request()
        };
        let begun = |at: u64| {
            let mut schedule = Schedule::new(&one, TICKS_PER_NS);
            schedule.begin(SECOND, at);
            schedule.next_turn(at).map(|turn| turn.quanta)
        };
        assert_eq!(begun(SECOND + SECOND / 4), Some(100_000));
        assert_eq!(begun(SECOND + 5 * SECOND / 2), Some(80_000));
        assert_eq!(begun(12 * SECOND), None);
    }

    #[test]
    fn samples_are_kept_whatever_they_take() {
        let request = Request {
            length: Length::Samples(20_000),
            ..request()
        };
        let mut schedule = schedule(&request);
        let (turns, _) = run(&mut schedule, (SECOND / 100, 5 * SECOND));
        let turns = turns.into_iter().map(|turn| (turn.series, turn.quanta));
        assert!(turns.eq(request.segments()));
    }
}
