//! What the modes and the answers of `bandscope repeat` are worth, on runs of known truth: `cargo run --release -p bandscope-studies --example modes`.
//!
//! Programs with a hidden cause are asked for 40 plain runs and everything varied, as `cli` does it with real ones; then values of one mode are
//! looked at for a second. Prints the figures of docs/repeat.md. Takes the repetitions as an argument (10).

use bandscope_recording::runs::{Factor, INHERITED, Metric, Run, Runs};
use bandscope_statistics::random::Random;
use bandscope_studies::repeat::design::{self, Arm};
use bandscope_studies::repeat::modes::{MAYBE, Modes, SURE};
use bandscope_studies::repeat::{explain, factors};

/// Plain runs, as the figures ask for.
const RUNS: u32 = 40;
const SIZES: [&str; 10] = [
    "0", "16", "32", "64", "128", "256", "512", "1024", "2048", "4096",
];

fn main() {
    let repetitions = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(10);
    println!("cause          modes right  shares right  answer right   (of {repetitions})");
    for cause in CAUSES {
        let mut right = [0; 3];
        for seed in 0..repetitions {
            let outcome = outcome(cause, seed);
            right
                .iter_mut()
                .zip(outcome)
                .for_each(|(sum, right)| *sum += u32::from(right));
        }
        println!(
            "{:14} {:11} {:13} {:13}",
            cause.name, right[0], right[1], right[2]
        );
    }
    println!(
        "\none mode, 20 runs      a second one seen, of 100: sure (p < {SURE}), perhaps (p < {MAYBE}); of 10000"
    );
    for (name, shape) in SHAPES {
        let [sure, maybe] = second_modes(*shape, 100);
        let [all_sure, all_maybe] = second_modes(*shape, 10_000);
        println!("{name:22} {sure:6} {maybe:6} {all_sure:14} {all_maybe:6}");
    }
}

/// A program: whether a run is slow, which factor is the right answer, and the share of slow plain runs.
struct Cause {
    name: &'static str,
    slow: fn(&Arm, &mut Random) -> bool,
    factor: Option<&'static str>,
    share: f64,
}

fn level<'a>(arm: &'a Arm, factor: &str) -> &'a str {
    arm.levels.get(factor).map_or(INHERITED, String::as_str)
}

const CAUSES: &[Cause] = &[
    Cause {
        name: "layout bit",
        // Where the layout is fixed, the address is the same each time but for what moves the stack.
        slow: |arm, random| match level(arm, "layout") {
            "fixed" => level(arm, "environment") == "32" || level(arm, "arguments") == "32",
            _ => random.unit() < 0.5,
        },
        factor: Some("layout"),
        share: 0.5,
    },
    Cause {
        name: "environment",
        slow: |arm, _| {
            level(arm, "environment")
                .parse()
                .is_ok_and(|bytes: u32| bytes >= 1024)
        },
        factor: Some("environment"),
        share: 0.0,
    },
    Cause {
        name: "one size",
        // Three runs in more than a hundred: an accident anywhere else must not hide them.
        slow: |arm, _| level(arm, "environment") == "1024",
        factor: Some("environment"),
        share: 0.0,
    },
    Cause {
        name: "CPU",
        slow: |arm, random| match level(arm, "cpu") {
            "0" => true,
            "1" => false,
            _ => random.unit() < 0.4,
        },
        factor: Some("cpu"),
        share: 0.4,
    },
    Cause {
        name: "store bypass",
        slow: |arm, _| level(arm, "store-bypass") == "off",
        factor: Some("store-bypass"),
        share: 0.0,
    },
    Cause {
        name: "coin",
        slow: |_, random| random.unit() < 0.2,
        factor: None,
        share: 0.2,
    },
];

fn outcome(cause: &Cause, seed: u64) -> [bool; 3] {
    let mut random = Random::new(1000 + seed);
    let mut runs = Runs {
        metric: Metric::measured("wall").expect("a name of its own"),
        seed,
        asked: RUNS,
        factors: factors_of(),
        ..Runs::default()
    };
    let mut slow_plain = 0;
    loop {
        let arms = design::next(&runs);
        if arms.is_empty() {
            break;
        }
        for arm in arms {
            let slow = (cause.slow)(&arm, &mut random);
            slow_plain += usize::from(slow && arm.factor.is_none());
            let value = if slow { 0.15 } else { 0.1 } * (0.02 * random.normal()).exp();
            runs.runs.push(Run {
                phase: arm.phase,
                factor: arm.factor,
                levels: arm.levels,
                value: Some(value),
                wall_s: value,
                ..Run::default()
            });
        }
    }
    let repeat = explain(&runs);
    let expected = if cause.share > 0.0 { 2 } else { 1 };
    let shares = match &repeat.modes.modes[..] {
        [_, slow] => slow.runs == slow_plain,
        _ => slow_plain == 0,
    };
    let named = factors::named(&repeat.factors).map(|factor| &*factor.name);
    [
        repeat.modes.modes.len() == expected,
        shares,
        named == cause.factor,
    ]
}

fn factors_of() -> Vec<Factor> {
    let factor = |name: &str, levels: &[&str], fixed: bool| Factor {
        name: name.into(),
        levels: levels.iter().map(|level| (*level).into()).collect(),
        with: fixed
            .then(|| ("layout".into(), "fixed".into()))
            .into_iter()
            .collect(),
        ..Factor::default()
    };
    vec![
        factor("layout", &[INHERITED, "fixed"], false),
        factor("environment", &SIZES, true),
        factor("arguments", &SIZES, true),
        factor("directory", &["0", "64", "256", "1024"], true),
        factor("cpu", &[INHERITED, "0", "1"], false),
        factor("neighbour", &["idle", "busy"], false),
        factor("store-bypass", &[INHERITED, "off"], false),
        factor("huge-pages", &[INHERITED, "off"], false),
        factor("priority", &[INHERITED, "nice"], false),
    ]
}

/// A run time with one mode, and the worth of its last digit.
type Shape = fn(&mut Random) -> (f64, f64);

const SHAPES: &[(&str, Shape)] = &[
    ("normal, 2 %", |random| (1.0 + 0.02 * random.normal(), 1e-9)),
    ("log-normal, 20 %", |random| {
        ((0.2 * random.normal()).exp(), 1e-9)
    }),
    ("skewed, tail of 10 %", |random| {
        (1.0 - 0.1 * (1.0 - random.unit()).ln(), 1e-9)
    }),
    ("heavy tail", |random| {
        (1.0 + 0.01 / (1.0 - random.unit()), 1e-9)
    }),
    ("uniform", |random| (1.0 + random.unit(), 1e-9)),
    ("2 %, rounded to 1 %", |random| {
        (
            ((1.0 + 0.02 * random.normal()) * 100.0).round() / 100.0,
            0.01,
        )
    }),
    ("the same, digits added", |random| {
        (
            ((1.0 + 0.02 * random.normal()) * 100.0).round() / 100.0,
            1e-6,
        )
    }),
];

fn second_modes(shape: Shape, repetitions: u64) -> [u32; 2] {
    let mut seen = [0; 2];
    for seed in 0..repetitions {
        let mut random = Random::new(seed);
        let (values, digits): (Vec<f64>, Vec<f64>) = (0..20).map(|_| shape(&mut random)).unzip();
        let modes = Modes::of(&values, digits[0]);
        seen[0] += u32::from(modes.modes.len() > 1);
        seen[1] += u32::from(modes.modes.len() > 1 || modes.possible.len() > 1);
    }
    seen
}
