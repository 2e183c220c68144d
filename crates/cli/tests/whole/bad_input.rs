//! Bad usage and bad input: exit status 2, a line that says what was found and what was expected, and
//! nothing lost.

use crate::common::{bandscope, refuse, run, succeed};
use std::io::Read;
use std::process::Stdio;

const SIMULATED: [&str; 3] = ["record", "--machine", "simulated:quiet"];

#[test]
fn arguments_that_cannot_be() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["--rate", "0"][..], "10kHz"),
        (
            &["--rate", "1e12"],
            "found \"1e12\", expected a rate between",
        ),
        (&["--rate", "-1"], "found \"-1\", expected a rate above 0"),
        (&["--rate", "5e10"], "rate 50000000000 Hz"),
        (&["--duration", "1e300h"], "at most 366 days"),
        (&["--rate", "fast"], "fast"),
        (&["--duration", "0"], "above 0"),
        (&["--duration=-5s"], "-5s"),
        (&["--samples", "0"], "above 0"),
        (&["--cpus", "5-2"], "5-2"),
        (&["--cpus", "4000"], "4000"),
        (&["--cpus", "all"], "found all, expected numbers"),
        (&["--kernel", "nonsense"], "mulss80"),
        (&["--ticks-per-ns", "0"], "ticks per nanosecond"),
        (&["--no-such-option"], "--no-such-option"),
    ] {
        let error = refuse(directory.path(), &[&SIMULATED, arguments].concat());
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    let error = refuse(directory.path(), &["record", "--machine", "simulated:tock"]);
    assert!(error.contains("tock") && error.contains("flips"), "{error}");
    let error = refuse(directory.path(), &["record", "--machine", "that"]);
    assert!(error.contains("simulated:SCENARIO"), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn this_machine_refuses_what_it_has_not() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (["--cpus", "60000"], "60000"),
        (["--rate", "5e10"], "rate"),
        (["--rate", "0.001"], "rate"),
        (["--kernel", "nonsense"], "nonsense"),
    ] {
        let error = refuse(directory.path(), &[&["record"][..], &arguments].concat());
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn all_cpus_are_those_that_may_be_used_but_one() {
    let directory = tempfile::tempdir().unwrap();
    let more = [
        "record",
        "--cpus",
        "all",
        "--trace",
        "off",
        "--start-delay",
        "0s",
    ];
    let record = |output: &str, buffered: &[&str]| {
        let samples = ["--samples", "200", "--output", output];
        succeed(
            directory.path(),
            &[&more[..], &samples[..], buffered].concat(),
        );
        let manifest = directory.path().join(output).join("recording.json");
        let text = std::fs::read_to_string(manifest).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        let cpus = manifest["settings"]["cpus"].as_array().unwrap().clone();
        let parts = directory.path().join(output).join("quanta");
        assert_eq!(std::fs::read_dir(parts).unwrap().count(), cpus.len());
        cpus
    };
    let (most, every) = (
        record("most.bandscope", &[]),
        record("every.bandscope", &["--buffered"]),
    );
    match every.len() {
        1 => assert_eq!(most, every),
        _ => assert_eq!(most, every[1..]),
    }
}

#[test]
fn a_pipe_as_output_is_written_to_and_left_in_its_place() {
    use std::os::unix::fs::FileTypeExt;
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let more = ["--samples", "100", "--output", "it.bandscope"];
    succeed(directory.path(), &[&SIMULATED[..], &more].concat());
    let mut writer = bandscope(directory.path())
        .args(["report", "it.bandscope", "--output", "pipe"])
        .spawn()
        .unwrap();
    let text = std::fs::read_to_string(&pipe).unwrap();
    assert!(writer.wait().unwrap().success());
    assert!(text.contains("Where the time went"), "{text}");
    assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
}

#[test]
fn nobody_need_listen_to_standard_error() {
    let directory = tempfile::tempdir().unwrap();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let status = bandscope(directory.path())
        .args(["report", "absent"])
        .stderr(full)
        .status();
    assert_eq!(status.unwrap().code(), Some(2));
}

#[test]
fn an_output_that_exists_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("it.bandscope");
    std::fs::write(&output, "precious").unwrap();
    let error = refuse(
        directory.path(),
        &[&SIMULATED[..], &["--output", "it.bandscope"]].concat(),
    );
    assert!(
        error.contains("it.bandscope") && error.contains("exists"),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "precious");
}

#[test]
fn files_that_are_no_measurements() {
    let directory = tempfile::tempdir().unwrap();
    let bad: [(&str, &[u8], &[&str]); 14] = [
        ("cut.dat", b"0 10\n100 11\n200", &[":3:"]),
        ("columns.dat", b"0 10 5\n100 11 5\n", &[":1:"]),
        ("word.dat", b"0 10\n100 many\n", &[":2:", "many"]),
        ("negative.dat", b"0 10\n100 -1\n", &[":2:", "-1"]),
        ("backwards.dat", b"0 10\n200 11\n100 12\n", &[":3:"]),
        ("nan.dat", b"0 10\nNaN 11\n", &[":2:", "NaN"]),
        (
            "huge.dat",
            b"0 10\n100 1000000000000000000000000000000\n",
            &[":2:"],
        ),
        ("empty.dat", b"", &["empty.dat"]),
        ("comments.dat", b"# Frequency 10000\n", &["comments.dat"]),
        ("nul.dat", b"0 10\n100 1\x001\n", &[":2:"]),
        ("long.dat", &[b'7'; 1 << 20], &[":1:"]),
        ("escape.dat", b"0 10\n\x1b[31m 10\n", &[":2:"]),
        // What other commands keep, and read.
        (
            "runs.json",
            b"{\"schema\":\"bandscope.runs/1\"}",
            &["bandscope repeat --from runs.json"],
        ),
        (
            "quiet.json",
            b"{\n  \"schema\": \"bandscope.baseline/1\"\n}",
            &["bandscope check --against quiet.json"],
        ),
    ];
    for (name, content, expected) in bad {
        std::fs::write(directory.path().join(name), content).unwrap();
        let error = refuse(directory.path(), &["report", name]);
        assert_eq!(error.lines().count(), 1, "{name}: {error}");
        assert!(
            error.len() < 400 && !error.contains('\x1b') && error.contains(name),
            "{name}: {error}"
        );
        for expected in expected {
            assert!(error.contains(expected), "{name}: {error}");
        }
    }
    assert!(refuse(directory.path(), &["report", "absent.dat"]).contains("absent.dat"));
    let (name, good) = (
        "crlf.dat",
        "# Frequency 10000.000000\r\n0 10\r\n100000 11\r\n200000 10\r\n",
    );
    std::fs::write(directory.path().join(name), good).unwrap();
    succeed(directory.path(), &["report", name]);
}

/// Makes a recording of several parts and returns the files of its quanta, in order.
fn recording(directory: &std::path::Path, name: &str) -> Vec<std::path::PathBuf> {
    let more = ["--duration", "10s", "--rate", "2000", "--output", name];
    succeed(directory, &[&SIMULATED[..], &more].concat());
    let list = |directory: std::path::PathBuf| -> Vec<_> {
        let entries = std::fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    // The default work kernel, and so the folder below, has another name on each architecture.
    let kernels = list(directory.join(name).join("quanta/cpu=0/rate=2000"));
    let mut parts = list(kernels[0].clone());
    parts.sort();
    assert!(parts.len() >= 3, "{parts:?}");
    parts
}

#[test]
fn a_place_that_cannot_be_is_refused_before_anything_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("a.dat"), "0 10\n100000 11\n200000 10\n").unwrap();
    std::fs::hard_link(path.join("a.dat"), path.join("b.dat")).unwrap();
    std::os::unix::fs::symlink("somewhere", path.join("link")).unwrap();
    let missing = "cannot create: no is not a directory";
    for (arguments, expected) in [
        // An hour would be measured first.
        (&["record", "--duration", "1h", "-o", "no/it"][..], missing),
        (&["doctor", "--duration", "1h", "-o", "no/it"], missing),
        (&["check", "--duration", "1h", "-o", "no/it"], missing),
        (&["cure", "--dry-run", "-o", "no/it"], missing),
        (&["histogram", "--duration", "1h", "-o", "no/it"], missing),
        (&["lab", "-o", "no/it"], missing),
        (&["repeat", "-o", "no/it", "--", "sleep", "1h"], missing),
        (&["report", "a.dat", "-o", "no/it"], missing),
        (&["report", "a.dat", "-o", "b.dat"], "is read as well"),
        (
            &["record", "--duration", "1h", "-o", "link"],
            "exists already",
        ),
    ] {
        let error = refuse(path, arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    // Not even the link is gone.
    assert_eq!(std::fs::read_dir(path).unwrap().count(), 3);
}

#[test]
fn what_a_terminal_would_obey_is_shown_and_not_sent() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [&["record", "--rate", "a\x1b[2Jb"][..], &["a\x1b[2Jb"]] {
        let mut command = bandscope(directory.path());
        // As on a terminal.
        command.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1");
        let output = command.args(arguments).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(!error.contains('\x1b'), "{error:?}");
    }
}

#[test]
fn damaged_recordings() {
    let directory = tempfile::tempdir().unwrap();
    let refuse_it = |name: &str, expected: &str| {
        let error = refuse(directory.path(), &["report", name]);
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains(expected), "{name}: {error}");
    };
    let parts = recording(directory.path(), "missing.bandscope");
    std::fs::remove_file(&parts[1]).unwrap();
    refuse_it("missing.bandscope", "part-000001");

    let parts = recording(directory.path(), "truncated.bandscope");
    let content = std::fs::read(&parts[1]).unwrap();
    std::fs::write(&parts[1], &content[..content.len() / 2]).unwrap();
    refuse_it("truncated.bandscope", "part-000001");

    let other = recording(directory.path(), "other.bandscope");
    let parts = recording(directory.path(), "mixed.bandscope");
    std::fs::copy(&other[1], &parts[1]).unwrap();
    refuse_it("mixed.bandscope", "part-000001");

    // A part of another CPU, though of the same run and number.
    let two = [
        "--cpus",
        "0,1",
        "--rate",
        "2000",
        "--duration",
        "500ms",
        "-o",
        "two",
    ];
    succeed(directory.path(), &[&SIMULATED[..], &two].concat());
    let [of_0, of_1] = [0, 1].map(|cpu| {
        let rate = format!("two/quanta/cpu={cpu}/rate=2000");
        let mut kernels = std::fs::read_dir(directory.path().join(rate)).unwrap();
        let kernel = kernels.next().unwrap().unwrap().path();
        kernel.join("part-000000.parquet")
    });
    std::fs::copy(of_0, of_1).unwrap();
    refuse_it("two", "found directory \"quanta/cpu=0/rate=2000/kernel=");

    recording(directory.path(), "newer.bandscope");
    let manifest = directory.path().join("newer.bandscope/recording.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(
        &manifest,
        text.replace("bandscope.recording/1", "bandscope.recording/2"),
    )
    .unwrap();
    refuse_it("newer.bandscope", "remove the line \"checksum\"");
    let lines = text.lines().filter(|line| !line.contains("\"checksum\""));
    let text = lines.collect::<Vec<_>>().join("\n");
    std::fs::write(
        &manifest,
        text.replace("bandscope.recording/1", "bandscope.recording/2"),
    )
    .unwrap();
    refuse_it("newer.bandscope", "bandscope.recording/2");

    std::fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    refuse_it("newer.bandscope", "recording.json");
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    succeed(
        directory.path(),
        &[
            &SIMULATED[..],
            &["--duration", "20s", "--output", "it.bandscope"],
        ]
        .concat(),
    );
    let mut child = bandscope(directory.path())
        .args(["export", "it.bandscope", "--format", "csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_full_disk_is_said_and_what_was_written_stays() {
    let directory = tempfile::tempdir().unwrap();
    let disk = directory.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=128k", "tmpfs"])
        .arg(&disk)
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: a full disk: cannot mount a tmpfs here");
        return;
    }
    let output = run(
        &disk,
        &[
            &SIMULATED[..],
            &[
                "--rate",
                "100kHz",
                "--duration",
                "20s",
                "--output",
                "it.bandscope",
            ],
        ]
        .concat(),
    );
    let error = String::from_utf8(output.stderr).unwrap();
    let read_back = run(&disk, &["report", "it.bandscope"]);
    let unmounted = std::process::Command::new("umount")
        .arg(&disk)
        .status()
        .unwrap();
    assert!(unmounted.success());
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.contains("it.bandscope/quanta") && error.contains("space"),
        "{error}"
    );
    assert!(
        error.ends_with("; what was written before is kept: bandscope report it.bandscope\n"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(
        read_back.status.success(),
        "{}",
        String::from_utf8_lossy(&read_back.stderr)
    );
}
