//! `interrupted-loop`: after an interrupt a loop runs slower until it is left.
//!
//! Published in 2003: a loop resumed after an interrupt ran at a third of its pace until its end, so that fixed work
//! smeared from N to 3N. Here a loop lasts a quantum, so quanta with a gap lose in proportion to what is left of them
//! after it ([`crate::pace::interrupted`]). A plain interrupt has slope 0; a state that an interrupt brings about lasts beyond
//! the quantum. Injected interrupts or another placement would decide it: `likely` at best.

use super::{Analysed, Case, Phenomenon, agree, figure, is_close, name, name_rate};
use bandscope_report::evidence;
use bandscope_report::format;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Certainty, Finding, Kind};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::InterruptedLoop,
    recognise,
    same: |known, new| {
        agree(known, new, |known: &evidence::InterruptedLoop, new| {
            is_close(known.slope, new.slope, 0.05)
        })
    },
    settle: name_rate,
    consequence: |finding, series| {
        figure(finding, |shown: &evidence::InterruptedLoop| {
            shown.ns_per_tick.unwrap_or(0.0) * shown.ticks.unwrap_or(0.0)
        }) / (series.ledger.wall_ns as f64).max(1.0)
    },
    remedy,
};

fn remedy(finding: &Finding, _: Analysed<'_>) -> Option<Remedy> {
    Some(match finding.certainty {
        Certainty::Possible => {
            remedies::other_rates("whether it is the interrupts or their step with the quanta")
        }
        _ => remedies::other_kernels(
            "mulss80,ftq-o0",
            "whether only a loop on the stack slows down",
        ),
    })
}

/// How many times slower is slower: what caches lose in an interrupt costs a few per cent of a quantum.
const SLOWER: f64 = 1.15;
/// Standard deviations of the slope, and the scatter about the line over what it explains.
const ERRORS: f64 = 6.0;
const SCATTER: f64 = 0.3;
/// Share of the quanta after a gap, and without one, that must run at the usual pace.
const USUAL: f64 = 0.9;
const MOSTLY: f64 = 0.7;

/// Error of the usual pace, as a share: what the slope is off by where nothing scatters.
const PACE: f64 = 1e-7;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let Some(line) = case.seen.interrupted else {
        return Vec::new();
    };
    // A slope of 1 or more is no pace; nothing but a whole quantum lost beyond its gap makes one.
    let slower = 1.0 / (1.0 - line.slope);
    let found = (SLOWER..1e3).contains(&slower)
        && line.slope > ERRORS * line.error
        && line.scatter < SCATTER
        && line.usual_without >= MOSTLY
        && line.usual_after >= USUAL * line.usual_without;
    if !found {
        return Vec::new();
    }
    let ns = |ticks: f64| ticks / case.series.clock.ticks_per_ns;
    let evidence = evidence::InterruptedLoop {
        intercept_us: Some(ns(line.intercept) / 1e3),
        ns_per_tick: Some(ns(line.mean_loss)),
        slope: slower,
        slope_uncertainty: Some((line.error * slower * slower).hypot(PACE * slower)),
        slow_samples: Some(line.slow),
        ticks: Some(line.gaps as f64),
    };
    vec![Finding {
        kind: Kind::InterruptedLoop,
        series: vec![case.index],
        certainty: if line.in_step {
            Certainty::Possible
        } else {
            Certainty::Likely
        },
        summary: format!(
            "After {} of {} interrupts the loop on {} ran {slower:.2} times slower until the quantum ended. That cost {} each, besides \
             the {} of the interrupt.",
            line.slow,
            line.gaps,
            name(case.series),
            format::duration(ns(line.mean_loss)),
            format::duration(ns(line.intercept)),
        ),
        evidence: evidence.into(),
        next_step: None,
    }]
}
