//! Runs of the simulated machine against the truth.

use super::*;
use bandscope_recording::{Gap, Quanta};

const TICKS_PER_NS: f64 = 2.0;

fn request(rates_hz: Vec<f64>, seconds: f64) -> Request {
    Request {
        cpus: vec![2],
        segment_s: 0.1,
        ..super::request(&rates_hz, &["mulss80"], seconds)
    }
}

/// Runs a scenario and returns the quanta and gaps of each series, and the truth.
fn run(scenario: &str, request: &Request) -> (Vec<Quanta>, Vec<Gap>, Truth) {
    let mut machine = SimulatedMachine::new(Scenario::parse(scenario).unwrap());
    let mut manifest = machine.prepare(request).unwrap();
    let mut quanta = vec![Quanta::default(); request.series().len()];
    let mut gaps = Vec::new();
    machine
        .run(
            request,
            &mut manifest,
            &AtomicBool::new(false),
            &mut |batch| {
                (0..batch.quanta.len())
                    .for_each(|k| quanta[batch.series].push(batch.quanta.get(k)));
                gaps.extend_from_slice(batch.gaps);
                Ok(())
            },
        )
        .unwrap();
    assert_eq!(manifest.state, State::Complete);
    (quanta, gaps, machine.truths()[0].clone())
}

#[test]
fn a_quiet_machine_has_one_pace_and_no_gap() {
    let (quanta, gaps, truth) = run("quiet", &request(vec![10_000.0], 0.5));
    assert_eq!(quanta[0].len(), 5000);
    assert!(gaps.is_empty() && truth.absences.is_empty());
    for k in 0..5000 {
        let pace = quanta[0].get(k).pace().unwrap() / TICKS_PER_NS;
        // Ends are whole ticks: half a tick at either end of 890 units.
        assert!((pace - 112.25).abs() < 0.5 / 890.0, "{pace}");
    }
}

#[test]
fn every_absence_is_a_gap_of_its_length_and_a_unit() {
    let (quanta, gaps, truth) = run("tick:hz=1000,cost=2.5us", &request(vec![10_000.0], 0.5));
    assert_eq!(gaps.len(), 500);
    assert_eq!(truth.absences.len(), gaps.len());
    for (gap, absence) in gaps.iter().zip(&truth.absences) {
        let lost = gap.duration as f64 - 112.25 * TICKS_PER_NS;
        assert!((lost - absence.length).abs() <= 1.0, "{lost}");
    }
    let in_quanta: u64 = quanta[0].gap_ticks.iter().sum();
    assert_eq!(in_quanta, gaps.iter().map(|gap| gap.duration).sum::<u64>());
}

#[test]
fn a_flip_of_pace_is_no_gap() {
    let (quanta, gaps, truth) = run("flips", &request(vec![10_000.0], 0.2));
    assert!(gaps.is_empty());
    assert!(truth.paces.len() > 190);
    let slow = quanta[0].count.iter().filter(|&&count| count < 170).count();
    // 1 ms of each 2 ms is slow: 10 quanta of 20, less at most one edge.
    assert!((900..=1000).contains(&slow), "{slow}");
}

#[test]
fn rates_alternate_and_segments_are_numbered() {
    let (quanta, _, _) = run("tick", &request(vec![10_000.0, 7_777.0], 0.4));
    assert_eq!(quanta[0].len(), 2000);
    assert_eq!(quanta[1].len(), (0.2f64 * 7_777.0).round() as usize);
    assert_eq!(quanta[0].segment.last(), Some(&2));
    assert_eq!(quanta[1].segment.last(), Some(&3));
}

#[test]
fn a_wrong_calibration_shortens_the_quanta() {
    let (quanta, _, _) = run("drift:ppm=750", &request(vec![10_000.0], 0.5));
    let last = quanta[0].end[4999] as f64;
    assert!((last / (5000.0 * 200_000.0) - 1.00075).abs() < 1e-6);
}

#[test]
fn simulated_time_ends_in_an_error() {
    for (scenario, delay) in [
        ("pages:cost=1000000s", 0.0),
        ("pages:cost=1000000s+tick", 0.0),
        ("quiet", 180_000.0),
        ("warmup", 180_000.0),
        ("alternate+tick:hz=1", 180_000.0),
    ] {
        let mut machine = SimulatedMachine::new(Scenario::parse(scenario).unwrap());
        let request = Request {
            start_delay_s: delay,
            trace: Choice::On,
            ..request(vec![1e4], 1.0)
        };
        let mut manifest = machine.prepare(&request).unwrap();
        let stop = AtomicBool::new(false);
        let error = machine.run(&request, &mut manifest, &stop, &mut |_| Ok(()));
        assert!(error.unwrap_err().to_string().contains("37 hours"));
        assert_eq!(manifest.state, State::Failed);
    }
}

#[test]
fn slow_quanta_and_many_gaps_come_in_small_batches() {
    for (scenario, rate, seconds) in [("quiet", 1.0, 60.0), ("tick:hz=100kHz,cost=2us", 1.0, 3.0)] {
        let mut machine = SimulatedMachine::new(Scenario::parse(scenario).unwrap());
        let request = request(vec![rate], seconds);
        let mut manifest = machine.prepare(&request).unwrap();
        let (mut batches, mut longest, mut last) = (0, 0, 0);
        let mut consume = |batch: Batch<'_>| {
            let end = *batch.quanta.end.last().unwrap();
            (batches, longest, last) = (batches + 1, longest.max(end - last), end);
            Ok(())
        };
        let stop = AtomicBool::new(false);
        machine
            .run(&request, &mut manifest, &stop, &mut consume)
            .unwrap();
        assert!(batches >= 3, "{scenario}: {batches}");
        assert!(
            longest as f64 <= 5.01e9 * TICKS_PER_NS,
            "{scenario}: {longest}"
        );
    }
}

#[test]
fn few_of_many_changes_of_cpu_are_listed() {
    let mut machine = SimulatedMachine::new(Scenario::parse("jump:every=1ms,cpu=1").unwrap());
    let request = request(vec![1e4], 0.3);
    let mut manifest = machine.prepare(&request).unwrap();
    let stop = AtomicBool::new(false);
    machine
        .run(&request, &mut manifest, &stop, &mut |_| Ok(()))
        .unwrap();
    let jumps = machine.truths()[0].jumps.len();
    let last = manifest.incidents.pop().unwrap();
    assert_eq!(manifest.incidents.len(), 64);
    assert_eq!(
        last.detail,
        format!("{} more incidents are not listed", jumps - 64)
    );
}

#[test]
fn a_unit_that_takes_no_time_is_refused() {
    for (scenario, kernel) in [
        ("unit:ratio=0.001", "mulss80"),
        ("clock:ghz=0.05+unit:ratio=0.01+noise:sigma=0.3", "ftq-o0"),
        ("flips:ratio=0.01,memory=1+states:ratio=0.1", "ftq-o2"),
    ] {
        let mut machine = SimulatedMachine::new(Scenario::parse(scenario).unwrap());
        let request = super::request(&[1e4], &[kernel], 1.0);
        let error = machine.prepare(&request).unwrap_err().to_string();
        assert!(
            error.contains(kernel) && error.contains("at least 1;"),
            "{error}"
        );
    }
    let scenario = Scenario::parse("flips:ratio=0.01,memory=1+states:ratio=0.1").unwrap();
    let request = super::request(&[1e4], &["mulss80"], 1.0);
    SimulatedMachine::new(scenario).prepare(&request).unwrap();
}

#[test]
fn what_cannot_be_had_is_named() {
    let mut machine = SimulatedMachine::new(Scenario::parse("quiet").unwrap());
    let mut wrong = request(vec![0.0], 1.0);
    assert!(
        machine
            .prepare(&wrong)
            .unwrap_err()
            .to_string()
            .contains("rate 0 Hz")
    );
    wrong = request(vec![1e4], 1.0);
    wrong.cpus = vec![CPUS];
    assert!(
        machine
            .prepare(&wrong)
            .unwrap_err()
            .to_string()
            .contains("CPU 128")
    );
    wrong.cpus = vec![0];
    wrong.kernels = vec!["nothing".into()];
    assert!(
        machine
            .prepare(&wrong)
            .unwrap_err()
            .to_string()
            .contains("mulss80")
    );
}
