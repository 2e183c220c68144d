//! What the noise of a recording costs a job on many nodes: `bandscope.scale/1`.
//!
//! The job is bulk-synchronous: each rank does fixed work of length g, then waits for all. [`scale`] reads the work over time of each measured CPU
//! (`analysis::work`), lets phases begin everywhere in it (`windows`), and asks what the slowest of N loses (`law`) where nodes lose independently:
//! seen in the recording, by a tail beyond it, or not at all (`cells`). docs/method.md, section 10.5.

mod cells;
mod jobs;
mod law;
mod sample;
mod sentence;
#[cfg(test)]
mod tests;
mod together;
mod windows;

use crate::Error;
use bandscope_analysis::work;
use bandscope_recording::Source;
use bandscope_report::{Cause, Report};
use cells::Of;
use jobs::Laps;
use rayon::prelude::*;
use sample::{Followed, Follower, Without};
pub use sentence::nodes;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use together::{AtOnce, Curve};

/// The schema that this version writes.
pub const SCHEMA: &str = "bandscope.scale/1";
/// Causes that are taken away one at a time: so many with most time in all, and so many with the longest gaps.
const MOST_CAUSES: usize = 5;
/// Blocks of the bootstrap, at most, each of at least two phases: enough for percentiles, and longer than most noise is correlated.
const BLOCKS: f64 = 64.0;
const PHASES_A_BLOCK: f64 = 2.0;

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Numbers of nodes, ascending.
    pub nodes: Vec<u64>,
    /// Lengths of the work between two waits, in seconds, ascending.
    pub phases_s: Vec<f64>,
}

/// `bandscope.scale/1`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scale {
    /// Name and version of this contract.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// The recordings.
    pub inputs: Vec<String>,
    /// The answer in a sentence or two.
    pub verdict: String,
    /// Work kernel whose work is that of the job.
    pub kernel: String,
    /// CPUs whose noise the nodes have, in equal parts.
    pub cpus: Vec<OfCpu>,
    /// Seconds that were measured, of all of them.
    pub measured_s: f64,
    /// How much longer work takes on one node alone, and on any number that lose at the same time: a lower bound, as a share.
    pub alone: f64,
    /// By length of the work between two waits.
    pub phases: Vec<Phase>,
    /// What has to be known to read this.
    pub notes: Vec<String>,
}

/// A measured CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfCpu {
    /// Recording that it is in.
    pub input: String,
    /// Its number; `null` where a file does not say.
    pub cpu: Option<u32>,
    /// Seconds that were measured.
    pub measured_s: f64,
    /// How much longer work takes on it, as a share.
    pub alone: f64,
}

/// Phases of one length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// Length of the work between two waits, in seconds, where nothing is lost.
    pub phase_s: f64,
    /// Phases that fit into what was measured.
    pub number: f64,
    /// The largest number of nodes whose slowest was seen three times, on average.
    pub seen_nodes: u64,
    /// By number of nodes.
    pub cells: Vec<Cell>,
    /// A job on CPUs of one recording at that very time; `null` where fewer than two were measured at once, or for fewer than ten phases.
    pub together: Option<Together>,
}

/// A job on the measured CPUs themselves, a rank on each, with their losses as they fell together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Together {
    /// Their recording; of several, the one with most CPUs.
    pub input: String,
    /// Number of CPUs.
    pub cpus: u64,
    /// How much longer a phase took than its work, as a share of that.
    pub longer: f64,
    /// The same of so many nodes that lose independently of each other, each as these CPUs; `null` where that is not known, and for few phases.
    pub independent: Option<f64>,
}

impl Together {
    /// Whether other CPUs are in other recordings: a job's directory is one input and may have many.
    pub fn is_one_of_several(&self, scale: &Scale) -> bool {
        (self.cpus as usize) < scale.cpus.len()
    }
}

/// How a figure is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// From what was recorded.
    Observed,
    /// From a tail that was fitted to it.
    Extrapolated,
    /// Refused: it rests on fewer than ten losses.
    TooRare,
    /// Refused: it lies beyond what was seen, and no tail fits or it leaves too much open.
    #[default]
    Beyond,
}

/// What a number of nodes costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// Number of nodes, one rank each.
    pub nodes: u64,
    /// How it is known.
    pub basis: Basis,
    /// The cost; `null` where it is refused.
    pub cost: Option<Cost>,
    /// Separate losses of the length that it rests on; `null` beyond what was seen.
    pub events: Option<u64>,
    /// What it comes from, the largest first; empty where the cost is refused. Of an extrapolated cost only what its interval does not hide.
    pub from: Vec<Saving>,
    /// Seconds that would have to be measured to see it; `null` where it was seen.
    pub decided_by_s: Option<f64>,
    /// What it could cost beside, as a share: absences of 1 ms that come three times in what was measured, and by chance did not.
    pub unseen: f64,
}

/// How much longer a phase takes than its work, as a share of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// Where nodes lose independently of each other.
    pub longer: f64,
    /// 95 % interval of that.
    pub interval: (f64, f64),
    /// Where no two nodes lose in one phase: the most that any dependence between them costs.
    pub at_most: f64,
}

/// What would be saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Saving {
    /// Line of the ledger, as in a report, or `pace`.
    pub name: String,
    /// How much less a phase would take without it, as a share of its work. Such savings do not add up. `null` where the cost is extrapolated, and
    /// what is left without the cause neither was seen nor has a tail.
    pub less: Option<f64>,
}

/// A CPU with the series that were measured on it, by index, and its reference pace in each.
struct Node {
    series: Vec<(usize, f64)>,
    about: OfCpu,
}

/// Says what the noise in `source` costs; `report` is of the same recordings. `progress` hears which part is done, 0 to 1.
///
/// # Errors
/// If the recordings cannot be read, or no series has a reference pace.
pub fn scale(
    source: &dyn Source,
    report: &Report,
    settings: &Settings,
    progress: &(dyn Fn(f64) + Sync),
) -> Result<Scale, Error> {
    let nodes = measured(source, report)?;
    let kernel = source.series()[nodes[0].series[0].0].kernel.clone();
    let causes = causes(report, &nodes);
    let phases_ns: Vec<f64> = settings.phases_s.iter().map(|phase| phase * 1e9).collect();
    // A CPU is followed once, and asked for each length of phase.
    let (steps, done) = (nodes.len() * (1 + phases_ns.len()), AtomicUsize::new(0));
    let step = |more: usize| {
        let before = done.fetch_add(more, Ordering::Relaxed);
        progress((before + more) as f64 / steps as f64);
    };
    let followed = nodes.par_iter().map(|node| {
        let followed = follow(source, node, &causes, (&phases_ns, nodes.len()));
        step(1);
        followed
    });
    let (followed, curves): (Vec<Vec<Followed>>, Vec<Curve>) =
        followed.collect::<Result<_, Error>>()?;
    let laps = Laps::new(&curves);
    let at_once = AtOnce::new(&nodes, &curves);
    let measured_s = nodes.iter().map(|node| node.about.measured_s).sum();
    let alone = nodes.iter().map(|node| node.about.alone).sum::<f64>() / nodes.len() as f64;
    let name = |without: Without| match without {
        Without::Cause(place) => causes[place].to_string(),
        Without::Pace => "pace".to_owned(),
        Without::Nothing => String::new(),
    };
    let mut scale = Scale {
        schema: SCHEMA,
        inputs: report.inputs.clone(),
        kernel,
        measured_s,
        alone,
        phases: phases(
            (&followed, &laps),
            &at_once,
            settings,
            measured_s,
            &name,
            &|| step(nodes.len()),
        ),
        cpus: nodes.into_iter().map(|node| node.about).collect(),
        ..Scale::default()
    };
    scale.notes = sentence::notes(&scale, report);
    if laps.is_empty() {
        scale.notes.push(sentence::NOT_FOLLOWED.to_owned());
    }
    scale.verdict = sentence::verdict(&scale);
    Ok(scale)
}

/// All lengths of phases; `one_is_done` is called after each.
fn phases(
    followed: (&[Vec<Followed>], &Laps),
    at_once: &AtOnce<'_>,
    settings: &Settings,
    measured_s: f64,
    name: &(dyn Fn(Without) -> String + Sync),
    one_is_done: &dyn Fn(),
) -> Vec<Phase> {
    let phases = settings
        .phases_s
        .iter()
        .enumerate()
        .map(|(place, &phase_s)| {
            let of = Of::new(followed, (place, phase_s * 1e9), measured_s, name);
            let phase = Phase {
                phase_s,
                number: of.number(),
                seen_nodes: of.seen_nodes(),
                cells: of.cells(&settings.nodes),
                together: at_once.together(followed, &of, (place, phase_s * 1e9)),
            };
            one_is_done();
            phase
        });
    phases.collect()
}

/// The measured CPUs, with the series of the kernel that was measured first.
fn measured(source: &dyn Source, report: &Report) -> Result<Vec<Node>, Error> {
    let mut nodes: BTreeMap<(String, Option<u32>), Node> = BTreeMap::new();
    let mut kernel = None;
    for (index, (series, about)) in source.series().iter().zip(&report.series).enumerate() {
        let Some(best) = about
            .best_pace
            .as_ref()
            .filter(|best| best.ns_per_unit > 0.0)
        else {
            continue;
        };
        if *kernel.get_or_insert(&series.kernel) != &series.kernel {
            continue;
        }
        let ledger = &about.ledger;
        let node = nodes
            .entry((series.origin.clone(), series.cpu))
            .or_insert_with(|| Node {
                series: Vec::new(),
                about: OfCpu {
                    input: series.origin.clone(),
                    cpu: series.cpu,
                    ..OfCpu::default()
                },
            });
        node.series.push((index, best.ns_per_unit));
        let measured_s = (ledger.wall_ns - ledger.measurement_ns.min(ledger.wall_ns)) as f64 / 1e9;
        let work_s = (ledger.work_ns + ledger.bonus_ns) as f64 / 1e9;
        let about = &mut node.about;
        // Summed as time and work; the share is made of both below.
        about.measured_s += measured_s;
        about.alone += work_s;
    }
    let mut nodes: Vec<Node> = nodes.into_values().collect();
    for node in &mut nodes {
        let about = &mut node.about;
        about.alone = if about.alone > 0.0 {
            about.measured_s / about.alone - 1.0
        } else {
            0.0
        };
    }
    match nodes.is_empty() {
        true => Err(Error::NoPace),
        false => Ok(nodes),
    }
}

/// The causes that may matter: by their time, and by their longest part of a gap, as long ones are what many nodes wait for.
fn causes(report: &Report, nodes: &[Node]) -> Vec<Cause> {
    let series = nodes.iter().flat_map(|node| &node.series);
    let gaps = series.filter_map(|&(index, _)| report.series[index].gaps.as_ref());
    let mut all: BTreeMap<&Cause, [f64; 2]> = BTreeMap::new();
    for cause in gaps.flat_map(|gaps| &gaps.causes) {
        let [time, longest] = all.entry(&cause.cause).or_default();
        *time += cause.lost_ns as f64;
        *longest = longest.max(cause.longest_ns);
    }
    let mut all: Vec<(&Cause, [f64; 2])> = all.into_iter().collect();
    let mut chosen: Vec<Cause> = Vec::new();
    for by in [0, 1] {
        all.sort_by(|a, b| b.1[by].total_cmp(&a.1[by]));
        chosen.extend(all.iter().take(MOST_CAUSES).map(|one| one.0.clone()));
    }
    chosen.sort();
    chosen.dedup();
    chosen
}

/// Follows a CPU: all of its losses, then without each of the causes, then without what pace takes.
fn follow(
    source: &dyn Source,
    node: &Node,
    causes: &[Cause],
    (phases_ns, nodes): (&[f64], usize),
) -> Result<(Vec<Followed>, Curve), Error> {
    let blocks: Vec<f64> = phases_ns
        .iter()
        .map(|phase| (node.about.measured_s * 1e9 / BLOCKS).max(PHASES_A_BLOCK * phase))
        .collect();
    let without = (0..causes.len()).map(Without::Cause);
    // Where gaps are not known what they take seems to be pace: nothing can be taken away.
    let is_known = node
        .series
        .iter()
        .all(|one| source.series()[one.0].gaps_known);
    let without = without.chain([Without::Pace]).filter(|_| is_known);
    let all = [Without::Nothing].into_iter().chain(without);
    let most = sample::most_largest(nodes);
    let mut followers: Vec<Follower> = all
        .map(|one| Follower::new(one, phases_ns, &blocks, most))
        .collect();
    let places: BTreeMap<&Cause, usize> = causes.iter().zip(0..).collect();
    let number = |cause: &Cause| places.get(cause).copied().unwrap_or(usize::MAX);
    let mut curve = Curve::of(nodes);
    for &(index, best_ns) in &node.series {
        work::each(source, index, best_ns, &number, &mut |piece| {
            curve.push(&piece);
            followers
                .iter_mut()
                .for_each(|follower| follower.push(piece));
        })?;
    }
    let followed = followers.into_iter().map(Follower::finish);
    Ok((followed.collect(), curve.sorted()))
}
