//! From a sketch of a machine to a series with its pyramid.

use bandscope_analysis::pyramid::{Bin, Density, Level, Pyramid, Spectrum};
use bandscope_report::{
    Availability, Basis, BestPace, Cause, Clock, Fraction, GapBin, Gaps, Ledger, LongGap, PaceLoss,
    PaceOrigin, Percentile, Series, Signal,
};
use bandscope_statistics::random::Random;

/// A gap of a sketch.
#[derive(Clone, Debug)]
pub struct SketchGap {
    pub at_s: f64,
    pub ns: f64,
    pub cause: Cause,
}

/// One series of a machine.
pub struct Sketch<'a> {
    pub cpu: Option<u32>,
    pub rate_hz: f64,
    pub kernel: &'a str,
    pub origin: &'a str,
    pub best_ns: f64,
    /// Length of the recording, and which of how many alternating 1 s segments are this series'.
    pub total_s: f64,
    pub turn: (u64, u64),
    pub gaps: Option<Vec<SketchGap>>,
    pub signals: Vec<Signal>,
    pub microarchitecture: bool,
}

const COLUMNS: usize = 1024;
const ROWS: usize = 256;

impl Sketch<'_> {
    fn has(&self, at_s: f64) -> bool {
        self.turn.1 == 1 || (at_s as u64) % self.turn.1 == self.turn.0
    }

    /// Draws the quanta at the paces that `pace` gives them, as (start in s, ns per unit).
    pub fn draw(&self, mut pace: impl FnMut(f64) -> f64) -> (Series, Pyramid) {
        let quantum_s = 1.0 / self.rate_hz;
        let quanta: Vec<(f64, f64)> = (0..(self.total_s * self.rate_hz).round() as u64)
            .map(|k| k as f64 * quantum_s)
            .filter(|&t| self.has(t))
            .map(|t| (t, pace(t)))
            .collect();
        let gaps: Vec<SketchGap> = self.gaps.clone().unwrap_or_default();
        let gaps: Vec<SketchGap> = gaps.into_iter().filter(|g| self.has(g.at_s)).collect();
        let mut series = self.series(&quanta, &gaps);
        series.signals = self.signals.clone();
        (series, self.pyramid(&quanta, &gaps))
    }

    fn series(&self, quanta: &[(f64, f64)], gaps: &[SketchGap]) -> Series {
        let wall = quanta.len() as f64 * 1e9 / self.rate_hz;
        let mut ledger = Ledger {
            wall_ns: wall.round() as u64,
            ..Ledger::default()
        };
        for gap in gaps {
            *ledger.gaps_ns.entry(gap.cause.clone()).or_default() += gap.ns.round() as u64;
        }
        let lost: u64 = ledger.gaps_ns.values().sum();
        let present_ns = (wall - lost as f64) / quanta.len().max(1) as f64;
        let pace_ns: f64 = quanta
            .iter()
            .map(|(_, pace)| present_ns * (1.0 - self.best_ns / pace))
            .sum();
        let mut pace_loss = PaceLoss::default();
        match self.microarchitecture {
            true => pace_loss.microarchitecture = pace_ns.max(0.0) as u64,
            false => pace_loss.unsplit = pace_ns.max(0.0) as u64,
        }
        ledger.pace_ns = pace_loss;
        ledger.measurement_ns = ledger.wall_ns / 4000;
        let unexplained = ledger.wall_ns / 9000;
        ledger.unexplained_ns = unexplained as i64;
        ledger.basis = if self.gaps.is_some() {
            Basis::Measured
        } else {
            Basis::Inferred
        };
        let losses = lost + pace_ns.max(0.0) as u64 + ledger.measurement_ns + unexplained;
        ledger.work_ns = ledger.wall_ns - losses;
        let work = ledger.work_ns as f64 / wall.max(1.0);
        Series {
            cpu: self.cpu,
            rate_hz: self.rate_hz,
            kernel: self.kernel.into(),
            origin: self.origin.into(),
            quanta: quanta.len() as u64,
            segments: if self.turn.1 == 1 {
                1
            } else {
                (self.total_s as u64).div_ceil(self.turn.1)
            },
            duration_s: wall / 1e9,
            units: (ledger.work_ns as f64 / self.best_ns) as u64,
            gaps_known: self.gaps.is_some(),
            clock: Clock {
                ticks_per_ns: 2.3,
                error_ppm: Some(0.4),
                drift_ppm: Some(0.02),
            },
            fraction: Some(Fraction {
                of_max: work * 0.996,
                of_p999: work * 0.998,
                of_main_band: work * 1.004,
            }),
            availability: [1e-3, 1e-2, 1e-1, 1.0]
                .iter()
                .zip([0.41, 0.83, 0.961, 0.978])
                .filter(|(window, _)| **window <= wall / 1e9)
                .map(|(&window_s, worst)| Availability {
                    window_s,
                    worst: worst * work,
                    at_s: 3.21,
                    lasted_s: window_s,
                })
                .collect(),
            best_pace: Some(BestPace {
                ns_per_unit: self.best_ns,
                origin: PaceOrigin::SelfTest,
                undisturbed: true,
                ..BestPace::default()
            }),
            gaps: self.gaps.as_ref().map(|_| gap_statistics(gaps, wall)),
            ledger,
            ..Series::default()
        }
    }

    fn pyramid(&self, quanta: &[(f64, f64)], gaps: &[SketchGap]) -> Pyramid {
        let pace_ns = (self.best_ns * 0.8, self.best_ns * 12.0);
        let mut density = Density {
            columns: COLUMNS,
            rows: ROWS,
            pace_ns,
            counts: vec![0; COLUMNS * ROWS],
            outside: 0,
        };
        let mut histogram = vec![0; ROWS];
        let mut bins = vec![
            Bin {
                pace_min: f64::INFINITY,
                count_min: u32::MAX,
                ..Bin::default()
            };
            COLUMNS
        ];
        for &(t, pace) in quanta {
            let column = ((t / self.total_s * COLUMNS as f64) as usize).min(COLUMNS - 1);
            let row = (pace / pace_ns.0).ln() / (pace_ns.1 / pace_ns.0).ln() * ROWS as f64;
            if (0.0..ROWS as f64).contains(&row) {
                density.counts[column * ROWS + row as usize] += 1;
                histogram[row as usize] += 1;
            } else {
                density.outside += 1;
            }
            let bin = &mut bins[column];
            bin.quanta += 1;
            bin.pace_min = bin.pace_min.min(pace);
            bin.pace_max = bin.pace_max.max(pace);
            bin.pace_sum += pace;
        }
        let mut longest = gaps.to_vec();
        longest.sort_by(|a, b| b.ns.total_cmp(&a.ns));
        longest.truncate(64);
        longest.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        let mark = |gap: SketchGap| LongGap {
            at_s: gap.at_s,
            ns: gap.ns,
            cause: gap.cause.clone(),
        };
        Pyramid {
            time_s: (0.0, self.total_s),
            levels: vec![Level { bins }],
            density,
            pace_histogram: histogram,
            gaps: longest.into_iter().map(mark).collect(),
            edges: Vec::new(),
            spectrum: self.spectrum(quanta.len()),
        }
    }

    /// A flat floor with exponential scatter, and a comb for each signal.
    fn spectrum(&self, quanta: usize) -> Spectrum {
        if quanta < 4096 {
            return Spectrum::default();
        }
        let step_hz = self.rate_hz / 8192.0;
        let mut random = Random::new(7);
        let mut power: Vec<f64> = (0..4097)
            .map(|k| 20.0 * (1.0 + 30.0 / (1.0 + k as f64)) * (0.4 - random.unit().ln() * 0.3))
            .collect();
        for signal in &self.signals {
            for harmonic in 1..=u64::from(signal.harmonics) {
                let at = (signal.frequency_hz * harmonic as f64 / step_hz).round() as usize;
                if let Some(value) = power.get_mut(at) {
                    *value += signal.ns_per_event.powi(2) / 200.0 / harmonic as f64;
                }
            }
        }
        Spectrum {
            step_hz,
            power,
            windows: (quanta / 4096) as u64,
        }
    }
}

fn gap_statistics(gaps: &[SketchGap], wall_ns: f64) -> Gaps {
    let mut sorted = gaps.to_vec();
    sorted.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    let at = |percent: f64| {
        sorted.get(
            ((percent / 100.0 * sorted.len() as f64) as usize).min(sorted.len().saturating_sub(1)),
        )
    };
    let percentiles = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0];
    let mut histogram: Vec<GapBin> = Vec::new();
    for gap in &sorted {
        let from_ns = 2f64.powf(gap.ns.log2().floor());
        match histogram.last_mut() {
            Some(bin) if bin.from_ns == from_ns => {
                bin.number += 1;
                bin.total_ns += gap.ns;
            }
            _ => histogram.push(GapBin {
                from_ns,
                number: 1,
                total_ns: gap.ns,
            }),
        }
    }
    let long = |gap: &SketchGap| LongGap {
        at_s: gap.at_s,
        ns: gap.ns,
        cause: gap.cause.clone(),
    };
    Gaps {
        number: sorted.len() as u64,
        detailed: sorted.len() as u64,
        per_second: sorted.len() as f64 / wall_ns * 1e9,
        threshold_ns: 500.0,
        lost_ns: sorted.iter().map(|gap| gap.ns.round() as u64).sum(),
        preempted: Some(
            sorted
                .iter()
                .filter(|gap| matches!(gap.cause, Cause::Task(_)))
                .count() as u64,
        ),
        percentiles: percentiles
            .iter()
            .filter_map(|&percent| {
                Some(Percentile {
                    percent,
                    ns: at(percent)?.ns,
                })
            })
            .collect(),
        longest: sorted.iter().rev().take(16).map(long).collect(),
        senders: bandscope_report::SenderTime::default(),
        other_tasks: 0,
        causes: Vec::new(),
        chains: Vec::new(),
        histogram,
    }
}
