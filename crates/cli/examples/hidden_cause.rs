//! A program that runs at two speeds for a reason that is known, to hold `bandscope repeat` against.
//!
//! `hidden_cause CAUSE [SLEEP_MS]` prints `time: T`, around 100 or around 150 with a percent of noise. It does not take that long: tests must
//! not depend on how long anything takes. With SLEEP_MS it sleeps so many milliseconds first.
//!
//! What it draws, the kernel seeds anew in each run. Where the working directory has a file [`COUNT`], it counts its runs there and draws
//! from their number: another session in another such directory draws the same.

use std::fs::OpenOptions;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::io::Write;
use std::time::Duration;

/// One byte a run.
const COUNT: &str = "hidden_cause.count";

fn main() {
    let mut arguments = std::env::args().skip(1);
    let cause = arguments.next().unwrap_or_default();
    let seed = counted().unwrap_or_else(|| RandomState::new().hash_one(0));
    let chance = |which| chance(seed, which);
    let Some(slow) = slow(&cause, chance) else {
        eprintln!(
            "hidden_cause: found {cause:?}, expected layout, environment, arguments, cpu, coin, one, skewed or fail"
        );
        std::process::exit(3);
    };
    if let Some(milliseconds) = arguments.next().and_then(|text| text.parse().ok()) {
        std::thread::sleep(Duration::from_millis(milliseconds));
    }
    let noise = match cause == "skewed" {
        // A tail to the right, as of run times that interruptions lengthen.
        true => -0.02 * (1.0 - chance(1)).ln(),
        false => 0.01 * (chance(1) + chance(2) + chance(3) - 1.5),
    };
    println!(
        "time: {:.3}",
        if slow { 150.0 } else { 100.0 } * (1.0 + noise)
    );
}

/// Whether this run is slow; `None` if there is no such cause.
fn slow(cause: &str, chance: impl Fn(u64) -> f64) -> Option<bool> {
    Some(match cause {
        // One bit of an address on the stack, which the kernel draws in steps of 16 bytes.
        "layout" => (&raw const cause).addr() >> 5 & 1 == 1,
        "environment" => {
            std::env::vars_os()
                .map(|(name, value)| name.len() + value.len())
                .sum::<usize>()
                >> 10
                & 1
                == 1
        }
        // The name under which it is called.
        "arguments" => std::env::args_os().next()?.len() > 600,
        "cpu" => last_cpu()? % 2 == 1,
        "coin" => chance(0) < 0.25,
        "one" | "skewed" => false,
        _ => return None,
    })
}

/// The number of this run, where runs are counted.
fn counted() -> Option<u64> {
    let mut file = OpenOptions::new().append(true).open(COUNT).ok()?;
    file.write_all(b".").ok()?;
    Some(file.metadata().ok()?.len())
}

/// From 0 to 1.
fn chance(seed: u64, which: u64) -> f64 {
    let mut hasher = DefaultHasher::new();
    (seed, which).hash(&mut hasher);
    hasher.finish() as f64 / u64::MAX as f64
}

/// Field 39 of /proc/self/stat.
fn last_cpu() -> Option<u32> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    text.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(36)?
        .parse()
        .ok()
}
