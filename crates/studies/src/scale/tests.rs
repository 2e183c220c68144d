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

/// What a recording of so long is made of, with phases of these lengths.
fn recorded(noise: Noise, seconds: f64, phases_s: &[f64], random: &mut Random) -> Vec<Followed> {
    let phases_ns: Vec<f64> = phases_s.iter().map(|phase| phase * 1e9).collect();
    let block_ns = |phase: &f64| (seconds * 1e9 / BLOCKS).max(PHASES_A_BLOCK * phase);
    let blocks: Vec<f64> = phases_ns.iter().map(block_ns).collect();
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
    vec![follower.finish()]
}

/// What came of many recordings, for one length of phase and one number of nodes.
#[derive(Debug, Default)]
struct Held {
    truth: f64,
    /// Intervals that hold the truth.
    held: usize,
    /// How far off each slow-down was that was given, as a share of it.
    errors: Vec<f64>,
    extrapolated: usize,
}

impl Held {
    fn median_error(&mut self) -> f64 {
        self.errors.sort_by(f64::total_cmp);
        let middle = self.errors.get(self.errors.len() / 2);
        middle.copied().unwrap_or(f64::NAN)
    }
}

/// Holds so many recordings against brute force, which works this many phases of ranks each time; by length of phase and number of nodes.
fn hold(
    noise: Noise,
    seconds: f64,
    settings: &Settings,
    (rounds, work): (usize, usize),
) -> Vec<Vec<Held>> {
    let mut random = Random::new(seconds as u64);
    let truth = |phase_s: f64, nodes: u64, random: &mut Random| Held {
        truth: brute_force(
            noise,
            phase_s * 1e9,
            nodes as usize,
            work / nodes as usize,
            random,
        ),
        ..Held::default()
    };
    let mut held: Vec<Vec<Held>> = Vec::new();
    for &phase_s in &settings.phases_s {
        let cells = settings.nodes.iter();
        held.push(
            cells
                .map(|&nodes| truth(phase_s, nodes, &mut random))
                .collect(),
        );
    }
    for _ in 0..rounds {
        let followed = recorded(noise, seconds, &settings.phases_s, &mut random);
        let said = phases(&[followed], settings, seconds, &|_| String::new());
        for (held, said) in held.iter_mut().zip(&said) {
            for (held, cell) in held.iter_mut().zip(&said.cells) {
                let Some(cost) = cell.cost else { continue };
                let off = (1.0 + cost.longer) / (1.0 + held.truth) - 1.0;
                held.errors.push(off.abs());
                held.held += usize::from((cost.interval.0..=cost.interval.1).contains(&held.truth));
                held.extrapolated += usize::from(cell.basis == Basis::Extrapolated);
            }
        }
    }
    held
}

#[test]
fn brute_force_says_the_same() {
    for (noise, seconds, nodes) in [(RARE, 60.0, 64), (FREQUENT, 2.0, 256), (PERIODIC, 5.0, 16)] {
        let settings = Settings {
            nodes: vec![nodes],
            phases_s: vec![1e-3],
        };
        let mut held = hold(noise, seconds, &settings, (10, 300_000))
            .remove(0)
            .remove(0);
        let (given, error) = (held.errors.len(), held.median_error());
        println!(
            "{}: {:.1} %, {} of {given}, {error:.4}",
            noise.name,
            100.0 * held.truth,
            held.held
        );
        // Of periodic noise the interval holds what the sample leaves open, which is nothing, and not what the chain of phases leaves out: the
        // absences of a job that has such noise stay where they are.
        let holds = noise.periodic || held.held + 2 >= given;
        assert!(
            given >= 8 && holds && error < 0.08,
            "{}: {held:?}",
            noise.name
        );
    }
}

/// The figures of docs/method.md, section 10.5: what a job costs lies between what phases that all begin in one way would.
#[test]
fn a_job_begins_phases_in_both_ways() {
    let mut random = Random::new(4);
    let noise = Noise {
        name: "steps of 2.5 ms",
        every: 1e8,
        length: 2.5e6,
        periodic: false,
        scattered: false,
    };
    let followed = recorded(noise, 400.0, &[1e-4], &mut random);
    let law = law::Law::whole(&[&followed[0].samples[0]]);
    for (nodes, work) in [(16, 2_000_000), (256, 4_000_000)] {
        let truth = brute_force(noise, 1e5, nodes, work / nodes, &mut random);
        let [none, all] =
            [0.0, 1.0].map(|carried| law.slowest_carrying(nodes as f64, carried) / 1e5);
        let chain = law.settle(nodes as f64, &followed[0].absences).loss_ns / 1e5;
        println!(
            "{nodes} ranks: {truth:.3}; work alone {none:.3}, time alone {all:.3}, chain {chain:.3}"
        );
        assert!(none < truth && truth < all, "{none} {truth} {all}");
        assert!(
            ((1.0 + chain) / (1.0 + truth) - 1.0).abs() < 0.1,
            "{chain} {truth}"
        );
    }
}

/// The table of docs/scale.md.
#[test]
#[ignore = "takes minutes: .ci/full scale"]
fn intervals_hold_what_brute_force_finds() {
    let settings = Settings {
        nodes: vec![1, 16, 256, 2048, 10_000],
        phases_s: vec![1e-4, 1e-3, 1e-2],
    };
    println!(
        "noise, recording, phase, nodes, longer by brute force, intervals that hold it of those given, extrapolated, median error of the slow-down"
    );
    for (noise, seconds) in [(PERIODIC, 10.0), (RARE, 60.0), (FREQUENT, 10.0)] {
        let held = hold(noise, seconds, &settings, (100, 100_000_000));
        for (held, phase_s) in held.into_iter().zip(&settings.phases_s) {
            for (mut held, nodes) in held.into_iter().zip(&settings.nodes) {
                let (given, error) = (held.errors.len(), held.median_error());
                println!(
                    "{:18} {seconds} s {:5} us {nodes:5} {:9.4} {:3} of {given:3} {:3} {error:.3}",
                    noise.name,
                    phase_s * 1e6,
                    held.truth,
                    held.held,
                    held.extrapolated
                );
            }
        }
    }
}
