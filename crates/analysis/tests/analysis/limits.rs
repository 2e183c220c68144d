//! Detection limits hold: what a report says it would have shown is shown once it is added to the recording.

use crate::support::{Loop, Random, analysis, as_counts, none};
use bandscope_analysis::report::Series;
use bandscope_recording::source::InMemory;

/// A core that wanders by `deviation` from millisecond to millisecond.
fn wandering(deviation: f64, quanta: usize) -> InMemory {
    let mut random = Random(7);
    let mut pace = (0u64, 324.3);
    Loop::new(10_000.0, quanta).run(
        |_, number| {
            if number / 10 != pace.0 {
                pace = (number / 10, 324.3 * (1.0 + deviation * random.normal()));
            }
            pace.1
        },
        none,
    )
}

/// The same machine, slower by `distance` for `quanta` quanta in stays of ten, here and there: longer quanta of the same count.
fn with_band(mut source: InMemory, distance: f64, quanta: usize) -> InMemory {
    let columns = &mut source.quanta[0];
    let stride = columns.len() / (quanta / 10 + 1);
    let mut shift = 0u64;
    for k in 0..columns.len() {
        let slow = k >= stride && k % stride < 10 && k / stride <= quanta / 10;
        let length = columns.end[k] - columns.start[k];
        columns.start[k] += shift;
        if slow {
            shift += (length as f64 * distance).round() as u64;
        }
        columns.end[k] += shift;
    }
    source
}

fn first(source: &InMemory) -> Series {
    analysis(source).report.series.remove(0)
}

/// Whether a band stands within a quarter of `distance` of where it was added.
fn shows(series: &Series, main: f64, distance: f64) -> bool {
    series
        .bands
        .iter()
        .any(|band| (band.ns_per_unit / main - 1.0 - distance).abs() < distance / 4.0)
}

#[test]
fn a_band_at_the_limit_is_seen() {
    for deviation in [1e-5, 1e-4, 1e-3, 3e-3] {
        let source = wandering(deviation, 40_000);
        let before = first(&source);
        let limit = before.limits.band.expect("a second band can be told");
        let quanta = (limit.lasting_s * 1e4).round() as usize;
        let quanta = quanta.next_multiple_of(10) + 10;
        let main = before.bands[0].ns_per_unit;
        let after = first(&with_band(source.clone(), limit.distance * 1.02, quanta));
        assert!(
            shows(&after, main, limit.distance * 1.02),
            "deviation {deviation}, {limit:?}: {:?}",
            after.bands
        );
        // A limit that is always met would say nothing: at a third of the distance it is one band.
        let hidden = first(&with_band(source, limit.distance / 3.0, quanta));
        assert!(
            !shows(&hidden, main, limit.distance / 3.0),
            "{deviation}, {limit:?}"
        );
    }
}

#[test]
fn the_limit_follows_what_was_recorded() {
    let limit = |source: &InMemory| first(source).limits.band.unwrap().distance;
    let (quiet, noisy) = (wandering(1e-4, 20_000), wandering(5e-3, 20_000));
    assert!(limit(&quiet) * 3.0 < limit(&noisy));
    // Starts on a grid hide when a unit ended, so neighbouring counts are one band.
    assert!(limit(&as_counts(quiet.clone())) > limit(&quiet));
}

#[test]
fn too_little_has_no_limit() {
    let nothing = Loop::new(10_000.0, 0).run(|_, _| 324.3, none);
    assert_eq!(first(&nothing).limits.band, None);
}

/// The wandering core again, and a loss of `ns` `hz` times a second that is no gap.
fn with_losses(deviation: f64, quanta: usize, hz: f64, ns: f64) -> InMemory {
    let mut random = Random(7);
    let mut pace = (0u64, 324.3);
    let mut lost = crate::support::tick(hz, ns);
    Loop::new(10_000.0, quanta).run(
        |now, number| {
            if number / 10 != pace.0 {
                pace = (number / 10, 324.3 * (1.0 + deviation * random.normal()));
            }
            pace.1 + lost(now, now + pace.1)
        },
        none,
    )
}

/// Whether the report names the frequency.
fn names(series: &Series, hz: f64) -> bool {
    series
        .signals
        .iter()
        .any(|signal| (signal.frequency_hz / hz - 1.0).abs() < 1e-3)
}

#[test]
fn a_periodic_loss_at_the_limit_is_seen() {
    for deviation in [3e-5, 3e-4, 2e-3] {
        let before = first(&wandering(deviation, 60_000));
        let losses = &before.limits.losses;
        assert_eq!(losses.len(), 3, "{losses:?}");
        for limit in losses {
            let (hz, ns) = (limit.frequency_hz, limit.ns_per_event);
            assert!(!names(&before, hz), "{hz}: {:?}", before.signals);
            // Ten percent for the loss that a unit's end rounds away.
            let after = first(&with_losses(deviation, 60_000, hz, 1.1 * ns));
            assert!(
                names(&after, hz),
                "{deviation}, {limit:?}: {:?}",
                after.signals
            );
            let hidden = first(&with_losses(deviation, 60_000, hz, ns / 4.0));
            assert!(
                !names(&hidden, hz),
                "{deviation}, {limit:?}: {:?}",
                hidden.signals
            );
        }
    }
}
