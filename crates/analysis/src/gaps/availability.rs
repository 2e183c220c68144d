//! Second pass: the worst availability in any window (minimum mutator utilisation, Cheng and Blelloch 2001).
//!
//! Work is units at the best pace. A window is the shortest run of quanta that lasts its length (to a quarter of a quantum), and slides by a
//! quantum, or by 1/256 of itself if that is longer: so what is remembered is bounded, and a window is at most
//! that much, or a quantum, too long. No window crosses a segment.

use crate::series::context::Context;
use crate::series::derive::{Derived, as_float};
use crate::series::detector::Detector;
use bandscope_report::Availability;

/// Windows in seconds.
const WINDOWS_S: [f64; 4] = [1e-3, 1e-2, 1e-1, 1.0];
/// A window of fewer quanta than this would show the grid and not the machine.
const FEWEST_QUANTA: f64 = 5.0;
/// Share of a quantum by which a window may be too short: quanta end late by up to a unit, and ten of them are to be 1 ms.
const TOLERANCE: f64 = 0.25;
/// Steps to a window at most.
const STEPS: f64 = 256.0;
/// Instants that are of no use any more and are still remembered, at most: moving the others to the front costs nothing then.
const SPENT: usize = 1024;

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
    /// Instants in order, at least one, and the place of the oldest that is of use. In a row and not in a ring, so that the ends of
    /// a block are added together.
    instants: Vec<Instant>,
    oldest: usize,
    /// Units per tick.
    worst: f64,
    at: u64,
    lasted: u64,
}

impl Window {
    fn new(seconds: f64, context: &Context) -> Window {
        let ticks = context.ticks(seconds);
        Window {
            seconds,
            ticks: ((ticks - TOLERANCE * context.quantum_ticks) as u64).max(1),
            step_ticks: ((ticks / STEPS) as u64).max(1),
            instants: vec![Instant::default()],
            oldest: 0,
            worst: f64::INFINITY,
            at: 0,
            lasted: 0,
        }
    }

    fn start_segment(&mut self, tick: u64) {
        self.oldest = 0;
        self.instants.clear();
        self.instants.push(Instant { tick, units: 0 });
    }

    /// Takes the ends of quanta, of which none follows on another sooner than `closest` ticks, and the units completed until then.
    fn push(&mut self, ends: &[u64], units: &[u64], closest: u64) {
        if self.oldest > SPENT {
            self.instants.drain(..self.oldest);
            self.oldest = 0;
        }
        let from = self.instants.len();
        self.remember(ends, units, closest);
        self.slide(from);
    }

    /// Adds those that are a step from the one before.
    fn remember(&mut self, ends: &[u64], units: &[u64], closest: u64) {
        let step = self.step_ticks;
        let last = self.instants.last().map_or(0, |last| last.tick);
        let mut due = last.saturating_add(step);
        let instant = |(&tick, &units): (&u64, &u64)| Instant { tick, units };
        if closest >= step && ends.first().is_some_and(|&first| first >= due) {
            self.instants.extend(ends.iter().zip(units).map(instant));
            return;
        }
        // Catch-up quanta of length 0 come in here, too.
        let mut k = 0;
        while let Some(more) = ends[k..].iter().position(|&tick| tick >= due) {
            k += more;
            due = ends[k].saturating_add(step);
            self.instants.push(instant((&ends[k], &units[k])));
            k += 1;
        }
    }

    /// The windows that end at the instants from this place on.
    fn slide(&mut self, from: usize) {
        let mut starts = &self.instants[self.oldest..];
        for now in &self.instants[from..] {
            let Some(latest) = now.tick.checked_sub(self.ticks) else {
                continue;
            };
            // Ends before `now` at the latest.
            while let [_, next, ..] = starts
                && next.tick <= latest
            {
                starts = &starts[1..];
            }
            let start = starts[0];
            if start.tick <= latest {
                let lasted = now.tick - start.tick;
                let units = as_float(now.units - start.units);
                if units < self.worst * as_float(lasted) {
                    self.worst = units / as_float(lasted);
                    self.at = start.tick;
                    self.lasted = lasted;
                }
            }
        }
        self.oldest = self.instants.len() - starts.len();
    }
}

/// All windows of a series.
#[derive(Clone, Debug)]
pub struct Windows {
    windows: Vec<Window>,
    /// Units completed in the segment, and until the end of each quantum of the block: summed once for all windows.
    done: u64,
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
            done: 0,
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
                lasted_s: context.seconds(window.lasted as f64),
            })
            .collect()
    }
}

impl Detector for Windows {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            self.done = 0;
            for window in &mut self.windows {
                window.start_segment(chunk.chunk.start[0]);
            }
        }
        let ends = chunk.chunk.end;
        let mut done = self.done;
        self.units.clear();
        self.units.extend(chunk.chunk.count.iter().map(|&count| {
            done += u64::from(count);
            done
        }));
        self.done = done;
        let mut closest = u64::MAX;
        for (&tick, &next) in ends.iter().zip(&ends[1..]) {
            closest = closest.min(next.saturating_sub(tick));
        }
        for window in &mut self.windows {
            window.push(ends, &self.units, closest);
        }
    }
}
