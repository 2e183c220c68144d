//! What goes with the slow mode: everything that was counted, in slow runs against the others, per run, per second and per instruction.
//!
//! Ranks only (Mann and Whitney), corrected for all that was looked at (Holm). What goes with it need not be its cause: a longer
//! run meets more interrupts, which is why each source is also a rate, and why its cost is asked for. `closure` says whether it could pay
//! for the lost time at all.

use super::slow::Slow;
use crate::counters::{self, Role, Verdict};
use bandscope_recording::runs::{Run, Runs};
use bandscope_statistics::order::median_between;
use bandscope_statistics::{holm, ranks::mann_whitney};
use serde::Serialize;
use std::collections::BTreeSet;

/// Less likely than this by accident, all quantities together, and it is listed.
const MAX_P_VALUE_LISTED: f64 = 0.01;

/// Before the names of hardware counters.
const COUNTER: &str = "counter:";
/// The counter of cycles, which each run has if it has any.
const CYCLES: &str = "counter:cycles";

/// Slow runs lost time if they took longer, and that is an accident less often than this.
const MAX_P_VALUE_OF_A_LOSS: f64 = 0.01;
/// And longer by this share: less is nothing that a benchmark would show. Chosen, not measured.
const MIN_SHARE_OF_A_LOSS: f64 = 0.01;

/// Something that differs between slow runs and the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Association {
    /// As in the runs: `irq:NAME`, `faults:minor`, `user`, ...
    pub name: String,
    /// Per what it differs most.
    pub per: Per,
    /// Medians in the other runs and in slow ones; seconds where it is a time.
    pub medians: [f64; 2],
    /// Cliff's delta: 1 if every slow run has more of it than every other, -1 if less.
    pub effect: f64,
    /// Corrected for all quantities.
    pub p_value: f64,
    /// Whether it can pay for the lost time; `outcome` of cycles; `changed` where it costs no time, or it is not sure that slow runs took longer.
    pub closure: Verdict,
    /// Seconds that each one more of a slow run would have to cost to pay for the lost time; `null` where there is none more, and where nothing is to be paid for.
    pub needs_s: Option<f64>,
}

/// What a count is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// An instruction.
    Instruction,
    /// A run.
    #[default]
    Run,
    /// A second.
    Second,
}

impl Per {
    const ALL: [Per; 3] = [Per::Instruction, Per::Run, Per::Second];

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Per::Instruction => "instruction",
            Per::Run => "run",
            Per::Second => "second",
        }
    }
}

/// CPU time that the kernel books to a run; it is its own cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CpuTime {
    User,
    System,
}

impl CpuTime {
    const ALL: [CpuTime; 2] = [CpuTime::User, CpuTime::System];

    fn named(name: &str) -> Option<CpuTime> {
        CpuTime::ALL.into_iter().find(|time| time.name() == name)
    }

    const fn name(self) -> &'static str {
        match self {
            CpuTime::User => "user",
            CpuTime::System => "system",
        }
    }

    fn of(self, run: &Run) -> f64 {
        match self {
            CpuTime::User => run.user_s,
            CpuTime::System => run.system_s,
        }
    }
}

/// What is counted, by what its name begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It happens, or takes time.
    Amount,
    /// Joules, which cost no time.
    Energy,
    /// A level of memory, which costs no time either.
    Memory,
    /// The clock: less of it is the loss.
    Clock,
    /// What others took before the run.
    Noise,
}

impl Kind {
    fn of(name: &str) -> Kind {
        match name.split_once(':').map(|(begin, _)| begin) {
            Some("energy") => Kind::Energy,
            Some("memory") => Kind::Memory,
            Some("frequency") => Kind::Clock,
            Some("noise") => Kind::Noise,
            _ => Kind::Amount,
        }
    }

    /// Whether a longer run has more of it.
    const fn adds_up(self) -> bool {
        matches!(self, Kind::Amount | Kind::Energy)
    }
}

/// The other runs and the slow ones.
type Groups<'a> = [Vec<&'a Run>; 2];

/// The strongest first, each source once.
pub fn associations(runs: &Runs, slow: &Slow) -> Vec<Association> {
    let mut groups: Groups<'_> = [Vec::new(), Vec::new()];
    for run in super::plain(runs) {
        if let Some(slow) = slow.is_slow(run) {
            groups[usize::from(slow)].push(run);
        }
    }
    let metric = &*runs.metric.name;
    let mut all = ranked(&groups, metric);
    let corrected = holm(&all.iter().map(|one| one.p_value).collect::<Vec<_>>());
    for (one, corrected) in all.iter_mut().zip(corrected) {
        one.p_value = corrected;
    }
    all.retain(|one| one.p_value < MAX_P_VALUE_LISTED);
    all.sort_by(|a, b| {
        b.effect
            .abs()
            .total_cmp(&a.effect.abs())
            .then(a.p_value.total_cmp(&b.p_value))
    });
    let mut seen = BTreeSet::new();
    all.retain(|one| seen.insert(one.name.clone()));
    let loss = Loss::of(&groups, metric);
    for one in &mut all {
        let more = |per: Per| {
            let [fast, slow] = columns(&groups, &one.name, per).map(median);
            slow - fast
        };
        (one.closure, one.needs_s) = match &loss {
            Some(loss) => budget(&one.name, more(Per::Run), more(Per::Second) > 0.0, loss),
            None => (Verdict::Changed, None),
        };
    }
    all
}

/// Every quantity but the metric itself in slow runs against the others, p-values not corrected yet.
fn ranked(groups: &Groups<'_>, metric: &str) -> Vec<Association> {
    let counted = groups.iter().flatten().flat_map(|run| run.counts.keys());
    let times = CpuTime::ALL.map(CpuTime::name);
    let mut names: BTreeSet<&str> = counted.map(String::as_str).chain(times).collect();
    names.retain(|name| *name != metric && name.strip_prefix(COUNTER) != Some(metric));
    let of = |(name, per): (&str, Per)| {
        let [fast, slow] = columns(groups, name, per);
        if fast.is_empty() || slow.is_empty() {
            return None;
        }
        let ranked = mann_whitney(&slow, &fast);
        Some(Association {
            name: name.to_owned(),
            per,
            medians: [median(fast), median(slow)],
            effect: ranked.effect,
            p_value: ranked.p_value,
            ..Association::default()
        })
    };
    let all = names
        .iter()
        .flat_map(|name| Per::ALL.map(|per| (*name, per)));
    let wanted = all.filter(|(name, per)| *per == Per::Run || Kind::of(name).adds_up());
    wanted.filter_map(of).collect()
}

/// Values of a quantity in the runs of either group.
fn columns(groups: &Groups<'_>, name: &str, per: Per) -> [Vec<f64>; 2] {
    let of = |group: &Vec<&Run>| {
        group
            .iter()
            .filter_map(|run| value(run, name, per))
            .collect()
    };
    groups.each_ref().map(of)
}

/// A source that is missing in a run did nothing in it; a hardware counter was not its turn.
fn value(run: &Run, name: &str, per: Per) -> Option<f64> {
    let value = match (CpuTime::named(name), run.counts.get(name)) {
        (Some(time), _) => time.of(run),
        (None, Some(value)) => *value,
        (None, None) if name.starts_with(COUNTER) => return None,
        (None, None) => 0.0,
    };
    let divisor = match per {
        Per::Instruction => run.counter("instructions")?,
        Per::Run => 1.0,
        Per::Second => run.wall_s,
    };
    (divisor > 0.0).then(|| value / divisor)
}

fn median(values: Vec<f64>) -> f64 {
    median_between(values).unwrap_or(0.0)
}

/// What a slow run lost against the others.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Loss {
    seconds: f64,
    /// Cycles that it took more, where the CPU counted them; 0 where it took no more for sure.
    cycles: Option<f64>,
    /// Of the other runs, where both are counted.
    cycles_per_instruction: Option<f64>,
}

impl Loss {
    /// `None` where it is not sure that slow runs took longer.
    fn of(groups: &Groups<'_>, metric: &str) -> Option<Loss> {
        let time = CpuTime::named(metric);
        let of = |run: &&Run| time.map_or(run.wall_s, |time| time.of(run));
        let times = groups
            .each_ref()
            .map(|group| group.iter().map(of).collect());
        let cycles = columns(groups, CYCLES, Per::Run);
        let counted = cycles.iter().all(|group| !group.is_empty());
        let [per_instruction, _] = columns(groups, CYCLES, Per::Instruction);
        Some(Loss {
            seconds: more(&times)?,
            cycles: counted.then(|| more(&cycles).unwrap_or(0.0)),
            cycles_per_instruction: median_between(per_instruction),
        })
    }
}

/// Median of what the second group has more; `None` where that may be an accident, or is nothing that matters.
fn more([fast, slow]: &[Vec<f64>; 2]) -> Option<f64> {
    let sure = mann_whitney(slow, fast).p_value < MAX_P_VALUE_OF_A_LOSS;
    let [fast, slow] = [fast, slow].map(|group| median(group.clone()));
    let matters = slow - fast > MIN_SHARE_OF_A_LOSS * fast;
    (sure && matters).then_some(slow - fast)
}

/// Whether what a slow run has `more` of can pay for what it lost, and how many seconds each would have to cost.
///
/// By the costs and the rule of [`crate::counters`]; `more_often`: per second, too.
fn budget(name: &str, more: f64, more_often: bool, loss: &Loss) -> (Verdict, Option<f64>) {
    match Kind::of(name) {
        Kind::Amount => {}
        Kind::Clock if more < 0.0 => return (Verdict::Lead, None),
        Kind::Noise if more > 0.0 => return (Verdict::Lead, None),
        _ => return (Verdict::Changed, None),
    }
    let counter = name.strip_prefix(COUNTER);
    let role = counters::role(counter.unwrap_or(name), "");
    if counter.is_some() && matches!(role, Role::Cycles | Role::Time) {
        return (Verdict::Outcome, None);
    }
    if more <= 0.0 {
        return (Verdict::CannotPay, None);
    }
    if CpuTime::named(name).is_some() {
        let share = more / loss.seconds;
        return (counters::closure(Some([share; 2]), Role::Time, false), None);
    }
    let cost = match (counter, role) {
        (Some(_), Role::Instructions) => loss.cycles_per_instruction.map(|each| [each; 2]),
        _ => counters::cost(counter.unwrap_or(name)).map(|cost| [cost.low, cost.high]),
    };
    let closure = match loss.cycles.filter(|_| counter.is_some()) {
        // What it counts costs cycles, and none are lost.
        Some(0.0) => Verdict::CannotPay,
        counted => {
            let share = more / counted.unwrap_or(counters::cycles(loss.seconds));
            let pays = cost.map(|cost| cost.map(|each| share * each));
            counters::closure(pays, role, more_often)
        }
    };
    (closure, Some(loss.seconds / more))
}

#[cfg(test)]
mod tests;
