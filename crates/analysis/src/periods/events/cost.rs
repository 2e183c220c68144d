//! What the events of a train cost, where other trains' events fall together with some of them.
//!
//! Two trains whose frequencies have a ratio of small numbers meet every few periods: at those turns an event takes what both cost. The turns at which it
//! takes least are the train's own.

use bandscope_statistics::order;

/// Periods after which losses may recur: every second event of a train is longer where a train of half the frequency falls together with it.
const MAX_CLASSES: usize = 12;
/// Events of a class that have a median.
pub(super) const MIN_IN_CLASS: usize = 8;
/// Losses this much beyond the median, in medians and in distances of the quartiles, are of another cause as well.
const BEYOND_MEDIANS: f64 = 0.25;
/// Medians of two classes that differ by this share of the lower, with quartiles apart, are of two costs. What is left of an event and is a
/// smaller share of it is the error of its loss.
pub(super) const BEYOND_THE_LEAST: f64 = 0.03;
pub(super) const BEYOND_QUARTILES: f64 = 6.0;
/// Share of a train's loss that must be left of an event to stay an event.
const MIN_LEFT: f64 = 0.5;

/// What an event of the train costs: the mean of those that nothing else fell together with; and what it may cost at most before something did,
/// and what that must have taken at least to be an event.
pub(super) fn cost(losses: &[(i64, f64)]) -> Cost {
    let mut alone: Vec<(i64, f64)> = losses.to_vec();
    let mut between = f64::INFINITY;
    for classes in 2..=MAX_CLASSES {
        let mut by_class = vec![Vec::new(); classes];
        let class = |turn: i64| turn.rem_euclid(classes as i64) as usize;
        for &(turn, loss) in &alone {
            by_class[class(turn)].push(loss);
        }
        let known = by_class.iter().map(|class| {
            let is_known = class.len() >= MIN_IN_CLASS;
            is_known.then(|| quartiles(class))
        });
        let known: Vec<Option<[f64; 3]>> = known.collect();
        let Some(low) = (known.iter().flatten().copied()).min_by(|a, b| a[1].total_cmp(&b[1]))
        else {
            break;
        };
        let is_high =
            |class: &[f64; 3]| low[2] < class[0] && (1.0 + BEYOND_THE_LEAST) * low[1] < class[1];
        let higher = known.iter().flatten().filter(|class| is_high(class));
        if let Some(lowest) = higher.map(|class| class[0]).min_by(f64::total_cmp) {
            between = between.min(0.5 * (low[2] + lowest));
            alone.retain(|&(turn, _)| known[class(turn)].is_some_and(|one| !is_high(&one)));
        }
    }
    let alone: Vec<f64> = alone.iter().map(|one| one.1).collect();
    let [lower, middle, upper] = quartiles(&alone);
    let beyond = (BEYOND_MEDIANS * middle).max(BEYOND_QUARTILES * (upper - lower));
    let most = (middle + beyond).min(between);
    let sum: f64 = alone.iter().map(|loss| loss.min(most)).sum();
    let ns = sum / alone.len().max(1) as f64;
    Cost {
        ns,
        most,
        least_left: if between.is_finite() {
            most - ns
        } else {
            MIN_LEFT * ns
        },
    }
}

/// What a train takes each time, nanoseconds.
pub(super) struct Cost {
    /// Mean over its own turns, nanoseconds.
    pub(super) ns: f64,
    /// What an event lost that nothing else fell together with, at most.
    pub(super) most: f64,
    /// What is left of an event and is one, at least.
    pub(super) least_left: f64,
}

/// The quartiles, the median among them.
pub(super) fn quartiles(values: &[f64]) -> [f64; 3] {
    order::quartiles(values.iter().copied()).unwrap_or_default()
}

/// The loss about which a quarter of them lies closest.
pub(super) fn densest(losses: &[(i64, f64)]) -> f64 {
    let sorted = order::sorted(losses.iter().map(|one| one.1.max(1.0)));
    let quarter = sorted.len() / 4;
    let closest = (0..sorted.len() - quarter).min_by(|&a, &b| {
        let ratio = |from: usize| sorted[from + quarter] / sorted[from];
        ratio(a).total_cmp(&ratio(b))
    });
    closest.map_or(f64::INFINITY, |from| sorted[from + quarter / 2])
}
