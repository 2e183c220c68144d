//! Tails that are drawn, and what was fitted of them.

use super::*;
use crate::random::Random;

fn draw(shape: f64, random: &mut Random) -> f64 {
    let rest = 1.0 - random.unit();
    if shape == 0.0 {
        -rest.ln()
    } else {
        (rest.powf(-shape) - 1.0) / shape
    }
}

fn sample(shape: f64, number: usize, random: &mut Random) -> Vec<f64> {
    let mut values: Vec<f64> = (0..number).map(|_| draw(shape, random)).collect();
    values.sort_by(f64::total_cmp);
    values
}

#[test]
fn the_critical_values_are_those_of_simulation() {
    let mut random = Random::new(11);
    let runs = 500;
    for (shape, expected) in CRITICAL {
        let statistics = (0..runs).filter_map(|_| {
            let values = sample(shape, 200, &mut random);
            let (shape, scale) = fit(&values)?;
            Some(anderson_darling(&values, shape, scale))
        });
        let mut statistics: Vec<f64> = statistics.collect();
        statistics.sort_by(f64::total_cmp);
        let found = statistics[statistics.len() * 9 / 10];
        println!("{shape} {found:.3} of {}", statistics.len());
        assert!(
            (found - expected).abs() < 0.1,
            "{shape}: {found}, in the table {expected}"
        );
    }
}

#[test]
fn parameters_come_back() {
    let mut random = Random::new(5);
    for shape in [-0.3, 0.0, 0.3, 0.7] {
        let values = sample(shape, 4000, &mut random);
        let (found, scale) = fit(&values).unwrap();
        assert!(
            (found - shape).abs() < 0.08 && (scale - 1.0).abs() < 0.1,
            "{shape}: {found} {scale}"
        );
    }
}

/// A likeliest shape of few excesses is too small; so a long way beyond them a tail was a fifth too short.
#[test]
fn few_excesses_do_not_make_a_tail_too_short() {
    let mut random = Random::new(3);
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    for shape in [-0.2, 0.0, 0.25] {
        let truth = expected(shape, 1.0, 3000.0);
        let fits: Vec<(f64, f64)> = (0..1000)
            .filter_map(|_| fit(&sample(shape, 40, &mut random)))
            .collect();
        let [likeliest, corrected] = [false, true].map(|is_corrected| {
            let largest = fits.iter().map(|&(shape, scale)| {
                let (shape, scale) = match is_corrected {
                    true => unbiased(shape, scale, 40.0),
                    false => (shape, scale),
                };
                expected(shape, scale, 3000.0) / truth
            });
            median(largest.collect())
        });
        println!("{shape}: {likeliest:.2} of the truth, {corrected:.2} without bias");
        assert!(likeliest < 0.9 && (corrected - 1.0).abs() < 0.1);
    }
}

/// The largest of 100,000 of an exponential and of a heavy tail, from 2,000 values of each.
#[test]
fn what_was_not_seen_is_within_the_interval() {
    let mut random = Random::new(8);
    for shape in [0.0, 0.25] {
        let truth = expected(shape, 1.0, 1e5);
        let mut held = 0;
        for _ in 0..40 {
            let mut values = sample(shape, 2000, &mut random);
            values.reverse();
            let Some(tail) = Tail::new(&values, 2000.0, |_| 1.0) else {
                continue;
            };
            let (low, high) = tail.interval(1e5);
            let middle = tail.expected_maximum(1e5);
            assert!(low <= middle && middle <= high, "{low} {middle} {high}");
            held += u32::from((low..=high).contains(&truth));
        }
        println!("{shape}: {held} of 40");
        assert!(held >= 33, "{shape}: {held} of 40");
    }
}

/// Many values leave little open. An interval that a fixed grid of parameters gave had no width.
#[test]
fn intervals_of_many_values_hold_too() {
    let mut random = Random::new(9);
    for shape in [-0.35, 0.0] {
        let truth = expected(shape, 1.0, 1e7);
        let (mut held, mut widths) = (0, Vec::new());
        for _ in 0..40 {
            let mut values = sample(shape, 30_000, &mut random);
            values.reverse();
            let tail = Tail::new(&values, 30_000.0, |_| 1.0).expect("a tail");
            let (low, high) = tail.interval(1e7);
            held += u32::from((low..=high).contains(&truth));
            widths.push((high - low) / truth);
        }
        widths.sort_by(f64::total_cmp);
        println!(
            "{shape}: {held} of 40, widths {:.4} to {:.4}",
            widths[0], widths[39]
        );
        assert!(
            held >= 34 && widths[0] > 0.005,
            "{shape}: {held} of 40, {widths:?}"
        );
    }
}

#[test]
fn steps_and_few_values_have_no_tail() {
    let steps: Vec<f64> = (0..2000)
        .rev()
        .map(|place| f64::from(place / 150))
        .collect();
    assert_eq!(Tail::new(&steps, 2000.0, |_| 1.0), None);
    assert_eq!(Tail::new(&[5.0; 400], 2000.0, |_| 1.0), None);
    assert_eq!(Tail::new(&[3.0, 2.0, 1.0], 100.0, |_| 1.0), None);
}
