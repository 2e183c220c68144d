//! Tables of where the smear of a length of work ends, `.tsv`: a line `work_us smear_end_us`, then one row a length.

use super::SmearEnd;
use crate::Error;
use crate::text::quoted;
use std::path::Path;

/// Names of the columns, which tell such a table from others.
pub const COLUMNS: [&str; 2] = ["work_us", "smear_end_us"];
/// The most rows; a ladder has three.
const MOST_ROWS: usize = 1000;

/// Reads a table; `path` is for messages. Rows come out by length of work.
pub fn parse(path: &Path, text: &[u8]) -> Result<Vec<SmearEnd>, Error> {
    let mut ends: Vec<SmearEnd> = Vec::new();
    let mut named = false;
    for (line, row) in text.split(|byte| *byte == b'\n').zip(1..) {
        let line = line.trim_ascii();
        let wrong = |expected: &str| Error::Row {
            path: path.into(),
            row,
            found: quoted(line),
            expected: expected.into(),
        };
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let fields = std::str::from_utf8(line).map_err(|_| wrong("two numbers"))?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        if !named {
            if fields != COLUMNS {
                return Err(wrong("the columns work_us and smear_end_us"));
            }
            named = true;
            continue;
        }
        let value = |text: &str| {
            let value = text.parse().ok();
            value.filter(|value: &f64| *value > 0.0 && *value < 1e12)
        };
        let (Some(work_us), Some(end_us), 2) = (
            fields.first().and_then(|text| value(text)),
            fields.get(1).and_then(|text| value(text)),
            fields.len(),
        ) else {
            return Err(wrong("two durations in us above 0 and below 1e12"));
        };
        if end_us < work_us {
            return Err(wrong("a smear that ends after the work at its best"));
        }
        if ends.iter().any(|end| end.work_us == work_us) {
            return Err(wrong("a length of work that no row above has"));
        }
        if ends.len() >= MOST_ROWS {
            return Err(wrong("a thousand rows at most"));
        }
        ends.push(SmearEnd {
            work_us,
            end_us,
            origin: String::new(),
        });
    }
    if ends.is_empty() {
        return Err(Error::File {
            path: path.into(),
            found: "no row".into(),
            expected: "the columns work_us and smear_end_us, and rows".into(),
        });
    }
    ends.sort_by(|a, b| a.work_us.total_cmp(&b.work_us));
    Ok(ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &[u8]) -> Result<Vec<SmearEnd>, Error> {
        parse(Path::new("it.tsv"), text)
    }

    #[test]
    fn rows_come_out_by_length() {
        let ends = read(b"work_us\tsmear_end_us\n100\t330\n5\t30\n").unwrap();
        let ends: Vec<_> = ends.iter().map(|end| (end.work_us, end.end_us)).collect();
        assert_eq!(ends, [(5.0, 30.0), (100.0, 330.0)]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_row() {
        for (text, expected) in [
            (
                &b"5 30\n"[..],
                "it.tsv:1: found \"5 30\", expected the columns",
            ),
            (b"work_us smear_end_us\n5\n", "it.tsv:2: found \"5\""),
            (b"work_us smear_end_us\n5 -1\n", "above 0"),
            (b"work_us smear_end_us\n5 4\n", "ends after"),
            (b"work_us smear_end_us\n5 NaN\n", "above 0"),
            (b"work_us smear_end_us\n5 9\n5 9\n", "it.tsv:3"),
            (b"work_us smear_end_us\n", "no row"),
            (b"work_us smear_end_us\n\xff\n", "two numbers"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_rows_or_an_error(text in prop::collection::vec(any::<u8>(), 0..99)) {
            let named = [b"work_us smear_end_us\n", &text[..]].concat();
            for end in read(&named).unwrap_or_default() {
                prop_assert!(end.end_us >= end.work_us && end.work_us > 0.0);
            }
        }
    }
}
