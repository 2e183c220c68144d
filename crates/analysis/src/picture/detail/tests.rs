use super::*;
use bandscope_recording::source::{InMemory, Series};
use bandscope_recording::{Manifest, Quanta, Quantum, Window};

/// Quanta of 1000 ticks at 1 MHz, a gap in each hundredth, two segments with a pause between.
fn source(number: u64) -> InMemory {
    let mut quanta = Quanta::default();
    let mut gaps = Vec::new();
    for k in 0..number {
        let segment = u32::from(k >= number / 2);
        let start = 5_000 + k * 1000 + u64::from(segment) * 777_000;
        let gap = k % 100 == 50;
        quanta.push(Quantum {
            start,
            end: start + 1000,
            count: 10 - u32::from(gap),
            gaps: u32::from(gap),
            gap_ticks: if gap { 190 + k % 7 } else { 0 },
            segment,
            ..Quantum::default()
        });
        if gap {
            gaps.push(Gap {
                start: start + 300,
                duration: 190 + k % 7,
                segment,
                preempted: Some(k % 200 == 50),
                ..Gap::default()
            });
        }
    }
    let mut manifest = Manifest::default();
    manifest.clock.ticks_per_ns = 1.0;
    InMemory {
        manifest,
        series: vec![Series {
            cpu: Some(0),
            rate_hz: 1e6,
            kernel: "imul20".into(),
            gaps_known: true,
            ends_known: true,
            origin: String::new(),
        }],
        quanta: vec![quanta],
        gaps: vec![gaps],
        ..InMemory::default()
    }
}

fn details(number: u64, most: usize) -> Detail {
    let source = source(number);
    let analysis = crate::analyse(&source, &[]).unwrap();
    collect(&source, &analysis, most).unwrap().remove(0)
}

#[test]
fn a_short_run_is_kept_whole() {
    let detail = details(2000, 2000);
    assert!(detail.complete && detail.all_marks);
    let starts: Vec<_> = detail
        .stretches
        .iter()
        .map(|s| (s.start, s.quanta))
        .collect();
    assert_eq!(starts, [(0, 1000), (1_777_000, 1000)]);
    assert_eq!(detail.length, vec![1000; 2000]);
    assert_eq!(detail.gaps.iter().sum::<u32>(), 20);
    let named = |cause: Cause| {
        let key = detail.causes.iter().position(|known| *known == cause);
        detail
            .marks
            .iter()
            .filter(|mark| Some(mark.cause as usize) == key)
            .count()
    };
    assert_eq!((named(Cause::Preempted), named(Cause::Unnamed)), (10, 10));
    assert_eq!(
        detail.marks[0],
        Mark {
            start: 50_300,
            duration: 191,
            cause: detail.marks[0].cause
        }
    );
}

#[test]
fn of_a_long_run_the_places_that_matter_are_kept() {
    let detail = details(400_000, 20_000);
    assert!(!detail.complete && detail.all_marks);
    let kept = detail.length.len();
    assert!((10_000..=20_000).contains(&kept), "{kept}");
    assert_eq!(
        detail.stretches.iter().map(|s| s.quanta).sum::<usize>(),
        kept
    );
    assert_eq!(detail.stretches[0].start, 0);
    assert_eq!(detail.marks.len(), 4000);
    let end = |stretch: &Stretch| stretch.start + 1000 * stretch.quanta as u64;
    let apart = detail
        .stretches
        .windows(2)
        .all(|pair| end(&pair[0]) <= pair[1].start);
    assert!(apart, "{:?}", detail.stretches);
}

#[test]
fn of_a_long_window_the_same_places_are_kept() {
    let (source, whole_s) = (source(400_000), 400_777e-6);
    let window = Window::new(&source, 0.75 * whole_s, f64::INFINITY).unwrap();
    let analysis = crate::analyse_window(&window, &[]).unwrap();
    let detail = collect(&window, &analysis, 10_000).unwrap().remove(0);
    let kept = detail.length.len();
    assert!((5_000..=10_000).contains(&kept), "{kept}");
    let last = detail.stretches.last().unwrap().start as f64 * 1e-9;
    assert!(detail.stretches[0].start == 0 && last > 0.98 * 0.25 * whole_s);
}

#[test]
fn a_quantum_has_a_pace_as_in_the_analysis() {
    let mut detail = Detail {
        ticks_per_ns: 2.0,
        quantum_ticks: 1000.0,
        length: vec![1000, 1000, 1000, 4001, 4001, 64_001],
        count: vec![10, 11, 11, 10, 1, 1],
        gaps: vec![0, 1, 1, 0, 0, 0],
        gap_ticks: vec![0, 750, 751, 0, 0, 0],
        measurement_ticks: vec![0; 6],
        ..Detail::default()
    };
    let paces = |detail: &Detail| -> Vec<_> { (0..6).map(|k| detail.pace(k)).collect() };
    let mut wanted = [Some(50.0), Some(12.5), None, None, Some(2000.5), None];
    assert_eq!(paces(&detail), wanted);
    detail.gaps_known = true;
    (wanted[3], wanted[5]) = (Some(200.05), Some(32_000.5));
    assert_eq!(paces(&detail), wanted);
}

#[test]
fn of_many_gaps_the_longest_are_kept() {
    let number = (GAPS as u64 + 1000) * 100;
    let source = source(number);
    let mut detail = Detail::default();
    marks(&source, 0, 0, &mut detail).unwrap();
    assert_eq!(detail.marks.len(), GAPS);
    // The residues 0 to 6 are as frequent as each other: of the shortest, 190 ticks, 1000 are left out.
    let short = detail
        .marks
        .iter()
        .filter(|mark| mark.duration == 190)
        .count();
    let all = source.gaps[0]
        .iter()
        .filter(|gap| gap.duration == 190)
        .count();
    assert_eq!(all - short, 1000);
    assert!(detail.marks.is_sorted_by_key(|mark| mark.start));
}
