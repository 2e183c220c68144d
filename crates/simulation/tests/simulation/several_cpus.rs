//! Runs on several CPUs: each has series, gaps and a truth of its own, and what they share happens at the same times.

use bandscope_recording::Gap;
use bandscope_sampler::Request;
use bandscope_simulation::{Scenario, request, synthesise};

#[test]
fn every_cpu_and_rate_is_a_series_with_its_own_gaps() {
    let request = Request {
        cpus: vec![1, 4],
        segment_s: 0.05,
        ..request(&[1e4, 7777.0], &["mulss80"], 0.4)
    };
    let scenario = Scenario::parse("tick:hz=1000").unwrap();
    let (recording, truths) = synthesise(&scenario, &request).unwrap();
    let names: Vec<_> = recording
        .series
        .iter()
        .map(|s| (s.cpu, s.rate_hz))
        .collect();
    assert_eq!(
        names,
        [
            (Some(1), 1e4),
            (Some(1), 7777.0),
            (Some(4), 1e4),
            (Some(4), 7777.0)
        ]
    );
    for index in 0..4 {
        let (quanta, gaps) = (&recording.quanta[index], &recording.gaps[index]);
        assert_eq!(quanta.gaps.iter().sum::<u32>() as usize, gaps.len());
        let truth = &truths[index / 2];
        let inside = truth.segments.iter().filter(|s| s.series == index % 2);
        let happened: usize = inside
            .map(|s| {
                let within = |at: f64| s.start <= at && at < s.end;
                truth.absences.iter().filter(|a| within(a.start)).count()
            })
            .sum();
        assert_eq!(gaps.len(), happened);
    }
}

#[test]
fn what_cpus_share_happens_at_the_same_times() {
    let both = |scenario: &str| {
        let request = Request {
            cpus: vec![4, 5],
            ..request(&[1e4], &["mulss80"], 2.0)
        };
        synthesise(&Scenario::parse(scenario).unwrap(), &request).unwrap()
    };
    let (recording, truths) = both("host-steal:hz=50,cost=20us,skew=3us");
    assert_eq!(truths[0].parts[0].kinds, ["synchronous-gaps"]);
    let (a, b) = (&recording.gaps[0], &recording.gaps[1]);
    assert!(a.len() > 60 && a.len() == b.len());
    // Begins are those of the unit that was interrupted: 0.1 us.
    let ticks = 2.0 * 3_200.0;
    let late = |(a, b): (&Gap, &Gap)| a.start.abs_diff(b.start) as f64;
    let skews: Vec<f64> = a.iter().zip(b).map(late).collect();
    assert!(skews.iter().all(|skew| *skew < ticks));
    assert!(
        skews.iter().any(|skew| *skew > 0.3 * ticks),
        "not by the same time"
    );
    // A tick that each CPU has half a period later than the one before.
    let (recording, _) = both("tick:hz=100,cost=5us,skew=5ms");
    for (a, b) in recording.gaps[0].iter().zip(&recording.gaps[1]) {
        assert!((b.start.abs_diff(a.start) as f64 / 1e7 - 1.0).abs() < 1e-4);
    }
    let (_, truths) = both("core-coupling:lag=70us,ratio=1.3,leader=1.2,dwell=10ms");
    let (leader, follower) = (&truths[0].paces[1..], &truths[1].paces[1..]);
    assert!(leader.len() > 100 && leader.len().abs_diff(follower.len()) <= 1);
    for (one, other) in leader.iter().zip(follower) {
        assert!((other.at - one.at - 140_000.0).abs() < 1.0);
        assert_eq!(one.slowdown == 1.2, other.slowdown == 1.3);
    }
    let scenario = Scenario::parse("host-steal").unwrap();
    let (_, alone) = synthesise(&scenario, &request(&[1e4], &["mulss80"], 0.1)).unwrap();
    assert!(alone[0].parts[0].kinds.is_empty(), "nobody else is there");
}
