//! What `perf stat` prints for people: a block for each run, in any locale.
//!
//! Rows are `[time] [place [CPUs]] count [unit] event [# remark] [( +- x% )] [(y%)]`, with the time where a head says so (`-I`), the place
//! with `-A` and the like, x the standard error of a mean over runs (`-r`), and y the share of the time in which the counter ran. What
//! stands before the first block, and after one's times, is the program's own output.

use super::collect::{Collector, Reading, Value, absent};
use super::number::{self, Lone};
use super::{CounterSet, ELAPSED};
use crate::Error;
use crate::text::quoted;
use std::path::Path;

/// What begins a block.
const HEAD: &str = "Performance counter stats for";
/// What a row should be.
const EXPECTED: &str = "a count and an event, as perf stat prints them";
/// Units that perf prints between a count and an event.
const UNITS: [&str; 17] = [
    "msec", "ns", "usec", "us", "ms", "s", "sec", "Joules", "Watts", "MiB", "KiB", "GiB", "MB",
    "Bytes", "bytes", "C", "%",
];

/// Whether a text is this.
pub fn is_it(text: &str) -> bool {
    text.lines()
        .any(|line| is_head(line) || is_interval_head(line))
}

fn is_head(line: &str) -> bool {
    line.trim_start()
        .trim_start_matches('#')
        .trim_start()
        .starts_with(HEAD)
}

fn is_interval_head(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.starts_with(&["#", "time"]) && words.contains(&"counts")
}

/// The command of a head: what stands in quotation marks.
fn command(line: &str) -> String {
    let after = line.split_once('\'').map_or("", |(_, rest)| rest);
    let command = after
        .rsplit_once('\'')
        .map_or(after, |(command, _)| command);
    command.to_owned()
}

/// Whether a head ends here: a command may have several lines.
fn ends_head(line: &str) -> bool {
    line.trim_end().ends_with(':')
}

/// Of how many runs the counts are means, at the end of a head: `'./benchmark' (5 runs):`.
fn runs_of_mean(line: &str) -> Option<u32> {
    let (_, runs) = line.trim_end().strip_suffix(" runs):")?.rsplit_once('(')?;
    runs.parse().ok()
}

/// Where in a file we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In what is not perf's.
    Outside,
    /// In a block.
    Block,
    /// In rows that begin with a time.
    Intervals,
    /// After a block's times.
    Times,
}

/// Reads a text.
///
/// # Errors
/// If a row of a block is none, or there is no counter.
pub fn parse(path: &Path, text: &str) -> Result<CounterSet, Error> {
    let mut collector = Collector::default();
    let (mut place, mut name, mut open) = (Place::Outside, String::new(), false);
    for (line, row) in text.lines().zip(1..) {
        let wrong = |expected: &str| Error::Row {
            path: path.into(),
            row,
            found: quoted(line.trim().as_bytes()),
            expected: expected.into(),
        };
        // A command of several lines.
        if open {
            open = !ends_head(line);
            collector.mean_of(runs_of_mean(line));
            continue;
        }
        if is_head(line) {
            open = !ends_head(line);
            if name.is_empty() {
                name = command(line);
            }
            if place != Place::Intervals {
                collector.begin();
                collector.mean_of(runs_of_mean(line));
                place = Place::Block;
            }
            continue;
        }
        if is_interval_head(line) {
            place = Place::Intervals;
            continue;
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || place == Place::Outside {
            continue;
        }
        match time(line) {
            Some((what, seconds, error)) => {
                // At intervals the time is that of the last one; both are the same run.
                if place != Place::Intervals || what != ELAPSED {
                    collector.time(what, seconds, error).map_err(wrong)?;
                }
                if place == Place::Block {
                    place = Place::Times;
                }
            }
            None if place == Place::Times => place = Place::Outside,
            None => {
                let reading =
                    reading(line, place == Place::Intervals).ok_or_else(|| wrong(EXPECTED))?;
                collector
                    .add(reading, place == Place::Block)
                    .map_err(wrong)?;
            }
        }
    }
    collector.finish(path, name)
}

/// The times after the counts: name, seconds, standard error over that.
fn time(line: &str) -> Option<(&'static str, f64, Option<f64>)> {
    let (seconds, rest) = number::leading(line)?;
    let mut rest = rest.trim_start();
    let mut error = None;
    if let Some(more) = rest.strip_prefix("+-") {
        let (text, more) = number::leading(more.trim_start())?;
        error = number::value(text, Lone::Decimal);
        rest = more.trim_start();
    }
    let what = rest.strip_prefix("seconds ")?.trim_start();
    let (_, name) = [("time elapsed", ELAPSED), ("user", "user"), ("sys", "sys")]
        .into_iter()
        .find(|(words, _)| what.starts_with(words))?;
    let seconds = number::value(seconds, Lone::Decimal)?;
    let relative = error.filter(|_| seconds > 0.0).map(|error| error / seconds);
    Some((name, seconds, relative))
}

/// A row of a block.
fn reading(line: &str, timed: bool) -> Option<Reading> {
    let (at_s, mut rest) = match timed {
        true => {
            let (time, rest) = line.split_once(char::is_whitespace)?;
            // The time has a point in any locale.
            (
                Some(
                    time.parse()
                        .ok()
                        .filter(|time: &f64| *time >= 0.0 && time.is_finite())?,
                ),
                rest.trim_start(),
            )
        }
        false => (None, line),
    };
    let mut place = String::new();
    if !rest.starts_with(|c: char| c.is_ascii_digit() || c == '<') {
        let (word, after) = rest.split_once(char::is_whitespace)?;
        place = word.into();
        rest = after.trim_start();
        // How many CPUs were added up, of a socket, die, core or node.
        if word.starts_with(['S', 'D', 'N']) && word[1..].starts_with(|c: char| c.is_ascii_digit())
        {
            let (cpus, after) = rest.split_once(char::is_whitespace)?;
            cpus.parse::<u32>().ok()?;
            rest = after.trim_start();
        }
    }
    let (count, event) = match rest.strip_prefix('<') {
        Some(inside) => rest.split_at(inside.find('>')? + 2),
        None => number::leading(rest)?,
    };
    let (event, relative_error, running) = remarks(event)?;
    let (name, unit) = named(event)?;
    let value = match absent(count) {
        Some(why) => Value::Absent(why),
        None => Value::Count(number::value(count, Lone::Thousands)?),
    };
    Some(Reading {
        at_s,
        place,
        name,
        unit,
        value,
        relative_error,
        running,
    })
}

/// The event without what is remarked on it; the standard error and the share of the time, where they stand there.
fn remarks(text: &str) -> Option<(&str, Option<f64>, Option<f64>)> {
    let percent = |text: &str| {
        let number = text.trim().strip_suffix('%')?.trim();
        Some(number::value(number, Lone::Decimal)? / 100.0)
    };
    let (mut rest, mut error, mut running) = (text.trim_end(), None, None);
    // From the end on: what stands in the remark itself is a ratio, and nothing here.
    while let Some((before, inside)) = rest
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once('('))
    {
        match inside.trim().strip_prefix("+-") {
            // A mean of 0 has an error of `-nan%`.
            Some(number) => error = percent(number),
            None => match percent(inside) {
                Some(share) => running = Some(share.min(1.0)),
                None => break,
            },
        }
        rest = before.trim_end();
    }
    let event = rest.split(" #").next()?.split("\t#").next()?.trim();
    (!event.is_empty()).then_some((event, error, running))
}

/// Name and unit of an event.
fn named(text: &str) -> Option<(String, String)> {
    // Before perf 4.17.
    if let Some(name) = text.strip_suffix("(msec)") {
        return Some((name.trim().into(), "msec".into()));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let (unit, name) = match words[..] {
        [unit, _, ..] if UNITS.contains(&unit) => (unit, &words[1..]),
        _ => ("", &words[..]),
    };
    (!name.is_empty()).then(|| (name.join(" "), unit.into()))
}
