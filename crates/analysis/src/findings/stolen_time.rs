//! `stolen-time`: gaps in which this kernel did nothing: the hypervisor ran something else, or firmware did.
//!
//! Evidence is silence: kernel events were recorded, none lies in the gap, none was lost there, and nothing preempted the thread. The
//! kernel's own count of stolen time may read 0 all the same.

use super::{Case, Phenomenon, cpu, name, number};
use crate::report::{Certainty, Evidence, Finding, Signal};
use crate::words;

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: "stolen-time",
    recognise,
    same: &[],
    settle: |_, _| true,
    consequence: |finding, _| number(finding, "share"),
};

/// A part per million of the time is nobody's problem.
const SMALLEST: f64 = 1e-6;

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let Some(gaps) = &case.series.gaps else {
        return Vec::new();
    };
    let Some(host) = gaps.causes.iter().find(|cause| cause.cause == "host") else {
        return Vec::new();
    };
    let share = host.lost_ns as f64 / (case.series.ledger.wall_ns as f64).max(1.0);
    if share < SMALLEST {
        return Vec::new();
    }
    let is_its = |signal: &&Signal| signal.cause.as_deref() == Some("host");
    let period = case.series.signals.iter().find(is_its);
    let machine = &case.everything.manifest.machine;
    let who = match &machine.hypervisor {
        Some(hypervisor) => format!("the hypervisor ({hypervisor})"),
        None => "firmware (no hypervisor is known)".to_owned(),
    };
    let regular = period.map_or(String::new(), |signal| {
        let frequency = words::frequency(signal.frequency_hz, signal.uncertainty_hz);
        format!(", in part regularly at {frequency}")
    });
    let mut evidence = std::collections::BTreeMap::from([
        ("share", Evidence::Number(share)),
        ("lost_ns", Evidence::Number(host.lost_ns as f64)),
        ("per_second", Evidence::Number(host.per_second)),
        ("longest_ns", Evidence::Number(host.longest_ns)),
    ]);
    if let Some(signal) = period {
        evidence.insert("frequency_hz", Evidence::Number(signal.frequency_hz));
    }
    vec![Finding {
        kind: "stolen-time",
        series: vec![case.index],
        certainty: Certainty::Certain,
        summary: format!(
            "{} of the time of {} went to {who} while this kernel did nothing: {:.1} gaps a second, up to {}{regular}.",
            words::percent(share),
            name(case.series),
            host.per_second,
            words::duration(host.longest_ns),
        ),
        evidence,
        next_step: Some(format!(
            "on the host, `perf trace -C` or `rtla osnoise` on the CPU that runs vCPU {} shows what it ran instead",
            cpu(case.series)
        )),
    }]
}
