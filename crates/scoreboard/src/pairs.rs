//! Two phenomena on one machine at once, each drawn as in its own family.

use crate::draw::Draw;
use crate::families::{
    Family, alternating, artefact, drift, frequency, helps, interrupted, tick, warm_up,
};
use crate::flips::{bistable, moving_edges};
use crate::scene::{Expected, Scene};
use bandscope_report::Kind;

/// Two phenomena at once.
pub const PAIRS: Family = Family {
    name: "pairs",
    draw: pairs,
};

/// Draws one of a kind of scene.
type DrawKind = fn(&mut Draw) -> Scene;

fn pairs(draw: &mut Draw) -> Scene {
    // Where both would change the pace, or both be periodic in the residual, one hides the other by definition.
    let (first, second) = draw.one_of(&[
        (tick as DrawKind, artefact as DrawKind),
        (tick, drift),
        (tick, warm_up),
        (bistable, tick),
        (frequency, tick),
        (moving_edges, drift),
        (bistable, warm_up),
        (helps, drift),
        (interrupted, artefact),
        (alternating, tick),
    ]);
    join(first(draw), second(draw))
}

fn join(first: Scene, second: Scene) -> Scene {
    // The second scene's own noise is left out: the first brings some.
    let second_scenario: Vec<&str> = second
        .scenario
        .split('+')
        .take_while(|part| {
            let noise = ["noise", "reads", "tasks", "quiet"];
            !noise.iter().any(|name| part.starts_with(name))
        })
        .collect();
    let expects = |scene: &Scene, kind: Kind| scene.expected.iter().any(|one| one.kind == kind);
    // What the clock truncates it does at one rate.
    let truncated = second_scenario.contains(&"truncation");
    let rates_hz = if truncated || second.rates_hz.len() > first.rates_hz.len() {
        second.rates_hz.clone()
    } else {
        first.rates_hz.clone()
    };
    let two = rates_hz.len() > 1;
    let off = second
        .expected
        .iter()
        .filter(|one| one.kind == Kind::ClockDrift)
        .flat_map(|one| &one.values)
        .map(|value| value.truth.abs() * 1e-6)
        .fold(0.0, f64::max);
    // A machine that warms up while it changes its pace has twice as many of them.
    let more_paces = expects(&second, Kind::WarmUp) && expects(&first, Kind::BistablePace);
    let told = |expected: Expected| {
        let mut expected = if expected.kind == Kind::ClockDrift {
            expected
        } else {
            expected.by_a_clock_off_by(off)
        };
        expected.decidable &= two;
        if expected.kind == Kind::BistablePace && more_paces {
            expected.values.clear();
        }
        expected
    };
    let all = first.expected.into_iter().chain(second.expected).map(told);
    let (expected, open): (Vec<Expected>, Vec<Expected>) =
        all.partition(|expected| two || !expected.needs_two_rates);
    let allowed = first.allowed.into_iter().chain(second.allowed);
    Scene {
        scenario: format!("{}+{}", second_scenario.join("+"), first.scenario),
        rates_hz,
        kernels: first.kernels,
        seconds: first.seconds.max(second.seconds),
        expected,
        allowed: allowed
            .map(|one| one.by_a_clock_off_by(off))
            .chain(open)
            .collect(),
        name: None,
        medium: first.medium,
        least: first.least,
        trains: Vec::new(),
        most_pace_loss: None,
    }
}
