//! Counters of runs of a program, as files that other tools wrote: what `bandscope compare` sets against each other.
//!
//! [`open`] tells from the content what a file is: the output of `perf stat` as people see it, in whatever locale (`perf_text`), for
//! programs (`-x`, `perf_csv`; `-j`, `perf_json`), a table of counters (`table`), what hyperfine exports (`hyperfine`), or the runs of `bandscope repeat` (`repeat`). Each gives a
//! [`CounterSet`], or several where one file has several sides. `studies::counters` ranks them. Formats as perf 6.1 prints them, whose
//! output in seven locales is in this directory's tests; docs/compare.md lists them.

mod collect;
mod hyperfine;
mod number;
mod open;
mod perf_csv;
mod perf_json;
mod perf_text;
mod repeat;
mod table;
#[cfg(test)]
mod tests;

pub use open::{is_recording, open, parse};
use serde::Serialize;

/// Name of the counter that holds how long a run took, in seconds.
pub const ELAPSED: &str = "elapsed";

/// The counters of one or more runs of the same thing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CounterSet {
    /// The file. Untrusted.
    pub origin: String,
    /// The command that was run, or the column's head; empty where nothing says. Untrusted.
    pub name: String,
    /// In which order they were in the file; names differ.
    pub counters: Vec<Counter>,
    /// The counter that runs are compared by; `None` where the file does not say, and it is [`ELAPSED`].
    pub metric: Option<String>,
    /// Whether more of that is better, as of a rate.
    pub higher_is_better: bool,
    /// What a reader must know before believing the rest, in sentences; may quote the file.
    pub notes: Vec<String>,
}

/// A counter of the compared runs, with a value from each run in which it counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counter {
    /// Its name, as the tool that counted spells it. Untrusted.
    pub name: String,
    /// Unit; empty of a number of events. Untrusted.
    pub unit: String,
    /// What it counted in each run in which it did.
    pub runs: Vec<f64>,
    /// Standard error of the one value in `runs`, where that is a mean of several runs whose values were not kept.
    pub standard_error: Option<f64>,
    /// Runs of that mean, where the file says how many.
    pub mean_of: Option<u32>,
    /// Share of the time in which it counted, the smallest of all runs; below 1 the counter was multiplexed with others, and its values
    /// are estimates.
    pub running: f64,
    /// Why `runs` is empty.
    pub absent: Option<Absent>,
}

/// Why there is no count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absent {
    /// This machine has no such counter.
    NotSupported,
    /// It was never scheduled.
    NotCounted,
}

impl CounterSet {
    /// Takes further runs of the same thing: of counters that both have they are further values.
    pub fn add(&mut self, more: CounterSet) {
        for counter in more.counters {
            match self
                .counters
                .iter_mut()
                .find(|own| own.name == counter.name)
            {
                None => self.counters.push(counter),
                Some(own) => {
                    own.runs.extend(counter.runs);
                    own.running = own.running.min(counter.running);
                    // The spread of several values says more than the error of one of them.
                    (own.standard_error, own.mean_of) = match own.runs.len() {
                        1 if own.standard_error.is_none() => {
                            (counter.standard_error, counter.mean_of)
                        }
                        1 => (own.standard_error, own.mean_of),
                        _ => (None, None),
                    };
                    if !own.runs.is_empty() {
                        own.absent = None;
                    }
                }
            }
        }
        self.notes.extend(more.notes);
        if self.name.is_empty() {
            self.name = more.name;
        }
        if self.metric.is_none() {
            self.metric = more.metric;
            self.higher_is_better = more.higher_is_better;
        }
    }
}
