//! One line of a `.dat` file: a row, a comment, or a reason why it is neither.

use crate::text::quoted;

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Line<'a> {
    /// Start of a quantum in nanoseconds, and its count.
    Row(u64, u32),
    /// What stands behind the `#`, without blanks around it.
    Comment(&'a [u8]),
    /// White space only.
    Blank,
}

/// Why a line is no row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// What stands there, shortened and escaped.
    pub found: String,
    /// What should stand there.
    pub expected: &'static str,
    /// There is one column, and it is a good time: the file may be cut off here.
    pub one_column: bool,
}

/// UTF-16, UTF-8.
const BYTE_ORDER_MARKS: [&[u8]; 3] = [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"];

const ROW: &str = "a time in whole nanoseconds and a count, separated by blanks";

/// Times are kept below 2^63 ns, 292 years, so that differences fit a signed number.
const MAX_TIME: u64 = i64::MAX as u64;

/// The usual row at the start of `text`: digits, one blank, digits, a line feed. Returns time, count, and
/// the number of bytes. Whatever else stands there is left to [`parse`].
///
/// Numbers of up to 18 digits cannot overflow, so that one pass over the bytes does all.
#[inline]
pub fn usual_row(text: &[u8]) -> Option<(u64, u32, usize)> {
    let (time, blank) = short_number(text, 0)?;
    if *text.get(blank)? != b' ' {
        return None;
    }
    let (count, feed) = short_number(text, blank + 1)?;
    if *text.get(feed)? != b'\n' {
        return None;
    }
    Some((time, u32::try_from(count).ok()?, feed + 1))
}

/// The number of at most 18 digits that begins at `from`, and where it ends.
#[inline]
fn short_number(text: &[u8], from: usize) -> Option<(u64, usize)> {
    let (mut value, mut at) = (0u64, from);
    if let Some(eight) = text.get(from..from + 8).and_then(eight_digits) {
        (value, at) = (eight, from + 8);
    }
    while let Some(&byte) = text.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (1..=18).contains(&(at - from)).then_some((value, at))
}

/// The number of eight digits that these eight bytes are: two numbers of one digit become one of two, and so on.
#[inline]
fn eight_digits(text: &[u8]) -> Option<u64> {
    let bytes = u64::from_le_bytes(text.try_into().ok()?);
    // The upper half of a digit's byte is 3, also when 6 is added to it.
    let (low, high) = (0x0f0f_0f0f_0f0f_0f0f, 0x3030_3030_3030_3030);
    let six_more = bytes.wrapping_add(0x0606_0606_0606_0606);
    if bytes & !low != high || six_more & !low != high {
        return None;
    }
    let ones = bytes & low;
    let twos = (ones * 10 + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos * 100 + (twos >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

/// The number at the start of `text` and what follows; `None` if there is none or it exceeds 64 bits.
fn digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    let mut length = 0;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        length += 1;
    }
    (length > 0).then(|| (value, &text[length..]))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// What is wrong with a line that begins with a byte order mark.
pub fn marked(line: &[u8]) -> Option<BadLine> {
    let mut marks = BYTE_ORDER_MARKS.iter();
    marks.any(|mark| line.starts_with(mark)).then(|| BadLine {
        found: "a byte order mark".to_owned(),
        expected: "plain ASCII, without one: iconv -f UTF-16 -t ASCII, or save it as UTF-8 without a mark",
        one_column: false,
    })
}

/// Parses a line without its line feed. A carriage return at its end is a blank.
pub fn parse(line: &[u8]) -> Result<Line<'_>, BadLine> {
    let text = line.trim_ascii();
    if let Some(comment) = text.strip_prefix(b"#") {
        return Ok(Line::Comment(comment.trim_ascii()));
    }
    if let Some(bad) = marked(text) {
        return Err(bad);
    }
    let columns: Vec<&[u8]> = text
        .split(|&byte| is_blank(byte))
        .filter(|column| !column.is_empty())
        .collect();
    let bad = |found: &[u8], expected| BadLine {
        found: quoted(found),
        expected,
        one_column: false,
    };
    match columns[..] {
        [] => Ok(Line::Blank),
        [time] => Err(BadLine {
            one_column: number(time).is_some(),
            ..bad(text, ROW)
        }),
        [time, count] => {
            let time = number(time)
                .filter(|&time| time <= MAX_TIME)
                .ok_or_else(|| {
                    bad(
                        time,
                        "a time in whole nanoseconds, from 0 to 9223372036854775807",
                    )
                })?;
            let count = number(count)
                .and_then(|count| u32::try_from(count).ok())
                .ok_or_else(|| bad(count, "a count, a whole number from 0 to 4294967295"))?;
            Ok(Line::Row(time, count))
        }
        _ => Err(bad(
            text,
            "two columns: a time in whole nanoseconds and a count",
        )),
    }
}

/// `text` as a number of digits only.
fn number(text: &[u8]) -> Option<u64> {
    digits(text)
        .filter(|(_, rest)| rest.is_empty())
        .map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_as_people_write_them() {
        for line in [
            "00007700000 4174",
            "7700000\t4174\r",
            "  7700000   0004174  ",
        ] {
            assert_eq!(
                parse(line.as_bytes()),
                Ok(Line::Row(7_700_000, 4174)),
                "{line}"
            );
        }
        assert_eq!(
            parse(b"  # Frequency 1 \r"),
            Ok(Line::Comment(b"Frequency 1"))
        );
        assert_eq!(parse(b" \t\r"), Ok(Line::Blank));
        let limits = b"9223372036854775807 4294967295";
        assert_eq!(parse(limits), Ok(Line::Row(MAX_TIME, u32::MAX)));
    }

    #[test]
    fn what_is_no_row_is_said() {
        for (line, found, expected) in [
            ("1 2 3", "\"1 2 3\"", "two columns"),
            ("1 many", "\"many\"", "a count"),
            ("soon 2", "\"soon\"", "a time"),
            ("1 -2", "\"-2\"", "a count"),
            ("-1 2", "\"-1\"", "a time"),
            ("NaN 2", "\"NaN\"", "a time"),
            ("1 NaN", "\"NaN\"", "a count"),
            ("1e30 2", "\"1e30\"", "a time"),
            (
                "1000000000000000000000000000000 2",
                "\"1000000000000000000000000000000\"",
                "a time",
            ),
            (
                "1 1000000000000000000000000000000",
                "\"1000000000000000000000000000000\"",
                "a count",
            ),
            ("1 4294967296", "\"4294967296\"", "a count"),
            ("9223372036854775808 1", "\"9223372036854775808\"", "a time"),
            ("1 2\0", "\"2\\0\"", "a count"),
            (
                "\x1b[2J",
                "\"\\u{1b}[2J\"",
                "a time in whole nanoseconds and a count",
            ),
        ] {
            let bad = parse(line.as_bytes()).unwrap_err();
            assert_eq!(bad.found, found);
            assert!(bad.expected.contains(expected), "{line}: {}", bad.expected);
            assert!(!bad.one_column);
        }
        assert!(parse(b"34189136731").unwrap_err().one_column);
    }

    #[test]
    fn the_fast_way_agrees_with_the_slow_one_or_declines() {
        assert_eq!(
            usual_row(b"00007700000 4174\nrest"),
            Some((7_700_000, 4174, 17))
        );
        let most = b"999999999999999999 4294967295\n";
        assert_eq!(
            usual_row(most),
            Some((999_999_999_999_999_999, u32::MAX, 30))
        );
        for text in [
            "1 2",
            "1 2\r\n",
            "1  2\n",
            " 1 2\n",
            "1\t2\n",
            "1 2 3\n",
            "1\n",
            "\n",
            "#\n",
            "",
            "-1 2\n",
            "1 4294967296\n",
            "1000000000000000000 2\n",
            "1 0000000000000000001\n",
        ] {
            assert_eq!(usual_row(text.as_bytes()), None, "{text}");
        }
    }
}
