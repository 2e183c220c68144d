//! bandscope's own cost on this machine.
//!
//!     cargo run --release -p bandscope-probe --example own_cost [-- REPETITIONS]
//!
//! First table: the excess of each quantum's first unit, which holds the store, and of its last, which
//! ends with an ordered read, over the pace around it, as a share of the quantum; medians over
//! repetitions in alternation, with their range. Second: plain against ordered reads. Third: time spent
//! handling gaps while another thread on the same CPU wakes so many times a second, by the recording's
//! own account; other tasks of the machine add gaps of theirs.

use bandscope_probe::clock::{self, Ordered, Plain};
use bandscope_probe::kernels::kernel_for_rate;
use bandscope_probe::kernels::{self, NativeKernel, Visitor};
use bandscope_probe::{ThisMachine, boundary, default_kernel, pin, preparation, self_test};
use bandscope_sampler::machine::{Choice, Length, Watch};
use bandscope_sampler::{Clock, Machine, Request};
use std::sync::atomic::AtomicBool;

const RATES_HZ: [f64; 3] = [10_000.0, 100_000.0, 1_000_000.0];
const GAPS_PER_S: [u32; 3] = [0, 300, 4_000];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let repetitions: usize = match std::env::args().nth(1) {
        Some(argument) => argument.parse()?,
        None => 7,
    };
    let allowed = pin::allowed()?;
    let cpu = *allowed.last().ok_or("no CPU")?;
    let ticks_per_ns = preparation::rough_ticks_per_ns();
    println!(
        "CPU {cpu}, {ticks_per_ns:.3} ticks per ns, {repetitions} repetitions: median (lowest to highest)\n"
    );
    std::thread::spawn(move || {
        pin::pin(&[cpu]).expect("an allowed CPU");
        boundaries(repetitions, ticks_per_ns);
        reads(repetitions, ticks_per_ns);
    })
    .join()
    .map_err(|_| "the measuring thread panicked")?;
    gaps(cpu, repetitions)
}

/// Median and range of some values.
struct Spread(Vec<f64>);

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut values = self.0.clone();
        values.sort_by(f64::total_cmp);
        match values.as_slice() {
            [] => write!(f, "nothing measured"),
            [low, .., high] => {
                write!(f, "{:.4} ({low:.4} to {high:.4})", values[values.len() / 2])
            }
            [one] => write!(f, "{one:.4}"),
        }
    }
}

struct Boundary<C> {
    clock: C,
    quantum_ticks: f64,
    ticks_per_ns: f64,
}

impl<C: Clock> Visitor for Boundary<C> {
    type Output = Option<boundary::Costs>;
    fn visit<K: NativeKernel>(self) -> Self::Output {
        let threshold = K::INFO.gap_threshold(300.0, self.ticks_per_ns);
        // About 50 ms of quanta; 20,000 at most.
        let quanta = (50e6 * self.ticks_per_ns / self.quantum_ticks).clamp(400.0, 20_000.0) as u64;
        boundary::costs::<C, K>(self.clock, self.quantum_ticks, quanta, threshold)
    }
}

fn boundaries(repetitions: usize, ticks_per_ns: f64) {
    println!(
        "| rate | work kernel | reads | first unit, ticks | of the quantum, % | last unit, ticks \
         | both, ticks | of the quantum, % |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut rows: Vec<(f64, &str, Vec<boundary::Costs>)> = Vec::new();
    for rate in RATES_HZ {
        rows.push((rate, "plain", Vec::new()));
        rows.push((rate, "ordered", Vec::new()));
    }
    for _ in 0..repetitions {
        for (rate, reads, costs) in &mut rows {
            let quantum_ticks = ticks_per_ns * 1e9 / *rate;
            let kernel = kernel_for_rate(*rate);
            let found = if *reads == "plain" {
                kernels::dispatch(
                    kernel,
                    Boundary {
                        clock: Plain,
                        quantum_ticks,
                        ticks_per_ns,
                    },
                )
            } else {
                kernels::dispatch(
                    kernel,
                    Boundary {
                        clock: Ordered,
                        quantum_ticks,
                        ticks_per_ns,
                    },
                )
            };
            costs.extend(found.flatten());
        }
    }
    for (rate, reads, costs) in rows {
        let quantum_ticks = ticks_per_ns * 1e9 / rate;
        let of = |value: fn(&boundary::Costs) -> f64, factor: f64| {
            Spread(costs.iter().map(|cost| value(cost) * factor).collect())
        };
        println!(
            "| {rate} | {} | {reads} | {} | {} | {} | {} | {} |",
            kernel_for_rate(rate),
            of(|cost| cost.first, 1.0),
            of(|cost| cost.first, 100.0 / quantum_ticks),
            of(|cost| cost.last, 1.0),
            of(boundary::Costs::both, 1.0),
            of(boundary::Costs::both, 100.0 / quantum_ticks),
        );
    }
}

struct Pace<C> {
    clock: C,
    ticks_per_ns: f64,
}

impl<C: Clock> Visitor for Pace<C> {
    type Output = Vec<f64>;
    fn visit<K: NativeKernel>(mut self) -> Vec<f64> {
        let threshold = K::INFO.gap_threshold(300.0, self.ticks_per_ns);
        self_test::paces::<C, K>(
            &mut self.clock,
            500,
            100_000.0 * self.ticks_per_ns,
            threshold,
        )
    }
}

/// Median and coefficient of variation of the pace with plain and with ordered reads.
fn reads(repetitions: usize, ticks_per_ns: f64) {
    let costs = clock::read_costs();
    println!("\nOne read alone: {costs:?} ticks. Pace on quanta of 100 us without a gap:\n");
    println!("| work kernel | reads | ticks per unit | variation, % |");
    println!("|---|---|---|---|");
    let names = [default_kernel(), kernel_for_rate(1e6)];
    let mut rows: Vec<(&str, &str, Vec<f64>, Vec<f64>)> = names
        .iter()
        .flat_map(|name| {
            [
                (*name, "plain", vec![], vec![]),
                (*name, "ordered", vec![], vec![]),
            ]
        })
        .collect();
    for _ in 0..repetitions {
        for (name, reads, medians, variations) in &mut rows {
            let paces = if *reads == "plain" {
                kernels::dispatch(
                    name,
                    Pace {
                        clock: Plain,
                        ticks_per_ns,
                    },
                )
            } else {
                kernels::dispatch(
                    name,
                    Pace {
                        clock: Ordered,
                        ticks_per_ns,
                    },
                )
            };
            if let Some((median, variation)) = paces.and_then(median_and_variation) {
                medians.push(median);
                variations.push(100.0 * variation);
            }
        }
    }
    for (name, reads, medians, variations) in rows {
        println!(
            "| {name} | {reads} | {} | {} |",
            Spread(medians),
            Spread(variations)
        );
    }
}

fn median_and_variation(mut values: Vec<f64>) -> Option<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let median = *values.get(values.len() / 2)?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>();
    Some((median, (square / values.len() as f64).sqrt() / mean))
}

/// Time spent handling gaps, as the recording itself says, while another thread wakes on the same CPU.
fn gaps(cpu: u32, repetitions: usize) -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "\n| rate | wake-ups asked for, 1/s | gaps, 1/s | handling one, ns | handling, % of the run |"
    );
    println!("|---|---|---|---|---|");
    let mut rows: Vec<(f64, u32, [Vec<f64>; 3])> = Vec::new();
    for rate in RATES_HZ {
        for gaps in GAPS_PER_S {
            rows.push((rate, gaps, Default::default()));
        }
    }
    let mut counters = Vec::new();
    for _ in 0..repetitions {
        for (rate, wakes, columns) in &mut rows {
            let handled = handling(cpu, *rate, *wakes, &mut counters)?;
            for (column, value) in columns.iter_mut().zip(handled) {
                column.push(value);
            }
        }
    }
    for (rate, wakes, [number, each, share]) in rows {
        println!(
            "| {rate} | {wakes} | {} | {} | {} |",
            Spread(number),
            Spread(each),
            Spread(share)
        );
    }
    println!("\nCounters read at each gap: {}", counters.join(", "));
    Ok(())
}

/// Gaps a second, ns to handle one, and the share of the run in percent.
fn handling(
    cpu: u32,
    rate_hz: f64,
    wakes_per_s: u32,
    counters: &mut Vec<String>,
) -> Result<[f64; 3], Box<dyn std::error::Error>> {
    let request = Request {
        cpus: vec![cpu],
        rates_hz: vec![rate_hz],
        kernels: vec![kernel_for_rate(rate_hz).to_owned()],
        length: Length::Duration(0.5),
        start_delay_s: 0.05,
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
        self_test: false,
    };
    let mut machine = ThisMachine::new();
    let mut manifest = machine.prepare(&request)?;
    *counters = manifest
        .counters
        .iter()
        .map(|counter| counter.name.clone())
        .collect();
    let (mut gaps, mut ticks, mut wall) = (0u64, 0u64, 0u64);
    let stop = AtomicBool::new(false);
    let disturbance = disturb::Disturbance::start(cpu, wakes_per_s)?;
    machine.run(&request, &mut manifest, &stop, &mut |batch| {
        gaps += batch.gaps.iter().filter(|gap| gap.duration > 0).count() as u64;
        ticks += batch.quanta.measurement_ticks.iter().sum::<u64>();
        wall += batch.quanta.end.last().unwrap_or(&0) - batch.quanta.start.first().unwrap_or(&0);
        Ok(())
    })?;
    drop(disturbance);
    let seconds = wall as f64 / manifest.clock.ticks_per_ns / 1e9;
    Ok([
        gaps as f64 / seconds,
        ticks as f64 / manifest.clock.ticks_per_ns / gaps.max(1) as f64,
        100.0 * ticks as f64 / wall as f64,
    ])
}

mod disturb {
    //! A thread on the measured CPU that wakes so many times a second, works for a moment and sleeps.

    use bandscope_probe::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::JoinHandle;
    use std::time::{Duration, Instant};

    /// Goes on until it is dropped.
    pub struct Disturbance {
        stop: Arc<AtomicBool>,
        thread: Option<JoinHandle<()>>,
    }

    impl Disturbance {
        /// Starts it; `per_second` 0 does nothing.
        pub fn start(cpu: u32, per_second: u32) -> std::io::Result<Disturbance> {
            let stop = Arc::new(AtomicBool::new(per_second == 0));
            let thread = std::thread::Builder::new().spawn({
                let stop = stop.clone();
                move || wake(cpu, per_second, &stop)
            })?;
            Ok(Disturbance {
                stop,
                thread: Some(thread),
            })
        }
    }

    fn wake(cpu: u32, per_second: u32, stop: &AtomicBool) {
        pin::pin(&[cpu]).expect("an allowed CPU");
        // SAFETY: changes how late this thread's own timers may be.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
        let start = Instant::now();
        let mut number = 0;
        while !stop.load(Ordering::Relaxed) {
            number += 1;
            let next = start + Duration::from_secs_f64(f64::from(number) / f64::from(per_second));
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
    }

    impl Drop for Disturbance {
        fn drop(&mut self) {
            self.stop.store(true, Ordering::Relaxed);
            if let Some(thread) = self.thread.take() {
                // It cannot have panicked but for a CPU that went away, which the run reports.
                let _ = thread.join();
            }
        }
    }
}
