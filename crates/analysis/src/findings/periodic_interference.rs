//! `periodic-interference`: time lost at a constant frequency, such as a timer tick.
//!
//! Gaps show it directly. In the residual of one rate alone it might be the measurement's own or an alias, which a second
//! rate tells apart; what is known to be either is not interference.

use super::{Case, Everything, Phenomenon, cpu, is_alone, name, name_rate, number};
use crate::report::{Certainty, Evidence, Finding, Signal};
use crate::words;
use bandscope_recording::manifest::EventsState;

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: "periodic-interference",
    recognise,
    // A few uncertainties of a run of seconds.
    same: &[("frequency_hz", 1e-4), ("cause", f64::INFINITY)],
    settle,
    consequence: |finding, _| {
        number(finding, "frequency_hz") * number(finding, "ns_per_event") / 1e9
    },
};

/// An interrupt costs a CPU hundreds of cycles. What takes less each time is a beat between things that are no losses.
pub(super) const SHORTEST_NS: f64 = 10.0;
/// A part per million of the time is nobody's problem; the list of signals still holds it.
const SMALLEST: f64 = 1e-6;

/// Share of the periods with an event, in which a train that the kernel names is certain.
const EACH_TIME: f64 = 0.9;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    case.series
        .signals
        .iter()
        .filter(|signal| !matches!(signal.origin, "sampling" | "alias"))
        .filter(|signal| share(signal) >= SMALLEST && signal.ns_per_event >= SHORTEST_NS)
        // A quota's period has a finding of its own.
        .filter(|signal| {
            !signal
                .cause
                .as_deref()
                .is_some_and(|cause| cause.starts_with("throttled:"))
        })
        // What is more likely the measurement's own is not interference, too.
        .filter(|signal| {
            super::sampling_artefact::certainty(signal, case.series) < Some(Certainty::Likely)
        })
        .map(|signal| finding(case, signal))
        .collect()
}

/// Share of the time that a signal takes.
fn share(signal: &Signal) -> f64 {
    signal.ns_per_event * signal.frequency_hz / 1e9
}

fn finding(case: Case<'_>, signal: &Signal) -> Finding {
    let sampled = signal.seen_in == "residual" && signal.origin != "external";
    // Where they were recorded already they name no more.
    let traced = case.everything.manifest.events.state == EventsState::On;
    Finding {
        kind: "periodic-interference",
        series: vec![case.index],
        // Which interrupt it is only kernel events decide, and that it comes each time only a period with nearly no exception.
        certainty: if signal.cause_by == Some("events") && signal.occupied >= Some(EACH_TIME) {
            Certainty::Certain
        } else if sampled {
            Certainty::Possible
        } else {
            Certainty::Likely
        },
        summary: format!(
            "{} takes {} from {} at {}, {} of its time{}.",
            words::cause(signal.cause.as_deref().unwrap_or_default()),
            words::duration(signal.ns_per_event),
            name(case.series),
            words::frequency(signal.frequency_hz, signal.uncertainty_hz),
            words::percent(share(signal)),
            match (signal.cause_by, signal.cause.as_deref()) {
                (Some("rate"), Some("host")) =>
                    ": the kernel counted nothing that came so often",
                (Some("rate"), _) => ": the kernel counted as many",
                _ => "",
            },
        ),
        evidence: [
            ("cause", signal.cause.clone().map(Evidence::Text)),
            ("cause_by", signal.cause_by.map(|by| Evidence::Text(by.to_owned()))),
            ("frequency_hz", Some(Evidence::Number(signal.frequency_hz))),
            ("uncertainty_hz", Some(Evidence::Number(signal.uncertainty_hz))),
            ("ns_per_event", Some(Evidence::Number(signal.ns_per_event))),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect(),
        next_step: (signal.cause_by != Some("events") && (sampled || !traced)).then(|| if sampled {
            "bandscope record --rate 10000,7777: an external signal keeps its frequency at both rates".to_owned()
        } else {
            format!(
                "bandscope record --cpus {} --trace on: kernel events name what has this period",
                cpu(case.series)
            )
        }),
    }
}

/// Whether an interrupt came as often; of the host's periods there is no count.
fn is_counted(finding: &Finding) -> bool {
    let text = |key: &str| match finding.evidence.get(key) {
        Some(Evidence::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    text("cause_by") == Some("rate") && text("cause") != Some("host")
}

/// Something periodic in the machine shows at every rate; what does not is no more than possible.
fn settle(finding: &mut Finding, everything: Everything<'_>) -> bool {
    if is_alone(finding, everything) {
        // The other rates were asked for it in particular.
        if finding.certainty == Certainty::Possible {
            return false;
        }
        // What the kernel counted as often has a second witness.
        if !is_counted(finding) {
            finding.certainty = finding.certainty.min(Certainty::Possible);
        }
    }
    name_rate(finding, everything)
}
