//! Tests of the pairing: nesting, tasks, losses, and ends without a beginning.

mod losses;
mod names;
mod stops;

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
