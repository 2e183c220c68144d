//! The paces that the pieces of one level keep to: modes of their cycles per operation.

use serde::Serialize;

/// A pace that recurs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct State {
    /// Cycles per operation, where its pieces are densest.
    pub cycles: f64,
    /// Share of the pieces.
    pub share: f64,
}

/// Width of a bin, as a ratio: a fifth of what tells two states apart.
const BIN: f64 = 0.01;
/// States are at least this far apart, as bands are (docs/method.md, section 8.4).
const APART: f64 = 0.05;
/// Between two states there are fewer pieces than this share of what the rarer has at its peak.
const VALLEY: f64 = 0.5;
/// Bins are smoothed with a triangle that reaches so far either way: pieces of one state scatter by a percent or two.
const REACH: usize = 3;

/// The states of some pieces, fastest first, those of a share of `smallest` and more.
pub fn states(cycles: &[f64], smallest: f64) -> Vec<State> {
    let mut sorted = cycles.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(density) = Density::of(&sorted) else {
        return Vec::new();
    };
    let all = sorted.len() as f64;
    let mut states = Vec::new();
    let mut from = 0;
    for Peak { pace, until } in density.peaks() {
        let end = sorted.partition_point(|&value| value < until);
        let pieces = &sorted[from..end];
        if pieces.len() as f64 >= smallest * all && !pieces.is_empty() {
            states.push(State {
                cycles: around(pace, pieces).unwrap_or(pieces[pieces.len() / 2]),
                share: pieces.len() as f64 / all,
            });
        }
        from = end;
    }
    states
}

/// Median of the pieces as near to the peak as the smoothing reaches.
fn around(peak: f64, sorted: &[f64]) -> Option<f64> {
    let reach = (REACH as f64 * BIN).exp();
    let from = sorted.partition_point(|&value| value < peak / reach);
    let until = sorted.partition_point(|&value| value <= peak * reach);
    sorted[from..until].get((until - from) / 2).copied()
}

/// Where pieces are dense.
struct Peak {
    pace: f64,
    /// The valley behind it; of the last one, above all.
    until: f64,
}

/// Pieces by the logarithm of their pace.
struct Density {
    lowest: f64,
    bins: Vec<f64>,
}

impl Density {
    /// `None` for no pieces.
    fn of(sorted: &[f64]) -> Option<Density> {
        let (first, last) = (sorted.first()?.ln(), sorted.last()?.ln());
        // Six powers of ten are more than any pace spans.
        let number = (((last - first) / BIN) as usize).min(1400) + 1;
        let mut counts = vec![0.0; number + 2 * REACH];
        for value in sorted {
            let bin = ((value.ln() - first) / BIN) as usize;
            counts[bin.min(number - 1) + REACH] += 1.0;
        }
        let smooth = |index: usize| -> f64 {
            let reach = index.saturating_sub(REACH)..(index + REACH + 1).min(counts.len());
            reach
                .map(|at| counts[at] * (REACH + 1 - at.abs_diff(index)) as f64)
                .sum()
        };
        Some(Density {
            lowest: first - REACH as f64 * BIN,
            bins: (0..counts.len()).map(smooth).collect(),
        })
    }

    fn peaks(&self) -> Vec<Peak> {
        let mut peaks = Vec::new();
        // The peak so far, and the lowest bin since.
        let (mut peak, mut low) = (0, 0);
        for (index, &bin) in self.bins.iter().enumerate() {
            let is_valley = self.bins[low] < VALLEY * self.bins[peak].min(bin);
            if is_valley && (index - peak) as f64 * BIN > APART {
                peaks.push(Peak {
                    pace: self.pace(peak),
                    until: self.pace(low),
                });
                (peak, low) = (index, index);
            } else if bin > self.bins[peak] {
                (peak, low) = (index, index);
            } else if bin < self.bins[low] {
                low = index;
            }
        }
        peaks.push(Peak {
            pace: self.pace(peak),
            until: f64::INFINITY,
        });
        peaks
    }

    fn pace(&self, index: usize) -> f64 {
        (self.lowest + (index as f64 + 0.5) * BIN).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many pieces around a pace, one percent either way.
    fn pieces_around(cycles: f64, number: usize) -> impl Iterator<Item = f64> {
        (0..number)
            .map(move |index| cycles * (1.0 + 0.01 * ((index * 7919 % 201) as f64 / 100.0 - 1.0)))
    }

    #[test]
    fn paces_that_recur_are_states_and_accidents_are_not() {
        let mut pieces: Vec<f64> = pieces_around(3.03, 600)
            .chain(pieces_around(1.0, 300))
            .collect();
        // Interrupted pieces, anywhere above.
        pieces.extend((0..30).map(|index| 3.2 + f64::from(index)));
        let states = states(&pieces, 0.05);
        assert_eq!(states.len(), 2, "{states:?}");
        assert!((states[0].cycles - 1.0).abs() < 0.01 && (states[1].cycles - 3.03).abs() < 0.03);
        assert!((states[0].share - 300.0 / 930.0).abs() < 1e-9, "{states:?}");
    }

    #[test]
    fn one_pace_however_wide_is_one_state() {
        for width in [0.0, 0.02, 0.3] {
            let pieces: Vec<f64> = (0..500)
                .map(|index| 0.7 * (1.0 + width * f64::from(index) / 500.0))
                .collect();
            assert_eq!(states(&pieces, 0.05).len(), 1, "{width}");
        }
        assert!(states(&[], 0.05).is_empty());
        assert_eq!(states(&[2.0], 0.05)[0].cycles, 2.0);
    }
}
