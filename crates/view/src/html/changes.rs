//! Two recordings in one page: what changed between them, as tables in the words of the text, and both reports as one that the script can draw.

use crate::text::recordings;
use bandscope_analysis::Analysis;
use bandscope_recording::Manifest;
use bandscope_report::Report;
use bandscope_studies::compare::{Comparison, Delta, SeriesPair};
use serde::Serialize;

/// What the two are called.
pub(super) const SIDES: [&str; 2] = ["A", "B"];

/// What changed from the first recording to the second, as the page shows it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Changes {
    /// The comparison itself, `bandscope.compare/1`, for programs.
    comparison: Comparison,
    /// What B's recording says of itself; A's is the report's.
    recording: Option<Manifest>,
    tables: Vec<Figures>,
}

/// A table of figures of A and B.
#[derive(Clone, Debug, Serialize)]
struct Figures {
    title: String,
    rows: Vec<Row>,
}

/// A figure, worded.
#[derive(Clone, Debug, Serialize)]
struct Row {
    name: String,
    a: String,
    b: String,
    interval: String,
    changed: bool,
    /// The interval of B's less A's and that itself, in parts of the largest of all of these and both sides, for the picture beside; `null` without an interval.
    reach: Option<[f64; 3]>,
}

impl Changes {
    pub(super) fn new(comparison: &Comparison, [_, b]: &[Analysis; 2]) -> Changes {
        let pairs = comparison.recordings.iter().flat_map(|both| &both.series);
        Changes {
            comparison: comparison.clone(),
            recording: b.report.recording.clone(),
            tables: pairs.flat_map(tables).collect(),
        }
    }
}

/// Figures, lines of the ledger and bands of a pair.
fn tables(pair: &SeriesPair) -> Vec<Figures> {
    let figures = pair.figures.iter();
    let figures = figures.map(|delta| Row::new(recordings::figure(&delta.name), delta));
    let lines = recordings::lines(pair).into_iter();
    let lines = lines.map(|delta| Row::new(delta.name.to_string(), delta));
    let bands = pair.bands.iter();
    let bands = bands.map(|band| Row::new(recordings::band(band), &band.share));
    let title = recordings::title(pair);
    let tables = [
        (title.clone(), figures.collect::<Vec<Row>>()),
        (format!("{title}: time per second"), lines.collect()),
        (
            format!("{title}: share of each band, by its ns per unit in A and B"),
            bands.collect(),
        ),
    ];
    let made = tables
        .into_iter()
        .map(|(title, rows)| Figures { title, rows });
    made.filter(|table| !table.rows.is_empty()).collect()
}

impl Row {
    fn new(name: String, delta: &Delta) -> Row {
        let of_size = |[low, high]: [f64; 2]| {
            let all = [delta.a, delta.b, low, high].map(f64::abs);
            let size = all.into_iter().fold(0.0, f64::max);
            let parts = [low, delta.b - delta.a, high].map(|number| number / size);
            parts.iter().all(|part| part.is_finite()).then_some(parts)
        };
        Row {
            name,
            a: recordings::value(delta.unit, delta.a),
            b: recordings::value(delta.unit, delta.b),
            interval: recordings::interval(delta),
            changed: delta.changed,
            reach: delta.interval.and_then(of_size),
        }
    }
}

/// Both as one analysis, A's series before B's. What is said of CPUs together is said within each only: the two were not measured at once.
pub(super) fn together(comparison: &Comparison, [a, b]: [Analysis; 2]) -> Analysis {
    let first_of_b = a.report.series.len();
    let [a, b] = [(SIDES[0], a), (SIDES[1], b)].map(|(letter, mut side)| {
        for finding in &mut side.report.findings {
            finding.summary = format!("{letter}: {}", finding.summary);
        }
        for warning in &mut side.report.warnings {
            warning.message = format!("{letter}: {}", warning.message);
        }
        side
    });
    let mut both = Analysis {
        report: Report {
            verdict: comparison.verdict.clone(),
            cpus: Vec::new(),
            ..a.report
        },
        ..a
    };
    // Pyramids are told apart by their place.
    let pad = |analysis: &mut Analysis| {
        let series = analysis.report.series.len();
        analysis.pyramids.resize_with(series, Default::default);
    };
    pad(&mut both);
    let mut b = b;
    pad(&mut b);
    both.pyramids.append(&mut b.pyramids);
    both.details.append(&mut b.details);
    let report = &mut both.report;
    report.inputs.append(&mut b.report.inputs);
    report.series.append(&mut b.report.series);
    report.warnings.append(&mut b.report.warnings);
    // The same advice once.
    for remedy in b.report.remedies {
        if !report.remedies.contains(&remedy) {
            report.remedies.push(remedy);
        }
    }
    for finding in &mut b.report.findings {
        let series = finding.series.iter_mut();
        series.for_each(|index| *index += first_of_b);
    }
    // Each side's most consequential first, as they stand in its own report, in turns.
    let (mut of_a, mut of_b) = (
        std::mem::take(&mut report.findings).into_iter(),
        b.report.findings.into_iter(),
    );
    loop {
        let next = [of_a.next(), of_b.next()];
        if next.iter().all(Option::is_none) {
            return both;
        }
        report.findings.extend(next.into_iter().flatten());
    }
}
