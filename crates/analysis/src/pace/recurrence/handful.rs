//! Of a handful of edges: whether a stay between them is a whole number of an operating system's ticks.
//!
//! Too few for a period; published rows hold as few as two. So only rates that kernels are built with are tried, and
//! the chance of an accident is stated.

use super::{MIN_INTERVALS, Period, Recurrence, Time, fraction};
use crate::pace::edges::{Edges, Place};
use bandscope_statistics::distributions::ln_binomial_at_most;

/// Rates of operating systems' ticks, tried on a handful of edges, hertz.
const TICKS: [f64; 5] = [100.0, 250.0, 300.0, 1000.0, 1024.0];
/// A handful of edges agrees with a tick within this, seconds ("a few us").
const HANDFUL: f64 = 6e-6;
/// Stays of a handful are this many ticks at most: of longer ones any would fit.
const FEW_TICKS: f64 = 3.0;
/// Chance of such an agreement above which it is not stated.
const MAX_CHANCE: f64 = 0.15;

/// Two to a few edges, of which a stay is a whole number of an operating system's ticks.
pub(super) fn handful(edges: &Edges, times: &[Time]) -> Option<Recurrence> {
    let inside = edges.kept().iter().any(|edge| edge.place == Place::Inside);
    if !(2..=MIN_INTERVALS).contains(&times.len()) || !inside {
        return None;
    }
    let intervals: Vec<f64> = times
        .windows(2)
        .filter(|pair| pair[0].segment == pair[1].segment)
        .map(|pair| pair[1].at - pair[0].at)
        .collect();
    let (seconds, kept, chance) = TICKS
        .iter()
        .map(|rate| {
            let tick = 1.0 / rate;
            let fits = |interval: &&f64| {
                let ticks = *interval / tick;
                (0.5..=FEW_TICKS + 0.5).contains(&ticks) && fraction(ticks).abs() * tick <= HANDFUL
            };
            let kept = intervals.iter().filter(fits).count();
            (
                tick,
                kept,
                binomial_tail(intervals.len(), kept, 2.0 * HANDFUL / tick),
            )
        })
        .min_by(|a, b| a.2.total_cmp(&b.2))?;
    let chance = chance * TICKS.len() as f64;
    (kept > 0 && chance <= MAX_CHANCE).then(|| Recurrence {
        grid: Some(Period {
            seconds,
            uncertainty: HANDFUL / 3f64.sqrt() / kept as f64,
            edges: times.len() as u64,
            kept: kept as u64 + 1,
            z_squared: 0.0,
            log_p: chance.ln(),
        }),
        ..Recurrence::default()
    })
}

/// Chance of `least` or more successes of `n`, of chance `p` each.
fn binomial_tail(n: usize, least: usize, p: f64) -> f64 {
    match least {
        0 => 1.0,
        _ => -ln_binomial_at_most(least - 1, n, p).exp_m1(),
    }
}
