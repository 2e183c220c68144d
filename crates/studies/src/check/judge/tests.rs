//! How often tests against a baseline fail, and beyond what.

use super::super::JUDGED;
use super::*;
use bandscope_statistics::random::Random;

#[test]
fn an_unchanged_machine_fails_as_seldom_as_it_may() {
    let mut random = Random::new(7);
    // A session differs from another as runs do.
    let mut draw = |mean: f64| -> Vec<f64> {
        let session = mean + 0.01 * random.normal();
        (0..5).map(|_| session + 0.01 * random.normal()).collect()
    };
    let mut fails = |mean: f64| {
        let one = |draw: &mut dyn FnMut(f64) -> Vec<f64>| {
            let (past, now) = (draw(0.1), draw(mean));
            Test::new("lost", Unit::Share, &past, &now).unwrap()
        };
        let tests: Vec<Test> = (0..8).map(|_| one(&mut draw)).collect();
        judge(&tests).iter().any(|judged| judged.worse)
    };
    let unchanged = (0..400).filter(|_| fails(0.1)).count();
    let worse = (0..400).filter(|_| fails(0.25)).count();
    assert!(unchanged <= 30 && worse >= 380, "{unchanged} {worse}");
}

/// The table of docs/check.md.
#[test]
fn limits_of_few_runs_are_far_off() {
    let level = ERROR_RATE / JUDGED.len() as f64;
    for (runs, expected) in [(3, 16.2), (5, 7.7), (10, 5.5), (30, 4.6), (1000, 4.3)] {
        let test = Test {
            scale: Scale::of("lost", Unit::Share),
            now: 0.0,
            past: 0.0,
            deviation: 1.0,
            beyond: 0,
            runs: [runs, 1],
        };
        let reach = test.reach(runs, level);
        assert!((reach - expected).abs() < 0.05, "{runs}: {reach}");
    }
}

#[test]
fn a_limit_that_bounds_nothing_says_how_many_runs_would_do() {
    let far = |unit, past: &[f64]| {
        let test = Test::new("lost", unit, past, past).unwrap();
        (test, judge(&[test; 5])[0])
    };
    // Three runs of 30 to 90 gaps a second: thousands would pass.
    let (test, judged) = far(Unit::PerSecond, &[30.0, 90.0, 45.0]);
    assert!(judged.bound > 1e4, "{judged:?}");
    // Gaps that scatter by a half of themselves are never bounded by 2.6 times as many.
    assert_eq!(judged.far, Some(Far { enough_runs: None }), "{test:?}");
    let (test, judged) = far(Unit::PerSecond, &[40.0, 60.0, 50.0]);
    let enough = judged.far.unwrap().enough_runs.unwrap() as usize;
    let level = ERROR_RATE / 5.0;
    let far_from = FAR_CHANGES * test.scale.least;
    assert!(
        test.reach(enough, level) <= far_from && test.reach(enough - 1, level) > far_from,
        "{enough}"
    );
    // What scatters little, and a share that may double, are near.
    assert_eq!(far(Unit::PerSecond, &[250.0, 251.0, 249.0]).1.far, None);
    assert_eq!(far(Unit::Share, &[0.25, 0.26, 0.24]).1.far, None);
    assert!(far(Unit::Share, &[0.002, 0.004, 0.001]).1.far.is_some());
    // A limit of all of the time cannot fail.
    let (_, judged) = far(Unit::Share, &[0.75, 0.8, 0.85]);
    assert!(judged.bound >= 1.0 && judged.far.is_some(), "{judged:?}");
}

#[test]
fn the_limit_that_is_shown_is_where_it_fails() {
    let past = [0.009, 0.010, 0.011, 0.0105, 0.0095];
    let test = |now: f64| Test::new("lost", Unit::Share, &past, &[now; 3]).unwrap();
    // Some that are worse than others and do not fail bring no limit nearer; one that fails does.
    for others in [[0.0105, 0.0107, 0.0109], [0.9, 0.0107, 0.0109]] {
        let judged = |now: f64| {
            let all = others.into_iter().chain([now]);
            judge(&all.map(test).collect::<Vec<Test>>())[3]
        };
        let bound = judged(0.0100).bound;
        assert!(!judged(bound - 1e-6).worse && judged(bound + 1e-6).worse);
    }
}

#[test]
fn a_few_bad_runs_do_not_hide_each_other() {
    let quiet = [0.002, 0.003, 0.0025, 0.0022, 0.0028];
    for bad in 1..=5 {
        let now: Vec<f64> = (0..5)
            .map(|run| if run < bad { 0.5 } else { 0.0025 })
            .collect();
        let test = Test::new("lost", Unit::Share, &quiet, &now).unwrap();
        assert!(judge(&vec![test; 8])[0].worse, "{bad}");
    }
}

#[test]
fn what_is_better_or_small_never_fails() {
    let judged = |name: &str, unit, past: &[f64], now: &[f64]| {
        judge(&[Test::new(name, unit, past, now).unwrap()])[0]
    };
    let quiet = [0.01, 0.010_01, 0.009_99];
    assert!(!judged("lost", Unit::Share, &quiet, &[0.0101; 3]).worse);
    assert!(!judged("lost", Unit::Share, &quiet, &[0.001; 3]).worse);
    let worse = judged("lost", Unit::Share, &quiet, &[0.02; 3]);
    assert!(
        worse.worse && (0.01..0.02).contains(&worse.bound),
        "{worse:?}"
    );
    // Of a window less is worse.
    assert!(judged("worst 1 ms", Unit::Share, &[0.9, 0.91, 0.89], &[0.5]).worse);
    assert!(!judged("worst 1 ms", Unit::Share, &[0.5, 0.51, 0.49], &[0.9]).worse);
    assert!(!judged("gaps", Unit::PerSecond, &[0.0; 3], &[0.0; 3]).worse);
    assert!(Test::new("lost", Unit::Share, &[0.1], &[0.1]).is_none());
}

#[test]
fn what_never_came_before_must_come_in_several_runs() {
    let judged = |past: usize, now: &[f64]| {
        let test = Test::new("host", Unit::Share, &vec![0.25; past], now).unwrap();
        judge(&[test; 8])[0]
    };
    // In one of five runs it may come to an unchanged machine; in all five it does not.
    assert!(!judged(5, &[0.5]).worse && !judged(5, &[0.5, 0.25, 0.25, 0.25, 0.25]).worse);
    assert!(judged(5, &[0.5; 5]).worse && judged(30, &[0.5; 2]).worse);
    // No limit is shown where nothing fails.
    let blind = judged(30, &[0.5]);
    assert!(blind.bound == 1.0 && !blind.worse, "{blind:?}");
    assert_eq!(blind.far.unwrap().enough_runs, Some(159));
    assert!(!judged(159, &[0.25]).worse && judged(159, &[0.5]).worse);
    assert_eq!([5, 30, 159].map(|past| runs_to_notice(past, 8)), [5, 2, 1]);
    assert!((judged(5, &[0.25; 5]).bound - 0.251).abs() < 1e-9);
}

#[test]
fn equal_runs_have_a_limit_though_their_mean_is_rounded() {
    let test = Test::new("gaps", Unit::PerSecond, &[250.0; 3], &[250.0; 3]).unwrap();
    assert!(test.now > test.past);
    let judged = judge(&[test])[0];
    assert!(judged.bound.is_finite() && !judged.worse, "{judged:?}");
}

#[test]
fn a_steady_figure_may_change_either_way_unless_it_is_0() {
    for (past, expected) in [(0.0, 1.0 / 31.0), (0.25, 2.0 / 31.0)] {
        let p = |now| {
            let test = Test::new("host", Unit::Share, &[past; 30], &[now]);
            test.unwrap().p_differs()
        };
        assert!((p(0.5) - expected).abs() < 1e-9 && p(past) == 1.0, "{past}");
    }
}
