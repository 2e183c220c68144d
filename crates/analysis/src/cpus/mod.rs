//! What several CPUs that were measured at once say together: one file a question.
//!
//! * [`ranking`]: which CPUs are best, and which worst;
//! * `synchronous`: which gaps hit several CPUs at once, and what that costs;
//! * `coupling`: whose pace changes when another CPU's changes, or when that one is away.
//!
//! All are functions of what is kept of each series (`Track`: the first thousands of gaps and edges, so memory does not
//! depend on the length of the run), joined to one `Lane` a CPU. All CPUs of a recording have one clock; CPUs of
//! different recordings have not, and are never held against each other. Names and thresholds are explained in
//! docs/method.md, section 7.

#[cfg(test)]
mod anything;
mod coincidence;
mod coupling;
mod peak;
mod ranking;
mod synchronous;
mod track;

pub(crate) use coupling::{Coupling, Source};
pub(crate) use synchronous::Synchronous;
pub(crate) use track::Track;

use bandscope_report::{Cpu, Series};

/// A finding over all pairs of CPUs is one that chance makes in one of so many recordings.
const SIGNIFICANT: f64 = 1e-6;

/// What the CPUs of all recordings say together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Across {
    /// Gaps that hit several CPUs at once, one for each set of CPUs.
    pub(crate) synchronous: Vec<Synchronous>,
    /// CPUs whose pace depends on another, one for each set of CPUs.
    pub(crate) couplings: Vec<Coupling>,
    /// Series of each CPU, and the share of its gap time that is synchronous where that can be said.
    shares: Vec<(Vec<usize>, f64)>,
}

impl Across {
    /// Of these series, in the report's order, and what was kept of each.
    pub(crate) fn new(series: &[Series], tracks: Vec<Track>) -> Across {
        let mut across = Across::default();
        for lanes in track::recordings(series, tracks) {
            if lanes.len() < 2 {
                continue;
            }
            let mut away = vec![0.0; lanes.len()];
            for found in synchronous::find(&lanes) {
                for (lane, share) in &found.shares {
                    away[*lane] = *share;
                }
                across.synchronous.push(found);
            }
            across.couplings.extend(coupling::find(&lanes));
            let shares = lanes.into_iter().zip(away);
            across.shares.extend(
                shares
                    .filter(|(lane, _)| lane.gaps_known)
                    .map(|(lane, away)| (lane.series, away)),
            );
        }
        across
    }

    /// The CPUs of the report, best first.
    pub(crate) fn ranking(&self, series: &[Series]) -> Vec<Cpu> {
        let mut cpus = ranking(series);
        for cpu in &mut cpus {
            let mine = self.shares.iter().find(|(series, _)| *series == cpu.series);
            cpu.synchronous = mine.map(|(_, share)| *share);
        }
        cpus
    }
}

/// The CPUs of some series, best first, without what they have in common. Series whose CPU is not known are left out.
pub fn ranking(series: &[Series]) -> Vec<Cpu> {
    ranking::rank(series)
}

/// Pairs of `number` CPUs.
fn pairs(number: usize) -> Vec<(usize, usize)> {
    let with = move |a| (a + 1..number).map(move |b| (a, b));
    (0..number).flat_map(with).collect()
}

/// The sets of CPUs that pairs join, each in order, of two CPUs and more.
fn sets(number: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
    let mut set: Vec<usize> = (0..number).collect();
    for (a, b) in pairs {
        let (from, to) = (set[b], set[a]);
        set.iter_mut().filter(|one| **one == from).for_each(|one| {
            *one = to;
        });
    }
    let members = |of: usize| (0..number).filter(|&one| set[one] == of).collect();
    let all = (0..number).map(members);
    all.filter(|members: &Vec<usize>| members.len() > 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_touch_are_one_set() {
        let pairs = [(0, 3), (1, 4), (3, 5)];
        assert_eq!(sets(6, pairs.into_iter()), [vec![0, 3, 5], vec![1, 4]]);
        assert!(sets(3, [].into_iter()).is_empty());
        assert_eq!(super::pairs(64).len(), 2016);
    }
}
