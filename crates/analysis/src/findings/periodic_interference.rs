//! `periodic-interference`: time lost at a constant frequency, such as a timer tick.
//!
//! Gaps show it directly. In the residual of one rate alone it might be the measurement's own or an alias, which a second
//! rate tells apart; what is known to be either is not interference.

use super::{Case, name};
use crate::report::{Certainty, Evidence, Finding, Signal};

pub(super) fn recognise(case: Case<'_>) -> Vec<Finding> {
    case.series
        .signals
        .iter()
        .filter(|signal| !matches!(signal.origin, "sampling" | "alias"))
        .map(|signal| finding(case, signal))
        .collect()
}

fn finding(case: Case<'_>, signal: &Signal) -> Finding {
    let sampled = signal.seen_in == "residual" && signal.origin != "external";
    Finding {
        kind: "periodic-interference",
        series: vec![case.index],
        // Which interrupt it is only counters or kernel events decide.
        certainty: if sampled { Certainty::Possible } else { Certainty::Likely },
        summary: format!(
            "{} loses {:.0} ns at {:.3} Hz (+- {:.1e}), {:.4} % of its time.",
            name(case.series),
            signal.ns_per_event,
            signal.frequency_hz,
            signal.uncertainty_hz,
            signal.ns_per_event * signal.frequency_hz / 1e7,
        ),
        evidence: [
            ("frequency_hz", Evidence::Number(signal.frequency_hz)),
            ("uncertainty_hz", Evidence::Number(signal.uncertainty_hz)),
            ("ns_per_event", Evidence::Number(signal.ns_per_event)),
        ]
        .into(),
        next_step: Some(
            if sampled {
                "bandscope record --rate 10000,7777: an external signal keeps its frequency at both rates"
            } else {
                "bandscope record --trace on: kernel events name the interrupt"
            }
            .to_owned(),
        ),
    }
}
