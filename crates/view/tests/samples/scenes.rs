//! The scenes: a quiet machine, a noisy one, one of two paces, an imported file, and nothing.

use super::sketch::{Sketch, SketchGap};
use bandscope_analysis::{Analysis, Pyramid};
use bandscope_recording::Manifest;
use bandscope_recording::manifest::{ClockOrigin, Counter, Kernel, Machine, Missing, State};
use bandscope_report::evidence::{BistablePace, PeriodicInterference};
use bandscope_report::remedies;
use bandscope_report::{
    Band, Cause, Certainty, Evidence, Finding, Kind, Nature, Origin, PaceOrigin, Report, SCHEMA,
    SeenIn, Signal, Warning, WarningKind,
};
use bandscope_statistics::random::Random;
use std::collections::BTreeMap;

fn manifest() -> Manifest {
    Manifest {
        schema: bandscope_recording::manifest::SCHEMA.into(),
        tool: "bandscope 0.1.0".into(),
        started: "2026-11-21T20:15:07Z".into(),
        state: State::Complete,
        clock: bandscope_recording::manifest::Clock {
            name: "tsc".into(),
            ticks_per_ns: 2.300_012,
            error_ppm: Some(0.4),
            origin: ClockOrigin::Calibrated,
            invariant: Some(true),
            read_ticks: BTreeMap::from([("plain".into(), 22.0), ("ordered".into(), 37.6)]),
            ..Default::default()
        },
        kernels: vec![Kernel {
            name: "mulss80".into(),
            best_ticks_per_unit: Some(245.6),
            placement_spread: Some(0.0007),
            invariant: Some(true),
            boundary_ticks: Some(12.0),
            ..Kernel::default()
        }],
        counters: vec![Counter {
            name: "context-switches".into(),
            method: "read".into(),
            read_ticks: 900.0,
        }],
        machine: Machine {
            cpu_model: Some("Intel(R) Xeon(R) Processor @ 2.30GHz".into()),
            microarchitecture: Some("Golden Cove".into()),
            kernel: Some("Linux 6.18.0".into()),
            hypervisor: Some("KVM".into()),
            tick_hz: Some(250.0),
            ..Machine::default()
        },
        missing: vec![Missing {
            what: "hardware counters".into(),
            why: "no hardware PMU".into(),
            leaves_undecided: "frequency against microarchitecture".into(),
        }],
        ..Manifest::default()
    }
}

fn band(ns_per_unit: f64, share: f64, median_dwell_s: f64, rate_hz: f64) -> Band {
    Band {
        ns_per_unit,
        half_width: 0.0021,
        count: 1e9 / rate_hz / ns_per_unit,
        share,
        stays: ((share * 10.0 / median_dwell_s) as u64).max(1),
        median_dwell_s,
        nature: Nature::Pace,
    }
}

fn tick_signal(ns_per_event: f64) -> Signal {
    Signal {
        frequency_hz: 250.0004,
        uncertainty_hz: 0.0021,
        origin: Origin::External,
        ns_per_event,
        p_value: 1e-40,
        harmonics: 12,
        occupied: Some(1.0),
        seen_in: SeenIn::Gaps,
        cause: None,
        cause_by: None,
    }
}

fn ticks(random: &mut Random, total_s: f64, hz: f64, ns: f64) -> Vec<SketchGap> {
    (0..(total_s * hz) as u64)
        .map(|k| SketchGap {
            at_s: (k as f64 + 0.31) / hz,
            ns: ns * (1.0 + 0.25 * random.unit() + if random.unit() > 0.97 { 1.5 } else { 0.0 }),
            cause: Cause::Tick,
        })
        .collect()
}

fn analysis(
    input: &str,
    verdict: &str,
    drawn: Vec<(bandscope_report::Series, Pyramid)>,
) -> Analysis {
    let (series, pyramids) = drawn.into_iter().unzip();
    let report = Report {
        schema: SCHEMA,
        inputs: vec![input.into()],
        verdict: verdict.into(),
        series,
        ..Report::default()
    };
    Analysis {
        report,
        pyramids,
        origin: 0,
        details: Vec::new(),
    }
}

/// One rate, one band, a short tick.
pub fn quiet() -> Analysis {
    let mut random = Random::new(11);
    let gaps = ticks(&mut random, 10.0, 250.0, 2_100.0);
    let sketch = Sketch {
        cpu: Some(1),
        rate_hz: 10_000.0,
        kernel: "mulss80",
        origin: "quiet.bandscope",
        best_ns: 106.8,
        total_s: 10.0,
        turn: (0, 1),
        gaps: Some(gaps),
        signals: vec![tick_signal(2_200.0)],
        microarchitecture: false,
    };
    let (mut series, pyramid) = sketch.draw(|_| 106.8 * (1.0 + 0.0006 * random.normal().abs()));
    series.bands = vec![band(106.85, 0.9996, 9.99, 10_000.0)];
    let mut analysis = analysis(
        "quiet.bandscope",
        "CPU 1 gave this program 99.87 % of its time; the 250 Hz tick took most of the rest, 2.2 µs each.",
        vec![(series, pyramid)],
    );
    analysis.report.recording = Some(manifest());
    analysis
}

/// Two rates in alternating segments, a 250 Hz tick, a disk interrupt, other tasks and a hypervisor.
pub fn noisy() -> Analysis {
    let mut random = Random::new(5);
    let mut gaps = ticks(&mut random, 10.0, 250.0, 9_400.0);
    for _ in 0..1_500 {
        gaps.push(SketchGap {
            at_s: 10.0 * random.unit(),
            ns: 3_300.0 * (1.0 - random.unit().ln()),
            cause: Cause::Interrupt("virtio0-input.0".into()),
        });
    }
    for _ in 0..60 {
        gaps.push(SketchGap {
            at_s: 10.0 * random.unit(),
            ns: 80_000.0 * (0.2 - random.unit().ln()),
            cause: Cause::Task("kworker/1:2-events".into()),
        });
    }
    for _ in 0..25 {
        gaps.push(SketchGap {
            at_s: 10.0 * random.unit(),
            ns: 600_000.0 * (0.1 - random.unit().ln()),
            cause: Cause::Host,
        });
    }
    gaps.push(SketchGap {
        at_s: 6.412,
        ns: 11_830_000.0,
        cause: Cause::Task("cargo".into()),
    });
    for _ in 0..500 {
        gaps.push(SketchGap {
            at_s: 10.0 * random.unit(),
            ns: 1_100.0,
            cause: Cause::Unnamed,
        });
    }
    let mut drawn = Vec::new();
    for (turn, rate_hz) in [10_000.0, 7_777.0].into_iter().enumerate() {
        let sketch = Sketch {
            cpu: Some(1),
            rate_hz,
            kernel: "mulss80",
            origin: "noisy.bandscope",
            best_ns: 106.8,
            total_s: 10.0,
            turn: (turn as u64, 2),
            gaps: Some(gaps.clone()),
            signals: vec![tick_signal(11_000.0)],
            microarchitecture: false,
        };
        let (mut series, pyramid) = sketch.draw(|t| {
            let step = if (t * 0.7).sin() > 0.55 { 1.118 } else { 1.0 };
            let rare = if random.unit() > 0.9995 {
                1.0 + 3.0 * random.unit()
            } else {
                1.0
            };
            106.8 * step * rare * (1.0 + 0.004 * random.normal().abs())
        });
        series.bands = vec![
            band(107.1, 0.687, 1.31, rate_hz),
            band(119.7, 0.308, 0.84, rate_hz),
        ];
        drawn.push((series, pyramid));
    }
    let mut analysis = analysis(
        "noisy.bandscope",
        "CPU 1 gave this program about 95 % of its time; 3 % went to a slower pace that comes and goes, and 1.5 % to gaps, most of them the hypervisor's and the 250 Hz tick's.",
        drawn,
    );
    analysis.report.findings = vec![
        Finding {
            kind: Kind::BistablePace, series: vec![0, 1], certainty: Certainty::Possible,
            summary: "Two paces 11.8 % apart, 107.1 and 119.7 ns per unit, for about a second each; the lower one costs 3.3 % of the time.".into(),
            evidence: paces(&[107.1, 119.7]),
            next_step: Some("bandscope record --kernel mulss80,imul20 --duration 60s".into()),
        },
        Finding {
            kind: Kind::PeriodicInterference, series: vec![0, 1], certainty: Certainty::Certain,
            summary: "250.000 Hz, the timer tick of this kernel, takes 11.0 µs each time: 0.28 % of the time.".into(),
            evidence: PeriodicInterference {
                cause: None,
                cause_by: None,
                frequency_hz: 250.0004,
                ns_per_event: 11e3,
                uncertainty_hz: 4e-4,
            }
            .into(),
            next_step: None,
        },
    ];
    let machine = Machine {
        online_cpus: Some("0-3".into()),
        ..Machine::default()
    };
    analysis.report.remedies = remedies::move_tasks(&[1], &["cargo".into()], &machine)
        .into_iter()
        .chain([remedies::trace_host("1")])
        .collect();
    analysis.report.warnings = vec![Warning {
        kind: WarningKind::HighLoad,
        message: "Two other tasks used 1.3 CPUs while the run was being prepared.".into(),
        advice: Some("stop them, or choose another CPU with --cpus".into()),
    }];
    analysis.report.recording = Some(manifest());
    analysis
}

/// The scene of the X: 23.96 and 128.2 ns per unit, changing on a 1 ms grid, and isolated edge quanta.
pub fn two_paces() -> Analysis {
    let mut random = Random::new(3);
    let sketch = Sketch {
        cpu: Some(4),
        rate_hz: 10_000.0,
        kernel: "ftq-o0",
        origin: "x.bandscope",
        best_ns: 23.96,
        total_s: 20.0,
        turn: (0, 1),
        gaps: Some(ticks(&mut random, 20.0, 1_000.0, 2_500.0)),
        signals: vec![Signal {
            frequency_hz: 1000.0002,
            uncertainty_hz: 0.0004,
            ..tick_signal(2_500.0)
        }],
        microarchitecture: true,
    };
    let (mut series, pyramid) = sketch.draw(|t| {
        let (fast, slow) = (23.96, 128.2);
        let phase = (t * 1000.0 * (1.0 + 5e-6)).fract();
        let here = ((t * 1000.0) as u64) % 5 == 2;
        let edge = phase > 0.8 && ((t * 1000.0) as u64) % 5 < 2;
        let mixed = 1.0 / (1.0 / slow + (1.0 / fast - 1.0 / slow) * ((t / 20.0) * 0.9 + 0.05));
        let third = random.unit() > 0.9996;
        let pace = match (third, edge, here) {
            (true, _, _) => 76.3,
            (_, true, _) => mixed,
            (_, _, true) => slow,
            _ => fast,
        };
        pace * (1.0 + 0.0011 * random.normal().abs())
    });
    series.bands = vec![
        band(23.98, 0.728, 0.004, 10_000.0),
        Band {
            nature: Nature::Mixture,
            ..band(76.31, 0.0004, 0.0001, 10_000.0)
        },
        band(128.3, 0.199, 0.001_003_6, 10_000.0),
    ];
    let mut analysis = analysis(
        "x.bandscope",
        "CPU 4 ran one loop at two paces 5.35 times apart, without interruption: 20 % of the time was lost to the lower one, 0.3 % to the 1 kHz tick.",
        vec![(series, pyramid)],
    );
    analysis.report.findings = vec![Finding {
        kind: Kind::BistablePace,
        series: vec![0],
        certainty: Certainty::Likely,
        summary: "Two paces, 23.98 and 128.3 ns per unit (5.35x), changing on a grid of 1.000 ms."
            .into(),
        evidence: paces(&[23.98, 128.3]),
        next_step: Some("bandscope record --rate 10000,7777".into()),
    }];
    analysis.report.recording = Some(manifest());
    analysis
}

/// Fourteen rows of counts: no gaps of their own, no machine.
pub fn imported() -> Analysis {
    let sketch = Sketch {
        cpu: None,
        rate_hz: 10_000.0,
        kernel: "unknown",
        origin: "spr-10khz-a.dat",
        best_ns: 23.96,
        total_s: 0.0014,
        turn: (0, 1),
        gaps: None,
        signals: vec![],
        microarchitecture: false,
    };
    let paces = [
        23.96, 23.96, 35.3, 128.2, 128.2, 128.4, 128.2, 128.2, 128.2, 128.4, 128.2, 128.2, 50.0,
        23.96,
    ];
    let (mut series, pyramid) = sketch.draw(|t| paces[((t * 10_000.0).round() as usize).min(13)]);
    series.clock = bandscope_report::Clock {
        ticks_per_ns: 1.0,
        error_ppm: None,
        drift_ppm: None,
    };
    series.bands = vec![
        band(23.96, 0.214, 0.0002, 10_000.0),
        band(128.2, 0.643, 0.000_9, 10_000.0),
    ];
    if let Some(best) = &mut series.best_pace {
        best.origin = PaceOrigin::Series;
        best.undisturbed = false;
    }
    let mut analysis = analysis(
        "spr-10khz-a.dat",
        "Two paces, 23.96 and 128.2 ns per unit (ratio 5.35): the lower one cost 54 % of these 1.4 ms.",
        vec![(series, pyramid)],
    );
    analysis.report.warnings = vec![Warning {
        kind: WarningKind::ShortSeries,
        message: "14 quanta are too few for periodic signals.".into(),
        advice: Some("record at least ten seconds".into()),
    }];
    analysis
}

/// Nothing at all: no series, no pyramid, no verdict.
pub fn empty() -> Analysis {
    let report = Report {
        schema: SCHEMA,
        ..Report::default()
    };
    Analysis {
        report,
        pyramids: Vec::new(),
        origin: 0,
        details: Vec::new(),
    }
}

fn paces(ns_per_unit: &[f64]) -> Evidence {
    BistablePace {
        median_dwells_s: vec![1.0; ns_per_unit.len()],
        ns_per_unit: ns_per_unit.to_vec(),
        shares: vec![0.5; ns_per_unit.len()],
        switched_by: None,
    }
    .into()
}
