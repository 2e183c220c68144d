//! Gaps: how many, how long, and which were the longest.

use super::table::{Cell, Page, Paint, Side, Table};
use super::{View, share};
use crate::numbers;
use bandscope_report::{GapBin, Gaps, LongGap, Series};

/// The longest gaps that are named.
const LONGEST: usize = 3;
/// From this width on, more percentiles fit.
const WIDE: usize = 110;
/// Heights of the histogram's bars, in equal steps of the logarithm of the number.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The same in ASCII: the number of decimal digits, at most nine.
const MOST_DIGITS: u32 = 9;

pub(super) fn gaps(view: &View<'_>, page: &mut Page<'_>) {
    let known: Vec<(&str, &Series, &Gaps)> = view
        .labelled()
        .filter_map(|(label, series)| Some((label, series, series.gaps.as_ref()?)))
        .collect();
    if known.is_empty() {
        return;
    }
    page.blank();
    statistics(&known, page);
    histogram(&known, page);
    longest(&known, page);
    known
        .iter()
        .for_each(|(label, series, _)| without_gap(label, series, page));
}

/// What a tripwire noticed beside the gaps.
fn without_gap(label: &str, series: &Series, page: &mut Page<'_>) {
    let Some(tripwire) = &series.tripwire else {
        return;
    };
    let periods = tripwire.periods.iter();
    let periods: Vec<String> = periods
        .map(|period| numbers::frequency(period.frequency_hz, period.uncertainty_hz))
        .collect();
    let regular = match periods.is_empty() {
        true => "no period".to_owned(),
        false => format!("regular at {}", periods.join(", ")),
    };
    let text = format!(
        "{} interruptions a second without a gap at least, in {} of {} quanta; {regular}",
        numbers::significant(tripwire.per_second, 3),
        numbers::count(tripwire.interrupted_quanta),
        numbers::count(tripwire.quanta),
    );
    page.wrapped((&format!("  {label}: "), Paint::Dim), &text, Paint::Plain);
}

fn statistics(known: &[(&str, &Series, &Gaps)], page: &mut Page<'_>) {
    let percents: &[f64] = match page.width() >= WIDE {
        true => &[50.0, 90.0, 99.0, 99.9, 99.99, 99.999],
        false => &[50.0, 99.0, 99.9],
    };
    let mut table = Table::new("Gaps")
        .column("number", Side::Right)
        .column("per s", Side::Right)
        .column("lost", Side::Right)
        .column("of wall", Side::Right);
    for percent in percents {
        table = table.column(format!("{percent} %"), Side::Right);
    }
    table = table.column("longest", Side::Right);
    for (label, series, gaps) in known {
        let at = |percent: f64| {
            let found = gaps.percentiles.iter().find(|p| p.percent == percent);
            Cell::from(found.map_or(numbers::NONE.into(), |p| numbers::duration(p.ns)))
        };
        let mut row = vec![
            Cell::from(*label),
            numbers::count(gaps.number).into(),
            numbers::significant(gaps.per_second, 3).into(),
            numbers::duration(gaps.lost_ns as f64).into(),
            numbers::percent(share(gaps.lost_ns, series.ledger.wall_ns)).into(),
        ];
        row.extend(percents.iter().map(|&percent| at(percent)));
        row.push(at(100.0));
        table.row(row);
    }
    page.table(&table);
}

/// Number of gaps by duration, bins of a factor of two, one line a series over a common axis.
fn histogram(known: &[(&str, &Series, &Gaps)], page: &mut Page<'_>) {
    let exponents = known
        .iter()
        .flat_map(|(_, _, gaps)| gaps.histogram.iter().filter_map(exponent));
    let Some((low, high)) = exponents
        .map(|k| (k, k))
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    else {
        return;
    };
    let label_width = known.iter().map(|(label, ..)| label.chars().count()).max();
    let label_width = label_width.unwrap_or(0).clamp(8, 28);
    let bins = (high - low + 1) as usize;
    let space = page.width() - 4 - label_width;
    let cell = (space / bins).clamp(1, 4);
    let most = known
        .iter()
        .flat_map(|(_, _, gaps)| gaps.histogram.iter().map(|bin| bin.number))
        .max()
        .unwrap_or(0);
    for (label, _, gaps) in known {
        let label: String = page.safe(label).chars().take(label_width).collect();
        let bars: String = (low..=high)
            .take(space / cell)
            .map(|k| {
                let number = gaps.histogram.iter().filter(|bin| exponent(bin) == Some(k));
                let number = number.fold(0u64, |sum, bin| sum.saturating_add(bin.number));
                let mark = height(number, most, page.options.ascii);
                format!(
                    "{}{}",
                    mark.to_string().repeat(cell.max(2) - 1),
                    " ".repeat(cell.min(2) - 1)
                )
            })
            .collect();
        page.shaded(&format!("  {label:label_width$}  "), &bars);
    }
    axis(low, high, cell, label_width, page);
}

/// k of the bin from 2^k to 2^(k+1) ns.
fn exponent(bin: &GapBin) -> Option<i32> {
    let k = bin.from_ns.log2().round();
    // A nanosecond to some weeks: anything else is not a gap.
    (0.0..=52.0).contains(&k).then_some(k as i32)
}

/// The character for so many gaps, where the fullest bin has `most`.
fn height(number: u64, most: u64, ascii: bool) -> char {
    if number == 0 {
        return ' ';
    }
    if ascii {
        let digits = (number.ilog10() + 1).min(MOST_DIGITS);
        return char::from_digit(digits, 10).unwrap_or('9');
    }
    let full = (most.max(2) as f64).ln();
    let steps = (number as f64).ln() / full * (HEIGHTS.len() - 1) as f64;
    HEIGHTS[(steps.round() as usize).min(HEIGHTS.len() - 1)]
}

/// Lower edges of the bins, as many as stand clear of each other.
fn axis(low: i32, high: i32, cell: usize, label_width: usize, page: &mut Page<'_>) {
    let mut line = " ".repeat(4 + label_width);
    let start = line.len();
    for k in low..=high {
        let at = start + (k - low) as usize * cell;
        let length = line.chars().count();
        if at > length || k == low {
            line += &" ".repeat(at - length);
            line += &numbers::duration_rough(2f64.powi(k)).replace(' ', "");
        }
    }
    let note = page.sign("  (log)", "  (digits)");
    page.line(&[(&line, Paint::Dim), (note, Paint::Dim)]);
}

/// The longest gaps of all series, each with its time and cause.
fn longest(known: &[(&str, &Series, &Gaps)], page: &mut Page<'_>) {
    let mut longest: Vec<&LongGap> = known
        .iter()
        .flat_map(|(_, _, gaps)| &gaps.longest)
        .collect();
    longest.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    let named: Vec<String> = longest
        .iter()
        .take(LONGEST)
        .map(|gap| {
            let (long, at) = (numbers::duration(gap.ns), numbers::significant(gap.at_s, 4));
            format!("{long} at {at} s ({})", gap.cause)
        })
        .collect();
    if !named.is_empty() {
        page.wrapped(("  longest: ", Paint::Dim), &named.join(", "), Paint::Plain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_gap_shows_beside_a_million() {
        assert_eq!(height(0, 1_000_000, false), ' ');
        assert_eq!(height(1, 1_000_000, false), '▁');
        assert_eq!(height(1_000_000, 1_000_000, false), '█');
        assert_eq!(height(1_234, 1_000_000, true), '4');
    }

    #[test]
    fn bins_that_are_no_durations_are_left_out() {
        let bin = |from_ns| {
            exponent(&GapBin {
                from_ns,
                ..GapBin::default()
            })
        };
        assert_eq!(bin(1024.0), Some(10));
        assert_eq!(bin(f64::NAN), None);
        assert_eq!(bin(0.0), None);
        assert_eq!(bin(f64::INFINITY), None);
    }
}
