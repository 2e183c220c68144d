//! How a machine is set up, and what of it cost something in a recording: `bandscope.doctor/1`.
//!
//! A pure function of a report and the facts that its recording holds. Each item of the list (`items`) says what it reads
//! and what a quiet CPU wants. It names the ledger lines on which it acts, and what changes it. Its cost is the sum of those lines, so items that
//! act on one line share it. What no line shows is not measurable, and the entry says why.

mod facts;
mod items;
mod subject;

use crate::costs::{Costs, Line};
use bandscope_recording::cpu_list;
use bandscope_report::remedies::Remedy;
use bandscope_report::{Report, format};
pub use facts::Fact;
use items::{ActsOn, CHECKS, Check, Judged};
pub use items::{Item, Lasting, Place};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use subject::Subject;

/// The schema that this version writes.
pub const SCHEMA: &str = "bandscope.doctor/1";

/// Share of the time below which a setting costs nothing that anybody would notice: half of the last digit that is shown.
const MIN_SHARE: f64 = 5e-5;
/// Items that the verdict names.
const MAX_NAMED: usize = 3;

/// Why there is nothing to judge.
#[derive(Debug, thiserror::Error)]
pub enum Unjudged {
    /// A file of counts.
    #[error(
        "found a file of counts, expected a recording; only a recording holds facts about its machine"
    )]
    NoFacts,
    /// CPUs that the recording does not have.
    #[error("--cpus: found {found}, expected CPUs of the recording: {expected}")]
    OtherCpus {
        /// What was asked for.
        found: String,
        /// What there is.
        expected: String,
    },
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Doctor {
    /// Name and version of this contract.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// The recordings, as named by the user.
    pub inputs: Vec<String>,
    /// When the recording began, RFC 3339 in UTC.
    pub started: String,
    /// CPUs that were judged.
    pub cpus: Vec<u32>,
    /// One sentence: what a reader who reads one sentence must know.
    pub verdict: String,
    /// Wall time of their series.
    pub wall_ns: u64,
    /// What they lost of it.
    pub lost_ns: u64,
    /// The part of it on which settings act that are not as a quiet CPU wants them; each line once.
    pub acted_on_ns: u64,
    /// The items, the costliest first.
    pub entries: Vec<Entry>,
    /// What else is known of the machine, judged by nobody.
    pub facts: Vec<Fact>,
}

/// What was found about one item.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// Which.
    pub item: Item,
    /// Its name for people.
    pub title: &'static str,
    /// What became of it.
    pub state: State,
    /// What is set; `null` where it could not be read.
    pub found: Option<String>,
    /// What a quiet CPU wants; `null` where that is set, or where it could not be read.
    pub wanted: Option<String>,
    /// Time lost to what it acts on; `null` where that cannot be known.
    pub cost_ns: Option<u64>,
    /// The lines of the ledger that it acts on, the costliest first.
    pub lines: Vec<LineCost>,
    /// Other items that act on one of these lines: the same time, not more.
    pub together: Vec<Item>,
    /// Why it could not be read, or why its cost cannot be known.
    pub why: Option<String>,
    /// What changes it now.
    pub now: Option<Remedy>,
    /// What keeps the change over a boot.
    pub lasting: Option<Lasting>,
    /// Where its facts and its advice are documented.
    pub source: &'static str,
}

/// One line of the ledger that an item acts on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineCost {
    /// A key of `gaps_ns`, or `pace:` and a key of `pace_ns`.
    pub line: String,
    /// Time lost.
    pub ns: u64,
}

/// What became of an item. In the order of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is not as a quiet CPU wants it, and it cost something here.
    Costs,
    /// Time was lost to what the recording could not see: more rights, or a PMU, would tell its cause.
    Open,
    /// A quiet CPU wants something else. Its cost hides in interruptions without a name, which kernel events would tell.
    Unnamed,
    /// It is not, and no line of the ledger shows its cost.
    NotMeasurable,
    /// It could not be read.
    Unknown,
    /// It is not, and it cost nothing here.
    Free,
    /// It is as a quiet CPU wants it.
    Quiet,
}

/// Judges the machine of a report. Without `cpus`, all that were measured count.
///
/// # Errors
/// If the report knows nothing of its machine, or not all of `cpus`.
pub fn examine(report: &Report, cpus: &[u32]) -> Result<Doctor, Unjudged> {
    let manifest = report.recording.as_ref().ok_or(Unjudged::NoFacts)?;
    if manifest.is_imported() {
        return Err(Unjudged::NoFacts);
    }
    let measured: BTreeSet<u32> = report.series.iter().filter_map(|one| one.cpu).collect();
    let asked: BTreeSet<u32> = cpus.iter().copied().collect();
    if !asked.is_subset(&measured) || measured.is_empty() {
        let list = |cpus: BTreeSet<u32>| cpu_list::written(&cpus.into_iter().collect::<Vec<_>>());
        return Err(Unjudged::OtherCpus {
            found: list(asked),
            expected: list(measured),
        });
    }
    let judged = if asked.is_empty() { measured } else { asked };
    let cpus: Vec<u32> = judged.into_iter().collect();
    let costs = Costs::of(&report.series, &cpus);
    let subject = Subject {
        report,
        manifest,
        machine: &manifest.machine,
        setup: &manifest.machine.setup,
        cpus: &cpus,
        costs: &costs,
    };
    let mut entries: Vec<Entry> = CHECKS
        .iter()
        .copied()
        .flatten()
        .map(|check| entry(check, &subject))
        .collect();
    share_lines(&mut entries);
    // Stable: items of one cost stay in the order of the list.
    entries.sort_by_key(|entry| (entry.state, std::cmp::Reverse(entry.cost_ns)));
    let acted_on = lines_of(&entries, State::Costs);
    let (acted_on_ns, verdict) = (sum(&acted_on), verdict(&entries, &acted_on, &subject));
    Ok(Doctor {
        schema: SCHEMA,
        inputs: report.inputs.clone(),
        started: manifest.started.clone(),
        verdict,
        wall_ns: costs.wall_ns,
        lost_ns: costs.lost_ns,
        acted_on_ns,
        entries,
        facts: facts::facts(&subject),
        cpus,
    })
}

/// Judges one item.
fn entry(check: &Check, subject: &Subject<'_>) -> Entry {
    let mut entry = Entry {
        item: check.item,
        title: check.title,
        state: State::Quiet,
        found: None,
        wanted: None,
        cost_ns: None,
        lines: Vec::new(),
        together: Vec::new(),
        why: None,
        now: None,
        lasting: None,
        source: check.source,
    };
    match (check.judge)(subject) {
        Judged::Unknown(why) => {
            entry.state = State::Unknown;
            entry.why = Some(why);
        }
        Judged::Quiet(found) => entry.found = Some(found),
        Judged::Change(change) => {
            entry.found = Some(change.found);
            entry.wanted = Some(change.wanted);
            entry.now = change.now;
            entry.lasting = change.lasting;
            cost(check, subject, &mut entry);
        }
    }
    entry
}

/// Fills in what it costs.
fn cost(check: &Check, subject: &Subject<'_>, entry: &mut Entry) {
    let acts_on = |line: &Line| match (&check.acts_on, line) {
        (ActsOn::Lines(acts_on), line) => acts_on(line, subject),
        (ActsOn::Gaps(acts_on), Line::Gap(cause)) => acts_on(cause),
        _ => false,
    };
    if let ActsOn::NoLine(why) = check.acts_on {
        entry.state = State::NotMeasurable;
        entry.why = Some(why.to_owned());
        return;
    }
    let costs = subject.costs;
    let lines = costs.lines.iter().filter(|(line, _)| acts_on(line));
    let mut lines: Vec<(&Line, u64)> = lines.map(|(line, &ns)| (line, ns)).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.1));
    let ns = lines
        .iter()
        .fold(0u64, |sum, line| sum.saturating_add(line.1));
    let unnamed = costs.unnamed_ns();
    // Gaps without a name may be this item's.
    let may_hide = matches!(check.acts_on, ActsOn::Gaps(_))
        && !subject.is_traced()
        && costs.share(unnamed) >= MIN_SHARE;
    entry.lines = lines
        .iter()
        .map(|(line, ns)| LineCost {
            line: line.to_string(),
            ns: *ns,
        })
        .collect();
    entry.state = match costs.share(ns) >= MIN_SHARE {
        true if check.item == Item::Visibility => State::Open,
        true => State::Costs,
        false if may_hide => State::Unnamed,
        false => State::Free,
    };
    if entry.state == State::Unnamed {
        let percent = subject.percent(unnamed);
        entry.why = Some(format!(
            "kernel events were not recorded, and {percent} of the time went to interruptions without a name"
        ));
    } else {
        entry.cost_ns = Some(ns);
    }
}

/// Says of each item that costs something which others act on the same lines.
fn share_lines(entries: &mut [Entry]) {
    let costly = |entry: &&Entry| entry.state == State::Costs;
    let lines: Vec<(Item, BTreeSet<String>)> = (entries.iter().filter(costly))
        .map(|entry| {
            let lines = entry.lines.iter().map(|line| line.line.clone());
            (entry.item, lines.collect())
        })
        .collect();
    for entry in entries
        .iter_mut()
        .filter(|entry| entry.state == State::Costs)
    {
        let own = &entry.lines;
        let shares = |(item, lines): &&(Item, BTreeSet<String>)| {
            *item != entry.item && own.iter().any(|line| lines.contains(&line.line))
        };
        entry.together = lines.iter().filter(shares).map(|other| other.0).collect();
    }
}

/// Lines on which the items of a state act, each once.
fn lines_of(entries: &[Entry], state: State) -> BTreeMap<&str, u64> {
    let such = entries.iter().filter(|entry| entry.state == state);
    such.flat_map(|entry| &entry.lines)
        .map(|line| (line.line.as_str(), line.ns))
        .collect()
}

fn verdict(entries: &[Entry], acted_on: &BTreeMap<&str, u64>, subject: &Subject<'_>) -> String {
    let costs = subject.costs;
    let percent = |ns: u64| format::percent(costs.share(ns));
    let lost = percent(costs.lost_ns);
    let named = subject.named();
    let costly: Vec<&Entry> = (entries.iter())
        .filter(|entry| entry.state == State::Costs)
        .collect();
    // On a line without a name, such as `preempted`, a setting can act all the same: it is said once.
    let mut open = lines_of(entries, State::Open);
    open.retain(|line, _| !acted_on.contains_key(line));
    let open = match sum(&open) {
        ns if costs.share(ns) >= MIN_SHARE => {
            format!(" The recording could not see the cause of {}.", percent(ns))
        }
        _ => String::new(),
    };
    if costly.is_empty() {
        return format!(
            "{named} lost {lost} of the time. No setting is known to cost any of it.{open}"
        );
    }
    let most = costly.iter().take(MAX_NAMED).map(|entry| {
        let percent = percent(entry.cost_ns.unwrap_or(0));
        format!("{} {percent}", entry.title)
    });
    let most = most.collect::<Vec<String>>().join(", ");
    let percent = percent(sum(acted_on));
    format!("{named} lost {lost} of the time. Settings act on {percent}: {most}.{open}")
}

fn sum(lines: &BTreeMap<&str, u64>) -> u64 {
    lines.values().fold(0, |sum, ns| sum.saturating_add(*ns))
}

#[cfg(test)]
mod tests;
