//! SIGINT, SIGTERM, SIGHUP and SIGKILL at any moment leave a readable recording of what was measured before.

mod kills;
mod unheard;

use crate::common::{
    assert_ledger_closes, bandscope, kinds_of_warnings, report, signal, start, that_end,
    wait_for_parts, wait_until, wait_until_caught,
};
use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// What the manifest of a recording says of the run; empty where there is none yet.
fn state_of(recording: &Path) -> String {
    let manifest = std::fs::read_to_string(recording.join("recording.json"));
    let manifest = serde_json::from_str::<serde_json::Value>(&manifest.unwrap_or_default());
    let state = manifest.unwrap_or_default()["state"]
        .as_str()
        .map(str::to_owned);
    state.unwrap_or_default()
}

fn status_after(name: &str, directory: &Path) -> ExitStatus {
    let mut child = start(directory, &[]);
    wait_for_parts(directory, &mut child, 1);
    signal(&child, name);
    child.wait().unwrap()
}

#[test]
fn an_interrupt_ends_the_run_in_good_order() {
    for (name, status) in that_end([("INT", 130), ("TERM", 143), ("HUP", 129)]) {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(status_after(name, directory.path()).code(), Some(status));
        let report = report(directory.path(), &["it.bandscope"]);
        assert_ledger_closes(&report["series"][0]);
        assert_eq!(report["recording"]["state"], "interrupted");
        assert!(
            kinds_of_warnings(&report).contains(&"partial-recording"),
            "{}",
            report["warnings"]
        );
    }
}

/// A recording of this machine that is told to end while it looks at it, which takes a second and more.
fn told_while_it_looks(directory: &Path, name: &str, stderr: Stdio) -> Child {
    let mut child = bandscope(directory)
        .args(["record", "--duration", "60s", "--output", "it.bandscope"])
        .stdout(Stdio::null())
        .stderr(stderr)
        .spawn()
        .unwrap();
    // The shell that starts it catches SIGINT itself.
    wait_until_caught(&mut child, 15);
    signal(&child, name);
    child
}

#[test]
fn a_signal_while_it_looks_at_the_machine_leaves_nothing() {
    for (name, status) in that_end([("INT", 130), ("TERM", 143)]) {
        let directory = tempfile::tempdir().unwrap();
        let child = told_while_it_looks(directory.path(), name, Stdio::piped());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{said}");
        let left = std::fs::read_dir(directory.path()).unwrap().count();
        // Where the signal came late there is a recording.
        match said.contains("before anything was measured") {
            true => assert_eq!(left, 0),
            false => assert_eq!(left, 1),
        }
    }
}

#[test]
fn the_summary_tells_what_was_measured_and_not_what_was_planned() {
    let directory = tempfile::tempdir().unwrap();
    // It stands still from 1.5 s to 10 s, so the last quantum ends after the planned 2 s.
    let machine = "simulated:quota:period=10s,share=0.15";
    let output = bandscope(directory.path())
        .args(["record", "--machine", machine, "--duration", "2s"])
        .args(["--rate", "1000", "--output", "it.bandscope"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("was measured for 9.8 s"), "{said}");
}

#[test]
fn the_summary_of_an_interrupted_run_tells_what_was_measured() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = bandscope(directory.path())
        .args(["record", "--duration", "7777s", "--output", "it.bandscope"])
        .args(["--rate", "1000", "--start-delay", "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_parts(directory.path(), &mut child, 1);
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(" was measured for "), "{said}");
    let planned = bandscope_view::numbers::duration_round(7_777e9);
    assert!(!said.contains(&planned), "{planned}: {said}");
}

#[test]
fn a_file_size_limit_is_an_error_of_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new("prlimit")
        .args(["--fsize=4096", env!("CARGO_BIN_EXE_bandscope")])
        .args([
            "synth",
            "tick",
            "--duration",
            "1s",
            "--output",
            "it.bandscope",
        ])
        .current_dir(directory.path())
        .output();
    let Ok(output) = output else {
        println!("SKIPPED: no prlimit");
        return;
    };
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("File too large"), "{error}");
}

/// A terminal signals a whole group, and a program that started this one passes it on.
#[test]
fn signals_that_come_together_are_one() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = start(directory.path(), &[]);
    wait_for_parts(directory.path(), &mut child, 1);
    let script = format!(
        "for one in INT TERM HUP INT; do kill -$one {0}; done",
        child.id()
    );
    assert!(
        Command::new("sh")
            .args(["-c", &script])
            .status()
            .unwrap()
            .success()
    );
    let status = child.wait().unwrap().code().unwrap();
    assert!([129, 130, 143].contains(&status), "{status}");
    let report = report(directory.path(), &["it.bandscope"]);
    assert_eq!(report["recording"]["state"], "interrupted");
}

/// A task that is told to end when its recording is whole, and has yet to write what lies `beside` it; that, and its exit status. A pipe in the
/// place makes it wait. `None` if it was there before the pipe.
fn told_when_whole(
    (arguments, recording, beside): (&str, &str, &str),
    seconds: u32,
) -> Option<(Option<i32>, Vec<u8>)> {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join(recording);
    let pipe = recording.join(beside);
    let mut command = bandscope(directory.path());
    command.args(arguments.split(' '));
    command.args(["--duration", &format!("{seconds}s")]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.envs([("SLURM_JOB_ID", "17"), ("SLURM_STEP_ID", "0")]);
    command.envs([("SLURMD_NODENAME", "n1"), ("SLURM_NTASKS", "1")]);
    let mut child = command.env("SLURM_PROCID", "0").spawn().unwrap();
    wait_until(&mut child, || recording.join("recording.json").exists());
    let made = Command::new("mkfifo").arg(&pipe).output().unwrap();
    if !made.status.success() {
        child.wait().unwrap();
        return None;
    }
    wait_until(&mut child, || state_of(&recording) == "complete");
    signal(&child, "TERM");
    // Whoever ends at once has ended then.
    std::thread::sleep(Duration::from_millis(300));
    // That does not wait for a writer.
    let nonblock = OFlags::NONBLOCK.bits() as i32;
    let reader = OpenOptions::new()
        .read(true)
        .custom_flags(nonblock)
        .open(&pipe);
    let (mut reader, mut written) = (reader.unwrap(), Vec::new());
    let status = (0..6000).find_map(|_| {
        let ended = child.try_wait().unwrap();
        // An error where there is nothing yet.
        let _ = reader.read_to_end(&mut written);
        std::thread::sleep(Duration::from_millis(10));
        ended
    });
    // Also where it has not ended.
    let _ = child.kill();
    Some((status.and_then(|status| status.code()), written))
}

#[test]
fn a_signal_loses_nothing_that_lies_beside_a_recording() {
    let synth = "synth tick --output it.bandscope";
    let record = "record --machine simulated:tick --rate 1000 --output job";
    for case in [
        (synth, "it.bandscope", "truth.json"),
        (record, "job/node=n1/task=0", "summary.json"),
    ] {
        let mut seconds = [100, 1000, 10_000].into_iter();
        let told = seconds.find_map(|seconds| told_when_whole(case, seconds));
        let (status, written) = told.expect("a long run takes long");
        assert_eq!(status, Some(143), "{case:?}");
        let written = serde_json::from_slice::<serde_json::Value>(&written);
        assert!(written.is_ok(), "{case:?}: {written:?}");
    }
}

#[test]
fn a_program_that_was_told_to_outlive_its_terminal_does() {
    if std::env::var_os("BANDSCOPE_TEST_RUNNER").is_some() {
        println!("SKIPPED: nohup: an emulator catches signals itself");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_bandscope"))
        .args(["record", "--duration", "60s", "--output", "it.bandscope"])
        .current_dir(directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until_caught(&mut child, 15);
    signal(&child, "HUP");
    std::thread::sleep(Duration::from_millis(100));
    assert!(
        child.try_wait().unwrap().is_none(),
        "it outlives its terminal"
    );
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
}
