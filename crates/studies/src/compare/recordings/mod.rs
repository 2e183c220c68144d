//! Two recordings: series by series, what changed, by how much, and whether that is more than blocks of either scatter by.
//!
//! Figures are those of each one's report (`figures.rs`); intervals come from blocks of time (`crate::blocks`). Bands, signals and findings are matched first (`matches.rs`). What differs within the interval, or by less than a measurement
//! can mean, is no change.

mod figures;
mod matches;

use crate::Error;
use crate::blocks::{self, Blocks};
use crate::conditions::Unit;
use bandscope_analysis::analyse;
use bandscope_recording::Source;
use bandscope_report::format;
use bandscope_report::{Cause, Certainty, Kind, Report, Series};
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;

/// What a [`Delta`] is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Figure {
    /// Work that was done, of what the fastest band would have done.
    #[default]
    Fraction,
    /// Time that the units of a series or band take; in a ledger, time lost to a slower pace.
    Pace,
    /// Share of the time that went to gaps.
    Lost,
    /// Gaps in a second.
    Gaps,
    /// The longest gap of a series.
    LongestGap,
    /// The longest gap of each block, their mean.
    LongestGapOfBlock,
    /// Share of the quanta that are in a band.
    Share,
    /// In a ledger, time that was worked.
    Work,
    /// In a ledger, the part of the slower pace that is the clock frequency's.
    PaceOfFrequency,
    /// In a ledger, the part that is the core's own.
    PaceOfMicroarchitecture,
    /// In a ledger, time that went to gaps of a cause.
    Gap(Cause),
    /// In a ledger, time that the measurement took.
    Measurement,
    /// In a ledger, the rest.
    Unexplained,
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Figure::Fraction => "fraction",
            Figure::Pace => "pace",
            Figure::Lost => "lost",
            Figure::Gaps => "gaps",
            Figure::LongestGap => "longest-gap",
            Figure::LongestGapOfBlock => "longest-gap-of-a-block",
            Figure::Share => "share",
            Figure::Work => "work",
            Figure::PaceOfFrequency => "pace: frequency",
            Figure::PaceOfMicroarchitecture => "pace: microarchitecture",
            Figure::Gap(cause) => return write!(f, "gap: {cause}"),
            Figure::Measurement => "measurement",
            Figure::Unexplained => "unexplained",
        })
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A figure of both.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delta {
    /// What it is. May hold the name of a task, untrusted.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: Figure,
    /// Its unit.
    pub unit: Unit,
    /// Of A.
    pub a: f64,
    /// Of B.
    pub b: f64,
    /// Of B less A, 95 %; `null` where blocks do not say.
    pub interval: Option<[f64; 2]>,
    /// Whether it changed: zero lies outside of an interval 1.8 times as wide, because there are many figures.
    pub changed: bool,
}

/// A band of both, or of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BandPair {
    /// Pace in A and in B, where it has one.
    pub ns_per_unit: [Option<f64>; 2],
    /// Share of the quanta.
    pub share: Delta,
    /// Pace of its quanta, where both have it.
    pub pace: Option<Delta>,
}

/// Which of two recordings have a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SignalChange {
    /// A and B.
    #[default]
    Both,
    /// B, and A would have shown it.
    Appeared,
    /// A, and B would have shown it.
    Vanished,
    /// One of them, and the other would not have shown it.
    Undecided,
}

impl SignalChange {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            SignalChange::Both => "both",
            SignalChange::Appeared => "appeared",
            SignalChange::Vanished => "vanished",
            SignalChange::Undecided => "undecided",
        }
    }
}

/// A periodic signal of both, or of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignalPair {
    /// In A or, where that has none, in B.
    pub frequency_hz: f64,
    /// What makes it, as a ledger has it, where one of them knows. Untrusted.
    pub cause: Option<Cause>,
    /// Nanoseconds for each event in A and in B.
    pub ns_per_event: [Option<f64>; 2],
    /// Which of them have it.
    pub what: SignalChange,
    /// Whether a finding of one of them tells of it: crowds of gaps have lines that nothing makes.
    pub found: bool,
}

/// A kind of finding that not both have.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingPair {
    /// Its kind.
    pub kind: Kind,
    /// How sure it is in A and in B.
    pub certainty: [Option<Certainty>; 2],
}

/// A series of A and the one of B that it is held against.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesPair {
    /// CPU of each.
    pub cpu: [Option<u32>; 2],
    /// Nominal rate of A's.
    pub rate_hz: f64,
    /// Work kernel of A's. Untrusted.
    pub kernel: String,
    /// Blocks of each; with fewer than 5 nothing is called a change.
    pub blocks: [usize; 2],
    /// `fraction`, `pace`, `lost`, `gaps`, `longest-gap`, `longest-gap-of-a-block`.
    pub figures: Vec<Delta>,
    /// Lines of the ledger, in ns per second of wall time.
    pub ledger: Vec<Delta>,
    /// Bands, fastest first.
    pub bands: Vec<BandPair>,
    /// Signals.
    pub signals: Vec<SignalPair>,
}

/// What two recordings say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recordings {
    /// One for each series of A that has one in B.
    pub series: Vec<SeriesPair>,
    /// Kinds of findings that not both have, or not as sure.
    pub findings: Vec<FindingPair>,
}

/// Less than this share of a pace, of the gaps or of the quanta is nothing: clocks of two runs are calibrated no better.
const SMALL_SHARE: f64 = 1e-3;
/// Less than this of a second is nothing, in ns per second.
const SMALL_LOSS: f64 = 1e3;
/// Some twenty figures are compared at once, so what is called a change lies outside of an interval this much wider: of 19 degrees of freedom and more, in
/// less than one case in a thousand where nothing changed.
const MANY: f64 = 1.8;

/// Compares recordings; also what could not be compared, in sentences.
///
/// # Errors
/// If one cannot be read, or no series of one has its like in the other.
pub fn compare(a: &dyn Source, b: &dyn Source) -> Result<(Recordings, Vec<String>), Error> {
    let reports = [analyse(a, &[])?.report, analyse(b, &[])?.report];
    let mut notes = Vec::new();
    let mut series = Vec::new();
    let pairs = pairs(&reports, &mut notes);
    if pairs.is_empty() {
        return Err(Error::NothingInCommon(notes.join(" ")));
    }
    for (of_a, of_b) in pairs {
        let (one, other) = (&reports[0].series[of_a], &reports[1].series[of_b]);
        let blocks = [Blocks::new(a, of_a, one)?, Blocks::new(b, of_b, other)?];
        series.push(pair([one, other], &reports, &blocks));
    }
    if series.iter().any(|pair| {
        pair.blocks
            .iter()
            .any(|blocks| *blocks < blocks::MIN_BLOCKS)
    }) {
        notes.push("A series is too short for five blocks: nothing is called a change.".into());
    }
    notes.push(
        "Intervals are of 95 %, from blocks of time within each recording. Another recording of the same machine may differ by more.".into(),
    );
    let findings = matches::findings(&reports[0].findings, &reports[1].findings);
    Ok((Recordings { series, findings }, notes))
}

/// Which series belong together: same CPU, rate and work kernel; else the only ones of a rate and work kernel; else the only ones.
fn pairs(reports: &[Report; 2], notes: &mut Vec<String>) -> Vec<(usize, usize)> {
    let [a, b] = [&reports[0].series, &reports[1].series];
    if let ([_], [_]) = (&a[..], &b[..]) {
        return vec![(0, 0)];
    }
    let alike =
        |one: &Series, other: &Series| one.rate_hz == other.rate_hz && one.kernel == other.kernel;
    let mut pairs = Vec::new();
    for (index, one) in a.iter().enumerate() {
        let exact = b
            .iter()
            .position(|other| alike(one, other) && one.cpu == other.cpu);
        let only = |all: &[Series]| {
            let mut such = all
                .iter()
                .enumerate()
                .filter(|(_, other)| alike(one, other));
            such.next()
                .filter(|_| such.next().is_none())
                .map(|(index, _)| index)
        };
        match exact.or_else(|| only(a).and_then(|_| only(b))) {
            Some(other) => pairs.push((index, other)),
            None => notes.push(format!(
                "A's {} has no counterpart in B.",
                subject([one.cpu; 2], one.rate_hz, &one.kernel)
            )),
        }
    }
    let used: BTreeSet<usize> = pairs.iter().map(|pair| pair.1).collect();
    for (_, other) in b
        .iter()
        .enumerate()
        .filter(|(index, _)| !used.contains(index))
    {
        notes.push(format!(
            "B's {} has no counterpart in A.",
            subject([other.cpu; 2], other.rate_hz, &other.kernel)
        ));
    }
    pairs
}

/// A series, in words.
pub fn subject(cpu: [Option<u32>; 2], rate_hz: f64, kernel: &str) -> String {
    let cpu = match cpu {
        [Some(a), Some(b)] if a != b => format!("CPU {a} against {b}"),
        [Some(cpu), _] | [None, Some(cpu)] => format!("CPU {cpu}"),
        _ => "series".into(),
    };
    format!("{cpu} at {} with {kernel}", format::rate(rate_hz))
}

/// A figure with the interval that blocks give; less than `small` is no change.
fn delta(
    name: Figure,
    unit: Unit,
    [a, b]: [f64; 2],
    of_blocks: [Vec<f64>; 2],
    small: f64,
) -> Delta {
    let [of_a, of_b] = of_blocks;
    let reach = blocks::reach(&of_a, &of_b);
    let difference = b - a;
    Delta {
        name,
        unit,
        a,
        b,
        interval: reach.map(|reach| [difference - reach, difference + reach]),
        changed: reach
            .is_some_and(|reach| difference.abs() > MANY * reach && difference.abs() > small),
    }
}

fn pair(series: [&Series; 2], reports: &[Report; 2], of: &[Blocks; 2]) -> SeriesPair {
    SeriesPair {
        cpu: series.map(|series| series.cpu),
        rate_hz: series[0].rate_hz,
        kernel: series[0].kernel.clone(),
        blocks: [of[0].blocks.len(), of[1].blocks.len()],
        figures: figures::figures(series, of),
        ledger: figures::ledger(series, of),
        bands: matches::bands(series, of),
        signals: matches::signals(series, reports),
    }
}
