//! The measured CPU, or the writer's, is taken away while a run goes on; and a run by a user who may do little. The
//! recording goes on, is readable, and says what happened.
//!
//! What touches the whole machine for a moment (a CPU offline, perf_event_paranoid) is done by root with
//! `BANDSCOPE_TEST_SYSTEM=1` alone: it hits every process there, and a cpuset of the first cgroup version never gives a
//! CPU back that was offline once.

use crate::common::{
    assert_ledger_closes, finished_parts, kinds_of_warnings, report, run, signal, start, succeed,
    wait_for_parts,
};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Two CPUs that may be used, or `None`, having said so.
fn two_cpus(directory: &Path) -> Option<[String; 2]> {
    let quick = ["record", "--samples", "10", "--output", "look.bandscope"];
    succeed(directory, &quick);
    let look = report(directory, &["look.bandscope"]);
    let allowed = look["recording"]["machine"]["allowed_cpus"].as_str()?;
    let mut ends = allowed.split([',', '-']);
    match (ends.next(), ends.next_back()) {
        (Some(first), Some(last)) => Some([first.to_owned(), last.to_owned()]),
        _ => {
            println!("SKIPPED: a CPU that is lost: this process may use {allowed} only");
            None
        }
    }
}

/// Runs a command for root or everybody; whether it succeeded. If not, why a test is skipped is said.
fn done(what: &str, command: &mut Command) -> bool {
    match command.output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            println!("SKIPPED: {what}: {error}");
            false
        }
        Err(error) => {
            println!("SKIPPED: {what}: {command:?}: {error}");
            false
        }
    }
}

/// Records `measured`, does `deed` to the run once there is something to lose, ends it in good order after it had
/// time to notice, and returns the report; `None` where the deed cannot be done here.
fn while_recording(
    directory: &Path,
    measured: &str,
    deed: impl FnOnce(&Child) -> bool,
) -> Option<serde_json::Value> {
    let mut child = start(directory, &["--cpus", measured]);
    wait_for_parts(directory, &mut child, 1);
    let possible = deed(&child);
    if possible {
        // The part under way may end before the run notices: where the kernel does not keep the CPU's number in memory it asks once a segment.
        let number = finished_parts(directory) + 2;
        wait_for_parts(directory, &mut child, number);
    }
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let report = report(directory, &["it.bandscope"]);
    assert_ledger_closes(&report["series"][0]);
    assert_eq!(report["recording"]["lost"]["quanta"], 0);
    possible.then_some(report)
}

/// The run must have noted that it was moved, and the report must warn.
fn assert_moved(report: &serde_json::Value, from: &str) {
    let incidents = report["recording"]["incidents"].as_array().unwrap();
    let moved = incidents.iter().any(|incident| {
        let detail = incident["detail"].as_str().unwrap();
        incident["kind"] == "cpu-change" && detail.contains(&format!("from CPU {from} "))
    });
    assert!(moved, "{incidents:?}");
    assert!(
        kinds_of_warnings(report).contains(&"incident"),
        "{}",
        report["warnings"]
    );
}

#[test]
fn an_affinity_that_is_changed_from_outside() {
    let directory = tempfile::tempdir().unwrap();
    let Some([other, measured]) = two_cpus(directory.path()) else {
        return;
    };
    let report = while_recording(directory.path(), &measured, |child| {
        let id = child.id().to_string();
        let mut taskset = Command::new("taskset");
        done(
            "another affinity",
            taskset.args(["-a", "-p", "-c", &other, &id]),
        )
    });
    if let Some(report) = report {
        assert_moved(&report, &measured);
    }
}

/// A cgroup with a cpuset of its own, for as long as it lives.
struct Cpuset(PathBuf);

impl Cpuset {
    fn create(cpus: &str) -> Result<Cpuset, String> {
        let root = Path::new("/sys/fs/cgroup");
        // The first version has a tree of its own for cpusets, and wants to be told the memory as well.
        let first = root.join("cpuset");
        let tree = if first.is_dir() {
            first
        } else {
            root.to_owned()
        };
        let group = Cpuset(tree.join(format!("bandscope-test-{}", std::process::id())));
        let failed = |error: std::io::Error| format!("{}: {error}", group.0.display());
        std::fs::create_dir(&group.0).map_err(failed)?;
        let memory = std::fs::read_to_string(tree.join("cpuset.mems"));
        if let Ok(memory) = memory {
            std::fs::write(group.0.join("cpuset.mems"), memory).map_err(failed)?;
        }
        group.set("cpuset.cpus", cpus).map_err(failed)?;
        Ok(group)
    }

    fn set(&self, file: &str, value: &str) -> std::io::Result<()> {
        // Not created where the controller is not there: then it is an error.
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(self.0.join(file));
        std::io::Write::write_all(&mut file?, value.as_bytes())
    }
}

impl Drop for Cpuset {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir(&self.0) {
            println!("{} is left behind: {error}", self.0.display());
        }
    }
}

#[test]
fn a_cpuset_that_shrinks() {
    let directory = tempfile::tempdir().unwrap();
    let Some([other, measured]) = two_cpus(directory.path()) else {
        return;
    };
    let group = match Cpuset::create(&format!("{other},{measured}")) {
        Ok(group) => group,
        Err(error) => {
            println!("SKIPPED: a cpuset that shrinks: {error}");
            return;
        }
    };
    let report = while_recording(directory.path(), &measured, |child| {
        let shrunk = group
            .set("cgroup.procs", &child.id().to_string())
            .and_then(|()| group.set("cpuset.cpus", &other));
        if let Err(error) = &shrunk {
            println!("SKIPPED: a cpuset that shrinks: {error}");
        }
        shrunk.is_ok()
    });
    if let Some(report) = report {
        assert_moved(&report, &measured);
    }
}

/// Whether tests may touch what belongs to the whole machine.
fn may_touch_the_system(what: &str) -> bool {
    let may = std::env::var_os("BANDSCOPE_TEST_SYSTEM").is_some_and(|value| value == "1");
    if !may {
        println!(
            "SKIPPED: {what}: it touches the whole machine; BANDSCOPE_TEST_SYSTEM=1 permits it"
        );
    }
    may
}

/// Takes a CPU away for a third of a second. The shell puts it back, also where the test itself is ended.
fn offline_for_a_moment(cpu: &str) -> bool {
    let script = "trap 'echo 1 > \"$1\"' EXIT; echo 0 > \"$1\" && sleep 0.3";
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    let mut shell = Command::new("sh");
    done(
        "a CPU that goes offline",
        shell.args(["-c", script, "sh", &file]),
    )
}

#[test]
fn a_cpu_that_goes_offline() {
    if !may_touch_the_system("a CPU that goes offline") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let Some([other, measured]) = two_cpus(directory.path()) else {
        return;
    };
    let report = while_recording(directory.path(), &measured, |_| {
        offline_for_a_moment(&measured)
    });
    if let Some(report) = report {
        assert_moved(&report, &measured);
    }
    // That of the thread that writes: it goes on where it may, and nothing is lost.
    let directory = tempfile::tempdir().unwrap();
    while_recording(directory.path(), &other, |_| {
        offline_for_a_moment(&measured)
    });
}

/// The program, in `directory`, as a user who may do nothing special; `None`, having said so, where this process
/// cannot become another user.
fn as_nobody(directory: &Path, arguments: &[&str]) -> Option<std::process::Output> {
    use std::os::unix::fs::PermissionsExt;
    let everybody = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(directory, everybody).unwrap();
    // The target directory may be one that others cannot look into.
    let binary = directory.join("bandscope");
    if !binary.exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_bandscope"), &binary).unwrap();
    }
    if std::env::var_os("BANDSCOPE_TEST_RUNNER").is_some() {
        println!("SKIPPED: another user: not under emulation");
        return None;
    }
    let become_nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let nobody = || {
        let mut command = Command::new("setpriv");
        command.current_dir(directory).args(become_nobody);
        command
    };
    if !done("another user", nobody().arg("true")) {
        return None;
    }
    Some(nobody().arg(&binary).args(arguments).output().unwrap())
}

/// A run by nobody; every counter that is named is one that was read, and what is missing says why.
fn nobody_records(directory: &Path, output: &str) -> Option<()> {
    let arguments = ["record", "--samples", "2000", "--output", output];
    let ran = as_nobody(directory, &arguments)?;
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let report = report(directory, &[output]);
    assert_ledger_closes(&report["series"][0]);
    let recording = &report["recording"];
    assert_eq!(recording["state"], "complete");
    for missing in recording["missing"].as_array().unwrap() {
        assert_ne!(missing["why"], "", "{missing}");
        assert_ne!(missing["leaves_undecided"], "", "{missing}");
    }
    Some(())
}

#[test]
fn a_user_who_may_do_nothing_special() {
    let directory = tempfile::tempdir().unwrap();
    if nobody_records(directory.path(), "nobody.bandscope").is_none() {
        return;
    }
    // What it cannot have it does not get, and it says so.
    let asked = [
        "record",
        "--counters",
        "on",
        "--samples",
        "100",
        "--output",
        "on.bandscope",
    ];
    let ran = as_nobody(directory.path(), &asked).unwrap();
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.success() || ran.status.code() == Some(2),
        "{error}"
    );
    assert!(!error.contains("panicked"), "{error}");

    let paranoid = Path::new("/proc/sys/kernel/perf_event_paranoid");
    if !may_touch_the_system("perf_event_paranoid 3") {
        return;
    }
    let Ok(before) = std::fs::read_to_string(paranoid) else {
        println!("SKIPPED: perf_event_paranoid 3: this kernel has no perf events");
        return;
    };
    struct PutBack<'a>(&'a Path, String);
    impl Drop for PutBack<'_> {
        fn drop(&mut self) {
            std::fs::write(self.0, &self.1).unwrap();
        }
    }
    let _put_back = PutBack(paranoid, before);
    if let Err(error) = std::fs::write(paranoid, "3") {
        println!("SKIPPED: perf_event_paranoid 3: {error}");
        return;
    }
    nobody_records(directory.path(), "paranoid.bandscope").unwrap();
    let look = run(directory.path(), &["report", "paranoid.bandscope"]);
    let text = String::from_utf8(look.stdout).unwrap();
    assert!(text.contains("missing"), "{text}");
}
