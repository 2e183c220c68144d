//! What `bandscope repeat --output` keeps, as counters: the runs with nothing varied, which are those that two sessions have in common.

use super::{Counter, CounterSet, ELAPSED};
use crate::Error;
use crate::runs::{Measured, Phase, Run, Runs};
use crate::text::shown;
use std::collections::BTreeMap;
use std::path::Path;

/// Before the names of hardware counters, which are not counted in every run.
const COUNTER: &str = "counter:";

/// Reads the bytes of a file.
///
/// # Errors
/// As [`Runs::parse`], or if no run has a value.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<CounterSet, Error> {
    let runs = Runs::parse(path, bytes)?;
    let plain: Vec<&Run> = (runs.runs.iter())
        .filter(|run| run.phase != Phase::WarmUp && run.factor.is_none() && run.value.is_some())
        .collect();
    if plain.is_empty() {
        return Err(Error::File {
            path: path.into(),
            found: "no run with nothing varied that has a value".into(),
            expected: "one at least".into(),
        });
    }
    let metric = &runs.metric;
    let mut counters = Vec::new();
    let mut add = |name: &str, unit: &str, values: Vec<f64>| {
        counters.push(Counter {
            name: name.into(),
            unit: unit.into(),
            runs: values,
            running: 1.0,
            ..Counter::default()
        });
    };
    let each = |of: fn(&Run) -> Option<f64>| plain.iter().filter_map(|run| of(run)).collect();
    // `cycles` comes with the other counters.
    if metric.own().is_none() {
        add(&metric.name, &metric.unit, each(|run| run.value));
    }
    add(ELAPSED, "s", each(|run| Some(run.wall_s)));
    add("user", "s", each(|run| Some(run.user_s)));
    add("sys", "s", each(|run| Some(run.system_s)));
    for (name, values) in counts(&plain) {
        add(name.strip_prefix(COUNTER).unwrap_or(name), "", values);
    }
    let failed = runs.runs.iter().filter(|run| run.value.is_none()).count();
    let mut notes = match failed {
        0 => Vec::new(),
        _ => vec![format!("{failed} runs failed, and are left out.")],
    };
    if runs.interrupted {
        let number = runs.runs.len();
        notes.push(format!("The session ended early, after {number} runs."));
    }
    Ok(CounterSet {
        origin: shown(path),
        name: runs.command.join(" "),
        counters,
        metric: Some(match metric.own() {
            Some(Measured::Wall) => ELAPSED.into(),
            Some(Measured::System) => "sys".into(),
            _ => metric.name.clone(),
        }),
        higher_is_better: metric.higher_is_better,
        notes,
    })
}

/// What was counted in each run. A source that is missing in one did nothing in it; a hardware counter had not its turn.
fn counts<'a>(runs: &[&'a Run]) -> BTreeMap<&'a str, Vec<f64>> {
    let names = runs.iter().flat_map(|run| run.counts.keys());
    let mut all: BTreeMap<&str, Vec<f64>> = names.map(|name| (name.as_str(), Vec::new())).collect();
    for (name, values) in &mut all {
        let of = |run: &&Run| match run.counts.get(*name) {
            None if name.starts_with(COUNTER) => None,
            found => Some(found.copied().unwrap_or(0.0)),
        };
        values.extend(runs.iter().filter_map(of));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{Metric, SCHEMA};

    fn run(value: Option<f64>, counts: &[(&str, f64)]) -> Run {
        Run {
            value,
            wall_s: 2.0,
            counts: counts
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
            ..Run::default()
        }
    }

    fn parsed(runs: Vec<Run>) -> Result<CounterSet, Error> {
        let runs = Runs {
            schema: SCHEMA.into(),
            command: vec!["sort".into(), "x".into()],
            metric: Metric {
                name: "speed: (.*)".into(),
                higher_is_better: true,
                ..Metric::default()
            },
            runs,
            ..Runs::default()
        };
        parse(Path::new("a.json"), runs.to_json().as_bytes())
    }

    #[test]
    fn plain_runs_are_counters() {
        let warm_up = Run {
            phase: Phase::WarmUp,
            ..run(Some(9.0), &[])
        };
        let set = parsed(vec![
            warm_up,
            run(Some(5.0), &[("irq:eth0", 3.0), ("counter:cycles", 7.0)]),
            run(None, &[("irq:eth0", 99.0)]),
            run(Some(6.0), &[]),
        ])
        .unwrap();
        let values = |name: &str| {
            let found = set.counters.iter().find(|counter| counter.name == name);
            found.map(|counter| counter.runs.clone()).unwrap()
        };
        assert_eq!(set.metric.as_deref(), Some("speed: (.*)"));
        assert!(set.higher_is_better && set.name == "sort x");
        assert_eq!(values("speed: (.*)"), [5.0, 6.0]);
        assert_eq!(values(ELAPSED), [2.0, 2.0]);
        assert_eq!(values("irq:eth0"), [3.0, 0.0]);
        assert_eq!(values("cycles"), [7.0]);
        assert_eq!(set.notes, ["1 runs failed, and are left out."]);
    }

    #[test]
    fn without_runs_there_is_nothing_to_compare() {
        let error = parsed(vec![run(None, &[])]).unwrap_err().to_string();
        assert!(error.contains("expected one at least"), "{error}");
    }
}
