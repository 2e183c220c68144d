//! The parameter space: one family of scenes a kind of finding, the quiet machine, pairs, and scenes made to be confused.
//!
//! Ranges are those in which the data can show the phenomenon by the formulas of docs/method.md, not those in which the
//! detectors happen to succeed: a pace must differ by more than the noise, a stay must last three quanta, a loss must
//! be worth more than a tick of the clock. Each range says what bounds it.

use crate::draw::{Draw, Noise};
use crate::figure::{Figure, Why};
use crate::flips::{bistable, edge_pairs, flips, moving_edges};
use crate::scene::{Expected, Scene, Tolerance};
use Tolerance::{Absolute, Relative};
use bandscope_report::Kind;
use bandscope_report::evidence::DriftCause;

/// Scenes that show one kind of finding.
pub struct Family {
    /// The kind, or what the scenes are.
    pub name: &'static str,
    /// Draws one scene of the family.
    pub draw: fn(&mut Draw) -> Scene,
}

/// One family for each kind of finding that quanta and gaps can show.
pub const KINDS: &[Family] = &[
    Family {
        name: "quantisation",
        draw: quantisation,
    },
    Family {
        name: "alternating-bands",
        draw: alternating,
    },
    Family {
        name: "bistable-pace",
        draw: bistable,
    },
    Family {
        name: "sub-loop-mixture",
        draw: mixture,
    },
    Family {
        name: "frequency-steps",
        draw: frequency,
    },
    Family {
        name: "smt-neighbour",
        draw: neighbour,
    },
    Family {
        name: "moving-edges",
        draw: moving_edges,
    },
    Family {
        name: "edge-pairs",
        draw: edge_pairs,
    },
    Family {
        name: "periodic-interference",
        draw: tick,
    },
    Family {
        name: "sampling-artefact",
        draw: artefact,
    },
    Family {
        name: "alias",
        draw: alias,
    },
    Family {
        name: "clock-drift",
        draw: drift,
    },
    Family {
        name: "warm-up",
        draw: warm_up,
    },
    Family {
        name: "interrupt-helps",
        draw: helps,
    },
    Family {
        name: "interrupted-loop",
        draw: interrupted,
    },
    Family {
        name: "migration",
        draw: migration,
    },
];

/// Nothing happens but noise.
pub const QUIET: Family = Family {
    name: "quiet",
    draw: quiet,
};

fn quiet(draw: &mut Draw) -> Scene {
    let noise = draw.noise();
    // Any unit, so that counts sit anywhere between two whole numbers.
    let scenario = format!("unit:ratio={:.5}", draw.uniform(0.8, 1.4));
    draw.scene(&scenario, noise)
}

fn quantisation(draw: &mut Draw) -> Scene {
    // Two counts hold 95 % of the band only while the pace wanders by less than 1/count.
    let noise = draw.one_of(&[Noise::None, Noise::Weak]);
    let rate = draw.one_of(&[10_000.0, 7_777.0]);
    // The lesser count holds at least 4 %: the fractional part of the number of units in a quantum is away from 0 and 1.
    let units = draw.uniform(600.0, 1100.0).floor() + draw.uniform(0.04, 0.96);
    let ratio = 1e9 / rate / units / 112.25;
    let mut scene = draw.scene(&format!("unit:ratio={ratio:.7}"), noise);
    scene.rates_hz = vec![rate];
    scene.expecting(Expected::new(Kind::Quantisation).decided(true))
}

pub(crate) fn alternating(draw: &mut Draw) -> Scene {
    let noise = draw.one_of(&[Noise::None, Noise::Weak]);
    let period = draw.one_of(&[2, 3, 4, 5]);
    // Further apart than counts (1/900) and the noise; nearer than what is bistable by its distance alone.
    let ratio = if draw.chance(0.5) {
        1.0 - draw.log_uniform(0.006, 0.05)
    } else {
        1.0 + draw.log_uniform(0.006, 0.05)
    };
    let mut scene = draw.scene(
        &format!("alternate:period={period},ratio={ratio:.5}"),
        noise,
    );
    let mut expected = Expected::new(Kind::AlternatingBands);
    if (ratio - 1.0).abs() * 100e-6 < NO_GAP {
        // At one rate something may take as much from every third quantum.
        scene.rates_hz = vec![10_000.0, 7_777.0];
        expected = expected.at_two_rates();
    }
    scene.expecting(expected)
}

fn mixture(draw: &mut Draw) -> Scene {
    let noise = draw.noise();
    // The fractions that FTQ's two inner loops of 32 and 31 turns make.
    let fraction = draw.one_of(&[32.0 / 63.0, 31.0 / 63.0]);
    let ratio = draw.log_uniform(2.2, 7.0);
    let dwell = draw.log_uniform(2e-3, 50e-3);
    let scenario = format!("mixture:ratio={ratio:.4},fraction={fraction:.5},dwell={dwell:.6}");
    let mut scene = draw.scene(&scenario, noise);
    scene.kernels = vec![draw.one_of(&["ftq-o2", "ftq-unrolled", "ftq-o0"])];
    scene
        .expecting(Expected::new(Kind::SubLoopMixture).with(
            Figure::Fraction,
            fraction,
            Absolute(0.01),
        ))
        .allowing_kinds(&[Kind::BistablePace, Kind::EdgePairs])
}

pub(crate) fn frequency(draw: &mut Draw) -> Scene {
    let noise = draw.noise();
    let top = draw.one_of(&[28, 30, 32, 34, 36, 38, 40]);
    let low = top - draw.one_of(&[3, 4, 5, 6, 8]);
    let dwell = draw.log_uniform(20e-3, 150e-3);
    let scene = draw.scene(
        &format!("frequency:top={top},low={low},dwell={dwell:.6}"),
        noise,
    );
    let decidable = draw.chance(0.5);
    let scene = if decidable {
        scene.on_two_kernels()
    } else {
        scene
    };
    scene
        .expecting(Expected::new(Kind::FrequencySteps).decided(decidable))
        .allowing_kinds(&[Kind::EdgePairs])
}

fn neighbour(draw: &mut Draw) -> Scene {
    let noise = draw.noise();
    // Half of the core is left, or most of it.
    let ratio = draw.log_uniform(1.2, 2.2);
    let dwell = draw.log_uniform(5e-3, 100e-3);
    let mut scene = draw.scene(
        &format!("neighbour:ratio={ratio:.4},dwell={dwell:.6}"),
        noise,
    );
    scene.kernels = vec!["mulss80", "add6x80"];
    scene
        .expecting(Expected::new(Kind::SmtNeighbour).with(Figure::Ratio, ratio, Relative(0.05)))
        .allowing_kinds(&[Kind::EdgePairs])
}

/// Longest loss that the default work kernel does not call a gap, seconds.
const NO_GAP: f64 = 1.2e-6;

/// A timer tick: scenario, frequency, cost.
fn ticking(draw: &mut Draw) -> (String, f64, f64) {
    let hz = if draw.chance(0.7) {
        draw.one_of(&[100.0, 250.0, 300.0, 1000.0, 1024.0])
    } else {
        draw.log_uniform(40.0, 2500.0)
    };
    // From a tenth of the gap threshold, which the residual must show, to a long interrupt.
    let cost = draw.log_uniform(150e-9, 12e-6);
    let phase = draw.uniform(0.0, 1.0 / hz);
    (
        format!("tick:hz={hz},cost={cost:.10},phase={phase:.9}"),
        hz,
        cost,
    )
}

pub(crate) fn tick(draw: &mut Draw) -> Scene {
    let noise = draw.one_of(&[Noise::None, Noise::Weak]);
    let (scenario, hz, cost) = ticking(draw);
    let mut scene = draw.scene(&scenario, noise);
    let mut expected =
        Expected::new(Kind::PeriodicInterference).with(Figure::FrequencyHz, hz, Relative(1e-4));
    if cost < NO_GAP {
        // In the residual of one rate it might be an alias or the measurement's own: no more than possible.
        scene.rates_hz = vec![10_000.0, 7_777.0];
        expected = expected.at_two_rates();
    }
    scene.expecting(expected)
}

pub(crate) fn artefact(draw: &mut Draw) -> Scene {
    let noise = draw.one_of(&[Noise::None, Noise::Weak]);
    let quanta = draw.one_of(&[64.0, 128.0, 170.0, 256.0, 512.0]);
    let cost = draw.log_uniform(40e-9, 450e-9);
    let mut scene = draw.scene(&format!("pages:quanta={quanta},cost={cost:.10}"), noise);
    // One rate cannot tell it from a tick, whatever its period.
    scene.rates_hz = vec![10_000.0, 7_777.0];
    scene.expecting(
        Expected::new(Kind::SamplingArtefact)
            .with(Figure::PeriodQuanta, quanta, Relative(1e-3))
            .with(Figure::NsPerEvent, cost * 1e9, Relative(0.5))
            .decided(true)
            .at_two_rates(),
    )
}

fn alias(draw: &mut Draw) -> Scene {
    let noise = draw.one_of(&[Noise::None, Noise::Weak]);
    // Above half the faster rate, and where neither rate is blind: quanta of 1/rate show sin(pi hz/rate) of a loss.
    let visible = |hz: f64, rate: f64| (std::f64::consts::PI * hz / rate).sin().abs() > 0.15;
    let mut hz = draw.log_uniform(6e3, 150e3);
    while !(visible(hz, 10_000.0) && visible(hz, 7_777.0)) {
        hz = draw.log_uniform(6e3, 150e3);
    }
    let cost = draw.log_uniform(30e-9, 300e-9).min(0.2 / hz);
    let mut scene = draw.scene(&format!("tick:hz={hz},cost={cost:.10}"), noise);
    scene.rates_hz = vec![10_000.0, 7_777.0];
    scene.seconds = 20.0;
    scene.expecting(
        Expected::new(Kind::Alias)
            .with(Figure::FrequencyHz, hz, Absolute(0.5))
            .decided(true),
    )
}

/// What makes quanta longer or shorter than they are said to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WrongClock {
    /// A quantum is cut to whole ticks.
    Truncated,
    /// Ticks are wrong in quanta and times, and calibration knows it.
    Calibrated,
    /// Printed times are right, so nothing says where the drift comes from.
    Printed,
}

pub(crate) fn drift(draw: &mut Draw) -> Scene {
    let noise = draw.noise();
    let sign = draw.one_of(&[-1.0, 1.0]);
    match draw.one_of(&[
        WrongClock::Truncated,
        WrongClock::Calibrated,
        WrongClock::Printed,
    ]) {
        WrongClock::Truncated => {
            // 0.1 to 0.9 of a tick short: 0.5 to 4.5 ppm at 2 GHz.
            let rate = 10_000.0;
            let ticks = (draw.uniform(1.8e5, 3.2e5)).floor() + draw.uniform(0.1, 0.9);
            let ghz = ticks * rate / 1e9;
            let mut scene = draw.scene(&format!("clock:ghz={ghz:.12}+truncation"), noise);
            scene.rates_hz = vec![rate];
            let ppm = (ticks.floor() / ticks - 1.0) * 1e6;
            scene.expecting(
                Expected::new(Kind::ClockDrift)
                    .with(Figure::DriftPpm, ppm, Absolute(0.1))
                    .saying(Why::Drift(DriftCause::Truncation))
                    .decided(true),
            )
        }
        clock => {
            let ppm = sign * draw.log_uniform(60.0, 3000.0);
            let printed = u8::from(clock == WrongClock::Printed);
            draw.scene(&format!("drift:ppm={ppm:.3},printed={printed}"), noise)
                .expecting(
                    Expected::new(Kind::ClockDrift)
                        // Of a drift that calibration knows nobody asks for the third digit.
                        .with(Figure::DriftPpm, ppm, Relative(0.02))
                        .saying(Why::Drift(DriftCause::Calibration))
                        .decided(clock == WrongClock::Calibrated),
                )
        }
    }
}

pub(crate) fn warm_up(draw: &mut Draw) -> Scene {
    let noise = draw.one_of(&[Noise::None, Noise::Weak]);
    let duration = draw.log_uniform(60e-3, 800e-3);
    let ratio = 1.0 + draw.log_uniform(0.02, 0.5);
    draw.scene(
        &format!("warmup:duration={duration:.6},ratio={ratio:.4}"),
        noise,
    )
    .expecting(Expected::new(Kind::WarmUp).with(Figure::DurationS, duration, Absolute(0.02)))
    .allowing_tick(100.0)
}

pub(crate) fn helps(draw: &mut Draw) -> Scene {
    let noise = draw.noise();
    let hz = draw.log_uniform(20.0, 250.0);
    // The pace falls back before every other interrupt or so: else there is little to count.
    let decay = draw.uniform(0.3, 1.5) / hz;
    let ratio = draw.log_uniform(1.3, 5.0);
    let up = draw.uniform(0.4, 1.0);
    let scenario =
        format!("helps:hz={hz:.4},decay={decay:.6},ratio={ratio:.4},up={up:.3},poisson=1");
    draw.scene(&scenario, noise)
        .expecting(Expected::new(Kind::InterruptHelps))
        .allowing_kinds(&[Kind::BistablePace, Kind::EdgePairs])
}

pub(crate) fn interrupted(draw: &mut Draw) -> Scene {
    let noise = draw.noise();
    let hz = draw.log_uniform(50.0, 1000.0);
    let factor = draw.log_uniform(1.5, 6.0);
    let cost = draw.log_uniform(1e-6, 10e-6);
    draw.scene(
        &format!("interrupted:hz={hz},factor={factor},cost={cost}"),
        noise,
    )
    .expecting(
        Expected::new(Kind::InterruptedLoop)
            .with(Figure::Slope, factor, Relative(0.05))
            .with(Figure::InterceptUs, cost * 1e6, Absolute(0.5)),
    )
    .allowing_tick(hz)
}

fn migration(draw: &mut Draw) -> Scene {
    let flips = flips(draw);
    let every = draw.uniform(0.7, 2.0);
    let size = draw.uniform(0.2, 0.8) * flips.period;
    let noise = draw.noise();
    let scenario = format!(
        "{}+jump:every={every:.4},size={size:.9},cpu=1",
        flips.scenario
    );
    draw.scene(&scenario, noise)
        .expecting(Expected::new(Kind::Migration).decided(true))
        .allowing_kinds(&[Kind::EdgePairs, Kind::BistablePace, Kind::MovingEdges])
}
