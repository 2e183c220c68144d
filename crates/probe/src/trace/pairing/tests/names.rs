//! Names of workers and timers.

use super::*;

fn expires(name: &str) -> Point {
    let function = Function {
        is_tick: name == "tick_nohz_handler",
        name: name.into(),
    };
    Point::Expires {
        timer: 7,
        function,
        by: Level::Interrupt,
    }
}

fn wakes(number: u32, name: &str) -> Point {
    Point::Wakes {
        number,
        name: name.into(),
        by: Level::Interrupt,
    }
}

#[test]
fn what_a_worker_does_belongs_to_its_stay() {
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    let works = |name: &str| Point::Works(name.into());
    for (time, thread, point) in [
        (5, OWN, works("nobody's")),
        (10, OWN, switch(OWN, 7)),
        (12, 7, works("a")),
        (14, 7, works("b")),
        (16, 7, works("a")),
        (17, 7, Point::Calls("its own".into())),
        (20, 7, switch(7, OWN)),
        (30, OWN, switch(OWN, 7)),
        (40, 7, switch(7, OWN)),
    ] {
        pairing.push(time, thread, point);
    }
    let mut all = Vec::new();
    pairing.finish(&mut all);
    let did: Vec<String> = all.iter().map(|stay| stay.functions.join(" ")).collect();
    assert_eq!(did, ["a b", ""]);
}

/// Thread 9 is kept from perf: no record tells that worker 7 took the CPU from it. In a namespace this thread has another number in switches.
#[test]
fn what_a_worker_does_is_not_that_of_a_task_that_left_without_a_record() {
    for (own, expected) in [(OWN, ""), (OWN + 1, "the worker's")] {
        let mut pairing = Pairing::new(OWN, false, PIECE_NS);
        for (time, thread, point) in [
            (10, OWN, switch(own, 9)),
            (15, 7, Point::Works("the worker's".into())),
            (20, 7, switch(7, own)),
        ] {
            pairing.push(time, thread, point);
        }
        let mut all = Vec::new();
        pairing.finish(&mut all);
        let did: Vec<String> = all.iter().map(|stay| stay.functions.join(" ")).collect();
        assert_eq!(did, [expected]);
    }
}

#[test]
fn an_interrupt_of_the_timer_is_that_of_the_timers_in_it() {
    use EventKind::{Timer, Vector};
    let found = named(&[
        // The tick alone; whom it wakes does not matter.
        (10, OWN, timer(true)),
        (12, OWN, expires("tick_nohz_handler")),
        (13, OWN, wakes(5, "rcu")),
        (19, OWN, timer(false)),
        // A sleeper's.
        (20, OWN, timer(true)),
        (22, OWN, expires("hrtimer_wakeup")),
        (23, OWN, wakes(77, "cyclic")),
        (24, OWN, wakes(78, "other")),
        (29, OWN, timer(false)),
        // Both, one after the other, and one that wakes nobody.
        (30, OWN, timer(true)),
        (32, OWN, expires("hrtimer_wakeup")),
        (33, OWN, wakes(77, "cyclic")),
        (35, OWN, expires("tick_nohz_handler")),
        (37, OWN, expires("perf_mux_hrtimer_handler")),
        (39, OWN, timer(false)),
        // None at all.
        (40, OWN, timer(true)),
        (49, OWN, timer(false)),
        // Outside of an interrupt there is nothing to name.
        (50, OWN, expires("hrtimer_wakeup")),
        (51, OWN, wakes(77, "cyclic")),
    ]);
    let wanted = [
        (Vector, "local_timer", 10, 19),
        (Timer, "cyclic", 20, 29),
        (Timer, "cyclic", 30, 39),
        (Vector, "local_timer", 35, 37),
        (Timer, "perf_mux_hrtimer_handler", 37, 39),
        (Timer, "", 40, 49),
    ];
    let wanted = wanted.map(|(kind, name, start, end)| (kind, name.to_owned(), start, end));
    assert_eq!(found, wanted);
}
