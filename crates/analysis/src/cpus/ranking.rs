//! Which CPUs are best, and which worst: by what the ledger says that they lost, then by their worst window.

use bandscope_report::{Availability, Cpu, Series};
use bandscope_statistics::order::least_of_each;

/// The CPUs of some series, best first.
pub(super) fn rank(series: &[Series]) -> Vec<Cpu> {
    let mut keys: Vec<(&str, u32)> = Vec::new();
    for one in series.iter().filter(|one| one.ledger.wall_ns > 0) {
        if let Some(cpu) = one.cpu {
            let key = (&*one.origin, cpu);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    let mut cpus: Vec<Cpu> = keys.into_iter().map(|key| cpu(series, key)).collect();
    cpus.sort_by(|a, b| {
        let worst = |cpu: &Cpu| cpu.availability.first().map_or(0.0, |one| one.worst);
        let longest = |cpu: &Cpu| cpu.longest_gap_ns.unwrap_or(0.0);
        (a.lost.total_cmp(&b.lost))
            .then_with(|| worst(b).total_cmp(&worst(a)))
            .then_with(|| a.bands.cmp(&b.bands))
            .then_with(|| longest(a).total_cmp(&longest(b)))
            .then_with(|| a.cpu.cmp(&b.cpu))
    });
    cpus
}

fn cpu(series: &[Series], (origin, cpu): (&str, u32)) -> Cpu {
    let is_mine = |one: &Series| one.cpu == Some(cpu) && one.origin == origin;
    let indices = (0..series.len()).filter(|&index| is_mine(&series[index]));
    let indices: Vec<usize> = indices.collect();
    let mine = || indices.iter().map(|&index| &series[index]);
    let wall: f64 = mine().map(|one| one.ledger.wall_ns as f64).sum();
    let share = |of: fn(&Series) -> u64| mine().map(|one| of(one) as f64).sum::<f64>() / wall;
    let gaps = share(|one| one.ledger.gaps_ns.values().sum());
    let pace = share(|one| one.ledger.pace_ns.total());
    let worked = mine().any(|one| one.best_pace.is_some());
    let known = || mine().filter_map(|one| one.gaps.as_ref());
    let seconds: f64 = mine().map(|one| one.duration_s).sum();
    let gaps_known = known().count() == indices.len() && seconds > 0.0;
    let number: u64 = known().map(|gaps| gaps.number).sum();
    Cpu {
        cpu,
        origin: origin.to_owned(),
        place: mine().next().and_then(|one| one.place.clone()),
        lost: if worked { gaps + pace } else { 1.0 },
        gaps,
        pace,
        availability: worst_windows(mine()),
        bands: mine().map(|one| one.bands.len()).max().unwrap_or(0),
        gaps_per_second: gaps_known.then(|| number as f64 / seconds),
        longest_gap_ns: known()
            .filter_map(|gaps| gaps.longest.first())
            .map(|gap| gap.ns)
            .reduce(f64::max),
        synchronous: None,
        series: indices,
    }
}

fn worst_windows<'a>(series: impl Iterator<Item = &'a Series>) -> Vec<Availability> {
    let all = series.flat_map(|series| &series.availability).copied();
    let mut worst = least_of_each(all, |one| (one.window_s, one.worst));
    worst.sort_by(|a, b| a.window_s.total_cmp(&b.window_s));
    worst
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_report::{BestPace, Cause, Gaps, Ledger, LongGap, PaceLoss};

    fn series(cpu: u32, gaps_ns: u64, pace_ns: u64, worst: f64) -> Series {
        Series {
            cpu: Some(cpu),
            duration_s: 1e-3,
            best_pace: Some(BestPace::default()),
            availability: vec![Availability {
                window_s: 1e-3,
                worst,
                at_s: 0.0,
                lasted_s: 1e-3,
            }],
            gaps: Some(Gaps {
                number: 3,
                longest: vec![LongGap {
                    ns: gaps_ns as f64,
                    ..LongGap::default()
                }],
                ..Gaps::default()
            }),
            ledger: Ledger {
                wall_ns: 1_000_000,
                gaps_ns: [(Cause::Tick, gaps_ns)].into(),
                pace_ns: PaceLoss {
                    unsplit: pace_ns,
                    ..PaceLoss::default()
                },
                ..Ledger::default()
            },
            ..Series::default()
        }
    }

    #[test]
    fn what_was_lost_decides_and_then_the_worst_window() {
        let all = [
            series(0, 900, 100, 0.9),
            series(1, 100, 100, 0.5),
            series(2, 0, 200, 0.8),
            // Two rates of one CPU: the sum of both, the worst of both.
            series(3, 10, 0, 0.99),
            series(3, 30, 0, 0.97),
        ];
        let cpus = rank(&all);
        let order: Vec<u32> = cpus.iter().map(|cpu| cpu.cpu).collect();
        assert_eq!(order, [3, 2, 1, 0]);
        let best = &cpus[0];
        assert_eq!(best.series, [3, 4]);
        assert!((best.lost - 20e-6).abs() < 1e-15 && best.gaps == best.lost);
        assert_eq!(best.availability[0].worst, 0.97);
        assert_eq!(best.longest_gap_ns, Some(30.0));
        assert_eq!(best.gaps_per_second, Some(3000.0));
    }

    #[test]
    fn a_cpu_that_did_nothing_is_last_and_one_without_a_number_is_left_out() {
        let mut all = [
            series(0, 0, 0, 0.0),
            series(1, 999_000, 0, 0.1),
            series(9, 0, 0, 1.0),
        ];
        all[0].best_pace = None;
        all[2].cpu = None;
        let cpus = rank(&all);
        assert_eq!(cpus.len(), 2);
        assert_eq!((cpus[1].cpu, cpus[1].lost), (0, 1.0));
    }
}
