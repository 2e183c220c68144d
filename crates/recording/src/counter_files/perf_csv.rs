//! What `perf stat -x SEPARATOR` prints: a row for each counter, with the same fields in every version but for some more at the end.
//!
//! `[time] [place [CPUs]] count unit event [error%] [cgroup] runtime share [metric unit]`. The separator is whatever the first row comes
//! apart with. perf does not quote: events with commas between slashes are put together again, and in locales with a decimal comma
//! `-x,` prints `0,94,msec,task-clock`, which reads as well, because counts without a unit have no decimals and the others have two.

use super::CounterSet;
use super::collect::{Collector, Reading, Value, absent};
use crate::Error;
use crate::text::quoted;
use std::path::Path;

/// What a row should be.
const EXPECTED: &str = "count, unit and event, as perf stat -x prints them";
/// Separators that are tried first, in this order.
const USUAL: [char; 6] = [',', ';', '\t', '|', ':', ' '];
/// Rows by which the separator is found.
const LOOKED_AT: usize = 20;

/// Rows that hold something.
fn rows(text: &str) -> impl Iterator<Item = (&str, u64)> {
    let rows = text.lines().zip(1..);
    rows.filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'))
}

/// The separator, if the first row has one.
pub fn separator(text: &str) -> Option<String> {
    let (first, _) = rows(text).next()?;
    let others = first
        .chars()
        .filter(|c| !c.is_alphanumeric() && !matches!(c, '.' | '-' | '<' | '>' | '%' | '_'));
    let mut found: Vec<char> = USUAL.into_iter().chain(others).collect();
    // A line of a thousand different signs is no row.
    found.truncate(64);
    // `48::::page-faults` is of two colons, although its first row may read with one: what reads more rows is it, and of equals the longer.
    let candidates = (1..=3).rev().flat_map(|times| {
        let repeat = move |c: &char| c.to_string().repeat(times);
        found.iter().map(repeat).collect::<Vec<_>>()
    });
    let (mut best, mut most) = (None, 0);
    for candidate in candidates.filter(|candidate| first.contains(candidate.as_str())) {
        let reads = |line: &str| reading(&fields(line, &candidate)).is_some();
        if reads(first) {
            let number = rows(text)
                .take(LOOKED_AT)
                .filter(|(line, _)| reads(line))
                .count();
            if number > most {
                (best, most) = (Some(candidate), number);
            }
        }
    }
    best
}

/// Reads a text whose separator is known.
///
/// # Errors
/// If a row is none, or there is no counter.
pub fn parse(path: &Path, text: &str, separator: &str) -> Result<CounterSet, Error> {
    let mut collector = Collector::default();
    let mut first = 0;
    for (line, row) in text.lines().zip(1..) {
        // With -o perf says when each run began.
        if line.starts_with("# started on") {
            collector.begin();
        }
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if first == 0 {
            first = row;
        }
        let fields = fields(line, separator);
        // A row of a further metric of the counter above it.
        if fields.len() > 3 && fields[..3].iter().all(|field| field.trim().is_empty()) {
            continue;
        }
        let wrong = |expected: &str| Error::Row {
            path: path.into(),
            row,
            found: quoted(line.trim().as_bytes()),
            expected: expected.into(),
        };
        let reading = reading(&fields).ok_or_else(|| wrong(EXPECTED))?;
        collector.add(reading, false).map_err(wrong)?;
    }
    collector.finish(path, String::new())
}

/// A row's fields; what stands between the slashes of an event is one, and `<not counted>` where blanks separate.
fn fields(line: &str, separator: &str) -> Vec<String> {
    let slashes = |text: &str| text.bytes().filter(|byte| *byte == b'/').count();
    let mut fields: Vec<String> = Vec::new();
    // Of the last field. Counted as it grows: a row may be one event of megabytes that never ends.
    let (mut open, mut slashed, mut assigned) = (false, 0, false);
    for part in line.split(separator) {
        match fields.last_mut().filter(|_| open) {
            Some(field) => {
                field.push_str(separator);
                field.push_str(part);
                slashed += slashes(separator) + slashes(part);
                assigned |= separator.contains('=') || part.contains('=');
            }
            None => {
                fields.push(part.trim().to_owned());
                (slashed, assigned) = (slashes(part), part.contains('='));
            }
        }
        // `cpu/event=0x3c,umask=1/`; a metric's unit such as `K/sec` has one slash, too, but nothing opens before it.
        let field = &fields[fields.len() - 1];
        open = field == "<not" || slashed == 1 && assigned && !field.ends_with('/');
    }
    fields
}

fn digits(field: &str) -> bool {
    !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number without groups, with a decimal point or comma.
fn plain(field: &str) -> Option<f64> {
    let numeric = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b',');
    let field = field
        .bytes()
        .all(numeric)
        .then(|| field.replace(',', "."))?;
    field.parse().ok()
}

/// Takes the first of some fields.
fn take<'a>(fields: &mut &'a [String]) -> Option<&'a str> {
    let (first, rest) = fields.split_first()?;
    *fields = rest;
    Some(first)
}

fn reading(all: &[String]) -> Option<Reading> {
    let mut fields = all;
    // Nine decimals, in any locale.
    let at_s = fields.first().filter(|field| {
        field
            .split_once('.')
            .is_some_and(|(_, decimals)| decimals.len() == 9)
    });
    let at_s = at_s.and_then(|field| plain(field));
    if at_s.is_some() {
        take(&mut fields);
    }
    let mut place = String::new();
    if fields
        .first()
        .is_some_and(|field| plain(field).is_none() && absent(field).is_none())
    {
        place = take(&mut fields)?.to_owned();
        let aggregates = place.starts_with(['S', 'D', 'N'])
            && place[1..].starts_with(|c: char| c.is_ascii_digit());
        if aggregates
            && fields
                .get(1)
                .is_some_and(|next| plain(next).is_some() || absent(next).is_some())
        {
            take(&mut fields).filter(|cpus| digits(cpus))?;
        }
    }
    let count = take(&mut fields)?;
    let mut value = match absent(count) {
        Some(why) => Value::Absent(why),
        None => Value::Count(plain(count)?),
    };
    // A decimal comma that is the separator as well.
    if digits(count) && fields.first().is_some_and(|field| digits(field)) {
        let decimals = take(&mut fields).filter(|decimals| decimals.len() == 2)?;
        value = Value::Count(format!("{count}.{decimals}").parse().ok()?);
    }
    let unit = take(&mut fields).filter(|unit| plain(unit).is_none() && unit.len() <= 16)?;
    let name = take(&mut fields).filter(|name| !name.is_empty() && plain(name).is_none())?;
    Some(Reading {
        at_s,
        place,
        name: name.to_owned(),
        unit: unit.to_owned(),
        value,
        relative_error: error(fields),
        running: running(fields),
    })
}

/// The standard error of a mean, after the event; of `1,12%` the field before it holds the rest.
fn error(fields: &[String]) -> Option<f64> {
    let at = fields
        .iter()
        .take(2)
        .position(|field| field.ends_with('%'))?;
    let text = fields[at].trim_end_matches('%');
    let number = match at {
        0 => text.replace(',', ".").parse().ok()?,
        _ if digits(&fields[0]) => format!("{}.{text}", fields[0]).parse().ok()?,
        _ => text.parse().ok()?,
    };
    Some(number)
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)
        .map(|number| number / 100.0)
}

/// The share of the time, after the first whole number that is the time itself.
fn running(fields: &[String]) -> Option<f64> {
    let from = fields
        .iter()
        .take(2)
        .position(|field| field.ends_with('%'))
        .map_or(0, |at| at + 1);
    let at = (from..fields.len()).find(|&at| digits(&fields[at]))?;
    let share = fields.get(at + 1)?;
    let share = match fields
        .get(at + 2)
        .filter(|next| digits(share) && next.len() == 2 && digits(next))
    {
        Some(decimals) => format!("{share}.{decimals}").parse().ok()?,
        None => plain(share)?,
    };
    Some((share / 100.0).min(1.0))
}
