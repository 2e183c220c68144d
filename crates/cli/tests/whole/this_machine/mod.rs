//! Whole-program runs on this machine, whatever it is: only what holds on any is asserted.

mod control_groups;

use crate::common::{self, assert_ledger_closes, bandscope, finished_parts, report, run, succeed};
use bandscope_view::numbers;
use serde_json::Value;
use std::process::Command;

#[test]
fn a_short_run_is_accounted_for_to_the_nanosecond() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = [
        "record",
        "--duration",
        "600ms",
        "--segment",
        "150ms",
        "--output",
        "it.bandscope",
    ];
    let output = run(directory.path(), &arguments);
    assert_eq!(output.stdout, b"it.bandscope\n");
    let said = String::from_utf8(output.stderr).unwrap();
    let report = report(directory.path(), &["it.bandscope"]);
    let recording = &report["recording"];
    assert_eq!(recording["state"], "complete");
    assert_eq!(recording["lost"]["quanta"], 0);
    assert!(recording["clock"]["ticks_per_ns"].as_f64().unwrap() > 0.0);
    assert!(recording["machine"]["architecture"].is_string());
    let series = report["series"].as_array().unwrap();
    assert_eq!(series.len(), 2);
    for series in series {
        assert_ledger_closes(series);
        // A CPU that another test holds comes too late for a segment, and the report says so.
        let warnings = report["warnings"].to_string();
        assert!(series["segments"] == 2 || warnings.contains("were left out"));
        assert!(series["units"].as_u64().unwrap() > 0);
        assert!(series["fraction"]["of_max"].as_f64().unwrap() <= 1.0);
    }
    let gaps = |series: &Value| series["gaps"]["number"].as_u64().unwrap();
    let gaps: u64 = series.iter().map(gaps).sum();
    assert!(
        said.contains(&format!("{} took", numbers::plural(gaps, "gap", "gaps"))),
        "{said}"
    );
}

#[test]
fn buffered_and_several_cpus_work_too() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = [
        "record",
        "--buffered",
        "--samples",
        "2000",
        "--output",
        "buffered.bandscope",
    ];
    succeed(directory.path(), &arguments);
    let buffered = report(directory.path(), &["buffered.bandscope"]);
    assert_eq!(buffered["series"][0]["quanta"], 2000);
    assert_eq!(buffered["recording"]["settings"]["buffered"], true);

    let allowed = buffered["recording"]["machine"]["allowed_cpus"]
        .as_str()
        .unwrap_or("")
        .to_owned();
    if !allowed.contains(['-', ',']) {
        println!("SKIPPED: several CPUs: this process may use {allowed:?} only");
        return;
    }
    let arguments = [
        "record",
        "--cpus",
        &allowed,
        "--samples",
        "1000",
        "--rate",
        "10kHz",
        "--output",
        "all.bandscope",
    ];
    succeed(directory.path(), &arguments);
    let all = report(directory.path(), &["all.bandscope"]);
    assert!(all["series"].as_array().unwrap().len() >= 2);
}

#[test]
fn every_work_kernel_that_is_listed_measures() {
    let directory = tempfile::tempdir().unwrap();
    let listed = succeed(directory.path(), &["kernels", "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let kernels = listed["kernels"].as_array().unwrap();
    assert!(!kernels.is_empty());
    for kernel in kernels.iter().filter(|kernel| kernel["available"] == true) {
        let name = kernel["name"].as_str().unwrap();
        let output = format!("{name}.bandscope");
        let arguments = [
            &["record", "--kernel", name, "--samples", "300"][..],
            &["--rate", "10kHz", "--output", &output],
            &["--start-delay", "0", "--trace", "off"],
        ];
        succeed(directory.path(), &arguments.concat());
        let report = report(directory.path(), &[&output]);
        assert_eq!(report["series"][0]["kernel"], name);
        assert_eq!(report["series"][0]["quanta"], 300);
        let kernel = &report["recording"]["kernels"][0];
        assert!(kernel["hash"].as_str().unwrap().starts_with("fnv1a64:"));
    }
}

#[test]
fn speculative_store_bypass_alternates_by_segment_or_is_refused_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = [
        "record",
        "--store-bypass",
        "alternate",
        "--rate",
        "10kHz",
        "--duration",
        "400ms",
        "--segment",
        "100ms",
        "--output",
        "it.bandscope",
    ];
    let output = run(directory.path(), &arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    if !output.status.success() {
        println!("SKIPPED: alternating store bypass: {error}");
        assert!(
            error.contains("speculative store bypass cannot be set here: "),
            "{error}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        return;
    }
    let report = report(directory.path(), &["it.bandscope"]);
    assert_eq!(report["series"][0]["segments"], 4);
    let recording = &report["recording"];
    assert_eq!(recording["settings"]["store_bypass"], "alternate");
    let set = recording["store_bypass"].as_array().unwrap().iter();
    let allowed: Vec<_> = set.map(|set| set["allowed"].as_bool().unwrap()).collect();
    assert_eq!(allowed, [true, false, true, false]);
}

/// A real-time thread keeps its CPU until it gives it away, and there the other thread waits for its turn.
#[test]
fn a_real_time_run_on_the_only_cpu_ends() {
    let cpu = bandscope_probe::pin::allowed().unwrap()[0].to_string();
    let directory = tempfile::tempdir().unwrap();
    // Should it not end, the kernel leaves other tasks a twentieth of the CPU meanwhile.
    let alone = |words: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "120", "taskset", "-c", &cpu]);
        command.args(["chrt", "-f", "1"]).args(words);
        command.current_dir(directory.path()).output()
    };
    match alone(&["true"]) {
        Ok(output) if output.status.success() => {}
        other => {
            println!("SKIPPED: a real-time run on the only CPU: {other:?}");
            return;
        }
    }
    let inner = bandscope(directory.path());
    let mut words = vec![inner.get_program().to_str().unwrap()];
    words.extend(inner.get_args().map(|word| word.to_str().unwrap()));
    let arguments = "record --duration 300ms --rate 1000 --output it.bandscope";
    words.extend(arguments.split(' '));
    let output = alone(&words).unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}", output.status);
    let report = report(directory.path(), &["it.bandscope"]);
    assert_eq!(report["recording"]["state"], "complete");
    assert_ledger_closes(&report["series"][0]);
}

#[test]
fn a_priority_is_had_or_refused_before_anything_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    for wrong in ["fifo", "fifo:0", "fifo:100", "other:1", "rr:x"] {
        let error = common::refuse(directory.path(), &["record", "--priority", wrong]);
        assert!(error.contains("expected fifo:N or rr:N"), "{error}");
    }
    for priority in ["fifo:1", "rr:2"] {
        let run = common::run(
            directory.path(),
            &[
                "record",
                "--priority",
                priority,
                "--duration",
                "200ms",
                "-q",
                "-o",
                priority,
            ],
        );
        if run.status.code() == Some(2) {
            let error = String::from_utf8(run.stderr).unwrap();
            assert!(
                error.contains(&format!("--priority {priority}: ")),
                "{error}"
            );
            println!("SKIPPED: priority: {error}");
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
            return;
        }
        let report = common::report(directory.path(), &[priority]);
        assert_eq!(report["recording"]["settings"]["priority"], priority);
    }
}

/// The CPUs of each thread of a process, as the kernel lists them.
fn cpus_of_threads(process: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let status =
        threads.filter_map(|one| std::fs::read_to_string(one.ok()?.path().join("status")).ok());
    let cpus = status.filter_map(|status| {
        let mut lines = status.lines();
        Some(
            lines
                .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?
                .trim()
                .to_owned(),
        )
    });
    cpus.collect()
}

#[test]
fn threads_of_its_own_stay_on_the_housekeeping_cpus() {
    let directory = tempfile::tempdir().unwrap();
    let allowed = bandscope_probe::pin::allowed().unwrap();
    let all = bandscope_recording::cpu_list::written(&allowed);
    let refuse =
        |words: &str| common::refuse(directory.path(), &words.split(' ').collect::<Vec<_>>());
    let error = refuse("record --housekeeping 1023");
    assert!(
        error.contains("CPU 1023") || allowed.contains(&1023),
        "{error}"
    );
    let error = refuse(&format!("record --housekeeping {all}"));
    assert!(error.contains("expected one left to measure"), "{error}");
    let error = refuse("record --machine simulated:flips --housekeeping 0");
    assert!(error.contains("expected this machine"), "{error}");
    let [own, .., measured] = allowed[..] else {
        println!("SKIPPED: CPUs of bandscope's own threads: this process may use {all} only");
        return;
    };
    let error = refuse(&format!("record --cpus {all} --housekeeping {own}"));
    assert!(
        error.contains(&format!("CPU {own}, which is measured")),
        "{error}"
    );
    let [own, measured] = [own, measured].map(|cpu| cpu.to_string());
    let mut run = common::start(
        directory.path(),
        &["--cpus", &measured, "--housekeeping", &own],
    );
    let begun = std::time::Instant::now();
    let threads = loop {
        let threads = cpus_of_threads(run.id());
        // A recording in which nothing was measured yet is removed when it is told to end.
        if threads.contains(&measured) && finished_parts(directory.path()) > 0 {
            break threads;
        }
        assert!(begun.elapsed().as_secs() < 60, "{threads:?}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    common::signal(&run, "INT");
    run.wait().unwrap();
    let mut expected = vec![own.clone(), own.clone(), measured];
    expected.sort();
    let mut threads = threads;
    threads.sort();
    // Its main thread, the one that waits for signals, and the one that measures.
    assert_eq!(threads, expected);
    let report = report(directory.path(), &["it.bandscope"]);
    assert_eq!(report["recording"]["settings"]["housekeeping"], own);
}
