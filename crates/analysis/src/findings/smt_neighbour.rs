//! `smt-neighbour`: something else runs on the same core, in its other hardware thread.
//!
//! Two threads of a core take turns at taking operations in, and share what executes them. A chain of dependent operations waits for itself
//! most of the time and leaves room for both; as many independent ones as the core can do need all of it. So a throughput kernel
//! that slows while the chain that alternates with it keeps its pace has company. A lower clock slows both.
//! What else would do it, a core that takes fewer operations in by itself (its own power limits), no quantum tells.

use super::{Analysed, Case, Phenomenon, agree, figure, first_series, is_close, name};
use crate::pace::split;
use bandscope_recording::manifest::Machine;
use bandscope_report::evidence;
use bandscope_report::format;
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Certainty, Finding, Kind, Series};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::SmtNeighbour,
    recognise,
    // Company comes and goes: two rates, whose segments alternate, saw about as much of it.
    same: |known, new| {
        agree(known, new, |known: &evidence::SmtNeighbour, new| {
            is_close(known.ratio, new.ratio, 0.1)
        })
    },
    settle: |_, _| true,
    consequence: |finding, _| {
        figure(finding, |shown: &evidence::SmtNeighbour| {
            shown.share * (1.0 - 1.0 / shown.ratio)
        })
    },
    remedy,
};

fn remedy(finding: &Finding, analysed: Analysed<'_>) -> Option<Remedy> {
    let cpu = first_series(finding, analysed).cpu;
    let Some(siblings) = cpu.and_then(|cpu| siblings(cpu, &analysed.manifest.machine)) else {
        return Some(remedies::own_neighbour());
    };
    // It takes the other CPUs of the core away.
    (remedies::kept_without_smt(siblings) == cpu).then(|| remedies::free_sibling(siblings))
}

/// Whether its core has no other thread. A guest may share its core with another one and not know.
pub(super) fn is_alone_on_its_core(case: Case<'_>) -> bool {
    let machine = &case.analysed.manifest.machine;
    let is_known = (case.series.cpu).filter(|cpu| machine.smt_siblings.contains_key(cpu));
    is_known.is_some_and(|cpu| siblings(cpu, machine).is_none())
        && machine.known_hypervisor().is_none()
}

/// The CPUs of its core, where there are others.
fn siblings(cpu: u32, machine: &Machine) -> Option<&str> {
    let list = machine.smt_siblings.get(&cpu)?;
    // A CPU without one is its only sibling.
    (*list != cpu.to_string()).then_some(list)
}

/// A pace this much slower than the best is that of a shared core: alternation alone costs a third and more where the other thread
/// works at all (measured: 1.33 to 1.40 beside a compiler, Raptor Cove).
const SHARED: f64 = 1.15;
/// Share of the work that the throughput kernel must have lost beyond what the chain lost, and how many times more.
const MIN_SHARE_LOST: f64 = 0.02;
const MIN_TIMES_LOST: f64 = 3.0;

/// What the two work kernels show.
struct Company {
    /// Pace of the quanta in company, over the best.
    ratio: f64,
    /// Their share of the quanta.
    share: f64,
    /// Work lost to pace, as a share of it: the throughput kernel's and the chain's.
    lost: (f64, f64),
}

/// Whether a series has company; then its paces are no states of the core's own.
pub(super) fn explains(case: Case<'_>) -> bool {
    company(case).is_some()
}

fn company(case: Case<'_>) -> Option<Company> {
    let kernel = |series: &Series| case.analysed.manifest.kernel(&series.kernel);
    kernel(case.series).filter(|kernel| kernel.throughput)?;
    let chains = case.analysed.series.iter().filter(|other| {
        (other.cpu, &other.origin) == (case.series.cpu, &case.series.origin)
            && kernel(other).is_some_and(|kernel| kernel.registers_only)
    });
    let chain = chains.filter_map(split::slower).reduce(f64::max)?;
    let own = split::slower(case.series)?;
    let best = case.series.best_pace.as_ref()?.ns_per_unit;
    let shared = (case.series.bands.iter()).filter(|band| band.ns_per_unit > SHARED * best);
    let (share, sum) = shared.fold((0.0, 0.0), |(share, sum), band| {
        (share + band.share, sum + band.share * band.ns_per_unit)
    });
    let enough = own - chain > MIN_SHARE_LOST && own > MIN_TIMES_LOST * chain && share > 0.0;
    enough.then(|| Company {
        ratio: sum / share / best,
        share,
        lost: (own, chain),
    })
}

fn recognise(case: Case<'_>) -> Vec<Finding> {
    let Some(company) = company(case) else {
        return Vec::new();
    };
    let machine = &case.analysed.manifest.machine;
    let siblings = case.series.cpu.and_then(|cpu| siblings(cpu, machine));
    let (certainty, who) = match (siblings, machine.known_hypervisor()) {
        (Some(list), _) => (Certainty::Likely, format!("with another of CPUs {list}")),
        (None, Some(hypervisor)) => (
            Certainty::Likely,
            format!("with a thread that {hypervisor} does not show"),
        ),
        (None, None) => (
            Certainty::Possible,
            "though no other thread of it is known".to_owned(),
        ),
    };
    vec![Finding {
        kind: Kind::SmtNeighbour,
        series: vec![case.index],
        certainty,
        summary: format!(
            "{} shares its core {} of the time, {who}: independent operations then take {:.2} times as long. They lost {} of their work, a chain lost {}.",
            name(case.series),
            format::percent(company.share),
            company.ratio,
            format::percent(company.lost.0),
            format::percent(company.lost.1),
        ),
        evidence: evidence::SmtNeighbour {
            lost_chain: company.lost.1,
            lost_throughput: company.lost.0,
            ratio: company.ratio,
            share: company.share,
        }
        .into(),
        next_step: None,
    }]
}
