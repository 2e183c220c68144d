//! Readings of runs, put together to counters: what the readers of perf's formats share.
//!
//! A run may have several readings of one counter: of CPUs, sockets or threads, and of intervals. They add up.

use super::{Absent, Counter, CounterSet, ELAPSED};
use crate::Error;
use crate::text::{quoted, shown};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// The most counters of one file; the largest event list has some thousand.
const MOST_COUNTERS: usize = 10_000;
/// The most runs; a night of repetitions has some thousand.
const MOST_RUNS: usize = 100_000;

/// One line of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Seconds since the run began, of readings at intervals.
    pub at_s: Option<f64>,
    /// CPU, socket, thread; empty for the whole run.
    pub place: String,
    /// Name of the counter, as the tool spells it.
    pub name: String,
    /// Unit; empty of a number of events.
    pub unit: String,
    /// What it counted.
    pub value: Value,
    /// Standard error over the value, of a mean of runs.
    pub relative_error: Option<f64>,
    /// Share of the time in which it counted.
    pub running: Option<f64>,
}

/// A count, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// What was counted, or measured in the unit.
    Count(f64),
    /// Why nothing was.
    Absent(Absent),
}

impl Default for Value {
    fn default() -> Value {
        Value::Count(0.0)
    }
}

/// What perf prints in place of a count.
pub fn absent(text: &str) -> Option<Absent> {
    match text {
        "<not supported>" => Some(Absent::NotSupported),
        "<not counted>" => Some(Absent::NotCounted),
        _ => None,
    }
}

/// Readings of one counter in one run.
#[derive(Clone, Debug, Default)]
struct Sum {
    counted: u32,
    absent: Option<Absent>,
    value: f64,
    /// Sum of the squared standard errors; `None` where no reading had one.
    error: Option<f64>,
    running: f64,
    /// Runs of which it is the mean, where the file says so.
    mean_of: Option<u32>,
}

/// Collects the readings of a file.
#[derive(Debug, Default)]
pub struct Collector {
    /// Names and units in order, and their numbers.
    names: Vec<(String, String)>,
    numbers: BTreeMap<String, usize>,
    /// By run and number.
    runs: Vec<BTreeMap<usize, Sum>>,
    /// Counter and place of the readings of the present instant of the run. A large machine has tens of thousands.
    seen: HashSet<(usize, String)>,
    /// Those of the run's first reading.
    first: Option<(usize, String)>,
    at_s: Option<f64>,
    /// Runs of which the counts that follow are means, where the file says so.
    mean_of: Option<u32>,
    notes: Vec<String>,
    doubles: bool,
}

impl Collector {
    /// A new run begins here, for sure.
    pub fn begin(&mut self) {
        if self.runs.last().is_none_or(|run| !run.is_empty()) {
            self.runs.push(BTreeMap::new());
        }
        (self.first, self.at_s, self.mean_of) = (None, None, None);
        self.seen.clear();
    }

    /// What follows are means of so many runs.
    pub fn mean_of(&mut self, runs: Option<u32>) {
        self.mean_of = runs;
    }

    /// Adds a reading. `headed` files say where runs begin; in others a run begins with the counter that the one before began with, or
    /// where time goes back.
    ///
    /// # Errors
    /// What is too much of it.
    pub fn add(&mut self, reading: Reading, headed: bool) -> Result<(), &'static str> {
        let number = self.number(&reading)?;
        let key = (number, reading.place.clone());
        if reading.at_s != self.at_s {
            let back = reading.at_s < self.at_s;
            if back {
                self.begin();
            }
            self.at_s = reading.at_s;
            self.seen.clear();
        } else if self.seen.contains(&key) {
            if headed || self.first.as_ref() != Some(&key) {
                self.double(&reading.name);
                return Ok(());
            }
            self.begin();
            self.at_s = reading.at_s;
        }
        if self.runs.is_empty() {
            self.begin();
            self.at_s = reading.at_s;
        }
        if self.runs.len() > MOST_RUNS {
            return Err("a hundred thousand runs at most");
        }
        self.first.get_or_insert_with(|| key.clone());
        self.seen.insert(key);
        self.sum(number, &reading);
        if let Some(at_s) = reading.at_s {
            self.time(ELAPSED, at_s, None)?;
        }
        Ok(())
    }

    /// A time that the run as a whole took, in seconds.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn time(
        &mut self,
        name: &str,
        seconds: f64,
        relative_error: Option<f64>,
    ) -> Result<(), &'static str> {
        let reading = Reading {
            name: name.into(),
            unit: "s".into(),
            value: Value::Count(seconds),
            relative_error,
            ..Reading::default()
        };
        let number = self.number(&reading)?;
        if self.runs.is_empty() {
            self.begin();
        }
        if let Some(run) = self.runs.last_mut() {
            run.remove(&number);
        }
        self.sum(number, &reading);
        Ok(())
    }

    fn number(&mut self, reading: &Reading) -> Result<usize, &'static str> {
        if let Some(number) = self.numbers.get(&reading.name) {
            return Ok(*number);
        }
        if self.names.len() >= MOST_COUNTERS {
            return Err("ten thousand counters at most");
        }
        self.numbers.insert(reading.name.clone(), self.names.len());
        self.names
            .push((reading.name.clone(), reading.unit.clone()));
        Ok(self.names.len() - 1)
    }

    fn sum(&mut self, number: usize, reading: &Reading) {
        let Some(run) = self.runs.last_mut() else {
            return;
        };
        let sum = run.entry(number).or_default();
        match reading.value {
            Value::Absent(why) => sum.absent = Some(why),
            Value::Count(count) => {
                let running = reading.running.unwrap_or(1.0);
                sum.running = match sum.counted {
                    0 => running,
                    _ => sum.running.min(running),
                };
                sum.counted += 1;
                sum.mean_of = self.mean_of;
                sum.value += count;
                if let Some(relative) = reading.relative_error {
                    *sum.error.get_or_insert(0.0) += (relative * count).powi(2);
                }
            }
        }
    }

    fn double(&mut self, name: &str) {
        if !self.doubles {
            self.doubles = true;
            self.notes.push(format!(
                "{} occurs twice in one run: the first value is taken.",
                quoted(name.as_bytes())
            ));
        }
    }

    /// One set of all counters that were collected.
    ///
    /// # Errors
    /// If there is none.
    pub fn finish(mut self, path: &Path, name: String) -> Result<CounterSet, Error> {
        let mut counters: Vec<Counter> = Vec::new();
        for (number, (name, unit)) in self.names.into_iter().enumerate() {
            let sums: Vec<&Sum> = self
                .runs
                .iter()
                .filter_map(|run| run.get(&number))
                .collect();
            let counted: Vec<&&Sum> = sums.iter().filter(|sum| sum.counted > 0).collect();
            if counted.iter().any(|sum| sum.absent.is_some()) && self.notes.len() < 8 {
                self.notes.push(format!(
                    "{} was counted in a part of its CPUs or intervals only.",
                    quoted(name.as_bytes())
                ));
            }
            let only = match counted[..] {
                [only] => Some(only),
                _ => None,
            };
            counters.push(Counter {
                runs: counted.iter().map(|sum| sum.value).collect(),
                standard_error: only.and_then(|one| one.error).map(f64::sqrt),
                mean_of: only.and_then(|one| one.mean_of),
                running: counted.iter().map(|sum| sum.running).fold(1.0, f64::min),
                absent: match counted.is_empty() {
                    true => sums.iter().find_map(|sum| sum.absent),
                    false => None,
                },
                name,
                unit,
            });
        }
        if counters.iter().all(|counter| counter.runs.is_empty()) {
            return Err(Error::File {
                path: path.into(),
                found: "no counter that counted".into(),
                expected: "counts of perf stat".into(),
            });
        }
        Ok(CounterSet {
            origin: shown(path),
            name,
            counters,
            notes: self.notes,
            ..CounterSet::default()
        })
    }
}
