//! The work kernels of this machine, in alternation: pace, its variation on quanta without a gap, and
//! its spread over 64 placements.
//!
//!     cargo run --release -p bandscope-probe --example kernels [-- REPETITIONS]

use bandscope_probe::clock::Plain;
use bandscope_probe::kernels::{self, NativeKernel, Visitor};
use bandscope_probe::{pin, preparation, self_test};

/// One repetition of one kernel.
struct Look {
    ticks_per_ns: f64,
}

struct Seen {
    best: Option<f64>,
    median: f64,
    variation: f64,
    placements: f64,
}

impl Visitor for Look {
    type Output = Option<Seen>;
    fn visit<K: NativeKernel>(self) -> Option<Seen> {
        // A first look gives the threshold; 10 times 300 ticks at most for all kernels that are here.
        let threshold = K::INFO.gap_threshold(300.0, self.ticks_per_ns);
        let best = self_test::best_pace::<Plain, K>(&mut Plain, threshold, self.ticks_per_ns);
        let threshold = K::INFO.gap_threshold(best.unwrap_or(300.0), self.ticks_per_ns);
        let mut paces = self_test::paces::<Plain, K>(
            &mut Plain,
            1_000,
            100_000.0 * self.ticks_per_ns,
            threshold,
        );
        paces.sort_by(f64::total_cmp);
        let median = *paces.get(paces.len() / 2)?;
        let mean = paces.iter().sum::<f64>() / paces.len() as f64;
        let square: f64 = paces.iter().map(|pace| (pace - mean).powi(2)).sum();
        Some(Seen {
            best,
            median,
            variation: (square / paces.len() as f64).sqrt() / mean,
            placements: self_test::placement_spread::<K>(
                median,
                self.ticks_per_ns,
                self_test::PLACEMENT_PATIENCE,
            )?,
        })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let repetitions: usize = match std::env::args().nth(1) {
        Some(argument) => argument.parse()?,
        None => 5,
    };
    let cpu = *pin::allowed()?.last().ok_or("no CPU")?;
    pin::pin(&[cpu])?;
    let ticks_per_ns = preparation::rough_ticks_per_ns();
    println!(
        "CPU {cpu}, {ticks_per_ns:.3} ticks per ns, {repetitions} repetitions: median (lowest to highest)\n"
    );
    println!("| work kernel | best, ticks | median, ticks | variation, % | placements, % |");
    println!("|---|---|---|---|---|");
    let names: Vec<&str> = kernels::kernels()
        .iter()
        .map(|info| info.name)
        .filter(|name| kernels::check(name).is_ok())
        .collect();
    let mut columns: Vec<[Vec<f64>; 4]> = names.iter().map(|_| Default::default()).collect();
    for _ in 0..repetitions {
        for (name, columns) in names.iter().zip(&mut columns) {
            if let Some(seen) = kernels::dispatch(name, Look { ticks_per_ns }).flatten() {
                columns[0].extend(seen.best);
                columns[1].push(seen.median);
                columns[2].push(100.0 * seen.variation);
                columns[3].push(100.0 * seen.placements);
            }
        }
    }
    for (name, columns) in names.iter().zip(columns) {
        let cells: Vec<String> = columns.into_iter().map(spread).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
    Ok(())
}

fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    match values.as_slice() {
        [] => "none".to_owned(),
        [low, .., high] => format!("{:.3} ({low:.3} to {high:.3})", values[values.len() / 2]),
        [one] => format!("{one:.3}"),
    }
}
