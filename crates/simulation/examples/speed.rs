//! How fast simulated time passes: nanoseconds of real time per unit, of several scenarios in turn.
//!
//! `cargo run --release -p bandscope-simulation --example speed -- [SCENARIO ...]`

use bandscope_simulation::{Scenario, request, synthesise};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scenarios: Vec<String> = std::env::args().skip(1).collect();
    if scenarios.is_empty() {
        scenarios = ["quiet", "tick+flips+tasks", "noise", "reads"]
            .map(String::from)
            .into();
    }
    let request = request(&[10_000.0], &["ftq-o2"], 2.0);
    println!("{:24} {:>10} {:>10}", "scenario", "units", "ns a unit");
    for text in &scenarios {
        let scenario = Scenario::parse(text)?;
        // The median of five.
        let mut times = Vec::new();
        let mut units = 0;
        for _ in 0..5 {
            let start = Instant::now();
            let (recording, _) = synthesise(&scenario, &request)?;
            let seconds = start.elapsed().as_secs_f64();
            units = recording.quanta[0]
                .count
                .iter()
                .map(|c| u64::from(*c))
                .sum();
            times.push(seconds * 1e9 / units as f64);
        }
        times.sort_by(f64::total_cmp);
        println!("{text:24} {units:>10} {:>10.2}", times[2]);
    }
    Ok(())
}
