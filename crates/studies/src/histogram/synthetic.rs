//! Histograms drawn from both truths, many of each: false smears and missed ones are counted.

use super::{Report, analyse};
use bandscope_recording::histogram::{Bin, FixedWork, Histogram};
use bandscope_report::evidence::{self, OfKind};
use bandscope_statistics::random::Random;
use std::collections::BTreeMap;

/// What an interrupt does.
#[derive(Clone, Copy, Debug)]
struct Truth {
    /// How many times slower the loop goes on.
    slower: f64,
    cost: Cost,
    /// Share of slow samples that something long made.
    long: f64,
}

/// What an interrupt costs by itself, in nanoseconds.
#[derive(Clone, Copy, Debug)]
enum Cost {
    /// Median, and the standard deviation of the logarithm.
    LogNormal(f64, f64),
    Exponential(f64),
    Even(f64, f64),
    Two(f64, f64),
}

impl Cost {
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Cost::LogNormal(median, spread) => median * (spread * random.normal()).exp(),
            Cost::Exponential(mean) => 1e3 - mean * (1.0 - random.unit()).ln(),
            Cost::Even(from, to) => from + (to - from) * random.unit(),
            Cost::Two(often, _) if random.unit() < 0.7 => often * (0.1 * random.normal()).exp(),
            Cost::Two(_, seldom) => seldom * (0.1 * random.normal()).exp(),
        }
    }
}

/// Bins of 0.1 %, as a histogram of three digits has them.
fn histogram(work_ns: f64, slow: u64, truth: Truth, random: &mut Random) -> Histogram {
    let mut bins: BTreeMap<i64, u64> = BTreeMap::new();
    let mut add = |ns: f64| *bins.entry((ns.ln() * 1000.0).floor() as i64).or_default() += 1;
    for _ in 0..4 * slow {
        add(work_ns * (1.0 + 0.002 * random.normal().abs()));
    }
    for _ in 0..slow {
        let left = (truth.slower - 1.0) * work_ns * random.unit();
        let mut ns = work_ns + truth.cost.draw(random) + left;
        if random.unit() < truth.long {
            ns += (5.0 * random.unit()).exp() * 20e3;
        }
        add(ns);
    }
    Histogram {
        cpu: Some(1),
        kernel: "drawn".into(),
        work_us: Some(work_ns / 1e3),
        samples: bins.values().sum(),
        bins: (bins.iter())
            .map(|(index, count)| {
                let edge = |index: i64| (index as f64 / 1000.0).exp();
                Bin::from((edge(*index), edge(*index + 1), *count))
            })
            .collect(),
        ..Histogram::default()
    }
}

fn report(works_us: &[f64], truth: Truth, seed: u64) -> Report {
    let mut random = Random::new(seed);
    let slow = 500 + (3000.0 * random.unit()) as u64;
    let works = works_us.iter();
    analyse(
        FixedWork {
            histograms: works
                .map(|work| histogram(work * 1e3, slow, truth, &mut random))
                .collect(),
            ..FixedWork::default()
        },
        &[],
    )
}

fn slope(report: &Report) -> Option<f64> {
    let finding = report.findings.first()?;
    evidence::InterruptedLoop::of(&finding.evidence).map(|shown| shown.slope)
}

const SEEDS: u64 = 40;
const LADDER: &[f64] = &[5.0, 100.0, 500.0];

const COSTS: [Cost; 6] = [
    Cost::LogNormal(3e3, 0.2),
    Cost::LogNormal(8e3, 0.5),
    Cost::LogNormal(15e3, 0.8),
    Cost::Exponential(6e3),
    Cost::Even(3e3, 25e3),
    Cost::Two(4e3, 20e3),
];

#[test]
fn ladders_of_interrupts_that_cost_themselves_have_no_smear() {
    let mut found = Vec::new();
    for cost in COSTS {
        for long in [0.0, 0.03, 0.1] {
            for seed in 0..SEEDS {
                let truth = Truth {
                    slower: 1.0,
                    cost,
                    long,
                };
                if !report(LADDER, truth, seed).findings.is_empty() {
                    found.push((cost, long, seed));
                }
            }
        }
    }
    assert!(
        found.is_empty(),
        "{} of {}: {:?}",
        found.len(),
        18 * SEEDS,
        &found[..found.len().min(9)]
    );
}

#[test]
fn ladders_of_loops_that_go_on_slower_have_one_of_that_slope() {
    let mut missed = Vec::new();
    for cost in [COSTS[0], COSTS[1], COSTS[5]] {
        for slower in [2.0, 3.17, 8.0] {
            for long in [0.0, 0.03, 0.1] {
                for seed in 0..SEEDS {
                    let truth = Truth { slower, cost, long };
                    let found = slope(&report(LADDER, truth, seed));
                    if !found.is_some_and(|slope| (slope / slower - 1.0).abs() < 0.1) {
                        missed.push((truth, seed, found));
                    }
                }
            }
        }
    }
    assert!(
        missed.is_empty(),
        "{} of {}: {:?}",
        missed.len(),
        27 * SEEDS,
        &missed[..missed.len().min(9)]
    );
}

/// One length of work cannot tell costs that are spread evenly from a smear; other costs it can.
#[test]
fn one_length_of_work_is_possible_at_most() {
    let mut odd = Vec::new();
    for (number, cost) in COSTS.into_iter().enumerate() {
        for seed in 0..SEEDS {
            let truth = Truth {
                slower: 1.0,
                cost,
                long: 0.03,
            };
            let report = report(&[5.0], truth, seed);
            let expected = usize::from(matches!(cost, Cost::Even(..)));
            let sure = report.findings.first().map(|it| it.certainty);
            if report.findings.len() != expected
                || sure.is_some_and(|sure| sure > bandscope_report::Certainty::Possible)
            {
                odd.push((number, seed));
            }
        }
    }
    assert!(odd.is_empty(), "{}: {odd:?}", odd.len());
}
