//! Tables of counters: a line of heads, columns of names, then a column of counts for each side.
//!
//! ```text
//! mode   counter                         good   noisy
//! user   BE_LOST_BW_DUE_TO_FE_BR_ILOCK   426    105935651
//! ```
//! Columns are apart by tabs, or if there is none by semicolons, commas or blanks. The columns before the first number are names and are
//! put together; of cells without a number (`-`, `NA`, `<not counted>`, nothing) the counter is absent on that side.

use super::collect::absent;
use super::number::{self, Lone};
use super::{Absent, Counter, CounterSet};
use crate::Error;
use crate::text::quoted;
use std::collections::BTreeSet;
use std::path::Path;

/// The most rows.
const MOST_ROWS: usize = 10_000;
/// The most sides; two are compared.
const MOST_SIDES: usize = 100;

/// How a line comes apart.
fn cells(line: &str, separator: Option<char>) -> Vec<&str> {
    match separator {
        Some(separator) => line.split(separator).map(str::trim).collect(),
        None => line.split_whitespace().collect(),
    }
}

fn count(cell: &str) -> Option<f64> {
    // C's form first: a table is seldom written for people.
    let plain = cell
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let value = match plain {
        true => cell
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite() && *value >= 0.0),
        false => None,
    };
    value.or_else(|| number::value(cell, Lone::Thousands))
}

fn is_absent(cell: &str) -> bool {
    matches!(cell, "" | "-" | "NA" | "n/a" | "N/A") || absent(cell).is_some()
}

/// Reads a table: one set for each column of counts.
///
/// # Errors
/// If it is none.
pub fn parse(path: &Path, text: &str) -> Result<Vec<CounterSet>, Error> {
    let lines = text.lines().zip(1u64..);
    let mut rows = lines.filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'));
    let none = || Error::File {
        path: path.into(),
        found: "no table".into(),
        expected: "a line of heads, then rows with a counter's name and its counts".into(),
    };
    let (head, _) = rows.next().ok_or_else(none)?;
    let separator = ['\t', ';', ',']
        .into_iter()
        .find(|separator| head.contains(*separator));
    let heads = cells(head, separator);
    let mut names = 0;
    let mut seen = BTreeSet::new();
    let mut sides: Vec<CounterSet> = Vec::new();
    for (line, row) in rows {
        let wrong = |expected: &str| Error::Row {
            path: path.into(),
            row,
            found: quoted(line.trim().as_bytes()),
            expected: expected.into(),
        };
        let cells = cells(line, separator);
        if cells.len() != heads.len() {
            return Err(wrong(&format!(
                "{} columns, as in the first line",
                heads.len()
            )));
        }
        if sides.is_empty() {
            // A negative number is no name, either: it is refused below.
            let number = |cell: &&str| count(cell).is_some() || cell.parse::<f64>().is_ok();
            names = cells.iter().position(number).unwrap_or(0);
            if names == 0 {
                return Err(wrong("a counter's name before its counts"));
            }
            if heads.len() - names > MOST_SIDES {
                return Err(wrong("a hundred columns at most"));
            }
            sides = heads[names..].iter().map(|head| side(path, head)).collect();
        }
        let name = cells[..names].join(" ");
        if seen.len() >= MOST_ROWS {
            return Err(wrong("ten thousand rows at most"));
        }
        if !seen.insert(name.clone()) {
            return Err(wrong("a counter that no row above has"));
        }
        for (side, cell) in sides.iter_mut().zip(&cells[names..]) {
            let value = count(cell);
            if value.is_none() && !is_absent(cell) {
                return Err(wrong("a count of 0 or more in each column after the names"));
            }
            side.counters.push(Counter {
                name: name.clone(),
                absent: value
                    .is_none()
                    .then(|| absent(cell).unwrap_or(Absent::NotCounted)),
                runs: value.into_iter().collect(),
                running: 1.0,
                ..Counter::default()
            });
        }
    }
    if sides.is_empty() {
        return Err(none());
    }
    Ok(sides)
}

fn side(path: &Path, head: &str) -> CounterSet {
    CounterSet {
        origin: path.display().to_string(),
        name: head.to_owned(),
        ..CounterSet::default()
    }
}
