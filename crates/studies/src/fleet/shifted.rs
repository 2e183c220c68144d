//! What chance brings at once: moments of the same gaps, those of each node moved by a random time.
//!
//! Gaps of one period meet always or never, so moments do not come independently. Nodes that are moved keep how their gaps follow each other. What is asked is for how long
//! they overlap: gaps of one period that begin together do so for longer than nearly any others.

use super::at_once::{Stretch, moments};
use bandscope_statistics::random::Random;
use rayon::prelude::*;
use std::cmp::Reverse;

/// Chance that anything is found where nodes lose independently, over all causes (Bonferroni).
pub(super) const MOST_CHANCE: f64 = 0.01;
/// Moved fleets that may look as the real one does, where there is time for them: then one that is like it by chance hides nothing.
const MAX_ALIKE: usize = 3;
/// With more stretches none may: moving them takes seconds.
const MAX_STRETCHES: usize = 1 << 13;
/// Causes that are corrected for. With more, a hundred moved fleets for each take too long.
const MAX_CAUSES: usize = 8;
/// Fleets that are moved at a time, side by side.
const SIDE_BY_SIDE: usize = 16;

/// Moments by how many nodes they hit, and how long those overlap, in nanoseconds.
type Sizes = Vec<(usize, f64)>;

/// The stretches of one cause in the common time of some nodes.
pub(super) struct OfCause<'a> {
    pub(super) stretches: &'a [Stretch],
    pub(super) nodes: usize,
    pub(super) from_ns: f64,
    pub(super) to_ns: f64,
}

/// What moved fleets have.
pub(super) struct ByChance {
    /// The largest scores, descending; one more than may be alike.
    largest: Vec<f64>,
    alike: usize,
    /// Moments of all of them, by number of nodes.
    of_size: Vec<u64>,
    fleets: usize,
}

impl ByChance {
    /// Moments of so many nodes or more, on average.
    pub(super) fn number(&self, size: usize) -> f64 {
        self.of_size[size..].iter().sum::<u64>() as f64 / self.fleets as f64
    }

    /// Whether hardly any of them has such a score.
    pub(super) fn is_beyond(&self, score: f64) -> bool {
        self.largest.get(self.alike).is_none_or(|one| *one < score)
    }
}

impl OfCause<'_> {
    /// Scores by number of nodes, ascending: how far such moments overlap for longer than independent gaps would, which begin `ln_expected` such moments, as a logarithm.
    pub(super) fn scores(
        &self,
        moments: &[Vec<Stretch>],
        ln_expected: &dyn Fn(usize) -> f64,
    ) -> Vec<(usize, f64)> {
        let lengths = self.stretches.iter().map(|one| one.to_ns - one.from_ns);
        let usual_ns = lengths.sum::<f64>() / self.stretches.len().max(1) as f64;
        let mut sizes = sizes(moments);
        sizes.sort_by_key(|one| Reverse(one.0));
        let mut overlap_ns = 0.0;
        let mut scores: Vec<(usize, f64)> = sizes
            .chunk_by(|a, b| a.0 == b.0)
            .map(|alike| {
                overlap_ns += alike.iter().map(|one| one.1).sum::<f64>();
                let (number, ln) = (overlap_ns / usual_ns, ln_expected(alike[0].0));
                // The exponent of the chance that as many come by Poisson's law.
                let beyond = number > ln.exp();
                let exponent = || number * (number.ln() - ln) - number + ln.exp();
                (alike[0].0, if beyond { exponent() } else { 0.0 })
            })
            .collect();
        scores.reverse();
        scores
    }

    /// Moves the nodes, over and over; `None` as soon as chance makes such a score too often. So many causes are looked at.
    pub(super) fn by_chance(
        &self,
        score: f64,
        causes: usize,
        ln_expected: &(dyn Fn(usize) -> f64 + Sync),
    ) -> Option<ByChance> {
        let alike = match self.stretches.len() <= MAX_STRETCHES {
            true => MAX_ALIKE,
            false => 0,
        };
        let causes = causes.clamp(1, MAX_CAUSES);
        let fleets = ((alike + 1) as f64 / MOST_CHANCE) as usize * causes - 1;
        let mut found = ByChance {
            largest: Vec::new(),
            alike,
            of_size: vec![0; self.nodes + 1],
            fleets,
        };
        for first in (0..fleets).step_by(SIDE_BY_SIDE) {
            let seeds = first..(first + SIDE_BY_SIDE).min(fleets);
            let moved = seeds.into_par_iter().map(|seed| {
                let moments = moments(&self.moved(seed as u64));
                let scores = self.scores(&moments, ln_expected).into_iter();
                let score = scores.map(|one| one.1).fold(0.0, f64::max);
                (score, sizes(&moments))
            });
            for (score, sizes) in moved.collect::<Vec<_>>() {
                found.largest.push(score);
                for (size, _) in sizes {
                    found.of_size[size.min(self.nodes)] += 1;
                }
            }
            found.largest.sort_by(|a, b| b.total_cmp(a));
            found.largest.truncate(alike + 1);
            if !found.is_beyond(score) {
                return None;
            }
        }
        Some(found)
    }

    /// The stretches of each node later by a time of its own; what then lies beyond the end is at the beginning.
    fn moved(&self, seed: u64) -> Vec<Stretch> {
        let mut random = Random::new(seed);
        let all_ns = self.to_ns - self.from_ns;
        let later: Vec<f64> = (0..self.nodes).map(|_| all_ns * random.unit()).collect();
        let mut moved = Vec::with_capacity(self.stretches.len() + self.nodes);
        for one in self.stretches {
            let length_ns = one.to_ns - one.from_ns;
            let from_ns =
                self.from_ns + (one.from_ns - self.from_ns + later[one.node]).rem_euclid(all_ns);
            let to_ns = from_ns + length_ns;
            moved.push(Stretch {
                from_ns,
                to_ns: to_ns.min(self.to_ns),
                ..*one
            });
            if to_ns > self.to_ns {
                moved.push(Stretch {
                    from_ns: self.from_ns,
                    to_ns: to_ns - all_ns,
                    ..*one
                });
            }
        }
        moved
    }
}

fn sizes(moments: &[Vec<Stretch>]) -> Sizes {
    let of = |moment: &Vec<Stretch>| {
        let from = moment
            .iter()
            .map(|one| one.from_ns)
            .fold(f64::MIN, f64::max);
        let to = moment.iter().map(|one| one.to_ns).fold(f64::MAX, f64::min);
        (moment.len(), to - from)
    };
    moments.iter().map(of).collect()
}
