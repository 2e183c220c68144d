//! How often findings about several CPUs are right, over simulated machines of known truth:
//! `cargo run -p bandscope-analysis --example cpus -- [SEEDS]` (default 25).
//!
//! Prints, for each machine, in how many recordings each of the two kinds was found, and how many were to have it.

use bandscope_analysis::analyse;
use bandscope_report::Kind;
use bandscope_sampler::Request;
use bandscope_simulation::{Scenario, request, synthesise};
use std::error::Error;

/// Scenario, CPUs, seconds, and which of the two kinds it has.
const MACHINES: &[(&str, u32, f64, bool, bool)] = &[
    (
        "tick:hz=400,cost=10us,poisson=1+tasks:hz=50,mean=300us",
        4,
        4.0,
        false,
        false,
    ),
    (
        "tick:hz=1000,cost=4us,jitter=1+tasks:hz=5,mean=5ms",
        4,
        4.0,
        false,
        false,
    ),
    (
        "tick:hz=250,cost=4us,skew=1ms+tasks:hz=100,mean=100us",
        4,
        4.0,
        false,
        false,
    ),
    ("tick:hz=250,cost=3us,skew=40us", 8, 2.0, false, false),
    (
        "states:ratio=1.25,dwell=20ms+tick:hz=250,skew=700us",
        4,
        4.0,
        false,
        false,
    ),
    ("frequency:dwell=10ms", 4, 4.0, false, false),
    (
        "host-steal:hz=20,cost=200us,skew=2us+tick:hz=250,skew=500us",
        4,
        4.0,
        true,
        false,
    ),
    (
        "host-steal:hz=5,cost=50us,skew=20us+tasks:hz=50,mean=100us",
        4,
        4.0,
        true,
        false,
    ),
    (
        "host-steal:hz=3,cost=20us,skew=2us+tick:hz=400,cost=5us,poisson=1",
        2,
        4.0,
        true,
        false,
    ),
    ("tick:hz=250,cost=3us", 4, 4.0, true, false),
    (
        "core-coupling:lag=50us+tick:hz=250,skew=900us",
        4,
        4.0,
        false,
        true,
    ),
    ("core-coupling:lag=1ms,dwell=100ms", 2, 4.0, false, true),
    (
        "core-coupling:away=1,dwell=30ms,lag=100us+tick:hz=250,skew=900us",
        2,
        4.0,
        false,
        true,
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    let seeds: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(25), |seeds| seeds.parse())?;
    println!("synchronous-gaps  core-coupling  of  machine");
    for &(scenario, cpus, seconds, synchronous, coupled) in MACHINES {
        let mut found = [0u64; 2];
        for seed in 1..=seeds {
            let request = Request {
                cpus: (0..cpus).collect(),
                ..request(&[1e4], &["mulss80"], seconds)
            };
            let scenario = Scenario::parse(scenario)?.with_seed(seed);
            let (recording, _) = synthesise(&scenario, &request)?;
            let report = analyse(&recording, &[])?.report;
            let has = |kind| report.findings.iter().any(|finding| finding.kind == kind);
            found[0] += u64::from(has(Kind::SynchronousGaps));
            found[1] += u64::from(has(Kind::CoreCoupling));
        }
        let word = |expected: bool| if expected { "all" } else { "none" };
        println!(
            "{:6} ({:4})     {:6} ({:4})  {seeds:3}  {cpus} CPUs, {seconds} s: {scenario}",
            found[0],
            word(synchronous),
            found[1],
            word(coupled)
        );
    }
    Ok(())
}
