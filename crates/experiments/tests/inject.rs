//! Disturbers of every kind on this machine, whatever it is, for a fraction of a second: only what holds on any is asserted.

use bandscope_experiments::inject::{Disturber, Kind, Neighbour, Request, choose_neighbour};
use bandscope_probe::{clock, pin};
use bandscope_recording::disturbances::{Disturbance, End, Header};
use bandscope_recording::manifest::State;
use bandscope_sampler::machine::Priority;
use std::time::{Duration, Instant};

/// 40 disturbances of 0.5 ms, one each 5 ms.
fn request(kind: Kind, cpu: u32) -> Request {
    Request {
        kind,
        cpu,
        measured: Vec::new(),
        priority: Priority::LOWEST,
        period_s: 5e-3,
        length_s: 5e-4,
        jitter_s: 1e-3,
        seed: 3,
        duration_s: Some(0.202),
    }
}

/// Runs to its end by itself, emptying the ring meanwhile.
fn run(request: &Request) -> Result<(Header, Vec<Disturbance>, End), String> {
    let mut disturber = Disturber::start(request).map_err(|error| error.to_string())?;
    let header = disturber.header().clone();
    let mut rows = Vec::new();
    let begun = Instant::now();
    while !disturber.ended() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not end");
        std::thread::sleep(Duration::from_millis(30));
        rows.extend(disturber.take());
    }
    let (rest, end) = disturber.finish();
    rows.extend(rest);
    Ok((header, rows, end))
}

#[test]
fn every_kind_does_what_it_says_and_says_what_it_did() {
    let cpu = pin::allowed().unwrap()[0];
    for kind in Kind::all() {
        let cpu = match kind {
            Kind::Neighbour(_) => choose_neighbour(cpu).unwrap_or(cpu),
            _ => cpu,
        };
        let before = clock::ticks();
        let (header, rows, end) = match run(&request(kind, cpu)) {
            Ok(ran) => ran,
            Err(why) => {
                println!("SKIPPED: {kind}: {why}");
                assert!(why.contains("cannot disturb by"), "{why}");
                continue;
            }
        };
        let after = clock::ticks();
        assert_eq!((header.kind.parse(), header.cpu), (Ok(kind), cpu));
        assert!(header.task.name.starts_with("inject-"), "{:?}", header.task);
        assert!(header.clock.ticks_per_ns > 0.0);
        if header.task.policy == "other" && kind.takes_the_cpu() {
            println!(
                "SKIPPED: {kind} at real-time priority: {:?}",
                header.missing
            );
            assert!(
                header
                    .missing
                    .iter()
                    .any(|missing| missing.what == "real-time priority 1")
            );
        }
        assert_eq!(end.state, State::Complete, "{kind}: {:?}", end.why);
        assert_eq!((end.disturbances, end.lost), (rows.len() as u64, 0));
        // However slow the machine: what did not happen was skipped.
        assert_eq!(end.disturbances + end.skipped, 40, "{kind}");
        assert!(!rows.is_empty(), "{kind}: all of {} skipped", end.skipped);
        for row in &rows {
            assert!(before < row.planned && row.planned <= row.start, "{row:?}");
            assert!(row.start <= row.end && row.end < after, "{row:?}");
            let length = (row.end - row.start) as f64 / header.clock.ticks_per_ns;
            // It was not told to end early. Reading its own account may have cost less than usual.
            assert!(length > 1e5, "{kind}: {length} ns");
            assert!(header.away_threshold_ticks.is_some() || row.away.is_empty());
        }
        let events: u64 = rows.iter().map(|row| row.events).sum();
        let eventful = matches!(
            kind,
            Kind::Faults | Kind::Softirq | Kind::Neighbour(Neighbour::Shallow | Neighbour::Deep)
        );
        assert_eq!(events > 0, eventful, "{kind}: {events}");
        if let Some(softirqs) = end.kernel_counts.get("softirq:NET_RX") {
            println!("{kind}: {events} packets, {softirqs} NET_RX softirqs on CPU {cpu}");
        }
        println!(
            "{kind}: {} rows, {} skipped, {:?}",
            rows.len(),
            end.skipped,
            end.kernel_counts
        );
    }
}

#[test]
fn it_ends_when_it_is_told_to_however_long_it_would_sleep_or_work() {
    let cpu = pin::allowed().unwrap()[0];
    for kind in [Kind::Task, Kind::Signal, Kind::Neighbour(Neighbour::Deep)] {
        for (period_s, length_s, wait) in [(3600.0, 1.0, 0), (1.0, 1.0, 50), (1e-3, 1e-4, 50)] {
            let request = Request {
                period_s,
                length_s,
                jitter_s: 0.0,
                duration_s: None,
                ..request(kind, cpu)
            };
            let disturber = match Disturber::start(&request) {
                Ok(disturber) => disturber,
                Err(why) => {
                    println!("SKIPPED: {kind}: {why}");
                    continue;
                }
            };
            std::thread::sleep(Duration::from_millis(wait));
            // The test hangs if it does not.
            let (rows, end) = disturber.finish();
            assert_eq!(end.state, State::Complete);
            assert_eq!(end.disturbances, rows.len() as u64);
        }
    }
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let cpu = pin::allowed().unwrap()[0];
    for (wrong, wanted) in [
        (request(Kind::Task, 4_000_000), "CPU 4000000"),
        (
            Request {
                jitter_s: 4.6e-3,
                ..request(Kind::Task, cpu)
            },
            "length and jitter",
        ),
    ] {
        let why = Disturber::start(&wrong)
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(why.contains(wanted) && why.lines().count() == 1, "{why}");
    }
}
