//! Reading a log, with suspicion, and holding it against a recording's clock.

use super::{Disturbance, End, Header, Intervals, SCHEMA};
use crate::Error;
use crate::files::open_regular;
use crate::manifest::{Clock, State, ranges};
use crate::text::quoted;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The longest line that is read. A disturbance of ten seconds that is interrupted 4,000 times a second has 2 MB.
const LONGEST_LINE: u64 = 16 << 20;
/// How far the wall clocks of a log and a recording of one boot may differ: somebody may set it in between, by seconds; another
/// boot of the machine is off by the time that it was up.
const WALL_CLOCK_NS: f64 = 10e9;
/// And by how much more per nanosecond between the two: what NTP corrects at most (adjtimex(2): 500 ppm).
const WALL_CLOCK_DRIFT: f64 = 500e-6;
/// By how much two calibrations of one clock may differ: what a program may get wrong that calibrated for a few milliseconds.
const CALIBRATIONS_DIFFER: f64 = 1e-3;

/// A log that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// The file, as the user named it.
    pub path: PathBuf,
    /// Its first line.
    pub header: Header,
    /// Its rows, in order of time.
    pub disturbances: Vec<Disturbance>,
    /// Its last line; `None` where the run was killed, or goes on.
    pub end: Option<End>,
    /// Whether it ends in a line that was never finished, which is left out.
    pub cut: bool,
}

/// Any line after the first: only an end has a state.
#[derive(Deserialize)]
struct Tag {
    #[serde(default)]
    state: Option<IgnoredAny>,
}

/// Reads the log at `path`.
///
/// # Errors
/// If it is no log of this version, or a row does not read or contradicts the rows before it. A log that stops early, even
/// within a line, is no error.
pub fn read(path: &Path) -> Result<Log, Error> {
    let (file, _) = open_regular(path, "a regular file with a log of disturbances")?;
    parse(path, BufReader::new(file))
}

/// A line with its number from 1, and whether it was finished.
struct Line {
    number: u64,
    bytes: Vec<u8>,
    finished: bool,
}

fn next_line(path: &Path, reader: &mut impl BufRead, line: &mut Line) -> Result<bool, Error> {
    line.number += 1;
    line.bytes.clear();
    let read = reader
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut line.bytes)
        .map_err(Error::io(path, "cannot read"))?;
    line.finished = line.bytes.pop_if(|byte| *byte == b'\n').is_some();
    if read as u64 == LONGEST_LINE && !line.finished {
        return Err(row(
            path,
            line,
            format!("a line of more than {} MiB", LONGEST_LINE >> 20),
            "JSON",
        ));
    }
    Ok(read > 0)
}

fn row(path: &Path, line: &Line, found: String, expected: &str) -> Error {
    Error::Row {
        path: path.into(),
        row: line.number,
        found,
        expected: expected.into(),
    }
}

/// Reads a log from `reader`; `path` is for messages.
///
/// # Errors
/// As [`read`].
pub fn parse(path: &Path, mut reader: impl BufRead) -> Result<Log, Error> {
    let mut line = Line {
        number: 0,
        bytes: Vec::new(),
        finished: true,
    };
    next_line(path, &mut reader, &mut line)?;
    let mut log = Log {
        path: path.into(),
        header: header(path, &line)?,
        disturbances: Vec::new(),
        end: None,
        cut: false,
    };
    while next_line(path, &mut reader, &mut line)? {
        if let Some(end) = &log.end {
            let found = format!("a line after the end ({:?})", end.state);
            return Err(row(path, &line, found, "nothing more"));
        }
        if !line.finished {
            // The run was killed while it wrote this one.
            log.cut = true;
            break;
        }
        let tag: Tag = json(path, &line, "a disturbance or the end of the log")?;
        if tag.state.is_some() {
            let end: End = json(path, &line, "the end of the log")?;
            check_end(path, &line, &log, &end)?;
            log.end = Some(end);
        } else {
            let disturbance: Disturbance = json(path, &line, "a disturbance")?;
            check_row(path, &line, log.disturbances.last(), &disturbance)?;
            log.disturbances.push(disturbance);
        }
    }
    Ok(log)
}

fn json<'a, T: Deserialize<'a>>(path: &Path, line: &'a Line, what: &str) -> Result<T, Error> {
    serde_json::from_slice(&line.bytes).map_err(|error| {
        // Which line of the file it is stands in front; serde's count is within the line.
        let text = error.to_string();
        let text = text.split(" at line ").next().unwrap_or(&text);
        row(
            path,
            line,
            quoted(text.as_bytes()),
            &format!("{what}, as JSON"),
        )
    })
}

fn header(path: &Path, line: &Line) -> Result<Header, Error> {
    let no_log = || Error::File {
        path: path.into(),
        found: if line.bytes.is_empty() {
            "nothing in its first line".into()
        } else {
            quoted(&line.bytes)
        },
        expected: format!("a log of schema {SCHEMA}, as `bandscope inject` writes"),
    };
    #[derive(Deserialize)]
    struct Version {
        schema: String,
    }
    let version: Version = serde_json::from_slice(&line.bytes).map_err(|_| no_log())?;
    if version.schema != SCHEMA {
        return Err(Error::File {
            path: path.into(),
            found: format!("schema {}", quoted(version.schema.as_bytes())),
            expected: format!("\"{SCHEMA}\", a log that `bandscope inject` wrote"),
        });
    }
    let header: Header = json(path, line, "the header of a log")?;
    check_clock(path, line, &header.clock)?;
    Ok(header)
}

fn check_clock(path: &Path, line: &Line, clock: &Clock) -> Result<(), Error> {
    ranges::inside("clock", clock).map_err(|wrong| {
        let found = format!("{} {}", wrong.field, wrong.found);
        row(path, line, found, &wrong.expected)
    })
}

fn check_end(path: &Path, line: &Line, log: &Log, end: &End) -> Result<(), Error> {
    check_clock(path, line, &end.clock)?;
    let rows = log.disturbances.len() as u64;
    if end.disturbances != rows {
        let expected = format!("{}, as the end of the log says", end.disturbances);
        return Err(row(path, line, format!("{rows} disturbances"), &expected));
    }
    Ok(())
}

fn check_row(
    path: &Path,
    line: &Line,
    before: Option<&Disturbance>,
    this: &Disturbance,
) -> Result<(), Error> {
    if this.end < this.start {
        let found = format!("an end at {} before its start at {}", this.end, this.start);
        return Err(row(path, line, found, "times in order"));
    }
    let mut last = this.start;
    for &(from, to) in &this.away {
        if from < last || to < from || this.end < to {
            let found = format!("away from {from} to {to}");
            let expected = format!("spans in order from {last} to {}", this.end);
            return Err(row(path, line, found, &expected));
        }
        last = to;
    }
    match before {
        Some(before) if this.start < before.end => {
            let found = format!("a start at {}", this.start);
            let expected = format!(
                "{} or later, where the disturbance before it ends",
                before.end
            );
            Err(row(path, line, found, &expected))
        }
        _ => Ok(()),
    }
}

impl Log {
    /// The clock as it was calibrated over the whole run, or at its beginning where the end is missing.
    pub fn clock(&self) -> &Clock {
        self.end
            .as_ref()
            .map_or(&self.header.clock, |end| &end.clock)
    }

    /// Whether this is all that happened: it ended in order, and nothing was lost.
    pub fn whole(&self) -> bool {
        self.end
            .as_ref()
            .is_some_and(|end| end.state != State::Failed && end.lost == 0)
    }

    /// When the disturber really ran, in raw ticks: what is `away` is left out.
    pub fn disturbed(&self) -> Intervals {
        Intervals::new(self.disturbances.iter().flat_map(Disturbance::pieces))
    }

    /// From first to last clock read of each disturbance, in raw ticks: what is `away` is in it.
    pub fn spans(&self) -> Intervals {
        let spans = self.disturbances.iter();
        Intervals::new(spans.map(|disturbance| (disturbance.start, disturbance.end)))
    }

    /// CPU time in nanoseconds that the kernel booked to the disturber for the disturbances that begin from raw tick `start`
    /// on and end by `end`: what kernel events of its task add up to, interrupts during them included. `None` where a row
    /// does not know it.
    pub fn cpu_ns(&self, start: u64, end: u64) -> Option<u64> {
        let inside = |row: &&Disturbance| start <= row.start && row.end <= end;
        let rows = self.disturbances.iter().filter(inside);
        rows.map(|row| row.cpu_ns)
            .try_fold(0_u64, |sum, ns| sum.checked_add(ns?))
    }

    /// Checks that a recording with this clock was made in the same boot of the same machine, as far as can be told: then
    /// `disturbed().since(clock.origin_ticks)` is in the recording's ticks.
    ///
    /// # Errors
    /// If the clocks have different names or rates, or counted differently when the wall clock read the same.
    pub fn check_recording(&self, clock: &Clock) -> Result<(), Error> {
        let own = self.clock();
        let refuse = |found: String, expected: String| {
            Err(Error::File {
                path: self.path.clone(),
                found,
                expected,
            })
        };
        if own.name != clock.name {
            return refuse(
                format!("a log on the clock {}", quoted(own.name.as_bytes())),
                format!("{}, the recording's", quoted(clock.name.as_bytes())),
            );
        }
        // A given rate may be wrong on purpose; what was measured beside it is not.
        let ticks_per_ns = clock.measured_ticks_per_ns.unwrap_or(clock.ticks_per_ns);
        if (own.ticks_per_ns / ticks_per_ns - 1.0).abs() > CALIBRATIONS_DIFFER {
            return refuse(
                format!("a clock of {} ticks/ns", own.ticks_per_ns),
                format!("{ticks_per_ns}, the recording's"),
            );
        }
        let ticks = clock.origin_ticks.wrapping_sub(own.origin_ticks) as i64;
        let passed = ticks as f64 / own.ticks_per_ns;
        let wall = clock.origin_unix_ns as f64 - own.origin_unix_ns as f64;
        let allowed = WALL_CLOCK_NS + WALL_CLOCK_DRIFT * passed.abs();
        // An unknown rate or wall clock makes a NaN, which is no match.
        if (wall - passed).abs() <= allowed {
            return Ok(());
        }
        refuse(
            format!(
                "a log whose counter and wall clock are {:.0} s apart from the recording's",
                ((wall - passed) / 1e9).abs()
            ),
            "a log of the same boot of the same machine".into(),
        )
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
