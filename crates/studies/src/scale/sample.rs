//! What the phases of one CPU lose: tables of losses, by blocks of time for the bootstrap, and the largest losses themselves for the tail.

use super::windows::{Phase, SLOW, STARTS, Start, Windows};
use bandscope_analysis::work::Piece;
use bandscope_statistics::maxima::{bin_of, centre};
use bandscope_statistics::tail::Tail;

/// Bins on either side of 0; a loss of an hour is in bin 2,700.
const SIDE: i32 = 4096;
/// Largest losses that are kept of a CPU and a length; the tail is fitted to at most 15 % of the phases (`statistics::tail`).
const LARGEST: usize = 4000;
/// The same of all CPUs: 4 MiB, for each length and each cause that is taken away.
const LARGEST_OF_ALL: usize = 1 << 18;

/// Largest losses that are kept of each of so many CPUs.
pub(super) fn most_largest(cpus: usize) -> usize {
    (LARGEST_OF_ALL / cpus.max(1)).clamp(1, LARGEST)
}

/// What is left out of the losses, to ask what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Without {
    /// Nothing.
    Nothing,
    /// Gaps of the cause with this number.
    Cause(usize),
    /// Work slower than at the reference pace.
    Pace,
}

impl Without {
    /// The piece without that; `None` where nothing is left of it.
    fn of(self, piece: Piece) -> Option<Piece> {
        match (self, piece) {
            // A job without bandscope does not have it.
            (_, Piece::Own { .. }) => None,
            (Without::Cause(left_out), Piece::Lost { cause, .. }) if cause == left_out => None,
            (Without::Pace, Piece::Run { work_ns, .. }) => Some(Piece::Run {
                ns: work_ns,
                work_ns,
            }),
            _ => Some(piece),
        }
    }
}

/// Losses by bin, ascending, and how many phases had each.
pub(super) type Losses = Vec<(i32, u32)>;

/// Losses of the phases that ended in a stretch of time, by how they began.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub work: Losses,
    pub time: Losses,
}

/// What phases of one length lost on one CPU.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub blocks: Vec<Block>,
    /// Losses of phases that began at any time and do not overlap, with the number of their start; the largest.
    pub largest: Vec<(f64, u64)>,
    /// Whether other losses, no larger than these, were not kept.
    pub is_cut: bool,
    /// Phases that do not overlap.
    pub number: f64,
}

/// Follows phases of one length.
#[derive(Debug)]
struct Collector {
    windows: Windows,
    block_ns: f64,
    block_ends: f64,
    /// Counts of the block, by bin: of phases that began with work, and at any time.
    counts: [Vec<u32>; 2],
    /// Largest losses that are kept.
    most: usize,
    sample: Sample,
}

impl Collector {
    fn new(phase_ns: f64, block_ns: f64, most: usize) -> Collector {
        Collector {
            windows: Windows::new(phase_ns),
            block_ns,
            block_ends: block_ns,
            counts: [vec![0; 2 * SIDE as usize], vec![0; 2 * SIDE as usize]],
            most,
            sample: Sample {
                blocks: Vec::new(),
                largest: Vec::new(),
                is_cut: false,
                number: 0.0,
            },
        }
    }

    fn push(&mut self, piece: &Piece) {
        let Collector {
            windows,
            block_ns,
            block_ends,
            counts,
            most,
            sample,
        } = self;
        windows.push(piece, &mut |phase: Phase| {
            if phase.end_ns >= *block_ends {
                sample.blocks.push(taken(counts));
                // After a long absence whole blocks are empty: they are none.
                *block_ends = (phase.end_ns / *block_ns).floor() * *block_ns + *block_ns;
            }
            let place = usize::from(phase.start == Start::Time);
            let bin = (bin_of(phase.loss_ns) + SIDE).clamp(0, 2 * SIDE - 1);
            let count = &mut counts[place][bin as usize];
            *count = count.saturating_add(phase.weight);
            if phase.start == Start::Time {
                sample.number += f64::from(phase.weight) / STARTS as f64;
                if phase.loss_ns > 0.0 && phase.number.is_multiple_of(STARTS as u64) {
                    sample.largest.push((phase.loss_ns, phase.number));
                    if sample.largest.len() > 2 * *most {
                        sample.shorten(*most);
                    }
                }
            }
        });
    }

    fn finish(mut self) -> Sample {
        self.sample.blocks.push(taken(&mut self.counts));
        self.sample.shorten(self.most);
        self.sample.largest.shrink_to_fit();
        self.sample
    }
}

impl Sample {
    fn shorten(&mut self, most: usize) {
        self.is_cut |= self.largest.len() > most;
        self.largest.sort_by(|a, b| b.0.total_cmp(&a.0));
        self.largest.truncate(most);
    }
}

fn taken(counts: &mut [Vec<u32>; 2]) -> Block {
    let [work, time] = counts.each_mut().map(|counts| {
        let bins = (-SIDE..).zip(counts.iter_mut());
        bins.filter(|(_, count)| **count > 0)
            .map(|(bin, count)| (bin, std::mem::take(count)))
            .collect()
    });
    Block { work, time }
}

/// How long a CPU was away at a time, by bins of length: time in all, and times.
#[derive(Clone, Debug)]
pub(super) struct Absences {
    bins: Vec<f64>,
    /// That which goes on.
    open_ns: f64,
}

impl Absences {
    pub(super) fn new() -> Absences {
        Absences {
            bins: vec![0.0; SIDE as usize],
            open_ns: 0.0,
        }
    }

    fn push(&mut self, piece: &Piece) {
        match *piece {
            Piece::Own { .. } => {}
            Piece::Lost { ns, .. } => self.open_ns += ns,
            Piece::Run { ns, work_ns } if work_ns < SLOW * ns => self.open_ns += ns,
            _ if self.open_ns > 0.0 => {
                self.bins[bin_of(self.open_ns).clamp(0, SIDE - 1) as usize] += self.open_ns;
                self.open_ns = 0.0;
            }
            _ => {}
        }
    }

    /// With those of another CPU.
    pub(super) fn add(&mut self, other: &Absences) {
        for (own, other) in self.bins.iter_mut().zip(&other.bins) {
            *own += other;
        }
    }

    /// What waits are asked of.
    pub(super) fn lengths(&self) -> Lengths {
        let came = (0..).zip(&self.bins).filter(|(_, ns)| **ns > 0.0);
        let came: Vec<(f64, f64)> = came.map(|(bin, ns)| (centre(bin).max(1.0), *ns)).collect();
        let mut shorter_ns = vec![0.0; came.len() + 1];
        let mut longer = vec![0.0; came.len() + 1];
        for (place, (length, ns)) in came.iter().enumerate().rev() {
            longer[place] = longer[place + 1] + ns / length;
        }
        for (place, (_, ns)) in came.iter().enumerate() {
            shorter_ns[place + 1] = shorter_ns[place] + ns;
        }
        Lengths {
            lengths: came.iter().map(|one| one.0).collect(),
            shorter_ns,
            longer,
        }
    }
}

/// Lengths of absences, ascending, with sums: asked for each bin of each resample.
#[derive(Debug)]
pub(super) struct Lengths {
    /// Nanoseconds.
    lengths: Vec<f64>,
    /// Time that the absences before this one took, in nanoseconds; the last is of all.
    shorter_ns: Vec<f64>,
    /// Number of absences from this one on.
    longer: Vec<f64>,
}

impl Lengths {
    /// Share of the absent time that a rank which waits so long after its work carries into its next phase: an absence of length d that
    /// begins while it waits is still there at the end with chance min(d, wait) / d of that of a start at any time.
    pub(super) fn carried(&self, wait_ns: f64) -> f64 {
        let all = self.shorter_ns[self.lengths.len()];
        let place = self.lengths.partition_point(|length| *length <= wait_ns);
        match all > 0.0 {
            true => (self.shorter_ns[place] + wait_ns * self.longer[place]) / all,
            false => 0.0,
        }
    }
}

/// Follows one CPU, or what would be left of its losses without something.
#[derive(Debug)]
pub(super) struct Follower {
    without: Without,
    collectors: Vec<Collector>,
    absences: Absences,
}

/// What a CPU lost.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    pub without: Without,
    /// By length of phase.
    pub samples: Vec<Sample>,
    pub absences: Absences,
}

impl Follower {
    /// With phases of these lengths, of which so many of the largest losses are kept; what is left without something needs no blocks.
    pub(super) fn new(
        without: Without,
        phases_ns: &[f64],
        blocks_ns: &[f64],
        most: usize,
    ) -> Follower {
        let of = |(&phase, &block): (&f64, &f64)| {
            Collector::new(
                phase,
                if without == Without::Nothing {
                    block
                } else {
                    f64::INFINITY
                },
                most,
            )
        };
        Follower {
            without,
            collectors: phases_ns.iter().zip(blocks_ns).map(of).collect(),
            absences: Absences::new(),
        }
    }

    pub(super) fn push(&mut self, piece: Piece) {
        if let Some(piece) = self.without.of(piece) {
            self.absences.push(&piece);
            self.collectors.iter_mut().for_each(|one| one.push(&piece));
        }
    }

    pub(super) fn finish(self) -> Followed {
        Followed {
            without: self.without,
            samples: self.collectors.into_iter().map(Collector::finish).collect(),
            absences: self.absences,
        }
    }
}

/// The tail of the losses of all CPUs.
pub(super) fn tail(samples: &[&Sample], number: f64) -> Option<Tail> {
    let mut largest: Vec<(f64, usize, u64)> = Vec::new();
    for (cpu, sample) in samples.iter().enumerate() {
        largest.extend(
            sample
                .largest
                .iter()
                .map(|&(loss, number)| (loss, cpu, number)),
        );
    }
    largest.sort_by(|a, b| b.0.total_cmp(&a.0));
    // Below the shortest list's end others may be missing.
    let cut = samples.iter().filter(|sample| sample.is_cut);
    let least = cut
        .filter_map(|sample| sample.largest.last())
        .map(|one| one.0)
        .fold(f64::NEG_INFINITY, f64::max);
    largest.retain(|one| one.0 >= least);
    let values: Vec<f64> = largest.iter().map(|one| one.0).collect();
    // Phases in a row that exceed a threshold met the same absence. By such groups of unequal sizes the variance is that of fewer values, by the mean of
    // squares over the mean (Kish 1965).
    let together = |threshold: f64| {
        let exceed = largest.iter().filter(|one| one.0 > threshold);
        let mut places: Vec<(usize, u64)> = exceed.map(|one| (one.1, one.2)).collect();
        places.sort_unstable();
        let in_a_row =
            |a: &(usize, u64), b: &(usize, u64)| a.0 == b.0 && b.1 - a.1 <= STARTS as u64;
        let squares = places.chunk_by(in_a_row).map(|group| group.len().pow(2));
        squares.sum::<usize>() as f64 / places.len().max(1) as f64
    };
    Tail::new(&values, number, together)
}
