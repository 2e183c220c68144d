//! The published cases, and what a budget decides.

use super::*;
use bandscope_recording::counter_files::{self, CounterSet};
use proptest::prelude::*;
use std::path::Path;

fn published(name: &str) -> Vec<CounterSet> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    counter_files::open(&cases.join(name)).unwrap()
}

fn row<'a>(counters: &'a Counters, name: &str) -> &'a Row {
    counters
        .rows
        .iter()
        .find(|row| row.name == name)
        .unwrap_or_else(|| panic!("{name}: {counters:#?}"))
}

fn counter(name: &str, runs: &[f64]) -> Counter {
    Counter {
        name: name.into(),
        runs: runs.to_vec(),
        running: 1.0,
        ..Counter::default()
    }
}

/// 15,360 ticks of 5.5 us of mean loss at 900 MHz (docs/method.md, section 10.2).
const LOST_ON_ITANIUM: f64 = 15_360.0 * 5.5e-6 * 900e6;

#[test]
fn the_stall_counter_is_first_and_pays() {
    let sides = published("pfmon-good-noisy.tsv");
    let options = Options {
        lost_cycles: Some(LOST_ON_ITANIUM),
        ..Options::default()
    };
    let counters = compare(&sides[0].counters, &sides[1].counters, &options);
    let first = &counters.rows[0];
    assert_eq!(first.name, "user BE_LOST_BW_DUE_TO_FE_BR_ILOCK");
    assert_eq!(first.per_work.ratio.unwrap().round(), 248_675.0);
    assert_eq!(first.verdict, Verdict::Pays);
    let [low, high] = first.pays.unwrap();
    assert!(
        (low - 0.697).abs() < 0.001 && (high - 1.393).abs() < 0.001,
        "{low} {high}"
    );
    assert!(
        counters
            .verdict
            .contains("user BE_LOST_BW_DUE_TO_FE_BR_ILOCK (248,675 x)"),
        "{}",
        counters.verdict
    );
    // What rose as much and in small numbers does not.
    assert_eq!(
        row(&counters, "kernel BE_LOST_BW_DUE_TO_FE_FILL_RECIRC").verdict,
        Verdict::CannotPay
    );
    let unstated = compare(&sides[0].counters, &sides[1].counters, &Options::default());
    assert_eq!(unstated.rows[0].name, first.name);
    assert!(unstated.budget.is_none() && unstated.rows[0].verdict == Verdict::Changed);
    assert!(
        unstated.verdict.contains("No cycles were counted"),
        "{}",
        unstated.verdict
    );
}

/// The radix sort, with the interrupts of its further runs.
fn radix_sort() -> Counters {
    let side = |which: &str| {
        let mut set = published(&format!("perfstat-{which}.txt")).remove(0);
        set.add(published(&format!("perfstat-irq-{which}.txt")).remove(0));
        set.counters
    };
    compare(&side("good"), &side("bad"), &Options::default())
}

#[test]
fn none_of_the_listed_events_explains_the_radix_sort() {
    let counters = radix_sort();
    let budget = counters.budget.unwrap();
    assert!((budget.lost_cycles / 5.708e9 - 1.0).abs() < 1e-3);
    let instructions = counters.instructions.unwrap();
    assert!(!instructions.changed && (instructions.ratio.unwrap() - 1.00016).abs() < 1e-5);
    let [a, b] = counters.instructions_per_cycle.unwrap();
    assert!((a - 1.814).abs() < 0.001 && (b - 1.343).abs() < 0.001);
    assert!(
        counters.rows.iter().all(|row| row.verdict != Verdict::Pays),
        "{counters:#?}"
    );
    assert!(
        counters
            .verdict
            .contains("None of the other 11 counters pays"),
        "{}",
        counters.verdict
    );
    for name in [
        "L1-dcache-load-misses",
        "LLC-load-misses",
        "branch-misses",
        "page-faults",
        "instructions",
    ] {
        assert_eq!(row(&counters, name).verdict, Verdict::CannotPay, "{name}");
    }
    assert_eq!(row(&counters, "cycles").verdict, Verdict::Outcome);
}

#[test]
fn interrupts_are_a_lead_that_cannot_pay() {
    let counters = radix_sort();
    let interrupts = row(&counters, "hw_interrupts.received");
    assert_eq!(interrupts.verdict, Verdict::Lead);
    assert_eq!(
        (interrupts.per_work.a, interrupts.per_work.b),
        (1161.0, 1880.0)
    );
    let per_second = interrupts.per_second.unwrap();
    assert!((per_second.ratio.unwrap() - 1.202).abs() < 0.001);
    assert!((interrupts.cycles_for_each.unwrap() / 7.94e6 - 1.0).abs() < 0.001);
    assert!((interrupts.instructions_for_each.unwrap() - 6515.0).abs() < 1.0);
    assert!(interrupts.pays.unwrap()[1] < 0.02);
    assert!(
        interrupts
            .reason
            .contains("7.94e6 cycles, in 6,515 instructions")
            && interrupts.reason.contains("cannot pay by itself"),
        "{}",
        interrupts.reason
    );
    assert!(
        counters
            .verdict
            .contains("hw_interrupts.received (+61.9 %)")
            && counters.verdict.contains("intervention"),
        "{}",
        counters.verdict
    );
}

#[test]
fn what_came_more_often_only_because_it_took_longer_is_no_lead() {
    let side = |cycles: f64, seconds: f64, ticks: f64, elapsed: f64| {
        let mut time = counter(ELAPSED, &[seconds]);
        time.unit = "s".into();
        vec![
            counter("cycles", &[cycles]),
            time,
            counter("interrupts", &[ticks]),
            counter("strange", &[elapsed]),
        ]
    };
    let counters = compare(
        &side(1e10, 4.0, 1000.0, 1000.0),
        &side(1.5e10, 6.0, 1500.0, 1500.0),
        &Options::default(),
    );
    assert_eq!(row(&counters, "interrupts").verdict, Verdict::CannotPay);
    assert_eq!(row(&counters, "strange").verdict, Verdict::CannotPay);
    let counters = compare(
        &side(1e10, 4.0, 1000.0, 1000.0),
        &side(1.5e10, 6.0, 3000.0, 3000.0),
        &Options::default(),
    );
    assert_eq!(row(&counters, "interrupts").verdict, Verdict::Lead);
    assert_eq!(row(&counters, "strange").verdict, Verdict::Lead);
}

#[test]
fn more_work_and_more_instructions() {
    let side = |cycles: f64, instructions: f64| {
        vec![
            counter("cycles", &[cycles]),
            counter("instructions", &[instructions]),
        ]
    };
    let counters = compare(&side(1e9, 2e9), &side(2e9, 4e9), &Options::default());
    assert_eq!(row(&counters, "instructions").verdict, Verdict::Pays);
    let twice = Options {
        work: [1.0, 2.0],
        ..Options::default()
    };
    let counters = compare(&side(1e9, 2e9), &side(2e9, 4e9), &twice);
    assert!(counters.budget.is_none(), "{counters:#?}");
    assert_eq!(row(&counters, "instructions").verdict, Verdict::Same);
}

#[test]
fn cycles_that_were_saved_are_to_be_explained_too() {
    let side = |cycles: f64, misses: f64| {
        vec![
            counter("cycles", &[cycles]),
            counter("LLC-load-misses", &[misses]),
        ]
    };
    let counters = compare(&side(3e9, 5e7), &side(1e9, 1e3), &Options::default());
    assert_eq!(row(&counters, "LLC-load-misses").verdict, Verdict::Pays);
    assert!(
        counters.verdict.contains("fewer than A"),
        "{}",
        counters.verdict
    );
}

#[test]
fn what_is_on_one_side_only_is_said() {
    let mut gone = counter("gone", &[]);
    gone.absent = Some(Absent::NotSupported);
    let counters = compare(
        &[counter("x", &[1.0]), gone.clone()],
        &[gone, counter("y", &[1.0])],
        &Options::default(),
    );
    assert!(counters.rows.is_empty());
    let notes = counters.notes.join(" ");
    assert!(
        notes.contains("in A only: x.")
            && notes.contains("in B only: y.")
            && !notes.contains("Fewer than 3 runs")
            && notes.contains("Not supported on this machine: gone."),
        "{notes}"
    );
}

#[test]
fn repeated_runs_need_no_five_percent() {
    let a: Vec<f64> = (0..10).map(|run| 1e9 + 1e5 * f64::from(run)).collect();
    let b: Vec<f64> = a.iter().map(|cycles| cycles * 1.02).collect();
    let counters = compare(
        &[counter("cycles", &a)],
        &[counter("cycles", &b)],
        &Options::default(),
    );
    assert!(counters.budget.is_some());
    assert!(!counters.notes.concat().contains("Fewer than 3 runs"));
    assert!(
        counters.verdict.contains("(+2.0 %)"),
        "{}",
        counters.verdict
    );
}

proptest! {
    #[test]
    fn any_counts_give_shares_that_are_numbers(
        a in prop::collection::vec(0.0..1e15, 1..5), b in prop::collection::vec(0.0..1e15, 1..5),
        name in prop::sample::select(vec!["cycles", "instructions", "irqs", "stalls", "interrupts"]), lost in prop::option::of(-1e12..1e12),
    ) {
        let other = |value: f64| counter("cycles:u", &[value]);
        let options = Options { lost_cycles: lost, ..Options::default() };
        let counters = compare(&[counter(name, &a), other(a[0])], &[counter(name, &b), other(b[0])], &options);
        for row in &counters.rows {
            prop_assert!(row.pays.is_none_or(|[low, high]| low.is_finite() && high.is_finite()));
            if let Some([low, high]) = row.per_work.interval {
                prop_assert!(low <= high);
                prop_assert!(row.p_value.is_some_and(|p| (0.0..=1.0).contains(&p)));
            }
        }
    }
}
