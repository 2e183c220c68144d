//! The tail beyond what was seen: a generalised Pareto distribution of what exceeds a threshold (Pickands 1975).
//!
//! Maximum likelihood by Grimshaw's reduction to one parameter (1993); the threshold is the lowest of a grid at which Anderson and Darling's
//! test finds nothing; intervals are of profile likelihood.

use crate::distributions::ln_gamma;

/// Fewest exceedances that are fitted: intervals of fewer say little, and the test finds nothing.
pub const MIN_EXCEEDANCES: usize = 50;
/// Shares of a sample that may be its tail, largest first.
const SHARES: [f64; 11] = [
    0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.005, 0.003, 0.002, 0.001,
];
/// Fewest of them that do not belong together.
const MIN_APART: f64 = 20.0;
/// Half of the quantile of 95 % of chi-square with 1 degree of freedom.
const HALF_CHI_SQUARE_95: f64 = 1.920_73;
/// Of Anderson and Darling's statistic, when both parameters are estimated: its quantile of 90 % at this shape. Simulated: the test beside it does it
/// again.
const CRITICAL: [(f64, f64); 6] = [
    (-0.4, 0.92),
    (-0.2, 0.85),
    (0.0, 0.79),
    (0.25, 0.72),
    (0.5, 0.69),
    (1.0, 0.65),
];
/// Shapes that are tried: below -1/2 the likelihood has no regular maximum, from 1 on there is no mean.
const SHAPES: std::ops::RangeInclusive<f64> = -0.5..=1.5;

/// A fitted tail.
#[derive(Clone, Debug, PartialEq)]
pub struct Tail {
    /// What is exceeded.
    pub threshold: f64,
    /// Share of the values that exceed it.
    pub rate: f64,
    /// Shape: 0 for an exponential tail, above for a heavier one.
    pub shape: f64,
    /// Scale, of the values' unit.
    pub scale: f64,
    /// Exceedances, those that come together counted once.
    pub apart: f64,
    /// What else the data allow, with 95 %.
    allowed: Vec<Allowed>,
}

/// A tail that the data allow.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Allowed {
    shape: f64,
    scale: f64,
    /// How far the rate may be off as well, as a share of it.
    rate_spread: f64,
}

impl Tail {
    /// The tail of a sample of `number` values, of which the largest are `values`, descending; `together` of a neighbourhood come from one event.
    /// `None` where no threshold leaves a tail that is a generalised Pareto distribution: of values that are steps of something, or too few.
    pub fn new(values: &[f64], number: f64, together: impl Fn(f64) -> f64) -> Option<Tail> {
        let counts = SHARES.iter().map(|share| (share * number) as usize);
        counts
            .filter(|count| *count >= MIN_EXCEEDANCES && *count < values.len())
            .find_map(|count| {
                let threshold = values[count];
                let mut excesses: Vec<f64> = values[..count]
                    .iter()
                    .map(|value| value - threshold)
                    .collect();
                excesses.reverse();
                let (shape, scale) = fit(&excesses)?;
                // Of values that come together the statistic grows with their number, as if each were as many.
                let together = together(threshold).max(1.0);
                if (count as f64) < MIN_APART * together {
                    return None;
                }
                if anderson_darling(&excesses, shape, scale) / together > critical(shape) {
                    return None;
                }
                let apart = count as f64 / together;
                let allowed = allowed(&excesses, shape / scale, together).into_iter();
                let allowed = allowed.map(|one| {
                    let (shape, scale) = unbiased(one.shape, one.scale, apart);
                    Allowed {
                        shape,
                        scale,
                        ..one
                    }
                });
                let (shape, scale) = unbiased(shape, scale, apart);
                Some(Tail {
                    threshold,
                    rate: count as f64 / number,
                    shape,
                    scale,
                    apart,
                    allowed: allowed.collect(),
                })
            })
    }

    /// What the largest of `draws` is expected to be, where `draws` times [`Tail::rate`] is well above 1; infinite where the tail has no mean.
    pub fn expected_maximum(&self, draws: f64) -> f64 {
        self.threshold + expected(self.shape, self.scale, self.rate * draws)
    }

    /// The interval of that by profile likelihood, 95 %: of all shapes, scales and rates that the data allow, the least and the most.
    pub fn interval(&self, draws: f64) -> (f64, f64) {
        let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
        for one in &self.allowed {
            for rate in [
                self.rate * (1.0 - one.rate_spread).max(0.1),
                self.rate * (1.0 + one.rate_spread),
            ] {
                let end = self.threshold + expected(one.shape, one.scale, rate * draws);
                ends = (ends.0.min(end), ends.1.max(end));
            }
        }
        ends
    }
}

/// Mean of the largest of a Poisson number of exceedances, above the threshold (its expectation `number` well above 1).
fn expected(shape: f64, scale: f64, number: f64) -> f64 {
    if shape >= 1.0 {
        return f64::INFINITY;
    }
    if shape.abs() < 1e-6 {
        // Euler's constant.
        return scale * (number.ln() + 0.577_215_664_901_532_9);
    }
    scale / shape * ((shape * number.ln() + ln_gamma(1.0 - shape)).exp() - 1.0)
}

/// The likeliest tail of those with one quotient theta of shape and scale: of those the shape follows from theta (Grimshaw 1993).
#[derive(Clone, Copy, Debug)]
struct Likeliest {
    shape: f64,
    scale: f64,
    /// Logarithm of the likelihood, for each excess.
    ln_likelihood: f64,
}

impl Likeliest {
    /// `None` where the shape is outside of [`SHAPES`].
    fn new(excesses: &[f64], mean: f64, theta: f64) -> Option<Likeliest> {
        let (shape, scale) = if theta.abs() * mean < 1e-6 {
            (0.0, mean)
        } else {
            // Products of few numbers overflow nowhere, and save most of the logarithms.
            let products = excesses.chunks(8).map(|excesses| {
                let factors = excesses.iter().map(|excess| 1.0 + theta * excess);
                factors.product::<f64>().ln()
            });
            let shape = products.sum::<f64>() / excesses.len() as f64;
            (shape, shape / theta)
        };
        SHAPES.contains(&shape).then(|| Likeliest {
            shape,
            scale,
            ln_likelihood: -scale.ln() - shape - 1.0,
        })
    }
}

fn mean_of(excesses: &[f64]) -> f64 {
    excesses.iter().sum::<f64>() / excesses.len() as f64
}

/// Shape and scale of the highest likelihood; `None` where all are alike, or the best shape is outside of [`SHAPES`].
fn fit(excesses: &[f64]) -> Option<(f64, f64)> {
    let (mean, most) = (mean_of(excesses), *excesses.last()?);
    if !(mean > 0.0 && most.is_finite()) {
        return None;
    }
    // theta from where the largest value is just possible to tails far heavier than any with a mean.
    let (least, last) = (-1.0 / most, 50.0 / mean);
    let steps = 200;
    let at = |step: f64| {
        let part = step / f64::from(steps);
        Likeliest::new(excesses, mean, least + (last - least) * part * part * part)
    };
    let score = |step: f64| at(step).map_or(f64::NEG_INFINITY, |one| one.ln_likelihood);
    let scores = (1..=steps).map(|step| (score(f64::from(step)), f64::from(step)));
    let best = scores.max_by(|a, b| a.0.total_cmp(&b.0))?.1;
    let (mut low, mut high) = (best - 1.0, best + 1.0);
    for _ in 0..40 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        match score(a) < score(b) {
            true => low = a,
            false => high = b,
        }
    }
    at(f64::midpoint(low, high)).map(|found| (found.shape, found.scale))
}

/// The likeliest shape and scale of so many excesses without their bias, to its first order (Giles, Feng and Godwin 2016, by Cox and Snell 1968): the
/// likeliest tail is too short. The bias has a pole at a shape of -1/3; from a shape of -1/6 down its denominator stays what it is there.
fn unbiased(shape: f64, scale: f64, excesses: f64) -> (f64, f64) {
    let all = excesses * (1.0 + 3.0 * shape).max(0.5);
    let longer = (1.0 + shape) * (3.0 + shape) / all;
    let narrower = (3.0 + 5.0 * shape + 4.0 * shape * shape) / all;
    (shape + longer, scale * (1.0 - narrower))
}

/// Tails whose likelihood is so near that of the best, which has the quotient `best` of shape and scale. A grid of shapes and scales would not do: many
/// excesses allow less than any fixed step.
fn allowed(excesses: &[f64], best: f64, together: f64) -> Vec<Allowed> {
    let (count, mean) = (excesses.len() as f64, mean_of(excesses));
    let most = excesses.last().copied().unwrap_or(mean);
    // For each excess; those that belong together count as one.
    let drop = HALF_CHI_SQUARE_95 * together / count;
    let at = |theta: f64| Likeliest::new(excesses, mean, theta);
    let Some(highest) = at(best).map(|one| one.ln_likelihood) else {
        return Vec::new();
    };
    let left = |one: &Likeliest| drop - (highest - one.ln_likelihood);
    let is_allowed = |theta: f64| at(theta).is_some_and(|one| left(&one) >= 0.0);
    // Where the likelihood leaves what is allowed, between the best and there.
    let end = |mut outside: f64| {
        let mut inside = best;
        for _ in 0..24 {
            let middle = f64::midpoint(inside, outside);
            match is_allowed(middle) {
                true => inside = middle,
                false => outside = middle,
            }
        }
        inside
    };
    let (low, high) = (end(-1.0 / most), end(best.max(0.0) + MAX_THETA_STEP / mean));
    let thetas = (-THETAS..=THETAS).map(|step| {
        let end = if step < 0 { low } else { high };
        best + (end - best) * f64::from(step.abs()) / f64::from(THETAS)
    });
    thetas
        .filter_map(at)
        .flat_map(|one| {
            let left = left(&one).max(0.0);
            (-FACTORS..=FACTORS).filter_map(move |step| {
                // With theta fixed, a shape and a scale 1 / factor of the likeliest cost factor - 1 - ln factor.
                let factor = factor_that_costs(left, f64::from(step) / f64::from(FACTORS));
                let rest = (left - (factor - 1.0 - factor.ln())).max(0.0);
                let shape = one.shape / factor;
                SHAPES.contains(&shape).then(|| Allowed {
                    shape,
                    scale: one.scale / factor,
                    // What the likelihood of shape and scale leaves is for the rate, whose count is nearly Poisson's.
                    rate_spread: (2.0 * rest).sqrt(),
                })
            })
        })
        .collect()
}

/// Tails that are tried on either side of the best: quotients of shape and scale, and factors of both.
const THETAS: i32 = 20;
const FACTORS: i32 = 8;
/// How far a quotient may be above the best, as a multiple of 1 / mean; as far as [`fit`] looks.
const MAX_THETA_STEP: f64 = 50.0;

/// The factor that lies at such a part, -1 to 1, of the way from 1 to the one that costs so much: factor - 1 - ln factor is the cost.
fn factor_that_costs(cost: f64, part: f64) -> f64 {
    // Newton's method from the first term of the series; the function is convex.
    let mut factor = (part.signum() * (2.0 * cost).sqrt()).exp();
    for _ in 0..20 {
        let slope = 1.0 - 1.0 / factor;
        if slope.abs() > 1e-9 {
            factor -= (factor - 1.0 - factor.ln() - cost) / slope;
        }
    }
    1.0 + (factor - 1.0) * part.abs()
}

/// Anderson and Darling's statistic (1952) of ascending `excesses`.
fn anderson_darling(excesses: &[f64], shape: f64, scale: f64) -> f64 {
    let count = excesses.len();
    // Logarithm of the share that exceeds a value.
    let beyond = |excess: f64| match shape.abs() < 1e-6 {
        true => -excess / scale,
        false => -(shape * excess / scale).ln_1p() / shape,
    };
    let mut sum = 0.0;
    for (place, excess) in excesses.iter().enumerate() {
        let below = (-beyond(*excess).exp_m1()).max(1e-300).ln();
        let other = beyond(excesses[count - 1 - place]).max(-700.0);
        sum += (2 * place + 1) as f64 * (below + other);
    }
    -(count as f64) - sum / count as f64
}

fn critical(shape: f64) -> f64 {
    let place = CRITICAL
        .partition_point(|(at, _)| *at <= shape)
        .clamp(1, CRITICAL.len() - 1);
    let ((from, low), (to, high)) = (CRITICAL[place - 1], CRITICAL[place]);
    low + (high - low) * ((shape - from) / (to - from)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests;
