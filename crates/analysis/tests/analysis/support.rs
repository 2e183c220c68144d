//! Recordings made by small generators, and a reader of `.dat` files of ten lines.
#![allow(dead_code, reason = "each test file uses its own part")]

use bandscope_analysis::{Analysis, analyse, detail};
use bandscope_recording::manifest::{Clock, Kernel, State};
use bandscope_recording::source::InMemory;
use bandscope_recording::{Gap, Manifest, Quanta, Quantum, Series};
use bandscope_report::Cause;
pub use bandscope_statistics::random::Random;

/// A clock of 2.3 ticks per nanosecond, calibrated.
pub fn manifest() -> Manifest {
    Manifest {
        state: State::Complete,
        clock: Clock {
            name: "simulated".into(),
            ticks_per_ns: 2.3,
            error_ppm: Some(0.1),
            origin: bandscope_recording::manifest::ClockOrigin::Simulated,
            ..Clock::default()
        },
        kernels: vec![Kernel {
            name: "chain".into(),
            gap_threshold_ticks: 2000,
            ..Kernel::default()
        }],
        ..Manifest::default()
    }
}

pub fn series(rate_hz: f64) -> Series {
    Series {
        cpu: Some(1),
        rate_hz,
        kernel: "chain".into(),
        gaps_known: true,
        ends_known: true,
        origin: "generated".into(),
    }
}

/// A simulated loop: units of `unit(start)` ticks, gaps of given start and length, quanta on the grid.
pub struct Loop {
    pub rate_hz: f64,
    pub quanta: usize,
    pub segments: u32,
    /// Ticks between two segments.
    pub pause: u64,
}

impl Loop {
    pub fn new(rate_hz: f64, quanta: usize) -> Loop {
        Loop {
            rate_hz,
            quanta,
            segments: 1,
            pause: 0,
        }
    }

    /// Runs it. `unit` gives the length of a unit from its start; `gap` the length of an interruption that
    /// starts within a unit, given the start of the unit and its end.
    pub fn run(
        &self,
        mut unit: impl FnMut(f64, u64) -> f64,
        mut gap: impl FnMut(f64, f64) -> f64,
    ) -> InMemory {
        let quantum = 2.3e9 / self.rate_hz;
        let (mut quanta, mut gaps) = (Quanta::default(), Vec::new());
        let mut now = 0.0f64;
        let mut number = 0;
        for segment in 0..self.segments {
            let origin = now;
            let mut start = now.round() as u64;
            for k in 1..=self.quanta {
                let deadline = origin + quantum * k as f64;
                let mut row = Quantum {
                    start,
                    segment,
                    cpu: 1,
                    ..Quantum::default()
                };
                while now < deadline {
                    let length = unit(now, number);
                    let away = gap(now, now + length);
                    if away > 0.0 {
                        let (from, to) = (now.round() as u64, (now + length + away).round() as u64);
                        gaps.push(Gap {
                            start: from,
                            duration: to - from,
                            segment,
                            preempted: Some(false),
                            ..Gap::default()
                        });
                        row.gaps += 1;
                        row.gap_ticks += to - from;
                    }
                    now += length + away;
                    row.count += 1;
                }
                row.end = now.round() as u64;
                start = row.end;
                number += 1;
                quanta.push(row);
            }
            now = (now.round() as u64 + self.pause) as f64;
        }
        InMemory {
            manifest: manifest(),
            series: vec![series(self.rate_hz)],
            quanta: vec![quanta],
            gaps: vec![gaps],
            ..InMemory::default()
        }
    }
}

/// No interruption.
pub fn none(_: f64, _: f64) -> f64 {
    0.0
}

/// An interruption of `ns` nanoseconds `hz` times a second.
pub fn tick(hz: f64, ns: f64) -> impl FnMut(f64, f64) -> f64 {
    let period = 2.3e9 / hz;
    let mut next = 0.0;
    move |from, to| {
        // Asked for each of millions of units, in order of time: nothing is divided while nothing can have come.
        if to < next {
            return 0.0;
        }
        let passed = (to / period).floor();
        next = (passed + 1.0) * period * (1.0 - 1e-12);
        if passed > (from / period).floor() {
            ns * 2.3
        } else {
            0.0
        }
    }
}

/// Gaps that the picture and the page draw as stopped, and as preempted.
pub fn stops_drawn(source: &InMemory, analysis: &Analysis) -> [[usize; 2]; 2] {
    let details = detail::collect(source, analysis, usize::MAX).unwrap();
    let picture = analysis.pyramids[0].gaps.iter().map(|gap| &gap.cause);
    let page = (details[0].marks.iter()).map(|mark| &details[0].causes[mark.cause as usize]);
    [picture.collect::<Vec<_>>(), page.collect()].map(|causes| {
        let count = |wanted: Cause| causes.iter().filter(|cause| ***cause == wanted).count();
        [Cause::Stopped, Cause::Preempted].map(count)
    })
}

/// The recording as a file of counts and starts.
pub fn as_counts(mut source: InMemory) -> InMemory {
    source.manifest = Manifest {
        clock: Clock::imported(),
        state: State::Complete,
        ..Manifest::default()
    };
    source.gaps.clear();
    for (series, quanta) in source.series.iter_mut().zip(&mut source.quanta) {
        series.cpu = None;
        series.gaps_known = false;
        series.ends_known = false;
        for k in 0..quanta.len() {
            quanta.start[k] = (quanta.start[k] as f64 / 2.3).round() as u64;
            quanta.end[k] = (quanta.end[k] as f64 / 2.3).round() as u64;
            quanta.gaps[k] = 0;
            quanta.gap_ticks[k] = 0;
        }
    }
    source
}

/// A published file: starts in nanoseconds and counts; the last quantum ends when it should.
pub fn published(name: &str) -> InMemory {
    let path = format!("{}/tests/cases/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let rows: Vec<Vec<u64>> = rows
        .map(|row| {
            row.split_whitespace()
                .map(|word| word.parse().unwrap())
                .collect()
        })
        .collect();
    let counts: Vec<u32> = rows.iter().map(|row| row[1] as u32).collect();
    let starts: Vec<u64> = rows.iter().map(|row| row[0]).collect();
    let mut source = counts_only(&counts, &starts);
    source.series[0].origin = name.into();
    source
}

/// A file of counts with these starts.
pub fn counts_only(counts: &[u32], starts: &[u64]) -> InMemory {
    let mut quanta = Quanta::default();
    for (k, &count) in counts.iter().enumerate() {
        let end = starts.get(k + 1).copied().unwrap_or(starts[k] + 100_000);
        quanta.push(Quantum {
            start: starts[k],
            end,
            count,
            ..Quantum::default()
        });
    }
    InMemory {
        manifest: Manifest {
            clock: Clock::imported(),
            ..Manifest::default()
        },
        series: vec![Series {
            cpu: None,
            gaps_known: false,
            ends_known: false,
            kernel: "unknown".into(),
            ..series(10_000.0)
        }],
        quanta: vec![quanta],
        gaps: Vec::new(),
        ..InMemory::default()
    }
}

pub fn analysis(source: &InMemory) -> Analysis {
    let analysis = analyse(source, &["generated".into()]).unwrap();
    for series in &analysis.report.series {
        assert_closes(series);
    }
    analysis
}

/// The ledger adds up to its wall time.
pub fn assert_closes(series: &bandscope_report::Series) {
    let ledger = &series.ledger;
    let pace = ledger.pace_ns;
    let lines = i128::from(ledger.work_ns)
        + i128::from(pace.frequency + pace.microarchitecture + pace.unsplit)
        + ledger
            .gaps_ns
            .values()
            .map(|&ns| i128::from(ns))
            .sum::<i128>()
        + i128::from(ledger.measurement_ns)
        + i128::from(ledger.unexplained_ns);
    assert_eq!(lines, i128::from(ledger.wall_ns), "{ledger:?}");
    // Beyond 2^53 the floats round.
    let rounding = (ledger.wall_ns >> 50) as i64;
    assert!(ledger.unexplained_ns >= -rounding, "{ledger:?}");
}

/// Whether `value` is within `tolerance` (a ratio) of `expected`.
#[track_caller]
pub fn assert_near(value: f64, expected: f64, tolerance: f64) {
    let error = (value / expected - 1.0).abs();
    assert!(
        error <= tolerance,
        "found {value}, expected {expected} within {tolerance}"
    );
}
