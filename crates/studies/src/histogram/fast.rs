//! Samples that are faster than most: where an interruption makes a loop run k times as fast until it ends, they are spread evenly from
//! a k-th of the work up to the work, which is what a sample takes that nothing hit.
//!
//! The mirror image of a smear: there the rest of an interrupted loop is slow. Measured on Golden Cove's successors with a shift whose
//! count a 64-bit immediate set (docs/lab.md).

use bandscope_recording::histogram::Bin;
use serde::Serialize;

/// Samples faster than the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fast {
    /// What most samples take, in nanoseconds.
    pub body_ns: f64,
    /// Samples faster than nine tenths of that.
    pub samples: u64,
    /// Where they begin: their first hundredth, in nanoseconds.
    pub from_ns: f64,
    /// `body_ns` over `from_ns`: the least that the loop goes faster, because what an interruption costs is in `from_ns`.
    pub factor: f64,
}

/// The body is the fullest cell of this width, as a ratio: a pace scatters by a percent or two.
const CELL: f64 = 0.02;
/// A sample below this share of the body is fast: a clock frequency that rises makes a sample no faster by a tenth on a busy core.
const BELOW: f64 = 0.9;
/// So few say nothing, as of a smear.
const FEWEST: u64 = super::smear::FEWEST;
/// Factors nearer to 1 are a pace of another cause.
const LEAST_FACTOR: f64 = 1.5;
/// Kolmogorov's distance from an even distribution: a second pace, such as without a neighbour on the core, is a step of a half and
/// more; interrupts that come so often that many samples meet two are a tenth.
const EVEN: f64 = 0.2;

/// The fast samples of a histogram, where they are spread evenly.
pub fn fast(bins: &[Bin]) -> Option<Fast> {
    let middle = |bin: &Bin| (bin.from_ns + bin.to_ns) / 2.0;
    let body_ns = body(bins)?;
    let such: Vec<&Bin> = bins
        .iter()
        .take_while(|bin| middle(bin) < BELOW * body_ns)
        .collect();
    let samples = such.iter().map(|bin| bin.count).sum::<u64>();
    if samples < FEWEST {
        return None;
    }
    let mut seen = 0;
    let first = such.iter().find(|bin| {
        seen += bin.count;
        seen * 100 >= samples
    });
    let from_ns = middle(first?);
    let factor = body_ns / from_ns;
    let mut seen = 0;
    let farthest = such.iter().map(|bin| {
        seen += bin.count;
        let even = (middle(bin) - from_ns) / (BELOW * body_ns - from_ns);
        (seen as f64 / samples as f64 - even.clamp(0.0, 1.0)).abs()
    });
    let is_even = farthest.fold(0.0, f64::max) <= EVEN;
    (factor >= LEAST_FACTOR && is_even).then_some(Fast {
        body_ns,
        samples,
        from_ns,
        factor,
    })
}

/// The middle of the fullest cell.
fn body(bins: &[Bin]) -> Option<f64> {
    let mut cells: Vec<(i64, u64)> = Vec::new();
    for bin in bins.iter().filter(|bin| bin.to_ns > 0.0) {
        let cell = (((bin.from_ns + bin.to_ns) / 2.0).ln() / CELL).floor() as i64;
        match cells.last_mut() {
            Some((last, count)) if *last == cell => *count += bin.count,
            _ => cells.push((cell, bin.count)),
        }
    }
    let (cell, count) = cells.into_iter().max_by_key(|(_, count)| *count)?;
    (count > 0).then(|| ((cell as f64 + 0.5) * CELL).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of work that takes 100 us when nothing hits it; every `nth` is interrupted at any time in it, which costs 2 us, and the
    /// rest goes `faster`.
    fn bins(nth: u64, faster: f64) -> Vec<Bin> {
        let mut counts = std::collections::BTreeMap::<i64, u64>::new();
        for index in 0..200_000u64 {
            let scatter = 1.0 + 0.01 * ((index * 7919 % 1000) as f64 / 1000.0 - 0.5);
            let share = (index * 104_729 % 99_991) as f64 / 99_991.0;
            let ns = match index % nth {
                0 => 1e5 * (share + (1.0 - share) / faster) + 2e3,
                _ => 1e5 * scatter,
            };
            *counts.entry((ns.ln() * 1000.0).floor() as i64).or_default() += 1;
        }
        let edge = |bin: i64| (bin as f64 / 1000.0).exp();
        counts
            .into_iter()
            .map(|(bin, count)| Bin {
                from_ns: edge(bin),
                to_ns: edge(bin + 1),
                count,
            })
            .collect()
    }

    #[test]
    fn a_loop_that_interruptions_make_faster_is_found_with_its_factor() {
        for (nth, faster) in [(10, 3.0), (100, 3.0), (25, 6.0), (3, 2.0)] {
            let found = fast(&bins(nth, faster)).unwrap_or_else(|| panic!("{nth} {faster}"));
            // What the interruption costs is in the fastest samples, too, so the factor is the least that it can be.
            let least = 1e5 / (1e5 / faster + 2e3);
            assert!(
                found.factor <= faster && found.factor > 0.93 * least,
                "{faster}: {found:?}"
            );
            assert!((found.body_ns / 1e5 - 1.0).abs() < 0.03, "{found:?}");
        }
    }

    #[test]
    fn what_interruptions_only_lengthen_has_no_fast_samples() {
        for nth in [2, 10, 100] {
            assert_eq!(fast(&bins(nth, 1.0)), None, "{nth}");
        }
        // A second pace, a third of the time: two bodies, and nothing spread between.
        let mut two = bins(1000, 1.0);
        two.insert(
            0,
            Bin {
                from_ns: 5.5e4,
                to_ns: 5.51e4,
                count: 60_000,
            },
        );
        assert_eq!(fast(&two), None);
        assert_eq!(fast(&[]), None);
    }

    #[test]
    fn the_verdict_names_the_loop_and_is_no_surer_than_the_factors() {
        use bandscope_recording::histogram::{FixedWork, Histogram};
        let verdict = |factors: &[f64]| {
            let of = |faster: &f64| Histogram {
                cpu: Some(1),
                kernel: "unknown".into(),
                samples: 200_000,
                bins: bins(100, *faster),
                ..Histogram::default()
            };
            let measured = FixedWork {
                histograms: factors.iter().map(of).collect(),
                ..FixedWork::default()
            };
            super::super::analyse(measured, &[]).verdict
        };
        let begins = "After an interruption the loop on CPU 1";
        let single = verdict(&[3.0]);
        assert!(
            single.starts_with(&format!("{begins} may run 2.")),
            "{single}"
        );
        let apart = verdict(&[2.0, 6.0]);
        assert!(
            apart.starts_with(&format!("{begins} may run 1.")),
            "{apart}"
        );
        let [_, to] = apart.split_once(" to ").unwrap().into();
        assert!(to.starts_with("5."), "{apart}");
        let agree = verdict(&[3.0, 3.0]);
        assert!(agree.starts_with(&format!("{begins} runs 2.")), "{agree}");
    }
}
