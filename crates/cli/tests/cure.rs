//! `bandscope cure` on this machine: what it refuses, what it puts back, and who may not be disturbed.

mod common;
use common::{bandscope, lines, refuse, succeed, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Where journals are, in the place of those of this machine.
const JOURNALS: &str = "BANDSCOPE_JOURNALS";
const SETTING: &str = "/proc/sys/vm/stat_interval";

/// `cure` in a directory, with journals of its own.
fn cure(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = bandscope(directory);
    command.arg("cure").args(arguments);
    command.env(JOURNALS, directory.join("journals"));
    command
}

/// Whether the control can be tried: whether its setting may be written.
fn may_write() -> bool {
    let may = fs::OpenOptions::new().write(true).open(SETTING).is_ok();
    if !may {
        println!("SKIPPED: trials of a cure: {SETTING} cannot be written here");
    }
    may
}

/// A sham that goes on for minutes, with recordings in `tmp`; after its first change.
fn long_sham(directory: &Path) -> Child {
    fs::create_dir(directory.join("tmp")).unwrap();
    let mut command = cure(
        directory,
        &["sham", "--yes", "--trial", "200ms", "-o", "t.json"],
    );
    let mut child = command
        .env("TMPDIR", directory.join("tmp"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let has_changed = || {
        let journals = fs::read_dir(directory.join("journals"));
        let paths = journals.into_iter().flatten().flatten().map(|it| it.path());
        let mut journals = paths.filter(|path| path.extension().is_some_and(|it| it == "journal"));
        journals.any(|journal| lines(&journal) > 1)
    };
    wait_until(&mut child, has_changed);
    child
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_dry_run_says_what_it_would_write_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let before = fs::read_to_string(SETTING).ok();
    let arguments = ["--dry-run", "--trial", "100ms", "--width", "80"];
    let output = cure(directory.path(), &arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("tasks") && text.contains("interrupts"),
        "{text}"
    );
    assert_eq!(fs::read_to_string(SETTING).ok(), before);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn nothing_is_changed_without_a_yes() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["nonsense"][..], "expected one of tasks, interrupts"),
        (&["--undo", "--yes"], "cannot be used with"),
    ] {
        let error = refuse(directory.path(), &[&["cure"], arguments].concat());
        assert!(error.contains(expected), "{error}");
    }
    if !may_write() {
        return;
    }
    let mut command = cure(directory.path(), &["sham", "--trial", "100ms"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("expected --yes"), "{error}");
}

#[test]
fn a_control_is_tried_and_its_trials_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    if !may_write() {
        return;
    }
    let arguments = [
        "sham", "--yes", "--trial", "50ms", "--budget", "20s", "-f", "json", "-o", "t.json",
    ];
    let output = cure(directory.path(), &arguments).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let judged: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(judged["schema"], "bandscope.cure/1");
    assert_eq!(judged["cures"][0]["name"], "sham");
    // On a machine that is busy there is no time for the pairs that count.
    let is_tried = judged["cures"][0]["verdict"] != "not-tried";
    let status = if is_tried { 0 } else { 2 };
    assert_eq!(output.status.code(), Some(status), "{error}");
    assert_eq!(
        error.contains("no cure was judged; a pair of trials takes"),
        !is_tried,
        "{error}"
    );
    assert!(
        !is_tried || judged["cures"][0]["pairs"].as_u64().unwrap() >= 6,
        "{judged}"
    );
    // The file holds all of it.
    let again = succeed(directory.path(), &["report", "t.json", "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), judged);
    let page = succeed(directory.path(), &["report", "t.json", "--format", "html"]);
    assert!(page.starts_with("<!doctype html>"));
    let error = refuse(
        directory.path(),
        &["report", "t.json", "--fail-if", "lost > 1 %"],
    );
    assert!(error.contains("trials of a cure"), "{error}");
    assert_eq!(
        fs::read_dir(directory.path().join("journals"))
            .unwrap()
            .count(),
        1,
        "the lock"
    );
}

#[test]
fn a_signal_ends_the_trials_with_everything_put_back() {
    for (number, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let directory = tempfile::tempdir().unwrap();
        if !may_write() {
            return;
        }
        let before = fs::read_to_string(SETTING).unwrap();
        let child = long_sham(directory.path());
        // Meanwhile nobody else may change the machine.
        let mut second = cure(
            directory.path(),
            &["sham", "--yes", "--trial", "50ms", "-o", "u.json"],
        );
        let refused = second.output().unwrap();
        let error = String::from_utf8(refused.stderr).unwrap();
        assert!(
            refused.status.code() == Some(2) && error.contains("another `bandscope cure`"),
            "{error}"
        );
        assert!(!directory.path().join("u.json").exists(), "it was measured");
        signal(&child, number);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status));
        assert_eq!(fs::read_to_string(SETTING).unwrap(), before);
        let cures = fs::read_to_string(directory.path().join("t.json")).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&cures).unwrap()["interrupted"],
            true
        );
        assert_eq!(
            fs::read_dir(directory.path().join("tmp")).unwrap().count(),
            0
        );
    }
}

/// A cure that is told to end while it looks at the machine; whoever goes on then meets something in the place of its recording, and fails.
/// `None` if it measured already.
fn told_while_it_looks(directory: &Path, number: Signal) -> Option<Output> {
    let tmp = directory.join("tmp");
    fs::create_dir(&tmp).unwrap();
    let mut command = cure(directory, &["--yes", "-o", "t.json"]);
    command.env("TMPDIR", &tmp).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let scratch = || Some(fs::read_dir(&tmp).ok()?.flatten().next()?.path());
    wait_until(&mut child, || scratch().is_some());
    signal(&child, number);
    let recording = scratch().map(|scratch| scratch.join("before.bandscope"));
    let is_late = recording.as_ref().is_some_and(|it| it.exists());
    let is_placed = recording.is_some_and(|it| fs::write(it, "in the way").is_ok());
    // Where it has ended there is no place.
    let is_decided = !is_late && (is_placed || scratch().is_none());
    let output = child.wait_with_output().unwrap();
    is_decided.then_some(output)
}

#[test]
fn a_signal_ends_a_cure_before_it_measures() {
    for (number, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let told = (0..10).find_map(|_| {
            let directory = tempfile::tempdir().unwrap();
            let output = told_while_it_looks(directory.path(), number)?;
            Some((directory, output))
        });
        let (directory, output) = told.expect("it looks at the machine for a second");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{said}");
        let tmp = directory.path().join("tmp");
        assert_eq!(fs::read_dir(tmp).unwrap().count(), 0);
        assert!(!directory.path().join("t.json").exists());
    }
}

#[test]
fn what_a_killed_cure_left_is_told_and_put_back() {
    let directory = tempfile::tempdir().unwrap();
    if !may_write() {
        return;
    }
    let before = fs::read_to_string(SETTING).unwrap();
    let mut child = long_sham(directory.path());
    child.kill().unwrap();
    child.wait().unwrap();
    let told = |command: &mut Command| {
        let output = command
            .env(JOURNALS, directory.path().join("journals"))
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    // It may have been killed right after it put back: then there is nothing to tell.
    let (_, error) = told(bandscope(directory.path()).arg("kernels"));
    let left = error.contains("bandscope cure --undo");
    let (code, error) = told(&mut cure(directory.path(), &["--undo"]));
    assert_eq!(code, Some(0), "{error}");
    assert_eq!(left, error.contains("put back"), "{error}");
    assert_eq!(fs::read_to_string(SETTING).unwrap(), before);
    let (code, error) = told(&mut cure(directory.path(), &["--undo"]));
    assert_eq!(code, Some(0));
    assert!(error.contains("no cure left anything changed"), "{error}");
}

/// What `report` finds in the file of a session that did not end by itself, after a pair at least.
fn assert_is_partial(directory: &Path, file: &str) {
    let json = succeed(directory, &["report", file, "--format", "json"]);
    let judged: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(judged["interrupted"], true, "{judged}");
    // Two trials of a pair.
    assert!(judged["duration_s"].as_f64().unwrap() > 0.4, "{judged}");
    let text = succeed(directory, &["report", file]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("The session was ended early"), "{text}");
}

#[test]
fn a_killed_cure_keeps_the_pairs_that_ended_and_blocks_neither_name_nor_disk() {
    let directory = tempfile::tempdir().unwrap();
    if !may_write() {
        return;
    }
    let path = directory.path().join("t.json");
    // As one that was killed at once left it.
    fs::write(&path, "").unwrap();
    let mut child = long_sham(directory.path());
    wait_until(&mut child, || lines(&path) > 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_is_partial(directory.path(), "t.json");
    let left = || fs::read_dir(directory.path().join("tmp")).unwrap().count();
    assert_eq!(left(), 1);
    let mut undo = cure(directory.path(), &["--undo"]);
    assert!(undo.output().unwrap().status.success());
    let mut next = cure(directory.path(), &["--dry-run", "--trial", "50ms"]);
    next.env("TMPDIR", directory.path().join("tmp"));
    assert!(next.output().unwrap().status.success());
    assert_eq!(left(), 0);
}

/// Fills a small disk after the first pair, in a mount namespace that goes with it.
const ON_A_DISK_THAT_FILLS_UP: &str = "
    mkdir small && mount -t tmpfs -o size=1m none small || exit 77
    \"$@\" &
    until [ \"$(cat small/t.json 2>/dev/null | wc -l)\" -gt 1 ]; do kill -0 $! || exit 78; sleep 0.1; done
    cat /dev/zero > small/filler
    kill -TERM $!
    wait $!
    code=$?
    cp small/t.json kept.json
    [ \"$(ls -A small | wc -l)\" = 2 ] || exit 79
    exit $code";

#[test]
fn on_a_full_disk_a_cure_is_reported_and_the_pairs_that_fit_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let sham = [
        "sham",
        "--yes",
        "--trial",
        "200ms",
        "-f",
        "json",
        "-o",
        "small/t.json",
    ];
    let cure = cure(directory.path(), &sham);
    if !may_write() {
        return;
    }
    let mut disk = Command::new("unshare");
    disk.args(["--mount", "sh", "-c", ON_A_DISK_THAT_FILLS_UP, "sh"]);
    disk.arg(cure.get_program()).args(cure.get_args());
    disk.current_dir(directory.path());
    disk.env(JOURNALS, directory.path().join("journals"));
    let output = match disk.output() {
        Ok(output) if ![Some(1), Some(77)].contains(&output.status.code()) => output,
        refused => {
            println!("SKIPPED: a full disk: no small one can be mounted: {refused:?}");
            return;
        }
    };
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("small/t.json: cannot write"), "{error}");
    let judged: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(judged["interrupted"], true, "{judged}");
    assert_is_partial(directory.path(), "kept.json");
}

/// A directory of journals with one in it, its first line, and the lines that undo a change of each of two settings.
struct Journals {
    directory: tempfile::TempDir,
    journal: PathBuf,
    head: String,
    settings: [PathBuf; 2],
    lines: [String; 2],
}

impl Journals {
    /// `None` where the kernel does not tell its boot.
    fn new() -> Option<Journals> {
        let directory = tempfile::tempdir().unwrap();
        let journals = directory.path().join("journals");
        fs::DirBuilder::new().mode(0o700).create(&journals).unwrap();
        let Ok(boot) = fs::read_to_string("/proc/sys/kernel/random/boot_id") else {
            println!("SKIPPED: a damaged journal: the kernel does not tell its boot");
            return None;
        };
        let boot = boot.trim();
        let settings = ["a", "b"].map(|name| directory.path().join(name));
        Some(Journals {
            journal: journals.join("7-1.journal"),
            head: format!(
                r#"{{"schema":"bandscope.journal/1","process":7,"started":1,"boot":"{boot}"}}"#
            ),
            lines: settings.each_ref().map(|path| {
                format!(
                    r#"{{"setting":{{"path":"{}","before":"1","during":"10","through":null}}}}"#,
                    path.display()
                )
            }),
            settings,
            directory,
        })
    }

    /// Exit status and standard error.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        self.ended(bandscope(self.directory.path()).args(arguments))
    }

    /// The same where the directory of journals cannot be written.
    fn run_read_only(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script]);
        command.arg(self.journal.parent().unwrap());
        command.arg(env!("CARGO_BIN_EXE_bandscope")).args(arguments);
        self.ended(&mut command)
    }

    fn ended(&self, command: &mut Command) -> (Option<i32>, String) {
        command.env(JOURNALS, self.journal.parent().unwrap());
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }
}

#[test]
fn a_line_that_was_cut_off_and_a_setting_that_is_gone_are_told() {
    let Some(it) = Journals::new() else { return };
    let [first, second] = &it.lines;
    fs::write(&it.settings[0], "10").unwrap();
    fs::write(
        &it.journal,
        format!("{}\n{first}\n{}", it.head, &second[..20]),
    )
    .unwrap();
    let (code, error) = it.run(&["cure", "--undo"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(error.contains("7-1.journal:3: found "), "{error}");
    assert!(error.contains("1 change is put back"), "{error}");
    assert_eq!(fs::read_to_string(&it.settings[0]).unwrap(), "1");
    fs::write(&it.settings[0], "10").unwrap();
    fs::write(&it.journal, format!("{}\n{first}\n{second}\n", it.head)).unwrap();
    let (code, error) = it.run(&["cure", "--undo"]);
    assert_eq!(code, Some(2), "{error}");
    let gone = format!("{}: is gone", it.settings[1].display());
    assert!(error.contains(&gone), "{error}");
    assert!(error.contains("1 of 2 changes could not"), "{error}");
    let (code, error) = it.run(&["cure", "--undo"]);
    assert!(
        code == Some(0) && error.contains("no cure left anything"),
        "{error}"
    );
}

#[test]
fn a_journal_that_cannot_be_written_keeps_no_change_in_force() {
    let Some(it) = Journals::new() else { return };
    fs::write(&it.journal, format!("{}\n{}\n", it.head, it.lines[0])).unwrap();
    if it.run_read_only(&["--version"]).0 != Some(0) {
        println!("SKIPPED: a directory that cannot be written takes root, unshare and mount");
        return;
    }
    for _ in 0..2 {
        fs::write(&it.settings[0], "10").unwrap();
        let (code, error) = it.run_read_only(&["cure", "--undo"]);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains("the journal stays as it was"), "{error}");
        assert_eq!(fs::read_to_string(&it.settings[0]).unwrap(), "1");
    }
    assert_eq!(it.run(&["cure", "--undo"]).0, Some(0));
    assert!(!it.journal.exists());
}

#[test]
fn a_line_of_a_journal_that_does_not_read_is_told_and_kept() {
    let Some(it) = Journals::new() else { return };
    let Journals {
        journal,
        head,
        settings,
        lines: [first, second],
        ..
    } = &it;
    let run = |arguments: &[&str]| it.run(arguments);
    for (lines, damaged) in [
        (&[&**head, first, "{\"setting\":\u{1b}", second][..], 3),
        (&[&**head, first, "\0\0\0", second], 3),
    ] {
        let text = lines.join("\n") + "\n";
        fs::write(journal, &text).unwrap();
        for setting in settings {
            fs::write(setting, "10").unwrap();
        }
        let (_, error) = run(&["kernels"]);
        assert!(
            error.contains("settings of this machine changed"),
            "{error}"
        );
        let (code, error) = run(&["cure", "--undo"]);
        assert_eq!(code, Some(2), "{error}");
        let told = format!("7-1.journal:{damaged}: found {:?}", lines[damaged - 1]);
        assert!(
            error.contains(&told) && error.contains(", expected "),
            "{error}"
        );
        assert!(error.contains("changes could not be put back"), "{error}");
        for setting in settings {
            assert_eq!(fs::read_to_string(setting).unwrap(), "1");
        }
        // Nobody changes the machine before a person has looked, and what they need is there.
        let (code, error) = run(&["cure", "--undo"]);
        assert!(code == Some(2) && error.contains("7-1.journal:"), "{error}");
        let as_it_was = journal.with_extension("damaged");
        assert_eq!(fs::read_to_string(&as_it_was).unwrap(), text);
        // What cannot succeed is not advised.
        for command in [
            &["kernels"][..],
            &["cure", "sham", "--yes", "--budget", "1min"],
        ] {
            let (_, error) = run(command);
            assert!(!error.contains("--undo"), "{error}");
            for file in [journal, &as_it_was] {
                assert!(error.contains(&*file.display().to_string()), "{error}");
            }
        }
        assert!(
            fs::read_to_string(journal)
                .unwrap()
                .contains(lines[damaged - 1])
        );
        for file in [journal, &as_it_was] {
            fs::remove_file(file).unwrap();
        }
    }
    let (code, error) = run(&["cure", "--undo"]);
    assert!(
        code == Some(0) && error.contains("no cure left anything"),
        "{error}"
    );
}

#[test]
fn a_journal_that_nothing_is_left_of_is_damage() {
    let Some(it) = Journals::new() else { return };
    fs::write(&it.journal, [0; 512]).unwrap();
    let (code, error) = it.run(&["cure", "--undo"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("7-1.journal:1: found "), "{error}");
    // A directory of another user is no empty one.
    let journals = it.journal.parent().unwrap();
    fs::set_permissions(journals, fs::Permissions::from_mode(0o777)).unwrap();
    let (code, error) = it.run(&["cure", "--undo"]);
    assert!(
        code == Some(2) && error.contains("of another user"),
        "{error}"
    );
}

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
