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
use std::collections::{BTreeMap, BTreeSet};

/// Less likely than this by accident, all quantities together, and it is listed.
const MAX_P_VALUE_LISTED: f64 = 0.01;

/// Before the names of hardware counters.
const COUNTER: &str = "counter:";

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
    /// Whether it can pay for the lost time; `changed` where the metric is no time, and nothing is to be paid for.
    pub closure: Verdict,
    /// Seconds that each one more of a slow run would have to cost to pay for the lost time; `null` where there is none more, or the metric is no time.
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

/// A count or time by its name, and per what.
type Quantity = (String, Per);

/// Everything of a run.
type Quantities = BTreeMap<Quantity, f64>;

/// The strongest first, each source once.
pub fn associations(runs: &Runs, slow: &Slow) -> Vec<Association> {
    let mut groups: [Vec<&Run>; 2] = [Vec::new(), Vec::new()];
    for run in super::plain(runs) {
        if let Some(slow) = slow.is_slow(run) {
            groups[usize::from(slow)].push(run);
        }
    }
    if groups.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let of = |run: &&Run| quantities(run, &runs.metric.name);
    let groups_of = groups.each_ref();
    let quantities = groups_of.map(|group| group.iter().map(of).collect::<Vec<_>>());
    let lost = lost(&groups, &runs.metric.name);
    let mut all = ranked(&quantities);
    let corrected = holm(&all.iter().map(|one| one.p_value).collect::<Vec<_>>());
    for (one, corrected) in all.iter_mut().zip(corrected) {
        one.p_value = corrected;
        let more = |per: Per| {
            let key = (one.name.clone(), per);
            let [fast, slow] = [0, 1].map(|group| median(column(&quantities[group], &key)));
            slow - fast
        };
        let (more, more_often) = (more(Per::Run), more(Per::Second) > 0.0);
        (one.closure, one.needs_s) = match lost {
            Some(_) => budget(&one.name, more, more_often, lost),
            None => (Verdict::Changed, None),
        };
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
    all
}

/// Every quantity in slow runs against the others, p-values not corrected yet.
fn ranked(quantities: &[Vec<Quantities>; 2]) -> Vec<Association> {
    let keys: BTreeSet<&Quantity> = quantities
        .iter()
        .flatten()
        .flat_map(BTreeMap::keys)
        .collect();
    let of = |key: &Quantity| {
        let [fast, slow] = [0, 1].map(|group| column(&quantities[group], key));
        let ranked = mann_whitney(&slow, &fast);
        Association {
            name: key.0.clone(),
            per: key.1,
            medians: [median(fast), median(slow)],
            effect: ranked.effect,
            p_value: ranked.p_value,
            ..Association::default()
        }
    };
    keys.into_iter().map(of).collect()
}

/// Values of a quantity in the runs of a group. A source that is missing in a run did nothing in it; a hardware counter was not its turn.
fn column(group: &[Quantities], key: &Quantity) -> Vec<f64> {
    group
        .iter()
        .filter_map(|run| match run.get(key) {
            None if key.0.starts_with(COUNTER) => None,
            found => Some(found.copied().unwrap_or(0.0)),
        })
        .collect()
}

fn median(values: Vec<f64>) -> f64 {
    median_between(values).unwrap_or(0.0)
}

/// Median of what a slow run takes longer, in seconds, where the metric is a time.
fn lost(groups: &[Vec<&Run>; 2], metric: &str) -> Option<f64> {
    let time = CpuTime::named(metric);
    let of = |run: &&Run| time.map_or(run.wall_s, |time| time.of(run));
    let [fast, slow] = groups
        .each_ref()
        .map(|group| median(group.iter().map(of).collect()));
    Some(slow - fast).filter(|lost| *lost > 0.0)
}

/// Everything of a run, per what; but not the metric itself.
fn quantities(run: &Run, metric: &str) -> Quantities {
    let times = CpuTime::ALL.map(|time| (time.name(), time.of(run)));
    let counts = run
        .counts
        .iter()
        .map(|(name, value)| (name.as_str(), *value));
    let instructions = run.counter("instructions").filter(|number| *number > 0.0);
    let mut all = BTreeMap::new();
    for (name, value) in times.into_iter().chain(counts) {
        if name == metric || name.strip_prefix(COUNTER) == Some(metric) {
            continue;
        }
        all.insert((name.to_owned(), Per::Run), value);
        if run.wall_s > 0.0 {
            all.insert((name.to_owned(), Per::Second), value / run.wall_s);
        }
        if let Some(instructions) = instructions {
            all.insert((name.to_owned(), Per::Instruction), value / instructions);
        }
    }
    all
}

/// Whether what a slow run has `more` of can pay for what it lost in seconds, and how many each would have to cost.
///
/// By the costs and the rule of [`crate::counters`]; `more_often`: per second, too.
fn budget(name: &str, more: f64, more_often: bool, lost: Option<f64>) -> (Verdict, Option<f64>) {
    let Some(lost) = lost.filter(|_| more > 0.0) else {
        return (Verdict::CannotPay, None);
    };
    if CpuTime::named(name).is_some() {
        let share = more / lost;
        return (counters::closure(Some([share; 2]), Role::Time, false), None);
    }
    let name = name.strip_prefix(COUNTER).unwrap_or(name);
    let each = counters::cycles(lost) / more;
    let pays = counters::cost(name).map(|cost| [cost.low / each, cost.high / each]);
    let closure = counters::closure(pays, counters::role(name, ""), more_often);
    (closure, Some(lost / more))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_had_not_its_turn_is_not_0() {
        let run = |name: &str, value: f64| BTreeMap::from([((name.to_owned(), Per::Run), value)]);
        let group = [run("counter:cycles", 5.0), run("irq:eth0", 3.0)];
        let of = |name: &str| column(&group, &(name.to_owned(), Per::Run));
        assert_eq!(of("counter:cycles"), [5.0]);
        assert_eq!(of("irq:eth0"), [0.0, 3.0]);
    }

    #[test]
    fn interrupts_of_the_published_sort_are_a_lead_only_if_they_came_more_often() {
        // 719 more interrupts for 5.7e9 cycles at 3 GHz: 2.6 ms each.
        let lost = Some(5.7e9 / 3e9);
        let (often, needs) = budget("irq:eth0", 719.0, true, lost);
        assert_eq!(often, Verdict::Lead);
        assert!((needs.unwrap() - 2.64e-3).abs() < 1e-5);
        assert_eq!(budget("irq:eth0", 719.0, false, lost).0, Verdict::CannotPay);
    }

    #[test]
    fn time_is_its_own_cost_and_what_may_pay_is_a_lead() {
        let of = |name, more, lost| budget(name, more, true, lost).0;
        assert_eq!(of("user", 0.9, Some(1.0)), Verdict::Pays);
        assert_eq!(of("system", 0.1, Some(1.0)), Verdict::CannotPay);
        assert_eq!(of("faults:minor", 1e5, Some(1.0)), Verdict::Lead);
        assert_eq!(of("faults:major", 1e5, Some(1.0)), Verdict::Pays);
        assert_eq!(
            of("counter:branch-misses", 1e3, Some(1.0)),
            Verdict::CannotPay
        );
        assert_eq!(of("counter:something", 1e3, Some(1.0)), Verdict::Lead);
        assert_eq!(
            budget("irq:eth0", -3.0, true, Some(1.0)),
            (Verdict::CannotPay, None)
        );
        assert_eq!(
            budget("irq:eth0", 3.0, true, None),
            (Verdict::CannotPay, None)
        );
    }
}
