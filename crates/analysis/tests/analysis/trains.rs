//! Trains of gaps with common multiples and divisors, which real machines are full of: each is told by its own frequency and cost.

use crate::evidence::{number, of_kind};
use crate::support::{Loop, Random};
use bandscope_analysis::analyse;
use bandscope_recording::manifest::EventsState;
use bandscope_recording::source::InMemory;
use bandscope_recording::{EventKind, KernelEvent};
use bandscope_report::evidence::{OfKind, PeriodicInterference};
use bandscope_report::{Certainty, Finding, Kind, Report};
use bandscope_sampler::machine::Choice;
use bandscope_simulation::{Scenario, request, synthesise};

const TICKS_PER_US: f64 = 2300.0;
const BESIDE_250_HZ: [f64; 7] = [333.333, 200.0, 300.0, 400.0, 100.0, 125.0, 142.857];

fn simulated(scene: &str, kernels: &[&str], trace: Choice) -> Report {
    let scenario = Scenario::parse(scene).unwrap();
    let request = bandscope_sampler::Request {
        trace,
        ..request(&[10_000.0, 7777.0], kernels, 4.0)
    };
    let (source, _) = synthesise(&scenario, &request).unwrap();
    analyse(&source, &[]).unwrap().report
}

fn report_of(source: &InMemory) -> Report {
    analyse(source, &[]).unwrap().report
}

/// Periodic interference that costs a hundred-thousandth of the time or more.
pub fn periods(report: &Report) -> Vec<&Finding> {
    of_kind(report, Kind::PeriodicInterference)
}

#[track_caller]
pub fn assert_trains(report: &Report, expected: &[(f64, f64)]) {
    let found = periods(report);
    let told: Vec<&String> = found.iter().map(|finding| &finding.summary).collect();
    assert_eq!(found.len(), expected.len(), "{told:#?}");
    for &(hz, ns) in expected {
        let is_it = |finding: &&&Finding| (number(finding, "frequency_hz") / hz - 1.0).abs() < 1e-6;
        let finding = found.iter().find(is_it);
        let finding = finding.unwrap_or_else(|| panic!("{hz} Hz: {told:#?}"));
        let cost = number(finding, "ns_per_event");
        assert!((cost / ns - 1.0).abs() < 0.05, "{hz} Hz: {cost} {told:#?}");
    }
}

#[test]
fn commensurate_trains_are_told_apart_and_each_is_one_finding() {
    let together = BESIDE_250_HZ.map(|hz| (hz, "0s"));
    for (hz, phase) in together
        .into_iter()
        .chain([(200.0, "1.3ms"), (125.0, "1.3ms")])
    {
        let scene = format!("tick:hz=250,cost=20us+tick:hz={hz},cost=50us,phase={phase}");
        let report = simulated(&scene, &["mulss80"], Choice::Off);
        assert_trains(&report, &[(250.0, 20e3), (hz, 50e3)]);
        for finding in periods(&report) {
            assert_eq!(finding.series, [0, 1], "{scene}: {}", finding.summary);
        }
    }
}

#[test]
fn three_trains_are_three_findings_over_rates_and_kernels() {
    let scene = "tick:hz=250,cost=20us+tick:hz=200,cost=50us,phase=700us+tick:hz=1000,cost=5us,phase=110us+reads";
    let report = simulated(scene, &["mulss80", "imul20"], Choice::Off);
    assert_trains(&report, &[(250.0, 20e3), (200.0, 50e3), (1000.0, 5e3)]);
    for finding in periods(&report) {
        assert_eq!(finding.series.len(), 4, "{}", finding.summary);
    }
}

#[test]
fn a_train_that_scatters_is_still_told() {
    let report = simulated(
        "tick:hz=250,cost=20us,jitter=0.3",
        &["mulss80"],
        Choice::Off,
    );
    let found = periods(&report);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        (number(found[0], "frequency_hz") - 250.0).abs() < 0.2,
        "{found:?}"
    );
}

/// What takes the CPU: when, for how long (microseconds), and the task, if it is one.
type Away = (f64, f64, Option<&'static str>);

/// Two seconds with these absences, in order, and the events that name them if they were recorded.
fn with_absences(absences: Vec<Away>, with_events: bool) -> InMemory {
    let mut events = Vec::new();
    let mut next = absences.into_iter().peekable();
    let mut source = Loop::new(10_000.0, 20_000).run(
        |_, _| 324.3,
        |_, to| {
            let mut lost = 0.0;
            while let Some((at, us, task)) = next.next_if(|one| one.0 * TICKS_PER_US < to + lost) {
                let from = (at * TICKS_PER_US).max(to + lost - 324.3);
                lost += us * TICKS_PER_US;
                events.push(KernelEvent {
                    start: from as u64,
                    duration: (us * TICKS_PER_US) as u64,
                    kind: if task.is_some() {
                        EventKind::Task
                    } else {
                        EventKind::Vector
                    },
                    number: 1,
                    name: task.unwrap_or("local_timer").into(),
                    ..KernelEvent::default()
                });
            }
            lost
        },
    );
    source.manifest.machine.tick_hz = Some(250.0);
    if with_events {
        source.manifest.events.state = EventsState::On;
        source.events = vec![events];
    }
    source
}

fn sorted(mut absences: Vec<Away>) -> Vec<Away> {
    absences.sort_by(|a, b| a.0.total_cmp(&b.0));
    absences
}

fn every(period_us: f64, phase_us: f64, us: f64, task: Option<&'static str>) -> Vec<Away> {
    let number = (2e6 / period_us) as usize;
    (0..number)
        .map(|k| (phase_us + k as f64 * period_us, us, task))
        .collect()
}

#[test]
fn a_task_has_its_own_frequency_and_no_more_than_was_booked() {
    for (period_us, us) in [(5000.0, 50.0), (3000.0, 50.0), (7000.0, 300.0)] {
        for with_events in [true, false] {
            let tick = every(4000.0, 130.0, 3.0, None);
            let task = every(period_us, 60.0, us, Some("other"));
            let source = with_absences(sorted([tick, task].concat()), with_events);
            let report = report_of(&source);
            assert_trains(&report, &[(250.0, 3e3), (1e6 / period_us, us * 1e3)]);
            let seconds = report.series[0].duration_s;
            for finding in periods(&report).iter().filter(|_| with_events) {
                let periodic = PeriodicInterference::of(&finding.evidence).unwrap();
                let cause = periodic.cause.as_ref().unwrap();
                let booked = report.series[0].ledger.gaps_ns[cause] as f64;
                let said = number(finding, "frequency_hz") * number(finding, "ns_per_event");
                assert!(
                    said * seconds <= 1.003 * booked,
                    "{said} {booked}: {finding:?}"
                );
            }
        }
    }
}

/// The scheduler lets another task run for one to three ticks, from tick to tick.
#[test]
fn time_slices_are_no_period() {
    for (seed, most) in [(1, 1), (2, 2), (3, 3)] {
        for with_events in [true, false] {
            let mut random = Random::new(seed);
            let (mut tick, mut absences) = (0u32, Vec::new());
            while tick < 498 {
                let slice = 1 + (random.unit() * f64::from(most)) as u32;
                let mine = 1 + (random.unit() * f64::from(most)) as u32;
                let at = f64::from(tick) * 4000.0 + 77.0;
                absences.push((at, 3.0, None));
                absences.push((at, f64::from(slice) * 4000.0 - 6.0, Some("dd")));
                absences.push((at + f64::from(slice) * 4000.0 - 3.0, 3.0, None));
                for own in 1..mine {
                    absences.push((at + f64::from(slice + own) * 4000.0, 3.0, None));
                }
                tick += slice + mine;
            }
            let report = report_of(&with_absences(absences, with_events));
            for finding in periods(&report) {
                assert!(
                    (number(finding, "frequency_hz") / 250.0 - 1.0).abs() < 1e-4
                        && number(finding, "ns_per_event") < 20e3,
                    "{most}, {with_events}: {}",
                    finding.summary
                );
            }
        }
    }
}

/// Losses below the threshold of a gap, a fifth of which fall into quanta with a gap: at 10 kHz both periods are whole numbers of quanta.
#[test]
fn losses_too_short_for_a_gap_cost_what_they_take_beside_gaps() {
    for (tick, device, phase) in [
        ((500.0, 501.0), (400.0, 1549.6), "755us"),
        ((1000.0, 706.0), (333.333_333, 10_521.0), "310us"),
        ((142.857_143, 748.0), (400.0, 26_261.0), "196us"),
    ] {
        let scene = format!(
            "tick:hz={},cost={}ns,phase={phase}+timed-device:hz={},cost={}ns,phase=2248us+noise:sigma=0.02%+reads:sigma=5ns",
            tick.0, tick.1, device.0, device.1
        );
        let report = simulated(&scene, &["mulss80"], Choice::Off);
        let found = periods(&report);
        let told: Vec<&String> = found.iter().map(|finding| &finding.summary).collect();
        assert_eq!(found.len(), 2, "{scene}: {told:#?}");
        for (hz, ns) in [tick, device] {
            let is_it = |one: &&&Finding| (number(one, "frequency_hz") / hz - 1.0).abs() < 1e-5;
            let finding = found.iter().find(is_it);
            let finding = finding.unwrap_or_else(|| panic!("{hz} Hz: {told:#?}"));
            let (known, sigma) = (
                number(finding, "frequency_hz"),
                number(finding, "uncertainty_hz"),
            );
            assert!((known - hz).abs() < 4.0 * sigma + 1e-6 * hz, "{finding:?}");
            assert!(
                (number(finding, "ns_per_event") / ns - 1.0).abs() < 0.02,
                "{told:#?}"
            );
            assert_eq!(finding.certainty, Certainty::Likely, "{told:#?}");
        }
    }
}
