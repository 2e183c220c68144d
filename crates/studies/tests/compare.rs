//! Two recordings against each other: what did not change is not said to, and what did is.

#[path = "../../analysis/tests/analysis/support.rs"]
mod support;

use crate::support::{Loop, Random, as_counts, none};
use bandscope_recording::source::InMemory;
use bandscope_report::{Cause, Kind};
use bandscope_sampler::machine::{Choice, Request};
use bandscope_simulation::machine::request;
use bandscope_simulation::{Scenario, synthesise};
use bandscope_studies::compare::{self, Comparison, Delta, Figure, SeriesPair, SignalChange};
use bandscope_studies::conditions::Condition;

fn of(a: &InMemory, b: &InMemory) -> Comparison {
    compare::recordings(a, b, ["a".into(), "b".into()]).unwrap()
}

fn scene(scene: &str, seed: u64) -> InMemory {
    let scenario = Scenario::parse(scene).unwrap().with_seed(seed);
    synthesise(&scenario, &request(&[10_000.0], &["mulss80"], 4.0))
        .unwrap()
        .0
}

fn only(comparison: &Comparison) -> &SeriesPair {
    let series = &comparison.recordings.as_ref().unwrap().series;
    assert_eq!(series.len(), 1);
    &series[0]
}

fn figure<'a>(deltas: &'a [Delta], name: &str) -> &'a Delta {
    deltas
        .iter()
        .find(|delta| delta.name.to_string() == name)
        .unwrap_or_else(|| panic!("{name}: {deltas:?}"))
}

/// Gaps at random, so many a second, of some 20 us.
fn random_gaps(seed: u64, per_second: f64) -> InMemory {
    let mut random = Random::new(seed);
    let mut next = 0.0;
    Loop::new(10_000.0, 40_000).run(
        |_, _| 230.0 * 40.0,
        move |from, to| {
            if next < from {
                next = from - (1.0 - random.unit()).ln() * 2.3e9 / per_second;
            }
            if next > to {
                return 0.0;
            }
            next = 0.0;
            46_000.0 * (0.5 + random.unit())
        },
    )
}

#[test]
fn the_same_machine_twice_has_not_changed() {
    let mut changes = 0;
    for seed in 0..8 {
        let comparison = of(
            &random_gaps(2 * seed, 150.0),
            &random_gaps(2 * seed + 1, 150.0),
        );
        let pair = only(&comparison);
        assert_eq!(pair.blocks, [20, 20]);
        let all = pair.figures.iter().chain(&pair.ledger);
        changes += all.filter(|delta| delta.changed).count();
    }
    // Eight times a dozen figures, of which one in a thousand.
    assert!(changes <= 1, "{changes}");
}

#[test]
fn more_gaps_are_more_gaps_and_intervals_hold_the_truth() {
    let comparison = of(&random_gaps(1, 100.0), &random_gaps(2, 200.0));
    let pair = only(&comparison);
    let gaps = figure(&pair.figures, "gaps");
    let [low, high] = gaps.interval.unwrap();
    assert!(gaps.changed && low > 50.0 && high < 150.0, "{gaps:?}");
    let lost = figure(&pair.figures, "lost");
    assert!(lost.changed && lost.b > lost.a, "{lost:?}");
    assert!(!figure(&pair.figures, "pace").changed);
    assert!(
        comparison.verdict.contains("gaps ") && comparison.verdict.contains(" a second"),
        "{}",
        comparison.verdict
    );
    let met = |text: &str| {
        let mut comparison = comparison.clone();
        comparison
            .check(&[Condition::parse(text).unwrap()])
            .unwrap();
        comparison.failed()
    };
    assert!(
        met("gaps>+20%") && met("lost>+0.1pp") && !met("pace>+0.5%") && met("longest-gap>10us")
    );
}

#[test]
fn a_tick_appears_with_its_signal_and_vanishes_the_other_way_round() {
    let quiet = scene("reads:sigma=5ns", 1);
    let ticks = scene("reads:sigma=5ns+tick:hz=250,cost=20us", 2);
    let comparison = of(&quiet, &ticks);
    let pair = only(&comparison);
    let signal = pair
        .signals
        .iter()
        .find(|signal| (signal.frequency_hz - 250.0).abs() < 0.1)
        .unwrap();
    assert_eq!(signal.what, SignalChange::Appeared);
    assert!(figure(&pair.figures, "lost").changed && figure(&pair.figures, "fraction").changed);
    // A line of the ledger is a share of the time, as in every gate: 250 times 20 us are 0.5 %.
    for (text, expected) in [
        ("unnamed > 0.4 %", true),
        ("unnamed > 0.6 %", false),
        ("unnamed > +0.4 pp", true),
        ("gap: unnamed > 4ms", true),
    ] {
        let mut comparison = comparison.clone();
        let condition = Condition::parse(text).unwrap();
        comparison.check(&[condition]).unwrap();
        assert_eq!(comparison.failed(), expected, "{text}");
    }
    assert!(
        comparison.verdict.contains("appeared"),
        "{}",
        comparison.verdict
    );
    let back = of(&ticks, &quiet);
    assert!(
        only(&back)
            .signals
            .iter()
            .any(|signal| signal.what == SignalChange::Vanished)
    );
    let findings = &back.recordings.as_ref().unwrap().findings;
    assert!(
        findings
            .iter()
            .any(|finding| finding.kind == Kind::PeriodicInterference
                && finding.certainty[1].is_none()),
        "{findings:?}"
    );
}

/// The tick and a task of the same frequency are two signals.
#[test]
fn a_signal_of_another_cause_is_another_signal() {
    let traced = |scene: &str| {
        let scenario = Scenario::parse(scene).unwrap().with_seed(3);
        let request = Request {
            trace: Choice::On,
            ..request(&[10_000.0], &["mulss80"], 4.0)
        };
        synthesise(&scenario, &request).unwrap().0
    };
    let [tick, task] = ["tick:hz=250,cost=5us", "timed-task:hz=250,cost=80us"].map(traced);
    let comparison = of(&tick, &task);
    let signals = &only(&comparison).signals;
    let told = signals.iter().map(|one| (one.cause.clone(), one.what));
    let told: Vec<(Option<Cause>, SignalChange)> = told.collect();
    let program = Cause::Task("program-0".into());
    assert!(
        told.contains(&(Some(Cause::Tick), SignalChange::Vanished)),
        "{told:?}"
    );
    assert!(
        told.contains(&(Some(program), SignalChange::Appeared)),
        "{told:?}"
    );
    let said = "(task:program-0, 80.0 µs each) appeared";
    assert!(comparison.verdict.contains(said), "{}", comparison.verdict);
}

#[test]
fn a_new_band_is_told_from_a_changed_one() {
    let paces = |slow_share: f64, seed| {
        let mut random = Random::new(seed);
        let mut slow = false;
        let mut until = 0.0;
        Loop::new(10_000.0, 20_000).run(
            move |from, _| {
                if from > until {
                    slow = random.unit() < slow_share;
                    until = from + 2.3e6 * (1.0 + random.unit());
                }
                if slow { 3_000.0 } else { 2_000.0 }
            },
            |_, _| 0.0,
        )
    };
    let comparison = of(&paces(0.0, 1), &paces(0.3, 2));
    let pair = only(&comparison);
    assert_eq!(pair.bands.len(), 2, "{:?}", pair.bands);
    let new = &pair.bands[1];
    assert!(new.ns_per_unit[0].is_none() && new.share.changed, "{new:?}");
    assert!(
        comparison.verdict.contains("a new band at 1304."),
        "{}",
        comparison.verdict
    );
    // The other band kept its pace.
    assert!(!pair.bands[0].pace.as_ref().unwrap().changed);
}

#[test]
fn what_is_too_short_is_no_change_and_what_is_of_another_kind_no_pair() {
    let short = |quanta| Loop::new(10_000.0, quanta).run(|_, _| 2_300.0, |_, _| 0.0);
    let comparison = of(&short(3), &short(4));
    assert!(only(&comparison).figures.iter().all(|delta| !delta.changed));
    let nothing = InMemory::default();
    let error = compare::recordings(&nothing, &short(100), ["a".into(), "b".into()]).unwrap_err();
    let error = error.to_string();
    assert!(
        error.starts_with("nothing to compare: B's CPU 1"),
        "{error}"
    );
}

/// Units of 141 ns, and in the first `fast` of 10,000 quanta of 134 ns.
fn with_fast_quanta(fast: f64) -> InMemory {
    Loop::new(10_000.0, 10_000).run(|t, _| if t < fast * 2.3e5 { 308.2 } else { 324.3 }, none)
}

#[test]
fn a_fast_pace_that_hardly_ever_is_does_not_set_the_fraction() {
    let fraction = |fast: f64| {
        let comparison = of(&with_fast_quanta(0.0), &with_fast_quanta(fast));
        let delta = figure(&only(&comparison).figures, "fraction").clone();
        (delta.a, delta.b)
    };
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 2e-3, "{value}");
    let (a, b) = fraction(30.0);
    near(a, 1.0);
    near(b, 1.0);
    let (a, b) = fraction(1000.0);
    near(a, 1.0);
    near(b, 0.955);
}

#[test]
fn counts_alone_have_no_pace_away_from_gaps() {
    let counts = as_counts(scene("reads:sigma=5ns+tick:hz=250,cost=20us", 1));
    let comparison = of(&counts, &counts);
    let figures = &only(&comparison).figures;
    assert!(figures.iter().any(|delta| delta.name == Figure::Fraction));
    assert!(figures.iter().all(|delta| delta.name != Figure::Pace));
}

#[test]
fn one_pause_may_be_chance_and_is_told() {
    let counts = |pause_ns: u64| {
        let mut file = as_counts(scene("reads:sigma=5ns", 1));
        for quanta in &mut file.quanta {
            let after = |ticks: &mut u64| *ticks += pause_ns;
            let middle = quanta.start.len() / 2;
            quanta.start[middle..].iter_mut().for_each(after);
            quanta.end[middle - 1..].iter_mut().for_each(after);
        }
        file
    };
    let same = of(&counts(0), &counts(0));
    assert!(!same.verdict.contains("Perhaps"), "{}", same.verdict);
    let paused = of(&counts(0), &counts(2_000_000_000));
    let verdict = &paused.verdict;
    assert!(verdict.contains("Perhaps work from "), "{verdict}");
}
