//! Tasks of a job, as `srun` and `mpirun` start them: plain processes with the variables that these set.

use crate::common::{bandscope, in_part, refuse, report, succeed};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// A `record` of task `task` of four of Slurm's step `job`.0, on `node`.
fn task(directory: &Path, job: &str, node: &str, task: u32, scenario: &str) -> Command {
    let mut command = bandscope(directory);
    command
        .args(["record", "--machine", &format!("simulated:{scenario}")])
        .args(["--rate", "1000", "--duration", "2s", "--output", "job"])
        .envs([("SLURM_JOB_ID", job), ("SLURM_STEP_ID", "0")])
        .envs([("SLURMD_NODENAME", node), ("SLURM_NTASKS", "4")])
        .env("SLURM_PROCID", task.to_string());
    command
}

fn done(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// All four tasks at once: two on each node, the second node with a tick.
fn four(directory: &Path, job: &str) {
    let of = |number| match number {
        0 | 1 => task(directory, job, "n1", number, "quiet"),
        _ => task(directory, job, "n2", number, "tick:hz=250,cost=30us"),
    };
    let piped = |mut command: Command| {
        let piped = command.stdout(std::process::Stdio::piped());
        piped.stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let started: Vec<_> = (0..4).map(|number| piped(of(number))).collect();
    for (number, child) in started.into_iter().enumerate() {
        let path = done(&child.wait_with_output().unwrap());
        assert!(path.ends_with(&format!("/task={number}\n")), "{path}");
    }
}

/// Changes fields of a part's `recording.json`.
fn edit(part: &Path, change: impl FnOnce(&mut Value)) {
    let path = part.join("recording.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    manifest.as_object_mut().unwrap().remove("checksum");
    change(&mut manifest);
    std::fs::write(path, manifest.to_string()).unwrap();
}

/// Messages of the warnings of a kind.
fn warnings(report: &Value, kind: &str) -> Vec<String> {
    let all = report["warnings"].as_array().unwrap().iter();
    let such = all.filter(|warning| warning["kind"] == kind);
    such.map(|warning| warning["message"].as_str().unwrap().to_owned())
        .collect()
}

const KINDS: [&str; 3] = ["unreadable-part", "missing-part", "stale-part"];

#[test]
fn each_task_writes_its_own_part_and_report_reads_all() {
    let directory = tempfile::tempdir().unwrap();
    four(directory.path(), "17");
    let report = report(directory.path(), &["job"]);
    let places: Vec<String> = report["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|series| {
            let place = &series["place"];
            let node = place["node"].as_str().unwrap();
            let path = format!("job/node={node}/task={}", place["task"]);
            assert_eq!(series["origin"], *path);
            path
        })
        .collect();
    let parts = ["n1/task=0", "n1/task=1", "n2/task=2", "n2/task=3"];
    assert_eq!(places, parts.map(|part| format!("job/node={part}")));
    assert_eq!(report["cpus"].as_array().unwrap().len(), 4);
    let verdict = report["verdict"].as_str().unwrap();
    assert!(
        verdict.starts_with("The worst of 4 CPUs, CPU 0 of task "),
        "{verdict}"
    );
    assert!(verdict.contains(" on n2, lost 0.7"), "{verdict}");
    for kind in KINDS {
        assert_eq!(warnings(&report, kind), Vec::<String>::new());
    }
    assert_eq!(report["recording"]["rank"]["job"], "17.0");
    let text = succeed(directory.path(), &["report", "job", "--all"]);
    for part in ["CPU 0 of task 3", "17.0: 4 of 4 tasks"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let one = succeed(directory.path(), &["report", "job/node=n2/task=3", "--all"]);
    assert!(one.contains("17.0: task 3 of 4 on n2"), "{one}");
}

#[test]
fn a_node_that_failed_is_named_and_nothing_else_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..3 {
        let node = format!("n{number}");
        done(
            &task(directory.path(), "17", &node, number, "quiet")
                .output()
                .unwrap(),
        );
    }
    let part = |number: u32| {
        let part = format!("job/node=n{number}/task={number}");
        directory.path().join(part)
    };
    // As one that was killed before it wrote its manifest; as one that was killed while it measured.
    std::fs::remove_file(part(1).join("recording.json")).unwrap();
    edit(&part(2), |manifest| {
        manifest["state"] = "recording".into();
        manifest["parts"] = Value::Array(Vec::new());
    });
    let (printed, said) = in_part(directory.path(), &["report", "-f", "json", "job"]);
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(report["series"].as_array().unwrap().len(), 2);
    let [unreadable] = &warnings(&report, "unreadable-part")[..] else {
        panic!("{}", report["warnings"]);
    };
    assert!(
        unreadable.starts_with("the part of task 1 on n1 cannot be read: job/node=n1/task=1: found a directory without recording.json"),
        "{unreadable}"
    );
    assert!(
        said.starts_with(&format!("bandscope: {unreadable}")),
        "{said}"
    );
    let killed = warnings(&report, "partial-recording");
    assert!(
        killed[0].starts_with("job/node=n2/task=2: the run still goes on or was killed"),
        "{killed:?}"
    );
    let missing = ["job: 1 of 4 tasks left no part: 3."];
    assert_eq!(warnings(&report, "missing-part"), missing);
    // Its summary alone would do for `fleet`.
    std::fs::remove_file(part(1).join("summary.json")).unwrap();
    for command in ["scale", "fleet"] {
        let (text, said) = in_part(directory.path(), &[command, "job"]);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for told in [said, text] {
            assert!(told.contains("task 1 on n1 cannot be read"), "{told}");
        }
    }
    let (text, _) = in_part(directory.path(), &["report", "job"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        unreadable.split(':').next().unwrap(),
        "tasks left no part: 3",
    ] {
        assert!(text.contains(said), "{said}:\n{text}");
    }
    std::fs::remove_dir_all(part(0)).unwrap();
    std::fs::remove_dir_all(part(2)).unwrap();
    let none = refuse(directory.path(), &["report", "job"]);
    assert!(
        none.contains("found a directory without recording.json"),
        "{none}"
    );
}

#[test]
fn parts_of_an_earlier_job_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    four(directory.path(), "17");
    for (node, number) in [("n1", 0), ("n1", 1), ("n2", 2)] {
        let part = format!("job/node={node}/task={number}");
        let part = directory.path().join(part);
        edit(&part, |manifest| {
            manifest["started"] = "2020-01-01T00:00:00Z".into()
        });
    }
    // A requeued job: the same name, the same task, another node; and a node that was booted since.
    edit(&directory.path().join("job/node=n2/task=2"), |manifest| {
        manifest["machine"]["boot_id"] = "before".into();
    });
    for number in 0..2 {
        done(
            &task(directory.path(), "17", "n3", number, "quiet")
                .output()
                .unwrap(),
        );
    }
    let same = report(directory.path(), &["job"]);
    let stale = warnings(&same, "stale-part");
    assert!(
        stale[0]
            .contains(" and 2 more parts: of an earlier job (17.0, started 2020-01-01T00:00:00Z)"),
        "{stale:?}"
    );
    assert_eq!(same["series"].as_array().unwrap().len(), 3);
    assert_eq!(warnings(&same, "missing-part").len(), 1);
    // Another job.
    edit(&directory.path().join("job/node=n3/task=1"), |manifest| {
        manifest["started"] = "2999-01-01T00:00:00Z".into();
        manifest["rank"]["job"] = "18.0".into();
    });
    let other = report(directory.path(), &["job"]);
    assert_eq!(other["series"].as_array().unwrap().len(), 1);
    let stale = warnings(&other, "stale-part");
    assert!(stale[0].ends_with("not of the newest (18.0)."), "{stale:?}");
}

/// A process that ends with the test, however that ends.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn tasks_that_nobody_bound_take_a_cpu_each() {
    if bandscope_probe::pin::allowed().unwrap().len() < 2 {
        println!("SKIPPED: a CPU for each of two tasks: this process may use one");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    // As MPICH's mpirun starts them. The job is this test's alone, whatever else runs on the machine.
    let job = std::process::id().to_string();
    let task = |number: &str, duration: &str| {
        let mut command = bandscope(path);
        command.args(["record", "--quiet", "--trace", "off", "--rate", "1000"]);
        command.args(["--duration", duration, "--output", "job"]);
        command.envs([("PMI_RANK", number), ("PMI_SIZE", "2")]);
        command.envs([
            ("SLURMD_NODENAME", "n1"),
            ("SLURM_JOB_ID", &*job),
            ("SLURM_STEP_ID", "0"),
        ]);
        command
    };
    let cpus = |number: u32| {
        let part = path.join(format!("job/node=n1/task={number}/recording.json"));
        let manifest: Value = serde_json::from_slice(&std::fs::read(part).ok()?).ok()?;
        Some(manifest["settings"]["cpus"].clone())
    };
    let mut first = Killed(task("0", "60s").spawn().unwrap());
    let taken = loop {
        if let Some(cpus) = cpus(0) {
            break cpus;
        }
        assert!(first.0.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    done(&task("1", "10ms").output().unwrap());
    assert_ne!(cpus(1).unwrap(), taken);
}

#[test]
fn what_has_no_single_recording_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    four(path, "17");
    let again = task(path, "18", "n1", 0, "quiet").output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    let error = String::from_utf8(again.stderr).unwrap();
    assert!(
        error.contains("job/node=n1/task=0: exists already"),
        "{error}"
    );
    let commands: [&[&str]; 3] = [
        &["export", "job", "--format", "csv"],
        &["compare", "job", "job/node=n1/task=0"],
        &["doctor", "job"],
    ];
    for command in commands {
        let error = refuse(path, command);
        assert!(error.contains("such as job/node=n1/task=0"), "{error}");
    }
    let limits = refuse(path, &["report", "job", "--fail-if", "lost > 1 %"]);
    assert!(limits.contains("recordings of several tasks"), "{limits}");
    let refused = |name: &str, value: &str, output: &[&str]| {
        let mut command = bandscope(path);
        command
            .args(["record", "--machine", "simulated:quiet"])
            .args(output);
        let output = command.env(name, value).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let unnamed = refused("PMI_RANK", "0", &[]);
    assert!(unnamed.contains("--output: found none"), "{unnamed}");
    let nonsense = refused("OMPI_COMM_WORLD_RANK", "x", &["--output", "other"]);
    assert!(
        nonsense.contains("OMPI_COMM_WORLD_RANK: found \"x\""),
        "{nonsense}"
    );
    // Nothing was begun.
    assert!(!path.join("other").exists());
    done(
        &bandscope(path)
            .args([
                "record",
                "--machine",
                "simulated:quiet",
                "--duration",
                "1s",
                "--output",
                "plain",
            ])
            .output()
            .unwrap(),
    );
    let inside = bandscope(path)
        .args([
            "record",
            "--machine",
            "simulated:quiet",
            "--output",
            "plain",
        ])
        .envs([("PMI_RANK", "0"), ("PMI_SIZE", "1")])
        .output()
        .unwrap();
    let error = String::from_utf8(inside.stderr).unwrap();
    assert!(
        error.contains("lies in the recording ") && error.contains("/plain; name another"),
        "{error}"
    );
}
