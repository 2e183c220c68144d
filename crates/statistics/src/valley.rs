//! Whether values have more than one mode, and where the valley between two of them is.
//!
//! A density with one mode falls away from it on both sides, so the distances between neighbouring values, sorted, grow to the
//! right of the mode and to the left of it. Take some of these distances as a valley, and those beyond it as a second mode. If
//! the true mode lies left of the valley, the distances beyond should be larger than those inside; were they all from one
//! distribution, the valley's share of the whole would be that of the first of so many uniform spacings, a beta distribution, so
//!
//! ```text
//! p_right = P(Binomial(N, t) <= v)     t: the valley's share of the stretch, v: values inside the valley, N: inside the stretch
//! ```
//!
//! bounds the chance of a valley as wide, whatever the shape of the distribution: normal, log-normal, skewed, with any tail. The
//! same to the left, if the true mode lies right of it. As it lies somewhere, the larger of the two bounds the chance of
//! this valley, and the smallest over all valleys times `trials` is the p-value. This is the excess-mass idea of Müller and Sawitzki
//! (1991) with the local spacings of Dümbgen and Walther (2008).

use crate::distributions::ln_binomial_at_most;

/// Between two modes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Valley {
    /// Values up to this one lie in the lower mode or on its side of the valley: as many as the first part has.
    pub cut: usize,
    /// Chance of such a valley anywhere in so many values of one mode.
    pub p_value: f64,
}

/// At most this part of the values lies in a valley, and no more than that number.
const INSIDE_PART: usize = 10;
const INSIDE_MOST: usize = 8;

/// The deepest valley of `sorted`; `None` of less than 4 values.
pub fn deepest(sorted: &[f64]) -> Option<Valley> {
    let number = sorted.len();
    if number < 4 {
        return None;
    }
    let inside_most = (number / INSIDE_PART).min(INSIDE_MOST);
    let mut best: Option<(f64, usize, usize)> = None;
    for low in 1..number - 2 {
        for high in low + 1..(low + 2 + inside_most).min(number - 1) {
            let worse_than = best.map_or(0.0, |(ln_p, ..)| ln_p);
            // Both sides must be better than the best so far.
            let right = beyond(sorted, low, high);
            if right >= worse_than {
                continue;
            }
            let ln_p = right.max(before(sorted, low, high));
            if ln_p < worse_than {
                best = Some((ln_p, low, high));
            }
        }
    }
    let (ln_p, low, high) = best?;
    Some(Valley {
        cut: widest(sorted, low, high) + 1,
        p_value: (ln_p.exp() * trials(number)).min(1.0),
    })
}

/// How many times as likely as in one place something is anywhere among `number` values of one mode.
///
/// Measured: of 20,000 sets (2,500 of 80, 1,000 of 200), the p in one place that 1 in 20 goes below is 1/1.58, 1/4.15, 1/10.5, 1/35,
/// 1/102 and 1/400 of that for 8, 12, 20, 40, 80 and 200 values, the worst of uniform, normal, exponential, log-normal and triangular ones;
/// this curve passes through or above them. `cargo run -p bandscope-studies --example modes` counts what comes of it.
fn trials(number: usize) -> f64 {
    (0.078 * (number as f64).powf(1.65)).max(1.0)
}

/// Between which two neighbours in the valley the distance is largest: the cut goes there.
fn widest(sorted: &[f64], low: usize, high: usize) -> usize {
    let width = |index: &usize| sorted[index + 1] - sorted[*index];
    (low..high)
        .max_by(|a, b| width(a).total_cmp(&width(b)))
        .unwrap_or(low)
}

/// Smallest logarithm of the chance, over the stretches that begin with the valley.
fn beyond(sorted: &[f64], low: usize, high: usize) -> f64 {
    let room = sorted.len() - 1 - high;
    let valley = sorted[high] - sorted[low];
    steps(room)
        .map(|step| {
            let whole = sorted[high + step] - sorted[low];
            ln_binomial_at_most(high - low - 1, high - low - 1 + step, valley / whole)
        })
        .fold(0.0, f64::min)
}

/// The same over the stretches that end with it.
fn before(sorted: &[f64], low: usize, high: usize) -> f64 {
    let valley = sorted[high] - sorted[low];
    steps(low)
        .map(|step| {
            let whole = sorted[high] - sorted[low - step];
            ln_binomial_at_most(high - low - 1, high - low - 1 + step, valley / whole)
        })
        .fold(0.0, f64::min)
}

/// 1, 2, 3, 4, 6, 8, 12, ... and `most` itself.
fn steps(most: usize) -> impl Iterator<Item = usize> {
    let powers = (0..usize::BITS - 1).map(|power| 1usize << power);
    let steps = powers.flat_map(|power| [power, power + power / 2]);
    let below = steps.take_while(move |step| *step < most);
    let mut last = 0;
    below
        .filter(move |step| std::mem::replace(&mut last, *step) != *step)
        .chain((most > 0).then_some(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn two_groups_are_cut_between_them() {
        let mut values: Vec<f64> = (0..16).map(|n| 1.0 + 0.001 * f64::from(n)).collect();
        values.extend((0..6).map(|n| 2.0 + 0.001 * f64::from(n)));
        let valley = deepest(&values).unwrap();
        assert_eq!(valley.cut, 16);
        assert!(valley.p_value < 1e-6, "{valley:?}");
    }

    #[test]
    fn a_stray_value_in_the_valley_does_not_hide_it() {
        let mut values: Vec<f64> = (0..20).map(|n| 1.0 + 0.001 * f64::from(n)).collect();
        values.push(1.6);
        values.extend((0..20).map(|n| 2.0 + 0.001 * f64::from(n)));
        let valley = deepest(&values).unwrap();
        assert!(
            valley.p_value < 1e-6 && [20, 21].contains(&valley.cut),
            "{valley:?}"
        );
    }

    #[test]
    fn what_lies_apart_alone_is_no_mode() {
        let mut values: Vec<f64> = (0..19).map(|n| 1.0 + 0.001 * f64::from(n)).collect();
        values.push(9.0);
        assert!(deepest(&values).unwrap().p_value > 0.3);
        assert_eq!(deepest(&[1.0, 2.0, 3.0]), None);
        assert!(deepest(&[1.0; 20]).is_none());
    }

    #[test]
    fn one_mode_of_any_shape_seldom_looks_like_two() {
        let mut random = Random::new(3);
        let shapes: [fn(f64) -> f64; 3] = [|u| u, |u| -(1.0 - u).ln(), |u| (u / (1.0 - u)).ln()];
        for (index, shape) in shapes.iter().enumerate() {
            let mut seen = 0;
            for _ in 0..400 {
                let mut values: Vec<f64> = (0..20)
                    .map(|_| shape(random.unit().clamp(1e-9, 1.0 - 1e-9)))
                    .collect();
                values.sort_by(f64::total_cmp);
                seen += u32::from(deepest(&values).is_some_and(|valley| valley.p_value < 0.05));
            }
            // 20 are expected of the worst shape, 34 are three standard deviations more.
            assert!(seen < 34, "shape {index}: {seen} of 400");
        }
    }
}
