//! Input of the worst kind, for the questions to several CPUs: nothing may panic, every figure is a number, every share is one.
//!
//! Tracks are what a series leaves, so they hold whatever files do: times out of order, durations beyond the end of time, CPUs whose
//! segments overlap or that have none, names that are not there. What several CPUs have in common is drawn once for all, so that there
//! is something to find.

use super::track::{Away, Step, Track, recordings};
use super::{Across, coupling, synchronous};
use bandscope_report::{Cause, Series};
use proptest::prelude::*;

/// A time: of a run of seconds mostly, or at either end of what a tick can be.
fn any_time() -> impl Strategy<Value = u64> {
    prop_oneof![
        20 => 0..20_000_000_000u64,
        2 => 0..1000u64,
        1 => (u64::MAX - 1_000_000)..=u64::MAX,
        1 => any::<u64>(),
    ]
}

fn any_gap() -> impl Strategy<Value = Away> {
    let duration = prop_oneof![
        10 => 1000..2_000_000u64,
        3 => 0..10u64,
        1 => any::<u64>(),
    ];
    (any_time(), duration, 0..4u32).prop_map(|(start, duration, cause)| Away {
        start,
        duration,
        cause,
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let ratio = prop_oneof![8 => 1.0f32..6.0, 1 => Just(f32::MAX), 1 => Just(1.0f32)];
    (any_time(), ratio).prop_map(|(at, ratio)| Step { at, ratio })
}

/// What a series leaves, beside what all have in common: how late it is with that, and what it has of its own.
fn any_track() -> impl Strategy<Value = (u64, Track)> {
    let own = (
        prop::collection::vec(any_gap(), 0..40),
        prop::collection::vec(any_step(), 0..40),
        prop::collection::vec((any_time(), any_time()), 0..6),
    );
    let known = (
        prop_oneof![8 => Just(u64::MAX), 1 => any_time()],
        prop_oneof![8 => Just(u64::MAX), 1 => any_time()],
        prop::bool::weighted(0.9),
        prop_oneof![8 => Just(2.3f64), 1 => Just(1e-3), 1 => Just(100.0)],
    );
    let late = prop_oneof![3 => Just(0u64), 2 => 0..50_000u64, 1 => any_time()];
    (late, own, known).prop_map(|(late, (gaps, steps, segments), known)| {
        let (gaps_until, steps_until, gaps_known, ticks_per_ns) = known;
        let mut segments: Vec<(u64, u64)> = segments
            .into_iter()
            .map(|(a, b)| (a.min(b), a.max(b)))
            .collect();
        segments.push((0, 20_000_000_000));
        let track = Track {
            gaps,
            names: vec![Cause::Tick, Cause::Host],
            steps,
            segments,
            ticks_per_ns,
            gaps_known,
            gaps_until,
            steps_until,
        };
        (late, track)
    })
}

/// CPUs with their tracks, in one recording or two; a CPU may have several series, and a series none.
fn any_cpus() -> impl Strategy<Value = (Vec<Series>, Vec<Track>)> {
    let one = (
        any_track(),
        prop::option::weighted(0.95, 0..6u32),
        prop::bool::weighted(0.1),
    );
    let common = (
        prop::collection::vec(any_gap(), 0..60),
        prop::collection::vec(any_step(), 0..60),
    );
    (prop::collection::vec(one, 1..=8), common).prop_map(|(tracks, (gaps, steps))| {
        let tracks = tracks.into_iter().map(|((late, mut track), cpu, other)| {
            track.gaps.extend(gaps.iter().map(|gap| Away {
                start: gap.start.saturating_add(late),
                ..*gap
            }));
            track.steps.extend(steps.iter().map(|step| Step {
                at: step.at.saturating_add(late),
                ..*step
            }));
            let mut series = Series {
                cpu,
                origin: if other { "b" } else { "a" }.to_owned(),
                ..Series::default()
            };
            // What was not measured at all is not ranked.
            series.ledger.wall_ns = 1_000_000_000;
            (series, track)
        });
        tracks.unzip()
    })
}

fn is_share(share: f64) -> bool {
    (0.0..=1.0 + 1e-9).contains(&share)
}

fn is_time(seconds: f64) -> bool {
    seconds.is_finite() && seconds >= 0.0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_tracks_have_figures_that_are_numbers((series, tracks) in any_cpus()) {
        for lanes in recordings(&series, tracks.clone()) {
            for found in synchronous::find(&lanes) {
                prop_assert!(found.cpus.len() > 1 && found.cpus.is_sorted());
                prop_assert!(found.number >= 1 && is_time(found.seconds), "{:?}", found);
                prop_assert!(found.shares.iter().all(|share| is_share(share.1)), "{:?}", found);
                prop_assert!(is_share(found.share) && is_time(found.skew_s), "{:?}", found);
                prop_assert!(is_time(found.together) && is_time(found.apart), "{:?}", found);
                prop_assert!(found.expected.is_finite() && found.ln_chance <= 0.0, "{:?}", found);
                prop_assert!((2..=found.cpus.len()).contains(&found.most_cpus), "{:?}", found);
            }
            for found in coupling::find(&lanes) {
                prop_assert!(found.cpus.contains(&found.leader) && found.leader != found.follower);
                prop_assert!(found.lag_s.is_finite() && is_time(found.width_s), "{:?}", found);
                prop_assert!(found.ratio.is_finite() && is_share(found.share), "{:?}", found);
                prop_assert!(found.expected.is_finite() && found.ln_chance <= 0.0, "{:?}", found);
            }
        }
        let across = Across::new(&series, tracks);
        let cpus = across.ranking(&series);
        let known: std::collections::BTreeSet<u32> = series.iter().filter_map(|one| one.cpu).collect();
        let ranked: std::collections::BTreeSet<u32> = cpus.iter().map(|one| one.cpu).collect();
        prop_assert_eq!(ranked, known);
        prop_assert!(cpus.iter().all(|one| one.gaps == 0.0 && one.pace == 0.0), "{:?}", cpus);
        prop_assert!(cpus.iter().filter_map(|one| one.synchronous).all(is_share));
    }
}
