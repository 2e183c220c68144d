//! What two recordings say, in words.

use super::recordings::{Delta, Figure, Recordings, SeriesPair, SignalChange, SignalPair, subject};
use crate::conditions::Unit;
use bandscope_report::format;

/// Series that the verdict names.
const SERIES: usize = 3;
/// Changes of a series that it names.
const CHANGES: usize = 4;

/// A signal that takes less of a second than this is for the table, in ns.
const SMALL_SIGNAL: f64 = 1e4;

/// A part of the work that is worth a sentence though it may be chance.
const WORTH_A_DOUBT: f64 = 0.01;

/// The answer.
pub(super) fn verdict(recordings: &Recordings) -> String {
    let mut sentences = Vec::new();
    let mut silent = 0;
    for pair in &recordings.series {
        let changes = changes(pair);
        match changes.is_empty() {
            true => silent += 1,
            false if sentences.len() < SERIES => {
                let named = changes[..changes.len().min(CHANGES)].join(", ");
                let more = match changes.len() {
                    0..=CHANGES => String::new(),
                    all => format!(", and {} more", all - CHANGES),
                };
                sentences.push(format!(
                    "{}: {named}{more}.",
                    subject(pair.cpu, pair.rate_hz, &pair.kernel)
                ));
            }
            false => {}
        }
    }
    match (sentences.is_empty(), silent) {
        _ if recordings.series.is_empty() => "The recordings have no series in common.".into(),
        (true, _) => {
            "Nothing changed beyond the scatter within the recordings.".to_owned()
                + &perhaps(recordings).unwrap_or_default()
        }
        (false, 0) => sentences.join(" "),
        (false, 1) => sentences.join(" ") + " In one other series nothing changed.",
        (false, silent) => {
            sentences.join(" ") + &format!(" In {silent} other series nothing changed.")
        }
    }
}

/// The largest loss of one recording that is not in the other but may be chance, such as one long pause, in a sentence.
fn perhaps(recordings: &Recordings) -> Option<String> {
    let works = recordings.series.iter().flat_map(|pair| &pair.ledger);
    let works = works.filter(|delta| delta.name == Figure::Work);
    let of_work = |delta: &Delta| (delta.b - delta.a).abs() / delta.a.max(delta.b);
    let is_beside_0 = |delta: &&Delta| {
        let interval = delta.interval.map(|[low, high]| low > 0.0 || high < 0.0);
        interval == Some(true) && of_work(delta) >= WORTH_A_DOUBT
    };
    let most = works
        .filter(is_beside_0)
        .max_by(|a, b| of_work(a).total_cmp(&of_work(b)))?;
    let said = moved("work", most);
    Some(format!(" Perhaps {said}: too few events to be sure."))
}

/// What changed in a series, in clauses: what work and gaps took, the line of the ledger that changed most, what is there in one recording
/// only, as it may explain the rest, and the rest.
fn changes(pair: &SeriesPair) -> Vec<String> {
    let mut clauses = figures(pair);
    let is_headline = |delta: &&Delta| matches!(delta.name, Figure::Fraction | Figure::Lost);
    let changed = pair.figures.iter().filter(|delta| delta.changed);
    let headlines = changed.filter(is_headline).count();
    let lines = pair.ledger.iter().filter(|delta| delta.changed);
    let mut lines: Vec<&Delta> = lines
        .filter(|delta| matches!(delta.name, Figure::Gap(_)))
        .collect();
    lines.sort_by(|one, other| (other.b - other.a).abs().total_cmp(&(one.b - one.a).abs()));
    let mut lines = lines
        .into_iter()
        .map(|delta| moved(&delta.name.to_string(), delta));
    let (new, moved_bands) = bands(pair);
    let news: Vec<String> = lines
        .next()
        .into_iter()
        .chain(new)
        .chain(signals(pair))
        .collect();
    clauses.splice(headlines..headlines, news);
    clauses.extend(moved_bands);
    clauses.extend(lines);
    clauses
}

fn figures(pair: &SeriesPair) -> Vec<String> {
    let changed = pair
        .figures
        .iter()
        .filter(|delta| delta.changed && delta.name != Figure::LongestGapOfBlock);
    changed
        .map(|delta| {
            let name = match &delta.name {
                Figure::Lost => "lost to gaps".to_owned(),
                Figure::LongestGap => "the longest gap".to_owned(),
                name => name.to_string(),
            };
            moved(&name, delta)
        })
        .collect()
}

/// Bands that only one recording has, and those of which the share changed.
fn bands(pair: &SeriesPair) -> (Vec<String>, Vec<String>) {
    let (mut new, mut moved) = (Vec::new(), Vec::new());
    for band in pair.bands.iter().filter(|band| band.share.changed) {
        match band.ns_per_unit {
            [Some(gone), None] => new.push(format!(
                "no band at {gone:.2} ns per unit any more ({} before)",
                format::percent(band.share.a)
            )),
            [None, Some(pace)] => new.push(format!(
                "a new band at {pace:.2} ns per unit ({})",
                format::percent(band.share.b)
            )),
            [Some(pace), _] => moved.push(format!(
                "the band at {pace:.2} ns per unit from {} to {}",
                format::percent(band.share.a),
                format::percent(band.share.b)
            )),
            [None, None] => {}
        }
    }
    (new, moved)
}

/// Signals that only one recording has, of those that it has a finding of, the costliest first.
fn signals(pair: &SeriesPair) -> Vec<String> {
    let each = |signal: &SignalPair| {
        let [a, b] = signal.ns_per_event;
        a.or(b).unwrap_or(0.0)
    };
    let cost = |signal: &SignalPair| each(signal) * signal.frequency_hz;
    let is_new = |signal: &&SignalPair| {
        signal.found
            && matches!(signal.what, SignalChange::Appeared | SignalChange::Vanished)
            && cost(signal) >= SMALL_SIGNAL
    };
    let mut new: Vec<&SignalPair> = pair.signals.iter().filter(is_new).collect();
    new.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    let clause = |signal: &SignalPair| {
        let cause = signal.cause.as_ref();
        format!(
            "a signal at {:.3} Hz ({}{} each) {}",
            signal.frequency_hz,
            cause.map_or(String::new(), |cause| format!("{cause}, ")),
            format::duration(each(signal)),
            signal.what.name()
        )
    };
    new.into_iter().map(clause).collect()
}

/// What became of a figure.
fn moved(name: &str, delta: &Delta) -> String {
    let from = match delta.unit {
        Unit::NsPerUnit => format!("{:.2}", delta.a),
        Unit::PerSecond => format!("{:.1}", delta.a),
        Unit::Share | Unit::Seconds | Unit::NsPerSecond | Unit::Number => value(delta, delta.a),
    };
    format!("{name} from {from} to {}", value(delta, delta.b))
}

/// A value in its unit.
fn value(delta: &Delta, value: f64) -> String {
    match delta.unit {
        Unit::NsPerUnit => format!("{value:.2} ns per unit"),
        Unit::PerSecond => format!("{value:.1} a second"),
        unit => unit.written(value),
    }
}
