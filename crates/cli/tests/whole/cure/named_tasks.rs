//! `cure tasks --only NAME`: whom it moves, and names that it refuses.

use super::cure;
use crate::common::{refuse, succeed, wait_until};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A script that waits for its input to end, whose task has the script's name.
fn named_task(directory: &Path, name: &str) -> Child {
    let script = directory.join(name);
    fs::write(&script, "#!/bin/sh\necho up\nread line\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(script);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut up = [0; 3];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut up).unwrap();
    child
}

/// The CPUs that a process may use, as the kernel lists them.
fn may_use(process: &Child) -> String {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let row = status
        .lines()
        .find(|row| row.starts_with("Cpus_allowed_list:"));
    row.unwrap().split_whitespace().nth(1).unwrap().to_owned()
}

#[test]
fn only_the_tasks_of_a_name_are_moved_and_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let [mut named, mut other] =
        ["only-this", "not-this"].map(|name| named_task(directory.path(), name));
    let before = may_use(&named);
    if bandscope_recording::cpu_list::parse(&before).len() < 2 {
        println!("SKIPPED: tasks of a name: one CPU");
    } else {
        let only = ["tasks", "--only", "only-this", "--trial", "100ms"];
        let mut dry = cure(directory.path(), &[&only[..], &["--dry-run"]].concat());
        let plan = String::from_utf8(dry.output().unwrap().stdout).unwrap();
        let plan = plan.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(plan.contains("only those named only-this"), "{plan}");
        assert!(
            plan.contains("affinity of 1 thread named only-this"),
            "{plan}"
        );
        let mut trials = cure(
            directory.path(),
            &[&only[..], &["--yes", "-o", "t.json"]].concat(),
        );
        let mut trials = trials
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until(&mut trials, || may_use(&named) != before);
        assert_eq!(may_use(&other), before);
        trials.kill().unwrap();
        trials.wait().unwrap();
        assert!(
            cure(directory.path(), &["--undo"])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!([&named, &other].map(may_use), [&*before, &*before]);
        let text = succeed(directory.path(), &["report", "t.json", "--format", "json"]);
        let judged: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(judged["only"], "only-this");
        assert_eq!(judged["cures"][0]["acts_on"][0], "task:only-this");
    }
    for process in [&mut named, &mut other] {
        drop(process.stdin.take());
        process.wait().unwrap();
    }
}

#[test]
fn a_name_that_nothing_has_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut named = named_task(directory.path(), "only-here");
    for (arguments, expected) in [
        (&["tasks", "--only", "only-heer"][..], "such as only-here, "),
        (
            &["clock", "--only", "only-here"],
            "expected one of tasks, interrupts, sibling",
        ),
        (
            &["interrupts", "--only", "only-here"],
            "the name of an interrupt",
        ),
        (
            &["--only", "only-here"],
            "expected the cure that moves it, such as: bandscope cure tasks --only only-here",
        ),
    ] {
        let error = refuse(directory.path(), &[&["cure", "--yes"], arguments].concat());
        assert!(error.contains(expected), "{error}");
    }
    drop(named.stdin.take());
    named.wait().unwrap();
}
