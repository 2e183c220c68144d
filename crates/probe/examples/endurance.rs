//! Memory and losses of a run, as it goes on.
//!
//!     cargo run --release -p bandscope-probe --example endurance [-- RATE_HZ SECONDS]

use bandscope_probe::{ThisMachine, default_kernel};
use bandscope_sampler::machine::{Choice, Length, Watch};
use bandscope_sampler::{Machine, Request};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rate_hz: f64 = arguments.next().unwrap_or("100000".into()).parse()?;
    let seconds: f64 = arguments.next().unwrap_or("10".into()).parse()?;
    let request = Request {
        cpus: Vec::new(),
        rates_hz: vec![rate_hz],
        kernels: vec![default_kernel().to_owned()],
        length: Length::Duration(seconds),
        start_delay_s: 0.2,
        segment_s: 1.0,
        ticks_per_ns: None,
        ordered_reads: false,
        buffered: false,
        counters: Choice::Auto,
        trace: Choice::Off,
        watch: Watch::default(),
        tracepoints: Vec::new(),
        store_bypass: Default::default(),
        priority: None,
        housekeeping: Vec::new(),
        self_test: true,
    };
    let mut machine = ThisMachine::new();
    let begun = Instant::now();
    let mut manifest = machine.prepare(&request)?;
    println!(
        "prepared in {:.2?}: CPUs {:?}",
        begun.elapsed(),
        manifest.settings.cpus
    );
    println!("{:#?}", manifest.kernels);
    let stop = AtomicBool::new(false);
    let (mut quanta, mut last) = (0, Instant::now());
    machine.run(&request, &mut manifest, &stop, &mut |batch| {
        quanta += batch.quanta.len();
        if last.elapsed() > Duration::from_secs(1) {
            last = Instant::now();
            println!("{quanta} quanta, {}", resident());
        }
        Ok(())
    })?;
    println!("{quanta} quanta, {}", resident());
    println!(
        "lost {:?}, incidents {:?}",
        manifest.lost, manifest.incidents
    );
    println!("missing {:#?}", manifest.missing);
    println!(
        "clock {} ticks per ns, within {:?} ppm, {} readings; tick {:?} Hz; busy {:?}",
        manifest.clock.ticks_per_ns,
        manifest.clock.error_ppm,
        manifest.clock.readings.len(),
        manifest.machine.tick_hz,
        manifest.machine.other_tasks,
    );
    Ok(())
}

/// Resident memory as the kernel counts it.
fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    line.unwrap_or("resident memory unknown").to_owned()
}
