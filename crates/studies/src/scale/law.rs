//! The law of a phase: the distribution of what it loses on one node, and what the slowest of many nodes loses by it.

use super::sample::{Absences, Block, Losses, Sample};
use super::windows::STARTS;
use bandscope_statistics::maxima::{centre, ln_all_among};
use bandscope_statistics::random::Random;

/// The distribution on each measured CPU, over one table of bins.
#[derive(Clone, Debug)]
pub(super) struct Law {
    bins: Vec<i32>,
    cpus: Vec<OfCpu>,
}

/// Cumulative shares by bin.
#[derive(Clone, Debug)]
struct OfCpu {
    work: Vec<f64>,
    time: Vec<f64>,
    /// Phases that do not overlap.
    number: f64,
}

/// What the slowest of many loses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Settled {
    pub loss_ns: f64,
    /// Length of the losses that make it: their mean, each weighted by what it adds.
    pub typical_ns: f64,
    /// Share of its absences that a rank carries into a phase, on average.
    pub carried: f64,
}

impl Law {
    /// Of these samples, one a CPU; `drawn` chooses the blocks of each.
    pub(super) fn new(samples: &[&Sample], mut drawn: impl FnMut(usize) -> Vec<usize>) -> Law {
        let all = samples.iter().flat_map(|sample| &sample.blocks);
        let mut bins: Vec<i32> = all
            .flat_map(|block| block.work.iter().chain(&block.time))
            .map(|one| one.0)
            .collect();
        bins.sort_unstable();
        bins.dedup();
        let cpus = samples.iter().map(|sample| {
            let chosen = drawn(sample.blocks.len());
            let of = |losses: fn(&Block) -> &Losses| {
                cumulative(
                    &bins,
                    chosen.iter().map(|&block| losses(&sample.blocks[block])),
                )
            };
            let (work, time) = (of(|block| &block.work), of(|block| &block.time));
            OfCpu {
                work: work.0,
                time: time.0,
                number: time.1 / STARTS as f64,
            }
        });
        Law {
            cpus: cpus.collect(),
            bins,
        }
    }

    /// Of all that was measured.
    pub(super) fn whole(samples: &[&Sample]) -> Law {
        Law::new(samples, |blocks| (0..blocks).collect())
    }

    /// Of blocks drawn with putting back.
    pub(super) fn resampled(samples: &[&Sample], random: &mut Random) -> Law {
        Law::new(samples, |blocks| {
            (0..blocks)
                .map(|_| random.below(blocks as u64) as usize)
                .collect()
        })
    }

    /// Phases that do not overlap, of all CPUs.
    pub(super) fn number(&self) -> f64 {
        self.cpus.iter().map(|cpu| cpu.number).sum()
    }

    /// Mean loss of phases that begin where work ended.
    pub(super) fn mean(&self) -> f64 {
        let cpus = self.cpus.iter().map(|cpu| {
            let mut before = 0.0;
            let bins = self.bins.iter().zip(&cpu.work);
            bins.map(|(bin, share)| centre(*bin) * (share - std::mem::replace(&mut before, *share)))
                .sum::<f64>()
        });
        cpus.sum::<f64>() / self.cpus.len() as f64
    }

    /// Chance that the slowest of `nodes`, whose ranks carry such a share of their absences into a phase, loses no more than a bin's loss. The
    /// nodes are like the measured CPUs in equal parts, and lose independently of each other.
    fn chance(&self, place: usize, nodes: f64, carried: f64) -> f64 {
        let each = nodes / self.cpus.len() as f64;
        let of = |cpu: &OfCpu| {
            let share = (1.0 - carried) * cpu.work[place] + carried * cpu.time[place];
            ln_all_among(share * cpu.number, cpu.number, each)
        };
        self.cpus.iter().map(of).sum::<f64>().exp()
    }

    /// What is lost where no two nodes lose in one phase: the most that any dependence can cost.
    pub(super) fn slowest_exclusive(&self, nodes: f64, carried: f64) -> f64 {
        let chance = |place: usize| {
            let beyond = self
                .cpus
                .iter()
                .map(|cpu| 1.0 - (1.0 - carried) * cpu.work[place] - carried * cpu.time[place]);
            1.0 - (beyond.sum::<f64>() / self.cpus.len() as f64 * nodes).clamp(0.0, 1.0)
        };
        let mut sum = 0.0;
        self.steps(chance, |place, share| {
            sum += centre(self.bins[place]) * share
        });
        sum
    }

    /// What the slowest loses in one phase, of ranks that carry such a share of their absences into it.
    #[cfg(test)]
    pub(super) fn slowest_carrying(&self, nodes: f64, carried: f64) -> f64 {
        let mut sum = 0.0;
        self.steps(
            |place| self.chance(place, nodes, carried),
            |place, share| sum += centre(self.bins[place]) * share,
        );
        sum
    }

    /// Goes down the steps of a cumulative chance.
    fn steps(&self, chance: impl Fn(usize) -> f64, mut take: impl FnMut(usize, f64)) {
        let mut above = 1.0;
        for place in (0..self.bins.len()).rev() {
            let below = if place == 0 { 0.0 } else { chance(place - 1) };
            take(place, above - below);
            above = below;
            if above < 1e-12 {
                break;
            }
        }
    }

    /// How many separate losses of so much there were: a phase that begins with work meets each once.
    pub(super) fn events(&self, least_ns: f64) -> f64 {
        let place = self.bins.partition_point(|&bin| centre(bin) < least_ns);
        let of = |cpu: &OfCpu| {
            (1.0 - place.checked_sub(1).map_or(0.0, |place| cpu.work[place])) * cpu.number
        };
        self.cpus.iter().map(of).sum()
    }

    /// How many phases in a row meet the same loss of so much, on average, where ranks carry such a share of their absences: as many more phases
    /// that begin at any time meet it than those that begin with work.
    pub(super) fn together(&self, least_ns: f64, carried: f64) -> f64 {
        let place = self
            .bins
            .partition_point(|&bin| centre(bin) < least_ns)
            .checked_sub(1);
        let beyond = |of: fn(&OfCpu) -> &Vec<f64>| -> f64 {
            let cpus = self.cpus.iter();
            cpus.map(|cpu| (1.0 - place.map_or(0.0, |place| of(cpu)[place])) * cpu.number)
                .sum()
        };
        let (work, time) = (beyond(|cpu| &cpu.work), beyond(|cpu| &cpu.time));
        1.0 + carried * (time / work.max(1.0) - 1.0).max(0.0)
    }

    /// The slowest of `nodes` over many phases. A rank waits for as long as the slowest takes more than itself, and what it carries over from a
    /// long wait makes the next phase long: so phases are a chain, whose state is the carried share.
    pub(super) fn settle(&self, nodes: f64, absences: &Absences) -> Settled {
        let (mean, lengths) = (self.mean(), absences.lengths());
        // One node waits for nobody, and begins each phase where its work ended.
        let waits = f64::from(u8::from(nodes > 1.0));
        let carried: Vec<f64> = self
            .bins
            .iter()
            .map(|bin| waits * lengths.carried((centre(*bin) - mean).max(0.0)))
            .collect();
        let levels: Vec<Level> = (0..LEVELS)
            .map(|level| self.level(nodes, level, &carried))
            .collect();
        let mut held = [0.0; LEVELS];
        held[0] = 1.0;
        for _ in 0..MAX_ROUNDS {
            let mut next = [0.0; LEVELS];
            for (share, level) in held.iter().zip(&levels) {
                for (next, to) in next.iter_mut().zip(level.to) {
                    *next += share * to;
                }
            }
            let moved: f64 = next.iter().zip(held).map(|(a, b)| (a - b).abs()).sum();
            held = next;
            if moved < SETTLED {
                break;
            }
        }
        let sum = |of: fn(&Level) -> f64| {
            held.iter()
                .zip(&levels)
                .map(|(share, level)| share * of(level))
                .sum::<f64>()
        };
        let (loss_ns, squares) = (sum(|level| level.loss_ns), sum(|level| level.squares));
        Settled {
            loss_ns,
            typical_ns: if loss_ns > 0.0 {
                squares / loss_ns
            } else {
                0.0
            },
            carried: (0..LEVELS)
                .zip(held)
                .map(|(level, share)| carried_at(level) * share)
                .sum(),
        }
    }

    /// What the slowest loses of ranks that carry as much as this level has, and to which levels its phases lead.
    fn level(&self, nodes: f64, level: usize, carried: &[f64]) -> Level {
        let mut found = Level::default();
        self.steps(
            |place| self.chance(place, nodes, carried_at(level)),
            |place, share| {
                let loss = centre(self.bins[place]);
                found.loss_ns += loss * share;
                found.squares += loss * loss * share;
                let at = carried[place].clamp(0.0, 1.0).sqrt() * (LEVELS - 1) as f64;
                let below = (at as usize).min(LEVELS - 2);
                found.to[below] += share * (1.0 - (at - below as f64));
                found.to[below + 1] += share * (at - below as f64);
            },
        );
        found
    }
}

/// Levels of the share that is carried; what lies between two is a mixture of them.
const LEVELS: usize = 9;
/// Phases until the chain has settled, at most, and when it has.
const MAX_ROUNDS: u32 = 200;
const SETTLED: f64 = 1e-5;

/// The share of a level: closer to each other near 0, where a little more makes most of the difference.
fn carried_at(level: usize) -> f64 {
    (level as f64 / (LEVELS - 1) as f64).powi(2)
}

#[derive(Clone, Copy, Debug, Default)]
struct Level {
    loss_ns: f64,
    squares: f64,
    to: [f64; LEVELS],
}

/// Cumulative shares over `bins`, and how many there are.
fn cumulative<'a>(bins: &[i32], losses: impl Iterator<Item = &'a Losses>) -> (Vec<f64>, f64) {
    let mut counts = vec![0.0; bins.len()];
    for block in losses {
        let mut place = 0;
        for (bin, count) in block {
            place += bins[place..].partition_point(|one| one < bin);
            counts[place] += f64::from(*count);
        }
    }
    let all: f64 = counts.iter().sum();
    let mut sum = 0.0;
    for count in &mut counts {
        sum += *count;
        *count = if all > 0.0 { sum / all } else { 1.0 };
    }
    (counts, all)
}
