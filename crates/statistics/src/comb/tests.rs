//! Combs of known teeth in noise, and noise alone.

use super::*;
use crate::random::Random;

/// Exponential noise, the same in every run.
fn noise(bins: usize) -> Vec<f64> {
    let mut random = Random::new(1);
    (0..bins).map(|_| -(1.0 - random.unit()).ln()).collect()
}

fn search(power: &[f64]) -> Vec<Comb> {
    Search {
        power,
        averages: 1.0,
        first: 8,
        guard: 3,
        most_teeth: 32,
        floor: 0.0,
        folds: false,
    }
    .run()
}

#[test]
fn noise_has_no_comb() {
    assert_eq!(search(&noise(8192)), []);
}

#[test]
fn a_comb_of_weak_teeth_is_found_at_its_fundamental() {
    let mut power = noise(8192);
    for bin in (200..8192).step_by(200) {
        power[bin] += 6.0;
    }
    let combs = search(&power);
    assert_eq!(combs.len(), 1, "{combs:?}");
    assert!((combs[0].fundamental - 200.0).abs() < 0.1, "{combs:?}");
}

#[test]
fn a_single_line_is_no_subharmonic() {
    let mut power = noise(4096);
    power[1000] += 100.0;
    let combs = search(&power);
    assert_eq!(combs.len(), 1, "{combs:?}");
    assert!((combs[0].fundamental - 1000.0).abs() < 0.6, "{combs:?}");
}
