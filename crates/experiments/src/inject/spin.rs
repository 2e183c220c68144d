//! Using the CPU until a moment, and noticing when it was taken away meanwhile.

use super::action::Waiting;
use bandscope_probe::clock::Plain;
use bandscope_sampler::Clock;

/// A jump of the disturber's own clock by more than this was an absence. Turns of the loop below take 15 to 60 ns, and the
/// shortest interrupts about a microsecond; the measuring loop calls a unit a gap by the same half microsecond.
pub const AWAY_NS: f64 = 500.0;

/// The first turn after waking finds cold caches: 0.5 to 0.8 us where nothing else happened (measured in a virtual machine), so
/// there it takes so many times the threshold to be an absence.
const COLD: u64 = 4;

/// What a turn of the loop does beside reading the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing.
    Busy,
    /// Tells the core that this is a waiting loop, which gives way to an SMT sibling.
    Pause,
}

/// Runs from `start`, which has just been read, until the clock reads `until`, or the run ends. `away` gets the first and
/// last tick of each absence. Returns the last tick read.
pub fn spin(
    turn: Turn,
    start: u64,
    until: u64,
    waiting: &Waiting,
    away: &mut dyn FnMut(u64, u64),
) -> u64 {
    let mut last = start;
    let mut threshold = waiting.away_threshold.saturating_mul(COLD);
    while last < until && !waiting.ends() {
        if turn == Turn::Pause {
            std::hint::spin_loop();
        }
        // Not `max`, which would hide a clock that was set back until it has caught up.
        let now = Plain.now();
        if now.saturating_sub(last) > threshold {
            away(last, now);
        }
        threshold = waiting.away_threshold;
        last = now;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_probe::clock;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn waiting(away_threshold: u64) -> Waiting {
        Waiting {
            stop: AtomicBool::new(false),
            ticks_per_ns: bandscope_probe::preparation::rough_ticks_per_ns(),
            away_threshold,
        }
    }

    #[test]
    fn it_ends_at_its_time_and_absences_lie_inside() {
        // Where the counter advances at all between two reads, that is an absence of more than no ticks.
        let waiting = waiting(0);
        let start = clock::ticks();
        let until = start + (2e6 * waiting.ticks_per_ns) as u64;
        let mut absences = Vec::new();
        let end = spin(Turn::Busy, start, until, &waiting, &mut |from, to| {
            absences.push((from, to))
        });
        assert!(end >= until);
        assert!(absences.iter().all(|(from, to)| from < to));
        assert!(absences.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        assert!(absences[0].0 >= start && absences.last().unwrap().1 <= end);
        let sum: u64 = absences.iter().map(|(from, to)| to - from).sum();
        assert_eq!(sum, end - start);
    }

    #[test]
    fn no_turn_is_taken_after_its_time_or_the_end_of_the_run() {
        let waiting = waiting(u64::MAX);
        let never = &mut |_, _| panic!("nothing is that long");
        assert_eq!(spin(Turn::Pause, 10, 10, &waiting, never), 10);
        waiting.stop.store(true, Ordering::Relaxed);
        assert_eq!(spin(Turn::Pause, 10, u64::MAX, &waiting, never), 10);
    }
}
