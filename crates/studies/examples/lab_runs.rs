//! How far several runs of the lab agree: `cargo run --release -p bandscope-studies --example lab_runs -- lab-1.json lab-2.json ...`, of files
//! that `bandscope lab --output` wrote.
//!
//! Prints each level's ratio (smallest, median, largest, and largest over smallest less 1), how many ratios of one run lie in the interval of
//! another, by how much the register chain moved, and what interruptions switched in all runs together. The figures of docs/lab.md are from here.

use bandscope_recording::experiments::Experiments;
use bandscope_studies::lab::{Chance, Lab, Level, explain};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

/// A ratio of a run and its interval.
type Ratio = (f64, [f64; 2]);

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.len() < 2 {
        return Err("at least two files of `bandscope lab --output` are needed".into());
    }
    let read = |file: &String| Ok(explain(&Experiments::read(Path::new(file))?));
    let runs: Vec<Lab> = files
        .iter()
        .map(read)
        .collect::<Result<_, Box<dyn Error>>>()?;
    ratios(&runs);
    chain(&runs);
    switching(&runs);
    Ok(())
}

/// Levels that have a ratio, by pair and name; a sweep compares other levels in every run, so it is one.
fn levels(run: &Lab) -> impl Iterator<Item = (String, Ratio)> {
    run.pairs.iter().flat_map(|pair| {
        let sweep = pair.name.starts_with("placement");
        let of = |level: &Level| Some((level.ratio?, level.interval?));
        let named = move |level: &Level| {
            let name = if sweep {
                "slowest"
            } else {
                level.name.as_str()
            };
            Some((format!("{}: {name}", pair.name), of(level)?))
        };
        pair.levels.iter().filter_map(named)
    })
}

fn ratios(runs: &[Lab]) {
    let mut by_level: BTreeMap<String, Vec<Ratio>> = BTreeMap::new();
    for (level, ratio) in runs.iter().flat_map(levels) {
        by_level.entry(level).or_default().push(ratio);
    }
    println!(
        "{:34} {:>9} {:>9} {:>9} {:>8}",
        "level", "smallest", "median", "largest", "spread"
    );
    let (mut alike, mut inside, mut asked) = (0, 0, 0);
    for (level, ratios) in &by_level {
        let mut values: Vec<f64> = ratios.iter().map(|ratio| ratio.0).collect();
        values.sort_by(f64::total_cmp);
        let (smallest, largest) = (values[0], values[values.len() - 1]);
        let spread = largest / smallest - 1.0;
        let median = values[values.len() / 2];
        println!(
            "{level:34} {smallest:9.4} {median:9.4} {largest:9.4} {:7.2}%",
            100.0 * spread
        );
        alike += u32::from(spread <= 0.03);
        for (run, (_, interval)) in ratios.iter().enumerate() {
            let others = ratios.iter().enumerate().filter(|(other, _)| *other != run);
            for (_, (ratio, _)) in others {
                asked += 1;
                inside += u32::from((interval[0]..=interval[1]).contains(ratio));
            }
        }
    }
    println!("\n{alike} of {} levels within 3 %", by_level.len());
    println!("{inside} of {asked} ratios of one run lie in the interval of another");
}

fn chain(runs: &[Lab]) {
    let pairs = runs.iter().flat_map(|run| &run.pairs);
    let mut moved: Vec<f64> = pairs
        .filter_map(|pair| pair.chain_moved)
        .map(f64::abs)
        .collect();
    moved.sort_by(f64::total_cmp);
    let within = |most: f64| moved.partition_point(|&moved| moved <= most);
    print!("register chain: of {} results", moved.len());
    for most in [0.0007, 0.005] {
        print!(", {} moved by {:.2} % at most", within(most), 100.0 * most);
    }
    println!(
        "; {:.2} % the most\n",
        100.0 * moved.last().copied().unwrap_or(0.0)
    );
}

fn switching(runs: &[Lab]) {
    let mut by_loop: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for switching in runs.iter().flat_map(|run| &run.switching) {
        by_loop.entry(&switching.code).or_default().push(switching);
    }
    println!(
        "{:16} {:>14} {:>14} {:>16}  excess over chance",
        "loop", "slow to fast", "fast to slow", "runs bistable"
    );
    for (code, all) in by_loop {
        let sum = |of: fn(&bandscope_studies::lab::Switching) -> Option<Chance>| {
            let chances = all.iter().filter_map(|switching| of(switching));
            let (changes, trials) = chances.fold((0, 0), |sum, chance| {
                (sum.0 + chance.changes, sum.1 + chance.trials)
            });
            format!("{changes} of {trials}")
        };
        let bistable = all
            .iter()
            .filter(|switching| switching.states.len() == 2)
            .count();
        let excesses = all.iter().filter_map(|switching| {
            let interval = switching.excess_interval?;
            Some(format!(
                "{:.1} ({:.1} to {:.1})",
                switching.excess?, interval[0], interval[1]
            ))
        });
        println!(
            "{code:16} {:>14} {:>14} {:>16}  {}",
            sum(|switching| switching.to_fast),
            sum(|switching| switching.to_slow),
            format!("{bistable} of {}", all.len()),
            excesses.collect::<Vec<_>>().join(", "),
        );
    }
}
