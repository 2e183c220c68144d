//! Recordings held against logs of which every tick is known: what is booked, recognised, and refused.

mod tasks;

use crate::support::Loop;
use bandscope_analysis::{analyse_against, truth};
use bandscope_recording::disturbances::{Disturbance, End, Header, Log, Task};
use bandscope_recording::manifest::{Clock, EventsState, State};
use bandscope_recording::source::InMemory;
use bandscope_recording::{EventKind, KernelEvent};
use bandscope_report::{Cause, Held, MatchedBy, OutsideGaps, Truth};

const US: u64 = 2300;
/// Tick of the hardware counter at which the recording begins.
const ORIGIN: u64 = 1 << 60;

/// Three kinds of gaps in turn, one a millisecond: 130 us that the disturber shares with the tick, a device and another task,
/// 20 us of which nothing is known, and 7 us of the tick.
const GAPS_US: [f64; 3] = [130.0, 20.0, 7.0];
/// Events of each: kind, number, name, from and to in microseconds since the gap's start.
type Known = (EventKind, u32, &'static str, u64, u64);
const EVENTS: [&[Known]; 3] = [
    &[
        (EventKind::Vector, 236, "local_timer", 1, 4),
        (EventKind::Task, 77, "inject", 6, 96),
        (EventKind::Interrupt, 25, "virtio0", 20, 28),
        (EventKind::Task, 99, "other", 96, 126),
    ],
    &[],
    &[(EventKind::Vector, 236, "local_timer", 1, 6)],
];

/// `segments` of half a second.
fn recorded(segments: u32) -> InMemory {
    let period = 1e3 * US as f64;
    let mut scene = Loop::new(10_000.0, 5_000);
    scene.segments = segments;
    scene.pause = 100_000 * US;
    let mut source = scene.run(
        |_, _| 324.0,
        |from, to| match (to / period).floor() {
            number if number > (from / period).floor() => GAPS_US[number as usize % 3] * US as f64,
            _ => 0.0,
        },
    );
    source.manifest.clock.origin_ticks = ORIGIN;
    source.manifest.events.state = EventsState::On;
    let gaps = source.gaps[0].iter();
    let events = gaps.flat_map(|gap| {
        EVENTS[kind_of(gap.duration)]
            .iter()
            .map(|&(kind, number, name, from, to)| KernelEvent {
                start: gap.start + from * US,
                duration: (to - from) * US,
                kind,
                number,
                name: name.into(),
                ..KernelEvent::default()
            })
    });
    source.events = vec![events.collect()];
    source
}

fn kind_of(duration: u64) -> usize {
    GAPS_US
        .iter()
        .position(|us| duration.abs_diff((us * US as f64) as u64) < 2 * US)
        .unwrap()
}

/// Gaps of a kind.
fn number(source: &InMemory, kind: usize) -> u64 {
    let gaps = source.gaps[0].iter();
    gaps.filter(|gap| kind_of(gap.duration) == kind).count() as u64
}

fn clock() -> Clock {
    Clock {
        name: "simulated".into(),
        ticks_per_ns: 2.3,
        origin_ticks: ORIGIN,
        ..Clock::default()
    }
}

/// A log of CPU 1 with these rows, which end in order.
fn log_of(kind: &str, thread: u32, disturbances: Vec<Disturbance>) -> Log {
    Log {
        path: "a.log".into(),
        header: Header {
            kind: kind.into(),
            cpu: 1,
            task: Task {
                name: "inject".into(),
                pid: 70,
                thread,
                ..Task::default()
            },
            clock: clock(),
            ..Header::default()
        },
        end: Some(End {
            state: State::Complete,
            disturbances: disturbances.len() as u64,
            clock: clock(),
            ..End::default()
        }),
        disturbances,
        cut: false,
    }
}

/// What the disturber logs of the gaps of the first kind: it had the CPU from 8 to 94 us but for the interrupt, and its thread ran
/// from 6 to 96.
fn logged(source: &InMemory) -> Log {
    let gaps = source.gaps[0].iter();
    let rows = gaps.filter(|gap| kind_of(gap.duration) == 0).map(|gap| {
        let at = |us: u64| ORIGIN + gap.start + us * US;
        Disturbance {
            planned: at(0),
            start: at(8),
            end: at(94),
            away: vec![(at(20), at(28))],
            cpu_ns: Some(90_000),
            ..Disturbance::default()
        }
    });
    log_of("task", 77, rows.collect())
}

fn held(source: &InMemory, logs: &[Log]) -> Vec<Held> {
    let truths = truth::hold(source, logs).unwrap();
    assert_eq!(truths.len(), logs.len());
    truths
        .into_iter()
        .map(|mut one| one.series.remove(0))
        .collect()
}

#[test]
fn each_part_of_a_shared_gap_is_held_against_its_own_truth() {
    let source = recorded(1);
    let log = logged(&source);
    let analysis = analyse_against(&source, &[], std::slice::from_ref(&log)).unwrap();
    let [
        Truth {
            task,
            thread,
            series,
            ..
        },
    ] = &analysis.report.truth[..]
    else {
        panic!("one log");
    };
    assert_eq!((task.as_str(), *thread), ("inject", 77));
    let n = number(&source, 0);
    let [held] = &series[..] else {
        panic!("one series")
    };
    assert_eq!(
        (held.series, held.disturbances, held.matched_by),
        (0, n, MatchedBy::Thread)
    );
    assert_eq!(held.spans_ns, n * 86_000);
    assert_eq!(held.disturbed_ns, n * 78_000);
    assert_eq!(held.cpu_ns, Some(n * 90_000));
    // 90 us less the interrupt, which has a name of its own.
    assert_eq!(held.booked_ns, n * 82_000);
    assert_eq!(held.stay_ns, Some(n * 90_000));
    assert_eq!(held.stay_over_cpu, Some(1.0));
    assert_eq!(held.booked_within_ns, n * 78_000);
    assert_eq!(held.within_over_disturbed, Some(1.0));
    let others: Vec<_> = held.others_within_ns.iter().collect();
    assert_eq!(
        others,
        [(&Cause::Interrupt("virtio0".into()), &(n * 8_000))]
    );
    // The ledger has the same, but for the unit in each gap, which is off its first cause, the tick.
    let booked = analysis.report.series[0].ledger.gaps_ns[&Cause::Task("inject".into())];
    assert!(booked.abs_diff(held.booked_ns) <= 1, "{booked} {held:?}");
}

#[test]
fn quanta_are_recognised_by_their_gaps_and_what_no_log_knows_is_named() {
    let mut source = recorded(1);
    let log = logged(&source);
    let counts: Vec<u64> = (0..3).map(|kind| number(&source, kind)).collect();
    let all = counts.iter().sum::<u64>() as f64;
    let hold = |source: &InMemory| held(source, std::slice::from_ref(&log)).remove(0);
    let before = hold(&source);
    assert_eq!(
        (before.quanta.disturbed, before.quanta.recognised),
        (counts[0], counts[0])
    );
    assert_eq!(before.quanta.recall, Some(1.0));
    let together = &before.together;
    assert_eq!((together.logs, together.quanta_with_gaps as f64), (1, all));
    assert_eq!(together.in_logs, counts[0]);
    assert_eq!(together.precision, Some(counts[0] as f64 / all));
    assert_eq!(together.in_logs_or_events, Some(counts[0] + counts[2]));
    assert_eq!(
        (together.gaps_named, together.precision_of_names),
        (Some(counts[0]), Some(1.0))
    );
    // A log that knows of every other disturbance only: the name is as often wrong.
    let half = Log {
        disturbances: log.disturbances.iter().step_by(2).cloned().collect(),
        ..log.clone()
    };
    let together = held(&source, &[half]).remove(0).together;
    assert_eq!(together.gaps_named, Some(counts[0]));
    let right = together.precision_of_names.unwrap() * counts[0] as f64;
    assert_eq!(right.round() as u64, counts[0].div_ceil(2));
    let together = &before.together;
    let outside: Vec<_> = together
        .gaps_outside
        .iter()
        .map(|one| (one.cause.clone(), one.number))
        .collect();
    assert_eq!(
        outside,
        [(Cause::Host, counts[1]), (Cause::Tick, counts[2])]
    );
    let OutsideGaps { ns, .. } = together.gaps_outside[0];
    assert!(ns >= counts[1] * 20_000 && ns < counts[1] * 20_200);

    // One disturbance that was not noticed.
    let missed = log.disturbances[3].start - ORIGIN;
    let quanta = &mut source.quanta[0];
    let place = quanta.end.partition_point(|end| *end <= missed);
    quanta.gaps[place] = 0;
    let after = hold(&source);
    assert_eq!(
        (after.quanta.disturbed, after.quanta.recognised),
        (counts[0], counts[0] - 1)
    );
    assert_eq!(
        after.together.quanta_with_gaps,
        before.together.quanta_with_gaps - 1
    );
}

#[test]
fn a_disturbance_below_the_gap_threshold_disturbs_no_quantum() {
    let source = recorded(1);
    // 2000 ticks are the threshold; they lie where nothing was recorded.
    let row = |at: u64, ticks: u64| Disturbance {
        planned: ORIGIN + at,
        start: ORIGIN + at,
        end: ORIGIN + at + ticks,
        ..Disturbance::default()
    };
    let log = log_of("task", 77, vec![row(550 * US, 2000), row(1550 * US, 2001)]);
    let held = held(&source, &[log]).remove(0);
    assert_eq!((held.quanta.disturbed, held.quanta.recognised), (1, 0));
    assert_eq!(held.quanta.recall, Some(0.0));
    assert_eq!((held.cpu_ns, held.stay_over_cpu), (None, None));
}

#[test]
fn without_kernel_events_time_alone_tells() {
    let mut source = recorded(1);
    let n = number(&source, 0);
    source.manifest.events.state = EventsState::Off;
    source.events.clear();
    let held = held(&source, &[logged(&source)]).remove(0);
    assert_eq!((held.matched_by, held.stay_ns), (MatchedBy::Time, None));
    assert_eq!(
        (held.booked_ns, held.booked_within_ns),
        (n * 86_000, n * 86_000)
    );
    assert!(held.others_within_ns.is_empty());
    assert_eq!(held.together.precision_with_events, None);
    assert_eq!(
        (held.together.gaps_named, held.together.precision_of_names),
        (None, None)
    );
    assert_eq!(held.together.gaps_outside[0].cause, Cause::Unnamed);
    assert_eq!(held.quanta.recall, Some(1.0));
}

#[test]
fn what_was_not_measured_counts_on_neither_side() {
    let source = recorded(2);
    let n = number(&source, 0);
    let mut log = logged(&source);
    // A disturbance in the pause, one that began before the second segment, and one of long before.
    let quanta = &source.quanta[0];
    let pause = quanta.end[4_999];
    let second = quanta.start[5_000];
    assert!(second > pause);
    let row = |start: u64, end: u64| Disturbance {
        planned: start,
        start,
        end,
        cpu_ns: Some(1_000_000),
        ..Disturbance::default()
    };
    log.disturbances.insert(0, row(7, 1_000));
    log.disturbances
        .push(row(ORIGIN + pause + US, ORIGIN + pause + 9 * US));
    log.disturbances
        .push(row(ORIGIN + second - 30 * US, ORIGIN + second + 10 * US));
    log.disturbances.sort_by_key(|row| row.start);
    let held = held(&source, &[log]).remove(0);
    assert_eq!(held.disturbances, n + 1);
    assert_eq!(held.spans_ns, n * 86_000 + 10_000);
    assert_eq!(held.cpu_ns, Some(n * 90_000 + 250_000));
}

#[test]
fn what_cannot_be_the_truth_is_refused_with_its_row() {
    let source = recorded(1);
    let whole = logged(&source);
    let rows = whole.disturbances.len();
    let refused = |change: &dyn Fn(&mut Log)| {
        let mut log = whole.clone();
        change(&mut log);
        truth::check(&source, &[log]).unwrap_err().to_string()
    };
    truth::check(&source, std::slice::from_ref(&whole)).unwrap();
    let last = rows + 2;
    for (message, wanted) in [
        (refused(&|log| log.end = None), format!("a.log:{last}: found the end of the file, expected the last line")),
        (
            refused(&|log| {
                log.end = None;
                log.cut = true;
            }),
            format!("a.log:{last}: found a line that was never finished"),
        ),
        (refused(&|log| log.end.as_mut().unwrap().lost = 3), format!("a.log:{last}: found 3 disturbances lost")),
        (refused(&|log| log.end.as_mut().unwrap().state = State::Failed), format!("a.log:{last}: found a run that failed")),
        (refused(&|log| log.header.cpu = 3), "a.log:1: found a disturber of CPU 3, expected one that took its time from a measured CPU (1)".into()),
        (refused(&|log| log.header.kind = "neighbour:spin".into()), "a.log:1: found a neighbour".into()),
        (refused(&|log| log.end.as_mut().unwrap().clock.name = "tsc".into()), "a log on the clock \"tsc\"".into()),
        (
            refused(&|log| log.end.as_mut().unwrap().clock.origin_unix_ns = 100_000_000_000),
            "100 s apart".into(),
        ),
    ] {
        assert!(message.contains(&wanted), "{message}\n{wanted}");
    }
}
