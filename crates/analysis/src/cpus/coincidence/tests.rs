//! Gaps of two CPUs that coincide by chance, by construction, and not at all.

use super::*;
use bandscope_statistics::random::Random;

const FRAME: Frame = Frame {
    ticks: 60_000_000_000,
    ticks_per_ns: 1.0,
};

fn gaps(starts: impl Iterator<Item = u64>, duration: u64) -> Vec<Away> {
    starts
        .map(|start| Away {
            start,
            duration,
            cause: 0,
        })
        .collect()
}

/// At random times within the frame, sorted.
fn anywhere(seed: u64, number: usize, duration: u64) -> Vec<Away> {
    let mut random = Random::new(seed);
    let mut starts: Vec<u64> = (0..number).map(|_| random.bits() % FRAME.ticks).collect();
    starts.sort_unstable();
    gaps(starts.into_iter(), duration)
}

#[test]
fn the_expectation_is_what_chance_does() {
    // 20,000 against 20,000 in a minute, 20 us wide: 133 coincide.
    let (mut number, mut expected) = (0.0, 0.0);
    for seed in 0..10 {
        let (a, b) = (
            anywhere(seed, 20_000, 3_000),
            anywhere(seed + 99, 20_000, 3_000),
        );
        let found = count(&a, &b, 10_000.0, FRAME);
        number += found.number as f64;
        expected += found.expected;
        assert!(!found.stands_out(), "{seed}");
    }
    assert!((number / 1330.0 - 1.0).abs() < 0.1, "{number}");
    // The highest of several estimates is not below it, nor far above.
    assert!(
        expected > 0.95 * number && expected < 1.3 * number,
        "{expected}"
    );
}

#[test]
fn those_that_begin_together_are_all_found() {
    let a = anywhere(3, 500, 50_000);
    let b = gaps(a.iter().map(|gap| gap.start + 1_500), 70_000);
    let found = count(&a, &b, 2_000.0, FRAME);
    assert!(found.number > 480 && found.pairs.len() >= 500);
    assert!(found.expected < 5.0 && found.ln_chance() < -1000.0);
    // Begins differ by more than the reach.
    let late = gaps(a.iter().map(|gap| gap.start + 5_000), 70_000);
    assert!(count(&a, &late, 2_000.0, FRAME).number < 5);
    assert!(count(&a, &late, 10_000.0, FRAME).number > 480);
    // They overlap, and nothing more.
    let later = gaps(a.iter().map(|gap| gap.start + 40_000), 70_000);
    assert!(count(&a, &later, 10_000.0, FRAME).number < 5);
    assert!(count(&a, &later, f64::INFINITY, FRAME).stands_out());
}

#[test]
fn ticks_of_one_rate_and_another_phase_never_coincide() {
    let a = gaps((1..15_000).map(|k| k * 4_000_000), 3_000);
    for phase in [50_000, 1_000_000, 2_000_000, 3_900_000] {
        let b = gaps((1..15_000).map(|k| k * 4_000_000 + phase), 3_000);
        for reach in REACHES_NS {
            assert_eq!(count(&a, &b, reach, FRAME).number, 0);
        }
    }
    let b = gaps((1..15_000).map(|k| k * 4_000_000 + 900), 3_000);
    let found = count(&a, &b, 2_000.0, FRAME);
    assert!(found.number == 14_999 && found.stands_out() && found.ln_chance() < -1000.0);
}

#[test]
fn periods_that_pass_through_each_other_are_no_coincidence() {
    let a = gaps((1..15_000).map(|k| k * 4_000_000), 3_000);
    // 10 parts per million: 40 us in a second, through each other within half a second or so, or during all of the minute.
    for (period, phase) in [
        (4_000_040i64, -300_000i64),
        (4_000_040, -50_000),
        (4_000_004, -30_000),
    ] {
        let b = gaps((1..15_000).map(|k| (k * period + phase) as u64), 3_000);
        for reach in REACHES_NS {
            let found = count(&a, &b, reach, FRAME);
            assert!(
                !found.stands_out(),
                "{period} {phase} {reach}: {} of {}",
                found.number,
                found.expected
            );
        }
    }
}

#[test]
fn bursts_in_the_same_second_are_no_coincidence() {
    // A tenth of each second is busy on both CPUs: 2,000 gaps a second there.
    let mut random = Random::new(5);
    let mut busy = || {
        let mut starts: Vec<u64> = (0..12_000u64)
            .map(|k| k / 200 * 1_000_000_000 + random.bits() % 100_000_000)
            .collect();
        starts.sort_unstable();
        gaps(starts.into_iter(), 20_000)
    };
    let (a, b) = (busy(), busy());
    for reach in REACHES_NS {
        let found = count(&a, &b, reach, FRAME);
        assert!(
            found.number < 2_000 && !found.stands_out(),
            "{reach}: {} of {}",
            found.number,
            found.expected
        );
        assert!(found.ln_chance() > -16.0, "{reach}");
    }
}
