//! Fixed work: what histograms of how long N us of work take say of interrupts.
//!
//! [`analyse`] takes a `recording::histogram::FixedWork`, measured or published, and returns the [`Report`] that `view`
//! prints (`bandscope.histogram/1`). Samples longer than the body of a histogram are slow (`body`); where an interrupt costs
//! itself they lie in a bump, where the loop goes on slower after it they are spread evenly up to k times N (`smear`), and over several N
//! the smear's end is a line of slope k (`ladder`). Published in 2003; docs/histogram.md. Where it goes on faster, samples are spread evenly down
//! to a k-th of the work (`fast`).

mod body;
mod fast;
mod finding;
mod ladder;
mod smear;
#[cfg(test)]
mod synthetic;

use bandscope_recording::histogram::{FixedWork, Histogram, SCHEMA, SmearEnd};
use bandscope_recording::manifest::{Clock, Machine, Missing, State};
use bandscope_report::format;
use bandscope_report::{Finding, Kind, Percentile};
pub use fast::Fast;
use serde::Serialize;
pub use smear::Smear;

/// `bandscope.histogram/1` as it is printed: what was measured, and what it says. A reader of the measurement skips the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Name and version of this contract.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// Files that it comes from; empty of a measurement just made.
    pub inputs: Vec<String>,
    /// Program and version that measured.
    pub tool: String,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// How it ended.
    pub state: State,
    /// The clock.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::facts_or_null")
    )]
    pub clock: Option<Clock>,
    /// The machine.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::facts"))]
    pub machine: Machine,
    /// The answer in a sentence or two.
    pub verdict: String,
    /// One for each CPU, work kernel and length of work.
    pub histograms: Vec<Described>,
    /// Published ends of smears.
    pub smear_ends: Vec<SmearEnd>,
    /// Phenomena that were recognised.
    pub findings: Vec<Finding>,
    /// What could not be measured.
    pub missing: Vec<Missing>,
}

/// A histogram and what it says.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Described {
    /// As measured.
    #[serde(flatten)]
    pub histogram: Histogram,
    /// What it says.
    pub summary: Summary,
}

/// How slow samples are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// There are too few to say.
    #[default]
    Few,
    /// Evenly.
    Smear,
    /// Half of them within the length of the work.
    Compact,
    /// Otherwise.
    Uneven,
}

/// What one histogram says.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// The shortest sample.
    pub best_ns: f64,
    /// 50, 90, 99, 99.9, 99.99, 99.999; those that rows which were not published could move are left out.
    pub percentiles: Vec<Percentile>,
    /// The longest sample that is known.
    pub longest_ns: f64,
    /// From this duration on a sample is slow: where the body of the histogram ends.
    pub slow_from_ns: f64,
    /// Slow samples that are known.
    pub slow_samples: u64,
    /// Ticks of a busy CPU in the time that was measured.
    pub ticks: Option<f64>,
    /// Ticks that no known sample accounts for; `null` where none is missing, or rows are all there.
    pub ticks_unaccounted: Option<f64>,
    /// How the slow samples are spread.
    pub spread: Spread,
    /// The middle half of the slow samples.
    pub middle_ns: Option<(f64, f64)>,
    /// The smear, where it is one.
    pub smear: Option<Smear>,
    /// Samples faster than most, where they are spread evenly: an interruption makes this loop faster.
    pub fast: Option<Fast>,
    /// All that in a sentence.
    pub sentence: String,
}

/// Percentiles that are reported.
const PERCENTS: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999];
/// Slow samples agree with ticks within so many standard deviations of a count, and this share.
const AGREE_DEVIATIONS: f64 = 4.0;
const AGREE_SHARE: f64 = 0.02;

/// Explains histograms.
pub fn analyse(measured: FixedWork, inputs: &[String]) -> Report {
    let summaries: Vec<Summary> = measured.histograms.iter().map(summary).collect();
    let histograms: Vec<Described> = (measured.histograms.into_iter().zip(summaries))
        .map(|(histogram, summary)| Described { histogram, summary })
        .collect();
    let findings = finding::findings(&histograms, &measured.smear_ends);
    Report {
        schema: SCHEMA,
        inputs: inputs.to_vec(),
        tool: measured.tool,
        started: measured.started,
        state: measured.state,
        clock: measured.clock,
        machine: measured.machine,
        verdict: verdict(&histograms, &findings),
        smear_ends: measured.smear_ends,
        histograms,
        findings,
        missing: measured.missing,
    }
}

impl Described {
    /// How long the work takes at its best, as far as it is known, in nanoseconds; more than 0.
    pub fn work_ns(&self) -> f64 {
        let stated = self.histogram.work_us.map(|us| us * 1e3);
        stated.unwrap_or(self.summary.best_ns).max(1e-3)
    }

    /// Whether as many samples are slow as ticks came, as far as rows were published.
    pub(crate) fn is_ticks(&self) -> bool {
        let slow = self.summary.slow_samples as f64;
        self.summary.ticks.is_some_and(|ticks| {
            let apart = AGREE_DEVIATIONS * ticks.sqrt() + AGREE_SHARE * ticks;
            let least = if self.histogram.absent.is_empty() {
                ticks - apart
            } else {
                0.5 * ticks
            };
            (least..=ticks + apart).contains(&slow)
        })
    }
}

fn summary(histogram: &Histogram) -> Summary {
    let (Some(first), Some(last)) = (histogram.bins.first(), histogram.bins.last()) else {
        return Summary {
            sentence: "No sample was measured.".into(),
            ..Summary::default()
        };
    };
    let slow_from_ns = body::end(histogram);
    let slow = body::slow(histogram, slow_from_ns);
    let slow_samples = slow.iter().map(|bin| bin.count).sum();
    let ticks = (histogram.seconds.zip(histogram.tick_hz)).map(|(seconds, hertz)| seconds * hertz);
    let unaccounted = ticks.map(|ticks| ticks - slow_samples as f64);
    let unaccounted = unaccounted.filter(|ticks| *ticks > 0.0 && !histogram.absent.is_empty());
    let work_ns = (histogram.work_us).map_or(first.from_ns, |us| us * 1e3);
    let smear = smear::smear(slow, &histogram.absent, slow_from_ns, work_ns);
    let few = slow_samples < smear::FEWEST;
    let middle_ns = body::middle(slow);
    let compact = middle_ns.is_some_and(|(from, to)| to - from <= work_ns);
    let mut it = Summary {
        best_ns: first.from_ns,
        percentiles: body::percentiles(histogram, &PERCENTS, unaccounted.unwrap_or(0.0)),
        longest_ns: last.to_ns,
        slow_from_ns,
        slow_samples,
        ticks,
        ticks_unaccounted: unaccounted,
        spread: match (&smear, few) {
            (Some(_), _) => Spread::Smear,
            (None, true) => Spread::Few,
            (None, false) if compact => Spread::Compact,
            (None, false) => Spread::Uneven,
        },
        middle_ns,
        smear,
        fast: fast::fast(&histogram.bins),
        sentence: String::new(),
    };
    it.sentence = finding::sentence(histogram, &it);
    it
}

/// What the findings say, or what there is instead.
fn verdict(histograms: &[Described], findings: &[Finding]) -> String {
    match (findings.first(), histograms) {
        // A sentence of slow samples says nothing of the fast ones.
        (Some(finding), [_]) if finding.kind == Kind::InterruptHelps => finding.summary.clone(),
        (_, [only]) => only.summary.sentence.clone(),
        (Some(finding), _) => finding.summary.clone(),
        (None, []) => "No histogram, and no line through the ends of smears.".into(),
        (None, several) => {
            let few = several.iter().filter(|it| it.summary.spread == Spread::Few);
            match few.count() {
                few if few == several.len() => {
                    "Too few samples are slow to say how interrupts act on this work.".into()
                }
                _ => format!(
                    "No smear: in {} histograms{} the slow samples are not spread evenly up to a multiple of the work.",
                    several.len(),
                    longest_work(several)
                ),
            }
        }
    }
}

fn longest_work(histograms: &[Described]) -> String {
    let works = histograms.iter().map(Described::work_ns);
    let longest = works.fold(0.0, f64::max);
    format!(" of work up to {}", format::duration(longest))
}
