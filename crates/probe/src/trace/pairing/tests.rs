//! Tests of the pairing: nesting, tasks, losses, and ends without a beginning.

use super::*;

const OWN: u32 = 100;
const MS: u64 = 1_000_000;

/// Start, end and number of each.
type Intervals = Vec<(u64, u64, u32)>;
/// Where nothing is known: from, to.
type Spans = Vec<(u64, u64)>;

fn enter(number: u32) -> Point {
    Point::Enter {
        kind: EventKind::Softirq,
        number,
        name: "s".into(),
    }
}

fn exit(number: u32) -> Point {
    Point::Exit {
        kind: EventKind::Softirq,
        number,
    }
}

fn switch(previous: u32, next: u32) -> Point {
    Point::Switch {
        previous,
        next,
        name: format!("task{next}").into(),
        left: Left::Unknown,
    }
}

/// Start, end and number of all that comes of these records.
fn pair(records: &[(u64, u32, Point)]) -> (Intervals, Spans) {
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    for (time, thread, point) in records {
        pairing.push(*time, *thread, point.clone());
    }
    done(pairing)
}

fn done(mut pairing: Pairing) -> (Intervals, Spans) {
    let mut all = Vec::new();
    pairing.finish(&mut all);
    let spans = pairing.spans().iter().map(|span| (span.from, span.to));
    let interval = |interval: Interval| (interval.start, interval.end, interval.number);
    (all.into_iter().map(interval).collect(), spans.collect())
}

#[test]
fn intervals_lie_within_one_another() {
    let (intervals, spans) = pair(&[
        (10, OWN, switch(OWN, 7)),
        (20, 7, enter(1)),
        (30, 7, enter(2)),
        (40, 7, exit(2)),
        (50, 7, exit(1)),
        (60, 7, switch(7, 8)),
        (70, 8, switch(8, OWN)),
        (80, OWN, enter(3)),
        (90, OWN, exit(3)),
    ]);
    assert_eq!(
        intervals,
        [
            (10, 60, 7),
            (20, 50, 1),
            (30, 40, 2),
            (60, 70, 8),
            (80, 90, 3)
        ]
    );
    assert_eq!(spans, []);
}

#[test]
fn what_is_settled_comes_in_order_and_at_once() {
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    let (mut some, mut starts) = (Vec::new(), Vec::new());
    for k in 1..1000u64 {
        let time = k * MS;
        // The interrupt that came while the softirq's record was written stands before it.
        pairing.push(time + 10, OWN, enter(2));
        pairing.push(time + 20, OWN, exit(2));
        pairing.push(time, OWN, enter(1));
        pairing.push(time + 50, OWN, exit(1));
        some.clear();
        pairing.take(pairing.latest, &mut some);
        assert!(some.len() <= 4, "{}", some.len());
        starts.extend(some.iter().map(|interval| interval.start));
    }
    assert!(starts.is_sorted());
    assert!(starts.len() > 1990 && pairing.spans().is_empty());
}

#[test]
fn an_end_without_its_beginning_is_no_interval() {
    let (intervals, spans) = pair(&[
        (10, OWN, exit(1)),
        (20, OWN, enter(2)),
        (30, OWN, exit(3)),
        (40, OWN, enter(4)),
        (50, OWN, enter(5)),
        (60, OWN, exit(4)),
    ]);
    assert_eq!(intervals, [(40, 60, 4)]);
    // 2 was open when 3 ended; 5 never ended.
    assert_eq!(spans, [(10, 30), (50, 60)]);
}

#[test]
fn a_beginning_without_its_end_holds_nothing() {
    let (intervals, spans) = pair(&[
        (10, OWN, enter(1)),
        (20, OWN, enter(2)),
        (30, OWN, enter(1)),
        (40, OWN, exit(1)),
    ]);
    assert_eq!(intervals, [(30, 40, 1)]);
    assert_eq!(spans, [(10, 30)]);
}

#[test]
fn what_a_loss_covers_is_undecided_from_what_was_open_on() {
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    pairing.push(10, OWN, enter(1));
    pairing.push(12, OWN, exit(1));
    pairing.push(20, OWN, switch(OWN, 7));
    pairing.push(30, 7, enter(1));
    pairing.lose(5);
    pairing.lose(6);
    pairing.push(90, OWN, enter(2));
    pairing.push(95, OWN, exit(2));
    let records = pairing.spans()[0].records;
    let (intervals, spans) = done(pairing);
    // The task ran until the last record at least.
    assert_eq!(intervals, [(10, 12, 1), (20, 30, 7), (90, 95, 2)]);
    assert_eq!((spans, records), (vec![(30, 90)], 11));
}

#[test]
fn no_task_reaches_into_what_was_open_at_a_loss() {
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    pairing.push(20, OWN, switch(OWN, 7));
    pairing.push(30, 7, enter(1));
    pairing.push(32, 7, enter(2));
    pairing.push(34, 7, exit(2));
    pairing.lose(5);
    pairing.push(90, OWN, enter(3));
    pairing.push(95, OWN, exit(3));
    let (intervals, spans) = done(pairing);
    assert_eq!(intervals, [(20, 30, 7), (32, 34, 2), (90, 95, 3)]);
    assert_eq!(spans, [(30, 90)]);
}

#[test]
fn after_a_loss_another_task_is_unknown_until_it_goes() {
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    pairing.push(10, OWN, enter(1));
    pairing.lose(1);
    pairing.push(50, 7, enter(2));
    pairing.push(55, 7, exit(2));
    pairing.push(60, 7, exit(1));
    pairing.push(70, 7, switch(7, OWN));
    pairing.push(80, OWN, enter(3));
    pairing.push(85, OWN, exit(3));
    let (intervals, spans) = done(pairing);
    assert_eq!(intervals, [(50, 55, 2), (80, 85, 3)]);
    assert_eq!(spans, [(10, 70)]);
}

#[test]
fn a_loss_at_the_end_has_no_end() {
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    pairing.push(10, OWN, enter(1));
    pairing.push(20, OWN, exit(1));
    pairing.lose(3);
    assert_eq!(done(pairing), (vec![(10, 20, 1)], vec![(20, u64::MAX)]));
}

#[test]
fn in_a_container_the_measuring_thread_has_two_numbers() {
    let (intervals, _) = pair(&[
        // Inside it is thread 100, outside 4100.
        (10, 7, switch(7, 4100)),
        (20, OWN, enter(1)),
        (30, OWN, exit(1)),
        (40, OWN, switch(4100, 7)),
        (50, 7, switch(7, 4100)),
        (60, OWN, switch(4100, 100)),
        (70, 3, switch(100, 4100)),
    ]);
    // Outside, 100 is somebody else.
    assert_eq!(intervals, [(20, 30, 1), (40, 50, 7), (60, 70, 100)]);
}

/// Firecracker's agent: no record says that it runs, or leaves.
#[test]
fn of_a_task_without_records_the_beginning_is_known() {
    let (intervals, spans) = pair(&[
        (10, OWN, switch(OWN, 75)),
        (500, OWN, enter(1)),
        (510, OWN, exit(1)),
        (600, OWN, switch(OWN, 75)),
        // In between it made room for thread 15.
        (620, 15, switch(15, 75)),
        (900, OWN, enter(1)),
        (910, OWN, exit(1)),
    ]);
    let stays = [(10, 10, 75), (600, 620, 75), (620, 620, 75)];
    let softirqs = [(500, 510, 1), (900, 910, 1)];
    let mut all = [&stays[..], &softirqs[..]].concat();
    all.sort_unstable();
    assert_eq!((intervals, spans), (all, vec![]));
}

#[test]
fn a_task_that_stays_is_cut_so_that_nothing_waits_for_ever() {
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    pairing.push(MS, OWN, switch(OWN, 7));
    let (mut all, mut most) = (Vec::new(), 0);
    // 20 s, 4,000 interrupts a second.
    for k in 1..80_000u64 {
        let time = MS + k * MS / 4;
        pairing.push(time, 7, enter(1));
        pairing.push(time + 1000, 7, exit(1));
        pairing.take(pairing.latest, &mut all);
        most = most.max(pairing.waiting.len());
    }
    assert!(most <= 4100, "{most}");
    pairing.push(21_000 * MS, 7, switch(7, OWN));
    pairing.finish(&mut all);
    let tasks: Vec<&Interval> = all
        .iter()
        .filter(|one| one.kind == EventKind::Task)
        .collect();
    assert_eq!(
        (tasks[0].start, tasks[tasks.len() - 1].end),
        (MS, 21_000 * MS)
    );
    assert!(tasks.windows(2).all(|pair| pair[0].end == pair[1].start));
    assert!(all.is_sorted_by_key(|interval| interval.start));
    assert_eq!(all.len() - tasks.len(), 79_999);
    assert_eq!(pairing.spans(), []);
}

#[test]
fn nothing_is_kept_for_ever_whatever_comes() {
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    let mut all = Vec::new();
    for k in 0..1_000_000u64 {
        // Beginnings only.
        pairing.push(k * 10_000, OWN, enter(k as u32 % 50));
    }
    pairing.take(pairing.latest, &mut all);
    assert!(pairing.frames.len() <= DEEPEST && all.is_empty());
    assert!(pairing.spans().len() <= MOST_SPANS);
}

#[test]
fn an_instant_lies_where_it_was_told_and_no_earlier_than_what_holds_it() {
    let over = |ns| Point::Over {
        kind: EventKind::Nmi,
        number: 2,
        name: "nmi".into(),
        ns,
    };
    let (intervals, spans) = pair(&[
        (10, OWN, over(4)),
        (20, OWN, enter(1)),
        (30, OWN, over(15)),
        (40, OWN, exit(1)),
    ]);
    assert_eq!(intervals, [(6, 10, 2), (20, 40, 1), (20, 30, 2)]);
    assert_eq!(spans, []);
}

/// Kind, name, start and end of all that comes of these records on a kernel that tells of timers.
fn named(records: &[(u64, u32, Point)]) -> Vec<(EventKind, String, u64, u64)> {
    let mut pairing = Pairing::new(OWN, true, PIECE_NS);
    for (time, thread, point) in records {
        pairing.push(*time, *thread, point.clone());
    }
    let mut all = Vec::new();
    pairing.finish(&mut all);
    all.into_iter()
        .map(|one| (one.kind, one.name.to_string(), one.start, one.end))
        .collect()
}

fn timer(enters: bool) -> Point {
    let (kind, number) = (EventKind::Vector, 236);
    match enters {
        true => Point::Enter {
            kind,
            number,
            name: "local_timer".into(),
        },
        false => Point::Exit { kind, number },
    }
}

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
