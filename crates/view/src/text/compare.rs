//! A comparison for a terminal: the verdict, the counters in the order in which they matter, why each can pay or cannot, and the conditions.

use super::recordings;
use super::table::{Cell, Page, Paint, Side, Table};
use crate::{Error, Options, numbers};
use bandscope_studies::compare::{self, Comparison};
use bandscope_studies::counters::{Change, Counters, Row, Verdict};
use std::io::Write;

/// Rows of the table of counters; more are in the JSON.
const ROWS: usize = 24;
/// Reasons that are worded.
const REASONS: usize = 6;

/// The whole of it.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn render(
    comparison: &Comparison,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut page = Page::new(options);
    page.wrapped(("", Paint::Plain), &comparison.verdict, Paint::Bold);
    page.blank();
    for (letter, side) in ["A", "B"].into_iter().zip(&comparison.sides) {
        let lead = format!("  {letter}  ");
        page.wrapped((&lead, Paint::Dim), &named(side), Paint::Plain);
    }
    if let Some(counters) = &comparison.counters {
        rows(counters, &mut page);
        reasons(counters, &mut page);
    }
    if let Some(both) = &comparison.recordings {
        recordings::recordings(both, &mut page);
    }
    conditions(comparison, &mut page);
    if !comparison.notes.is_empty() {
        page.blank();
        page.line(&[("Notes", Paint::Bold)]);
    }
    for note in &comparison.notes {
        page.wrapped(("  ", Paint::Plain), note, Paint::Dim);
    }
    out.write_all(page.finish().as_bytes())?;
    Ok(())
}

/// A side's name and files.
pub(crate) fn named(side: &compare::Side) -> String {
    let inputs = side.inputs.join(", ");
    match side.name.is_empty() {
        true => inputs,
        false => format!("{} ({inputs})", side.name),
    }
}

/// The word for a verdict.
pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pays => "pays",
        Verdict::Lead => "lead",
        Verdict::CannotPay => "cannot pay",
        Verdict::Changed => "changed",
        Verdict::Outcome | Verdict::Same => "",
    }
}

/// A value, with its unit.
pub(crate) fn value(value: f64, unit: &str) -> String {
    let number = match value.abs() {
        _ if !value.is_finite() => numbers::NONE.to_owned(),
        size if size < 1e12 && value.fract() == 0.0 && value >= 0.0 => numbers::count(value as u64),
        size if (1e3..1e15).contains(&size) && value > 0.0 => numbers::count(value.round() as u64),
        _ => numbers::significant(value, 4),
    };
    match unit {
        "" => number,
        _ => format!("{number} {unit}"),
    }
}

/// The same in fewer columns: of large numbers four digits, `21.96e9`.
fn short(number: f64, unit: &str) -> String {
    let size = number.abs();
    if !(1e7..1e18).contains(&size) {
        return value(number, unit);
    }
    let power = (size * 1.000_05).log10().floor() as i32 / 3 * 3;
    let digits = numbers::significant(number / 10f64.powi(power), 4);
    format!(
        "{digits}e{power}{}{unit}",
        if unit.is_empty() { "" } else { " " }
    )
}

/// A ratio: percent, or times where that is much.
pub(crate) fn ratio(change: &Change) -> String {
    match change.ratio {
        None => "new".into(),
        Some(ratio) if ratio >= 10.0 => format!("{} x", numbers::count(ratio.round() as u64)),
        Some(ratio) if (ratio - 1.0).abs() < 0.01 => format!("{:+.2} %", 100.0 * (ratio - 1.0)),
        Some(ratio) => format!("{:+.1} %", 100.0 * (ratio - 1.0)),
    }
}

fn rows(counters: &Counters, page: &mut Page<'_>) {
    if counters.rows.is_empty() {
        return;
    }
    let seconds = counters.rows.iter().any(|row| row.per_second.is_some());
    let mut table = Table::new("Counters")
        .column("", Side::Left)
        .column("A", Side::Right)
        .column("B", Side::Right)
        .column("change", Side::Right);
    if seconds {
        table = table.column("per second", Side::Right);
    }
    // What the other columns leave.
    table.first_width = page.width() - if seconds { 56 } else { 46 };
    for row in counters.rows.iter().take(ROWS) {
        let paint = match row.verdict {
            Verdict::Pays | Verdict::Lead => Paint::Loss,
            _ if !row.changed() => Paint::Dim,
            _ => Paint::Plain,
        };
        let mut cells: Vec<Cell> = vec![
            row.name.as_str().into(),
            Cell::painted(word(row.verdict), paint),
            short(row.per_work.a, &row.unit).into(),
            short(row.per_work.b, &row.unit).into(),
            Cell::painted(ratio(&row.per_work), paint),
        ];
        if seconds {
            cells.push(row.per_second.as_ref().map_or(String::new(), ratio).into());
        }
        table.row(cells);
    }
    page.blank();
    page.table(&table);
    if let Some(more) = counters
        .rows
        .len()
        .checked_sub(ROWS)
        .filter(|more| *more > 0)
    {
        page.line(&[(
            &format!("  and {more} that matter less: --format json"),
            Paint::Dim,
        )]);
    }
}

fn reasons(counters: &Counters, page: &mut Page<'_>) {
    let told: Vec<&Row> = counters
        .rows
        .iter()
        .filter(|row| !row.reason.is_empty())
        .take(REASONS)
        .collect();
    if told.is_empty() {
        return;
    }
    page.blank();
    page.line(&[("Reasons", Paint::Bold)]);
    for row in told {
        let lead = format!("  {:10}  ", word(row.verdict));
        page.wrapped(
            (&lead, Paint::Plain),
            &format!("{}: {}.", row.name, row.reason),
            Paint::Plain,
        );
    }
}

fn conditions(comparison: &Comparison, page: &mut Page<'_>) {
    if comparison.conditions.is_empty() {
        return;
    }
    page.blank();
    page.line(&[("Conditions", Paint::Bold)]);
    for checked in &comparison.conditions {
        let (word, paint) = if checked.met {
            ("  failed  ", Paint::Loss)
        } else {
            ("  passed  ", Paint::Plain)
        };
        page.wrapped(
            (word, paint),
            &format!("{}: {}.", checked.condition, checked.found),
            Paint::Plain,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_keep_four_digits() {
        for (number, text) in [
            (39.0, "39"),
            (9_072_863.0, "9,072,863"),
            (21_962_826_744.0, "21.96e9"),
            (1_168_268_824.0, "1.168e9"),
            (999_990_000.0, "1.000e9"),
            (105_935_651.0, "105.9e6"),
        ] {
            assert_eq!(short(number, ""), text);
        }
        assert_eq!(short(4.006, "s"), "4.006 s");
    }
}
