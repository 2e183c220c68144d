//! `bistable-pace`: the same work at paces that differ by more than frequency noise, each held for quanta on end.
//!
//! Published: 4174 against 780 counts (5.35 times) on Sapphire Rapids, for milliseconds or for seconds. One work
//! kernel without counters cannot tell a hidden state of the core from a lower frequency, so alone it is `likely` at best, and
//! `possible` where a step of frequency would do. A second work kernel whose segments alternate with the first saw the same frequencies: if it does
//! not change, or changes by another ratio, the state is the core's, and certain. Where both change by one ratio within reach of frequency,
//! it is a frequency and no finding of this kind. Shares are of the time that gaps leave, from the edges ([`crate::pace::edges`]): quanta with an edge
//! inside count for both sides.
//!
//! Where the recording itself forbade speculative store bypass in every other segment, and each of these is slower than each of the others, what
//! decides the pace was put to the test: that is certain ([`crate::pace::store_bypass`]).

use super::frequency_steps::is_frequency;
use super::{
    Analysed, Case, Phenomenon, agree, figure, is_alone, is_part, is_whole_core_slow, name,
    name_rate, smt_neighbour, warm_up,
};
use crate::pace::whole_core::COMPANY;
use bandscope_report::evidence::{self, OfKind};
use bandscope_report::remedies::{self, Remedy};
use bandscope_report::{Band, Certainty, Finding, Kind, Series};

pub(super) const PHENOMENON: Phenomenon = Phenomenon {
    kind: Kind::BistablePace,
    recognise,
    // Bands of one machine agree within the spread of its frequency.
    same: |known, new| {
        agree(known, new, |known: &evidence::BistablePace, new| {
            known.switched_by == new.switched_by
                && (new.switched_by.is_some()
                    || is_part(&known.ns_per_unit, &new.ns_per_unit, 0.03))
        })
    },
    settle,
    consequence: |finding, _| figure(finding, lost),
    remedy,
};

/// Until it is certain.
fn remedy(finding: &Finding, _: Analysed<'_>) -> Option<Remedy> {
    (finding.certainty < Certainty::Certain && !is_switched(finding)).then(|| {
        remedies::other_kernels(
            "mulss80,ftq-float20-stack",
            "whether a lower clock frequency slows both work kernels alike",
        )
    })
}

/// Bands further apart than this are paces of their own.
const MIN_RATIO_APART: f64 = 1.05;
/// Quanta that a stay must last; one that is cut off by the file's end may last longer than it shows.
const DWELL: f64 = 3.0;
const CUT_DWELL: f64 = 2.0;
/// Share of a pace's time without gaps that is in quanta of its own, as a part of that share of all paces. The rest is in parts of quanta: short
/// disturbances, of which a single longer one makes no pace.
const WHOLE: f64 = 0.5;
/// Share of changes with at most one edge quantum.
const SHARP: f64 = 0.8;
/// Turbo and idle states of one core seldom differ by more in frequency.
const FREQUENCY: f64 = 1.5;
/// Share of the quanta below which a pace is a curiosity of the machine's noise.
const MIN_SHARE: f64 = 0.005;

/// Changes of pace after which a work kernel that alternates with this one would have shown them too.
const ENOUGH: u64 = 8;
/// Logarithms of the ratios of two work kernels within this share of each other are the same.
const SAME_DISTANCE: f64 = 0.15;
/// Share of the logarithm of the ratio below which another work kernel does not show it.
const ABSENT: f64 = 0.3;
/// Share of the quantum by which a dwell of three may be short.
const PLACED: f64 = 0.05;

/// Share of the time that the slower paces cost; other losses of pace, such as noise about one of them, are not theirs.
fn lost(evidence: &evidence::BistablePace) -> f64 {
    let (paces, shares) = (&evidence.ns_per_unit, &evidence.shares);
    let fastest = paces.first().copied().unwrap_or(0.0);
    let parts = paces.iter().zip(shares);
    parts
        .map(|(pace, share)| share * (1.0 - fastest / pace))
        .sum()
}

/// One pace: the bands within [`MIN_RATIO_APART`] of each other.
struct Pace {
    ns_per_unit: f64,
    share: f64,
    median_dwell_s: f64,
    stays: u64,
    held: bool,
}

/// Stays with and without store bypass that make it certain: that four come apart from four by accident happens once in seventy times, and two
/// from two once in six.
const STAYS: usize = 4;

/// The pace that the recording switched by store bypass.
fn switched(case: Case<'_>) -> Option<Finding> {
    let by = case.seen.by_store_bypass?;
    let [without, with] = by.pace.map(|ticks| ticks / case.series.clock.ticks_per_ns);
    if !by.is_apart || without <= with * MIN_RATIO_APART {
        return None;
    }
    let segment_s = case.series.duration_s / case.series.segments.max(1) as f64;
    Some(Finding {
        kind: Kind::BistablePace,
        series: vec![case.index],
        certainty: Certainty::Likely,
        summary: format!(
            "Store bypass decides the pace of {} on {}: {with:.2} ns per unit with it, {without:.2} ns without, {:.2} times.",
            case.series.kernel,
            name(case.series),
            without / with,
        ),
        evidence: evidence::BistablePace {
            median_dwells_s: vec![segment_s; 2],
            ns_per_unit: vec![with, without],
            shares: vec![by.shares[1], by.shares[0]],
            switched_by: Some(evidence::Switch::StoreBypass),
        }
        .into(),
        next_step: None,
    })
}

fn is_switched(finding: &Finding) -> bool {
    let evidence = evidence::BistablePace::of(&finding.evidence);
    evidence.is_some_and(|evidence| evidence.switched_by.is_some())
}

fn recognise(case: Case<'_>) -> Vec<Finding> {
    if let Some(finding) = switched(case) {
        return vec![finding];
    }
    let paces: Vec<Pace> = paces(case)
        .into_iter()
        .filter(|pace| pace.share >= MIN_SHARE)
        .collect();
    let apart = paces.len() >= 2 && paces.iter().all(|pace| pace.held);
    // What slows down all that the core does is its clock's: `frequency-steps` says it.
    if !apart
        || is_whole_core_slow(case)
        || case.seen.sharp_share < SHARP
        || smt_neighbour::explains(case)
    {
        return Vec::new();
    }
    if paces[1..].iter().all(|pace| pace.stays <= 1) {
        let share: f64 = paces[1..].iter().map(|pace| pace.share).sum();
        if warm_up::explains(case, share * case.series.duration_s) {
            return Vec::new();
        }
    }
    let numbers = |of: fn(&Pace) -> f64| paces.iter().map(of).collect::<Vec<f64>>();
    let (fastest, slowest) = (&paces[0], &paces[paces.len() - 1]);
    let ratio = slowest.ns_per_unit / fastest.ns_per_unit;
    let list = match paces.as_slice() {
        [fast, slow] => {
            let [fast, slow] = [fast, slow]
                .map(|pace| format!("{:.2} ns ({:.1} %)", pace.ns_per_unit, pace.share * 100.0));
            format!("{fast} and {slow} per unit")
        }
        _ => format!(
            "from {:.2} to {:.2} ns per unit, a ratio of {ratio:.2}",
            fastest.ns_per_unit, slowest.ns_per_unit
        ),
    };
    vec![Finding {
        kind: Kind::BistablePace,
        series: vec![case.index],
        certainty: if ratio > FREQUENCY {
            Certainty::Likely
        } else {
            Certainty::Possible
        },
        summary: format!(
            "The same work runs at {} paces on {}{}: {list}.",
            paces.len(),
            name(case.series),
            of_kernel(case),
        ),
        evidence: evidence::BistablePace {
            median_dwells_s: numbers(|pace| pace.median_dwell_s),
            ns_per_unit: numbers(|pace| pace.ns_per_unit),
            shares: numbers(|pace| pace.share),
            switched_by: None,
        }
        .into(),
        next_step: None,
    }]
}

/// Which work kernel it is, where another one ran on the same CPU.
fn of_kernel(case: Case<'_>) -> String {
    let mine = case.series;
    let mut others = case.analysed.series.iter();
    let is_one_of_several = others.any(|other| {
        (other.cpu, &other.origin) == (mine.cpu, &mine.origin) && other.kernel != mine.kernel
    });
    match is_one_of_several {
        true => format!(" with {}", mine.kernel),
        false => String::new(),
    }
}

fn paces(case: Case<'_>) -> Vec<Pace> {
    let mut paces: Vec<Pace> = Vec::new();
    let mut last = 0.0;
    let edges = &case.seen.edges;
    // Quanta with a gap or an edge are in no band.
    let in_bands: f64 = case.series.bands.iter().map(|band| band.share).sum();
    for (number, (band, stays)) in case.series.bands.iter().zip(&case.seen.stays).enumerate() {
        let least = if stays.cut { CUT_DWELL } else { DWELL };
        let placed = edges.dwells.get(number).copied().flatten();
        let dwell_s = placed.map(|ticks| ticks / case.series.clock.ticks_per_ns / 1e9);
        // A dwell of three quanta holds two whole ones, and the parts of two more.
        let held = stays.median_quanta >= least
            || dwell_s.is_some_and(|dwell| dwell * case.series.rate_hz >= DWELL - PLACED);
        let share = edges.shares.get(number).copied().unwrap_or(band.share);
        let held = held && band.share >= WHOLE * in_bands * share;
        let band = Band {
            share,
            median_dwell_s: dwell_s.unwrap_or(band.median_dwell_s),
            ..band.clone()
        };
        match paces
            .last_mut()
            .filter(|_| band.ns_per_unit <= last * MIN_RATIO_APART)
        {
            Some(pace) => join(pace, &band, held),
            None => paces.push(Pace {
                ns_per_unit: band.ns_per_unit,
                share: band.share,
                median_dwell_s: band.median_dwell_s,
                stays: band.stays,
                held,
            }),
        }
        last = band.ns_per_unit;
    }
    paces
}

fn join(pace: &mut Pace, band: &Band, held: bool) {
    let share = pace.share + band.share;
    pace.ns_per_unit =
        (pace.ns_per_unit * pace.share + band.ns_per_unit * band.share) / share.max(1e-12);
    pace.median_dwell_s = pace.median_dwell_s.max(band.median_dwell_s);
    pace.stays += band.stays;
    pace.share = share;
    pace.held |= held;
}

/// What the other work kernels of the same CPU and run say of it.
fn settle(finding: &mut Finding, analysed: Analysed<'_>) -> bool {
    let first = finding.series[0];
    if is_switched(finding) {
        // All rates have their segments in the same stays.
        let mut by =
            (finding.series.iter()).filter_map(|&index| analysed.seen[index].by_store_bypass);
        if by.any(|by| by.stays.iter().all(|&number| number >= STAYS)) {
            finding.certainty = Certainty::Certain;
        }
        return true;
    }
    let mine = &analysed.series[first];
    let ratio = span(mine);
    let (mut agree, mut differ) = (0, 0);
    for (other, seen) in analysed.series.iter().zip(analysed.seen) {
        let related = (other.cpu, &other.origin) == (mine.cpu, &mine.origin);
        if !related || other.kernel == mine.kernel {
            continue;
        }
        let distance = span(other).ln() / ratio.ln();
        // A clock that steps need not have been at all its steps in both.
        let clock = distance >= ABSENT && is_frequency(other, &seen.stays);
        if (distance - 1.0).abs() <= SAME_DISTANCE || clock {
            agree += 1;
        } else {
            differ += 1;
        }
    }
    if agree > 0 && ratio <= FREQUENCY {
        return false;
    }
    let changes = (finding.series.iter()).map(|&index| changes(analysed.case(index)));
    let is_no_clock = agree == 0 && differ > 0 && changes.sum::<u64>() >= ENOUGH;
    if !is_no_clock && is_frequency(mine, &analysed.seen[first].stays) {
        // Steps of one clock are no states of their own, unless another work kernel rules the clock out.
        return false;
    }
    if is_alone(finding, analysed) {
        finding.certainty = finding.certainty.min(Certainty::Possible);
    } else if is_no_clock && !may_be_company(ratio, analysed.case(first)) {
        finding.certainty = Certainty::Certain;
    }
    name_rate(finding, analysed)
}

/// Changes between paces: those between bands of one pace are none.
fn changes(case: Case<'_>) -> u64 {
    let paces = paces(case);
    let all: u64 = paces.iter().map(|pace| pace.stays).sum();
    let most = paces.iter().map(|pace| pace.stays).max().unwrap_or(0);
    case.seen.edges.number.min(2 * (all - most))
}

/// Whether something else on the core would do that: it slows a chain of registers hardly, and others below twice.
fn may_be_company(ratio: f64, case: Case<'_>) -> bool {
    let kernel = case.analysed.manifest.kernel(&case.series.kernel);
    ratio < COMPANY
        && !kernel.is_some_and(|kernel| kernel.registers_only)
        && !smt_neighbour::is_alone_on_its_core(case)
}

/// Slowest over fastest band of a series; 1 where there is one.
fn span(series: &Series) -> f64 {
    let mut shown = series.bands.iter().filter(|band| band.share >= MIN_SHARE);
    match (shown.next(), shown.next_back()) {
        (Some(fastest), Some(slowest)) => slowest.ns_per_unit / fastest.ns_per_unit,
        _ => 1.0,
    }
}
