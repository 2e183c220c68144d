//! A disk that fills up, a directory that may not be written: what was finished stays, and the error names
//! the file. The full disk is real, a small tmpfs; mounting it takes privileges, so the test may be skipped.

use crate::common::{manifest, quanta_of};
use bandscope_recording::manifest::{EventsState, State};
use bandscope_recording::read::ReadWarningKind;
use bandscope_recording::{Error, KernelEvent, Quanta, Quantum, Source, Writer, read};
use bandscope_statistics::random::Random;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A tmpfs of `bytes` at `path`, unmounted when dropped; `None` if it cannot be mounted here.
struct SmallDisk<'a>(&'a Path);

impl SmallDisk<'_> {
    fn mount(path: &Path, bytes: u32) -> Option<SmallDisk<'_>> {
        let size = format!("size={bytes}");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(path)
            .output();
        mount
            .is_ok_and(|output| output.status.success())
            .then_some(SmallDisk(path))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

/// A second of quanta that do not compress: 12 bytes each or more.
fn noisy_second(second: u64) -> Quanta {
    let (mut quanta, mut random) = (Quanta::default(), Random::new(second + 1));
    let mut now = second * 1_000_000_000;
    for _ in 0..10_000 {
        let length = 50_000 + random.below(1 << 16);
        quanta.push(Quantum {
            start: now,
            end: now + length,
            count: (random.bits() >> 33) as u32,
            ..Quantum::default()
        });
        now += length;
    }
    quanta
}

#[test]
fn a_full_disk_keeps_every_finished_part() {
    // The parts of 1, 2 and 4 s; and those of 8 s, with a copy of that of 16 s.
    a_full_disk(1 << 20, 30_000);
    a_full_disk(3 << 20, 190_000);
}

fn a_full_disk(bytes: u32, kept_at_least: usize) {
    let directory = tempfile::tempdir().unwrap();
    let Some(_disk) = SmallDisk::mount(directory.path(), bytes) else {
        println!("skipped: mounting a tmpfs is not allowed here");
        return;
    };
    let path = directory.path().join("full");
    let mut manifest = manifest(&[10_000.0]);
    let mut writer = Writer::create(&path, &manifest).unwrap();
    let mut written = Quanta::default();
    let mut failed = None;
    for second in 0..60 {
        let quanta = noisy_second(second);
        written.extend_from(&quanta, 0..quanta.len());
        if let Err(error) = writer.append_quanta(0, 10_000.0, "mulss80", &quanta) {
            failed = Some(error);
            break;
        }
    }
    let error = failed.expect("a disk of some MiB is full within a minute");
    assert!(
        matches!(&error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("full/quanta/cpu=0/rate=10000/kernel=mulss80/"),
        "{error}"
    );
    manifest.state = State::Complete;
    writer.finish(&manifest).unwrap();

    let recording = read::open(&path).unwrap();
    assert_eq!(
        recording.manifest().state,
        State::Failed,
        "rows were lost, whatever the caller says"
    );
    assert_eq!(recording.warnings()[0].kind, ReadWarningKind::Failed);
    let read = quanta_of(&recording, 0);
    assert!(read.len() >= kept_at_least, "{}", read.len());
    assert_eq!(
        recording.manifest().lost.quanta as usize + read.len(),
        written.len(),
        "nothing is lost silently"
    );
    let mut kept = Quanta::default();
    kept.extend_from(&written, 0..read.len());
    assert_eq!(read, kept);
}

#[test]
fn a_directory_that_may_not_be_written_is_named() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(directory.path().join("probe"), b"").is_ok() {
        println!("skipped: this user may write anywhere");
        return;
    }
    let path = directory.path().join("refused");
    let error = Writer::create(&path, &manifest(&[]))
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("refused: cannot create the recording: Permission denied"),
        "{error}"
    );
}

#[test]
fn events_that_found_no_room_leave_a_span_in_which_silence_says_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_disk) = SmallDisk::mount(directory.path(), 1 << 20) else {
        println!("SKIPPED: full disk: mounting a tmpfs is not allowed here");
        return;
    };
    let path = directory.path().join("full");
    let mut manifest = manifest(&[1000.0]);
    manifest.events.state = EventsState::On;
    let mut writer = Writer::create(&path, &manifest).unwrap();
    let (mut accepted, mut failed) = (0, None);
    for second in 0..60 {
        // Durations of quanta that do not compress.
        let noise = noisy_second(second);
        let event = |k: u64| KernelEvent {
            start: second * 1_000_000_000 + k * 100_000,
            duration: u64::from(noise.count[k as usize]),
            name: "timer".into(),
            ..KernelEvent::default()
        };
        let events: Vec<KernelEvent> = (0..10_000).map(event).collect();
        accepted += 10_000;
        if let Err(error) = writer.append_events(0, &events) {
            failed = Some((second, error));
            break;
        }
    }
    let (second, error) = failed.expect("a disk of 1 MiB is full after a few seconds");
    assert!(error.to_string().contains("events/cpu=0"), "{error}");
    let _ = writer.finish(&manifest);
    // Room for the report of it, and for nothing else.
    let recording = read::open(&path).unwrap();
    let told = recording.manifest();
    assert_eq!(told.state, State::Failed);
    let kept: u64 = told.parts.iter().map(|parts| parts.rows).sum();
    assert_eq!(told.lost.events + kept, accepted);
    let known = &told.events;
    let (full, end) = (second * 1_000_000_000, (second + 1) * 1_000_000_000);
    assert!(!known.silence_is_known(0, full + 500_000_000, end));
    assert!(kept == 0 || known.silence_is_known(0, 0, 1));
}
