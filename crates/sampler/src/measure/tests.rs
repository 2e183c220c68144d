//! The loop on scripted clocks: what each quantum and gap holds, tick by tick.

use super::*;
use crate::record::Unpacked;

/// Ticks that pass in each unit; then 10 for ever. Reading the clock costs nothing.
struct Script {
    now: u64,
    units: Vec<u64>,
    next: usize,
}

/// The loop borrows clock and kernel apart, so the script stands behind a cell.
#[derive(Clone)]
struct Shared(std::rc::Rc<std::cell::RefCell<Script>>);

impl Shared {
    fn new(start: u64, units: &[u64]) -> Shared {
        Shared(std::rc::Rc::new(std::cell::RefCell::new(Script {
            now: start,
            units: units.to_vec(),
            next: 0,
        })))
    }
}

impl WorkKernel for Shared {
    fn execute(&mut self) {
        let mut script = self.0.borrow_mut();
        let ticks = script.units.get(script.next).copied().unwrap_or(10);
        script.next += 1;
        script.now = script.now.wrapping_add(ticks);
    }
}

impl Clock for Shared {
    const ORDERED: bool = true;
    fn now(&mut self) -> u64 {
        self.0.borrow().now
    }
    fn now_ordered(&mut self) -> u64 {
        self.now()
    }
}

#[derive(Default)]
struct Log {
    clock: Option<Shared>,
    quanta: Vec<(u64, u32, u16, u32)>,
    gaps: Vec<(u64, u64)>,
    caught_up: Vec<u64>,
    handled: Vec<u64>,
    /// What storing a quantum without a unit costs.
    storing: u64,
    /// What each gap's or checkpoint's handling costs.
    handling: u64,
    /// What the first ones cost, in order, in place of `handling`.
    first_handlings: Vec<u64>,
    checkpoint_after: Option<usize>,
    stop_after: Option<usize>,
}

impl Log {
    fn spend(&self) {
        if let Some(clock) = &self.clock {
            let ticks = self.first_handlings.get(self.gaps.len() - 1);
            let mut script = clock.0.borrow_mut();
            script.now = script.now.wrapping_add(*ticks.unwrap_or(&self.handling));
        }
    }
}

impl Sink for Log {
    fn quantum(&mut self, record: QuantumRecord) -> Flow {
        let Unpacked::Quantum {
            end,
            count,
            gaps,
            present,
        } = record.unpack()
        else {
            panic!("the loop starts no segment by itself");
        };
        self.quanta.push((end, count, gaps, present));
        if self.stop_after == Some(self.quanta.len()) {
            Flow::Stop
        } else if self.checkpoint_after == Some(self.quanta.len()) {
            Flow::Checkpoint
        } else {
            Flow::Continue
        }
    }
    fn gap(&mut self, start: u64, duration: u64) {
        self.gaps.push((start, duration));
        self.spend();
    }
    fn checkpoint(&mut self, now: u64) {
        self.gaps.push((now, 0));
        self.spend();
    }
    fn caught_up(&mut self, now: u64) {
        self.caught_up.push(now);
        if let Some(clock) = &self.clock {
            let stored = self
                .quanta
                .iter()
                .rev()
                .take_while(|one| one.1 == 0)
                .count() as u64;
            clock.0.borrow_mut().now += self.storing * stored;
        }
    }
    fn handled(&mut self, ticks: u64) {
        self.handled.push(ticks);
    }
}

fn segment(quanta: u64) -> Segment {
    Segment {
        quantum_ticks: 100.0,
        quanta,
        gap_threshold_ticks: 50,
        handling_limit_ticks: 70,
        origin: 1000,
    }
}

fn run(units: &[u64], quanta: u64, log: &mut Log) -> Outcome {
    let mut clock = Shared::new(1000, units);
    log.clock = Some(clock.clone());
    let mut kernel = clock.clone();
    measure(&mut clock, &mut kernel, log, &segment(quanta), 1000)
}

#[test]
fn the_overshoot_is_carried_over() {
    let mut log = Log::default();
    // Units of 30: ends at 120, 210, 300; then 10 a unit.
    let outcome = run(&[30; 10], 4, &mut log);
    assert_eq!(outcome, Outcome::Complete);
    assert_eq!(
        log.quanta,
        [
            (120, 4, 0, 120),
            (210, 3, 0, 90),
            (300, 3, 0, 90),
            (400, 10, 0, 100)
        ]
    );
    assert!(log.gaps.is_empty());
}

#[test]
fn after_a_long_absence_empty_quanta_catch_up() {
    let mut log = Log::default();
    run(&[10, 10, 325], 5, &mut log);
    assert_eq!(log.gaps, [(20, 325)]);
    assert_eq!(
        log.quanta,
        [
            (345, 3, 1, 20),
            (345, 0, 0, 0),
            (345, 0, 0, 0),
            (405, 6, 0, 60),
            (505, 10, 0, 100)
        ]
    );
}

#[test]
fn storing_what_an_absence_left_empty_is_no_unit_and_no_gap() {
    let mut log = Log {
        storing: 6,
        ..Log::default()
    };
    // An absence until 1035: nine quanta are empty, and storing them takes 54 of the tenth after it.
    run(&[10, 10, 1015], 12, &mut log);
    assert_eq!(log.gaps, [(20, 1015)]);
    assert_eq!(log.caught_up, [1035]);
    assert_eq!(log.handled, [0, 54]);
    assert_eq!(log.quanta[0], (1035, 3, 1, 20));
    assert!(log.quanta[1..10].iter().all(|one| *one == (1035, 0, 0, 0)));
    assert_eq!(log.quanta[10..], [(1109, 2, 0, 20), (1209, 10, 0, 100)]);
}

#[test]
fn a_unit_of_exactly_the_threshold_is_no_gap() {
    let mut log = Log::default();
    run(&[50, 51], 1, &mut log);
    assert_eq!(log.gaps, [(50, 51)]);
    assert_eq!(log.quanta, [(101, 2, 1, 50)]);
}

#[test]
fn handling_a_gap_is_neither_work_nor_gap() {
    let mut log = Log {
        handling: 7,
        ..Log::default()
    };
    run(&[10, 60], 2, &mut log);
    assert_eq!(log.handled, [7]);
    // 10 + 60 + 7 handling + 3 units of 10 = 107; present: 40
    assert_eq!(log.quanta, [(107, 5, 1, 40), (207, 10, 0, 100)]);
}

#[test]
fn a_checkpoint_belongs_to_the_quantum_after_it() {
    let mut log = Log {
        handling: 7,
        checkpoint_after: Some(1),
        ..Log::default()
    };
    run(&[], 3, &mut log);
    assert_eq!(log.gaps, [(100, 0)]);
    assert_eq!(log.handled, [7]);
    // The second quantum holds 7 ticks of checkpoint and 100 of work (it ends at 207, past 200).
    assert_eq!(
        log.quanta,
        [(100, 10, 0, 100), (207, 10, 0, 100), (307, 10, 0, 100)]
    );
}

#[test]
fn an_interruption_while_a_gap_is_handled_is_a_gap_without_a_unit() {
    let mut log = Log {
        first_handlings: vec![71, 8],
        handling: 7,
        ..Log::default()
    };
    run(&[10, 60, 60], 3, &mut log);
    // A gap of 60; 71 of handling are one above the limit: a gap that ends at 141, handled by 149.
    // The unit that follows is a gap as ever.
    assert_eq!(log.gaps, [(10, 60), (70, 71), (149, 60)]);
    assert_eq!(log.handled, [0, 8, 7]);
    assert_eq!(
        log.quanta,
        [(149, 2, 1, 10), (216, 1, 1, 0), (306, 9, 0, 90)]
    );
}

#[test]
fn handling_that_costs_up_to_the_limit_is_no_gap() {
    let mut log = Log {
        handling: 70,
        ..Log::default()
    };
    run(&[10, 60], 2, &mut log);
    assert_eq!((log.gaps.len(), log.handled), (1, vec![70]));
    assert_eq!(log.quanta, [(140, 2, 1, 10), (200, 6, 0, 60)]);
}

#[test]
fn an_interruption_while_a_checkpoint_is_handled_is_a_gap_of_the_next_quantum() {
    let mut log = Log {
        first_handlings: vec![80, 7],
        checkpoint_after: Some(1),
        ..Log::default()
    };
    run(&[], 2, &mut log);
    assert_eq!(log.gaps, [(100, 0), (100, 80)]);
    assert_eq!(log.handled, [0, 7]);
    // 80 away and 7 of handling, then two units of 10.
    assert_eq!(log.quanta, [(100, 10, 0, 100), (207, 2, 0, 20)]);
}

#[test]
fn a_clock_that_runs_backwards_during_handling_ends_the_segment() {
    for first_handlings in [vec![0u64.wrapping_sub(15)], vec![90, 0u64.wrapping_sub(15)]] {
        let mut log = Log {
            first_handlings,
            ..Log::default()
        };
        assert_eq!(run(&[60], 9, &mut log), Outcome::ClockWentBack(15));
        assert_eq!(log.handled.len(), log.gaps.len());
        assert!(log.quanta.is_empty());
    }
}

#[test]
fn the_sink_can_stop_the_loop() {
    let mut log = Log {
        stop_after: Some(2),
        ..Log::default()
    };
    assert_eq!(run(&[], 9, &mut log), Outcome::Stopped);
    assert_eq!(log.quanta.len(), 2);
}

#[test]
fn a_clock_that_runs_backwards_ends_the_segment() {
    let mut log = Log::default();
    let back = 0u64.wrapping_sub(15);
    assert_eq!(
        run(&[10, 10, back], 9, &mut log),
        Outcome::ClockWentBack(15)
    );
    assert!(log.quanta.is_empty() && log.gaps.is_empty());
}

#[test]
fn a_counter_that_wraps_is_no_special_case() {
    let start = u64::MAX - 130;
    let mut clock = Shared::new(start, &[]);
    let mut kernel = clock.clone();
    let mut log = Log::default();
    let segment = Segment {
        origin: start,
        ..segment(3)
    };
    let outcome = measure(&mut clock, &mut kernel, &mut log, &segment, start);
    assert_eq!(outcome, Outcome::Complete);
    assert_eq!(
        log.quanta,
        [(100, 10, 0, 100), (200, 10, 0, 100), (300, 10, 0, 100)]
    );
}
