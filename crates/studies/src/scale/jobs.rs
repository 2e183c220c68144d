//! A job on nodes that each have the measured noise, followed from wait to wait: what the chain of phases of [`law`](super::law) leaves out.
//!
//! The chain takes what a rank loses to be new in each phase. Noise that comes at a period keeps its places in a job. So as many copies of the measured curves
//! as a job has ranks go from random starts, for as long as time allows. Their mean says by how much the chain is off.

use super::Cost;
use super::law::Law;
use super::sample::{Absences, Followed, Follower, Without};
use super::together::{Curve, Point};
use super::windows::SLOW;
use bandscope_analysis::work::Piece;
use bandscope_statistics::distributions::student_95;
use bandscope_statistics::random::Random;
use rayon::prelude::*;

/// Jobs that are followed, each from starts of its own: so many where they have phases enough, and no fewer than these.
const JOBS: std::ops::RangeInclusive<u64> = 4..=64;
/// Phases of ranks of all jobs together: some hundredths of a second.
const WORK: u64 = 1 << 21;
/// Fewest phases of a job; the first quarter, in which the job forgets its start, does not count.
const LEAST_PHASES: u64 = 12;
/// Part of a stretch that is kept at least, if it is to begin and end with the end of an absence.
const MOST_OF_IT: f64 = 0.9;

/// The measured curve of one CPU, all of its stretches in a row, over and over.
#[derive(Clone, Debug)]
pub(super) struct Lap {
    /// From 0 on, in nanoseconds, ascending.
    points: Vec<Point>,
}

impl Lap {
    /// Of a curve; `None` if that has only the beginning of what was measured.
    pub(super) fn new(curve: &Curve) -> Option<Lap> {
        let mut points = vec![Point::default()];
        for stretch in curve.whole()?.map(from_absence_to_absence) {
            let (last, first) = (points[points.len() - 1], stretch[0]);
            points.extend(stretch[1..].iter().map(|point| Point {
                time: last.time + point.time - first.time,
                work: last.work + point.work - first.work,
            }));
        }
        Some(Lap { points })
    }

    fn end(&self) -> Point {
        self.points[self.points.len() - 1]
    }

    /// What phases lose that begin anywhere on it; those at its end go on at its beginning.
    pub(super) fn followed(&self, phase_ns: f64) -> Followed {
        let mut follower = Follower::new(Without::Nothing, &[phase_ns], &[f64::INFINITY], 0);
        follower.push(Piece::Break { at_ns: 0.0 });
        let pieces = self.points.iter().zip(&self.points[1..]);
        let pieces = pieces.map(|(from, to)| (to.time - from.time, to.work - from.work));
        let mut left = phase_ns;
        let again = pieces.clone().take_while(|(_, work_ns)| {
            left -= work_ns;
            left + work_ns > 0.0
        });
        for (ns, work_ns) in pieces.chain(again) {
            follower.push(Piece::Run { ns, work_ns });
        }
        follower.finish()
    }
}

/// From the end of the first absence to that of the last, so that where a stretch meets the next no two absences are closer than they ever were. Where that
/// leaves out much, hardly any two meet: then all of it.
fn from_absence_to_absence(stretch: &[Point]) -> &[Point] {
    let is_away = |place: usize| {
        let (from, to) = (stretch[place], stretch[place + 1]);
        to.work - from.work < SLOW * (to.time - from.time)
    };
    let mut ends = (1..stretch.len())
        .filter(|&place| is_away(place - 1) && (place + 1 == stretch.len() || !is_away(place)));
    let (Some(first), Some(last)) = (ends.next(), ends.next_back()) else {
        return stretch;
    };
    let took = |points: &[Point]| points[points.len() - 1].time - points[0].time;
    let kept = &stretch[first..=last];
    match took(kept) >= MOST_OF_IT * took(stretch) {
        true => kept,
        false => stretch,
    }
}

/// A rank that goes round a lap.
#[derive(Debug)]
struct Rank<'a> {
    points: &'a [Point],
    /// The piece that it is in.
    at: usize,
    /// When its lap began.
    began: f64,
}

impl<'a> Rank<'a> {
    /// At any time of its lap when the job begins.
    fn new(lap: &'a Lap, random: &mut Random) -> Rank<'a> {
        Rank {
            points: &lap.points,
            at: 0,
            began: -random.unit() * lap.end().time,
        }
    }

    /// When work is done that begins at `now`; it is less than that of a lap. Asked for later and later times.
    fn done(&mut self, now: f64, work: f64) -> f64 {
        let end = self.points[self.points.len() - 1];
        let laps = ((now - self.began) / end.time).floor();
        if laps >= 1.0 {
            self.began += laps * end.time;
            self.at = 0;
        }
        // Rounding must not lead out of the lap.
        let time = (now - self.began).min(end.time * (1.0 - f64::EPSILON));
        self.at = ahead(self.points, self.at, |point| point.time <= time) - 1;
        let (from, to) = (self.points[self.at], self.points[self.at + 1]);
        let pace = (to.work - from.work) / (to.time - from.time);
        let mut target = from.work + pace * (time - from.time) + work;
        if target > end.work {
            target -= end.work;
            self.began += end.time;
            self.at = 0;
        }
        let later = ahead(self.points, self.at, |point| point.work < target);
        let (from, to) = (self.points[later - 1], self.points[later]);
        let share = (target - from.work) / (to.work - from.work);
        self.at = later - 1;
        self.began + from.time + share * (to.time - from.time)
    }
}

/// The first place after `from` whose point is not so; that of `from` is.
fn ahead(points: &[Point], from: usize, is_so: impl Fn(&Point) -> bool) -> usize {
    let (mut last, mut step) = (from, 1);
    while last + step < points.len() && is_so(&points[last + step]) {
        last += step;
        step *= 2;
    }
    let next = &points[last + 1..points.len().min(last + step + 1)];
    last + 1 + next.partition_point(is_so)
}

/// The laps of all CPUs.
#[derive(Clone, Debug, Default)]
pub(super) struct Laps(Vec<Lap>);

impl Laps {
    /// Of these curves; none where one curve is not whole.
    pub(super) fn new(curves: &[Curve]) -> Laps {
        let laps: Option<Vec<Lap>> = curves.par_iter().map(Lap::new).collect();
        Laps(laps.unwrap_or_default())
    }

    /// Whether no job can be followed.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Jobs with phases of this length.
    pub(super) fn jobs(&self, phase_ns: f64) -> Jobs<'_> {
        let followed: Vec<Followed> = (self.0.par_iter())
            .map(|lap| lap.followed(phase_ns))
            .collect();
        let mut absences = Absences::new();
        (followed.iter()).for_each(|one| absences.add(&one.absences));
        let samples: Vec<_> = followed.iter().map(|one| &one.samples[0]).collect();
        Jobs {
            laps: &self.0,
            law: Law::whole(&samples, &absences.lengths()).endless(),
            phase_ns,
        }
    }
}

/// Jobs with phases of one length.
pub(super) struct Jobs<'a> {
    laps: &'a [Lap],
    /// Of the same laps, with draws that are put back: what the chain of phases says of such jobs.
    law: Law,
    phase_ns: f64,
}

/// How much longer phases took, as a share, and half of the interval of 95 % of the logarithm of the slow-down.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Took {
    longer: f64,
    half: f64,
}

/// Of jobs on so many nodes, which are like the CPUs in equal parts; `None` of one node, of more than can be followed, and where a phase is too long.
fn longer(laps: &[Lap], nodes: u64, phase_ns: f64) -> Option<Took> {
    let phases_of_all = WORK / nodes.max(1);
    let jobs = (phases_of_all / LEAST_PHASES).clamp(*JOBS.start(), *JOBS.end());
    let phases = phases_of_all / jobs;
    let is_short = |lap: &Lap| LEAST_PHASES as f64 * phase_ns < lap.end().work;
    if nodes < 2 || phases < LEAST_PHASES || !laps.iter().all(is_short) || laps.is_empty() {
        return None;
    }
    let number = laps.len() as u64;
    let took = (0..jobs).into_par_iter().map(|seed| {
        let mut random = Random::new(seed);
        // All CPUs in equal parts: in each job, or, of fewer ranks than CPUs, over all jobs.
        let lap = |rank: u64| &laps[((rank * jobs + seed) * number / (nodes * jobs)) as usize];
        let mut ranks: Vec<Rank<'_>> = (0..nodes)
            .map(|rank| Rank::new(lap(rank), &mut random))
            .collect();
        let (mut now, mut from) = (0.0, 0.0);
        for phase in 0..phases {
            if phase == phases / 4 {
                from = now;
            }
            let ends = ranks.iter_mut().map(|rank| rank.done(now, phase_ns));
            now = ends.fold(now, f64::max);
        }
        (now - from) / ((phases - phases / 4) as f64 * phase_ns)
    });
    let took: Vec<f64> = took.collect();
    let number = took.len() as f64;
    let mean = took.iter().sum::<f64>() / number;
    let squares: f64 = took.iter().map(|one| (one - mean).powi(2)).sum();
    let error = (squares / (number - 1.0) / number).sqrt();
    Some(Took {
        longer: mean - 1.0,
        half: student_95(number - 1.0) * error / mean,
    })
}

impl Jobs<'_> {
    /// By how much the chain is off that takes phases to lose independently of each other. Only what is no scatter of the jobs is corrected.
    pub(super) fn correction(&self, nodes: f64) -> Correction {
        let Some(took) = longer(self.laps, nodes as u64, self.phase_ns) else {
            return Correction::default();
        };
        let by_law = self.law.settle(nodes).loss_ns / self.phase_ns;
        let ln_off = ((1.0 + took.longer) / (1.0 + by_law)).ln();
        let square = ln_off.powi(2);
        let all = square + took.half.powi(2);
        Correction {
            ln_times: if all > 0.0 {
                ln_off * square / all
            } else {
                0.0
            },
            half: took.half,
        }
    }
}

/// What a slow-down is to be multiplied with: the logarithm, and half of its interval of 95 %.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Correction {
    ln_times: f64,
    half: f64,
}

impl Correction {
    /// Of phases that take so much longer, as a share of their work; the slowest takes no less than `alone`, one node by itself.
    pub(super) fn longer(self, share: f64, alone: f64) -> f64 {
        ((1.0 + share) * self.ln_times.exp() - 1.0).max(alone.min(share))
    }

    /// The same of a cost, with its interval and its bound.
    pub(super) fn cost(self, cost: Cost, alone: f64) -> Cost {
        let longer = self.longer(cost.longer, alone);
        let (low, high) = cost.interval;
        let half = |end: f64| ((1.0 + end) / (1.0 + cost.longer)).ln().hypot(self.half);
        let low = (1.0 + longer) * (-half(low)).exp() - 1.0;
        Cost {
            longer,
            interval: (
                low.max(alone.min(cost.interval.0)),
                (1.0 + longer) * half(high).exp() - 1.0,
            ),
            at_most: match cost.longer > 0.0 {
                true => longer * cost.at_most / cost.longer,
                false => cost.at_most.max(longer),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_analysis::work::Piece;

    const MS: f64 = 1e6;

    /// A CPU that is away for 1 ms in each 10 ms, for 1 s.
    fn curve() -> Curve {
        let mut curve = Curve::of(1);
        for second in [0.0, 5e8] {
            curve.push(&Piece::Break { at_ns: second });
            for _ in 0..50 {
                let (ns, work_ns) = (9.0 * MS, 9.0 * MS);
                curve.push(&Piece::Run { ns, work_ns });
                curve.push(&Piece::Lost { ns: MS, cause: 0 });
            }
        }
        curve
    }

    #[test]
    fn a_job_of_many_waits_for_one_in_each_phase() {
        let laps = [Lap::new(&curve()).unwrap()];
        let longer = |nodes: u64, phase_ns: f64| longer(&laps, nodes, phase_ns).unwrap().longer;
        // Somebody of 2,000 is always about to begin an absence, and loses all of it.
        let found = longer(2000, MS);
        assert!((found - 1.0).abs() < 0.01, "{found}");
        // In phases of 50 ms a rank has 5 or 6, and of four one has 6.
        let found = longer(4, 50.0 * MS);
        assert!((found - 0.12).abs() < 1e-3, "{found}");
    }

    /// A CPU that works for so many ms, is away for so many, and works as long again.
    fn away_once(works: f64, away: f64) -> Curve {
        let mut curve = Curve::of(1);
        let run = Piece::Run {
            ns: works * MS,
            work_ns: works * MS,
        };
        curve.push(&Piece::Break { at_ns: 0.0 });
        curve.push(&run);
        curve.push(&Piece::Lost {
            ns: away * MS,
            cause: 0,
        });
        curve.push(&run);
        curve
    }

    #[test]
    fn each_job_has_all_cpus_in_equal_parts() {
        let laps = [&curve(), &away_once(500.0, 0.0)].map(|curve| Lap::new(curve).unwrap());
        let took = longer(&laps, 2, MS).unwrap();
        assert!((took.longer - 1.0 / 9.0).abs() < 1e-3, "{took:?}");
        assert!(took.half < 1e-2, "{took:?}");
    }

    #[test]
    fn a_lap_has_the_quiet_time_around_a_burst() {
        let mut curve = away_once(500.0, 1.0);
        curve.push(&Piece::Lost { ns: MS, cause: 0 });
        assert!(Lap::new(&curve).unwrap().end().time > 1000.0 * MS);
    }

    /// CPU 0 was measured for 26 ms, and CPU 1 was suspended for eleven days.
    #[test]
    fn an_absence_of_many_laps_takes_no_time() {
        let laps = [away_once(13.0, 0.0), away_once(13.0, 1e9)];
        let laps = laps.map(|curve| Lap::new(&curve).unwrap());
        assert!(longer(&laps, 2, MS).unwrap().longer > 1e6);
    }

    #[test]
    fn nothing_is_followed_that_takes_too_long_or_is_not_whole() {
        let laps = [Lap::new(&curve()).unwrap()];
        assert_eq!(longer(&laps, 1, MS), None);
        assert_eq!(longer(&laps, 50_000, MS), None);
        assert_eq!(longer(&laps, 4, 100.0 * MS), None);
        assert_eq!(longer(&[], 4, MS), None);
        let mut cut = Curve::of(1 << 22);
        cut.push(&Piece::Break { at_ns: 0.0 });
        assert!(Lap::new(&cut).is_none());
    }
}
