//! The simulated machine itself: a time, a pace, and disturbances that change either.
//!
//! The work rate is piecewise constant. A unit that meets a change of pace does the rest of its work at
//! the new pace, a unit that meets an absence ends that much later; so every unit's end is exact to the
//! 2^-16 tick in which time is kept.

use crate::truth::{Absence, PaceChange, Truth};
use bandscope_sampler::{Clock, WorkKernel};
use std::cell::RefCell;
use std::rc::Rc;

/// Fraction bits of simulated time: 34 hours at 2 GHz fit.
const FRACTION_BITS: u32 = 16;
/// Fixed-point time of one tick.
const TICK: f64 = (1u64 << FRACTION_BITS) as f64;

/// Simulated time ends here, an hour before it would overflow.
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

/// What a disturbance does when its time comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// The CPU is away for so many ticks.
    Away(f64),
    /// From now on a unit takes its best time multiplied by this, as far as this disturbance goes;
    /// factors of several disturbances multiply.
    Slowdown(f64),
}

/// Something that disturbs the work: a sequence of actions in order of time.
pub trait Disturbance {
    /// The next action and its time in ticks since the origin; times never run backwards.
    fn next(&mut self) -> (f64, Action);

    /// Ticks lost at the boundary after quantum number `quantum` of a segment: an artefact of the
    /// benchmark itself, periodic in quanta and not in time.
    fn boundary(&mut self, _quantum: u64) -> f64 {
        0.0
    }
}

struct Pending {
    source: Box<dyn Disturbance>,
    at: u64,
    action: Action,
    slowdown: f64,
}

impl Pending {
    fn advance(&mut self) {
        let (at, action) = self.source.next();
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
    best_unit: f64,
    pending: Vec<Pending>,
    truth: Truth,
}

/// A handle on the simulated machine: its clock and its work kernel are clones of it.
#[derive(Clone)]
pub struct World(Rc<RefCell<State>>);

impl World {
    /// A machine whose undisturbed unit takes `ticks_per_unit`.
    pub fn new(cpu: u32, ticks_per_unit: f64, disturbances: Vec<Box<dyn Disturbance>>) -> World {
        let pending: Vec<Pending> = disturbances
            .into_iter()
            .map(|mut source| {
                let (at, action) = source.next();
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
            unit: fixed(ticks_per_unit),
            best_unit: ticks_per_unit,
            pending,
            truth: Truth {
                cpu,
                paces: vec![PaceChange {
                    at: 0.0,
                    ticks_per_unit,
                }],
                ..Truth::default()
            },
        })))
    }

    /// The same machine runs another work kernel, whose undisturbed unit takes `ticks_per_unit`.
    pub fn change_unit(&self, ticks_per_unit: f64) {
        let mut state = self.0.borrow_mut();
        state.best_unit = ticks_per_unit;
        state.change_pace();
    }

    /// Lets time pass without work, as between two segments.
    pub fn idle(&self, ticks: f64) {
        let mut state = self.0.borrow_mut();
        let until = state.now.saturating_add(fixed(ticks));
        state.run_until(until);
    }

    /// What the boundary after quantum number `quantum` costs; time passes.
    pub fn cross_boundary(&self, quantum: u64) {
        let mut state = self.0.borrow_mut();
        let cost: f64 = state
            .pending
            .iter_mut()
            .map(|pending| pending.source.boundary(quantum))
            .sum();
        state.now = state.now.saturating_add(fixed(cost));
    }

    /// Whether the time that can be simulated is used up.
    pub fn is_exhausted(&self) -> bool {
        self.0.borrow().now >= END
    }

    /// What really happened so far.
    pub fn truth(&self) -> Truth {
        self.0.borrow().truth.clone()
    }
}

impl State {
    /// One unit of work that meets at least one action.
    fn disturbed_unit(&mut self) {
        let mut end = self.now.saturating_add(self.unit);
        while self.next <= end && self.next < u64::MAX {
            let at = self.next.max(self.now);
            let before = self.unit;
            end = end.saturating_add(self.act(at));
            if self.unit != before {
                let left = (end - at) as f64 / before as f64;
                end = at.saturating_add((left * self.unit as f64).round() as u64);
            }
        }
        self.now = end;
    }

    /// Time passes without work.
    fn run_until(&mut self, until: u64) {
        let mut end = until;
        while self.next <= end && self.next < u64::MAX {
            end = end.saturating_add(self.act(self.next.max(self.now)));
        }
        self.now = end;
    }

    /// Performs the next action at `at` and returns how long the CPU is away for it.
    fn act(&mut self, at: u64) -> u64 {
        let Some(source) = (0..self.pending.len()).min_by_key(|&n| self.pending[n].at) else {
            self.next = u64::MAX;
            return 0;
        };
        let action = self.pending[source].action;
        self.pending[source].advance();
        self.next = self.pending.iter().map(|p| p.at).min().unwrap_or(u64::MAX);
        match action {
            Action::Away(length) => {
                self.truth.absences.push(Absence {
                    start: ticks(at),
                    length,
                    source,
                });
                fixed(length)
            }
            Action::Slowdown(factor) => {
                self.pending[source].slowdown = factor;
                self.change_pace();
                self.truth.paces.push(PaceChange {
                    at: ticks(at),
                    ticks_per_unit: ticks(self.unit),
                });
                0
            }
        }
    }

    fn change_pace(&mut self) {
        let factor: f64 = self.pending.iter().map(|p| p.slowdown).product();
        self.unit = fixed(self.best_unit * factor);
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
        self.0.borrow().now >> FRACTION_BITS
    }

    #[inline]
    fn now_ordered(&mut self) -> u64 {
        self.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List(Vec<(f64, Action)>);

    impl Disturbance for List {
        fn next(&mut self) -> (f64, Action) {
            if self.0.is_empty() {
                (1e13, Action::Away(0.0))
            } else {
                self.0.remove(0)
            }
        }
    }

    fn ends(actions: Vec<(f64, Action)>, units: usize) -> Vec<u64> {
        let mut world = World::new(0, 10.0, vec![Box::new(List(actions))]);
        (0..units)
            .map(|_| {
                world.execute();
                world.now()
            })
            .collect()
    }

    #[test]
    fn an_absence_delays_its_unit() {
        assert_eq!(ends(vec![(15.0, Action::Away(7.0))], 3), [10, 27, 37]);
    }

    #[test]
    fn a_change_of_pace_takes_effect_within_the_unit() {
        // Half of the second unit at 10, the other half at 30.
        assert_eq!(
            ends(
                vec![(15.0, Action::Slowdown(3.0)), (60.0, Action::Slowdown(1.0))],
                4
            ),
            [10, 30, 60, 70]
        );
    }

    #[test]
    fn an_absence_during_an_absence_adds_up() {
        assert_eq!(
            ends(
                vec![(5.0, Action::Away(20.0)), (12.0, Action::Away(3.0))],
                2
            ),
            [33, 43]
        );
    }

    #[test]
    fn the_truth_holds_what_happened() {
        let actions = vec![(5.0, Action::Away(20.0)), (40.0, Action::Slowdown(2.0))];
        let mut world = World::new(3, 10.0, vec![Box::new(List(actions))]);
        (0..4).for_each(|_| world.execute());
        let truth = world.truth();
        assert_eq!(truth.away_ticks(), 20.0);
        assert_eq!(
            (truth.paces[1].at, truth.paces[1].ticks_per_unit),
            (40.0, 20.0)
        );
    }
}
