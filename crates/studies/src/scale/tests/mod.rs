//! Against brute force: as many ranks as a job has, each with its own noise, go from wait to wait. Nothing of the method is in it.

mod causes;
mod intervals;

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

const TICKS: Noise = Noise {
    name: "ticks",
    every: 4e6,
    length: 3e3,
    ..PERIODIC
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
    let jobs = if is_periodic {
        (phases / 100).clamp(40, 1000)
    } else {
        1
    };
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
) -> (Vec<Followed>, Curve) {
    let phases_ns: Vec<f64> = phases_s.iter().map(|phase| phase * 1e9).collect();
    let block_ns = |phase: &f64| (seconds * 1e9 / BLOCKS).max(PHASES_A_BLOCK * phase);
    let blocks: Vec<f64> = phases_ns.iter().map(block_ns).collect();
    let causes = (0..noises.len()).filter(|_| noises.len() > 1);
    let all = [Without::Nothing]
        .into_iter()
        .chain(causes.map(Without::Cause));
    let mut followers: Vec<Follower> = all
        .map(|one| Follower::new(one, &phases_ns, &blocks, sample::most_largest(1)))
        .collect();
    let mut curve = Curve::of(1);
    let mut push = |piece: Piece| {
        curve.push(&piece);
        followers.iter_mut().for_each(|one| one.push(piece));
    };
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
    let followed = followers.into_iter().map(Follower::finish);
    (followed.collect(), curve)
}

#[test]
fn the_recording_is_named_where_a_directory_has_several() {
    let together = Together {
        input: "job/3".into(),
        cpus: 2,
        longer: 0.1,
        independent: Some(0.5),
    };
    let said = |cpus: usize| {
        let phase = Phase {
            together: Some(together.clone()),
            ..Phase::default()
        };
        let scale = Scale {
            inputs: vec!["job".into()],
            cpus: vec![OfCpu::default(); cpus],
            phases: vec![phase],
            ..Scale::default()
        };
        sentence::fall_together(&scale).unwrap()
    };
    assert!(said(4).starts_with("The measured CPUs of job/3 do not"));
    assert!(said(2).starts_with("The measured CPUs do not"));
}
