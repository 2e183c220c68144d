//! A measuring thread that is held: why, and how long.

use super::*;

#[test]
fn a_thread_that_is_held_says_why() {
    use EventKind::{Held, Task, Timer};
    let leave = |next: u32, left: Left| Point::Switch {
        previous: OWN,
        next,
        name: format!("task{next}").into(),
        left,
    };
    let runnable = |realtime| Left::Runnable { realtime };
    let found = named(&[
        (10, OWN, leave(0, runnable(false))),
        // Somebody else has the CPU meanwhile: that is his.
        (20, 0, switch(0, 8)),
        (30, 8, switch(8, 0)),
        (40, 0, switch(0, OWN)),
        (50, OWN, leave(0, runnable(true))),
        (60, 0, switch(0, OWN)),
        (70, OWN, leave(8, Left::Stopped)),
        (80, 8, switch(8, OWN)),
        (90, OWN, leave(0, Left::Waits)),
        (100, 0, switch(0, OWN)),
        (110, OWN, leave(8, runnable(false))),
        (120, 8, switch(8, OWN)),
        (130, OWN, leave(0, Left::Unknown)),
        (140, 0, switch(0, OWN)),
        // Records of the idle task may be missing.
        (150, OWN, leave(0, runnable(false))),
        (165, OWN, timer(true)),
        (169, OWN, timer(false)),
    ]);
    let wanted = [
        (Held, "throttled:quota", 10, 20),
        (Task, "task8", 20, 30),
        (Held, "throttled:quota", 30, 40),
        (Held, "throttled:realtime", 50, 60),
        (Held, "stopped", 70, 80),
        (Held, "frozen", 90, 100),
        (Task, "task8", 110, 120),
        (Task, "task0", 130, 140),
        (Held, "throttled:quota", 150, 165),
        (Timer, "", 165, 169),
    ];
    let wanted = wanted.map(|(kind, name, start, end)| (kind, name.to_owned(), start, end));
    assert_eq!(found, wanted);
}

/// Whoever stops this program stops whoever empties the ring.
#[test]
fn a_stop_goes_on_after_a_loss_until_the_thread_runs() {
    let leave = |left: Left| Point::Switch {
        previous: OWN,
        next: 8,
        name: "task8".into(),
        left,
    };
    let after = |left: Left, runs: bool| {
        let mut pairing = Pairing::new(OWN, false, PIECE_NS);
        pairing.push(10, OWN, leave(left));
        if runs {
            pairing.push(15, 8, switch(8, OWN));
        }
        pairing.push(20, if runs { OWN } else { 8 }, enter(1));
        pairing.push(22, if runs { OWN } else { 8 }, exit(1));
        pairing.lose(5);
        pairing.push(50, 9, enter(2));
        pairing.push(55, 9, exit(2));
        pairing.push(60, 9, switch(9, 8));
        pairing.push(70, 8, switch(8, OWN));
        done(pairing)
    };
    let (intervals, spans) = after(Left::Stopped, false);
    // The number is that of whoever ran.
    let wanted = [
        (10, 22, 8),
        (20, 22, 1),
        (50, 60, 9),
        (50, 55, 2),
        (60, 70, 8),
    ];
    assert_eq!((intervals, spans), (wanted.to_vec(), vec![(22, 50)]));
    // A thread that ran when events were lost may have left in any way since.
    let (intervals, _) = after(Left::Stopped, true);
    assert_eq!(
        intervals,
        [(10, 15, 8), (20, 22, 1), (50, 55, 2), (60, 70, 8)]
    );
    // One that waited, or was preempted, may have run since.
    for left in [Left::Waits, Left::Runnable { realtime: false }] {
        let (intervals, _) = after(left, false);
        assert_eq!(intervals[2..], [(50, 55, 2), (60, 70, 8)]);
    }
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    pairing.push(10, OWN, leave(Left::Stopped));
    pairing.push(15, 8, switch(8, OWN));
    pairing.lose(5);
    pairing.push(50, 9, switch(9, 8));
    pairing.push(60, 8, switch(8, OWN));
    let mut all = Vec::new();
    pairing.finish(&mut all);
    assert_eq!(
        all.iter().map(|one| one.kind).collect::<Vec<_>>(),
        [EventKind::Held, EventKind::Task]
    );
}

#[test]
fn a_thread_that_waits_in_a_page_fault_is_not_frozen() {
    use EventKind::{Exception, Held};
    let waits = || Point::Switch {
        previous: OWN,
        next: 0,
        name: "idle".into(),
        left: Left::Waits,
    };
    let fault = Point::Over {
        kind: Exception,
        number: PAGE_FAULT,
        name: "page_fault_user".into(),
        ns: 0,
    };
    let found = named(&[
        (10, OWN, fault),
        (20, OWN, waits()),
        (30, 0, switch(0, OWN)),
        (2 * MS, OWN, waits()),
        (3 * MS, 0, switch(0, OWN)),
    ]);
    let held: Vec<_> = found.iter().filter(|found| found.0 == Held).collect();
    assert_eq!(
        held.iter()
            .map(|found| found.1.as_str())
            .collect::<Vec<_>>(),
        ["page_fault", "frozen"]
    );
}

#[test]
fn a_quiet_cpu_holds_nothing_up() {
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    assert_eq!(pairing.horizon(500 * MS), 499 * MS, "without a record");
    pairing.push(MS, OWN, switch(OWN, 7));
    assert_eq!(pairing.horizon(500 * MS), MS, "while another task runs");
    pairing.push(2 * MS, 7, switch(7, OWN));
    assert_eq!(pairing.horizon(500 * MS), 499 * MS);
}
