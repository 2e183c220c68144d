//! Findings: the phenomena that were recognised. One file a phenomenon, one line of [`PHENOMENA`].
//!
//! A finding never says more than its evidence: what one rate, one work kernel or no counters cannot decide is
//! `possible` or `likely`, and its `next_step` is the command that would decide it, by its remedy. A [`Phenomenon`] recognises in one series; what
//! agrees between series becomes one finding; then it is settled against all that was analysed.

mod alias;
mod alternating_bands;
mod bistable_pace;
mod clock_drift;
mod core_coupling;
mod edge_pairs;
mod frequency_steps;
mod interrupt_helps;
pub(crate) mod interrupted_loop;
mod migration;
mod moving_edges;
mod periodic_interference;
mod pooled;
mod quantisation;
mod sampling_artefact;
mod smt_neighbour;
mod stolen_time;
mod sub_loop_mixture;
mod synchronous_gaps;
mod throttled;
mod time_away;
mod warm_up;

use crate::cpus::Across;
use crate::pace::alternation::Pattern;
use crate::pace::dwell::Stays;
use crate::pace::edges;
use crate::pace::interrupted::Line;
use crate::pace::quantisation::Quantisation;
use crate::pace::recurrence::Recurrence;
use crate::pace::rise_at_gap::Changes;
use crate::pace::store_bypass::ByStoreBypass;
use crate::pace::warm_up::Observed;
use crate::pace::whole_core::WholeCore;
use crate::periods::origins::{self, Alias};
use crate::series::drift::Slope;
use bandscope_recording::Manifest;
use bandscope_report::evidence::OfKind;
use bandscope_report::format;
use bandscope_report::remedies::Remedy;
use bandscope_report::{Evidence, Finding, Kind, Series, cpu_name};

/// What one series shows, beyond what the report says of it.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Stays in each band of the report, in its order.
    pub stays: Vec<Stays>,
    /// Share of the changes of band that took at most one quantum.
    pub sharp_share: f64,
    /// What the instants at which the pace changes show.
    pub edges: edges::Shown,
    /// What those instants recur on.
    pub recurrence: Option<Recurrence>,
    /// A short pattern of quanta that repeats.
    pub pattern: Option<Pattern>,
    /// Changes of CPU inside a segment, and the time of the first, seconds since the recording began.
    pub migrations: u64,
    /// See `migrations`.
    pub migration_s: Option<f64>,
    /// Whether the counts of the main band are quantised.
    pub quantisation: Option<Quantisation>,
    /// True frequencies that this series and one at another rate agree on.
    pub aliases: Vec<Alias>,
    /// Drift of the quanta against the nominal grid, in the recording's own ticks.
    pub drift: Option<Slope>,
    /// Nominal length of a quantum, ticks.
    pub quantum_ticks: f64,
    /// Fractions of a unit that the work kernel's structure declares.
    pub fractions: Vec<f64>,
    /// The start of the series in blocks.
    pub start: Vec<Observed>,
    /// Changes of pace with and without gaps, where both are known.
    pub changes: Option<Changes>,
    /// The pace with store bypass and without, where the recording switched it.
    pub by_store_bypass: Option<ByStoreBypass>,
    /// How much longer units and bandscope's own work take at the slow paces.
    pub whole_core: Option<WholeCore>,
    /// What quanta with a gap lose beyond it.
    pub interrupted: Option<Line>,
}

/// A series under its index.
#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    index: usize,
    series: &'a Series,
    seen: &'a Seen,
    analysed: Analysed<'a>,
}

/// All that was analysed, for what only several series decide.
#[derive(Clone, Copy, Debug)]
struct Analysed<'a> {
    series: &'a [Series],
    seen: &'a [Seen],
    across: &'a Across,
    manifest: &'a Manifest,
}

impl<'a> Analysed<'a> {
    /// One of the series.
    fn case(self, index: usize) -> Case<'a> {
        Case {
            index,
            series: &self.series[index],
            seen: &self.seen[index],
            analysed: self,
        }
    }
}

/// A phenomenon: how it is recognised, and what becomes of it when several series are seen together.
struct Phenomenon {
    /// Its name in the catalogue.
    kind: Kind,
    /// Recognises it in one series.
    recognise: fn(Case<'_>) -> Vec<Finding>,
    /// Whether what two series of one CPU show, the one that is known first, is the same instance of it. Findings that agree become one.
    same: fn(&Evidence, &Evidence) -> bool,
    /// What the other series say of it: raises or lowers its certainty, or completes its words. False drops it.
    settle: fn(&mut Finding, Analysed<'_>) -> bool,
    /// Share of the wall time that it accounts for, by which findings are ordered.
    consequence: fn(&Finding, &Series) -> f64,
    /// What to do about it, or what would decide it.
    remedy: fn(&Finding, Analysed<'_>) -> Option<Remedy>,
}

/// The phenomena, in the order in which ties are listed.
const PHENOMENA: &[Phenomenon] = &[
    bistable_pace::PHENOMENON,
    frequency_steps::PHENOMENON,
    smt_neighbour::PHENOMENON,
    sub_loop_mixture::PHENOMENON,
    interrupt_helps::PHENOMENON,
    interrupted_loop::PHENOMENON,
    warm_up::PHENOMENON,
    alternating_bands::PHENOMENON,
    moving_edges::PHENOMENON,
    migration::PHENOMENON,
    synchronous_gaps::PHENOMENON,
    stolen_time::PHENOMENON,
    throttled::PHENOMENON,
    time_away::PHENOMENON,
    core_coupling::PHENOMENON,
    edge_pairs::PHENOMENON,
    periodic_interference::PHENOMENON,
    alias::PHENOMENON,
    sampling_artefact::PHENOMENON,
    clock_drift::PHENOMENON,
    quantisation::PHENOMENON,
];

/// What happens whatever work kernel runs. Two files, each of another rate, tell of it as well.
const OF_THE_MACHINE: [Kind; 6] = [
    Kind::PeriodicInterference,
    Kind::Alias,
    Kind::SamplingArtefact,
    Kind::TimeAway,
    Kind::StolenTime,
    Kind::Throttled,
];

/// All findings, most consequential first, each with what to do about it.
pub fn all(
    series: &[Series],
    seen: &[Seen],
    across: &Across,
    manifest: &Manifest,
) -> Vec<(Finding, Option<Remedy>)> {
    let analysed = Analysed {
        series,
        seen,
        across,
        manifest,
    };
    let mut findings: Vec<(f64, Finding, Option<Remedy>)> = PHENOMENA
        .iter()
        .flat_map(|phenomenon| of_kind(phenomenon, analysed))
        .collect();
    findings.sort_by(|a, b| b.0.total_cmp(&a.0));
    let without_consequence = |(_, finding, remedy)| (finding, remedy);
    findings.into_iter().map(without_consequence).collect()
}

/// What there is of one phenomenon, each with its consequence and what to do about it.
fn of_kind(phenomenon: &Phenomenon, analysed: Analysed<'_>) -> Vec<(f64, Finding, Option<Remedy>)> {
    let series = analysed.series;
    let mut findings: Vec<Finding> = Vec::new();
    for index in 0..series.len() {
        for finding in (phenomenon.recognise)(analysed.case(index)) {
            debug_assert_eq!(finding.kind, phenomenon.kind);
            let same = findings
                .iter_mut()
                .find(|known| is_same(phenomenon, known, &finding, series));
            match same {
                Some(known) => {
                    known.series.push(index);
                    known.series.dedup();
                    // Who knows more speaks for both.
                    if finding.certainty > known.certainty {
                        let series = std::mem::take(&mut known.series);
                        *known = Finding { series, ..finding };
                    }
                }
                None => findings.push(finding),
            }
        }
    }
    findings.retain_mut(|finding| (phenomenon.settle)(finding, analysed));
    findings
        .into_iter()
        .map(|mut finding| {
            let remedy = (phenomenon.remedy)(&finding, analysed);
            finding.next_step = remedy.as_ref().map(Remedy::line);
            let consequence = (phenomenon.consequence)(&finding, &series[finding.series[0]]);
            (consequence, finding, remedy)
        })
        .collect()
}

/// Whether two series of one CPU, and of one work kernel where it matters, show the same phenomenon, so that one sentence does for both.
fn is_same(phenomenon: &Phenomenon, known: &Finding, new: &Finding, series: &[Series]) -> bool {
    let (a, b) = (&series[known.series[0]], &series[new.series[0]]);
    let alike_measured = if OF_THE_MACHINE.contains(&phenomenon.kind) {
        a.cpu == b.cpu && (a.origin == b.origin || origins::are_files_of_two_rates(a, b))
    } else {
        !known.series.contains(&new.series[0])
            && (a.cpu, &a.kernel, &a.origin) == (b.cpu, &b.kernel, &b.origin)
    };
    alike_measured && (phenomenon.same)(&known.evidence, &new.evidence)
}

/// A `same` where whatever two series show is one.
fn always(_: &Evidence, _: &Evidence) -> bool {
    true
}

/// A `same` by the figures of one struct of evidence.
fn agree<E: OfKind>(known: &Evidence, new: &Evidence, same: impl Fn(&E, &E) -> bool) -> bool {
    E::of(known)
        .zip(E::of(new))
        .is_some_and(|(known, new)| same(known, new))
}

/// Whether a figure is another one within so much of it, as a share.
fn is_close(known: f64, new: f64, tolerance: f64) -> bool {
    (known - new).abs() <= tolerance * known.abs()
}

/// The same of figures that there may not be: both, or neither.
fn are_close(known: Option<f64>, new: Option<f64>, tolerance: f64) -> bool {
    match (known, new) {
        (Some(known), Some(new)) => is_close(known, new, tolerance),
        (None, None) => true,
        _ => false,
    }
}

/// Whether the shorter of two lists is part of the other one. One series may show more than the other, such as the paces of a warm-up
/// that only the first segment saw.
fn is_part(known: &[f64], new: &[f64], tolerance: f64) -> bool {
    let (few, many) = if known.len() <= new.len() {
        (known, new)
    } else {
        (new, known)
    };
    few.iter()
        .all(|one| many.iter().any(|other| is_close(*other, *one, tolerance)))
}

/// A `settle` for what one series decides: with other rates that do not show it, the sentence says so.
fn name_rate(finding: &mut Finding, analysed: Analysed<'_>) -> bool {
    if is_alone(finding, analysed) {
        let rate = format::rate(analysed.series[finding.series[0]].rate_hz);
        finding.summary += &format!(" Only the series at {rate} shows it.");
    }
    true
}

/// Whether only one of several series of the same CPU and work kernel shows it. Segments alternate, so all rates saw the
/// same machine: what is in it should show at each.
fn is_alone(finding: &Finding, analysed: Analysed<'_>) -> bool {
    let mine = &analysed.series[finding.series[0]];
    let relatives = analysed.series.iter().filter(|other| {
        (other.cpu, &other.kernel, &other.origin) == (mine.cpu, &mine.kernel, &mine.origin)
    });
    finding.series.len() == 1 && relatives.count() > 1
}

/// Whether all that the core of a series does takes longer at the slow paces, so that they are no state that its work kernel meets. Another rate
/// may have seen it.
fn is_whole_core_slow(case: Case<'_>) -> bool {
    let Analysed { series, seen, .. } = case.analysed;
    let mine = case.series;
    let related = series.iter().zip(seen).filter(|(other, _)| {
        (other.cpu, &other.kernel, &other.origin) == (mine.cpu, &mine.kernel, &mine.origin)
    });
    let mut ratios = related.filter_map(|(_, seen)| seen.whole_core);
    ratios.any(|ratios| ratios.is_slow())
}

/// A `consequence` for what costs nothing by itself.
fn none(_: &Finding, _: &Series) -> f64 {
    0.0
}

/// A figure made of a finding's evidence; 0 where it has another one.
fn figure<E: OfKind>(finding: &Finding, of: impl Fn(&E) -> f64) -> f64 {
    E::of(&finding.evidence).map_or(0.0, of)
}

/// An interrupt costs a CPU hundreds of cycles. What takes less each time is a beat between things that are no losses.
const SHORTEST_NS: f64 = 10.0;

/// How the CPU of a series is named in a sentence.
fn name(series: &Series) -> String {
    series.cpu.map_or("the measured CPU".to_owned(), |cpu| {
        cpu_name(cpu, series.place.as_ref())
    })
}

/// The same at the begin of a sentence.
fn subject(series: &Series) -> String {
    series.cpu.map_or("The measured CPU".to_owned(), |cpu| {
        cpu_name(cpu, series.place.as_ref())
    })
}

/// The series that stands for a finding.
fn first_series<'a>(finding: &Finding, analysed: Analysed<'a>) -> &'a Series {
    &analysed.series[finding.series[0]]
}

/// The CPU of a series in a command, for the reader to fill in where it is not known.
fn cpu(series: &Series) -> String {
    series.cpu.map_or("N".to_owned(), |cpu| cpu.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn read(path: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A kind without a page, or a row of the contract with evidence that the code does not give, would be found by a reader only.
    #[test]
    fn every_kind_has_a_page_and_a_row_of_the_contract() {
        let (contents, contract) = (
            read("../../docs/phenomena/README.md"),
            read("../../docs/report.md"),
        );
        for kind in PHENOMENA.iter().map(|phenomenon| phenomenon.kind.name()) {
            let page = read(&format!("../../docs/phenomena/{kind}.md"));
            assert!(page.starts_with(&format!("# `{kind}`\n")), "{kind}");
            assert!(contents.contains(&format!("[{kind}]({kind}.md)")), "{kind}");
            let row = contract
                .lines()
                .find(|line| line.starts_with(&format!("| `{kind}` |")))
                .unwrap_or_else(|| panic!("{kind}: no row in docs/report.md"));
            let home = kind.replace('-', "_");
            let source = read(&format!("../report/src/evidence/{home}.rs"))
                + &read("../report/src/signal.rs");
            for key in row.split('`').skip(3).step_by(2) {
                let is_field = source.contains(&format!("pub {key}: "));
                let is_word = source.contains(&format!("\"{key}\""));
                assert!(is_field || is_word, "{kind}: {key}");
            }
        }
    }
}
