//! Tables of durations, `.hist`.
//!
//! ```text
//! # work 5 us, 15 s, tick 1024 Hz; columns: duration_us count
//! 5 1952417
//! 6 534859
//! ```
//! A row counts the samples from its duration to the next row's. Rows are as far apart as the closest two; a wider step is
//! rows that were not published, and what they held is not known: it is not zero. A comment may state the
//! work, the seconds that the run took, and the tick, all of which the analysis can do without.

use super::{Bin, Histogram};
use crate::Error;
use crate::text::quoted;
use std::path::Path;

/// The longest duration, 12 days.
pub const LONGEST_NS: f64 = 1e15;
/// The most samples, so that each count is exact as a floating point number.
pub const MOST_SAMPLES: u64 = 1 << 53;
/// The most rows.
const MOST_ROWS: usize = 1 << 20;
/// Rows this much wider apart than the closest two have others between them.
const WIDER: f64 = 1.5;

/// Reads a table; `path` is for messages.
pub fn parse(path: &Path, text: &[u8]) -> Result<Histogram, Error> {
    let mut table = Table::default();
    for (line, row) in text.split(|byte| *byte == b'\n').zip(1..) {
        let wrong = |expected: &str| Error::Row {
            path: path.into(),
            row,
            found: quoted(line.trim_ascii()),
            expected: expected.into(),
        };
        match line.trim_ascii() {
            [] => {}
            [b'#', comment @ ..] => table.comment(comment).map_err(wrong)?,
            fields => table.row(fields).map_err(wrong)?,
        }
    }
    table.finish().map_err(|(found, expected)| Error::File {
        path: path.into(),
        found: found.into(),
        expected: expected.into(),
    })
}

#[derive(Debug)]
struct Table {
    histogram: Histogram,
    /// Duration and count, in nanoseconds.
    rows: Vec<(f64, u64)>,
    /// Nanoseconds of the unit of the first column.
    unit_ns: f64,
}

impl Default for Table {
    fn default() -> Table {
        Table {
            histogram: Histogram {
                kernel: "unknown".into(),
                ..Histogram::default()
            },
            rows: Vec::new(),
            unit_ns: 1e3,
        }
    }
}

impl Table {
    /// Takes what a comment states; the rest of it is prose.
    fn comment(&mut self, comment: &[u8]) -> Result<(), &'static str> {
        let Ok(comment) = std::str::from_utf8(comment) else {
            return Ok(());
        };
        for part in comment.split([',', ';']).map(str::trim) {
            if let Some(columns) = part.strip_prefix("columns:") {
                const COLUMNS: &str = "columns duration_us count (or duration_ns, duration_ms)";
                let names: Vec<&str> = columns.split_whitespace().collect();
                let [duration, "count"] = names[..] else {
                    return Err(COLUMNS);
                };
                let unit = duration.strip_prefix("duration_").and_then(nanoseconds);
                self.unit_ns = unit.filter(|_| self.rows.is_empty()).ok_or(COLUMNS)?;
            } else if let Some(work) = part.strip_prefix("work ") {
                let work = quantity(work).ok_or("a comment 'work N us'")?;
                self.histogram.work_us = Some(work / 1e3);
            } else if let Some(tick) = part.strip_prefix("tick ") {
                let hertz = tick.strip_suffix("Hz").and_then(number);
                self.histogram.tick_hz = Some(hertz.ok_or("a comment 'tick N Hz'")?);
            } else if let Some(length) = quantity(part) {
                self.histogram.seconds = Some(length / 1e9);
            }
        }
        Ok(())
    }

    fn row(&mut self, fields: &[u8]) -> Result<(), &'static str> {
        let text = std::str::from_utf8(fields).map_err(|_| "a duration and a count")?;
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let [duration, count] = fields[..] else {
            return Err("two columns: a duration and a count");
        };
        let ns = duration
            .parse()
            .map(|duration: f64| duration * self.unit_ns);
        let ns = (ns.ok().filter(|ns| (0.0..LONGEST_NS).contains(ns)))
            .ok_or("a duration from 0 to 1e15 ns in the first column")?;
        let count = (count.parse().ok()).ok_or("a whole number in the second column")?;
        if self.rows.last().is_some_and(|(last, _)| *last >= ns) {
            return Err("a longer duration than in the row before");
        }
        if self.rows.len() >= MOST_ROWS {
            return Err("a million rows at most");
        }
        let samples = self.histogram.samples.checked_add(count);
        self.histogram.samples = (samples.filter(|samples| *samples < MOST_SAMPLES))
            .ok_or("counts that add up to less than 2^53")?;
        self.rows.push((ns, count));
        Ok(())
    }

    fn finish(mut self) -> Result<Histogram, (&'static str, &'static str)> {
        const ROWS: &str = "rows of a duration and a count";
        if self.rows.len() < 2 {
            return Err(("less than two rows", ROWS));
        }
        if self.histogram.samples == 0 {
            return Err(("no sample: every count is 0", ROWS));
        }
        let steps = || self.rows.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let width = steps().fold(f64::INFINITY, f64::min);
        let bins = &mut self.histogram.bins;
        for (index, &(from_ns, count)) in self.rows.iter().enumerate() {
            let next = self.rows.get(index + 1).map(|row| row.0);
            let apart = next.is_some_and(|next| next - from_ns > WIDER * width);
            let to_ns = match next {
                Some(next) if !apart => next,
                _ => from_ns + width,
            };
            if let (Some(next), true) = (next, apart) {
                self.histogram.absent.push((to_ns, next));
            }
            if count > 0 {
                bins.push(Bin {
                    from_ns,
                    to_ns,
                    count,
                });
            }
        }
        match self.histogram.fault() {
            Some(expected) => Err(("rows that lie too close", expected)),
            None => Ok(self.histogram),
        }
    }
}

/// Nanoseconds in a unit.
fn nanoseconds(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1.0),
        "us" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        "min" => Some(60e9),
        _ => None,
    }
}

/// A duration such as `5 us`, in nanoseconds.
fn quantity(text: &str) -> Option<f64> {
    let (value, unit) = text.trim().split_once(' ')?;
    Some(number(value)? * nanoseconds(unit.trim())?)
}

/// A number above 0 that is none of the absurd ones.
fn number(text: &str) -> Option<f64> {
    let value = text.trim().parse().ok();
    value.filter(|value: &f64| *value > 0.0 && *value < 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Histogram, Error> {
        parse(Path::new("it.hist"), text.as_bytes())
    }

    #[test]
    fn rows_that_are_absent_are_not_zero() {
        let it = read("# work 5 us, 15 s, tick 1024 Hz; columns: duration_us count; rows 2..3 lost\n0 0\n1 7\n4 2\n5 0\n")
            .unwrap();
        assert_eq!(it.work_us, Some(5.0));
        assert_eq!((it.seconds, it.tick_hz), (Some(15.0), Some(1024.0)));
        assert_eq!(it.absent, [(2e3, 4e3)]);
        assert_eq!(it.samples, 9);
        let bins: Vec<(f64, f64, u64)> = it.bins.iter().map(|bin| (*bin).into()).collect();
        assert_eq!(bins, [(1e3, 2e3, 7), (4e3, 5e3, 2)]);
    }

    #[test]
    fn other_units_and_no_header() {
        let it = read("# columns: duration_ns count\r\n500 1\r\n510 2\r\n").unwrap();
        assert_eq!(it.bins[1].to_ns, 520.0);
        assert_eq!((it.work_us, it.tick_hz), (None, None));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_row() {
        for (text, expected) in [
            ("5 1\n5 2\n", "it.hist:2: found \"5 2\", expected a longer"),
            (
                "5 1 2\n",
                "it.hist:1: found \"5 1 2\", expected two columns",
            ),
            ("5 -1\n", "expected a whole number"),
            ("\x1b[2J 1\n", "found \"\\u{1b}[2J 1\""),
            ("nan 1\n", "expected a duration from 0"),
            ("1e99 1\n", "expected a duration from 0"),
            (
                "# tick fast Hz\n",
                "it.hist:1: found \"# tick fast Hz\", expected a comment 'tick N Hz'",
            ),
            ("# work -5 us\n", "expected a comment 'work N us'"),
            ("# columns: a b\n", "expected columns duration_us count"),
            ("1 1\n# columns: duration_ms count\n", "it.hist:2"),
            ("1 18446744073709551615\n", "add up to less than 2^53"),
            ("", "found less than two rows"),
            ("1 0\n2 0\n", "found no sample"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
            assert!(!error.contains('\x1b'));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_rows_or_an_error(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(Path::new("it.hist"), &text);
        }

        #[test]
        fn any_numbers_are_a_sound_histogram_or_an_error(
            text in "(# (work|tick|columns:)? ?[0-9a-z_. ]{0,12}\n)?([0-9]{1,3}(\\.[0-9])?(e[0-9]{1,2})? [0-9]{1,17}\n){0,9}"
        ) {
            if let Ok(it) = parse(Path::new("it.hist"), text.as_bytes()) {
                prop_assert_eq!(it.fault(), None);
                let sum: u64 = it.bins.iter().map(|bin| bin.count).sum();
                prop_assert_eq!(sum, it.samples);
            }
        }
    }
}
