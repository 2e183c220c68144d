//! Conditions that are about a cause.

use super::*;

#[test]
fn a_cause_is_asked_for_by_name() {
    let gaps = [(500_000_000, 90_000)];
    for (cause, kept) in [
        ("task:cc1", 1),
        ("task:*", 1),
        ("host", 0),
        ("task:make", 0),
    ] {
        let manifest = manifest(&[1], vec![longer(cause, 50.0)], Vec::new());
        let (written, told, _) = run(&manifest, 8_000, &gaps);
        assert_eq!((told.len(), written.gaps.len()), (kept, kept), "{cause}");
    }
}

#[test]
fn a_thread_is_its_process_and_a_worker_needs_no_number() {
    let gaps = [(500_000_000, 90_000)];
    for (thread, asked, met) in [
        ("worker-7", "task:mtprog", 1),
        ("worker-7", "task:worker-7", 0),
    ] {
        let mut flight = Flight::new(&manifest(&[1], vec![longer(asked, 50.0)], Vec::new()));
        flight.learn(&[TaskThread {
            task: 77,
            process: 70,
            name: "mtprog".into(),
        }]);
        fly(&mut flight, &gaps, thread);
        assert_eq!(flight.watched()[0].met, met, "{thread} {asked}");
        if met > 0 {
            let told = flight.caught();
            assert_eq!(told[0].causes[0].cause.to_string(), asked);
        }
    }
    for (asked, met) in [
        ("task:kworker/1", 1),
        ("task:kworker/1:2", 1),
        ("task:kworker", 0),
    ] {
        let mut flight = Flight::new(&manifest(&[1], vec![longer(asked, 50.0)], Vec::new()));
        fly(&mut flight, &gaps, "kworker/1:2");
        assert_eq!(flight.watched()[0].met, met, "{asked}");
    }
}

/// Each gap is a task of this name.
fn fly(flight: &mut Flight, gaps: &[(u64, u64)], name: &str) {
    for (quanta, inside) in batches(8_000, gaps) {
        let events: Vec<KernelEvent> = (inside.iter())
            .map(|gap| task(gap.start, gap.duration, name))
            .collect();
        flight.push(1, 0, &quanta, &inside, &[]);
        flight.push(1, 0, &Quanta::default(), &[], &events);
        let Ok(()) = flight.take(&mut |_| Ok::<(), Infallible>(()));
    }
    let Ok(()) = flight.finish(&mut |_| Ok::<(), Infallible>(()));
}

#[test]
fn where_nothing_is_met_the_longest_gap_has_its_name() {
    let gaps = [
        (500_000_000, 40_000),
        (700_000_000, 90_000),
        (750_000_000, 60_000),
    ];
    let misspelt = [
        manifest(&[1], vec![longer("task:cc2", 50.0)], Vec::new()),
        manifest(&[1], vec![longer("", 500.0)], Vec::new()),
    ];
    for manifest in misspelt {
        let (_, told, flight) = run(&manifest, 8_000, &gaps);
        let watched = &flight.watched()[0];
        assert_eq!((told.len(), watched.longest_ticks), (0, 90_000));
        assert_eq!(watched.longest_cause, "task:cc1");
    }
    // The longest that came is yet to be judged.
    let nothing = manifest(&[1], vec![longer("task:cc2", 50.0)], Vec::new());
    let mut flight = Flight::new(&nothing);
    for (quanta, inside) in batches(8_000, &gaps) {
        flight.push(1, 0, &quanta, &inside, &[task(0, 1, "cc1")]);
        if quanta.end.last().is_some_and(|&end| end < 720_000_000) {
            let Ok(()) = flight.take(&mut |_| Ok::<(), Infallible>(()));
        }
    }
    let watched = &flight.watched()[0];
    assert_eq!(
        (watched.longest_ticks, &*watched.longest_cause),
        (90_000, "")
    );
}

/// A gap of which `make` takes most, and `cc1` a little.
#[test]
fn of_a_gap_what_was_asked_for_counts() {
    let gap = Gap {
        start: 500_000_000,
        duration: 1_200_000,
        ..Gap::default()
    };
    let events = [
        task(gap.start, 1_100_000, "make"),
        task(gap.start + 1_100_000, 100_000, "cc1"),
    ];
    for (condition, ns, main) in [
        (longer("task:cc1", 50.0), 1e5, "task:cc1"),
        (longer("task:*", 50.0), 1.2e6, "task:make"),
        (longer("", 50.0), 1.2e6, "task:make"),
    ] {
        let mut flight = Flight::new(&manifest(&[1], vec![condition], Vec::new()));
        for (quanta, inside) in batches(8_000, &[(gap.start, gap.duration)]) {
            flight.push(1, 0, &quanta, &inside, &[]);
            let now = if inside.is_empty() { &[][..] } else { &events };
            flight.push(1, 0, &Quanta::default(), &[], now);
        }
        let Ok(()) = flight.finish(&mut |_| Ok::<(), Infallible>(()));
        let moments = flight.caught();
        let moment = &moments[0];
        assert_eq!((moment.ns, moment.length_ns), (ns, 1.2e6));
        assert_eq!(moment.causes.len(), 2);
        assert_eq!(moment.causes[0].cause.to_string(), main);
        assert_eq!(moment.behind[0].cause, main);
        let watched = &flight.watched()[0];
        assert_eq!(watched.met_by, [(main.to_owned(), 1)].into());
    }
}

/// A stretch begins with ticks, and a long task in it takes most.
#[test]
fn of_a_stretch_the_worst_cause_counts() {
    let stretch = Trigger {
        text: "worst 10 ms < 91 %".into(),
        window_s: Some(10e-3),
        less_than: Some(0.91),
        ..Trigger::default()
    };
    let manifest = manifest(&[1], vec![stretch], Vec::new());
    let mut gaps: Vec<(u64, u64)> = (0..20)
        .map(|k| (500_000_000 + k * 1_000_000, 95_000))
        .collect();
    gaps.push((520_000_000, 5_000_000));
    let name = |length| if length > 1_000_000 { "long" } else { "short" };
    let (_, _, flight) = run_of(&manifest, 12_000, &gaps, name);
    let watched = &flight.watched()[0];
    assert_eq!(watched.met_by, [("task:long".to_owned(), 1)].into());
    assert_eq!(watched.met, 1);
}
