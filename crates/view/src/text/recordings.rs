//! Two recordings for a terminal: a table of figures, ledger, bands and signals for each pair of series.

use super::table::{Cell, Page, Paint, Side, Table};
use crate::numbers;
use bandscope_studies::compare::{BandPair, Delta, Figure, Recordings, SeriesPair, SignalChange};
use bandscope_studies::conditions::Unit;

/// Pairs that are shown whole.
const PAIRS: usize = 4;
/// Lines of a ledger, those that changed and the largest.
const LINES: usize = 12;

/// All pairs, then the findings.
pub(super) fn recordings(recordings: &Recordings, page: &mut Page<'_>) {
    for pair in recordings.series.iter().take(PAIRS) {
        let title = title(pair);
        figures(&title, pair, page);
        bands(pair, page);
        signals(pair, page);
    }
    if let Some(more) = recordings
        .series
        .len()
        .checked_sub(PAIRS)
        .filter(|more| *more > 0)
    {
        page.blank();
        page.line(&[(&format!("{more} more series: --format json"), Paint::Dim)]);
    }
    findings(recordings, page);
}

/// What tells a pair from the others.
pub(crate) fn title(pair: &SeriesPair) -> String {
    let cpu = match pair.cpu {
        [Some(a), Some(b)] if a != b => format!("CPU {a} and {b}, "),
        [Some(cpu), _] => format!("CPU {cpu}, "),
        _ => String::new(),
    };
    format!("{cpu}{}, {}", numbers::rate(pair.rate_hz), pair.kernel)
}

/// A value in its unit.
pub(crate) fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Share => numbers::percent(value),
        Unit::NsPerUnit => numbers::significant(value, 5),
        Unit::PerSecond | Unit::Number => numbers::significant(value, 4),
        Unit::Seconds => numbers::duration(1e9 * value),
        Unit::NsPerSecond => numbers::duration(value),
    }
}

/// What B has more, at least and at most.
pub(crate) fn interval(delta: &Delta) -> String {
    delta.interval.map_or_else(String::new, |[low, high]| {
        // An end of an interval is never known to five digits.
        let end = |number: f64| match delta.unit {
            Unit::NsPerUnit | Unit::PerSecond => numbers::significant(number, 3),
            unit => value(unit, number),
        };
        format!("{} to {}", end(low), end(high))
    })
}

/// A figure's name in words.
pub(crate) fn figure(figure: &Figure) -> String {
    match figure {
        Figure::Pace => "pace, ns/unit".into(),
        Figure::Lost => "lost to gaps".into(),
        Figure::Gaps => "gaps a second".into(),
        Figure::LongestGap => "longest gap".into(),
        Figure::LongestGapOfBlock => "longest of a block".into(),
        figure => figure.to_string(),
    }
}

/// Lines of the ledger that are not nothing, those that changed and the largest first.
pub(crate) fn lines(pair: &SeriesPair) -> Vec<&Delta> {
    let mut lines: Vec<&Delta> = pair
        .ledger
        .iter()
        .filter(|delta| delta.a != 0.0 || delta.b != 0.0)
        .collect();
    lines.sort_by(|one, other| {
        let size = |delta: &Delta| delta.a.abs().max(delta.b.abs());
        other
            .changed
            .cmp(&one.changed)
            .then(size(other).total_cmp(&size(one)))
    });
    lines
}

/// A band by its paces in A and in B.
pub(crate) fn band(band: &BandPair) -> String {
    let pace = |pace: Option<f64>| pace.map_or(numbers::NONE.to_owned(), numbers::pace);
    let [a, b] = band.ns_per_unit.map(pace);
    format!("{a} and {b}")
}

fn row(name: &str, delta: &Delta) -> Vec<Cell> {
    let paint = if delta.changed {
        Paint::Loss
    } else {
        Paint::Dim
    };
    vec![
        name.into(),
        Cell::painted(if delta.changed { "changed" } else { "" }, paint),
        value(delta.unit, delta.a).into(),
        value(delta.unit, delta.b).into(),
        Cell::painted(interval(delta), paint),
    ]
}

fn heads(title: &str) -> Table {
    let mut table = Table::new(title)
        .column("", Side::Left)
        .column("A", Side::Right)
        .column("B", Side::Right)
        .column("B - A, 95 %", Side::Right);
    table.first_width = 24;
    table
}

fn figures(title: &str, pair: &SeriesPair, page: &mut Page<'_>) {
    let mut table = heads(title);
    for delta in &pair.figures {
        table.row(row(&figure(&delta.name), delta));
    }
    page.blank();
    page.table(&table);
    let lines = lines(pair);
    let mut table = heads("Time per second");
    for delta in lines.iter().take(LINES) {
        table.row(row(&delta.name.to_string(), delta));
    }
    page.blank();
    page.table(&table);
    if let Some(more) = lines.len().checked_sub(LINES).filter(|more| *more > 0) {
        page.line(&[(
            &format!("  and {more} lines that cost less: --format json"),
            Paint::Dim,
        )]);
    }
}

fn bands(pair: &SeriesPair, page: &mut Page<'_>) {
    if pair.bands.is_empty() {
        return;
    }
    let mut table = heads("Bands, ns/unit");
    for band in &pair.bands {
        table.row(row(&self::band(band), &band.share));
    }
    page.blank();
    page.table(&table);
}

fn signals(pair: &SeriesPair, page: &mut Page<'_>) {
    if pair.signals.is_empty() {
        return;
    }
    let mut table = Table::new("Signals")
        .column("", Side::Left)
        .column("A", Side::Right)
        .column("B", Side::Right);
    for signal in &pair.signals {
        let lost = |ns: Option<f64>| ns.map_or(numbers::NONE.to_owned(), numbers::duration);
        let word = match signal.what {
            SignalChange::Both => "",
            change => change.name(),
        };
        let hz = numbers::significant(signal.frequency_hz, 7);
        let cause = signal.cause.as_ref();
        let cause = cause.map_or(String::new(), |cause| format!(" {cause}"));
        table.row(vec![
            format!("{hz} Hz{cause}").into(),
            word.into(),
            lost(signal.ns_per_event[0]).into(),
            lost(signal.ns_per_event[1]).into(),
        ]);
    }
    page.blank();
    page.table(&table);
}

fn findings(recordings: &Recordings, page: &mut Page<'_>) {
    if recordings.findings.is_empty() {
        return;
    }
    let mut table = Table::new("Findings that differ")
        .column("A", Side::Left)
        .column("B", Side::Left);
    for finding in &recordings.findings {
        let word =
            |side: usize| finding.certainty[side].map_or(numbers::NONE, super::findings::certainty);
        table.row(vec![
            finding.kind.name().into(),
            word(0).into(),
            word(1).into(),
        ]);
    }
    page.blank();
    page.table(&table);
}
