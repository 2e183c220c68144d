//! Each scenario does what its line in the catalogue says: synthesised recordings against the truth and
//! against arithmetic on their parameters.

use bandscope_recording::source::InMemory;
use bandscope_sampler::Request;
use bandscope_simulation::catalogue::CATALOGUE;
use bandscope_simulation::{Scenario, Truth, request, synthesise};

fn run(scenario: &str, request: &Request) -> (InMemory, Truth) {
    let (recording, mut truths) = synthesise(&Scenario::parse(scenario).unwrap(), request).unwrap();
    (recording, truths.remove(0))
}

/// One series at 10 kHz.
fn simple(scenario: &str, kernel: &str, seconds: f64) -> (InMemory, Truth) {
    run(scenario, &request(&[1e4], &[kernel], seconds))
}

/// Nanoseconds per unit of each quantum of a series.
fn paces(recording: &InMemory, series: usize) -> Vec<f64> {
    let quanta = &recording.quanta[series];
    (0..quanta.len())
        .filter_map(|k| quanta.get(k).pace())
        .map(|ticks| ticks / recording.manifest.clock.ticks_per_ns)
        .collect()
}

fn share(values: &[f64], holds: impl Fn(f64) -> bool) -> f64 {
    values.iter().filter(|value| holds(**value)).count() as f64 / values.len() as f64
}

#[test]
fn every_entry_runs_and_repeats_itself_by_its_seed() {
    for entry in CATALOGUE {
        let request = request(&[1e4, 7777.0], &["ftq-o2"], 0.1);
        let first = run(entry.name, &request);
        assert_eq!(first.0.quanta[0].len(), 500, "{}", entry.name);
        let again = run(entry.name, &request);
        assert_eq!(first.0.quanta, again.0.quanta, "{}", entry.name);
        assert_eq!(first.0.gaps, again.0.gaps, "{}", entry.name);
        assert_eq!(first.1, again.1, "{}", entry.name);
        assert_eq!(first.1.parts[0].name, entry.name);
    }
}

#[test]
fn another_seed_is_another_machine() {
    let scenario = Scenario::parse("tasks:hz=500").unwrap();
    let request = request(&[1e4], &["mulss80"], 0.2);
    let gaps = |seed| {
        let (recording, _) = synthesise(&scenario.clone().with_seed(seed), &request).unwrap();
        recording.gaps
    };
    assert_eq!(gaps(5), gaps(5));
    assert_ne!(gaps(5), gaps(6));
    let text = scenario.with_seed(5).text().to_owned();
    assert_eq!(Scenario::parse(&text).unwrap().seed(), 5);
}

#[test]
fn noise_has_its_deviation_and_no_pace_far_below_the_rest() {
    let (recording, _) = simple("noise:sigma=1%,every=1ms", "mulss80", 1.0);
    let paces = paces(&recording, 0);
    let logs: Vec<f64> = paces.iter().map(|pace| (pace / 112.25).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let deviation =
        (logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / logs.len() as f64).sqrt();
    // 1000 independent values: 2.2 % standard error; quanta that straddle a change have less.
    assert!((0.0085..0.011).contains(&deviation), "{deviation}");
    assert!(paces.iter().all(|pace| *pace > 112.25 * 0.9695));
}

#[test]
fn clock_readings_scatter_the_ends_and_not_the_mean() {
    let (recording, _) = simple("reads:sigma=20ns", "mulss80", 1.0);
    let ends = &recording.quanta[0].end;
    assert!(ends.is_sorted() && recording.gaps[0].is_empty());
    let total: u64 = recording.quanta[0]
        .count
        .iter()
        .map(|c| u64::from(*c))
        .sum();
    assert!((1e9 / 112.25 - total as f64).abs() < 3.0, "{total}");
}

#[test]
fn every_fourth_quantum_alternates() {
    let (recording, truth) = simple("alternate:period=4,ratio=0.987", "mulss80", 0.2);
    for (k, pace) in paces(&recording, 0).iter().enumerate() {
        let wanted = if k % 4 == 3 { 112.25 * 0.987 } else { 112.25 };
        assert!((pace - wanted).abs() < 2e-3, "{k}: {pace}");
    }
    // One change at each end of each fast quantum, and the beginning.
    assert_eq!(truth.paces.len(), 1001);
}

#[test]
fn a_mixture_has_three_paces_and_no_short_stay() {
    let (recording, truth) = simple("mixture:dwell=2ms", "ftq-o2", 2.0);
    let middle = 23.96 * (1.0 + 0.502 * 4.35);
    let paces = paces(&recording, 0);
    for pace in [23.96, middle, 23.96 * 5.35] {
        let near = share(&paces, |p| (p / pace - 1.0).abs() < 1e-3);
        assert!((0.2..0.4).contains(&near), "{pace}: {near}");
    }
    let stays = truth
        .paces
        .windows(2)
        .skip(1)
        .map(|pair| pair[1].at - pair[0].at);
    // Times are kept to 2^-16 ticks.
    assert!(stays.into_iter().all(|ticks| ticks >= 0.5e-3 * 2e9 - 0.01));
}

#[test]
fn frequency_steps_lie_on_the_lattice_and_move_every_work_kernel() {
    let request = Request {
        segment_s: 0.25,
        ..request(&[1e4], &["mulss80", "ftq-o2"], 2.0)
    };
    let (recording, _) = run("frequency:top=38,low=30,dwell=20ms", &request);
    for (series, best) in [(0, 112.25), (1, 23.96)] {
        let paces = paces(&recording, series);
        let on_lattice = share(&paces, |pace| {
            let steps = 38.0 * best / pace;
            (29.5..38.5).contains(&steps) && (steps - steps.round()).abs() < 0.01
        });
        // One quantum in 200 contains a change.
        assert!(on_lattice > 0.98, "{on_lattice}");
        assert!(share(&paces, |pace| pace > best * 1.05) > 0.3);
    }
}

#[test]
fn with_memory_1_register_chains_keep_their_pace() {
    for scenario in [
        "flips",
        "states:dwell=10ms",
        "mixture",
        "helps",
        "interrupted",
    ] {
        let request = Request {
            segment_s: 0.1,
            ..request(&[1e4], &["mulss80", "ftq-o2"], 0.6)
        };
        for (memory, sensitive) in [("memory=1", false), ("memory=0", true)] {
            let separator = if scenario.contains(':') { ',' } else { ':' };
            let (recording, truth) = run(&format!("{scenario}{separator}{memory}"), &request);
            let slow = |series, best| share(&paces(&recording, series), |p| p > 1.01 * best);
            assert_eq!(slow(0, 112.25) > 0.0, sensitive, "{scenario} {memory}");
            assert!(slow(1, 23.96) > 0.01, "{scenario}");
            assert!(!truth.parts[0].kinds.is_empty());
        }
    }
    let (_, truth) = simple("flips:memory=1", "mulss80", 0.01);
    assert!(truth.parts[0].kinds.is_empty(), "nothing shows it");
}

#[test]
fn a_warm_up_depends_on_time_and_a_start_delay_consumes_it() {
    let (recording, truth) = simple("warmup", "mulss80", 0.4);
    let slower =
        |recording: &InMemory, k: usize| recording.quanta[0].get(k).pace().unwrap() / 224.5 - 1.0;
    assert!((slower(&recording, 1790) - 0.2).abs() < 1e-3);
    assert!(slower(&recording, 1810).abs() < 1e-3);
    assert_eq!(recording.gaps[0].len(), 17);
    assert_eq!(truth.parts[0].kinds, ["warm-up"]);
    let request = Request {
        start_delay_s: 0.105,
        ..request(&[1e4], &["mulss80"], 0.4)
    };
    let (recording, truth) = run("warmup", &request);
    assert!((slower(&recording, 740) - 0.2).abs() < 1e-3);
    assert!(slower(&recording, 760).abs() < 1e-3);
    let last = truth.paces.last().unwrap();
    assert!((last.at / 2e9 - 0.075).abs() < 1e-9, "{}", last.at);
    let later = Request {
        start_delay_s: 0.2,
        ..request
    };
    let (recording, truth) = run("warmup", &later);
    assert!(recording.gaps[0].is_empty() && truth.parts[0].kinds.is_empty());
}

#[test]
fn the_clock_has_its_rate_and_truncation_its_drift() {
    let (recording, truth) = simple("clock:ghz=1.999999999+truncation", "mulss80", 0.5);
    assert_eq!(recording.manifest.clock.ticks_per_ns, 1.999999999);
    let ends = &recording.quanta[0].end;
    let unit = 224.5;
    assert!((ends[4999] as f64 - 5000.0 * 199_999.0).abs() <= unit);
    assert!((truth.drift_ppm(1e4) + 4.9995).abs() < 1e-3);
    let (recording, _) = simple("clock:ghz=2.4", "mulss80", 0.1);
    assert!((paces(&recording, 0)[10] - 112.25).abs() < 2e-3);
}

#[test]
fn a_wrong_calibration_is_in_the_manifest_or_in_the_printed_times() {
    let (recording, truth) = simple("drift:ppm=750", "mulss80", 0.1);
    let clock = &recording.manifest.clock;
    assert!((clock.ticks_per_ns / 2.0 - 1.00075).abs() < 1e-12);
    assert_eq!(clock.measured_ticks_per_ns, Some(2.0));
    assert!((truth.drift_ppm(1e4) - 750.0).abs() < 1e-6);
    let (recording, _) = simple("drift:ppm=-750,printed=1", "mulss80", 0.1);
    let clock = &recording.manifest.clock;
    assert_eq!(
        (clock.ticks_per_ns, clock.measured_ticks_per_ns),
        (2.0, None)
    );
    let end = recording.quanta[0].end[999] as f64;
    assert!((end / 2e8 - 0.99925).abs() < 2e-6, "{end}");
}

#[test]
fn jumps_move_the_edges_and_migrations_the_cpu() {
    let (recording, truth) = simple("flips+jump:every=200ms,size=300us,cpu=1", "ftq-o2", 1.0);
    assert!((4..=5).contains(&truth.jumps.len()), "{:?}", truth.jumps);
    for edge in truth
        .paces
        .iter()
        .filter(|p| p.source == Some(0) && p.slowdown == 1.0)
    {
        let before = truth.jumps.iter().filter(|jump| jump.at <= edge.at).count();
        let phase = (edge.at - before as f64 * 600_000.0) / 4e6;
        assert!((phase - phase.round()).abs() < 1e-6, "{phase}");
    }
    let quanta = &recording.quanta[0];
    assert_eq!(recording.manifest.incidents.len(), truth.jumps.len());
    for jump in &truth.jumps {
        let k = quanta.end.partition_point(|end| (*end as f64) < jump.at);
        assert_eq!((quanta.cpu[k - 1], quanta.cpu[k]), (jump.from, jump.to));
        assert_eq!(quanta.segment[k], quanta.segment[k - 1] + 1);
    }
    assert_eq!(quanta.len(), 10_000);
    let (recording, truth) = simple("flips+jump:every=200ms", "ftq-o2", 1.0);
    assert!(truth.jumps.len() >= 4 && recording.quanta[0].cpu.iter().all(|cpu| *cpu == 0));
}

#[test]
fn an_interrupt_helps_as_often_as_it_should() {
    let (recording, truth) = simple("helps:hz=50,decay=5ms,up=0.8", "ftq-o2", 2.0);
    let rises = truth
        .paces
        .iter()
        .filter(|p| p.source == Some(0) && p.slowdown == 1.0)
        .count();
    // About 100 interrupts, nearly all of which meet the slow pace: 80 +- 4.
    assert!((64..=96).contains(&rises), "{rises}");
    for rise in truth
        .paces
        .iter()
        .filter(|p| p.source == Some(0) && p.slowdown == 1.0)
    {
        assert!(truth.absences.iter().any(|a| a.start == rise.at));
    }
    assert_eq!(recording.gaps[0].len(), truth.absences.len());
    let fast = share(&paces(&recording, 0), |pace| pace < 1.01 * 23.96);
    assert!((0.1..0.3).contains(&fast), "{fast}");
}

#[test]
fn an_interrupted_loop_is_slow_until_its_quantum_ends() {
    let (recording, truth) = simple("interrupted:hz=250,jitter=1,factor=3", "mulss80", 1.0);
    let quanta = &recording.quanta[0];
    for k in 0..quanta.len() {
        let quantum = quanta.get(k);
        let pace = quantum.pace().unwrap() / 2.0;
        if quantum.gaps == 0 {
            assert!((pace - 112.25).abs() < 2e-3, "{k}: {pace}");
        }
    }
    // The interrupts scatter evenly over their quanta, so on average half of a quantum is slow.
    let hit: Vec<f64> = (0..quanta.len())
        .map(|k| quanta.get(k))
        .filter(|quantum| quantum.gaps > 0)
        .map(|quantum| f64::from(quantum.count))
        .collect();
    let mean = hit.iter().sum::<f64>() / hit.len() as f64;
    assert_eq!(hit.len(), truth.absences.len());
    let expected = (1.0 - 4e-6 / 1e-4) * 1e5 / 112.25 * (0.5 + 0.5 / 3.0);
    assert!((mean / expected - 1.0).abs() < 0.05, "{mean} {expected}");
}

#[test]
fn pages_cost_at_boundaries_and_no_gap() {
    let (recording, truth) = simple("pages:quanta=256,cost=200ns", "mulss80", 0.5);
    assert_eq!(truth.boundaries.len(), 5000 / 256);
    assert!((truth.boundary_ticks / (400.0 * 19.0) - 1.0).abs() < 1e-12);
    assert!(recording.gaps[0].is_empty() && truth.absences.is_empty());
    let late = |k: usize| {
        let quantum = recording.quanta[0].get(k);
        quantum.length() as f64 - f64::from(quantum.count) * 224.5
    };
    assert!((late(256) - 400.0).abs() < 2.0 && late(255).abs() < 2.0);
}

#[test]
fn kinds_depend_on_what_can_be_seen() {
    let kinds = |scenario: &str, rate: f64| {
        let (_, truth) = run(scenario, &request(&[rate], &["mulss80"], 0.01));
        truth.parts[0].kinds.clone()
    };
    assert_eq!(kinds("tick:hz=250", 1e4), ["periodic-interference"]);
    assert_eq!(
        kinds("tick:hz=7000,cost=300ns", 1e4),
        ["periodic-interference", "alias"]
    );
    // A gap knows its own time.
    assert_eq!(
        kinds("tick:hz=7000,cost=3us", 1e4),
        ["periodic-interference"]
    );
    assert_eq!(kinds("tick:poisson=1", 1e4), [""; 0]);
}

#[test]
fn absences_add_up_to_the_gaps() {
    let (recording, truth) = simple("tick:hz=1000,jitter=0.5+flips:memory=1", "mulss80", 0.5);
    let lost: f64 = recording.gaps[0]
        .iter()
        .map(|gap| gap.duration as f64 - 224.5)
        .sum();
    let wanted: f64 = truth
        .absences
        .iter()
        .filter(|a| truth.measured_at(a.start))
        .map(|a| a.length)
        .sum();
    assert!((lost - wanted).abs() <= recording.gaps[0].len() as f64);
}
