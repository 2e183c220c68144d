//! A job on the measured CPUs themselves, at the very time at which they were measured: what fell together then falls together here.
//!
//! `cells` takes nodes to lose independently of each other. CPUs of one machine often do not: a hypervisor or a change of the clock stops all
//! of them at once. So the same job is followed over the curves of work of the CPUs of one recording, from wait to wait. That is no estimate: it
//! is what this job would have cost on these CPUs then.

use super::cells::Of;
use super::jobs::Laps;
use super::sample::Followed;
use super::{Node, Together};
use bandscope_analysis::work::Piece;
use std::ops::Range;

/// Points of all curves together: some 64 MiB. Only the beginning of a longer recording counts.
const MOST_POINTS: usize = 1 << 22;
/// Stretches whose paces differ by no more than this are drawn as one.
const SAME_PACE: f64 = 0.01;
/// Phases below which nothing is said.
const LEAST_PHASES: u64 = 10;
/// Phases from which on CPUs are asked whether they lose independently: two standard errors of the mean of so many are a tenth, if they scatter by their own size.
const MIN_PHASES_TO_COMPARE: u64 = 400;

/// Time since the recording began, and work at the reference pace since the stretch began, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Point {
    pub(super) time: f64,
    pub(super) work: f64,
}

/// The work of one CPU over time, in stretches without a break.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    stretches: Vec<Vec<Point>>,
    /// Work for a nanosecond, where some was done last.
    pace: f64,
    /// Points that may be added.
    left: usize,
}

impl Curve {
    /// One of so many.
    pub(super) fn of(curves: usize) -> Curve {
        Curve {
            stretches: Vec::new(),
            pace: 1.0,
            left: MOST_POINTS / curves.max(1),
        }
    }

    pub(super) fn push(&mut self, piece: &Piece) {
        match *piece {
            _ if self.left == 0 => {}
            Piece::Break { at_ns } => {
                let begin = Point {
                    time: at_ns,
                    work: 0.0,
                };
                self.left -= 1;
                self.stretches.push(vec![begin]);
            }
            Piece::Run { ns, work_ns } => {
                self.pace = work_ns / ns.max(1.0);
                self.add(ns, self.pace);
            }
            Piece::Lost { ns, .. } => self.add(ns, 0.0),
            // As if nobody had measured.
            Piece::Own { ns } => self.add(ns, self.pace),
        }
    }

    fn add(&mut self, ns: f64, pace: f64) {
        let Some(points) = self.stretches.last_mut().filter(|_| ns > 0.0) else {
            return;
        };
        let last = points[points.len() - 1];
        let next = Point {
            time: last.time + ns,
            work: last.work + ns * pace,
        };
        let is_same = points.len() > 1 && {
            let before = points[points.len() - 2];
            let now = (last.work - before.work) / (last.time - before.time);
            (now - pace).abs() <= SAME_PACE
        };
        if is_same {
            points.pop();
        } else {
            self.left -= 1;
        }
        points.push(next);
    }

    /// In order of time: series take turns.
    pub(super) fn sorted(mut self) -> Curve {
        (self.stretches).sort_by(|a, b| a[0].time.total_cmp(&b[0].time));
        self
    }

    /// All that was measured; `None` where there is more than points may be added.
    pub(super) fn whole(&self) -> Option<impl Iterator<Item = &[Point]>> {
        (self.left > 0).then(|| self.stretches.iter().map(Vec::as_slice))
    }

    /// Its stretches, from when to when.
    fn spans(&self) -> impl Iterator<Item = (f64, f64)> {
        let end = |points: &Vec<Point>| points.last().map_or(0.0, |point| point.time);
        let spans = self.stretches.iter();
        spans.map(move |points| (points[0].time, end(points)))
    }
}

/// The CPUs that one recording has, of that with the most of them: others have clocks of their own.
#[derive(Default)]
pub(super) struct AtOnce<'a> {
    input: String,
    /// Their places among all CPUs.
    places: Range<usize>,
    curves: &'a [Curve],
    /// Of these curves; `None` where they are all that there are.
    laps: Option<Laps>,
}

impl<'a> AtOnce<'a> {
    /// `nodes` are in order of their recordings.
    pub(super) fn new(nodes: &[Node], curves: &'a [Curve]) -> AtOnce<'a> {
        let mut from = 0;
        let inputs = nodes.chunk_by(|a, b| a.about.input == b.about.input);
        let all = inputs.map(|of| {
            from += of.len();
            (of[0].about.input.clone(), from - of.len()..from)
        });
        let (input, places) = all.max_by_key(|one| one.1.len()).unwrap_or_default();
        let is_all = places.len() == nodes.len();
        let curves = &curves[places.clone()];
        AtOnce {
            input,
            places,
            laps: (!is_all).then(|| Laps::new(curves)),
            curves,
        }
    }

    /// A job on them, with phases of this index and length; `followed`, `laps` and `of` are of all CPUs.
    pub(super) fn together(
        &self,
        (followed, laps): (&[Vec<Followed>], &Laps),
        of: &Of<'_>,
        phase: (usize, f64),
    ) -> Option<Together> {
        let (longer, phases) = longer(self.curves, phase.1)?;
        let cpus = self.curves.len() as u64;
        // Of curves that are cut, the law has all and the job only the beginning.
        let is_whole = !self.laps.as_ref().unwrap_or(laps).is_empty();
        let independent = || match &self.laps {
            Some(laps) => Of::longer_on((&followed[self.places.clone()], laps), phase),
            None => of.longer(cpus),
        };
        Some(Together {
            input: self.input.clone(),
            cpus,
            longer,
            independent: (is_whole && phases >= MIN_PHASES_TO_COMPARE)
                .then(independent)
                .flatten(),
        })
    }
}

/// A rank on one CPU: how far it has come in a stretch.
struct Rank<'a> {
    points: &'a [Point],
    at: usize,
}

impl Rank<'_> {
    /// When so much work is done that begins at `now`; `None` beyond the stretch. Asked for later and later times.
    fn done(&mut self, now: f64, work: f64) -> Option<f64> {
        while self.points.get(self.at + 1)?.time <= now {
            self.at += 1;
        }
        let (from, to) = (self.points[self.at], self.points[self.at + 1]);
        let pace = (to.work - from.work) / (to.time - from.time);
        let target = from.work + pace * (now - from.time) + work;
        let later = self.points[self.at..].partition_point(|point| point.work < target);
        let to = self.points.get(self.at + later)?;
        let from = self.points[(self.at + later).checked_sub(1)?];
        let share = (target - from.work) / (to.work - from.work);
        Some((from.time + share * (to.time - from.time)).max(now))
    }
}

/// How much longer a phase took than its work, as a share, of a job with one rank on each of these CPUs, and the number of phases; `None` of fewer than two
/// CPUs, and of few phases.
pub(super) fn longer(curves: &[Curve], phase_ns: f64) -> Option<(f64, u64)> {
    let (mut phases, mut spent) = (0_u64, 0.0);
    for (from, to) in common(curves) {
        let ranks = curves.iter().filter_map(|curve| {
            let later = curve
                .stretches
                .partition_point(|points| points[0].time <= from);
            let points = curve.stretches.get(later.checked_sub(1)?)?;
            Some(Rank { points, at: 0 })
        });
        let mut ranks: Vec<Rank<'_>> = ranks.collect();
        let mut now = from;
        while let Some(end) = slowest(&mut ranks, now, phase_ns).filter(|&end| end <= to) {
            phases += 1;
            spent += end - now;
            now = end;
        }
    }
    let work = phases as f64 * phase_ns;
    (curves.len() > 1 && phases >= LEAST_PHASES).then(|| ((spent / work - 1.0).max(0.0), phases))
}

/// When the last of all is done.
fn slowest(ranks: &mut [Rank<'_>], now: f64, phase_ns: f64) -> Option<f64> {
    (ranks.iter_mut()).try_fold(now, |end, rank| Some(end.max(rank.done(now, phase_ns)?)))
}

/// From when to when all were measured at once.
fn common(curves: &[Curve]) -> Vec<(f64, f64)> {
    let mut all = curves.iter().map(|curve| curve.spans());
    let first = all.next().map(Iterator::collect).unwrap_or_default();
    all.fold(first, |common: Vec<(f64, f64)>, spans| {
        let (mut both, mut common) = (Vec::new(), common.into_iter().peekable());
        for (from, to) in spans {
            while common.next_if(|one| one.1 <= from).is_some() {}
            while let Some(one) = common.next_if(|one| one.1 <= to) {
                both.push((one.0.max(from), one.1));
            }
            both.extend(
                common
                    .peek()
                    .filter(|one| one.0 < to)
                    .map(|one| (one.0.max(from), to)),
            );
        }
        both
    })
}

#[cfg(test)]
mod tests {
    use super::super::OfCpu;
    use super::super::jobs::Lap;
    use super::*;

    const MS: f64 = 1e6;

    /// A CPU that is away for 1 ms in each 10 ms, from `first` ms on, for 1 s; measured from `begin` ms on.
    fn curve(first: f64, begin: f64) -> Curve {
        let mut curve = Curve::of(2);
        curve.push(&Piece::Break { at_ns: begin * MS });
        for _ in 0..100 {
            let run = |ms: f64| Piece::Run {
                ns: ms * MS,
                work_ns: ms * MS,
            };
            curve.push(&run(first));
            curve.push(&Piece::Lost { ns: MS, cause: 0 });
            curve.push(&Piece::Own { ns: 0.5 * MS });
            curve.push(&run(8.5 - first));
        }
        curve
    }

    fn assert_longer(curves: [Curve; 2], by: f64) {
        let (found, _) = longer(&curves, 0.5 * MS).expect("many phases");
        assert!((found - by).abs() < 0.01, "{found}, not {by}");
    }

    #[test]
    fn what_falls_together_costs_once_and_what_does_not_costs_twice() {
        assert_longer([curve(2.0, 0.0), curve(2.0, 0.0)], 10.0 / 9.0 - 1.0);
        assert_longer([curve(2.0, 0.0), curve(6.0, 0.0)], 10.0 / 8.0 - 1.0);
        // The clock of the recording counts, not that of a stretch.
        assert_longer([curve(2.0, 0.0), curve(6.0, 6.0)], 10.0 / 9.0 - 1.0);
    }

    /// What is common of stretches that begin and last so many ms.
    fn common_of(curves: &[&[(f64, f64)]]) -> Vec<(f64, f64)> {
        let of = |stretches: &&[(f64, f64)]| {
            let mut curve = Curve::of(1);
            for &(begin, lasts) in *stretches {
                curve.push(&Piece::Break { at_ns: begin });
                curve.push(&Piece::Lost {
                    ns: lasts,
                    cause: 0,
                });
            }
            curve.sorted()
        };
        let curves: Vec<Curve> = curves.iter().map(of).collect();
        common(&curves)
    }

    #[test]
    fn only_what_all_were_measured_in_is_common() {
        let long: &[(f64, f64)] = &[(20.0, 10.0), (0.0, 10.0), (12.0, 3.0)];
        assert_eq!(
            common_of(&[long, &[(5.0, 20.0)]]),
            [(5.0, 10.0), (12.0, 15.0), (20.0, 25.0)]
        );
        assert_eq!(
            common_of(&[&[(5.0, 20.0)], long]),
            [(5.0, 10.0), (12.0, 15.0), (20.0, 25.0)]
        );
        assert_eq!(
            common_of(&[long, &[(1.0, 2.0), (4.0, 2.0)]]),
            [(1.0, 3.0), (4.0, 6.0)]
        );
        assert_eq!(common_of(&[long, &[(10.0, 2.0), (30.0, 9.0)]]), []);
        assert_eq!(
            common_of(&[long, long, &[(3.0, 11.0)]]),
            [(3.0, 10.0), (12.0, 14.0)]
        );
    }

    /// Two quiet CPUs, and a noisy one of another recording: whether the quiet ones lose independently is asked of them alone.
    #[test]
    fn cpus_of_another_recording_do_not_say_what_these_lose() {
        let noisy: Vec<Curve> = vec![curve(2.0, 0.0); 2];
        let quiet: Vec<Curve> = (0..3).map(|_| away_once(1000.0)).collect();
        let curves = [quiet, noisy].concat();
        let node = |input: &str| Node {
            series: Vec::new(),
            about: OfCpu {
                input: input.into(),
                ..OfCpu::default()
            },
        };
        let nodes = ["a", "a", "a", "b", "b"].map(node);
        let laps = Laps::new(&curves);
        let followed: Vec<_> = curves
            .iter()
            .map(|one| vec![Lap::new(one).unwrap().followed(MS)])
            .collect();
        let of = Of::new((&followed, &laps), (0, MS), 5.0, &|_| String::new());
        let at_once = AtOnce::new(&nodes, &curves);
        let found = at_once.together((&followed, &laps), &of, (0, MS)).unwrap();
        assert_eq!((&*found.input, found.cpus), ("a", 3));
        assert!(found.independent.unwrap() < 1e-3, "{found:?}");
        assert!(of.longer(3).unwrap() > 0.05, "{found:?}");
        // Of few phases nothing is said.
        let few = at_once.together((&followed, &laps), &of, (0, 20.0 * MS));
        assert_eq!(few.unwrap().independent, None);
    }

    fn away_once(ms: f64) -> Curve {
        let mut curve = Curve::of(3);
        curve.push(&Piece::Break { at_ns: 0.0 });
        for ns in [0.5, 0.5].map(|part| part * ms * MS) {
            curve.push(&Piece::Run { ns, work_ns: ns });
            curve.push(&Piece::Lost { ns: 1e3, cause: 0 });
        }
        curve
    }

    #[test]
    fn nothing_is_said_of_one_cpu_or_of_times_apart() {
        let (one, later) = (curve(2.0, 0.0), curve(2.0, 2000.0));
        assert_eq!(longer(std::slice::from_ref(&one), MS), None);
        assert_eq!(longer(&[one.clone(), later], MS), None);
        assert_eq!(longer(&[one.clone(), one], 200.0 * MS), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut curve = Curve::of(MOST_POINTS / 8);
        curve.push(&Piece::Break { at_ns: 0.0 });
        for _ in 0..100 {
            curve.push(&Piece::Lost { ns: 1.0, cause: 0 });
            curve.push(&Piece::Run {
                ns: 1.0,
                work_ns: 1.0,
            });
        }
        assert_eq!(curve.stretches[0].len(), 8);
    }
}
