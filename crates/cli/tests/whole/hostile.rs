//! Hostile use of the command line: values that nothing can be done with, machines without threads, and names of files that a terminal
//! would obey.

use crate::common::{bandscope, refuse, succeed};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

#[test]
fn values_that_would_never_end_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let nodes: String = (1..=200).map(|number| format!(",{number}")).collect();
    for (arguments, expected) in [
        (
            &["repeat", "--timeout", "1e20s", "--", "true"][..],
            "found \"1e20s\", expected a duration of at most 366 days",
        ),
        (
            &["repeat", "--noise", "1e20s", "--", "true"],
            "expected a duration of at most 366 days",
        ),
        (
            &["repeat", "--warm-up", "4294967295", "--", "true"],
            "4294967295 is not in 0..=10000",
        ),
        (
            &["synth", "quiet", "--duration", "1e20s"],
            "expected a duration of at most 366 days",
        ),
        (
            &["synth", "quiet", "--samples", "18446744073709551615"],
            "at most 1000000000000",
        ),
        (
            &["record", "--duration", "1e-300"],
            "found \"1e-300\", expected a duration of at least 0.001us",
        ),
        (
            &["record", "--rate", "-1"],
            "found \"-1\", expected a rate above 0",
        ),
        (&["live", "--rate", "1e300MHz"], "expected a rate between"),
        (
            &["record", "--rate", &"1000,".repeat(3000)[..14_999]],
            "--rate: found 3000 values, expected 100 at most",
        ),
        (
            &["scale", "--phase", &"1ms,".repeat(1999)[..7_995], "none"],
            "--phase: found 1999 values, expected 100 at most",
        ),
        (
            &["scale", "--nodes", &nodes[1..], "none"],
            "--nodes: found 200 values, expected 100 at most",
        ),
    ] {
        let error = refuse(directory.path(), arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert!(error.len() < 500, "{error}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// A file of counts that everybody may read.
const COUNTS: &str = "# Frequency 10000.000000\n0 10\n100000 11\n200000 10\n300000 10\n";

#[test]
fn without_threads_it_ends_with_one_line() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let everybody = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(directory.path(), everybody).unwrap();
    std::fs::write(directory.path().join("a.dat"), COUNTS).unwrap();
    let program = directory.path().join("bandscope");
    std::fs::copy(env!("CARGO_BIN_EXE_bandscope"), &program).unwrap();
    for arguments in [&["report", "a.dat"][..], &["record", "--duration", "10ms"]] {
        // The limit does not hold for root, so root becomes somebody of whom nothing else runs.
        let user = ["setpriv", "--reuid", "61234", "--clear-groups"];
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| {
            use std::os::unix::fs::MetadataExt;
            own.uid() == 0
        });
        let words = user[..if is_root { 4 } else { 0 }].iter();
        let words = words.chain(&["prlimit", "--nproc=1"]).copied();
        let mut words = words.map(OsStr::new).chain([program.as_os_str()]);
        let output = Command::new(words.next().unwrap())
            .args(words)
            .args(arguments)
            .current_dir(directory.path())
            .env("RAYON_NUM_THREADS", "4")
            .output();
        let Ok(output) = output.map(|output| (output.status.code(), output.stderr)) else {
            println!("SKIPPED: no prlimit or setpriv");
            return;
        };
        let error = String::from_utf8(output.1).unwrap();
        if error.contains("setpriv: ")
            || error.contains("prlimit: ")
            || std::env::var("BANDSCOPE_TEST_RUNNER").is_ok()
        {
            println!("SKIPPED: {error}");
            return;
        }
        assert_eq!(output.0, Some(2), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains("cannot make a thread"), "{error}");
    }
}

#[test]
fn a_small_address_space_ends_it_with_one_line() {
    let output = Command::new("prlimit")
        .args(["--as=134217728", env!("CARGO_BIN_EXE_bandscope"), "kernels"])
        .output();
    let Ok(output) = output else {
        println!("SKIPPED: no prlimit");
        return;
    };
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(
        error.contains("limited to 128 MiB; expected 256"),
        "{error}"
    );
}

#[test]
fn a_path_is_shown_as_a_shell_takes_it_and_used_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    for (bytes, shown) in [
        (&b"a\x1b[2J\n.dat"[..], r"$'a\x1b[2J\x0a.dat'"),
        (b"\xff.dat", r"$'\xff.dat'"),
    ] {
        let name = OsStr::from_bytes(bytes);
        let report = || {
            bandscope(directory.path())
                .arg("report")
                .arg(name)
                .output()
                .unwrap()
        };
        let error = String::from_utf8(report().stderr).unwrap();
        assert_eq!(error.lines().count(), 1, "{error:?}");
        assert!(
            error.starts_with(&format!("bandscope: {shown}: ")),
            "{error:?}"
        );
        std::fs::write(directory.path().join(name), COUNTS).unwrap();
        let text = String::from_utf8(report().stdout).unwrap();
        assert!(
            text.contains(&format!("More: bandscope report {shown} --all")),
            "{text}"
        );
        let recording = bandscope(directory.path())
            .args(["synth", "quiet", "--samples", "50", "--output"])
            .arg(OsStr::from_bytes(&bytes[..bytes.len() - 4]))
            .output()
            .unwrap();
        let mut path = bytes[..bytes.len() - 4].to_vec();
        path.push(b'\n');
        assert_eq!(recording.stdout, path);
    }
}

#[test]
fn a_pipe_that_nobody_reads_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("a.dat"), COUNTS).unwrap();
    let made = Command::new("mkfifo").arg(path.join("pipe")).status();
    assert!(made.unwrap().success());
    let check = ["check", "--machine", "simulated:tick", "--duration", "20ms"];
    for arguments in [
        &["report", "a.dat", "--output", "pipe"][..],
        &[&check[..], &["--output", "pipe"]].concat(),
        &[&check[..], &["--save", "pipe"]].concat(),
    ] {
        let error = refuse(path, arguments);
        assert!(
            error.contains("pipe: cannot write: nobody reads this pipe"),
            "{error}"
        );
    }
    // A reader that is there gets all of it; one that may also write opens at once.
    let pipe = path.join("pipe");
    let reader = File::options().read(true).write(true).open(&pipe);
    let mut reader = reader.unwrap();
    succeed(path, &["report", "a.dat", "--output", "pipe"]);
    let mut begin = [0; 16];
    reader.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"The measured CPU");
}

#[test]
fn a_pipe_or_device_that_is_read_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("a.dat"), COUNTS).unwrap();
    let made = Command::new("mkfifo").arg(path.join("pipe")).status();
    assert!(made.unwrap().success());
    for arguments in [
        // Nobody ever writes to it: reading it would never end.
        &["check", "--against", "pipe"][..],
        &["compare", "pipe", "pipe"],
        &["histogram", "pipe"],
        &["lab", "pipe"],
        &["repeat", "--from", "pipe"],
        &["report", "pipe"],
        &["report", "--truth", "pipe", "a.dat"],
        // This one would fill the memory.
        &["histogram", "/dev/zero"],
        &["repeat", "--from", "/dev/zero"],
    ] {
        let error = refuse(path, arguments);
        assert!(
            error.contains(": found a pipe or device, expected a regular file"),
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn a_recording_given_twice_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    succeed(
        directory.path(),
        &["synth", "quiet", "--samples", "100", "--output", "a"],
    );
    let error = refuse(directory.path(), &["report", "a", "a"]);
    let wanted = "bandscope: a: found the same recording as a, expected each recording once\n";
    assert_eq!(error, wanted);
}

#[test]
fn a_full_device_is_named() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.dat"), COUNTS).unwrap();
    for arguments in [
        &["report", "a.dat"][..],
        &["report", "a.dat", "--format", "json"],
        &["--help"],
        &["help", "report"],
        &["record", "-h"],
        &["inject", "--then", "record", "--help"],
        &["--version"],
    ] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = bandscope(directory.path())
            .args(arguments)
            .stdout(full)
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        let why = std::io::Error::from_raw_os_error(28);
        let said = format!("bandscope: standard output: cannot write: {why}\n");
        assert_eq!(error, said, "{arguments:?}");
    }
    let error = refuse(
        directory.path(),
        &["report", "a.dat", "--output", "/dev/full"],
    );
    assert!(
        error.starts_with("bandscope: /dev/full: cannot write: No space"),
        "{error}"
    );
}

#[test]
fn long_values_are_cut_in_messages() {
    let directory = tempfile::tempdir().unwrap();
    for long in ["x".repeat(100_000), "x ".repeat(50_000)] {
        for arguments in [
            &["record", "--kernel", &long][..],
            &["record", "--rate", &long],
            &["record", "--machine", &long],
            &["record", "--catch", &long],
            &["check", "--fail-if", &format!("{long} > 1 %")],
            &["report", "--format", &long, "a"],
            &["report", &long],
            &["repeat", "--vary", &long, "--", "true"],
            &[&long],
        ] {
            let error = refuse(directory.path(), arguments);
            let beginning: String = error.chars().take(100).collect();
            assert!(error.len() < 5000, "{} bytes: {beginning}", error.len());
        }
    }
}
