//! Detection limits hold: what a report says it would have shown is shown once it is added to the recording.

use crate::support::{Loop, Random, analysis, as_counts, none};
use bandscope_recording::source::InMemory;
use bandscope_report::Series;

/// A pace that wanders by `deviation` and keeps to a value for ten quanta in the mean: at random, as a fixed time would leave holes in
/// the noise at its multiples.
fn wander(deviation: f64, seed: u64) -> impl FnMut(u64) -> f64 {
    let mut random = Random::new(seed);
    let (mut last, mut pace) = (0, 324.3);
    move |number| {
        if number != last && random.unit() < 0.1 {
            pace = 324.3 * (1.0 + deviation * random.normal());
        }
        last = number;
        pace
    }
}

fn wandering(deviation: f64, quanta: usize, seed: u64) -> InMemory {
    let mut pace = wander(deviation, seed);
    Loop::new(10_000.0, quanta).run(|_, number| pace(number), none)
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
        let source = wandering(deviation, 40_000, 7);
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
    let (quiet, noisy) = (wandering(1e-4, 20_000, 7), wandering(5e-3, 20_000, 7));
    assert!(limit(&quiet) * 3.0 < limit(&noisy));
    // Starts on a grid hide when a unit ended, so neighbouring counts are one band.
    assert!(limit(&as_counts(quiet.clone())) > limit(&quiet));
}

#[test]
fn too_little_has_no_limit() {
    let nothing = Loop::new(10_000.0, 0).run(|_, _| 324.3, none);
    assert_eq!(first(&nothing).limits.band, None);
}

/// The same with a loss of `ns` `hz` times a second that is no gap.
fn with_losses(deviation: f64, quanta: usize, seed: u64, hz: f64, ns: f64) -> InMemory {
    let mut pace = wander(deviation, seed);
    let mut lost = crate::support::tick(hz, ns);
    Loop::new(10_000.0, quanta).run(
        |now, number| {
            let pace = pace(number);
            pace + lost(now, now + pace)
        },
        none,
    )
}

/// Whether the report names a frequency `times` as high, for one of these.
fn names(series: &Series, hz: f64, times: &[f64]) -> bool {
    let is = |frequency: f64| (frequency / hz - 1.0).abs() < 1e-3;
    let mut signals = series.signals.iter();
    signals.any(|signal| times.iter().any(|times| is(signal.frequency_hz / times)))
}

/// The frequency itself.
const ITSELF: [f64; 1] = [1.0];
/// A few of its multiples, and what it is a few times of.
const RELATED: [f64; 13] = [
    1.0,
    2.0,
    3.0,
    4.0,
    5.0,
    6.0,
    8.0,
    1.0 / 2.0,
    1.0 / 3.0,
    1.0 / 4.0,
    1.0 / 5.0,
    1.0 / 6.0,
    1.0 / 8.0,
];

/// What became of losses at their limits.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    all: usize,
    /// Named by their frequency.
    named: usize,
    /// By it, a multiple or a fraction.
    shown: usize,
    /// At a quarter of the limit.
    hidden: usize,
}

/// Of one core, for so many draws of its noise.
fn outcome(deviation: f64, seeds: impl Iterator<Item = u64>) -> Outcome {
    let mut outcome = Outcome::default();
    for seed in seeds {
        let before = first(&wandering(deviation, 60_000, seed));
        let losses = &before.limits.losses;
        assert_eq!(losses.len(), 3, "{losses:?}");
        for limit in losses {
            let (hz, ns) = (limit.frequency_hz, limit.ns_per_event);
            assert!(!names(&before, hz, &ITSELF), "{hz}: {:?}", before.signals);
            // Ten percent for the loss that a unit's end rounds away.
            let after = first(&with_losses(deviation, 60_000, seed, hz, 1.1 * ns));
            let hidden = first(&with_losses(deviation, 60_000, seed, hz, ns / 4.0));
            outcome.all += 1;
            outcome.named += usize::from(names(&after, hz, &ITSELF));
            outcome.shown += usize::from(names(&after, hz, &RELATED));
            outcome.hidden += usize::from(names(&hidden, hz, &ITSELF));
        }
    }
    outcome
}

/// Silence means that there is no such loss, so it must show; docs/method.md says how often it does, and how often by its own frequency.
#[test]
fn a_periodic_loss_at_the_limit_is_seen() {
    let outcomes = [3e-5, 3e-4, 2e-3].map(|deviation| outcome(deviation, 7..9));
    let sum = |of: fn(&Outcome) -> usize| outcomes.iter().map(of).sum::<usize>();
    let all = sum(|one| one.all);
    assert!(5 * sum(|one| one.shown) >= 4 * all, "{outcomes:?}");
    assert!(3 * sum(|one| one.named) >= all, "{outcomes:?}");
    assert_eq!(sum(|one| one.hidden), 0, "{outcomes:?}");
}

/// `cargo test -p bandscope-analysis --test analysis limits -- --ignored --nocapture` prints the figures of docs/method.md.
#[test]
#[ignore = "two minutes: prints the figures of docs/method.md"]
fn how_often_limits_hold() {
    for deviation in [3e-5, 3e-4, 2e-3] {
        println!("deviation {deviation}: {:?}", outcome(deviation, 1..13));
    }
}

/// A busy machine's file: lines at multiples of what is there are left out, so that the limit is that of events.
#[test]
fn beside_a_train_the_limit_is_that_of_events() {
    let counts = |ns: f64| {
        let (mut pace, mut lost) = (wander(3e-4, 5), crate::support::tick(1000.0, ns));
        let run = Loop::new(10_000.0, 60_000).run(
            |now, number| {
                let pace = pace(number);
                pace + lost(now, now + pace)
            },
            crate::support::tick(250.0, 40_000.0),
        );
        first(&as_counts(run))
    };
    let before = counts(0.0);
    assert!(names(&before, 250.0, &ITSELF), "{:?}", before.signals);
    let limits = &before.limits.losses;
    assert!(
        limits.iter().all(|limit| limit.frequency_hz != 250.0),
        "{limits:?}"
    );
    let limit = limits.iter().find(|limit| limit.frequency_hz == 1000.0);
    let ns = limit
        .expect("a train of events would be found")
        .ns_per_event;
    assert!(names(&counts(1.1 * ns), 1000.0, &ITSELF), "{ns}");
    assert!(!names(&counts(0.25 * ns), 1000.0, &ITSELF), "{ns}");
}
