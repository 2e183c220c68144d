//! Journals of changes that are damaged, cannot be written, or belong to another user.

use super::JOURNALS;
use crate::common::bandscope;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;

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
