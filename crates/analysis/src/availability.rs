//! Second pass: the worst availability in any window (minimum mutator utilisation, Cheng and Blelloch 2001).
//!
//! Work is units at the best pace. A window is the shortest run of quanta that lasts its length (to a quarter of a quantum), and slides by a
//! quantum, or by 1/256 of itself if that is longer: so what is remembered is bounded, and a window is at most
//! that much, or a quantum, too long. No window crosses a segment.

use crate::context::Context;
use crate::derive::{Derived, as_float};
use crate::detector::Detector;
use crate::report::Availability;

/// Windows in seconds.
const WINDOWS_S: [f64; 4] = [1e-3, 1e-2, 1e-1, 1.0];
/// A window of fewer quanta than this would show the grid and not the machine.
const FEWEST_QUANTA: f64 = 5.0;
/// Share of a quantum by which a window may be too short: quanta end late by up to a unit, and ten of them are to be 1 ms.
const TOLERANCE: f64 = 0.25;
/// Steps to a window at most.
const STEPS: f64 = 256.0;
/// Instants remembered: those of a window, and a few more; a power of two.
const RING: usize = 512;

/// An instant, and the units completed in the segment until then.
#[derive(Clone, Copy, Debug, Default)]
struct Instant {
    tick: u64,
    units: u64,
}

#[derive(Clone, Debug)]
struct Window {
    seconds: f64,
    ticks: u64,
    step_ticks: u64,
    ring: [Instant; RING],
    /// Number of the oldest instant that is of use, and of the next one to come.
    oldest: usize,
    next: usize,
    units: u64,
    /// Units per tick.
    worst: f64,
    at: u64,
}

impl Window {
    fn new(seconds: f64, context: &Context) -> Window {
        let ticks = context.ticks(seconds);
        Window {
            seconds,
            ticks: ((ticks - TOLERANCE * context.quantum_ticks) as u64).max(1),
            step_ticks: ((ticks / STEPS) as u64).max(1),
            ring: [Instant::default(); RING],
            oldest: 0,
            next: 0,
            units: 0,
            worst: f64::INFINITY,
            at: 0,
        }
    }

    fn start_segment(&mut self, tick: u64) {
        self.oldest = 0;
        self.next = 0;
        self.units = 0;
        self.remember(Instant { tick, units: 0 });
    }

    fn remember(&mut self, instant: Instant) {
        self.ring[self.next % RING] = instant;
        self.next += 1;
    }

    /// Takes ends of quanta and the units completed until then since the block began.
    fn push(&mut self, ends: &[u64], units: &[u64]) {
        let mut due = self.ring[(self.next - 1) % RING]
            .tick
            .saturating_add(self.step_ticks);
        for (&tick, &done) in ends.iter().zip(units) {
            // Catch-up quanta of length 0 come in here, too.
            if tick >= due {
                due = tick.saturating_add(self.step_ticks);
                self.slide(Instant {
                    tick,
                    units: self.units + done,
                });
            }
        }
        self.units += units.last().copied().unwrap_or(0);
    }

    #[inline]
    fn slide(&mut self, now: Instant) {
        self.remember(now);
        while now.tick - self.ring[(self.oldest + 1) % RING].tick >= self.ticks {
            self.oldest += 1;
        }
        let from = self.ring[self.oldest % RING];
        let ticks = now.tick - from.tick;
        if ticks >= self.ticks {
            let units = as_float(now.units - from.units);
            if units < self.worst * as_float(ticks) {
                self.worst = units / as_float(ticks);
                self.at = from.tick;
            }
        }
    }
}

/// All windows of a series.
#[derive(Clone, Debug)]
pub struct Windows {
    windows: Vec<Window>,
    /// Units completed since the block began, by quantum: summed once for all windows.
    units: Vec<u64>,
}

impl Windows {
    /// The windows that suit the rate.
    pub fn new(context: &Context) -> Windows {
        let shortest = FEWEST_QUANTA * context.quantum_ticks * 0.999;
        Windows {
            windows: WINDOWS_S
                .into_iter()
                .filter(|&seconds| context.ticks(seconds) >= shortest)
                .map(|seconds| Window::new(seconds, context))
                .collect(),
            units: Vec::new(),
        }
    }

    /// Those windows that some segment was long enough for; `origin` is the tick where the recording starts.
    pub fn report(&self, best: f64, origin: u64, context: &Context) -> Vec<Availability> {
        self.windows
            .iter()
            .filter(|window| window.worst.is_finite())
            .map(|window| Availability {
                window_s: window.seconds,
                worst: (window.worst * best).clamp(0.0, 1.0),
                at_s: context.seconds(window.at.saturating_sub(origin) as f64),
            })
            .collect()
    }
}

impl Detector for Windows {
    fn push(&mut self, chunk: &Derived<'_>) {
        let mut done = 0;
        self.units.clear();
        self.units.extend(chunk.chunk.count.iter().map(|&count| {
            done += u64::from(count);
            done
        }));
        for window in &mut self.windows {
            if chunk.opens_segment {
                window.start_segment(chunk.chunk.start[0]);
            }
            window.push(chunk.chunk.end, &self.units);
        }
    }

    fn merge(&mut self, later: Windows) {
        for (window, other) in self.windows.iter_mut().zip(later.windows) {
            if other.worst < window.worst {
                window.worst = other.worst;
                window.at = other.at;
            }
        }
    }
}
