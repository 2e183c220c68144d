//! How often chance gets a verdict.

use super::*;
use bandscope_statistics::random::Random;

/// A trial of a machine on which rare events take long: what a task and the host take has no variance to speak of.
fn heavy_tailed(random: &mut Random, task: f64) -> Figures {
    let host = 0.005 * (1.0 - random.unit()).powf(-0.5);
    let own = (task * (1.5 * random.normal()).exp()).min(0.5);
    trial(&[("task:cc1", own), ("host", host.min(0.5))])
}

fn simulated(name: &str, mut pair: impl FnMut() -> [Figures; 2]) -> Cure {
    let pairs = (0..12).map(|_| {
        let [without, with] = pair();
        Pair {
            without,
            with,
            ..Pair::default()
        }
    });
    Cure {
        pairs: pairs.collect(),
        acts_on: vec!["task:*".to_owned()],
        ..named(name)
    }
}

/// Whether no effect was found.
fn is_none(verdict: Verdict) -> bool {
    [Verdict::DoesNothing, Verdict::TooSmall].contains(&verdict)
}

/// The claim by which all others are believed.
#[test]
fn of_400_shams_chance_gets_no_more_than_5_percent_a_verdict() {
    let mut random = Random::new(11);
    let verdicts = (0..400).map(|_| {
        let pair = || [0; 2].map(|_| heavy_tailed(&mut random, 0.01));
        one(simulated("sham", pair)).verdict
    });
    let called = verdicts.filter(|verdict| !is_none(*verdict));
    let called = called.count();
    assert!(called <= 20, "{called}");
}

#[test]
fn of_100_sessions_of_ten_shams_chance_gets_no_more_than_5_percent_a_verdict() {
    let mut random = Random::new(12);
    let sessions = (0..100).filter(|_| {
        let mut sham = |_| simulated("sham", || [0; 2].map(|_| heavy_tailed(&mut random, 0.01)));
        let judged = judge(&session((0..10).map(&mut sham).collect()));
        let mut cures = judged.cures.iter();
        cures.any(|one| !is_none(one.verdict))
    });
    let called = sessions.count();
    assert!(called <= 5, "{called}");
}

#[test]
fn a_disturbance_of_5_percent_is_always_found_among_ten_cures() {
    let mut random = Random::new(13);
    for _ in 0..50 {
        let mut cures = Vec::new();
        // Both trials of a pair scatter by 0.7 points, their difference by 1.
        let host = |random: &mut Random| 0.05 + 0.007 * random.normal();
        let effective = simulated("tasks", || {
            [0.05, 0.0].map(|task| trial(&[("task:stress", task), ("host", host(&mut random))]))
        });
        cures.push(effective);
        for _ in 0..9 {
            cures.push(simulated("sham", || {
                [0; 2].map(|_| heavy_tailed(&mut random, 0.01))
            }));
        }
        let judged = judge(&session(cures));
        let found = judged.cures.iter().find(|one| one.name == "tasks").unwrap();
        let saved = found.saved.unwrap();
        assert_eq!(found.verdict, Verdict::Helps, "{}", found.sentence);
        assert!(
            saved.p_value <= 0.05 && (saved.share - 0.05).abs() < 0.015,
            "{saved:?}"
        );
    }
}
