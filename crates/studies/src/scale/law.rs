//! The law of a phase: the distribution of what it loses on one node, and what the slowest of many nodes loses by it.

use super::sample::{Block, Lengths, Losses, Sample};
use super::windows::STARTS;
use bandscope_statistics::maxima::{Choices, centre};
use bandscope_statistics::random::Random;
use std::sync::Arc;

/// The distribution on each measured CPU, over one table of bins.
#[derive(Clone, Debug)]
pub(super) struct Law {
    bins: Arc<Bins>,
    cpus: Vec<OfCpu>,
    /// By bin: the level to which a phase leads whose slowest loses so much; levels between two are mixtures of them.
    leads_to: Vec<f64>,
}

/// Bins into which any phase fell.
#[derive(Debug)]
struct Bins {
    first: i32,
    /// Losses of the bins, ascending.
    losses_ns: Vec<f64>,
    /// Place of each bin among them, from the first to the last; others have that of the next.
    places: Vec<usize>,
}

impl Bins {
    fn of(samples: &[&Sample]) -> Bins {
        let all = samples.iter().flat_map(|sample| &sample.blocks);
        let mut bins: Vec<i32> = all
            .flat_map(|block| block.work.iter().chain(&block.time))
            .map(|one| one.0)
            .collect();
        bins.sort_unstable();
        bins.dedup();
        let first = bins.first().copied().unwrap_or_default();
        let mut places = Vec::new();
        for (place, bin) in bins.iter().enumerate() {
            places.resize((bin - first) as usize + 1, place);
        }
        Bins {
            first,
            losses_ns: bins.into_iter().map(centre).collect(),
            places,
        }
    }

    /// Cumulative shares of blocks, each so many times, and how many losses there are.
    fn cumulative<'a>(&self, blocks: impl Iterator<Item = (&'a Losses, f64)>) -> (Vec<f64>, f64) {
        let mut counts = vec![0.0; self.losses_ns.len()];
        for (losses, times) in blocks.filter(|block| block.1 > 0.0) {
            for (bin, count) in losses {
                counts[self.places[(bin - self.first) as usize]] += times * f64::from(*count);
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
    /// Of these samples, one a CPU; `drawn` says how many times each of so many blocks counts.
    fn new(
        bins: &Arc<Bins>,
        samples: &[&Sample],
        absences: &Lengths,
        mut drawn: impl FnMut(usize) -> Vec<f64>,
    ) -> Law {
        let cpus = samples.iter().map(|sample| {
            let times = drawn(sample.blocks.len());
            let of = |losses: fn(&Block) -> &Losses| {
                bins.cumulative(sample.blocks.iter().map(losses).zip(times.iter().copied()))
            };
            let (work, time) = (of(|block| &block.work), of(|block| &block.time));
            OfCpu {
                work: work.0,
                time: time.0,
                number: time.1 / STARTS as f64,
            }
        });
        let mut law = Law {
            cpus: cpus.collect(),
            bins: Arc::clone(bins),
            leads_to: Vec::new(),
        };
        let mean = law.mean();
        let carried = (bins.losses_ns.iter()).map(|loss| absences.carried((loss - mean).max(0.0)));
        law.leads_to = carried.map(level_of).collect();
        law
    }

    /// Of all that was measured, with such absences.
    pub(super) fn whole(samples: &[&Sample], absences: &Lengths) -> Law {
        let bins = Arc::new(Bins::of(samples));
        Law::new(&bins, samples, absences, |blocks| vec![1.0; blocks])
    }

    /// Of blocks drawn with putting back, of the samples and absences that this law is of.
    pub(super) fn resampled(
        &self,
        samples: &[&Sample],
        absences: &Lengths,
        random: &mut Random,
    ) -> Law {
        Law::new(&self.bins, samples, absences, |blocks| {
            let mut times = vec![0.0; blocks];
            (0..blocks).for_each(|_| times[random.below(blocks as u64) as usize] += 1.0);
            times
        })
    }

    /// The same, as if a recording without end had said so: draws are then made with putting back.
    pub(super) fn endless(&self) -> Law {
        let mut law = self.clone();
        law.cpus.iter_mut().for_each(|cpu| cpu.number *= ENDLESS);
        law
    }

    /// Phases that do not overlap, of all CPUs.
    pub(super) fn number(&self) -> f64 {
        self.cpus.iter().map(|cpu| cpu.number).sum()
    }

    /// Mean loss of phases that begin where work ended.
    pub(super) fn mean(&self) -> f64 {
        let cpus = self.cpus.iter().map(|cpu| {
            let mut before = 0.0;
            let losses = self.bins.losses_ns.iter().zip(&cpu.work);
            losses
                .map(|(loss, share)| loss * (share - std::mem::replace(&mut before, *share)))
                .sum::<f64>()
        });
        cpus.sum::<f64>() / self.cpus.len() as f64
    }

    /// Draws of each CPU for so many nodes, which are like the CPUs in equal parts.
    fn draws(&self, nodes: f64) -> Draws {
        let each = (nodes / self.cpus.len() as f64).max(1.0);
        let cpus = self.cpus.iter();
        Draws {
            of_cpus: cpus.map(|cpu| Choices::new(cpu.number, each)).collect(),
            nodes,
        }
    }

    /// By bin, asked downwards: the chance that the slowest of ranks that carry such a share of their absences into a phase loses no more than
    /// that. They lose independently of each other.
    fn chances(&self, draws: &Draws, carried: f64) -> impl FnMut(usize) -> f64 {
        // Far up only one CPU of many has a loss in a bin; the others' chances are those of the bin before.
        let mut last = vec![(f64::NAN, 0.0); draws.of_cpus.len()];
        move |place| {
            for ((cpu, draws), last) in self.cpus.iter().zip(&draws.of_cpus).zip(&mut last) {
                let share = (1.0 - carried) * cpu.work[place] + carried * cpu.time[place];
                if share != last.0 {
                    *last = (share, draws.ln_all_among(share * cpu.number));
                }
            }
            draws.chance(&last)
        }
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
            sum += self.bins.losses_ns[place] * share
        });
        sum
    }

    /// What the slowest loses in one phase, of ranks that carry such a share of their absences into it.
    #[cfg(test)]
    pub(super) fn slowest_carrying(&self, nodes: f64, carried: f64) -> f64 {
        let mut sum = 0.0;
        self.steps(self.chances(&self.draws(nodes), carried), |place, share| {
            sum += self.bins.losses_ns[place] * share
        });
        sum
    }

    /// Goes down the steps of a cumulative chance.
    fn steps(&self, mut chance: impl FnMut(usize) -> f64, mut take: impl FnMut(usize, f64)) {
        let mut above = 1.0;
        for place in (0..self.bins.losses_ns.len()).rev() {
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
        let place = self.bins.losses_ns.partition_point(|loss| *loss < least_ns);
        let of = |cpu: &OfCpu| {
            (1.0 - place.checked_sub(1).map_or(0.0, |place| cpu.work[place])) * cpu.number
        };
        self.cpus.iter().map(of).sum()
    }

    /// The slowest of `nodes` over many phases. A rank waits for as long as the slowest takes more than itself, and what it carries over from a
    /// long wait makes the next phase long: so phases are a chain, whose state is the carried share.
    pub(super) fn settle(&self, nodes: f64) -> Settled {
        let draws = self.draws(nodes);
        // One node waits for nobody, and begins each phase where its work ended.
        let waits = f64::from(u8::from(nodes > 1.0));
        let levels: Vec<Level> = (0..LEVELS)
            .map(|level| self.level(&draws, level, waits))
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
    fn level(&self, draws: &Draws, level: usize, waits: f64) -> Level {
        let mut found = Level::default();
        self.steps(self.chances(draws, carried_at(level)), |place, share| {
            let loss = self.bins.losses_ns[place];
            found.loss_ns += loss * share;
            found.squares += loss * loss * share;
            let at = waits * self.leads_to[place];
            let below = (at as usize).min(LEVELS - 2);
            found.to[below] += share * (1.0 - (at - below as f64));
            found.to[below + 1] += share * (at - below as f64);
        });
        found
    }
}

/// Draws for a number of nodes, by CPU.
struct Draws {
    of_cpus: Vec<Choices>,
    nodes: f64,
}

impl Draws {
    /// Chance that no node exceeds something, by the logarithm of that of each CPU's draws, the second of each pair.
    fn chance(&self, cpus: &[(f64, f64)]) -> f64 {
        // Of fewer nodes than CPUs each is like any CPU of its part of them.
        let width = cpus.len() as f64 / self.nodes;
        if width <= 1.0 {
            return cpus.iter().map(|cpu| cpu.1).sum::<f64>().exp();
        }
        let nodes = (0..self.nodes as usize).map(|node| {
            let (from, to) = (node as f64 * width, (node + 1) as f64 * width);
            let part = from as usize..(to.ceil() as usize).min(cpus.len());
            let of_part = part.map(|cpu| {
                let share = (cpu as f64 + 1.0).min(to) - (cpu as f64).max(from);
                share * cpus[cpu].1.exp()
            });
            of_part.sum::<f64>() / width
        });
        nodes.product()
    }
}

/// So many times as long a recording has no end.
const ENDLESS: f64 = 1e9;
/// Levels of the share that is carried; what lies between two is a mixture of them.
const LEVELS: usize = 9;
/// Phases until the chain has settled, at most, and when it has.
const MAX_ROUNDS: u32 = 200;
const SETTLED: f64 = 1e-5;

/// The share of a level: closer to each other near 0, where a little more makes most of the difference.
fn carried_at(level: usize) -> f64 {
    (level as f64 / (LEVELS - 1) as f64).powi(2)
}

/// The level of a share, as [`carried_at`] has them.
fn level_of(carried: f64) -> f64 {
    carried.clamp(0.0, 1.0).sqrt() * (LEVELS - 1) as f64
}

#[derive(Clone, Copy, Debug, Default)]
struct Level {
    loss_ns: f64,
    squares: f64,
    to: [f64; LEVELS],
}
