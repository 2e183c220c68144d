//! Against brute force: as many ranks as a job has, each with its own noise, go from wait to wait. Nothing of the method is in it.

use super::sample::{Followed, Follower, Without};
use super::*;
use bandscope_analysis::work::Piece;
use bandscope_statistics::random::Random;

/// Noise of a known law, times in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Noise {
    name: &'static str,
    /// Mean time from the end of an absence to the next, or the period.
    every: f64,
    /// Length of an absence, or its mean.
    length: f64,
    periodic: bool,
    /// Whether lengths are exponential.
    scattered: bool,
}

const RARE: Noise = Noise {
    name: "rare and long",
    every: 1e9,
    length: 5e6,
    periodic: false,
    scattered: true,
};
const FREQUENT: Noise = Noise {
    name: "frequent and short",
    every: 1e6,
    length: 25e3,
    periodic: false,
    scattered: true,
};
const PERIODIC: Noise = Noise {
    name: "periodic",
    every: 1e7,
    length: 250e3,
    periodic: true,
    scattered: false,
};

/// One rank: its next absence.
struct Rank {
    noise: Noise,
    next: f64,
    length: f64,
}

impl Rank {
    fn new(noise: Noise, random: &mut Random) -> Rank {
        let next = if noise.periodic {
            random.unit() * noise.every
        } else {
            exponential(noise.every, random)
        };
        let mut rank = Rank {
            noise,
            next,
            length: 0.0,
        };
        rank.length = rank.draw(random);
        rank
    }

    fn draw(&self, random: &mut Random) -> f64 {
        if self.noise.scattered {
            exponential(self.noise.length, random)
        } else {
            self.noise.length
        }
    }

    fn go_on(&mut self, random: &mut Random) {
        self.next += match self.noise.periodic {
            true => self.noise.every,
            false => self.length + exponential(self.noise.every, random),
        };
        self.length = self.draw(random);
    }

    /// When work that begins at `time` is done.
    fn work(&mut self, mut time: f64, mut work: f64, random: &mut Random) -> f64 {
        loop {
            if self.next > time {
                if self.next - time >= work {
                    return time + work;
                }
                work -= self.next - time;
            }
            time = time.max(self.next + self.length);
            self.go_on(random);
        }
    }
}

fn exponential(mean: f64, random: &mut Random) -> f64 {
    -mean * (1.0 - random.unit()).ln()
}

/// How much longer phases take on so many ranks: the mean of several jobs, as periodic noise keeps for a whole job the phases that it began with.
fn brute_force(noise: Noise, phase: f64, nodes: usize, phases: usize, random: &mut Random) -> f64 {
    let jobs = if noise.periodic { 40 } else { 1 };
    let of_jobs = (0..jobs).map(|_| one_job(noise, phase, nodes, phases / jobs, random));
    of_jobs.sum::<f64>() / jobs as f64
}

/// Of one job. Phases of the beginning, when all start at once, are left out.
fn one_job(noise: Noise, phase: f64, nodes: usize, phases: usize, random: &mut Random) -> f64 {
    let mut ranks: Vec<Rank> = (0..nodes).map(|_| Rank::new(noise, random)).collect();
    let (mut time, mut from) = (0.0, 0.0);
    for number in 0..phases + phases / 10 {
        if number == phases / 10 {
            from = time;
        }
        time = ranks
            .iter_mut()
            .map(|rank| rank.work(time, phase, random))
            .fold(time, f64::max);
    }
    (time - from) / (phases as f64 * phase) - 1.0
}

/// A recording of so long, and what is said of it.
fn said(
    noise: Noise,
    seconds: f64,
    phases_s: &[f64],
    nodes: &[u64],
    random: &mut Random,
) -> Vec<Phase> {
    let phases_ns: Vec<f64> = phases_s.iter().map(|phase| phase * 1e9).collect();
    let blocks: Vec<f64> = phases_ns
        .iter()
        .map(|phase| (seconds * 1e9 / BLOCKS).max(PHASES_A_BLOCK * phase))
        .collect();
    let mut follower = Follower::new(Without::Nothing, &phases_ns, &blocks);
    let (mut rank, mut time) = (Rank::new(noise, random), 0.0);
    follower.push(Piece::Break);
    while time < seconds * 1e9 {
        let ns = (rank.next - time).max(0.0);
        follower.push(Piece::Run { ns, work_ns: ns });
        follower.push(Piece::Lost {
            ns: rank.length,
            cause: 0,
        });
        time = rank.next + rank.length;
        rank.go_on(random);
    }
    let followed: Vec<Followed> = vec![follower.finish()];
    let settings = Settings {
        nodes: nodes.to_vec(),
        phases_s: phases_s.to_vec(),
    };
    phases(&[followed], &settings, seconds, &|_| String::new())
}

/// What came of many recordings against the truth of one job.
#[derive(Debug)]
struct Held {
    /// Intervals that hold the truth, and all.
    held: usize,
    given: usize,
    refused: usize,
    /// Median of how far off the slow-down is, as a share of it.
    median_error: f64,
}

fn hold(noise: Noise, seconds: f64, phase_s: f64, nodes: u64, truth: f64, rounds: usize) -> Held {
    let mut random = Random::new(nodes + seconds as u64);
    let (mut errors, mut held) = (Vec::new(), 0);
    for _ in 0..rounds {
        let phases = said(noise, seconds, &[phase_s], &[nodes], &mut random);
        let Some(cost) = phases[0].cells[0].cost else {
            continue;
        };
        errors.push(((1.0 + cost.longer) / (1.0 + truth) - 1.0).abs());
        held += usize::from((cost.interval.0..=cost.interval.1).contains(&truth));
    }
    errors.sort_by(f64::total_cmp);
    Held {
        held,
        given: errors.len(),
        refused: rounds - errors.len(),
        median_error: errors.get(errors.len() / 2).copied().unwrap_or(f64::NAN),
    }
}

#[test]
fn brute_force_says_the_same() {
    let mut random = Random::new(1);
    for (noise, seconds, phase_s, nodes) in [
        (RARE, 60.0, 1e-3, 64),
        (FREQUENT, 2.0, 1e-3, 256),
        (PERIODIC, 5.0, 1e-3, 16),
    ] {
        let truth = brute_force(noise, phase_s * 1e9, nodes as usize, 4000, &mut random);
        let held = hold(noise, seconds, phase_s, nodes, truth, 10);
        println!("{}: {truth} {held:?}", noise.name);
        // Of periodic noise the interval holds what the sample leaves open, which is nothing, and not what the chain of phases leaves out: the
        // phases of a job that has such noise stay where they are.
        let holds = noise.periodic || held.held + 2 >= held.given;
        assert!(
            held.given >= 8 && holds && held.median_error < 0.05,
            "{}: {truth} {held:?}",
            noise.name
        );
    }
}

/// The table of docs/scale.md: half an hour of one CPU with optimisation.
#[test]
#[ignore = "takes minutes: .ci/full scale"]
fn intervals_hold_what_brute_force_finds() {
    let mut random = Random::new(2);
    println!("noise, seconds, phase, nodes, truth, held of given, refused, median error");
    for (noise, seconds) in [(RARE, 60.0), (FREQUENT, 10.0), (PERIODIC, 10.0)] {
        for phase_s in [1e-4, 1e-3, 1e-2] {
            for nodes in [1, 16, 256, 2048, 10_000] {
                let phases = ((4e8 * 1e-3 / phase_s) as usize / nodes as usize)
                    .clamp(3000, 2_000_000)
                    .min((2e4 / phase_s) as usize);
                let truth = brute_force(noise, phase_s * 1e9, nodes as usize, phases, &mut random);
                let held = hold(noise, seconds, phase_s, nodes, truth, 100);
                println!(
                    "{:18} {seconds:4} s {:6} us {nodes:6} {truth:9.4} {:3} of {:3} {:3} {:.3}",
                    noise.name,
                    phase_s * 1e6,
                    held.held,
                    held.given,
                    held.refused,
                    held.median_error
                );
            }
        }
    }
}
