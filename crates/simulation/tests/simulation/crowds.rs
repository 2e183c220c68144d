//! What crowds are made of does what the catalogue says: times, lengths and names against the parameters.

use bandscope_recording::EventKind;
use bandscope_recording::source::InMemory;
use bandscope_sampler::Request;
use bandscope_sampler::machine::Choice;
use bandscope_simulation::truth::Absence;
use bandscope_simulation::{Scenario, Truth, request, synthesise};

/// Ticks of a microsecond on the simulated machine.
const US: f64 = 2e3;

fn run(scenario: &str, seconds: f64) -> (InMemory, Truth) {
    let request = Request {
        trace: Choice::On,
        ..request(&[1e4], &["mulss80"], seconds)
    };
    let (recording, mut truths) =
        synthesise(&Scenario::parse(scenario).unwrap(), &request).unwrap();
    (recording, truths.remove(0))
}

fn absences(scenario: &str, seconds: f64) -> Vec<Absence> {
    run(scenario, seconds).1.absences
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn every_program_and_device_has_a_name_of_its_own() {
    let scenario = "tick:hz=250,cost=2us+timed-task:hz=200,cost=50us+timed-task:hz=125,cost=20us\
        +timed-device:hz=100,cost=5us+bursts:hz=20";
    let (recording, truth) = run(scenario, 1.0);
    let of = |kind, name: &str| {
        let events = recording.events[0].iter();
        events
            .filter(|event| event.kind == kind && &*event.name == name)
            .count()
    };
    assert!((249..=250).contains(&of(EventKind::Vector, "local_timer")));
    assert!((199..=200).contains(&of(EventKind::Task, "program-1")));
    assert!((124..=125).contains(&of(EventKind::Task, "program-2")));
    assert!((99..=100).contains(&of(EventKind::Interrupt, "device-3")));
    assert!(of(EventKind::Interrupt, "device-4") > 20);
    assert_eq!(truth.parts[1].frequency_hz, Some(200.0));
    assert_eq!(truth.parts[4].frequency_hz, None, "bursts are random");
}

#[test]
fn tails_are_heavy_and_end() {
    let gaps = absences(
        "heavy-tail:hz=2000,least=2us,tail=1.5,most=500us,seed=3",
        5.0,
    );
    assert!(gaps.len() > 9_000);
    let longer = |us: f64| {
        let number = gaps.iter().filter(|gap| gap.length > us * US).count();
        number as f64 / gaps.len() as f64
    };
    // P(length > x) = (least / x)^tail: 0.354 at 4 us, 0.0894 at 10 us, each within five standard errors of 10,000 gaps.
    assert!((longer(4.0) - 0.3536).abs() < 0.024, "{}", longer(4.0));
    assert!((longer(10.0) - 0.0894).abs() < 0.015, "{}", longer(10.0));
    assert!(longer(1.999) == 1.0 && longer(500.1) == 0.0);
}

#[test]
fn bursts_come_in_groups() {
    let gaps = absences("bursts:hz=20,gaps=10,every=100us,mean=5us,seed=4", 20.0);
    assert!(gaps.is_sorted_by(|a, b| a.start <= b.start));
    // 400 groups of 10: the numbers of groups and of gaps scatter by 5 % and 7 %.
    assert!((3_000..=5_000).contains(&gaps.len()), "{}", gaps.len());
    assert!((mean(gaps.iter().map(|gap| gap.length)) / US - 5.0).abs() < 0.5);
    let intervals = gaps.windows(2).map(|two| two[1].start - two[0].start);
    let short = intervals.filter(|&ticks| ticks < 1e3 * US).count();
    // All but the first of a group, as e^-10 of those are longer; a uniform stream of 200 a second would have 18 %.
    let share = short as f64 / gaps.len() as f64;
    assert!((0.85..=0.95).contains(&share), "{share}");
}

#[test]
fn slices_begin_on_ticks_and_last_one_at_most() {
    let gaps = absences("slices:hz=250,blocks=0.4,phase=2us,seed=5", 10.0);
    let tick = 4e3 * US;
    let mut full = 0;
    for gap in &gaps {
        let turns = (gap.start - 2.0 * US) / tick;
        assert!((turns - turns.round()).abs() < 1e-6, "{turns}");
        assert!(gap.length <= tick + 1.0);
        full += usize::from(gap.length > tick - 1.0);
    }
    let share = full as f64 / gaps.len() as f64;
    assert!(gaps.len() > 600 && (share - 0.6).abs() < 0.1, "{share}");
    // Between two slices this thread runs for one tick at least.
    let apart = gaps.windows(2).map(|two| two[1].start - two[0].start);
    assert!(apart.clone().all(|ticks| ticks > 1.99 * tick));
    assert!(apart.clone().any(|ticks| ticks > 2.01 * tick));
}

#[test]
fn a_line_of_the_host_wanders_and_no_event_tells_it() {
    let (recording, truth) = run("host-line:hz=100,cost=20us,wander=1us,seed=6", 20.0);
    let gaps = &truth.absences;
    assert!((1_999..=2_000).contains(&gaps.len()));
    assert!(recording.events[0].is_empty());
    let errors = gaps
        .windows(2)
        .map(|two| (two[1].start - two[0].start) / US - 1e4);
    // Standard deviations of 1 us: the mean of the squares is within 16 %, five standard errors of 2,000.
    let square = mean(errors.map(|error| error * error));
    assert!((square - 1.0).abs() < 0.16, "{square}");
}
