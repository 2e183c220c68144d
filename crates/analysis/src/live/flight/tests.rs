//! A flight recorder on runs of a few thousand quanta, at a tick a nanosecond.

mod asked;

use super::*;
use bandscope_recording::EventKind;
use bandscope_recording::manifest::{Events, Trigger};
use std::convert::Infallible;

/// Length of a quantum.
const QUANTUM: u64 = 100_000;

/// What came out.
#[derive(Debug, Default)]
struct Written {
    quanta: Vec<(u32, u64, u32)>,
    gaps: Vec<Gap>,
    events: Vec<(u32, u64)>,
}

impl Written {
    fn add(&mut self, out: Out<'_>) {
        match out {
            Out::Quanta {
                cpu, quanta, gaps, ..
            } => {
                let starts = quanta.start.iter().zip(&quanta.segment);
                self.quanta
                    .extend(starts.map(|(&start, &segment)| (cpu, start, segment)));
                self.gaps.extend_from_slice(gaps);
            }
            Out::Events { cpu, events } => {
                self.events
                    .extend(events.iter().map(|event| (cpu, event.start)));
            }
        }
    }

    /// First and last start of the quanta of a CPU, segment by segment.
    fn stretches(&self, cpu: u32) -> Vec<(u64, u64)> {
        let mut stretches: Vec<(u32, u64, u64)> = Vec::new();
        for &(_, start, segment) in self.quanta.iter().filter(|one| one.0 == cpu) {
            match stretches.last_mut().filter(|last| last.0 == segment) {
                Some(last) => last.2 = start,
                None => stretches.push((segment, start, start)),
            }
        }
        stretches
            .iter()
            .map(|&(_, first, last)| (first, last))
            .collect()
    }
}

fn manifest(cpus: &[u32], conditions: Vec<Trigger>, stop_if: Vec<Trigger>) -> Manifest {
    let mut manifest = Manifest {
        events: Events {
            state: EventsState::On,
            ..Events::default()
        },
        ..Manifest::default()
    };
    manifest.settings.cpus = cpus.to_vec();
    manifest.clock.ticks_per_ns = 1.0;
    manifest.settings.catch = Some(Catch {
        conditions,
        stop_if,
        around_s: 1e-3,
    });
    manifest
}

fn longer(cause: &str, us: f64) -> Trigger {
    Trigger {
        text: format!("gap > {us} us"),
        cause: cause.into(),
        longer_than_s: Some(us * 1e-6),
        ..Trigger::default()
    }
}

/// Quanta of one CPU, in batches of 25 ms, from the first on; those in which a gap lies wait for its end.
fn batches(number: u64, gaps: &[(u64, u64)]) -> Vec<(Quanta, Vec<Gap>)> {
    let mut batches = Vec::new();
    for first in (0..number).step_by(250) {
        let mut quanta = Quanta::default();
        let mut inside = Vec::new();
        for k in first..(first + 250).min(number) {
            let (start, end) = (k * QUANTUM, (k + 1) * QUANTUM);
            let mine = gaps.iter().filter(|gap| (start..end).contains(&gap.0));
            inside.extend(mine.clone().map(|&(start, duration)| Gap {
                start,
                duration,
                ..Gap::default()
            }));
            quanta.start.push(start);
            quanta.end.push(end);
            quanta.count.push(1000);
            quanta.gaps.push(mine.clone().count() as u32);
            quanta.gap_ticks.push(mine.map(|gap| gap.1).sum());
            quanta.measurement_ticks.push(0);
            quanta.cpu.push(1);
            quanta.segment.push(0);
        }
        batches.push((quanta, inside));
    }
    batches
}

fn task(start: u64, duration: u64, name: &str) -> KernelEvent {
    KernelEvent {
        start,
        duration,
        kind: EventKind::Task,
        number: 77,
        name: name.into(),
        sender: Some(
            bandscope_recording::Sender {
                name: "irq:eth0".into(),
                cpu: 3,
                ..Default::default()
            }
            .into(),
        ),
        waited: 5_000,
    }
}

/// Runs one CPU whose gaps each are the task cc1; what came out, the moments that were told, and the recorder.
fn run(manifest: &Manifest, number: u64, gaps: &[(u64, u64)]) -> (Written, Vec<Moment>, Flight) {
    run_of(manifest, number, gaps, |_| "cc1")
}

/// The same where the length of a gap says which task it is.
fn run_of(
    manifest: &Manifest,
    number: u64,
    gaps: &[(u64, u64)],
    name: fn(u64) -> &'static str,
) -> (Written, Vec<Moment>, Flight) {
    let mut flight = Flight::new(manifest);
    let mut written = Written::default();
    let mut told = Vec::new();
    for (quanta, inside) in batches(number, gaps) {
        let events: Vec<KernelEvent> = (inside.iter())
            .map(|gap| task(gap.start, gap.duration, name(gap.duration)))
            .collect();
        flight.push(1, 0, &quanta, &inside, &[]);
        // Events come after the quanta, and of another CPU all the time.
        flight.push(1, 0, &Quanta::default(), &[], &events);
        let other: Vec<KernelEvent> = (quanta.start.iter())
            .map(|&start| task(start, 50_000, "make"))
            .collect();
        flight.push(0, 0, &Quanta::default(), &[], &other);
        let taken = flight.take(&mut |out| {
            written.add(out);
            Ok::<(), Infallible>(())
        });
        assert!(taken.is_ok());
        told.extend(flight.caught());
        let waiting: usize = flight.lanes[0]
            .waiting
            .iter()
            .map(|waiting| waiting.quanta.len())
            .sum();
        assert!(
            waiting <= 1250 + 250,
            "memory holds an eighth of a second: {waiting}"
        );
        if flight.stopped_by().is_some() {
            break;
        }
    }
    let finished = flight.finish(&mut |out| {
        written.add(out);
        Ok::<(), Infallible>(())
    });
    assert!(finished.is_ok());
    told.extend(flight.caught());
    (written, told, flight)
}

#[test]
fn what_lies_around_a_long_gap_is_kept_and_nothing_else() {
    let gaps = [
        (500_000_030, 90_000),
        (600_000_000, 20_000),
        (900_000_040, 60_000),
    ];
    let manifest = manifest(&[1], vec![longer("", 50.0)], Vec::new());
    let (written, told, flight) = run(&manifest, 12_000, &gaps);
    let stretches = written.stretches(1);
    assert_eq!(
        stretches[0],
        (0, 0),
        "the first quantum, from which times count"
    );
    assert_eq!(
        stretches[1..],
        [(499_000_000, 501_000_000), (899_000_000, 901_000_000)]
    );
    let kept: Vec<u64> = written.gaps.iter().map(|gap| gap.start).collect();
    assert_eq!(kept, [500_000_030, 900_000_040]);
    let segments: Vec<u32> = written.gaps.iter().map(|gap| gap.segment).collect();
    let of = |start| {
        written
            .quanta
            .iter()
            .find(|one| one.0 == 1 && one.1 == start)
            .map(|one| one.2)
    };
    let wanted = [of(500_000_000), of(900_000_000)].map(|segment| segment.unwrap_or(u32::MAX));
    assert_eq!(segments, wanted, "a gap is of the segment of its quantum");
    let elsewhere: Vec<u64> = written
        .events
        .iter()
        .filter(|one| one.0 == 0)
        .map(|one| one.1)
        .collect();
    assert!(elsewhere.contains(&499_900_000) && elsewhere.contains(&900_000_000));
    assert_eq!(elsewhere.len(), 1 + 21 + 21, "{elsewhere:?}");
    assert_eq!(told.len(), 2);
    assert_eq!(told[0].causes[0].cause.to_string(), "task:cc1");
    assert_eq!(told[0].behind[0].sender, "irq:eth0");
    assert!((told[0].at_s - 0.500_000_03).abs() < 1e-12);
    let watched = &flight.watched()[0];
    assert_eq!((watched.gaps, watched.met, watched.kept), (3, 2, 2));
    assert_eq!(
        (watched.wall_ticks, watched.longest_ticks),
        (1_200_000_000, 90_000)
    );
}

#[test]
fn of_many_the_longest_are_kept() {
    let gaps: Vec<(u64, u64)> = (0..1000)
        .map(|k| (10_000_000 + k * 5_000_000, 50_000 + k % 7))
        .collect();
    let manifest = manifest(&[1], vec![longer("", 10.0)], Vec::new());
    let (written, told, flight) = run(&manifest, 51_000, &gaps);
    let watched = &flight.watched()[0];
    assert_eq!(watched.met, 1000);
    assert!((100..400).contains(&watched.kept), "{watched:?}");
    assert_eq!(
        (told.len(), written.gaps.len()),
        (watched.kept as usize, watched.kept as usize)
    );
}

#[test]
fn of_a_rare_cause_the_longest_are_kept_beside_a_frequent_one() {
    // Each long one is shorter than those before it, so the first hundred are the longest. Each short one is longer than those before it.
    let gaps: Vec<(u64, u64)> = (0..220)
        .map(|k| {
            let length = if k % 11 == 10 { 20_000 + k } else { 50_000 - k };
            (10_000_000 + k * 5_000_000, length)
        })
        .collect();
    let name = |length| if length < 40_000 { "ld" } else { "cc1" };
    let stretch = Trigger {
        text: "worst 200 us < 95 %".into(),
        window_s: Some(200e-6),
        less_than: Some(0.95),
        ..Trigger::default()
    };
    for condition in [longer("", 10.0), stretch] {
        let manifest = manifest(&[1], vec![condition], Vec::new());
        let (written, told, flight) = run_of(&manifest, 12_000, &gaps, name);
        let of = |name: &str| {
            let main = |moment: &&Moment| moment.causes[0].cause.to_string() == name;
            told.iter().filter(main).count()
        };
        assert_eq!(flight.watched()[0].met, 220);
        assert_eq!((of("task:cc1"), of("task:ld")), (100, 20));
        assert_eq!(written.gaps.len(), told.len());
    }
}

#[test]
fn a_gap_of_a_second_keeps_what_was_before_it() {
    let manifest = manifest(&[1, 2], vec![longer("", 50.0)], Vec::new());
    let mut flight = Flight::new(&manifest);
    let mut written = Written::default();
    let mut step = |flight: &mut Flight, cpu: u32, quanta: &Quanta, gaps: &[Gap]| {
        flight.push(cpu, 0, quanta, gaps, &[]);
        let taken = flight.take(&mut |out| {
            written.add(out);
            Ok::<(), Infallible>(())
        });
        assert!(taken.is_ok());
    };
    let of = |number: u64| batches(number, &[]);
    for (quanta, _) in of(1_000) {
        step(&mut flight, 1, &quanta, &[]);
        step(&mut flight, 2, &quanta, &[]);
    }
    // CPU 1 is away for a second, and the other one goes on.
    for (quanta, _) in of(12_000).into_iter().skip(4) {
        step(&mut flight, 2, &quanta, &[]);
    }
    let mut late = Quanta::default();
    for (start, end) in [(100_000_000, 1_100_000_000), (1_100_000_000, 1_300_000_000)] {
        late.start.push(start);
        late.end.push(end);
    }
    let away = Gap {
        start: 100_000_010,
        duration: 999_999_980,
        ..Gap::default()
    };
    (late.count, late.gaps) = (vec![10, 10], vec![1, 0]);
    (late.gap_ticks, late.measurement_ticks) = (vec![away.duration, 0], vec![0, 0]);
    (late.cpu, late.segment) = (vec![1, 1], vec![0, 0]);
    step(&mut flight, 1, &late, &[away]);
    let finished = flight.finish(&mut |out| {
        written.add(out);
        Ok::<(), Infallible>(())
    });
    assert!(finished.is_ok());
    let first = |cpu| written.stretches(cpu).last().map(|stretch| stretch.0);
    assert_eq!((first(1), first(2)), (Some(99_000_000), Some(99_000_000)));
}

#[test]
fn a_condition_ends_the_run_once_what_follows_has_come() {
    let gaps = [(500_000_000, 90_000), (700_000_000, 95_000)];
    let manifest = manifest(&[1], vec![longer("", 92.0)], vec![longer("", 50.0)]);
    let (written, told, flight) = run(&manifest, 50_000, &gaps);
    assert_eq!(flight.met_at_the_end(), Some("gap > 50 us"));
    assert_eq!(told.len(), 1);
    let last = written.stretches(1).last().copied();
    assert_eq!(last, Some((499_000_000, 501_000_000)), "and not up to 5 s");
    assert!(flight.watched()[0].wall_ticks < 700_000_000);
}

#[test]
fn a_stretch_that_is_longer_than_what_lies_around_it_is_whole() {
    let gaps: Vec<(u64, u64)> = (0..50)
        .map(|k| (700_000_000 + k * 400_000, 90_000))
        .collect();
    let stretch = Trigger {
        text: "worst 20 ms < 80 %".into(),
        window_s: Some(20e-3),
        less_than: Some(0.8),
        ..Trigger::default()
    };
    let manifest = manifest(&[1], vec![stretch], Vec::new());
    let (written, told, flight) = run(&manifest, 12_000, &gaps);
    let last = written.stretches(1).last().copied();
    // It is hit when 45 of its gaps have taken 4 ms, and goes on up to the last.
    let (first, end) = last.unwrap_or_default();
    assert!((696_000_000..698_000_000).contains(&first), "{first}");
    assert_eq!(end, 720_600_000);
    assert_eq!((told.len(), flight.watched()[0].met), (1, 1));
}

#[test]
fn quanta_that_follow_a_long_absence_and_have_no_time_are_not_kept_waiting() {
    const BATCH: usize = 1 << 16;
    let away = 60_000_000_000;
    let mut flight = Flight::new(&manifest(&[1], vec![longer("", 1000.0)], Vec::new()));
    let (mut quanta, _) = batches(1, &[]).remove(0);
    let end = quanta.start[0] + away;
    quanta.end[0] = end;
    quanta.gap_ticks[0] = away;
    let gap = Gap {
        start: quanta.start[0],
        duration: away,
        ..Gap::default()
    };
    flight.push(1, 0, &quanta, &[gap], &[]);
    let quantum = quanta.get(0);
    let mut empty = Quanta::default();
    for _ in 0..BATCH {
        empty.push(bandscope_recording::Quantum {
            start: end,
            end,
            count: 0,
            gap_ticks: 0,
            ..quantum
        });
    }
    let mut most = 0;
    for _ in 0..20 {
        flight.push(1, 0, &empty, &[], &[]);
        let waiting = flight.lanes[0].waiting.iter();
        most = most.max(waiting.map(|one| one.quanta.len()).sum());
    }
    assert!(most <= MOST_QUANTA + BATCH, "{most}");
    let mut written = Written::default();
    let Ok(()) = flight.finish(&mut |out| {
        written.add(out);
        Ok::<(), Infallible>(())
    });
    assert_eq!((written.gaps.len(), written.stretches(1).len()), (1, 1));
}
