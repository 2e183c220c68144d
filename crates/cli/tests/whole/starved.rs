//! A run that gets a hundredth of its CPU ends in time: its segments end when they were to, and not after a given time of their own.

use crate::common::{self, assert_ledger_closes, bandscope, report, succeed};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Seconds that are asked for. Each of the segments of 10 ms waited for the CPU anew: that made more than a minute of them.
const ASKED_S: u64 = 5;
/// Loops end by themselves, however the test ends.
const LOOPS_END_AFTER_S: &str = "300";

/// Tasks that never leave the CPU, in sessions of their own, for as long as it lives.
struct Loops(Vec<Child>);

impl Loops {
    fn start(cpu: &str, number: usize) -> Loops {
        let start = |_| {
            let limited = ["timeout", LOOPS_END_AFTER_S, "taskset", "-c", cpu];
            let mut looping = Command::new("setsid");
            looping
                .args(limited)
                .args(["sh", "-c", "while :; do :; done"]);
            looping.spawn().unwrap()
        };
        Loops((0..number).map(start).collect())
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        for looping in &mut self.0 {
            // `timeout` passes it on.
            common::signal(looping, "TERM");
            let _ = looping.wait();
        }
    }
}

/// The last CPU that this process may use.
fn last_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let last = list.unwrap().trim().rsplit([',', '-']).next();
    last.unwrap().to_owned()
}

/// Records in a session of the lowest weight; how long it measured and wrote.
fn record(directory: &Path, cpu: &str) -> Duration {
    let program = bandscope(directory);
    let script = "echo 19 > /proc/self/autogroup 2> /dev/null; exec nice -n 19 \"$@\"";
    let mut run = Command::new("setsid")
        .args(["-w", "sh", "-c", script, "sh"])
        .arg(program.get_program())
        .args(program.get_args())
        .args([
            "record",
            "--cpus",
            cpu,
            "--segment",
            "10ms",
            "--trace",
            "off",
            "--counters",
            "off",
            "--output",
            "it.bandscope",
        ])
        .args(["--duration", &format!("{ASKED_S}s")])
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Looking at the machine is not a part of what was asked for.
    let begun = Instant::now();
    while !directory.join("it.bandscope").exists() {
        assert!(run.try_wait().unwrap().is_none(), "it ended by itself");
        assert!(begun.elapsed().as_secs() < 300, "it did not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    let begun = Instant::now();
    assert!(run.wait().unwrap().success());
    begun.elapsed()
}

/// When the last segment began, from the start of the first.
fn last_segment(directory: &Path) -> Duration {
    let export = ["export", "it.bandscope", "--format", "csv"];
    let written = succeed(directory, &export);
    let mut lines = written.lines().filter(|line| !line.starts_with('#'));
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let [start, segment] =
        ["start_ns", "segment"].map(|name| head.iter().position(|one| *one == name).unwrap());
    let rows = lines.map(|line| {
        let row: Vec<&str> = line.split(',').collect();
        let number = |place: usize| row[place].parse::<f64>().unwrap() as u64;
        (number(segment), number(start))
    });
    let rows: Vec<(u64, u64)> = rows.collect();
    let last = rows.iter().map(|row| row.0).max().unwrap();
    let of_last = rows.iter().filter(|row| row.0 == last);
    let begun = of_last.map(|row| row.1).min().unwrap();
    let first = rows.iter().map(|row| row.1).min().unwrap();
    Duration::from_nanos(begun - first)
}

#[test]
fn a_starved_run_ends_in_time() {
    if std::env::var_os("BANDSCOPE_TEST_RUNNER").is_some() {
        println!("SKIPPED: a starved run: not under an emulator");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let cpu = last_cpu();
    let took = {
        let _loops = Loops::start(&cpu, 2);
        record(directory.path(), &cpu)
    };
    // How long it takes to write what was measured depends on the other CPUs; when the last segment began does not.
    let last = last_segment(directory.path());
    let limit = Duration::from_secs(2 * ASKED_S + 10);
    assert!(last < limit, "{last:?}, {took:?}");
    let report = report(directory.path(), &["it.bandscope"]);
    let series = report["series"].as_array().unwrap();
    assert_eq!(series.len(), 2, "{}", report["warnings"]);
    series.iter().for_each(assert_ledger_closes);
    println!("{last:?}, {took:?}, {}", report["warnings"]);
}
