//! SIGINT, SIGTERM, SIGHUP and SIGKILL at any moment leave a readable recording of what was measured before.

mod common;
use common::{
    assert_ledger_closes, bandscope, finished_parts, kinds_of_warnings, lines, report, run, signal,
    start, that_end, wait_for_parts, wait_until, wait_until_caught,
};
use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

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
fn a_signal_ends_it_where_nobody_reads_why() {
    let directory = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut filler = writer.try_clone().unwrap();
    let filled = std::thread::spawn(move || while filler.write_all(&[0; 4096]).is_ok() {});
    let mut child = told_while_it_looks(directory.path(), "INT", writer.into());
    let mut status = None;
    // Where the first came late a later one ends it.
    for _ in 0..300 {
        status = child.try_wait().unwrap();
        if status.is_some() {
            break;
        }
        signal(&child, "INT");
        std::thread::sleep(Duration::from_millis(100));
    }
    // Also where it has not ended.
    let _ = child.kill();
    drop(reader);
    filled.join().unwrap();
    assert_eq!(status.and_then(|status| status.code()), Some(130));
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

#[test]
fn a_killed_run_keeps_every_finished_part() {
    let directory = tempfile::tempdir().unwrap();
    status_after("KILL", directory.path());
    let report = report(directory.path(), &["it.bandscope"]);
    assert_ledger_closes(&report["series"][0]);
    assert!(report["series"][0]["quanta"].as_u64().unwrap() >= 900);
    assert_eq!(report["recording"]["state"], "recording");
    assert!(
        kinds_of_warnings(&report).contains(&"partial-recording"),
        "{}",
        report["warnings"]
    );
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

/// Ends a command whose output is a pipe that nobody reads, so by itself it never ends: by a signal, and later ones. Its recordings go to `tmp`.
fn end_blocked(directory: &Path, arguments: &str, until: impl Fn() -> bool) {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut filler = writer.try_clone().unwrap();
    let filled = std::thread::spawn(move || while filler.write_all(&[0; 4096]).is_ok() {});
    let mut child = bandscope(directory)
        .args(arguments.split(' '))
        .env("TMPDIR", directory.join("tmp"))
        .env("BANDSCOPE_JOURNALS", directory.join("journals"))
        .stdout(writer)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until_caught(&mut child, 15);
    wait_until(&mut child, until);
    let status = (0..300).find_map(|_| {
        signal(&child, "INT");
        std::thread::sleep(Duration::from_millis(200));
        child.try_wait().unwrap()
    });
    // Also where it has not ended.
    let _ = child.kill();
    drop(reader);
    filled.join().unwrap();
    assert_eq!(status.and_then(|status| status.code()), Some(130));
}

#[test]
fn a_later_signal_ends_it_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = "record --duration 60s --output it.bandscope";
    end_blocked(directory.path(), arguments, || true);
}

#[test]
fn recordings_that_nobody_asked_for_go_with_it_however_it_ends() {
    let directory = tempfile::tempdir().unwrap();
    let tmp = directory.path().join("tmp");
    std::fs::create_dir(&tmp).unwrap();
    let made = || std::fs::read_dir(&tmp).unwrap().count();
    let arguments = "check --machine simulated:quiet --duration 1s";
    end_blocked(directory.path(), arguments, || made() > 0);
    assert_eq!(made(), 0);
}

#[test]
fn a_later_signal_ends_a_cure_that_put_everything_back() {
    let setting = Path::new("/proc/sys/vm/stat_interval");
    if OpenOptions::new().write(true).open(setting).is_err() {
        println!("SKIPPED: trials of a cure: {setting:?} cannot be written here");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("tmp")).unwrap();
    let before = std::fs::read(setting).unwrap();
    // After a head and a pair of trials.
    let is_at_it = || lines(&directory.path().join("t.json")) > 1;
    let arguments = "cure sham --yes --trial 50ms --output t.json";
    end_blocked(directory.path(), arguments, is_at_it);
    assert_eq!(std::fs::read(setting).unwrap(), before);
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

/// Moments of a kill: at the very start, while the machine is looked at, while it is measured.
#[test]
fn a_run_killed_at_any_moment_is_readable_or_says_why_not() {
    let mut milliseconds = 3;
    while milliseconds < 4000 {
        let directory = tempfile::tempdir().unwrap();
        let mut child = start(directory.path(), &[]);
        std::thread::sleep(Duration::from_millis(milliseconds));
        signal(&child, "KILL");
        child.wait().unwrap();
        let parts = finished_parts(directory.path());
        let output = run(directory.path(), &["report", "it.bandscope"]);
        let error = String::from_utf8(output.stderr).unwrap();
        // Before the first part there may be a recording that is empty so far, or none at all.
        let readable = output.status.success();
        assert!(readable || parts == 0, "after {milliseconds} ms: {error}");
        if !readable {
            assert_eq!(
                output.status.code(),
                Some(2),
                "after {milliseconds} ms: {error}"
            );
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        milliseconds = milliseconds * 2 + 1;
    }
}

/// What the manifest of a recording says of the run; empty where there is none yet.
fn state_of(recording: &Path) -> String {
    let manifest = std::fs::read_to_string(recording.join("recording.json"));
    let manifest = serde_json::from_str::<serde_json::Value>(&manifest.unwrap_or_default());
    let state = manifest.unwrap_or_default()["state"]
        .as_str()
        .map(str::to_owned);
    state.unwrap_or_default()
}

/// A recording by `how` that prints to a pipe that nobody reads, told once to end when its manifest says `state`.
fn told_once_unheard(
    directory: &Path,
    how: &str,
    duration: &str,
    state: &str,
) -> Option<ExitStatus> {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut filler = writer.try_clone().unwrap();
    let filled = std::thread::spawn(move || while filler.write_all(&[0; 4096]).is_ok() {});
    let mut command = bandscope(directory);
    command.args([how, "--output", "it.bandscope", "--duration", duration]);
    command.args(["--machine", "simulated:quiet"]);
    command.stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = command.spawn().unwrap();
    drop(command);
    wait_until(&mut child, || {
        state_of(&directory.join("it.bandscope")) == state
    });
    if state == "recording" {
        wait_for_parts(directory, &mut child, 1);
    }
    signal(&child, "TERM");
    let mut status = None;
    for _ in 0..300 {
        status = child.try_wait().unwrap();
        if status.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    // Also where it has not ended.
    let _ = child.kill();
    drop(reader);
    filled.join().unwrap();
    status
}

#[test]
fn one_signal_ends_it_where_nobody_reads_the_summary() {
    for (how, duration, state) in [
        ("record", "1s", "complete"),
        ("record", "77777s", "recording"),
        ("live", "1s", "complete"),
        ("live", "77777s", "recording"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let status = told_once_unheard(directory.path(), how, duration, state);
        assert_eq!(
            status.and_then(|status| status.code()),
            Some(143),
            "{how}, {state}"
        );
        let report = report(directory.path(), &["it.bandscope"]);
        assert!(report["series"][0]["quanta"].as_u64() > Some(0));
        let left = match state {
            "recording" => "interrupted",
            whole => whole,
        };
        assert_eq!(report["recording"]["state"], left);
    }
}

#[test]
fn no_signal_leaves_a_recording_in_which_nothing_was_measured() {
    for (name, status) in that_end([("INT", 130), ("TERM", 143), ("HUP", 129)]) {
        for command in ["record", "live"] {
            let directory = tempfile::tempdir().unwrap();
            let mut measured = bandscope(directory.path());
            measured.args([command, "--duration", "60s", "--output", "it.bandscope"]);
            // What was prepared waits for so long.
            if command == "record" {
                measured.args(["--start-delay", "60"]);
            }
            measured.stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = measured.spawn().unwrap();
            let manifest = directory.path().join("it.bandscope/recording.json");
            wait_until(&mut child, || manifest.exists());
            signal(&child, name);
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(status), "{said}");
            let left = std::fs::read_dir(directory.path()).unwrap().count();
            // `live` begins at once, so a quantum may have ended.
            match said.contains("before anything was measured") {
                true => assert_eq!(left, 0, "{command}"),
                false => assert_eq!((command, left), ("live", 1), "{said}"),
            }
        }
    }
}
