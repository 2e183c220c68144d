//! What `perf stat -j` prints: an object for each counter, one a line.
//!
//! In locales with a decimal comma perf 6.1 prints numbers that are no JSON (`"pcnt-running" : 100,00`); they are mended.

use super::CounterSet;
use super::collect::{Collector, Reading, Value, absent};
use crate::Error;
use crate::text::quoted;
use serde_json::{Map, Value as Json};
use std::path::Path;

/// What a line should be.
const EXPECTED: &str = "an object of perf stat -j, with counter-value and event";

/// Whether a text is this.
pub fn is_it(text: &str) -> bool {
    let first = text.lines().find(|line| line.trim_start().starts_with('{'));
    first
        .is_some_and(|line| line.contains("\"counter-value\"") || line.contains("\"metric-value\""))
}

/// Reads a text.
///
/// # Errors
/// If a line is no such object, or there is no counter.
pub fn parse(path: &Path, text: &str) -> Result<CounterSet, Error> {
    let mut collector = Collector::default();
    for (line, row) in text.lines().zip(1..) {
        let line = line.trim();
        if line.starts_with("# started on") {
            collector.begin();
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |expected: &str| Error::Row {
            path: path.into(),
            row,
            found: quoted(line.as_bytes()),
            expected: expected.into(),
        };
        let object: Map<String, Json> = serde_json::from_str(line)
            .or_else(|_| serde_json::from_str(&mended(line)))
            .map_err(|_| wrong(EXPECTED))?;
        // A line of a further metric of the counter above it.
        if !object.contains_key("event") && !object.contains_key("counter-value") {
            continue;
        }
        let reading = reading(&object).ok_or_else(|| wrong(EXPECTED))?;
        collector.add(reading, false).map_err(wrong)?;
    }
    collector.finish(path, String::new())
}

/// With a point for each comma between two digits outside of strings: a comma that separates has a blank behind it.
fn mended(line: &str) -> String {
    let mut inside = false;
    let mut bytes = line.as_bytes().to_vec();
    for at in 1..bytes.len() {
        if bytes[at - 1] == b'"' {
            inside = !inside;
        }
        let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        if !inside && bytes[at] == b',' && digit(bytes.get(at - 1)) && digit(bytes.get(at + 1)) {
            bytes[at] = b'.';
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A number, as one or as text with a decimal point or comma; perf does not group it.
fn number(value: &Json) -> Option<f64> {
    let number = match value {
        Json::String(text) => text.replace(',', ".").parse().ok()?,
        other => other.as_f64()?,
    };
    Some(number).filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

fn reading(object: &Map<String, Json>) -> Option<Reading> {
    let text = |key: &str| object.get(key).and_then(Json::as_str);
    let name = text("event").filter(|name| !name.is_empty())?;
    let value = object.get("counter-value")?;
    let value = match value.as_str().and_then(absent) {
        Some(why) => Value::Absent(why),
        None => Value::Count(number(value)?),
    };
    let share = |key: &str| {
        object
            .get(key)
            .and_then(number)
            .map(|percent| percent / 100.0)
    };
    let places = [
        "cpu", "core", "die", "cache", "socket", "node", "thread", "cgroup",
    ];
    let at_s = match object.get("interval") {
        Some(time) => Some(number(time)?),
        None => None,
    };
    Some(Reading {
        at_s,
        place: places
            .into_iter()
            .filter_map(text)
            .collect::<Vec<_>>()
            .join(" "),
        name: name.to_owned(),
        unit: text("unit").unwrap_or_default().to_owned(),
        value,
        relative_error: share("variance"),
        running: share("pcnt-running").map(|share| share.min(1.0)),
    })
}
