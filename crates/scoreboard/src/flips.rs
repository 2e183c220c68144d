//! Families of scenes whose pace flips between two: periodically, or after random stays.

use crate::draw::Draw;
use crate::figure::Figure;
use crate::scene::Tolerance::{Absolute, Relative};
use crate::scene::{Expected, Scene};
use bandscope_report::Kind;

/// A pace that flips: a scene, its ratio, its period and the stay in the slow pace.
pub(crate) struct Flips {
    pub(crate) scenario: String,
    pub(crate) period: f64,
    pub(crate) dwell: f64,
    pub(crate) ratio: f64,
    pub(crate) decidable: bool,
}

pub(crate) fn flips(draw: &mut Draw) -> Flips {
    let decidable = draw.chance(0.5);
    // Without a second work kernel a ratio of two might be a frequency; with one, 1.1 is enough.
    let ratio = draw.log_uniform(if decidable { 1.1 } else { 2.2 }, 7.0);
    // Each stay lasts four quanta of the lower rate or more.
    let period = draw.log_uniform(1.5e-3, 40e-3);
    let shortest = 4.0 / 7777.0;
    let dwell = draw.uniform(shortest, period - shortest);
    let memory = u8::from(decidable);
    let phase = draw.uniform(0.0, period);
    Flips {
        scenario: format!(
            "flips:ratio={ratio:.4},period={period},dwell={dwell},phase={phase:.9},memory={memory}"
        ),
        period,
        dwell,
        ratio,
        decidable,
    }
}

/// A scene that flips, before anything is expected of it.
pub(crate) fn flipping(draw: &mut Draw, flips: &Flips) -> Scene {
    let noise = draw.noise();
    let scene = draw.scene(&flips.scenario, noise);
    if flips.decidable {
        scene.on_two_kernels()
    } else {
        scene
    }
}

pub(crate) fn bistable_of(flips: &Flips) -> Expected {
    let slow = flips.dwell / flips.period;
    let unit = if flips.decidable { 23.96 } else { 112.25 };
    Expected::new(Kind::BistablePace)
        .with_list(
            Figure::NsPerUnit,
            &[unit, unit * flips.ratio],
            Relative(0.02),
        )
        .with_list(Figure::Shares, &[1.0 - slow, slow], Absolute(0.05))
        .decided(flips.decidable)
}

pub(crate) fn bistable(draw: &mut Draw) -> Scene {
    if draw.chance(0.4) {
        return states(draw);
    }
    let flips = flips(draw);
    let scene = flipping(draw, &flips);
    let expected = bistable_of(&flips);
    scene
        .expecting(expected)
        .allowing_kinds(&[Kind::EdgePairs, Kind::MovingEdges])
}

fn states(draw: &mut Draw) -> Scene {
    let decidable = draw.chance(0.5);
    let ratio = draw.log_uniform(if decidable { 1.1 } else { 2.2 }, 7.0);
    // Long enough for three quanta in nearly all stays, short enough for stays in every series.
    let dwell = draw.log_uniform(5e-3, 200e-3);
    let noise = draw.noise();
    let scenario = format!(
        "states:ratio={ratio:.4},dwell={dwell:.6},memory={}",
        u8::from(decidable)
    );
    let scene = draw.scene(&scenario, noise);
    let scene = if decidable {
        scene.on_two_kernels()
    } else {
        scene
    };
    let unit = if decidable { 23.96 } else { 112.25 };
    scene
        .expecting(
            Expected::new(Kind::BistablePace)
                .with_list(Figure::NsPerUnit, &[unit, unit * ratio], Relative(0.02))
                .decided(decidable),
        )
        .allowing_kinds(&[Kind::EdgePairs])
}

pub(crate) fn moving_edges(draw: &mut Draw) -> Scene {
    let flips = flips(draw);
    let scene = flipping(draw, &flips);
    let decidable = scene.two_rates();
    let expected = Expected::new(Kind::MovingEdges)
        .with(Figure::PeriodS, flips.period, Relative(1e-5))
        .with(Figure::DwellS, flips.dwell, Absolute(2e-6))
        .decided(decidable);
    scene
        .expecting(expected)
        .allowing_kinds(&[Kind::EdgePairs, Kind::BistablePace])
}

pub(crate) fn edge_pairs(draw: &mut Draw) -> Scene {
    let flips = flips(draw);
    flipping(draw, &flips)
        .expecting(Expected::new(Kind::EdgePairs).decided(true))
        .allowing_kinds(&[Kind::MovingEdges, Kind::BistablePace])
}
