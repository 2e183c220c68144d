//! Whole-program runs on this machine, whatever it is: only what holds on any is asserted.

mod common;
use bandscope_view::numbers;
use common::{assert_ledger_closes, bandscope, finished_parts, report, run, succeed};
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
        assert_eq!(series["segments"], 2);
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
            "record",
            "--kernel",
            name,
            "--samples",
            "300",
            "--rate",
            "10kHz",
            "--output",
            &output,
        ];
        succeed(directory.path(), &arguments);
        let report = report(directory.path(), &[&output]);
        assert_eq!(report["series"][0]["kernel"], name);
        assert_eq!(report["series"][0]["quanta"], 300);
        assert!(
            report["recording"]["kernels"][0]["hash"]
                .as_str()
                .unwrap()
                .starts_with("fnv1a64:")
        );
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

/// A directory of the control groups, removed when dropped.
struct Group(std::path::PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A new control group in whose file stands this, in the first hierarchy whose groups have it; `None`, which is said, if it cannot be made.
fn group_with(file: &str, value: &str) -> Option<Group> {
    let number = std::process::id();
    let group = new_group(&format!("bandscope-{file}-{number}"), file).and_then(|group| {
        let set = std::fs::write(group.0.join(file), value);
        set.map(|()| group).map_err(|error| error.to_string())
    });
    group
        .inspect_err(|why| println!("SKIPPED: {file}: {why}"))
        .ok()
}

/// A new control group, of the first hierarchy whose groups have this file.
fn new_group(name: &str, file: &str) -> Result<Group, String> {
    let own = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mounts = own.lines().filter(|line| line.contains(" - cgroup"));
    let points = mounts.filter_map(|line| line.split(' ').nth(4));
    let mut why = format!("no control groups with {file} are mounted");
    for point in points {
        let group = std::path::Path::new(point).join(name);
        match std::fs::create_dir(&group) {
            Ok(()) if group.join(file).exists() => return Ok(Group(group)),
            Ok(()) => drop(Group(group)),
            Err(error) => why = format!("{point}: {error}"),
        }
    }
    Err(why)
}

#[test]
fn too_little_memory_in_a_control_group_is_told() {
    let directory = tempfile::tempdir().unwrap();
    for file in ["memory.max", "memory.limit_in_bytes"] {
        let Some(group) = group_with(file, &(30 << 20).to_string()) else {
            continue;
        };
        let within = |arguments: &str| {
            let join = r#"echo $$ > "$0/cgroup.procs" && exec "$@""#;
            let mut run = Command::new("sh");
            run.current_dir(&directory).args(["-c", join]).arg(&group.0);
            run.arg(env!("CARGO_BIN_EXE_bandscope"));
            run.args(arguments.split(' '));
            let run = run.env("BANDSCOPE_JOURNALS", directory.path().join("journals"));
            run.output().unwrap()
        };
        let joined = common::run(
            directory.path(),
            &["record", "--cgroup", group.0.to_str().unwrap()],
        );
        for ended in [within("doctor"), joined] {
            let why = String::from_utf8(ended.stderr).unwrap();
            assert_eq!(ended.status.code(), Some(2), "{why}");
            assert!(
                why.contains("MiB of memory are left for this process"),
                "{why}"
            );
            assert_eq!(why.lines().count(), 1, "{why}");
        }
        // What puts a machine back begins whatever it finds.
        let ended = within("cure --undo");
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(0), "{said}");
        assert!(said.contains("no cure left anything changed"), "{said}");
    }
}

#[test]
fn a_control_group_is_joined_for_the_run_and_left() {
    let directory = tempfile::tempdir().unwrap();
    for unknown in ["no/such/group", "/sys/fs/cgroup/no-such-group", ".."] {
        let error = common::refuse(directory.path(), &["record", "--cgroup", unknown]);
        assert!(error.contains("found no such control group"), "{error}");
    }
    let name = format!("bandscope-test-{}", std::process::id());
    let group = match new_group(&name, "cgroup.procs") {
        Ok(group) => group,
        Err(why) => {
            println!("SKIPPED: joining a control group: {why}");
            return;
        }
    };
    let members = || std::fs::read_to_string(group.0.join("cgroup.procs")).unwrap();
    let mut run = common::start(directory.path(), &["--cgroup", &name]);
    let begun = std::time::Instant::now();
    while members().trim() != run.id().to_string() || finished_parts(directory.path()) == 0 {
        if let Some(ended) = run.try_wait().unwrap() {
            let why = common::refuse(directory.path(), &["record", "--cgroup", &name]);
            assert!(
                why.contains(&format!("{name}/cgroup.procs: ")),
                "{ended}: {why}"
            );
            println!("SKIPPED: joining a control group: {why}");
            return;
        }
        assert!(begun.elapsed().as_secs() < 60);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    common::signal(&run, "INT");
    run.wait().unwrap();
    assert_eq!(members(), "");
    let report = report(directory.path(), &["it.bandscope"]);
    let groups = report["recording"]["settings"]["control_groups"]
        .as_array()
        .unwrap();
    assert!(
        groups.contains(&group.0.to_str().unwrap().into()),
        "{groups:?}"
    );
}

#[test]
fn a_frozen_control_group_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (file, frozen, thawed) in [
        ("freezer.state", "FROZEN", "THAWED"),
        ("cgroup.freeze", "1", "0"),
    ] {
        let Some(group) = group_with(file, frozen) else {
            continue;
        };
        let inner = Group(group.0.join("inner"));
        std::fs::create_dir(&inner.0).unwrap();
        for group in [&group, &inner] {
            let mut run = common::bandscope(directory.path());
            run.args(["record", "--duration", "1s", "--cgroup"]);
            let run = run.arg(&group.0).stderr(std::process::Stdio::piped());
            let mut run = run.spawn().unwrap();
            let begun = std::time::Instant::now();
            while run.try_wait().unwrap().is_none() && begun.elapsed().as_secs() < 60 {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            let has_ended = run.try_wait().unwrap().is_some();
            if !has_ended {
                // It stands still, and would not even be killed.
                let above = group.0.ancestors().map(|above| above.join(file));
                above.filter(|file| file.exists()).for_each(|file| {
                    let _ = std::fs::write(file, thawed);
                });
                run.kill().unwrap();
            }
            let ended = run.wait_with_output().unwrap();
            let why = String::from_utf8_lossy(&ended.stderr);
            assert!(has_ended, "{file}: it hangs: {why}");
            assert_eq!(ended.status.code(), Some(2), "{why}");
            let found = "found a frozen control group, expected one that runs";
            assert!(why.contains(found) && why.contains(file), "{why}");
            assert_eq!(why.lines().count(), 1, "{why}");
        }
    }
}
