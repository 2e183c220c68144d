//! Journals that were damaged, that another user put there, or that cannot be written.

use super::*;
use crate::cure::Journal;
use std::time::Duration;

/// What comes of putting back the first that is left.
pub fn undone(directory: &Path) -> Undone {
    let locks = Locks::take(directory, Duration::ZERO).unwrap();
    left(directory).unwrap().remove(0).undo(&locks)
}

#[test]
fn a_line_that_was_changed_is_told_whatever_it_says_now() {
    let place = tempfile::tempdir().unwrap();
    let (journal, setting) = ["7-1.journal", "setting"]
        .map(|name| place.path().join(name))
        .into();
    let head = Head {
        schema: SCHEMA.to_owned(),
        process: 7,
        started: 1,
        boot: boot_id().unwrap_or_default(),
        namespace: 0,
        machine: String::new(),
    };
    let undo = Undo::Setting {
        path: setting.clone(),
        before: "1".into(),
        during: "10".into(),
        through: None,
    };
    let text = [line(&head).unwrap(), line(&undo).unwrap()].concat();
    let text = String::from_utf8(text).unwrap();
    let (without, _) = text.trim_end().rsplit_once('#').unwrap();
    for (written, said) in [
        (
            text.replace(r#""before":"1""#, r#""before":"2""#),
            "fits its checksum",
        ),
        (format!("{without}\n"), "how it is put back"),
        (
            text.replace(r#""process":7"#, r#""process":8"#),
            "fits its checksum",
        ),
    ] {
        fs::write(&journal, &written).unwrap();
        fs::write(&setting, "10").unwrap();
        let said_of = undone(place.path()).problems.join(" ");
        assert!(said_of.contains(said), "{written}: {said_of}");
        assert_ne!(fs::read_to_string(&setting).unwrap(), "2");
        fs::remove_file(journal.with_extension(DAMAGED)).unwrap();
    }
    fs::write(&journal, &text).unwrap();
    assert!(undone(place.path()).problems.is_empty());
    assert_eq!(fs::read_to_string(&setting).unwrap(), "1");
}

#[test]
fn what_is_no_journal_of_this_user_is_told_and_left_alone() {
    use std::os::unix::fs::{chown, symlink};
    let place = tempfile::tempdir().unwrap();
    let journal = &place.path().join("7-1.journal");
    let told = |journal: &Path, expected: Foreign| {
        let found = left(place.path()).unwrap().remove(0);
        assert!(found.changes() == 0 && found.foreign == Some(expected));
        let refusal = Journal::begin(place.path()).unwrap_err();
        assert!(matches!(refusal, JournalError::Foreign { .. }));
        let undone = undone(place.path());
        assert!(undone.problems[0].contains("expected a file of this user"));
        assert!(fs::symlink_metadata(journal).is_ok(), "it stays");
        fs::remove_file(journal).unwrap();
    };
    symlink("/etc/passwd", journal).unwrap();
    told(journal, Foreign::NotAFile);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        journal,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    told(journal, Foreign::NotAFile);
    for journal in [journal, &journal.with_extension(&KEPT[1..])] {
        fs::write(journal, "whatever").unwrap();
        match chown(journal, Some(65_534), None) {
            Ok(()) => told(journal, Foreign::Owner(65_534)),
            Err(_) => return println!("SKIPPED: a journal of another user takes root"),
        }
    }
}

#[test]
fn what_another_user_hides_is_told_too() {
    use rustix::fs::{Mode, Uid, chmod, chown};
    let place = tempfile::tempdir().unwrap();
    let nobody = Uid::from_raw(65_534);
    let files = ["7-1.journal", "lock"].map(|name| place.path().join(name));
    for file in &files {
        fs::write(file, "whatever").unwrap();
        chmod(file, Mode::RUSR).unwrap();
    }
    let is_root = rustix::process::geteuid().is_root();
    if !is_root || chown(place.path(), Some(nobody), None).is_err() {
        return println!("SKIPPED: files of another user take root");
    }
    // Of this thread alone.
    let (found, refusal) = std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            let found = left(place.path()).unwrap();
            (found, Journal::begin(place.path()).unwrap_err())
        });
        looking.join().unwrap()
    });
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].foreign, Some(Foreign::Owner(0)));
    assert!(
        refusal.to_string().contains("a file of user 0"),
        "{refusal}"
    );
}

#[test]
fn a_copy_of_a_damaged_journal_is_named_if_there_is_one() {
    for (blocked, is_copied) in [("copy", false), ("anew", true)] {
        let place = tempfile::tempdir().unwrap();
        let journal = place.path().join("7-1.journal");
        fs::write(&journal, "whatever\n").unwrap();
        fs::create_dir(journal.with_extension(blocked)).unwrap();
        let undone = undone(place.path());
        let stays = matches!(undone.stays, Some(JournalError::Stays { .. }));
        assert!(stays && journal.exists());
        assert_eq!(journal.with_extension(DAMAGED).exists(), is_copied);
        let said = undone.problems.join(" ");
        assert_eq!(said.contains(".damaged"), is_copied, "{said}");
        assert!(said.contains("put back by hand"), "{said}");
    }
}

#[test]
fn a_lock_that_is_no_file_is_waited_for_by_nobody() {
    let place = tempfile::tempdir().unwrap();
    let lock = place.path().join("lock");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &lock,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let refusal = Journal::begin(place.path()).unwrap_err();
    assert!(
        refusal.to_string().contains("not a regular file"),
        "{refusal}"
    );
}
