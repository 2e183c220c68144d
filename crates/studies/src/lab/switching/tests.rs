use super::*;
use bandscope_recording::experiments::Interruption;

/// A run of turns of 10 operations: so many turns at a pace in ticks per turn, interrupted between.
fn run(stretches: &[(u64, u64)]) -> Run {
    let turns = stretches.iter().map(|one| one.0).sum();
    let (mut at, mut turns_left) = (0, turns);
    let mut interruptions = Vec::new();
    for &(number, ticks) in stretches {
        at += number * ticks;
        turns_left -= number;
        interruptions.push(Interruption { at, turns_left });
    }
    interruptions.pop();
    Run {
        turns,
        ticks: at,
        interruptions,
    }
}

fn explained(rate_hz: u32, runs: Vec<Run>) -> Switching {
    let experiments = Experiments {
        ticks_per_ns: 1.0,
        reference_cycles: 3.0,
        switching: vec![experiments::Switching {
            code: "loop".into(),
            operations: 10,
            rate_hz,
            reference: 3.0,
            runs,
            ..Default::default()
        }],
        ..Experiments::default()
    };
    all(&experiments).remove(0)
}

#[test]
fn a_loop_that_interruptions_make_fast_says_so() {
    // Entered at 3 cycles; from the first interruption on at 1; in every fifth run something else comes first.
    let clean = run(&[(10_000, 30), (30_000, 10), (30_000, 10)]);
    let changed = |index: u64| run(&[(10_000, 14 + index % 9), (30_000, 10), (30_000, 10)]);
    let runs = (0..100).map(|index| match index % 5 {
        0 => changed(index),
        _ => clean.clone(),
    });
    let result = explained(1000, runs.collect());
    assert_eq!(result.states.len(), 2);
    assert_eq!(result.entered, Some(1));
    let (to_fast, to_slow) = (result.to_fast.unwrap(), result.to_slow.unwrap());
    assert_eq!((to_fast.trials, to_fast.changes), (80, 80));
    // The second interruption of each run found it fast, and left it so.
    assert_eq!((to_slow.trials, to_slow.changes), (100, 0));
    assert!(
        to_fast.interval[0] > 0.95 && to_slow.interval[1] < 0.04,
        "{result:?}"
    );
    assert_eq!(result.by_rate[&1000], [180, 80]);
    assert_eq!(result.changes, Some([80, 20]));
    assert!(result.is_switched(), "{result:?}");
}

#[test]
fn a_loop_of_one_pace_has_no_chances() {
    let runs = (0..50).map(|index| run(&[(40_000 + index * 10, 30), (40_000, 30)]));
    let result = explained(100, runs.collect());
    assert_eq!((result.states.len(), result.entered), (1, Some(0)));
    assert!(result.to_fast.is_none() && result.to_slow.is_none());
    assert_eq!(result.changes, None);
}

#[test]
fn a_loop_that_changes_by_itself_is_not_switched_by_interruptions() {
    // At 1 or at 3 cycles; it changes within every fourth stretch, and never at a signal.
    let runs = (0..90).flat_map(|index: u64| {
        let way = 11 + index % 18;
        [
            run(&[(10_000, 30), (10_000, 30), (10_000, way), (30_000, 10)]),
            run(&[(30_000, 10), (30_000, 10), (10_000, way), (10_000, 30)]),
        ]
    });
    let result = explained(1000, runs.collect());
    assert_eq!(result.states.len(), 2);
    assert!(!result.is_switched(), "{result:?}");
}

#[test]
fn no_trials_have_no_chance() {
    assert!(Chance::new([0, 0]).is_none());
}
