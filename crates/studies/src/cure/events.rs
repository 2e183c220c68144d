//! What recording kernel events adds to the figures of trials, and the figures without it (docs/method.md, section 10.4).
//!
//! Each record is made while the CPU is away, so it makes the gap longer: by a third of a device's short interrupt on some CPUs. A cure that moves the
//! interrupt moves its records too, and would seem to save more than a machine has that records nothing.

use bandscope_recording::cures::{Cures, EventsShare, Figures, TOGETHER};
use bandscope_statistics::order::{SIGMA_PER_MAD, median};

/// What events add to a part of a gap on CPUs of which much came, and how far they differ: device interrupts of Zen 4 had 1.1 to 2.2 us, wakes of workers 1.1
/// to 2.9 us (docs/cure.md). The error is chosen, so that a session that tells it to 1 us counts as much as this.
const TYPICAL_S: f64 = 1.5e-6;
const TYPICAL_ERROR_S: f64 = 1e-6;
/// Fewer trials tell too little of how much they scatter; chosen: what four pilot pairs have.
const MIN_TRIALS: usize = 8;
/// Standard error of a median over that of a mean, of a normal distribution: the root of half of pi.
const ERROR_OF_MEDIAN: f64 = 1.2533;

/// What events add to each part of a gap that they name.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Added {
    /// In seconds; 0 where no trial tells anything.
    pub(super) seconds: f64,
    /// Whether that is what is typical, rather than what was measured.
    pub(super) is_typical: bool,
}

/// Each trial tells by how much the time in gaps grew just before it, and how many such parts came in it. The line through the origin of which the
/// deviations add up to least: a stretch in which something else took the CPU does not move it, as it would least squares. Trials of all that help together come
/// after single cures were judged, and must not change that.
fn added(cures: &Cures) -> Added {
    let single = cures.cures.iter().filter(|cure| cure.name != TOGETHER);
    let trials = single.flat_map(|cure| &cure.pairs);
    let trials = trials.flat_map(|pair| [&pair.without, &pair.with]);
    let told = trials.filter_map(|figures| figures.events);
    let mut told: Vec<EventsShare> = told.filter(|one| one.parts_per_s > 0.0).collect();
    let slope = |one: &EventsShare| one.share / one.parts_per_s;
    told.sort_by(|a, b| slope(a).total_cmp(&slope(b)));
    let half = told.iter().map(|one| one.parts_per_s).sum::<f64>() / 2.0;
    let mut below = 0.0;
    let middle = told.iter().find(|one| {
        below += one.parts_per_s;
        below >= half
    });
    let measured_s = middle.map_or(0.0, slope);
    let deviations = told
        .iter()
        .map(|one| (one.share - measured_s * one.parts_per_s).abs());
    let deviation = SIGMA_PER_MAD * median(deviations).unwrap_or(0.0);
    let squares: f64 = told.iter().map(|one| one.parts_per_s.powi(2)).sum();
    let error = ERROR_OF_MEDIAN * deviation / squares.sqrt();
    let weight = match told.len() {
        0 => return Added::default(),
        1..MIN_TRIALS => 1.0,
        _ => error.powi(2) / (error.powi(2) + TYPICAL_ERROR_S.powi(2)),
    };
    // Each with the weight of its precision. A CPU on which little comes tells nothing of it, and to take off nothing until it is certain makes savings too
    // large until then.
    Added {
        seconds: (weight * TYPICAL_S + (1.0 - weight) * measured_s).max(0.0),
        is_typical: weight > 0.5,
    }
}

/// The session without what events add, and what that is.
pub(super) fn without(cures: &Cures) -> (Cures, Added) {
    let (mut cures, added) = (cures.clone(), added(cures));
    let added_s = added.seconds;
    if added_s > 0.0 {
        take_off(&mut cures.before, added_s);
        for pair in cures.cures.iter_mut().flat_map(|cure| &mut cure.pairs) {
            take_off(&mut pair.without, added_s);
            take_off(&mut pair.with, added_s);
        }
    }
    (cures, added)
}

fn take_off(figures: &mut Figures, added_s: f64) {
    let mut taken = 0.0;
    for (line, share) in &mut figures.lines {
        let number = figures.parts_per_s.get(line).copied().unwrap_or(0.0);
        let added = (number * added_s).min(*share);
        *share -= added;
        taken += added;
    }
    // What was not lost is worked at the same pace.
    let worked = 1.0 - figures.lost;
    if worked > 0.0 {
        figures.units_per_s *= (worked + taken) / worked;
    }
    figures.lost -= taken;
}
