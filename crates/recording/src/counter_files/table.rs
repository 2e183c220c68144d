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
use crate::text::{quoted, shown};
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
    let mut table = Table {
        path,
        heads: &heads,
        names: 0,
        seen: BTreeSet::new(),
        sides: Vec::new(),
    };
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
        table.row(&cells).map_err(wrong)?;
    }
    if table.sides.is_empty() {
        return Err(none());
    }
    Ok(table.sides)
}

/// A table under its line of heads.
struct Table<'a> {
    path: &'a Path,
    heads: &'a [&'a str],
    /// Columns that a counter's name is put together from.
    names: usize,
    /// Names of the rows so far.
    seen: BTreeSet<String>,
    sides: Vec<CounterSet>,
}

impl Table<'_> {
    /// Takes a row that has as many cells as there are heads; the error is what was expected of it.
    fn row(&mut self, cells: &[&str]) -> Result<(), &'static str> {
        if self.sides.is_empty() {
            self.tell_columns(cells)?;
        }
        let (name, counts) = cells.split_at(self.names);
        let name = name.join(" ");
        if self.seen.len() >= MOST_ROWS {
            return Err("ten thousand rows at most");
        }
        if !self.seen.insert(name.clone()) {
            return Err("a counter that no row above has");
        }
        for (side, cell) in self.sides.iter_mut().zip(counts) {
            let value = count(cell);
            if value.is_none() && !is_absent(cell) {
                return Err("a count of 0 or more in each column after the names");
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
        Ok(())
    }

    /// Tells by the first row which columns are names, and which are sides.
    fn tell_columns(&mut self, cells: &[&str]) -> Result<(), &'static str> {
        // A negative number is no name, either: it is refused as a count.
        let number = |cell: &&str| count(cell).is_some() || cell.parse::<f64>().is_ok();
        self.names = cells.iter().position(number).unwrap_or(0);
        if self.names == 0 {
            return Err("a counter's name before its counts");
        }
        let sides = &self.heads[self.names..];
        if sides.len() > MOST_SIDES {
            return Err("a hundred columns at most");
        }
        self.sides = sides.iter().map(|head| side(self.path, head)).collect();
        Ok(())
    }
}

fn side(path: &Path, head: &str) -> CounterSet {
    CounterSet {
        origin: shown(path),
        name: head.to_owned(),
        ..CounterSet::default()
    }
}
