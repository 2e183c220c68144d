//! Runs in control groups: too little memory, one joined for the run, and a frozen one.

use crate::common::{self, finished_parts, report};
use std::process::Command;

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
