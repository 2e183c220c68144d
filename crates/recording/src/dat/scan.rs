//! One pass over a `.dat` file: rows in order of time, comments, and an error at the first bad line.

use crate::Error;
use crate::dat::line::{BadLine, Line, marked, parse};
use crate::dat::lines::{Lines, MAX_LINE, Next};
use crate::text::quoted;
use std::io::Read;
use std::path::Path;

/// What a pass hands out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Item<'a> {
    /// Start of a quantum in nanoseconds as printed, and its count.
    Row(u64, u32),
    /// What stands behind a `#`.
    Comment(&'a [u8]),
}

/// Reads `reader` to its end and returns whether the last line ended in a line feed. `path` is for messages.
pub fn scan(
    path: &Path,
    reader: impl Read,
    mut visit: impl FnMut(Item<'_>),
) -> Result<bool, Error> {
    let mut lines = Lines::new(reader);
    let mut last = (0, 0);
    loop {
        // Nearly every line is a row of the usual form, which needs no search for its end.
        while let Some((time, count)) = lines.next_usual_row() {
            last = in_order(path, lines.number(), last, (time, count))?;
            visit(Item::Row(time, count));
        }
        let number = lines.number() + 1;
        match lines.next_line().map_err(Error::io(path, "cannot read"))? {
            Next::End => return Ok(lines.terminated()),
            Next::TooLong(line) => {
                // A document in one line, perhaps, of which nobody saw that it is one.
                let bad = marked(line).unwrap_or_else(|| too_long(line));
                return Err(row_error(path, number, bad.found, bad.expected.into()));
            }
            Next::Line(line) => match parse(line) {
                Ok(Line::Row(time, count)) => {
                    last = in_order(path, number, last, (time, count))?;
                    visit(Item::Row(time, count));
                }
                Ok(Line::Comment(comment)) => visit(Item::Comment(comment)),
                Ok(Line::Blank) => {}
                Err(bad) => return Err(bad_line(path, &mut lines, bad)),
            },
        }
    }
}

/// Whether a row of this time may follow on the row `last`, of a time and a count: units take time, so only quanta without one may have no length.
#[inline]
pub fn follows((last, count): (u64, u32), time: u64) -> bool {
    time > last || (time == last && count == 0)
}

/// Returns `row`, unless it cannot follow on the one before it.
#[inline]
fn in_order(
    path: &Path,
    number: u64,
    last: (u64, u32),
    row: (u64, u32),
) -> Result<(u64, u32), Error> {
    if follows(last, row.0) {
        return Ok(row);
    }
    let (time, count) = last;
    let expected = match row.0 < time {
        true => format!("{time} or later, the time of the row before it"),
        false => {
            format!("later than {time}: the row before it counts {count} units, which take time")
        }
    };
    Err(row_error(path, number, row.0.to_string(), expected))
}

/// The error for the line that `lines` handed out last.
fn bad_line(path: &Path, lines: &mut Lines<impl Read>, bad: BadLine) -> Error {
    let mut expected = bad.expected.to_owned();
    match lines.is_last() {
        Ok(true) if bad.one_column => {
            expected.push_str("; this is the last row: the file seems cut off");
        }
        Ok(_) => {}
        Err(error) => return Error::io(path, "cannot read")(error),
    }
    row_error(path, lines.number(), bad.found, expected)
}

fn too_long(line: &[u8]) -> BadLine {
    BadLine {
        found: format!("{}, a line of more than {MAX_LINE} bytes", quoted(line)),
        expected: "lines of at most 4096 bytes",
        one_column: false,
    }
}

fn row_error(path: &Path, row: u64, found: String, expected: String) -> Error {
    Error::Row {
        path: path.into(),
        row,
        found,
        expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &[u8]) -> String {
        let scanned = scan(Path::new("x.dat"), text, |_| {});
        scanned.unwrap_err().to_string()
    }

    #[test]
    fn rows_and_comments_come_in_order() {
        let mut items = Vec::new();
        let text = b"# Frequency 10000\r\n00100 0\r\n\r\n100 7\r\n#\r\n205 8";
        let terminated = scan(Path::new("x.dat"), &text[..], |item| {
            items.push(format!("{item:?}"))
        });
        assert!(!terminated.unwrap());
        assert_eq!(items.len(), 5);
        assert_eq!(items[1..3], ["Row(100, 0)", "Row(100, 7)"]);
    }

    #[test]
    fn errors_name_line_found_and_expected() {
        assert_eq!(
            message(b"# header\n100 7\n99 7\n"),
            "x.dat:3: found 99, expected 100 or later, the time of the row before it"
        );
        assert_eq!(
            message(b"100 7\n100 8\n"),
            "x.dat:2: found 100, expected later than 100: the row before it counts 7 units, which take time"
        );
        assert_eq!(
            message(b"100 7\n200 7 1\n"),
            "x.dat:2: found \"200 7 1\", expected two columns: a time in whole nanoseconds and a count"
        );
        let document = [b"\xef\xbb\xbf{".as_slice(), &[b' '; 5000]].concat();
        for marked in [
            &b"\xef\xbb\xbf100 7\n"[..],
            b"\xff\xfe1\0 \x007\0\n\0",
            &document,
        ] {
            let message = message(marked);
            assert!(
                message.starts_with("x.dat:1: found a byte order mark"),
                "{message}"
            );
        }
        for cut in [&b"100 7\n20"[..], b"100 7\n20\n", b"100 7\n200 "] {
            assert!(
                message(cut).ends_with("the file seems cut off"),
                "{}",
                message(cut)
            );
        }
        assert!(!message(b"100\n200 7\n").contains("cut off"));
    }

    #[test]
    fn two_gigabytes_in_one_line_are_refused_at_once() {
        let endless = std::io::repeat(b'1').take(2 << 30);
        let scanned = scan(Path::new("x.dat"), endless, |_| {});
        let message = scanned.unwrap_err().to_string();
        assert!(
            message.contains("a line of more than 4096 bytes"),
            "{message}"
        );
        assert!(message.len() < 200);
    }
}
