//! Gaps that hit several nodes at once: the longest of each, on one axis of time, and more of them together than chance brings.

use super::Node;
use super::node::{family, shared_name};
use super::shifted::{MOST_CHANCE, OfCause};
use bandscope_recording::summary::{CpuSummary, Summary};
use bandscope_statistics::distributions::ln_poisson_at_least;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Share of what is found that chance may have brought.
const MOST_BY_CHANCE: f64 = 0.2;
/// Gaps that are kept of a node, the longest, and nodes that are named of a moment.
const MOST_GAPS: usize = 64;
/// See [`MOST_GAPS`].
const MOST_NAMES: usize = 16;
/// Gaps of all nodes together: of more than 2,048 nodes fewer are looked at. Each is moved a hundred times and more.
const GAPS_OF_ALL: usize = 1 << 17;

/// What hit several nodes at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AtOnce {
    /// Nodes whose clocks are known against each other.
    pub nodes: u64,
    /// Seconds in which all of them measured.
    pub common_s: f64,
    /// How far two clocks may differ, in seconds: the two largest bounds of their errors.
    pub within_s: f64,
    /// Moments by cause, more than chance brings; those that hit most nodes first.
    pub moments: Vec<Moments>,
}

/// Moments of one cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moments {
    /// What the nodes lost, as a ledger has it; without the number at its end, unless all nodes have the same. Untrusted.
    pub cause: String,
    /// How many there were.
    pub number: u64,
    /// How many chance brings, on average.
    pub by_chance: f64,
    /// Nodes that each of them hit, at least.
    pub least_nodes: u64,
    /// Nodes that the widest hit.
    pub nodes: u64,
    /// Their names, at most 16. Untrusted.
    pub names: Vec<String>,
    /// When that began, in seconds since all nodes measured.
    pub at_s: f64,
    /// The longest gap of any of these moments, in seconds.
    pub longest_s: f64,
}

/// A gap by the clock of the job's first task.
#[derive(Clone, Debug, PartialEq)]
struct Gap {
    from_ns: f64,
    to_ns: f64,
    cause: String,
}

fn length(gap: &Gap) -> f64 {
    gap.to_ns - gap.from_ns
}

/// When a node measured, and its longest gaps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Timed {
    reference: String,
    /// When all of its CPUs were measured.
    from_ns: f64,
    to_ns: f64,
    within_ns: f64,
    gaps: Vec<Gap>,
}

impl Timed {
    /// Of a summary, if a hardware counter timed it and its job compared that.
    pub(super) fn new(summary: &Summary) -> Option<Timed> {
        let (counter, clock) = (summary.clock?, summary.job_clock.as_ref()?);
        let at = |seconds: f64| {
            let ticks = (seconds * 1e9 * counter.ticks_per_ns).max(0.0) as u64;
            clock.at(counter.origin_ticks.wrapping_add(ticks))
        };
        let ends = |cpu: &CpuSummary| {
            let gaps = cpu.longest.iter().map(|gap| gap.at_s + gap.ns / 1e9);
            gaps.fold(cpu.measured_s, f64::max)
        };
        let end = summary.cpus.iter().map(ends).fold(f64::INFINITY, f64::min);
        let (from, to) = (at(0.0), at(end));
        let longest = summary.cpus.iter().flat_map(|cpu| &cpu.longest);
        let gaps = longest.map(|gap| {
            let from_ns = at(gap.at_s).0;
            Gap {
                from_ns,
                to_ns: from_ns + gap.ns,
                cause: gap.cause.clone(),
            }
        });
        let timed = Timed {
            reference: clock.reference.clone(),
            from_ns: from.0,
            to_ns: to.0,
            within_ns: from.1.max(to.1),
            gaps: gaps.collect(),
        };
        Some(timed.longest())
    }

    /// With what another task measured on the same node; `None` if that was in another job.
    pub(super) fn joined(mut self, other: Timed) -> Option<Timed> {
        if self.reference != other.reference {
            return None;
        }
        self.from_ns = self.from_ns.max(other.from_ns);
        self.to_ns = self.to_ns.min(other.to_ns);
        self.within_ns = self.within_ns.max(other.within_ns);
        self.gaps.extend(other.gaps);
        Some(self.longest())
    }

    fn longest(mut self) -> Timed {
        (self.gaps).sort_by(|a, b| length(b).total_cmp(&length(a)));
        self.gaps.truncate(MOST_GAPS);
        self
    }
}

/// Nodes of one job.
struct Job<'a> {
    nodes: Vec<(&'a str, &'a Timed)>,
    from_ns: f64,
    to_ns: f64,
}

/// A stretch in which a node may have lost time, as its clock leaves open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) node: usize,
    pub(super) from_ns: f64,
    pub(super) to_ns: f64,
    /// Its longest gap.
    pub(super) longest_ns: f64,
}

impl<'a> Job<'a> {
    /// The job that most nodes are of.
    fn largest(nodes: &'a [Node]) -> Option<Job<'a>> {
        let mut jobs: BTreeMap<&str, Vec<(&str, &Timed)>> = BTreeMap::new();
        for node in nodes {
            if let Some(timed) = &node.timed {
                jobs.entry(&timed.reference)
                    .or_default()
                    .push((&node.name, timed));
            }
        }
        let nodes = jobs.into_values().max_by_key(Vec::len)?;
        let each = || nodes.iter().map(|node| node.1);
        Some(Job {
            from_ns: each().map(|one| one.from_ns).fold(f64::MIN, f64::max),
            to_ns: each().map(|one| one.to_ns).fold(f64::MAX, f64::min),
            nodes,
        })
        .filter(|job| job.nodes.len() > 1)
    }

    fn common_ns(&self) -> f64 {
        (self.to_ns - self.from_ns).max(0.0)
    }

    /// By family of causes: the stretches in which nodes may have lost time by it, in the common time; those of one node do not overlap.
    fn stretches(&self) -> BTreeMap<&'a str, Vec<Stretch>> {
        let mut by_cause: BTreeMap<&str, Vec<Stretch>> = BTreeMap::new();
        let most = (GAPS_OF_ALL / self.nodes.len()).max(1);
        for (node, (_, timed)) in self.nodes.iter().enumerate() {
            let mut gaps: Vec<&Gap> = timed.gaps.iter().take(most).collect();
            gaps.sort_by(|a, b| a.from_ns.total_cmp(&b.from_ns));
            for gap in gaps {
                let from_ns = (gap.from_ns - timed.within_ns).max(self.from_ns);
                let to_ns = (gap.to_ns + timed.within_ns).min(self.to_ns);
                if from_ns >= to_ns {
                    continue;
                }
                let stretches = by_cause.entry(family(&gap.cause)).or_default();
                let last = stretches.last_mut().filter(|last| last.node == node);
                match last.filter(|last| from_ns <= last.to_ns) {
                    Some(last) => {
                        last.to_ns = last.to_ns.max(to_ns);
                        last.longest_ns = last.longest_ns.max(length(gap));
                    }
                    None => stretches.push(Stretch {
                        node,
                        from_ns,
                        to_ns,
                        longest_ns: length(gap),
                    }),
                }
            }
        }
        by_cause
    }

    /// What the causes of a family are called.
    fn name(&self, kind: &str) -> &'a str {
        let gaps = self.nodes.iter().flat_map(|(_, timed)| &timed.gaps);
        let names = gaps.map(|gap| &*gap.cause);
        let names: Vec<&str> = names.filter(|name| family(name) == kind).collect();
        shared_name(&names)
    }
}

/// What hit several of these nodes at once; `None` where fewer than two have clocks that are known against each other.
pub(super) fn at_once(nodes: &[Node]) -> Option<AtOnce> {
    let job = Job::largest(nodes)?;
    let stretches = job.stretches();
    // What one node alone has cannot hit several.
    let is_of_several = |of: &&Vec<Stretch>| of.iter().any(|one| one.node != of[0].node);
    let causes = stretches.values().filter(is_of_several).count();
    let mut moments: Vec<Moments> = stretches
        .iter()
        .filter_map(|(cause, of)| of_cause(&job, cause, of, causes))
        .collect();
    moments.sort_by_key(|one| Reverse((one.nodes, one.number)));
    let mut within_ns: Vec<f64> = job.nodes.iter().map(|node| node.1.within_ns).collect();
    within_ns.sort_by(|a, b| b.total_cmp(a));
    Some(AtOnce {
        nodes: job.nodes.len() as u64,
        common_s: job.common_ns() / 1e9,
        within_s: within_ns.iter().take(2).sum::<f64>() / 1e9,
        moments,
    })
}

/// Moments of one family of so many causes; `None` where chance may bring as many.
fn of_cause(job: &Job<'_>, cause: &str, stretches: &[Stretch], causes: usize) -> Option<Moments> {
    let moments = moments(stretches);
    let nodes = job.nodes.len() as f64;
    let lost_ns: f64 = stretches.iter().map(|one| one.to_ns - one.from_ns).sum();
    // Other nodes that are within a stretch when one begins, on average.
    let others = (nodes - 1.0) / nodes * lost_ns / job.common_ns().max(1.0);
    // As many or more of independent nodes: by a binomial law, of which Poisson's of the same mean is the bound (Anderson and Samuels 1967).
    let ln_expected =
        |size: usize| (stretches.len() as f64).ln() + ln_poisson_at_least(size as u64 - 1, others);
    let most_chance = MOST_CHANCE / (causes.max(1) as f64 * nodes);
    let mut sizes: Vec<usize> = moments.iter().map(Vec::len).collect();
    sizes.sort_unstable();
    let wider = |size: usize| sizes.len() - sizes.partition_point(|one| *one < size);
    let is_beyond_chance = |size: usize| {
        let (number, expected) = (wider(size), ln_expected(size).exp());
        expected <= MOST_BY_CHANCE * number as f64
            && ln_poisson_at_least(number as u64, expected) <= most_chance.ln()
    };
    let of = OfCause {
        stretches,
        nodes: job.nodes.len(),
        from_ns: job.from_ns,
        to_ns: job.to_ns,
    };
    let mut scores = of.scores(&moments, &ln_expected);
    scores.retain(|(size, _)| is_beyond_chance(*size));
    let score = scores.iter().map(|one| one.1).reduce(f64::max)?;
    // Of independent gaps. Those of a period meet more often or not at all.
    let by_chance = of.by_chance(score, causes, &ln_expected)?;
    let is_beyond = |(size, score): &&(usize, f64)| {
        by_chance.is_beyond(*score)
            && by_chance.number(*size) <= MOST_BY_CHANCE * wider(*size) as f64
    };
    let least = scores.iter().find(is_beyond)?.0;
    let wide = || moments.iter().filter(|moment| moment.len() >= least);
    let widest = wide().max_by_key(|moment| moment.len())?;
    let from = widest
        .iter()
        .map(|one| one.from_ns)
        .fold(f64::MAX, f64::min);
    let mut names: Vec<&str> = widest.iter().map(|one| job.nodes[one.node].0).collect();
    names.sort_unstable();
    let lengths = wide().flatten().map(|one| one.longest_ns);
    Some(Moments {
        cause: job.name(cause).to_owned(),
        number: wider(least) as u64,
        by_chance: by_chance.number(least),
        nodes: widest.len() as u64,
        least_nodes: least as u64,
        names: names
            .into_iter()
            .take(MOST_NAMES)
            .map(String::from)
            .collect(),
        at_s: (from - job.from_ns) / 1e9,
        longest_s: lengths.fold(0.0, f64::max) / 1e9,
    })
}

/// Moments at which most nodes are within a stretch, two or more. Of two that have most of their stretches in common the wider one.
pub(super) fn moments(stretches: &[Stretch]) -> Vec<Vec<Stretch>> {
    let mut ends: Vec<(f64, bool, usize)> = Vec::with_capacity(2 * stretches.len());
    for (place, one) in stretches.iter().enumerate() {
        ends.push((one.from_ns, false, place));
        ends.push((one.to_ns, true, place));
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut moments: Vec<Vec<usize>> = Vec::new();
    // Stretches that are open; of each its place there, and the number of the last moment that has it.
    let mut open: Vec<usize> = Vec::new();
    let mut at = vec![0; stretches.len()];
    let mut of_moment = vec![0; stretches.len()];
    let mut has_begun = false;
    for (_, is_end, place) in ends {
        if !is_end {
            at[place] = open.len();
            open.push(place);
            has_begun = true;
            continue;
        }
        // The first end after a beginning is where most are open.
        if has_begun && open.len() > 1 {
            let last = moments.last().map_or(0, Vec::len);
            let is_of_last = |one: &&usize| last > 0 && of_moment[**one] == moments.len();
            let is_new = 2 * open.iter().filter(is_of_last).count() < open.len();
            if is_new || open.len() > last {
                if !is_new {
                    moments.pop();
                }
                moments.push(open.clone());
                open.iter().for_each(|&one| of_moment[one] = moments.len());
            }
        }
        has_begun = false;
        open.swap_remove(at[place]);
        if let Some(&moved) = open.get(at[place]) {
            at[moved] = at[place];
        }
    }
    let of = |places: Vec<usize>| places.into_iter().map(|place| stretches[place]).collect();
    moments.into_iter().map(of).collect()
}
