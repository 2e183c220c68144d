//! How the counter of a node relates to the clock of its job's first task: `bandscope.job-clock/1`.
//!
//! `cluster/bandscope-mpi.c` exchanges messages with the first task before and after a recording, and leaves one small JSON file beside it. So what several
//! nodes recorded can be put on one axis of time.
//!
//! # Versions
//! As of recordings: within `/1` fields are only ever added, each with a default, and unknown ones are ignored.

use crate::Error;
use crate::document::{self, Document};
use crate::manifest::ranges::{COUNT, OutOfRange, Ranges, each, number};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The schema that this version reads.
pub const SCHEMA: &str = "bandscope.job-clock/1";
/// Its name beside the recording of a task.
pub const FILE: &str = "clock.json";

const DOCUMENT: Document = Document {
    schema: SCHEMA,
    max_bytes: 1 << 16,
    holds: "readings of a clock",
};

/// Bound of an error, in nanoseconds: a message takes less than a quarter of an hour.
const WITHIN_NS: std::ops::RangeInclusive<f64> = 0.0..=1e12;
/// Longest name of a clock, in bytes.
const BYTES: std::ops::RangeInclusive<u64> = 1..=512;

/// Readings of a node's counter and of the first task's clock. Strings are untrusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct JobClock {
    /// [`SCHEMA`].
    pub schema: String,
    /// Whose clock it is, the same for all tasks of a job, and of no other job.
    pub reference: String,
    /// One before the recording, and one after it.
    pub readings: [Reading; 2],
}

/// One reading: the best of many exchanged messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Reading {
    /// The node's counter: what `clock.origin_ticks` of a recording is a reading of.
    pub ticks: u64,
    /// CLOCK_MONOTONIC of the first task at that moment, in nanoseconds.
    pub reference_ns: i64,
    /// CLOCK_MONOTONIC of the node itself at that moment.
    pub own_ns: i64,
    /// Bound of the error of `reference_ns`: half of what the message took to go there and back.
    pub within_ns: f64,
}

impl JobClock {
    /// Reads what lies beside the recording in `directory`; `None` where nothing does.
    ///
    /// # Errors
    /// If it cannot be read, is no JSON of this schema, or holds what cannot be: what, and where.
    pub fn beside(directory: &Path) -> Result<Option<JobClock>, Error> {
        let path = directory.join(FILE);
        match path.exists() {
            true => JobClock::parse(&path, &document::bytes(&path, &DOCUMENT)?).map(Some),
            false => Ok(None),
        }
    }

    /// Parses the bytes of a file; `path` is for messages only.
    ///
    /// # Errors
    /// As [`JobClock::beside`].
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<JobClock, Error> {
        document::in_ranges(path, document::parse(path, bytes, &DOCUMENT)?)
    }

    /// The first task's clock when the counter reads `ticks`, in nanoseconds, and the bound of its error, if both run at steady rates: on the line through
    /// both readings.
    pub fn at(&self, ticks: u64) -> (f64, f64) {
        let [first, last] = &self.readings;
        let since = |ticks: u64| ticks.wrapping_sub(first.ticks) as i64 as f64;
        let share = since(ticks) / since(last.ticks);
        let between = |from: f64, to: f64| from + share * (to - from);
        let at = between(first.reference_ns as f64, last.reference_ns as f64);
        let within = (1.0 - share).abs() * first.within_ns + share.abs() * last.within_ns;
        (at, within)
    }
}

impl Ranges for JobClock {
    fn check(&self) -> Result<(), OutOfRange> {
        number("length of reference", self.reference.len() as u64, &BYTES)?;
        each("readings", &self.readings)?;
        let [before, after] = &self.readings;
        let later = before.ticks + 1..=*COUNT.end();
        number("readings[1].ticks", after.ticks, &later)
    }
}

impl Ranges for Reading {
    fn check(&self) -> Result<(), OutOfRange> {
        number("ticks", self.ticks, &COUNT)?;
        number("reference_ns", self.reference_ns.unsigned_abs(), &COUNT)?;
        number("own_ns", self.own_ns.unsigned_abs(), &COUNT)?;
        number("within_ns", self.within_ns, &WITHIN_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(ticks: u64, reference_ns: i64, within_ns: f64) -> Reading {
        Reading {
            ticks,
            reference_ns,
            within_ns,
            ..Reading::default()
        }
    }

    fn written(readings: [Reading; 2]) -> String {
        document::line(&JobClock {
            schema: SCHEMA.into(),
            reference: "n1 17".into(),
            readings,
        })
    }

    #[test]
    fn times_lie_on_the_line_through_the_readings() {
        let text = written([reading(1000, 5000, 4.0), reading(3000, 6000, 8.0)]);
        let clock = JobClock::parse(Path::new("clock.json"), text.as_bytes()).unwrap();
        assert_eq!(clock.at(1000), (5000.0, 4.0));
        assert_eq!(clock.at(2000), (5500.0, 6.0));
        // Before and after, where a reading's error counts more than once.
        assert_eq!(clock.at(0), (4500.0, 1.5 * 4.0 + 0.5 * 8.0));
        assert_eq!(clock.at(5000), (7000.0, 4.0 + 2.0 * 8.0));
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (text, field) in [
            (written([reading(5, 1, 1.0); 2]), "readings[1].ticks 5"),
            (
                written([reading(1, 1, -1.0), reading(2, 2, 1.0)]),
                "readings[0].within_ns -1",
            ),
            (
                written([reading(1 << 63, 1, 1.0), reading(2, 2, 1.0)]),
                "readings[0].ticks",
            ),
        ] {
            let error = JobClock::parse(Path::new("clock.json"), text.as_bytes()).unwrap_err();
            let error = error.to_string();
            assert!(
                error.contains("clock.json") && error.contains(field),
                "{error}"
            );
        }
    }
}
