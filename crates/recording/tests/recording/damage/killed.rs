//! Recordings of runs that were killed.

use super::QUANTA;
use crate::common::{append_seconds, gaps_of, manifest, quanta_of, second};
use bandscope_recording::manifest::State;
use bandscope_recording::read::ReadWarningKind;
use bandscope_recording::{Quanta, Source, Writer, read};
use std::fs;
use std::path::Path;

#[test]
fn a_killed_run_keeps_its_finished_parts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("killed");
    let mut writer = Writer::create(&path, &manifest(&[1000.0, 500.0])).unwrap();
    append_seconds(&mut writer, 9);
    // No `finish`: dropping a writer leaves what SIGKILL leaves.
    drop(writer);
    fs::write(path.join(QUANTA).join(".part-000003.parquet.tmp"), b"PAR1").unwrap();
    let recording = read::open(&path).unwrap();
    assert_eq!(recording.manifest().state, State::Recording);
    let [warning] = recording.warnings() else {
        panic!("{:?}", recording.warnings())
    };
    assert_eq!(warning.kind, ReadWarningKind::Unfinished);
    assert!(
        warning
            .message
            .contains("8000 quanta in 9 finished parts, and up to 5 s after them are missing"),
        "{warning}"
    );
    // The parts of 1, 2 and 4 s were whole; the ninth second was under way.
    assert_eq!(quanta_of(&recording, 0).len(), 4000);
}

/// A killed run of 20 s, whose part of 16 s was 5 s old.
fn killed_within_a_long_part(path: &Path) -> Writer {
    let mut writer = Writer::create(path, &manifest(&[1000.0])).unwrap();
    for k in 0..20 {
        let (quanta, gaps) = second(0, k);
        writer.append_quanta(1, 1000.0, "mulss80", &quanta).unwrap();
        writer.append_gaps(1, &gaps).unwrap();
    }
    writer
}

#[test]
fn a_killed_run_loses_at_most_some_seconds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("killed");
    drop(killed_within_a_long_part(&path));
    let recording = read::open(&path).unwrap();
    let read = quanta_of(&recording, 0);
    assert!(read.len() >= 15_000, "{}", read.len());
    assert_eq!(read.len() % 1000, 0);
    let (seconds, gaps) = (read.len() as u64 / 1000, gaps_of(&recording, 0));
    let mut written = Quanta::default();
    (0..seconds).for_each(|k| written.extend_from(&second(0, k).0, 0..1000));
    assert_eq!(read, written);
    assert!(gaps.len() as u64 >= (seconds - 1) * 100, "{}", gaps.len());
    // The parts of 1, 2, 4 and 8 s end after 15 s.
    assert_eq!(seconds, 19);
}

#[test]
fn what_nothing_follows_is_on_the_disk_some_seconds_later() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("caught");
    let mut writer = Writer::create(&path, &manifest(&[1000.0])).unwrap();
    let (quanta, gaps) = second(0, 0);
    writer.append_quanta(1, 1000.0, "mulss80", &quanta).unwrap();
    writer.append_gaps(1, &gaps).unwrap();
    // A flight recorder goes on for hours, and catches nothing more.
    let later = second(0, 5).0.end.last().copied().unwrap();
    writer.keep_up(later).unwrap();
    drop(writer);
    let recording = read::open(&path).unwrap();
    assert_eq!(quanta_of(&recording, 0), quanta);
    assert_eq!(gaps_of(&recording, 0).len(), gaps.len());
}

#[test]
fn the_whole_part_replaces_the_copies_under_a_reader() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("goes-on");
    let mut writer = killed_within_a_long_part(&path);
    let while_it_goes_on = read::open(&path).unwrap();
    let before = quanta_of(&while_it_goes_on, 0);
    for k in 20..40 {
        let (quanta, gaps) = second(0, k);
        writer.append_quanta(1, 1000.0, "mulss80", &quanta).unwrap();
        writer.append_gaps(1, &gaps).unwrap();
    }
    assert_eq!(quanta_of(&while_it_goes_on, 0), before);
    let mut end = manifest(&[1000.0]);
    end.state = State::Complete;
    writer.finish(&end).unwrap();
    assert_eq!(quanta_of(&while_it_goes_on, 0), before);
    let whole = read::open(&path).unwrap();
    assert!(whole.warnings().is_empty(), "{:?}", whole.warnings());
    assert_eq!(quanta_of(&whole, 0).len(), 40_000);
    assert_eq!(gaps_of(&whole, 0).len(), 4000);
    // 1, 2, 4, 8 and 16 s, and the rest: copies leave nothing behind.
    assert_eq!(fs::read_dir(path.join(QUANTA)).unwrap().count(), 6);
}

/// A killed run of two series of which only the first has a finished part, and whose gaps go on after it.
fn killed_with_gaps_ahead(path: &Path) {
    let mut writer = Writer::create(path, &manifest(&[1000.0, 500.0])).unwrap();
    append_seconds(&mut writer, 1);
    let (quanta, _) = second(1, 1);
    let mut begun = Quanta::default();
    begun.extend_from(&quanta, 0..500);
    writer.append_quanta(1, 500.0, "mulss80", &begun).unwrap();
    // The second part of the gaps holds 2 s and is finished by what is later.
    for k in 1..4 {
        writer.append_gaps(1, &second(k, u64::from(k)).1).unwrap();
    }
    drop(writer);
}

#[test]
fn a_killed_run_gives_no_series_the_gaps_of_another() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("killed");
    killed_with_gaps_ahead(&path);
    let recording = read::open(&path).unwrap();
    assert_eq!(recording.series().len(), 1, "only one has a finished part");
    assert_eq!(quanta_of(&recording, 0).len(), 1000);
    assert_eq!(gaps_of(&recording, 0), second(0, 0).1);
    let kinds: Vec<ReadWarningKind> = recording.warnings().iter().map(|w| w.kind).collect();
    assert_eq!(
        kinds,
        [
            ReadWarningKind::Unfinished,
            ReadWarningKind::GapsWithoutQuanta
        ]
    );
    let warning = recording.warnings()[1].to_string();
    assert!(warning.contains("gaps/cpu=1: 200 gaps lie"), "{warning}");
}

#[test]
fn gaps_beyond_the_last_finished_part_of_quanta_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("killed");
    let mut writer = Writer::create(&path, &manifest(&[1000.0])).unwrap();
    // One long segment: the part of quanta that began with 1 s is never finished, that of the gaps is.
    for k in 0..2 {
        writer
            .append_quanta(1, 1000.0, "mulss80", &second(0, k).0)
            .unwrap();
    }
    for k in 0..5 {
        writer.append_gaps(1, &second(0, k).1).unwrap();
    }
    drop(writer);
    let recording = read::open(&path).unwrap();
    assert_eq!(quanta_of(&recording, 0).len(), 1000);
    assert_eq!(gaps_of(&recording, 0), second(0, 0).1);
    let warning = recording.warnings()[1].to_string();
    assert!(
        warning.contains("gaps lie where no finished part"),
        "{warning}"
    );
}

#[test]
fn a_run_killed_at_once_opens_empty() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("killed");
    drop(Writer::create(&path, &manifest(&[])).unwrap());
    let recording = read::open(&path).unwrap();
    assert!(recording.series().is_empty());
    assert!(
        recording.warnings()[0]
            .message
            .contains("0 quanta in 0 finished parts")
    );
}
