//! Paces that change on a grid: the published rows, and random stays.

use crate::evidence::{has, number, numbers, of_kind, only};
use crate::support::{analysis, counts_only, published};
use bandscope_report::{Certainty, Kind};

#[test]
fn the_published_rows_sit_on_a_grid_of_a_millisecond() {
    for (name, kept) in [("spr-10khz-a.dat", 1.0), ("spr-10khz-b.dat", 2.0 / 3.0)] {
        let report = analysis(&published(name)).report;
        let finding = only(&report, Kind::MovingEdges);
        assert!(finding.certainty < Certainty::Certain);
        assert!(
            (number(finding, "grid_s") - 1e-3).abs() < 1e-9,
            "{finding:?}"
        );
        assert!((number(finding, "kept") - kept).abs() < 1e-9, "{finding:?}");
        let dwell = number(finding, "dwell_s");
        assert!((dwell - 1003.6e-6).abs() < 2.5e-6, "{name}: {dwell}");
        if kept == 1.0 {
            assert!((dwell - 1003.64e-6).abs() < 0.2e-6, "{dwell}");
        }
        let pairs = only(&report, Kind::EdgePairs);
        assert!(pairs.certainty < Certainty::Certain);
        if name.contains("-a") {
            assert_eq!(numbers(pairs, "counts"), [2830.0, 2000.0]);
        }
    }
    let aligned = analysis(&published("aligned-interference.dat")).report;
    assert!(
        of_kind(&aligned, Kind::MovingEdges).is_empty()
            && of_kind(&aligned, Kind::EdgePairs).is_empty()
    );
}

/// Two paces that change on a grid of a millisecond after a random number of its periods.
fn locked_to_a_grid(seed: u64, rows: usize) -> Vec<u32> {
    let mut random = crate::support::Random::new(seed);
    let (mut now, mut slow, mut left) = (0.0f64, false, 1u32);
    let mut next = 0.000_37;
    (1..=rows)
        .map(|k| {
            let end = k as f64 * 1e-4;
            let mut units = 0.0;
            while now < end {
                let until = end.min(next);
                units += (until - now) / if slow { 128.2e-9 } else { 23.96e-9 };
                now = until;
                if now >= next {
                    left -= 1;
                    next += 1.000_002e-3;
                    if left == 0 {
                        slow = !slow;
                        left = 1 + (8.0 * random.unit()) as u32;
                    }
                }
            }
            units as u32
        })
        .collect()
}

#[test]
fn random_stays_on_a_grid_have_a_grid_and_no_period() {
    for seed in 0..4 {
        let counts = locked_to_a_grid(seed, 20_000);
        let starts: Vec<u64> = (0..counts.len() as u64).map(|k| k * 100_000).collect();
        let report = analysis(&counts_only(&counts, &starts)).report;
        let finding = only(&report, Kind::MovingEdges);
        assert_eq!(finding.certainty, Certainty::Likely);
        assert!(
            (number(finding, "grid_s") / 1.000_002e-3 - 1.0).abs() < 1e-7,
            "{finding:?}"
        );
        assert!(!has(finding, "period_s"), "{finding:?}");
    }
}
