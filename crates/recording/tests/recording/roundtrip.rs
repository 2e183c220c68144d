//! What is written is read: any quanta, any gaps, in any batches.

use crate::common::{gaps_of, manifest, quanta_of, second, write_recording};
use bandscope_recording::manifest::State;
use bandscope_recording::read::ReadWarningKind;
use bandscope_recording::{Gap, GapKind, Quanta, Quantum, Source, Writer, read};
use proptest::prelude::*;

#[test]
fn alternating_segments_come_back_as_two_series() {
    let directory = tempfile::tempdir().unwrap();
    let recording = read::open(&write_recording(directory.path(), 9)).unwrap();
    assert_eq!(recording.warnings(), []);
    let rates: Vec<f64> = recording
        .series()
        .iter()
        .map(|series| series.rate_hz)
        .collect();
    assert_eq!(rates, [1000.0, 500.0], "in the order of the settings");
    assert_eq!(recording.series()[0].cpu, Some(1));
    for series in 0..2 {
        let (mut quanta, mut gaps) = (Quanta::default(), Vec::new());
        for k in (series as u64..9).step_by(2) {
            let (more_quanta, more_gaps) = second(k as u32, k);
            quanta.extend_from(&more_quanta, 0..more_quanta.len());
            gaps.extend(more_gaps);
        }
        assert_eq!(quanta_of(&recording, series), quanta);
        assert_eq!(gaps_of(&recording, series), gaps);
        assert_eq!(
            gaps_of(&recording, series),
            gaps,
            "a replay is the same each time"
        );
    }
}

#[test]
fn parts_grow_with_the_run_and_the_manifest_lists_them() {
    let directory = tempfile::tempdir().unwrap();
    let recording = read::open(&write_recording(directory.path(), 9)).unwrap();
    let parts = &recording.manifest().parts;
    let of = |path: &str| parts.iter().find(|parts| parts.path == path).unwrap();
    // 1, 2 and 4 s from the first row of each on, then what is left.
    assert_eq!(of("quanta/cpu=1/rate=1000/kernel=mulss80").rows, 5000);
    assert_eq!(of("quanta/cpu=1/rate=1000/kernel=mulss80").parts, 4);
    assert_eq!(of("gaps/cpu=1").rows, 900);
}

#[test]
fn a_cpu_that_comes_after_another_has_as_many_parts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("two");
    let mut manifest = manifest(&[1000.0]);
    let mut writer = Writer::create(&path, &manifest).unwrap();
    for cpu in 0..2 {
        for k in 0..20 {
            let (quanta, gaps) = second(0, k);
            writer.append_gaps(cpu, &gaps).unwrap();
            writer
                .append_quanta(cpu, 1000.0, "mulss80", &quanta)
                .unwrap();
        }
    }
    assert_eq!(writer.now(), 20_000_000_000);
    manifest.state = State::Complete;
    writer.finish(&manifest).unwrap();
    let recording = read::open(&path).unwrap();
    // 1, 2, 4 and 8 s, then what is left; the row that begins a second lies beyond the part before.
    let parts = recording.manifest().parts.iter();
    let parts: Vec<(&str, u32)> = parts.map(|one| (&*one.path, one.parts)).collect();
    assert_eq!(
        parts,
        [
            ("quanta/cpu=0/rate=1000/kernel=mulss80", 5),
            ("quanta/cpu=1/rate=1000/kernel=mulss80", 5),
            ("gaps/cpu=0", 5),
            ("gaps/cpu=1", 5)
        ]
    );
}

#[test]
fn an_hour_at_once_is_cut_into_parts_of_at_most_30_s() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hour");
    let mut manifest = manifest(&[100.0]);
    let mut writer = Writer::create(&path, &manifest).unwrap();
    let mut quanta = Quanta::default();
    for k in 0..360_000 {
        quanta.push(Quantum {
            start: k * 10_000_000,
            end: (k + 1) * 10_000_000,
            count: 7,
            ..Quantum::default()
        });
    }
    writer.append_quanta(0, 100.0, "imul20", &quanta).unwrap();
    manifest.state = State::Complete;
    writer.finish(&manifest).unwrap();
    let recording = read::open(&path).unwrap();
    // 1 + 2 + 4 + 8 + 16 s in five parts, then 3569 s in parts of 30 s.
    assert_eq!(recording.manifest().parts[0].parts, 5 + 119);
    assert_eq!(quanta_of(&recording, 0), quanta);
}

#[test]
fn many_series_at_once_write_early() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("many");
    let mut manifest = manifest(&[]);
    let mut writer = Writer::create(&path, &manifest).unwrap();
    // Five times 40,000 rows within a second: more than may wait in memory.
    let mut quanta = Quanta::default();
    (0..40_000).for_each(|k| {
        quanta.push(Quantum {
            start: k,
            end: k + 1,
            ..Quantum::default()
        })
    });
    for cpu in 0..5 {
        writer.append_quanta(cpu, 1e9, "crc32x20", &quanta).unwrap();
    }
    manifest.state = State::Complete;
    writer.finish(&manifest).unwrap();
    let recording = read::open(&path).unwrap();
    assert_eq!(recording.series().len(), 5);
    for series in 0..5 {
        assert_eq!(quanta_of(&recording, series), quanta);
    }
}

#[test]
fn the_writer_refuses_what_could_not_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("refused");
    let mut writer = Writer::create(&path, &manifest(&[])).unwrap();
    let (quanta, gaps) = second(0, 1);
    writer.append_quanta(1, 1000.0, "mulss80", &quanta).unwrap();
    let refused = |result: Result<(), bandscope_recording::Error>| result.unwrap_err().to_string();
    let again = refused(writer.append_quanta(1, 1000.0, "mulss80", &quanta));
    assert!(
        again.contains("row 1000 with start 1000000000, expected 2000000000 or later"),
        "{again}"
    );
    for (rate_hz, kernel) in [
        (1000.0, "../evil"),
        (0.0, "a"),
        (f64::NAN, "a"),
        (f64::INFINITY, "a"),
        (-1.0, "a"),
    ] {
        let message = refused(writer.append_quanta(1, rate_hz, kernel, &quanta));
        assert!(message.contains("expected a positive rate"), "{message}");
    }
    writer.append_gaps(1, &gaps).unwrap();
    assert!(refused(writer.append_gaps(1, &gaps)).contains("row 100 with start"));
    let exists = refused(Writer::create(&path, &manifest(&[])).map(drop));
    assert!(
        exists.contains("refused: found something of that name"),
        "{exists}"
    );
    // What was refused left nothing behind.
    writer.finish(&manifest(&[])).unwrap();
    assert_eq!(quanta_of(&read::open(&path).unwrap(), 0), quanta);
}

/// Quanta in order, with pauses between segments, and values up to the limits of the format.
fn any_quanta() -> impl Strategy<Value = Quanta> {
    let row = (
        prop_oneof![0..1000u64, 0..1u64 << 50],
        prop_oneof![0..1000u64, 0..1u64 << 50],
        0..i32::MAX as u32,
        0.0..=1.0f64,
        (0.0..=1.0f64, 0.0..=1.0f64),
        0..4u32,
        prop_oneof![9 => Just(0u32), 1 => 1..1000u32],
    );
    proptest::collection::vec(row, 0..300).prop_map(|rows| {
        let (mut quanta, mut now, mut segment) = (Quanta::default(), 0, 0);
        for (pause, length, count, gaps, (gap, measurement), cpu, next_segment) in rows {
            if next_segment > 0 {
                segment += next_segment;
                now += pause;
            }
            let gap_ticks = (length as f64 * gap) as u64;
            quanta.push(Quantum {
                start: now,
                end: now + length,
                count,
                gaps: (f64::from(count) * gaps) as u32,
                gap_ticks,
                measurement_ticks: ((length - gap_ticks) as f64 * measurement) as u64,
                cpu,
                segment,
            });
            now += length;
        }
        quanta
    })
}

fn any_gaps() -> impl Strategy<Value = Vec<Gap>> {
    prop_oneof![Just(0u32), 0..2000u32].prop_flat_map(gaps_of_segment)
}

fn gaps_of_segment(segment: u32) -> impl Strategy<Value = Vec<Gap>> {
    let gap = (
        prop_oneof![0..1000u64, 0..1u64 << 50],
        1..1u64 << 50,
        0..1u64 << 40,
        any::<bool>(),
        any::<Option<bool>>(),
        any::<[u64; 2]>(),
    );
    proptest::collection::vec(gap, 0..100).prop_map(move |rows| {
        let mut start = 0;
        let row = |(pause, duration, handling, checkpoint, preempted, [a, b]): (
            u64,
            u64,
            u64,
            _,
            _,
            [u64; 2],
        )| {
            let begin = start + pause;
            let duration = if checkpoint { 0 } else { duration };
            start = begin + duration + handling;
            Gap {
                start: begin,
                duration,
                handling,
                kind: if checkpoint {
                    GapKind::Checkpoint
                } else {
                    GapKind::Gap
                },
                preempted,
                segment,
                counters: [a, b, 0, 0, 0],
            }
        };
        rows.into_iter().map(row).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn anything_comes_back(quanta in any_quanta(), gaps in any_gaps(), batch in 1..400usize, rate_hz in 1e-3..1e9f64) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("any");
        let mut manifest = manifest(&[rate_hz]);
        let mut writer = Writer::create(&path, &manifest).unwrap();
        for from in (0..quanta.len()).step_by(batch) {
            let mut some = Quanta::default();
            some.extend_from(&quanta, from..(from + batch).min(quanta.len()));
            writer.append_quanta(7, rate_hz, "mulss80", &some).unwrap();
        }
        for some in gaps.chunks(batch) {
            writer.append_gaps(7, some).unwrap();
        }
        manifest.state = State::Complete;
        writer.finish(&manifest).unwrap();
        let recording = read::open(&path).unwrap();
        if quanta.is_empty() {
            prop_assert_eq!(recording.series().len(), 0);
            prop_assert_eq!(recording.warnings()[0].kind, ReadWarningKind::Empty);
        } else {
            prop_assert_eq!(recording.series()[0].rate_hz, rate_hz);
            prop_assert_eq!(quanta_of(&recording, 0), quanta.clone());
            // Those that no quantum of their segment can hold are of another series.
            let end = quanta.end.iter().max().copied().unwrap_or(0);
            let own = |gap: &Gap| gap.start < end && quanta.segment.contains(&gap.segment);
            let own: Vec<Gap> = gaps.into_iter().filter(own).collect();
            prop_assert_eq!(gaps_of(&recording, 0), own);
        }
    }
}
