//! What two rates say of trains of events: gaps, quanta of a file of counts, and quanta beside gaps.

use super::SAME_DEVIATIONS;
use crate::periods::follow::TRUNCATED;
use crate::periods::signals::are_as_often;
use bandscope_report::{Origin, SeenIn, Series, Signal};

/// Whether single events have the frequency: gaps, or quanta of a file of counts.
pub(super) fn is_train(signal: &Signal) -> bool {
    signal.seen_in == SeenIn::Gaps || signal.occupied.is_some()
}

/// Adds the trains of a series beside gaps that another rate shows: single quanta of two rates lose alike at their true frequency alone. They stand
/// for the lines of their frequency, which lack what gaps hid.
pub(super) fn add(series: &mut [Series], a: usize, trains: &[Signal], others: &[Signal]) {
    let signals = &mut series[a].signals;
    for train in trains {
        let is_same = |other: &Signal| are_as_often(train, other, SAME_DEVIATIONS);
        let is_known = signals.iter().any(|one| is_train(one) && is_same(one));
        if !is_known && others.iter().any(is_same) {
            signals.retain(|one| is_train(one) || !is_same(one));
            signals.push(train.clone());
        }
    }
}

/// Times of gaps are not sampled, and no frequency above half the rate makes single quanta of two rates lose alike: the same frequency in both is
/// external, the same number of quanta the measurement's own.
pub(super) fn same(series: &mut [Series], a: usize, b: usize) {
    let others: Vec<(f64, f64)> = series[b]
        .signals
        .iter()
        .filter(|signal| is_train(signal))
        .map(|signal| (signal.frequency_hz, signal.uncertainty_hz))
        .collect();
    let rates = [a, b].map(|index| series[index].rate_hz);
    for signal in &mut series[a].signals {
        let (mine, sigma) = (signal.frequency_hz, signal.uncertainty_hz);
        let is_same = |(hz, its_sigma): (f64, f64), ratio: f64| {
            let tolerance =
                (SAME_DEVIATIONS * sigma.hypot(ratio * its_sigma)).max(TRUNCATED * mine);
            (mine - ratio * hz).abs() <= tolerance
        };
        if !is_train(signal) {
            continue;
        }
        if others.iter().any(|&other| is_same(other, 1.0)) {
            signal.origin = Origin::External;
        } else if signal.seen_in == SeenIn::Residual
            && others
                .iter()
                .any(|&other| is_same(other, rates[0] / rates[1]))
        {
            // As many quanta in both.
            signal.origin = Origin::Sampling;
        }
    }
}
