//! Metrics for Prometheus, on simulated machines: read back by a strict reader of the format, held against the JSON, and by promtool where it is
//! installed.

mod checks;

use crate::common::{report, succeed};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

type Labels = BTreeMap<String, String>;

/// Values by metric and labels.
struct Metrics(BTreeMap<(String, Labels), f64>);

impl Metrics {
    /// Reads the text exposition format 0.0.4, and refuses what the format allows but a file of node_exporter must not have: timestamps, samples
    /// without HELP and TYPE, metrics in pieces, samples twice.
    fn read(text: &str) -> Metrics {
        assert!(text.ends_with('\n'));
        let (mut types, mut values) = (BTreeMap::new(), BTreeMap::new());
        let mut of = String::new();
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                of = help.split_once(' ').expect("a help").0.to_owned();
                assert!(!types.contains_key(&of), "twice: {line}");
                continue;
            }
            if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a type");
                assert!(
                    name == of && ["gauge", "histogram"].contains(&kind),
                    "{line}"
                );
                types.insert(of.clone(), kind.to_owned());
                continue;
            }
            let (name, labels, value) = sample(line);
            let base = match &*types[&of] {
                "histogram" => ["_bucket", "_sum", "_count"]
                    .iter()
                    .find_map(|suffix| name.strip_suffix(suffix))
                    .unwrap(),
                _ => &name,
            };
            assert!(base == of && !name.ends_with("_total"), "{line}");
            let twice = values.insert((name, labels), value);
            assert!(twice.is_none(), "twice: {line}");
        }
        let metrics = Metrics(values);
        for name in types.keys().filter(|name| types[*name] == "histogram") {
            metrics.assert_cumulative(name);
        }
        metrics
    }

    fn assert_cumulative(&self, name: &str) {
        let mut buckets: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
        for (labels, number) in self.all(&format!("{name}_bucket")) {
            let mut labels = labels.clone();
            let bound = labels.remove("le").unwrap().replace("+Inf", "inf");
            let of = buckets.entry(labels).or_default();
            of.push((bound.parse().unwrap(), number));
        }
        assert!(!buckets.is_empty());
        for (labels, mut buckets) in buckets {
            buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
            let count = self.0[&(format!("{name}_count"), labels)];
            assert_eq!(buckets.last(), Some(&(f64::INFINITY, count)));
        }
    }

    fn all(&self, name: &str) -> impl Iterator<Item = (&Labels, f64)> {
        let of = self.0.iter().filter(move |((found, _), _)| found == name);
        of.map(|((_, labels), value)| (labels, *value))
    }

    fn get(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let labels = labels.iter().map(owned).collect();
        let key = (format!("bandscope_{name}"), labels);
        *(self.0.get(&key)).unwrap_or_else(|| panic!("no {key:?} of {:?}", self.0.keys()))
    }
}

/// Name, labels and value of a line.
fn sample(line: &str) -> (String, Labels, f64) {
    let is_name = |name: &str| {
        name.starts_with(|one: char| one.is_ascii_lowercase())
            && name
                .chars()
                .all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '_')
    };
    let end = line.find(['{', ' ']).unwrap();
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = Labels::new();
    if let Some(list) = rest.strip_prefix('{') {
        rest = list;
        loop {
            let (label, value) = rest.split_once("=\"").unwrap();
            assert!(is_name(label), "{line}");
            let (mut text, mut characters) = (String::new(), value.char_indices());
            rest = loop {
                match characters.next().unwrap() {
                    (at, '"') => break &value[at + 1..],
                    (_, '\\') => text.push(match characters.next().unwrap().1 {
                        'n' => '\n',
                        one @ ('\\' | '"') => one,
                        other => panic!("\\{other}: {line}"),
                    }),
                    (_, one) => text.push(one),
                }
            };
            assert!(labels.insert(label.to_owned(), text).is_none(), "{line}");
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').unwrap();
    }
    let value = rest.strip_prefix(' ').unwrap();
    assert!(!value.contains(' '), "a timestamp: {line}");
    (name.to_owned(), labels, value.parse().unwrap())
}

/// What promtool says of metrics; says that it is not there, where it is not.
fn promtool(text: &str) {
    let tool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut tool) = tool else {
        println!("SKIPPED: no promtool: metrics were read by this test's own reader only");
        return;
    };
    let mut input = tool.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    let said = tool.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success() && error.is_empty(), "{error}\n{text}");
}

fn record(directory: &Path, scenario: &str, more: &[&str]) {
    let machine = format!("simulated:{scenario}");
    let record = ["record", "--machine", &machine, "-o", "it.bandscope"];
    succeed(directory, &[&record, more].concat());
}

fn near(found: f64, expected: f64) {
    let most = 1e-9 * expected.abs().max(1.0);
    assert!((found - expected).abs() <= most, "{found}, not {expected}");
}

#[test]
fn metrics_are_the_figures_of_the_report() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let settings = ["--cpus", "0,3", "--trace", "on", "--duration", "2s"];
    record(path, "tasks:hz=60+tick+flips", &settings);
    let text = succeed(path, &["report", "it.bandscope", "-f", "prometheus"]);
    promtool(&text);
    let metrics = Metrics::read(&text);
    let report = report(path, &["it.bandscope"]);
    let sum = |cpu: &str, of: &dyn Fn(&Value) -> f64| -> f64 {
        let series = report["series"].as_array().unwrap().iter();
        let own = series.filter(|one| one["cpu"].as_u64() == cpu.parse().ok());
        own.map(of).sum()
    };
    for cpu in ["0", "3"] {
        let own = [("cpu", cpu)];
        let number = |value: &Value| value.as_f64().unwrap();
        let wall = sum(cpu, &|one| number(&one["ledger"]["wall_ns"]));
        near(metrics.get("measured_seconds", &own), wall / 1e9);
        let work = sum(cpu, &|one| number(&one["ledger"]["work_ns"]));
        near(metrics.get("work_ratio", &own), work / wall);
        let tick = sum(cpu, &|one| {
            one["ledger"]["gaps_ns"]["tick"].as_f64().unwrap_or(0.0)
        });
        assert!(tick > 0.0);
        let of = |cause| metrics.get("lost_ratio", &[("cpu", cpu), ("cause", cause)]);
        near(of("tick"), tick / wall);
        // What took no time is 0, as kernel events say so.
        assert_eq!(of("exception"), 0.0);
        let lost: f64 = metrics
            .all("bandscope_lost_ratio")
            .filter(|(labels, _)| labels["cpu"] == cpu)
            .map(|(_, value)| value)
            .sum();
        let rest = metrics.get("measurement_ratio", &own) + metrics.get("unexplained_ratio", &own);
        near(lost + rest + work / wall, 1.0);
        let tasks: f64 = metrics
            .all("bandscope_lost_by_name_ratio")
            .filter(|(labels, _)| labels["cpu"] == cpu && labels["cause"] == "task")
            .map(|(_, value)| value)
            .sum();
        near(tasks, of("task"));
        let gaps = sum(cpu, &|one| number(&one["gaps"]["number"]));
        assert_eq!(metrics.get("gap_seconds_count", &own), gaps);
        near(metrics.get("gaps_per_second", &own), gaps / (wall / 1e9));
        let window = [("cpu", cpu), ("window_seconds", "0.001")];
        assert!((0.0..1.0).contains(&metrics.get("worst_window_work_ratio", &window)));
    }
    let kinds: BTreeSet<&str> = metrics
        .all("bandscope_finding_info")
        .map(|(labels, _)| &*labels["kind"])
        .collect();
    assert!(kinds.contains("periodic-interference"), "{kinds:?}");
    assert_eq!(metrics.get("causes_known", &[]), 1.0);
}

#[test]
fn what_was_not_recorded_is_no_metric() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    record(path, "tick", &["--trace", "off", "--duration", "1s"]);
    let text = succeed(path, &["report", "it.bandscope", "-f", "prometheus"]);
    promtool(&text);
    let metrics = Metrics::read(&text);
    assert_eq!(metrics.get("causes_known", &[]), 0.0);
    let causes = metrics.all("bandscope_lost_ratio");
    let causes: BTreeSet<&str> = causes.map(|(labels, _)| &*labels["cause"]).collect();
    assert!(
        causes.contains("unnamed") && !causes.contains("task"),
        "{causes:?}"
    );
    // A file of counts has no gaps, and does not know its CPU.
    succeed(
        path,
        &["synth", "x-10khz", "--duration", "1s", "-o", "old.dat"],
    );
    let text = succeed(path, &["report", "old.dat", "-f", "prometheus"]);
    promtool(&text);
    let metrics = Metrics::read(&text);
    assert!(metrics.get("work_ratio", &[("cpu", "")]) > 0.0);
    assert_eq!(metrics.all("bandscope_gap_seconds_count").count(), 0);
}

#[test]
fn names_are_bounded_however_many_tasks_there_are() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    record(
        path,
        "tasks:hz=400",
        &["--trace", "on", "--duration", "2s", "--cpus", "1"],
    );
    let text = succeed(path, &["report", "it.bandscope", "-f", "prometheus"]);
    let named = Metrics::read(&text)
        .all("bandscope_lost_by_name_ratio")
        .count();
    assert!((1..=10).contains(&named), "{named}");
}

#[test]
fn without_a_command_metrics_go_to_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    let machine = [
        "--machine",
        "simulated:tick",
        "--duration",
        "1s",
        "-o",
        "it.bandscope",
    ];
    let text = succeed(
        directory.path(),
        &[&machine[..], &["--format", "prometheus"]].concat(),
    );
    let again = succeed(
        directory.path(),
        &["report", "it.bandscope", "-f", "prometheus"],
    );
    assert_eq!(text, again);
    Metrics::read(&text);
}
