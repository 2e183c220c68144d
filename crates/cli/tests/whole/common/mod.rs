//! What the whole-program tests share: running the binary, by itself or while something happens to it, and reading its
//! JSON.

mod contract;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// The program, in `directory`, with an environment that does not colour its output, killed after 10 minutes of CPU time: one that never
/// ends fails its test, with its name.
pub fn bandscope(directory: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -t 600 && exec \"$@\"", "sh"]);
    // A foreign binary under emulation needs the emulator that runs this test.
    if let Ok(runner) = std::env::var("BANDSCOPE_TEST_RUNNER") {
        command.args(runner.split_whitespace());
    }
    command.arg(env!("CARGO_BIN_EXE_bandscope"));
    command.current_dir(directory).env("NO_COLOR", "1");
    // Tests may be started by srun or mpirun themselves.
    for rank in [
        "OMPI_COMM_WORLD_RANK",
        "PMI_RANK",
        "PMIX_RANK",
        "SLURM_PROCID",
    ] {
        command.env_remove(rank);
    }
    command
}

/// Runs it to its end. What it prints as JSON must keep its contract.
pub fn run(directory: &Path, arguments: &[&str]) -> Output {
    checked(bandscope(directory).args(arguments).output().unwrap())
}

/// The same output, of which JSON keeps its contract.
pub fn checked(output: Output) -> Output {
    if let Ok(written) = std::str::from_utf8(&output.stdout) {
        contract::check(written);
    }
    output
}

/// Asserts that a file that it wrote keeps its contract, if it is of one.
pub fn keeps_contract(written: &str) {
    contract::check(written);
}

/// Runs it and expects success; standard output.
pub fn succeed(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    assert!(
        output.status.success(),
        "bandscope {arguments:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Runs it and expects exit status 2, nothing on standard output and one line on standard error, which
/// is returned. (Mistakes on the command line are `clap`'s to report, in several lines.)
pub fn refuse(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        output.status.code(),
        Some(2),
        "bandscope {arguments:?}: {error}"
    );
    assert_eq!(output.stdout, b"", "bandscope {arguments:?}");
    assert!(!error.contains("panicked"), "{error}");
    error
}

/// Runs it and expects exit status 2 beside a result: of several inputs some could not be read. Standard output and standard error.
pub fn in_part(directory: &Path, arguments: &[&str]) -> (String, String) {
    let output = run(directory, arguments);
    let [out, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    let code = output.status.code();
    assert_eq!(code, Some(2), "bandscope {arguments:?}: {error}");
    assert!(!out.is_empty(), "bandscope {arguments:?}: {error}");
    (out, error)
}

/// The report of a recording or file, as JSON.
pub fn report(directory: &Path, inputs: &[&str]) -> serde_json::Value {
    let mut arguments = vec!["report", "--format", "json"];
    arguments.extend(inputs);
    serde_json::from_str(&succeed(directory, &arguments)).unwrap()
}

/// Asserts that the ledger of a series adds up to its wall time, to the nanosecond.
pub fn assert_ledger_closes(series: &serde_json::Value) {
    let ledger = &series["ledger"];
    let sum = |object: &serde_json::Value| -> i64 {
        let parts = object.as_object().unwrap().values();
        parts.map(|value| value.as_i64().unwrap()).sum()
    };
    let total = ledger["work_ns"].as_i64().unwrap()
        + sum(&ledger["pace_ns"])
        + sum(&ledger["gaps_ns"])
        + ledger["measurement_ns"].as_i64().unwrap()
        + ledger["unexplained_ns"].as_i64().unwrap();
    assert_eq!(total, ledger["wall_ns"].as_i64().unwrap(), "{ledger}");
    for pace in ledger["pace_ns"].as_object().unwrap().values() {
        assert!(pace.as_i64().unwrap() >= 0, "{ledger}");
    }
}

/// Starts a recording of this machine, `it.bandscope`, that would take a minute.
pub fn start(directory: &Path, more: &[&str]) -> Child {
    bandscope(directory)
        .args(["record", "--duration", "60s", "--output", "it.bandscope"])
        .args(["--rate", "1000", "--start-delay", "0"])
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits, a minute at most, while the program goes on.
pub fn wait_until(child: &mut Child, what: impl Fn() -> bool) {
    for _ in 0..6000 {
        if what() {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("not after a minute");
}

/// Lines of a file; 0 if it is not there.
pub fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

/// Sends a signal, `INT` for instance.
pub fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// Those of some signals, each with its exit status, that end a run. A program leaves SIGHUP alone where whoever started it ignored it: `nohup`.
pub fn that_end<const N: usize>(signals: [(&'static str, i32); N]) -> Vec<(&'static str, i32)> {
    let ignored = is_hangup_ignored();
    if ignored {
        println!("SKIPPED: SIGHUP: it was ignored when the tests were started (nohup)");
    }
    let ends = |one: &(&str, i32)| !ignored || one.0 != "HUP";
    signals.into_iter().filter(ends).collect()
}

/// Whether this process, and what it starts, ignores SIGHUP.
pub fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}

/// Waits until the program catches the signal of that number: from then on it ends in good order.
///
/// An emulator catches signals itself, from its start on, so there it is the first thread that measures which says that the
/// program got so far: it is started after the signals were taken over. (The emulator has a second thread of its own.)
pub fn wait_until_caught(child: &mut Child, signal: u32) {
    let process = format!("/proc/{}", child.id());
    let emulated = std::env::var_os("BANDSCOPE_TEST_RUNNER").is_some();
    let caught = || -> Option<bool> {
        if emulated {
            return Some(std::fs::read_dir(format!("{process}/task")).ok()?.count() >= 3);
        }
        let status = std::fs::read_to_string(format!("{process}/status")).ok()?;
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))?;
        let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
        Some(mask >> (signal - 1) & 1 == 1)
    };
    for _ in 0..6000 {
        if caught() == Some(true) {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("signal {signal} is not caught after a minute");
}

/// Waits until that recording has so many finished parts of quanta.
pub fn wait_for_parts(directory: &Path, child: &mut Child, number: usize) {
    for _ in 0..600 {
        if finished_parts(directory) >= number {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("less than {number} parts after a minute");
}

/// Finished parts of quanta of that recording.
pub fn finished_parts(directory: &Path) -> usize {
    fn walk(directory: &Path) -> usize {
        let Ok(entries) = std::fs::read_dir(directory) else {
            return 0;
        };
        entries
            .flatten()
            .map(|entry| {
                let name = entry.file_name();
                let part = name.to_string_lossy().starts_with("part-");
                usize::from(part) + walk(&entry.path())
            })
            .sum()
    }
    walk(&directory.join("it.bandscope/quanta"))
}

/// The kinds of a report's warnings.
pub fn kinds_of_warnings(report: &serde_json::Value) -> Vec<&str> {
    let warnings = report["warnings"].as_array().unwrap();
    warnings
        .iter()
        .map(|warning| warning["kind"].as_str().unwrap())
        .collect()
}
