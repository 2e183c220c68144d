//! Findings: the phenomena that were recognised. One file a phenomenon, one line of [`PHENOMENA`].
//!
//! A finding never says more than its evidence: what one rate, one work kernel or no counters cannot decide is
//! `possible` or `likely`, and its `next_step` is the command that would decide it. A [`Phenomenon`] recognises in one series; what
//! agrees between series becomes one finding; then it is settled against everything that was measured.

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
mod quantisation;
mod sampling_artefact;
mod smt_neighbour;
mod stolen_time;
mod sub_loop_mixture;
mod synchronous_gaps;
mod throttled;
mod time_away;
mod warm_up;

use crate::alternation::Pattern;
use crate::cpus::Across;
use crate::drift::Slope;
use crate::dwell::Stays;
use crate::edges;
use crate::helps::Changes;
use crate::interrupted::Line;
use crate::origins::{self, Alias};
use crate::quantisation::Quantisation;
use crate::report::{Evidence, Finding, Series};
use crate::warm_up::Observed;
use crate::words;
use bandscope_recording::Manifest;
pub(crate) use throttled::stopped_by;

/// What one series shows, beyond what the report says of it.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Stays in each band of the report, in its order.
    pub stays: Vec<Stays>,
    /// Share of the changes of band that took at most one quantum.
    pub sharp_share: f64,
    /// What the instants at which the pace changes show.
    pub edges: edges::Shown,
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
    /// What quanta with a gap lose beyond it.
    pub interrupted: Option<Line>,
}

/// A series under its index.
#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    index: usize,
    series: &'a Series,
    seen: &'a Seen,
    everything: Everything<'a>,
}

/// All that was analysed, for what only several series decide.
#[derive(Clone, Copy, Debug)]
struct Everything<'a> {
    series: &'a [Series],
    seen: &'a [Seen],
    across: &'a Across,
    manifest: &'a Manifest,
}

/// A phenomenon: how it is recognised, and what becomes of it when several series are seen together.
struct Phenomenon {
    /// Its name in the catalogue.
    kind: &'static str,
    /// Recognises it in one series.
    recognise: fn(Case<'_>) -> Vec<Finding>,
    /// Evidence that must agree for two series of one CPU to show the same instance of it: key and relative tolerance.
    /// Findings that agree become one.
    same: &'static [(&'static str, f64)],
    /// What the other series say of it: raises or lowers its certainty, or completes its words. False drops it.
    settle: fn(&mut Finding, Everything<'_>) -> bool,
    /// Share of the wall time that it accounts for, by which findings are ordered.
    consequence: fn(&Finding, &Series) -> f64,
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
const OF_THE_MACHINE: [&str; 3] = ["periodic-interference", "alias", "sampling-artefact"];

/// All findings, most consequential first.
pub fn all(series: &[Series], seen: &[Seen], across: &Across, manifest: &Manifest) -> Vec<Finding> {
    let everything = Everything {
        series,
        seen,
        across,
        manifest,
    };
    let mut findings: Vec<(f64, Finding)> = PHENOMENA
        .iter()
        .flat_map(|phenomenon| of_kind(phenomenon, everything))
        .collect();
    findings.sort_by(|a, b| b.0.total_cmp(&a.0));
    findings.into_iter().map(|(_, finding)| finding).collect()
}

/// What there is of one phenomenon, each with its consequence.
fn of_kind(phenomenon: &Phenomenon, everything: Everything<'_>) -> Vec<(f64, Finding)> {
    let Everything { series, seen, .. } = everything;
    let mut findings: Vec<Finding> = Vec::new();
    for (index, (one, seen)) in series.iter().zip(seen).enumerate() {
        let case = Case {
            index,
            series: one,
            seen,
            everything,
        };
        for finding in (phenomenon.recognise)(case) {
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
    findings.retain_mut(|finding| (phenomenon.settle)(finding, everything));
    findings
        .into_iter()
        .map(|finding| {
            (
                (phenomenon.consequence)(&finding, &series[finding.series[0]]),
                finding,
            )
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
    alike_measured
        && phenomenon
            .same
            .iter()
            .all(|&(key, tolerance)| alike(known, new, key, tolerance))
}

fn alike(a: &Finding, b: &Finding, key: &str, tolerance: f64) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= tolerance * a.abs();
    match (a.evidence.get(key), b.evidence.get(key)) {
        (Some(Evidence::Number(a)), Some(Evidence::Number(b))) => close(*a, *b),
        // One series may show more of them than the other, such as the paces of a warm-up that only the first segment saw.
        (Some(Evidence::Numbers(a)), Some(Evidence::Numbers(b))) => {
            let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
            few.iter()
                .all(|one| many.iter().any(|other| close(*other, *one)))
        }
        (Some(Evidence::Text(a)), Some(Evidence::Text(b))) => a == b,
        (None, None) => true,
        // What one series alone can say is no contradiction.
        _ => tolerance.is_infinite(),
    }
}

/// A `settle` for what one series decides: with other rates that do not show it, the sentence says so.
fn name_rate(finding: &mut Finding, everything: Everything<'_>) -> bool {
    if is_alone(finding, everything) {
        let rate = words::rate(everything.series[finding.series[0]].rate_hz);
        finding.summary = format!(
            "{} (at {rate} only).",
            finding.summary.trim_end_matches('.')
        );
    }
    true
}

/// Whether only one of several series of the same CPU and work kernel shows it. Segments alternate, so all rates saw the
/// same machine: what is in it should show at each.
fn is_alone(finding: &Finding, everything: Everything<'_>) -> bool {
    let mine = &everything.series[finding.series[0]];
    let relatives = everything.series.iter().filter(|other| {
        (other.cpu, &other.kernel, &other.origin) == (mine.cpu, &mine.kernel, &mine.origin)
    });
    finding.series.len() == 1 && relatives.count() > 1
}

/// A `consequence` for what costs nothing by itself.
fn none(_: &Finding, _: &Series) -> f64 {
    0.0
}

/// A number of the evidence; 0 where it is none.
fn number(finding: &Finding, key: &str) -> f64 {
    match finding.evidence.get(key) {
        Some(Evidence::Number(number)) => *number,
        _ => 0.0,
    }
}

/// A number of the evidence, or another one where there is none.
fn number_or(finding: &Finding, key: &str, otherwise: f64) -> f64 {
    match finding.evidence.get(key) {
        Some(Evidence::Number(number)) => *number,
        _ => otherwise,
    }
}

/// How the CPU of a series is named in a sentence.
fn name(series: &Series) -> String {
    series
        .cpu
        .map_or("the measured CPU".to_owned(), |cpu| format!("CPU {cpu}"))
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
        for kind in PHENOMENA.iter().map(|phenomenon| phenomenon.kind) {
            let page = read(&format!("../../docs/phenomena/{kind}.md"));
            assert!(page.starts_with(&format!("# `{kind}`\n")), "{kind}");
            assert!(contents.contains(&format!("[{kind}]({kind}.md)")), "{kind}");
            let row = contract
                .lines()
                .find(|line| line.starts_with(&format!("| `{kind}` |")))
                .unwrap_or_else(|| panic!("{kind}: no row in docs/report.md"));
            let home = format!("src/findings/{}", kind.replace('-', "_"));
            let parts = std::fs::read_dir(&home).into_iter().flatten();
            let parts = parts.map(|part| part.unwrap().path().display().to_string());
            let source: String = (std::iter::once(format!("{home}.rs")).chain(parts))
                .map(|path| read(&path))
                .collect();
            for key in row.split('`').skip(3).step_by(2) {
                assert!(source.contains(&format!("\"{key}\"")), "{kind}: {key}");
            }
        }
    }
}
