//! Metrics of `check`: its verdict, the figures of its baseline, and files that cannot be written.

use super::{Metrics, promtool, record};
use crate::common::{self, run, succeed};

#[test]
fn a_check_is_written_over_the_one_before() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let machine = ["--machine", "simulated:tick:hz=250,cost=10us"];
    let arguments = [
        "check",
        machine[0],
        machine[1],
        "--duration",
        "1s",
        "--cpus",
        "0,1",
    ];
    // Quotation marks and backslashes of a condition are escaped.
    let odd = r#"task:a"b\n > 1 %"#;
    let conditions = [
        "--fail-if",
        "lost > 0.1 % on cpu 1",
        "--fail-if",
        odd,
        "--fail-if",
        odd,
    ];
    let format = ["-f", "prometheus", "-o", "bandscope.prom"];
    for _ in 0..2 {
        let output = run(path, &[&arguments[..], &conditions, &format].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), &*error), (Some(1), ""));
        let text = std::fs::read_to_string(path.join("bandscope.prom")).unwrap();
        promtool(&text);
        let metrics = Metrics::read(&text);
        let passed = |cpu, condition| {
            let labels = [("cpu", cpu), ("condition", condition)];
            metrics.get("check_condition_passed", &labels)
        };
        assert_eq!(metrics.get("check_passed", &[]), 0.0);
        assert_eq!(metrics.get("check_cpu_passed", &[("cpu", "0")]), 1.0);
        assert_eq!(metrics.get("check_cpu_passed", &[("cpu", "1")]), 0.0);
        assert_eq!(passed("1", "lost > 0.1 % on cpu 1"), 0.0);
        assert_eq!(passed("0", odd), 1.0);
        // Of the quanta, of which the last may end late.
        let measured_s = metrics.get("measured_seconds", &[("cpu", "0")]);
        assert!((0.99..1.01).contains(&measured_s), "{measured_s}");
        // Nothing but the file: none that was begun, and no recording.
        let left: Vec<_> = std::fs::read_dir(path).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
    // The same of a recording that exists.
    record(path, "tick:hz=250,cost=10us", &["--duration", "1s"]);
    let arguments = [
        "report",
        "it.bandscope",
        "-f",
        "prometheus",
        "--fail-if",
        "lost > 1 %",
    ];
    let metrics = Metrics::read(&succeed(path, &arguments));
    assert_eq!(metrics.get("check_passed", &[]), 1.0);
}

#[test]
fn figures_of_a_baseline_are_in_base_units() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let quiet = "simulated:tick:hz=250,cost=10us+reads:sigma=5ns";
    let save = ["--duration", "5s", "--runs", "5", "--save", "quiet.json"];
    succeed(path, &[&["check", "--machine", quiet][..], &save].concat());
    let disturbed = format!("{quiet}+timed-task:hz=200,cost=50us");
    let against = ["--against", "quiet.json", "-f", "prometheus"];
    let output = run(
        path,
        &[&["check", "--machine", &disturbed][..], &against].concat(),
    );
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    promtool(&text);
    let metrics = Metrics::read(&text);
    let of = |name, figure| metrics.get(name, &[("cpu", "0"), ("figure", figure)]);
    assert_eq!(of("check_figure_passed", "task:*"), 0.0);
    assert_eq!(of("check_figure_passed", "pace"), 1.0);
    let lost = of("check_measured_ratio", "lost");
    assert!(
        lost > of("check_limit_ratio", "lost")
            && of("check_limit_ratio", "lost") > of("check_baseline_ratio", "lost")
    );
    assert!((1e-9..1e-6).contains(&of("check_measured_seconds", "pace")));
    assert!((200.0..300.0).contains(&of("check_baseline_per_second", "gaps")));
}

#[test]
fn what_cannot_be_written_is_said_before_anything_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::create_dir(path.join("taken")).unwrap();
    for (place, wanted) in [
        ("nowhere/it.prom", "nowhere is not a directory"),
        ("taken", "found a directory"),
    ] {
        // It would take longer than the test may.
        let check = [
            "check",
            "--machine",
            "simulated:tick",
            "--duration",
            "100h",
            "-f",
        ];
        let error = common::refuse(path, &[&check[..], &["prometheus", "-o", place]].concat());
        assert!(error.contains(wanted), "{error}");
    }
    // Moments say nothing of the time between.
    record(
        path,
        "tick",
        &["--duration", "1s", "--catch", "gap > 100 us"],
    );
    let error = common::refuse(path, &["report", "it.bandscope", "-f", "prometheus"]);
    assert!(error.contains("without --catch"), "{error}");
}
