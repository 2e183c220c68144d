//! A work kernel on this CPU: its best pace, whether that depends on its address, and what a quantum's
//! boundary costs. All by the real loop, in well under half a second.

use crate::boundary;
use crate::clock::{self, Ordered, Plain};
use crate::kernels::{self, NativeKernel, PLACEMENTS, Role, Visitor};
use bandscope_recording::manifest::Kernel;
use bandscope_sampler::record::Unpacked;
use bandscope_sampler::{Clock, Flow, QuantumRecord, Segment, Sink, measure};
use std::time::{Duration, Instant};

/// Quanta of 100 us that are looked at for the best pace: 60 ms.
const PACE_QUANTA: u64 = 600;
const PACE_QUANTUM_NS: f64 = 100_000.0;
/// Tries to have a quarter of them without a gap, on a CPU that is shared.
const PACE_ROUNDS: usize = 4;
/// A best pace must be seen this many times within 0.1 %, so that no single odd reading makes it.
const SEEN_TIMES: usize = 5;
const SEEN_WITHIN: f64 = 0.001;
/// Spread over placements below which a kernel is invariant (docs/method.md, section 9.1).
const INVARIANT: f64 = 0.005;
/// Length of one timing of a placed copy.
const PLACEMENT_NS: f64 = 6_000.0;
/// Rounds over all placements: 64 * 6 us * 300 = 115 ms.
const PLACEMENT_ROUNDS: usize = 300;
/// Rounds that make a best of each placement: a tenth of them.
const MIN_PLACEMENT_ROUNDS: usize = PLACEMENT_ROUNDS / 10;
/// Rounds are CPU time: where other tasks take the CPU, they end after this much on the clock.
pub const PLACEMENT_PATIENCE: Duration = Duration::from_secs(1);
/// Units looked at for a first idea of how long one takes.
const FIRST_UNITS: usize = 2_000;

/// What to find out.
#[derive(Clone, Copy, Debug)]
pub struct SelfTest {
    /// Read the clock ordered inside a quantum.
    pub ordered_reads: bool,
    /// Ticks per nanosecond.
    pub ticks_per_ns: f64,
    /// Placements and boundary too, not the pace alone.
    pub full: bool,
}

impl SelfTest {
    /// Tests the work kernel `name` on the CPU of the calling thread; `None` if there is no such kernel.
    pub fn run(self, name: &str) -> Option<Kernel> {
        kernels::dispatch(name, self)
    }

    fn with<C: Clock, K: NativeKernel>(self, mut clock: C) -> Kernel {
        let info = K::INFO;
        let first = shortest_unit::<C, K>(&mut clock);
        let threshold = info.gap_threshold(first, self.ticks_per_ns);
        // A tripwire's pace changes with every interruption, in either direction. Neither short stretches nor placements would show more
        // than who interrupted it.
        let is_tripwire = matches!(info.role, Role::Tripwire { .. });
        let best = match is_tripwire {
            true => Some(first),
            false => best_pace::<C, K>(&mut clock, threshold, self.ticks_per_ns),
        };
        let unit = best.unwrap_or(first);
        let full = self.full && !is_tripwire;
        let gap_threshold_ticks = info.gap_threshold(unit, self.ticks_per_ns);
        let spread = full
            .then(|| placement_spread::<K>(unit, self.ticks_per_ns, PLACEMENT_PATIENCE))
            .flatten();
        let boundary = full
            .then(|| boundary::costs::<C, K>(clock, unit * 40.0, 800, gap_threshold_ticks))
            .flatten();
        Kernel {
            name: info.name.to_owned(),
            description: info.description.to_owned(),
            hash: K::twin().hash(),
            operations: info.operations,
            gap_threshold_ticks,
            best_ticks_per_unit: best,
            placement_spread: spread,
            invariant: spread.map(|spread| spread < INVARIANT),
            boundary_ticks: boundary.map(|costs| costs.both()),
            read_ahead_ticks: boundary.map(|costs| costs.read_ahead()),
            fractions: info.fractions.to_vec(),
            registers_only: info.role == Role::Probe,
            throughput: info.role == Role::Throughput,
            pace_after_interruption: match info.role {
                Role::Tripwire { rest } => Some(rest),
                _ => None,
            },
        }
    }
}

impl Visitor for SelfTest {
    type Output = Kernel;
    fn visit<K: NativeKernel>(self) -> Kernel {
        if self.ordered_reads {
            self.with::<Ordered, K>(Ordered)
        } else {
            self.with::<Plain, K>(Plain)
        }
    }
}

/// The shortest of some units, in ticks; of a tripwire that goes faster once interrupted the median, of one that goes slower a tenth's limit.
fn shortest_unit<C: Clock, K: NativeKernel>(clock: &mut C) -> f64 {
    let mut kernel = K::default();
    let mut last = clock.now_ordered();
    let mut durations = [0u64; FIRST_UNITS];
    for duration in &mut durations {
        kernel.execute();
        let now = clock.now();
        *duration = now.wrapping_sub(last);
        last = now;
    }
    durations.sort_unstable();
    let index = match K::INFO.role {
        // Whatever goes slower after an interruption stays so for most units at times: 15 us were 72 and 79 on Zen 3.
        Role::Tripwire { rest } if rest > 1.0 => FIRST_UNITS / 10,
        Role::Tripwire { .. } => FIRST_UNITS / 2,
        // Not the very shortest: plain reads may come early once.
        _ => FIRST_UNITS / 100,
    };
    durations[index].max(1) as f64
}

/// Best pace of the real loop over short quanta without a gap, in ticks per unit.
pub fn best_pace<C: Clock, K: NativeKernel>(
    clock: &mut C,
    gap_threshold_ticks: u64,
    ticks_per_ns: f64,
) -> Option<f64> {
    let mut clean = Vec::new();
    for _ in 0..PACE_ROUNDS {
        let quantum_ticks = PACE_QUANTUM_NS * ticks_per_ns;
        clean.extend(paces::<C, K>(
            clock,
            PACE_QUANTA,
            quantum_ticks,
            gap_threshold_ticks,
        ));
        if clean.len() as u64 >= PACE_QUANTA / 4 {
            break;
        }
    }
    lowest_that_repeats(clean)
}

/// Pace of each of `quanta` quanta that has no gap, in ticks per unit.
pub fn paces<C: Clock, K: NativeKernel>(
    clock: &mut C,
    quanta: u64,
    quantum_ticks: f64,
    gap_threshold_ticks: u64,
) -> Vec<f64> {
    let mut sink = Paces(Vec::with_capacity(quanta as usize));
    let start = clock.now_ordered();
    let segment = Segment {
        quantum_ticks,
        quanta,
        gap_threshold_ticks,
        // Nothing is read at a gap: only a clock that runs backwards is beyond this.
        handling_limit_ticks: u64::MAX / 2,
        origin: start,
    };
    let mut kernel = K::default();
    measure(clock, &mut kernel, &mut sink, &segment, start);
    sink.0
}

/// Keeps the pace of quanta without a gap.
struct Paces(Vec<f64>);

impl Sink for Paces {
    #[inline(always)]
    fn quantum(&mut self, record: QuantumRecord) -> Flow {
        if let Unpacked::Quantum {
            count,
            gaps: 0,
            present,
            ..
        } = record.unpack()
            && count > 0
        {
            self.0.push(f64::from(present) / f64::from(count));
        }
        Flow::Continue
    }
    fn gap(&mut self, _start: u64, _duration: u64) {}
    fn checkpoint(&mut self, _now: u64) {}

    fn caught_up(&mut self, _now: u64) {}
    fn handled(&mut self, _ticks: u64) {}
}

/// The lowest value that [`SEEN_TIMES`] values share within [`SEEN_WITHIN`].
fn lowest_that_repeats(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values
        .windows(SEEN_TIMES)
        .find(|window| window[SEEN_TIMES - 1] <= window[0] * (1.0 + SEEN_WITHIN))
        .map(|window| window[0])
}

/// Relative spread of the pace over [`PLACEMENTS`] addresses: (max - min) / min. `None` where too few rounds end within `patience`.
///
/// Placements take turns, and the best round of each counts, so that what disturbs one disturbs all.
pub fn placement_spread<K: NativeKernel>(
    unit_ticks: f64,
    ticks_per_ns: f64,
    patience: Duration,
) -> Option<f64> {
    let begun = Instant::now();
    let units = (PLACEMENT_NS * ticks_per_ns / unit_ticks).ceil().max(4.0) as u32;
    let mut kernel = K::default();
    let mut best = [u64::MAX; PLACEMENTS];
    for round in 0..PLACEMENT_ROUNDS {
        if begun.elapsed() >= patience {
            if round < MIN_PLACEMENT_ROUNDS {
                return None;
            }
            break;
        }
        for (index, best) in best.iter_mut().enumerate() {
            // Once untimed, so that the copy's code is at hand.
            kernel.execute_copy(index);
            let start = clock::ticks();
            (0..units).for_each(|_| kernel.execute_copy(index));
            *best = (*best).min(clock::ticks().wrapping_sub(start));
        }
    }
    let shortest = best.iter().copied().min().unwrap_or(1).max(1) as f64;
    let longest = best.iter().copied().max().unwrap_or(1) as f64;
    Some((longest - shortest) / shortest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_odd_reading_makes_no_best_pace() {
        let mut values = vec![100.0; 20];
        values.extend([50.0, 80.0, 80.01]);
        assert_eq!(lowest_that_repeats(values), Some(100.0));
        assert_eq!(lowest_that_repeats(vec![1.0, 2.0, 3.0, 4.0, 5.0]), None);
        assert_eq!(lowest_that_repeats(Vec::new()), None);
    }

    #[test]
    fn placements_that_the_cpu_has_no_time_for_are_left_out() {
        struct Spread(Duration);
        impl Visitor for Spread {
            type Output = Option<f64>;
            fn visit<K: NativeKernel>(self) -> Option<f64> {
                placement_spread::<K>(1e6, 1.0, self.0)
            }
        }
        let spread = |patience| kernels::dispatch(kernels::default_kernel(), Spread(patience));
        assert_eq!(spread(Duration::ZERO), Some(None));
        assert!(spread(Duration::MAX).flatten().is_some());
    }

    #[test]
    fn every_kernel_passes_through_its_self_test() {
        for info in kernels::kernels() {
            if kernels::check(info.name).is_err() {
                println!("skipped: this CPU cannot run {}", info.name);
                continue;
            }
            let test = SelfTest {
                ordered_reads: false,
                ticks_per_ns: 2.0,
                full: false,
            };
            let kernel = test.run(info.name).unwrap();
            println!("{kernel:?}");
            assert!(kernel.gap_threshold_ticks >= 1000);
            assert_eq!(kernel.fractions, info.fractions);
            assert_eq!(kernel.placement_spread, None);
        }
    }
}
