//! Periods in quanta: the residual folded over powers of two.
//!
//! What the measurement does to itself recurs in quanta and not in seconds: a page of 4,096 bytes is full every 256
//! records of 16 bytes, 40 Hz at 10 kHz. Folding is coherent where a periodogram averages over windows: 5 ns every 256 quanta
//! stand out by 11 standard deviations in ten seconds.
//!
//! Each phase is compared with the one half a period away, so that a period of 10 quanta, which has a factor of two in
//! common with these, does not pass for 8; and in two halves of the data by themselves, so that a rare long loss, which
//! falls into one of them, is no period. The scatter of all phases is the measure, whatever made it.

/// Longest period: 2^12 quanta; all shorter ones follow from its table.
const MAX_PERIOD_QUANTA: usize = 1 << 12;
/// Shortest: 2^3. Below, alternating bands would show.
const SHORTEST: usize = 1 << 3;
/// Quanta of each phase in each half from which on their mean is Gaussian enough, with two halves that must agree.
const ENOUGH: f64 = 12.0;
/// Scatter of a mean that rounding to ticks alone makes, in ticks.
const ROUNDING: f64 = 0.3;
/// What one half shows at least of what both show together, as a share.
const ALIKE: f64 = 0.3;
/// Share of the loss of the phase found above which those a part of the period away lose, too: midway between nothing and all of it.
const PART: f64 = 0.5;

/// A period in quanta that stands out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Folded {
    /// Length of the period, quanta.
    pub period: usize,
    /// The quantum of each that loses, or the one half a period away.
    pub phase: usize,
    /// Ticks lost in each.
    pub ticks_per_event: f64,
    /// Standard deviations by which it stands out.
    pub deviations: f64,
    /// Natural logarithm of the p-value, corrected for phases and periods.
    pub log_p: f64,
}

/// Residuals summed over the phases of the longest period, blocks of it in turn into one of two halves.
struct Halves {
    sums: [Vec<f64>; 2],
    numbers: [Vec<f64>; 2],
}

/// The period that stands out most in some segments of a series, if its corrected p-value is below `limit`. Nothing in them is cut
/// but beyond `most` ticks.
pub fn search<'a>(
    segments: impl Iterator<Item = &'a [f32]> + Clone,
    most: f32,
    limit: f64,
) -> Option<Folded> {
    let mut halves = Halves::new(MAX_PERIOD_QUANTA);
    halves.add(segments.clone(), most);
    let mut found: Vec<Folded> = Vec::new();
    let mut period = MAX_PERIOD_QUANTA;
    let mut tried = 0.0f64;
    while period >= SHORTEST {
        if let Some(folded) = halves.levels().judge() {
            tried += 1.0;
            found.push(folded);
        }
        halves.halve();
        period /= 2;
    }
    found
        .into_iter()
        .map(|folded| Folded {
            log_p: (folded.log_p + tried.ln()).min(0.0),
            ..folded
        })
        .min_by(|a, b| a.log_p.total_cmp(&b.log_p))
        .filter(|folded| folded.log_p < limit.ln())
        .and_then(|folded| in_most(folded, segments))
}

/// What one period of any number of quanta shows, if it is not a part of it that recurs; its p-value is not corrected for how many were
/// tried.
pub fn at<'a>(
    period: usize,
    segments: impl Iterator<Item = &'a [f32]> + Clone,
    most: f32,
) -> Option<Folded> {
    let mut means = Halves::new(period);
    means.add(segments.clone(), most);
    // Means are sharper where there is only noise, medians where there is a tick as well.
    [
        means.levels(),
        Levels::of_medians(period, segments.clone(), most),
    ]
    .iter()
    .filter_map(|levels| levels.judge().filter(|folded| !levels.is_of_part(folded)))
    .filter_map(|folded| in_most(folded, segments.clone()))
    .min_by(|a, b| a.log_p.total_cmp(&b.log_p))
}

/// The same with the median loss of all its periods, if the loss is in most of them, as the deviations say, and not a sum of a few: the
/// sign test of the two phases is 0.8 times as sharp as that of their means where the loss is weak, and all signs agree where it is
/// strong.
fn in_most<'a>(folded: Folded, segments: impl Iterator<Item = &'a [f32]>) -> Option<Folded> {
    let other = (folded.phase + folded.period / 2) % folded.period;
    let mut differences: Vec<f32> = segments
        .flat_map(|segment| segment.chunks_exact(folded.period))
        .map(|period| period[folded.phase] - period[other])
        .collect();
    let signs: f64 = differences
        .iter()
        .filter(|&&difference| difference != 0.0)
        .map(|difference| f64::from(difference.signum()))
        .sum();
    let root = (differences.len() as f64).sqrt();
    let deviations = signs.abs() / root.max(1.0);
    differences.sort_by(f32::total_cmp);
    let median = differences.get(differences.len() / 2)?.abs();
    (deviations >= (0.4 * folded.deviations).min(0.7 * root)).then(|| Folded {
        ticks_per_event: f64::from(median),
        ..folded
    })
}

impl Halves {
    fn new(period: usize) -> Halves {
        Halves {
            sums: [(); 2].map(|()| vec![0.0; period]),
            numbers: [(); 2].map(|()| vec![0.0; period]),
        }
    }

    /// Adds segments, one period to one half and the next to the other. Phases are those of the segment: what a segment starts anew, such
    /// as a buffer, starts with it.
    fn add<'a>(&mut self, segments: impl Iterator<Item = &'a [f32]>, most: f32) {
        let mut periods = 0;
        for segment in segments {
            for period in segment.chunks(self.sums[0].len()) {
                let half = periods % 2;
                let tables = self.sums[half].iter_mut().zip(&mut self.numbers[half]);
                for ((sum, number), loss) in tables.zip(period) {
                    *sum += f64::from(loss.clamp(-most, most));
                    *number += 1.0;
                }
                periods += 1;
            }
        }
    }

    /// Mean residual of each phase.
    fn levels(&self) -> Levels {
        let mean = |half: usize| {
            let numbers = self.numbers[half].iter();
            let sums = self.sums[half].iter();
            sums.zip(numbers)
                .map(|(sum, number)| sum / number)
                .collect()
        };
        Levels {
            halves: [mean(0), mean(1)],
            fewest: self
                .numbers
                .iter()
                .flatten()
                .copied()
                .fold(f64::INFINITY, f64::min),
        }
    }

    fn halve(&mut self) {
        for table in self.sums.iter_mut().chain(&mut self.numbers) {
            let half = table.len() / 2;
            for phase in 0..half {
                table[phase] += table[phase + half];
            }
            table.truncate(half);
        }
    }
}

/// What the phases of a period lose, in each half of the data.
struct Levels {
    halves: [Vec<f64>; 2],
    /// Quanta of the phase that has the fewest.
    fewest: f64,
}

impl Levels {
    /// Medians: what falls into a phase every few periods only, such as a tick that has a part in common with the period, does not count.
    fn of_medians<'a>(
        period: usize,
        segments: impl Iterator<Item = &'a [f32]>,
        most: f32,
    ) -> Levels {
        let periods: Vec<&[f32]> = segments.flat_map(|one| one.chunks(period)).collect();
        let mut fewest = f64::INFINITY;
        let mut phase_of_half: Vec<f32> = Vec::new();
        let mut half = |half: usize| {
            (0..period)
                .map(|phase| {
                    let losses = periods.iter().skip(half).step_by(2);
                    phase_of_half.clear();
                    phase_of_half.extend(losses.filter_map(|losses| losses.get(phase)));
                    fewest = fewest.min(phase_of_half.len() as f64);
                    median(&mut phase_of_half).clamp(-most, most).into()
                })
                .collect()
        };
        Levels {
            halves: [half(0), half(1)],
            fewest,
        }
    }

    /// The phase that differs most from the one half a period away, in both halves alike.
    fn judge(&self) -> Option<Folded> {
        let period = self.halves[0].len();
        if self.fewest < ENOUGH {
            return None;
        }
        let differences = [0, 1].map(|half| self.differences(half));
        let scatter = differences.each_ref().map(|all| scatter(all));
        let worst = differences[0]
            .iter()
            .zip(&differences[1])
            .enumerate()
            .filter(|(_, (a, b))| a.signum() == b.signum())
            .filter(|(_, (a, b))| a.abs().min(b.abs()) >= ALIKE * a.abs().max(b.abs()))
            .map(|(phase, (a, b))| {
                let least = (a.abs() / scatter[0]).min(b.abs() / scatter[1]);
                (least, 0.5 * (a.abs() + b.abs()), phase)
            })
            .max_by(|x, y| x.0.total_cmp(&y.0))?;
        Some(Folded {
            period,
            phase: worst.2,
            ticks_per_event: worst.1,
            deviations: worst.0 * std::f64::consts::SQRT_2,
            // P(|Z| > z) <= exp(-z^2/2) in each half, for each phase that could have been the worst.
            log_p: -worst.0 * worst.0 + (pairs(period) as f64).ln(),
        })
    }

    /// Whether a part of the period is what recurs. A tick of 100 Hz is there every 700 quanta at 10 kHz, but it is every 100, too: the
    /// phases that are whole parts away from the one found lose as much. Of a true period they lose nothing.
    fn is_of_part(&self, folded: &Folded) -> bool {
        let period = folded.period;
        let [one, two] = &self.halves;
        let levels: Vec<f64> = one.iter().zip(two).map(|(a, b)| 0.5 * (a + b)).collect();
        let mut sorted = levels.clone();
        sorted.sort_by(f64::total_cmp);
        let loss = |phase: usize| levels[phase] - sorted[period / 2];
        let opposite = (folded.phase + period / 2) % period;
        let losing = if loss(folded.phase).abs() > loss(opposite).abs() {
            folded.phase
        } else {
            opposite
        };
        (2..=period / 2)
            .filter(|part| period.is_multiple_of(*part))
            .any(|part| {
                let others = (1..period / part).map(|turn| loss((losing + turn * part) % period));
                let mean = others.sum::<f64>() / (period / part - 1) as f64;
                mean / loss(losing) > PART
            })
    }

    fn differences(&self, half: usize) -> Vec<f64> {
        let levels = &self.halves[half];
        let opposite = levels.iter().cycle().skip(levels.len() / 2);
        let differences = levels.iter().zip(opposite).map(|(a, b)| a - b);
        differences.take(pairs(levels.len())).collect()
    }
}

/// Phases that are half a period apart: of an odd number of quanta each has one of its own.
fn pairs(period: usize) -> usize {
    match period % 2 {
        0 => period / 2,
        _ => period,
    }
}

/// The median, which of an even number is the mean of the two in the middle; 0 of none.
fn median(values: &mut [f32]) -> f32 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f32::total_cmp);
    let lower = below.iter().copied().max_by(f32::total_cmp);
    match lower {
        Some(lower) if even => 0.5 * (lower + upper),
        _ => upper,
    }
}

/// Standard deviation by the median size, which a few phases that stand out do not move; of a Gaussian it is 0.6745 of it.
fn scatter(differences: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = differences.iter().map(|one| one.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let median = sizes[sizes.len() / 2] / 0.6745;
    // With few phases the one that stands out is much of the scatter itself, which only makes the test blunter.
    median.max(ROUNDING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_statistics::random::Random;

    /// Noise of one tick, a loss of `loss` at each multiple of `period`, and rare long losses.
    fn residual(quanta: usize, period: usize, loss: f32, outliers: bool) -> Vec<f32> {
        let mut random = Random::new(1);
        (0..quanta)
            .map(|k| {
                let noise = 4.0 * random.unit() as f32 - 2.0;
                let long = if outliers && random.below(1000) == 0 {
                    900.0
                } else {
                    0.0
                };
                noise + long + if k % period == 0 { loss } else { 0.0 }
            })
            .collect()
    }

    #[test]
    fn a_page_is_found_with_its_loss() {
        for period in [64, 256, 1024] {
            let samples = residual(60_000, period, 20.0, false);
            let found = search(samples.chunks(16_384), f32::INFINITY, 1e-3).unwrap();
            assert_eq!(found.period, period);
            assert!(
                (found.ticks_per_event / 20.0 - 1.0).abs() < 0.2,
                "{found:?}"
            );
        }
    }

    #[test]
    fn the_last_of_an_odd_number_of_quanta_is_a_phase_as_others() {
        for period in [13, 301] {
            let samples: Vec<f32> = residual(60_000 + 1, period, 20.0, false).split_off(1);
            let segments = || samples.chunks(16_384 / period * period);
            let found = at(period, segments(), f32::INFINITY).unwrap();
            assert!(found.log_p < -50.0, "{found:?}");
        }
    }

    #[test]
    fn rare_long_losses_are_no_period() {
        for quanta in [5_000, 40_000, 100_000, 400_000] {
            let samples = residual(quanta, usize::MAX, 0.0, true);
            let found = search(samples.chunks(10_000), f32::INFINITY, 1e-3);
            assert_eq!(found, None, "{quanta}");
        }
    }

    #[test]
    fn a_tick_that_is_no_whole_number_of_quanta_is_no_page() {
        let mut samples = residual(38_885, usize::MAX, 0.0, false);
        let period = 7_777.0 / 300.0;
        for event in 0..1_500 {
            samples[(f64::from(event) * period) as usize] += 1_700.0;
        }
        assert_eq!(
            search([&samples[..]].into_iter(), f32::INFINITY, 1e-3),
            None
        );
    }

    #[test]
    fn ten_quanta_are_not_eight() {
        let samples = residual(40_000, 10, 50.0, false);
        assert_eq!(search(samples.chunks(10_000), f32::INFINITY, 1e-3), None);
    }
}
