//! The simulated machine itself: a time, a pace, and disturbances that change either.
//!
//! The work rate is piecewise constant. A unit that meets a change of pace does the rest of its work at
//! the new pace, a unit that meets an absence ends that much later; so every unit's end is exact to the
//! 2^-16 tick in which time is kept.

use crate::disturbances::{Action, Placed};
use crate::events::EventLog;
use crate::kernels::Feels;
use crate::truth::{Absence, BoundaryCost, Jump, PaceChange, Segment, Truth};
use crate::wobble::Wobble;
use bandscope_recording::KernelEvent;
use bandscope_sampler::{Clock, WorkKernel};
use std::cell::RefCell;
use std::rc::Rc;

/// Fraction bits of simulated time: 37 hours at 2 GHz fit.
const FRACTION_BITS: u32 = 16;
/// Fixed-point time of one tick.
const TICK: f64 = (1u64 << FRACTION_BITS) as f64;

/// Simulated time ends here, an hour before it would overflow: what comes later is not simulated.
const END: u64 = u64::MAX / 100 * 97;

/// Fixed-point time of `ticks`.
fn fixed(ticks: f64) -> u64 {
    // The conversion saturates; sums below do too, so that an absurd scenario ends its run and not the program.
    (ticks * TICK).round() as u64
}

/// Ticks of a fixed-point time.
fn ticks(time: u64) -> f64 {
    time as f64 / TICK
}

/// A work kernel as the machine runs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Ticks of an undisturbed unit.
    pub ticks: f64,
    /// What it feels.
    pub feels: Feels,
}

struct Pending {
    source: Placed,
    at: u64,
    action: Action,
    slowdown: f64,
}

impl Pending {
    fn advance(&mut self) {
        let (at, action) = self.source.disturbance.next();
        self.at = fixed(at);
        self.action = action;
    }
}

struct State {
    now: u64,
    /// Time of the next action of any disturbance.
    next: u64,
    /// Current length of a unit.
    unit: u64,
    wobble: Option<Wobble>,
    best: Unit,
    cpu: u32,
    pending: Vec<Pending>,
    truth: Truth,
    /// Where somebody listens.
    events: Option<EventLog>,
}

/// A handle on the simulated machine: its clock and its work kernel are clones of it.
#[derive(Clone)]
pub struct World(Rc<RefCell<State>>);

impl World {
    /// The machine whose thread starts on `cpu`; it does nothing yet but `unit`s.
    pub fn new(cpu: u32, unit: Unit, disturbances: Vec<Placed>) -> World {
        let pending: Vec<Pending> = disturbances
            .into_iter()
            .map(|mut source| {
                let (at, action) = source.disturbance.next();
                Pending {
                    source,
                    at: fixed(at),
                    action,
                    slowdown: 1.0,
                }
            })
            .collect();
        let next = pending.iter().map(|p| p.at).min().unwrap_or(u64::MAX);
        World(Rc::new(RefCell::new(State {
            now: 0,
            next,
            unit: fixed(unit.ticks),
            wobble: None,
            best: unit,
            cpu,
            pending,
            truth: Truth {
                cpu,
                paces: vec![PaceChange {
                    at: 0.0,
                    ticks_per_unit: unit.ticks,
                    source: None,
                    slowdown: 1.0,
                }],
                ..Truth::default()
            },
            events: None,
        })))
    }

    /// Readings of the clock scatter from now on by `sigma_ticks`.
    pub fn wobble(&self, sigma_ticks: f64, random: fastrand::Rng) {
        self.0.borrow_mut().wobble = Some(Wobble::new(sigma_ticks * TICK, random));
    }

    /// The kernel tells what it does from now on.
    pub fn tell_events(&self) {
        self.0.borrow_mut().events = Some(EventLog::default());
    }

    /// Takes the kernel events that are over by now, in order of their starts, as far as they began at tick `origin` or later; in
    /// ticks since then.
    pub fn take_events(&self, origin: u64) -> Vec<KernelEvent> {
        let mut state = self.0.borrow_mut();
        let now = ticks(state.now);
        let events = state.events.as_mut();
        events.map_or_else(Vec::new, |events| events.take(now, origin))
    }

    /// The same machine runs another work kernel.
    pub fn change_unit(&self, unit: Unit) {
        let mut state = self.0.borrow_mut();
        if state.best != unit {
            state.best = unit;
            state.change_pace(None, 1.0);
        }
    }

    /// The loop begins a segment of series `series`, with quanta of `quantum_ticks`.
    pub fn begin_segment(&self, series: usize, quantum_ticks: f64) {
        self.cross_boundary(0);
        let mut state = self.0.borrow_mut();
        let segment = Segment {
            series,
            start: ticks(state.now),
            end: f64::INFINITY,
            ticks_per_unit: state.best.ticks,
            quantum_ticks,
        };
        state.truth.segments.push(segment);
    }

    /// The loop has ended its segment.
    pub fn end_segment(&self) {
        let mut state = self.0.borrow_mut();
        let now = ticks(state.now);
        if let Some(segment) = state.truth.segments.last_mut() {
            segment.end = now;
        }
    }

    /// Lets time pass without work, as between two segments.
    pub fn idle(&self, ticks: f64) {
        let mut state = self.0.borrow_mut();
        let until = state.now.saturating_add(fixed(ticks));
        state.run_until(until);
    }

    /// What the boundary before quantum number `quantum` does; the time that it costs passes.
    pub fn cross_boundary(&self, quantum: u64) {
        let mut guard = self.0.borrow_mut();
        let state = &mut *guard;
        for index in 0..state.pending.len() {
            let pending = &mut state.pending[index];
            let part = pending.source.part;
            let slowdown = pending.slowdown;
            let boundary = pending.source.disturbance.boundary(quantum, slowdown);
            if boundary.cost > 0.0 {
                state.truth.note_boundary(BoundaryCost {
                    at: ticks(state.now),
                    cost: boundary.cost,
                    source: part,
                });
                state.now = state.now.saturating_add(fixed(boundary.cost));
            }
            if let Some(slowdown) = boundary.slowdown {
                state.pending[index].slowdown = slowdown;
                state.change_pace(Some(part), slowdown);
            }
        }
    }

    /// The CPU that the thread is on.
    pub fn cpu(&self) -> u32 {
        self.0.borrow().cpu
    }

    /// Whether the time that can be simulated is used up.
    pub fn is_exhausted(&self) -> bool {
        self.0.borrow().now >= END
    }

    /// What really happened so far, in ticks since the machine's start; the machine forgets it.
    pub fn take_truth(&self) -> Truth {
        std::mem::take(&mut self.0.borrow_mut().truth)
    }
}

impl State {
    /// One unit of work that meets at least one action.
    #[cold]
    #[inline(never)]
    fn disturbed_unit(&mut self) {
        // Work goes on from here; until then the CPU is away.
        let mut from = self.now;
        let mut left = self.unit;
        while self.next <= from.saturating_add(left) && from < END {
            let at = self.next.max(self.now);
            if at > from {
                left -= at - from;
                from = at;
            }
            let before = self.unit;
            from = from.saturating_add(self.act(at));
            if self.unit != before && before > 0 {
                left = (left as f64 / before as f64 * self.unit as f64).round() as u64;
            }
        }
        self.now = from.saturating_add(left);
    }

    /// Time passes without work, until `until` or until an absence that began before is over.
    fn run_until(&mut self, until: u64) {
        let mut back = self.now;
        while self.next <= until.max(back) && back < END {
            let at = self.next.max(self.now);
            back = back.max(at).saturating_add(self.act(at));
        }
        self.now = until.max(back);
    }

    /// Performs the next action at `at` and returns how long the CPU is away for it.
    fn act(&mut self, at: u64) -> u64 {
        let Some(index) = (0..self.pending.len()).min_by_key(|&n| self.pending[n].at) else {
            self.next = u64::MAX;
            return 0;
        };
        let action = self.pending[index].action;
        let source = self.pending[index].source.part;
        self.pending[index].advance();
        self.next = self.pending.iter().map(|p| p.at).min().unwrap_or(u64::MAX);
        match action {
            Action::Away(length) => {
                self.truth.note_absence(Absence {
                    start: ticks(at),
                    length,
                    source,
                });
                if let Some(events) = &mut self.events {
                    let told = self.pending[index].source.told.as_ref();
                    events.away(ticks(at), length, told);
                }
                return fixed(length);
            }
            Action::Slowdown(slowdown) => {
                self.pending[index].slowdown = slowdown;
                self.note_pace(at, Some(source), slowdown);
            }
            Action::Jump { delay, from, to } => {
                self.cpu = to;
                self.truth.note_jump(Jump {
                    at: ticks(at),
                    delay,
                    from,
                    to,
                    source,
                });
            }
        }
        0
    }

    fn change_pace(&mut self, source: Option<usize>, slowdown: f64) {
        self.note_pace(self.now, source, slowdown);
    }

    /// The pace that all slowdowns together make, from `at` on.
    fn note_pace(&mut self, at: u64, source: Option<usize>, slowdown: f64) {
        let felt = |p: &&Pending| p.source.only.is_none_or(|only| only == self.best.feels);
        let factors = self.pending.iter().filter(felt).map(|p| p.slowdown);
        self.unit = fixed(self.best.ticks * factors.product::<f64>());
        self.truth.note_pace(PaceChange {
            at: ticks(at),
            ticks_per_unit: ticks(self.unit),
            source,
            slowdown,
        });
    }
}

impl WorkKernel for World {
    #[inline]
    fn execute(&mut self) {
        let mut state = self.0.borrow_mut();
        let end = state.now.saturating_add(state.unit);
        if end < state.next {
            state.now = end;
        } else {
            state.disturbed_unit();
        }
    }
}

impl Clock for World {
    const ORDERED: bool = true;

    #[inline]
    fn now(&mut self) -> u64 {
        let mut guard = self.0.borrow_mut();
        let state = &mut *guard;
        match &mut state.wobble {
            None => state.now >> FRACTION_BITS,
            Some(wobble) => wobble.read(state.now) >> FRACTION_BITS,
        }
    }

    #[inline]
    fn now_ordered(&mut self) -> u64 {
        self.now()
    }
}

#[cfg(test)]
mod tests;
