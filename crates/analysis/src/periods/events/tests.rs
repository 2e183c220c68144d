//! Trains of known periods, alone and together, and what is no train.

use super::*;
use bandscope_statistics::random::Random;

#[test]
fn a_train_of_nothing_but_equal_periods_is_one_period() {
    for frequency in [100.0, 250.0, 1_000.0, 99.7, 713.986_454, 2_080.913_092] {
        let mut train = Train::default();
        for segment in 0..4 {
            let (from, to) = (f64::from(2 * segment), f64::from(2 * segment + 1));
            train.segments.push((from, to));
            let first = (from * frequency).ceil() as u32;
            for k in first..(to * frequency).ceil() as u32 {
                train.times.push(f64::from(k) / frequency);
                train.losses.push(3000.0);
            }
        }
        let found = search(&train);
        assert_eq!(found.len(), 1, "{frequency}: {found:?}");
        assert!(
            (found[0].frequency / frequency - 1.0).abs() < 1e-6,
            "{found:?}"
        );
        assert!(
            (found[0].ns_per_event / 3000.0 - 1.0).abs() < 0.01,
            "{found:?}"
        );
    }
}

#[test]
fn strong_even_harmonics_do_not_double_the_frequency() {
    // Two events a period, the second one at half of it but for 1/50.
    let mut train = Train {
        segments: vec![(0.0, 4.0)],
        ..Train::default()
    };
    for k in 0..1000 {
        let start = f64::from(k) / 250.0;
        train.times.extend([start, start + 0.52 / 250.0]);
        train.losses.extend([3000.0, 1000.0]);
    }
    let found = search(&train);
    assert!((found[0].frequency / 250.0 - 1.0).abs() < 1e-6, "{found:?}");
    assert!(
        (found[0].ns_per_event / 4000.0 - 1.0).abs() < 0.01,
        "{found:?}"
    );
}

/// Each event a Gaussian's scatter beside its time, and as many others at random: the stated deviation is that of the estimate.
#[test]
fn the_frequency_of_a_pulse_is_as_uncertain_as_it_says() {
    let mut state = 11u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for scatter_s in [1e-6, 20e-6, 100e-6] {
        let errors = (0..200).map(|_| {
            let mut times: Vec<f64> = (1..1000)
                .map(|k| {
                    let normal = (0..12).map(|_| random()).sum::<f64>() - 6.0;
                    f64::from(k) / 250.0 + scatter_s * normal
                })
                .collect();
            times.extend((0..1000).map(|_| 4.0 * random()));
            times.sort_by(f64::total_cmp);
            let train = Train {
                times,
                segments: vec![(0.0, 4.0)],
                ..Train::default()
            };
            let pulse = by_pulse(&train, 250.0).unwrap();
            ((pulse.frequency - 250.0) / pulse.uncertainty).powi(2)
        });
        let ratio = (errors.sum::<f64>() / 200.0).sqrt();
        // Of two estimates the larger is stated, so it is too large rather than too small.
        assert!((0.5..1.1).contains(&ratio), "{scatter_s}: {ratio}");
    }
}

/// A timer of 1 kHz that comes 50 µs early with each tick, of a CPU that is away now and then for some ms, as in a guest whose CPUs take turns: two
/// of four events in a row look like 500 Hz.
#[test]
fn every_other_event_of_a_timer_is_no_train_of_its_own() {
    let mut random = Random::new(5);
    for share_away in [0.0, 0.2, 0.4] {
        let mut train = Train {
            segments: vec![(0.0, 4.0)],
            ..Train::default()
        };
        for tick in 0..1000 {
            let start = f64::from(tick) * 4e-3;
            if random.unit() < share_away {
                train.away.push((start, start + 3.9e-3));
                continue;
            }
            for (number, missed) in [(0, 0.0), (1, 0.0), (2, 0.1), (3, 0.0)] {
                let early = if number == 0 { 50e-6 } else { 0.0 };
                if random.unit() >= missed {
                    train
                        .times
                        .push(start + f64::from(number) * 1e-3 + 5e-4 - early);
                    train.losses.push(9000.0);
                }
            }
        }
        for found in trains(&train) {
            let times = 1000.0 / found.frequency;
            assert!((times - 1.0).abs() < 1e-3, "{share_away}: {found:?}");
        }
    }
}

/// A tick for a second, and then a task that has the CPU for as long: what it hid after the last event hides no other frequency before it.
#[test]
fn an_absence_at_the_end_makes_no_faster_train() {
    let mut times: Vec<f64> = (0..250).map(|k| f64::from(k) * 4e-3).collect();
    let mut losses = vec![3e3; 250];
    times.push(0.9975);
    losses.push(950e6);
    let away = times.iter().zip(&losses);
    let train = Train {
        away: away.map(|(at, ns)| (*at, at + ns * 1e-9)).collect(),
        times,
        losses,
        segments: vec![(0.0, 2.0)],
        is_mixture: true,
        tick_hz: Some(250.0),
        ..Train::default()
    };
    let found: Vec<f64> = trains(&train)
        .iter()
        .map(|one| one.frequency.round())
        .collect();
    assert_eq!(found, [250.0]);
}

/// Bursts have every frequency a little, and a pulse through one has any slope: whatever they are, the search ends.
#[test]
fn bursts_shorter_than_every_period_end_the_search() {
    let mut state = 3u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for case in 0..3000 {
        let run = 0.1 + 2.0 * random();
        let bursts = 1 + case % 4;
        let mut times: Vec<f64> = Vec::new();
        for _ in 0..bursts {
            let (start, length) = (run * random(), 10f64.powf(-6.0 + 5.0 * random()));
            let number = 33 + (100.0 * random()) as usize;
            times.extend((0..number).map(|_| (start + length * random()).min(run)));
        }
        times.sort_by(f64::total_cmp);
        let train = Train {
            losses: times.iter().map(|_| 1000.0 + 9000.0 * random()).collect(),
            times,
            segments: vec![(0.0, run)],
            is_mixture: case % 2 == 0,
            tick_hz: (case % 3 == 0).then_some(250.0),
            ..Train::default()
        };
        for found in trains(&train) {
            assert!(found.frequency > 0.0, "{found:?}");
        }
    }
}

/// A tick of 250 Hz, a host's of 100, and others at random: 50 Hz has the lines of both.
#[test]
fn the_kernels_tick_is_told_from_another_that_it_shares_a_divisor_with() {
    let mut state = 7u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut events: Vec<(f64, f64)> = Vec::new();
    events.extend((0..2500).map(|k| ((f64::from(k) + 0.31) / 250.000_3, 40_000.0)));
    events.extend((0..1000).map(|k| ((f64::from(k) + 0.77) / 99.9962, 30_000.0)));
    events.extend((0..15_000).map(|_| (10.0 * random(), 2_000.0)));
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let train = |tick_hz: Option<f64>| Train {
        times: events.iter().map(|event| event.0).collect(),
        losses: events.iter().map(|event| event.1).collect(),
        segments: vec![(0.0, 10.0)],
        tick_hz,
        ..Train::default()
    };
    let found = search(&train(Some(250.0)));
    assert!(
        (found[0].frequency / 250.000_3 - 1.0).abs() < 1e-6,
        "{found:?}"
    );
    assert!(
        (found[0].ns_per_event / 40_000.0 - 1.0).abs() < 0.08,
        "{found:?}"
    );
    assert!(
        (found[1].frequency / 99.9962 - 1.0).abs() < 1e-6,
        "{found:?}"
    );
    // A kernel whose HZ is another has no such tick: what it finds is what it finds without.
    assert_eq!(search(&train(Some(300.0))), search(&train(None)));
}

/// A host's tick of 100 Hz on a CPU that other tasks have for nearly half of the time, whole ticks of 250 Hz long: 83.33 Hz has its lines, as
/// 500 Hz is a multiple of both, and of 20 Hz more may be seen.
#[test]
fn what_is_seen_half_of_the_time_keeps_its_frequency() {
    for seed in 1..=8 {
        let mut random = Random::new(seed);
        let taken: Vec<bool> = (0..2500).map(|_| random.unit() < 0.45).collect();
        let is_seen = |time: &f64| !taken[(time * 250.0) as usize];
        let mut times: Vec<f64> = (0..999).map(|k| (f64::from(k) + 0.33) / 99.9991).collect();
        times.extend((0..1200).map(|_| 9.99 * random.unit()));
        times.retain(is_seen);
        times.sort_by(f64::total_cmp);
        let tick = |k: usize| (k as f64 / 250.0, (k + 1) as f64 / 250.0);
        let train = Train {
            losses: vec![24_000.0; times.len()],
            times,
            segments: vec![(0.0, 10.0)],
            away: (0..2500).filter(|&k| taken[k]).map(tick).collect(),
            is_mixture: true,
            tick_hz: Some(250.0),
            ..Train::default()
        };
        let found = trains(&train);
        assert_eq!(found.len(), 1, "{seed}: {found:?}");
        assert!(
            (found[0].frequency / 99.9991 - 1.0).abs() < 1e-5,
            "{seed}: {found:?}"
        );
    }
}

/// `machines/real timer-1khz` beside a build: a sleeper whose timer runs early with the tick, waits for the CPU now and then, and leaves out a turn
/// when it waited too long. It scatters, and is a train all the same.
#[test]
fn a_train_that_scatters_comes_each_time() {
    let train = |drift: f64| {
        let mut random = Random::new(3);
        let mut wander = 0.0;
        let mut times = Vec::new();
        for k in 0..4000 {
            wander += drift * (random.unit() - 0.5);
            let off = match random.unit() {
                part if part < 0.2 => -50e-6 * random.unit(),
                part if part < 0.28 => 300e-6 * random.unit(),
                _ => 10e-6 * random.unit(),
            };
            if random.unit() < 0.95 {
                times.push(f64::from(k) * 1e-3 + 0.4e-3 + wander + off);
            }
        }
        Train {
            losses: vec![20_000.0; times.len()],
            times,
            segments: vec![(0.0, 4.0)],
            ..Train::default()
        }
    };
    let found = trains(&train(0.0));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!((found[0].frequency - 1000.0).abs() < 0.01, "{found:?}");
    assert!(found[0].occupied >= Some(0.9), "{found:?}");
    // Which sleeps for a time and not until one has no phase that lasts.
    for one in trains(&train(200e-6)) {
        assert!(one.occupied < Some(0.9), "{one:?}");
    }
}

/// A real-time task comes within microseconds of its time, behind the interrupt that wakes it: it is away itself when it begins.
#[test]
fn a_task_behind_its_own_interrupt_keeps_its_frequency() {
    let mut random = Random::new(7);
    let due = (0..800).map(|turn| f64::from(turn) / 200.0 + 1e-3);
    let begins: Vec<f64> = due.map(|due| due + 1e-6 * random.unit()).collect();
    let train = Train {
        times: begins.iter().map(|begin| begin + 17e-6).collect(),
        early: vec![17e-6; begins.len()],
        losses: vec![65e3; begins.len()],
        away: begins.iter().map(|begin| (*begin, begin + 82e-6)).collect(),
        segments: vec![(0.0, 4.0)],
        ..Train::default()
    };
    let [found] = trains(&train)[..] else {
        panic!("{:?}", trains(&train));
    };
    assert!((found.frequency - 200.0).abs() < 1e-3, "{found:?}");
    assert!((found.ns_per_event - 65e3).abs() < 1e3, "{found:?}");
    assert!(
        found.begins.is_some(),
        "it is no train of one event each: {found:?}"
    );
    assert!(
        found.occupied.is_some_and(|share| share > 0.99),
        "{found:?}"
    );
}
