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

/// A kind of absence that a rank has: the next of it.
#[derive(Clone, Copy, Debug)]
struct Coming {
    noise: Noise,
    next: f64,
    length: f64,
}

impl Coming {
    fn new(noise: Noise, random: &mut Random) -> Coming {
        let next = if noise.periodic {
            random.unit() * noise.every
        } else {
            exponential(noise.every, random)
        };
        Coming {
            noise,
            next,
            length: Coming::draw(noise, random),
        }
    }

    fn draw(noise: Noise, random: &mut Random) -> f64 {
        if noise.scattered {
            exponential(noise.length, random)
        } else {
            noise.length
        }
    }

    fn go_on(&mut self, random: &mut Random) {
        self.next += match self.noise.periodic {
            true => self.noise.every,
            false => self.length + exponential(self.noise.every, random),
        };
        self.length = Coming::draw(self.noise, random);
    }
}

/// One rank. Of two kinds of absences the later waits for the end of the earlier.
struct Rank(Vec<Coming>);

impl Rank {
    fn new(noises: &[Noise], random: &mut Random) -> Rank {
        let noises = noises.iter();
        Rank(noises.map(|&noise| Coming::new(noise, random)).collect())
    }

    /// The kind whose absence is next.
    fn first(&self) -> usize {
        let kinds = 0..self.0.len();
        let next = |kind: &usize| self.0[*kind].next;
        kinds.min_by(|a, b| next(a).total_cmp(&next(b))).unwrap()
    }

    /// Takes the next absence: its kind, when it begins and when it ends.
    fn take(&mut self, random: &mut Random) -> (usize, f64, f64) {
        let kind = self.first();
        let (begins, length) = (self.0[kind].next, self.0[kind].length);
        self.0[kind].go_on(random);
        for other in &mut self.0 {
            other.next = other.next.max(begins + length);
        }
        (kind, begins, begins + length)
    }

    /// When work that begins at `time` is done.
    fn work(&mut self, mut time: f64, mut work: f64, random: &mut Random) -> f64 {
        loop {
            let next = self.0[self.first()].next;
            if next > time {
                if next - time >= work {
                    return time + work;
                }
                work -= next - time;
            }
            time = time.max(self.take(random).2);
        }
    }
}

fn exponential(mean: f64, random: &mut Random) -> f64 {
    -mean * (1.0 - random.unit()).ln()
}

/// How much longer phases take on so many ranks: the mean of several jobs, as periodic noise keeps for a whole job the phases that it began with.
fn brute_force(
    noises: &[Noise],
    phase: f64,
    nodes: usize,
    phases: usize,
    random: &mut Random,
) -> f64 {
    let is_periodic = noises.iter().any(|noise| noise.periodic);
    let jobs = if is_periodic { 40 } else { 1 };
    let of_jobs = (0..jobs).map(|_| one_job(noises, phase, nodes, phases / jobs, random));
    of_jobs.sum::<f64>() / jobs as f64
}

/// Of one job. Phases of the beginning, when all start at once, are left out.
fn one_job(noises: &[Noise], phase: f64, nodes: usize, phases: usize, random: &mut Random) -> f64 {
    let mut ranks: Vec<Rank> = (0..nodes).map(|_| Rank::new(noises, random)).collect();
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

/// What a recording of so long is made of, with phases of these lengths: all of it, and without each kind of absence if there are two.
fn recorded(
    noises: &[Noise],
    seconds: f64,
    phases_s: &[f64],
    random: &mut Random,
) -> Vec<Followed> {
    let phases_ns: Vec<f64> = phases_s.iter().map(|phase| phase * 1e9).collect();
    let block_ns = |phase: &f64| (seconds * 1e9 / BLOCKS).max(PHASES_A_BLOCK * phase);
    let blocks: Vec<f64> = phases_ns.iter().map(block_ns).collect();
    let causes = (0..noises.len()).filter(|_| noises.len() > 1);
    let all = [Without::Nothing]
        .into_iter()
        .chain(causes.map(Without::Cause));
    let mut followers: Vec<Follower> = all
        .map(|one| Follower::new(one, &phases_ns, &blocks))
        .collect();
    let mut push = |piece: Piece| followers.iter_mut().for_each(|one| one.push(piece));
    let (mut rank, mut time) = (Rank::new(noises, random), 0.0);
    push(Piece::Break { at_ns: 0.0 });
    while time < seconds * 1e9 {
        let (cause, begins, ends) = rank.take(random);
        let ns = (begins - time).max(0.0);
        push(Piece::Run { ns, work_ns: ns });
        let ns = ends - begins;
        push(Piece::Lost { ns, cause });
        time = ends;
    }
    followers.into_iter().map(Follower::finish).collect()
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
            &[noise],
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
        let followed = recorded(&[noise], seconds, &settings.phases_s, &mut random);
        let said = phases(
            &[followed],
            &[],
            settings,
            seconds,
            &|_| String::new(),
            &|| (),
        );
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
    let followed = recorded(&[noise], 400.0, &[1e-4], &mut random);
    let absences = followed[0].absences.lengths();
    let law = law::Law::whole(&[&followed[0].samples[0]], &absences);
    for (nodes, work) in [(16, 2_000_000), (256, 4_000_000)] {
        let truth = brute_force(&[noise], 1e5, nodes, work / nodes, &mut random);
        let [none, all] =
            [0.0, 1.0].map(|carried| law.slowest_carrying(nodes as f64, carried) / 1e5);
        let chain = law.settle(nodes as f64).loss_ns / 1e5;
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

/// Which cause costs most on more nodes than a recording has seen: two kinds of noise, of which one costs most on few nodes.
#[derive(Debug, Default)]
struct Named {
    /// What taking each away saves, by brute force.
    truth: [f64; 2],
    right: usize,
    wrong: usize,
    /// Recordings of which no cause was named, and of which the cost was refused.
    none: usize,
    refused: usize,
    /// Recordings whose cost was extrapolated.
    extrapolated: usize,
}

fn name_causes(noises: [Noise; 2], seconds: f64, phase_s: f64, nodes: u64, rounds: usize) -> Named {
    let mut random = Random::new(seconds as u64);
    let mut truth = |noises: &[Noise]| {
        let phases = 20_000_000 / nodes as usize;
        brute_force(noises, phase_s * 1e9, nodes as usize, phases, &mut random)
    };
    let whole = truth(&noises);
    let mut named = Named {
        truth: [whole - truth(&noises[1..]), whole - truth(&noises[..1])],
        ..Named::default()
    };
    let most = usize::from(named.truth[1] > named.truth[0]);
    let settings = Settings {
        nodes: vec![nodes],
        phases_s: vec![phase_s],
    };
    let name = |without: Without| match without {
        Without::Cause(cause) => noises[cause].name.to_owned(),
        _ => String::new(),
    };
    for _ in 0..rounds {
        let followed = recorded(&noises, seconds, &settings.phases_s, &mut random);
        let cell = phases(&[followed], &[], &settings, seconds, &name, &|| ())[0].cells[0].clone();
        named.extrapolated += usize::from(cell.basis == Basis::Extrapolated);
        let first = cell.from.first().filter(|first| first.less.is_some());
        match first {
            _ if cell.cost.is_none() => named.refused += 1,
            Some(first) if first.name == noises[most].name => named.right += 1,
            Some(_) => named.wrong += 1,
            None => named.none += 1,
        }
    }
    named
}

const OFTEN: Noise = Noise {
    name: "25 us, 1,000 a second",
    ..FREQUENT
};
const SELDOM: Noise = Noise {
    name: "200 us, 5 a second",
    every: 2e8,
    length: 2e5,
    periodic: false,
    scattered: true,
};

/// Costs less than the frequent one on any number of nodes.
const SHORT: Noise = Noise {
    name: "40 us, 5 a second",
    length: 4e4,
    ..SELDOM
};

/// Nodes that no recording of two minutes has seen with phases of 1 ms.
const MORE_NODES: u64 = 262_144;

fn causes_are_named(rounds: usize) {
    for (noises, most) in [([OFTEN, SELDOM], 1), ([OFTEN, SHORT], 0)] {
        let named = name_causes(noises, 120.0, 1e-3, MORE_NODES, rounds);
        println!("{}; {}: {named:?}", noises[0].name, noises[1].name);
        assert!(named.truth[most] > named.truth[1 - most], "{named:?}");
        assert_eq!(named.extrapolated + named.refused, rounds, "{named:?}");
        assert!(named.right * 10 >= rounds * 9, "{named:?}");
    }
}

#[test]
fn causes_beyond_what_was_seen_are_those_of_brute_force() {
    causes_are_named(3);
}

/// The table of docs/scale.md.
#[test]
#[ignore = "takes minutes: .ci/full scale"]
fn twenty_recordings_name_the_cause() {
    causes_are_named(20);
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
