//! Second pass: the worst availability in any window (minimum mutator utilisation, Cheng and Blelloch 2001).
//!
//! Work is units at the best pace. A window is the shortest run of quanta that lasts at least its length, and slides
//! by a quantum, or by 1/1024 of itself if that is longer: so what is remembered is bounded. No window crosses a segment.

use crate::context::Context;
use crate::derive::Derived;
use crate::detector::Detector;
use crate::report::Availability;
use std::collections::VecDeque;

/// Windows in seconds.
const WINDOWS_S: [f64; 4] = [1e-3, 1e-2, 1e-1, 1.0];
/// A window of fewer quanta than this would show the grid and not the machine.
const FEWEST_QUANTA: f64 = 5.0;
/// Steps to a window at most.
const STEPS: f64 = 1024.0;

/// Some quanta of a window.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    start: u64,
    ticks: f64,
    units: f64,
}

#[derive(Clone, Debug)]
struct Window {
    seconds: f64,
    ticks: f64,
    step_ticks: f64,
    under_way: Step,
    steps: VecDeque<Step>,
    sum_ticks: f64,
    sum_units: f64,
    worst: f64,
    at: u64,
}

impl Window {
    fn new(seconds: f64, context: &Context) -> Window {
        let ticks = context.ticks(seconds);
        Window {
            seconds,
            ticks,
            step_ticks: ticks / STEPS,
            under_way: Step::default(),
            steps: VecDeque::new(),
            sum_ticks: 0.0,
            sum_units: 0.0,
            worst: f64::INFINITY,
            at: 0,
        }
    }

    fn clear(&mut self) {
        self.under_way = Step::default();
        self.steps.clear();
        self.sum_ticks = 0.0;
        self.sum_units = 0.0;
    }

    #[inline]
    fn push(&mut self, start: u64, ticks: f64, units: f64) {
        if self.under_way.ticks == 0.0 {
            self.under_way.start = start;
        }
        self.under_way.ticks += ticks;
        self.under_way.units += units;
        if self.under_way.ticks >= self.step_ticks {
            let step = std::mem::take(&mut self.under_way);
            self.slide(step);
        }
    }

    fn slide(&mut self, step: Step) {
        // Ticks and units are whole numbers below 2^53, so sums and differences are exact.
        self.sum_ticks += step.ticks;
        self.sum_units += step.units;
        self.steps.push_back(step);
        while let Some(&first) = self.steps.front() {
            if self.sum_ticks - first.ticks < self.ticks {
                break;
            }
            self.sum_ticks -= first.ticks;
            self.sum_units -= first.units;
            self.steps.pop_front();
        }
        if self.sum_ticks >= self.ticks {
            let units_per_tick = self.sum_units / self.sum_ticks;
            if units_per_tick < self.worst {
                self.worst = units_per_tick;
                self.at = self.steps.front().map_or(0, |first| first.start);
            }
        }
    }
}

/// All windows of a series.
#[derive(Clone, Debug)]
pub struct Windows {
    windows: Vec<Window>,
}

impl Windows {
    /// The windows that suit the rate.
    pub fn new(context: &Context) -> Windows {
        let suits = |seconds: &f64| {
            context.ticks(*seconds) >= FEWEST_QUANTA * context.quantum_ticks * 0.999
        };
        Windows {
            windows: WINDOWS_S
                .into_iter()
                .filter(suits)
                .map(|seconds| Window::new(seconds, context))
                .collect(),
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
        for window in &mut self.windows {
            if chunk.opens_segment {
                window.clear();
            }
            for k in 0..chunk.len() {
                // Catch-up quanta of length 0 hold nothing.
                if chunk.length[k] > 0.0 {
                    window.push(
                        chunk.chunk.start[k],
                        chunk.length[k],
                        f64::from(chunk.chunk.count[k]),
                    );
                }
            }
        }
    }

    fn merge(&mut self, later: Windows) {
        for (window, other) in self.windows.iter_mut().zip(later.windows) {
            if other.worst < window.worst {
                window.worst = other.worst;
                window.at = other.at;
            }
            window.clear();
        }
    }
}
