//! Units that meet absences and changes of pace end when arithmetic says.

use super::*;
use crate::disturbances::Disturbance;

struct List(Vec<(f64, Action)>);

impl Disturbance for List {
    fn next(&mut self) -> (f64, Action) {
        if self.0.is_empty() {
            (1e13, Action::Away(0.0))
        } else {
            self.0.remove(0)
        }
    }
}

fn world(cpu: u32, actions: Vec<(f64, Action)>) -> World {
    let unit = Unit {
        ticks: 10.0,
        feels: Feels::Clock,
    };
    let disturbance = Placed {
        part: 0,
        only: None,
        told: None,
        disturbance: Box::new(List(actions)),
    };
    World::new(cpu, unit, vec![disturbance])
}

fn ends(actions: Vec<(f64, Action)>, units: usize) -> Vec<u64> {
    let mut world = world(0, actions);
    (0..units)
        .map(|_| {
            world.execute();
            world.now()
        })
        .collect()
}

#[test]
fn an_absence_delays_its_unit() {
    assert_eq!(ends(vec![(15.0, Action::Away(7.0))], 3), [10, 27, 37]);
}

#[test]
fn a_change_of_pace_takes_effect_within_the_unit() {
    // Half of the second unit at 10, the other half at 30.
    assert_eq!(
        ends(
            vec![(15.0, Action::Slowdown(3.0)), (60.0, Action::Slowdown(1.0))],
            4
        ),
        [10, 30, 60, 70]
    );
}

#[test]
fn an_absence_during_an_absence_adds_up() {
    assert_eq!(
        ends(
            vec![(5.0, Action::Away(20.0)), (12.0, Action::Away(3.0))],
            2
        ),
        [33, 43]
    );
}

#[test]
fn a_change_of_pace_during_an_absence_lengthens_the_work_and_not_the_absence() {
    // Half of the unit at 10, away from 5 to 25, the other half at 30.
    let actions = vec![(5.0, Action::Away(20.0)), (12.0, Action::Slowdown(3.0))];
    assert_eq!(ends(actions, 2), [40, 70]);
}

#[test]
fn what_concerns_memory_only_leaves_register_chains_alone() {
    let unit = |feels| Unit { ticks: 10.0, feels };
    let disturbance = Placed {
        part: 0,
        only: Some(Feels::Memory),
        told: None,
        disturbance: Box::new(List(vec![(0.0, Action::Slowdown(3.0))])),
    };
    let mut world = World::new(0, unit(Feels::Clock), vec![disturbance]);
    world.execute();
    assert_eq!(world.now(), 10);
    world.change_unit(unit(Feels::Throughput));
    world.execute();
    assert_eq!(world.now(), 20);
    world.change_unit(unit(Feels::Memory));
    world.execute();
    assert_eq!(world.now(), 50);
    assert_eq!(
        world.take_truth().paces.last().unwrap().ticks_per_unit,
        30.0
    );
}

#[test]
fn readings_scatter_and_never_run_backwards() {
    let mut world = world(0, Vec::new());
    world.wobble(8.0, fastrand::Rng::with_seed(3));
    let readings: Vec<u64> = (0..10_000)
        .map(|_| {
            world.execute();
            world.now()
        })
        .collect();
    assert!(readings.is_sorted());
    let off = |(n, reading): (usize, &u64)| (*reading as f64 - 10.0 * (n + 1) as f64).abs();
    let mean = readings.iter().enumerate().map(off).sum::<f64>() / 1e4;
    // 0.8 deviations for free readings; those that would run backwards are late by more.
    assert!((5.0..12.0).contains(&mean), "{mean}");
}

#[test]
fn the_truth_holds_what_happened() {
    let actions = vec![(5.0, Action::Away(20.0)), (40.0, Action::Slowdown(2.0))];
    let mut world = world(3, actions);
    (0..4).for_each(|_| world.execute());
    let truth = world.take_truth();
    assert_eq!(truth.away_ticks, 20.0);
    assert_eq!(
        (truth.paces[1].at, truth.paces[1].ticks_per_unit),
        (40.0, 20.0)
    );
}
