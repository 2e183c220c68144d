//! What each change of a machine saved: `bandscope.cure/1`.
//!
//! `experiments::cure` makes pairs of trials, with a cure and without, in an order that is drawn for each pair. `figures.rs` takes the figures of a
//! trial, `plan.rs` fixes the number of pairs, `events.rs` takes off what recording events added, `trials.rs` compares the pairs, `judge.rs` decides,
//! and `sentence.rs` words it (docs/method.md, section 10.4).

mod events;
mod figures;
mod judge;
mod plan;
mod sentence;
mod trials;
mod verdict;

use bandscope_recording::cures::{Change, Cures, SHAM, TOGETHER};
pub use figures::{figures, matches, starved};
pub use plan::{affordable, fewest, least, own_lines, pairs};
use serde::Serialize;

/// The schema that this version writes.
pub const SCHEMA: &str = "bandscope.cure/1";

/// Level of the tests, of all cures of a session together.
const LEVEL: f64 = 0.05;
/// A smaller difference is none: 0.01 points, the last digit that is shown of most shares. Chosen, not measured.
const MIN_SHARE: f64 = 1e-4;

/// The result of `bandscope cure`. Shares are of the time of the measured CPUs together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// Name and version of this contract.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// When the session began, RFC 3339 in UTC.
    pub started: String,
    /// How long it took, in seconds.
    pub duration_s: f64,
    /// Whether it was ended before everything was tried.
    pub interrupted: bool,
    /// The CPUs that were to be made quiet.
    pub cpus: Vec<u32>,
    /// The CPUs that inherit what is moved; empty where there are none.
    pub others: Vec<u32>,
    /// The name of the tasks or interrupts that alone were moved; `null` for all. Untrusted.
    pub only: Option<String>,
    /// Length of a trial in seconds.
    pub trial_s: f64,
    /// Quanta per second.
    pub rate_hz: f64,
    /// Work kernel.
    pub kernel: String,
    /// Whether kernel events named the gaps.
    pub events: bool,
    /// What recording these events added to each part of a gap that they name, in ns: it was taken off all shares. Where too little came to
    /// tell it, nearer to what is typical. 0 where nothing is known.
    pub events_added_ns: f64,
    /// Share of the time that was lost before anything was changed.
    pub lost_before: f64,
    /// What a reader who reads no further must know.
    pub verdict: String,
    /// The cures in the order of a report: by [`Verdict`], those with an effect by its size.
    pub cures: Vec<Judgement>,
    /// Names of the cures that are still in force.
    pub kept: Vec<String>,
    /// What limits all of the above, in sentences.
    pub notes: Vec<String>,
    /// The command that explains what was found, where there is one.
    pub next_step: Option<String>,
}

/// What was found about one cure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// As in `bandscope cure NAME`.
    pub name: String,
    /// What it does, as in "gives other tasks other CPUs".
    pub what: String,
    /// What became of it.
    pub verdict: Verdict,
    /// Name, verdict, and by how much or why, in one sentence without a full stop. May hold untrusted names.
    pub sentence: String,
    /// Why it makes worse, where that is known: a sentence.
    pub reason: Option<String>,
    /// Lines of the ledger that it acts on; `*` stands for any characters.
    pub acts_on: Vec<String>,
    /// Pairs that count; pilots do not.
    pub pairs: usize,
    /// Share of the time that it saved; `null` if it was not tried, as the figures below.
    pub saved: Option<Saving>,
    /// What it saved on the lines that it acts on, added up; `null` also where these have no names, and of a cure that acts on none.
    pub own: Option<Saving>,
    /// Lines of the ledger: those that changed by the size of the change, then the others by theirs.
    pub lines: Vec<LineChange>,
    /// Units of work per second; `null` where the trials do not know them. Shares are of each trial's own best pace, this is not.
    pub work: Option<Difference>,
    /// Whether its own lines took clearly less in trials without it that followed one with it: then what it moved comes back slowly.
    pub returns_slowly: bool,
    /// Work done in the worst 1 ms, as a share.
    pub worst_1ms: Option<Difference>,
    /// The longest gap in seconds.
    pub longest_gap_s: Option<Difference>,
    /// Gaps per second.
    pub gaps_per_s: Option<Difference>,
    /// What the CPUs inherited that are not measured; `null` where there are none.
    pub inherited: Option<InheritedChange>,
    /// Kinds of findings that more or fewer trials had with the cure.
    pub findings: Vec<FindingChange>,
    /// What it writes where.
    pub changes: Vec<Change>,
    /// Whether it is still in force.
    pub is_kept: bool,
    /// What went wrong, in sentences. Untrusted.
    pub problems: Vec<String>,
}

/// What became of a cure. In the order of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Less time was lost with it.
    Helps,
    /// More time was lost with it, or each second held less work.
    MakesWorse,
    /// Its own lines fell, and whether the CPU gained by it is not known.
    Undecided,
    /// No change was found, and it could not have saved as much as would have been found.
    TooSmall,
    /// Its own lines fell, and the rest rose by as much as undoes it.
    WentElsewhere,
    /// No change was found.
    DoesNothing,
    /// This machine refuses it, or lacks what it changes.
    CannotBeTried,
    /// There was no time for it, or not for enough pairs.
    #[default]
    NotTried,
}

impl Verdict {
    /// As a sentence has it after the name of a cure.
    pub const fn words(self) -> &'static str {
        match self {
            Verdict::Helps => "helps",
            Verdict::MakesWorse => "makes it worse",
            Verdict::Undecided => "cannot tell",
            Verdict::TooSmall => "too small to tell",
            Verdict::WentElsewhere => "what it saved went elsewhere",
            Verdict::DoesNothing => "does nothing here",
            Verdict::CannotBeTried => "cannot be tried",
            Verdict::NotTried => "not tried",
        }
    }
}

/// A share of the time that a cure saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Saving {
    /// Mean of the trials without the cure.
    pub without: f64,
    /// Mean of the trials with it.
    pub with: f64,
    /// What it saved: without less with. Below 0 it cost as much.
    pub share: f64,
    /// 95 % of Student's distribution about it.
    pub interval: [f64; 2],
    /// Chance of as large a mean difference if the cure had no effect, corrected for all that were tested.
    pub p_value: f64,
    /// A change of this size would have been found in four of five such sessions.
    pub detectable: f64,
}

impl Saving {
    /// Whether less was lost with the cure, for certain.
    pub(crate) fn fell(&self) -> bool {
        self.p_value <= LEVEL && self.share >= MIN_SHARE
    }

    /// Whether more was.
    pub(crate) fn rose(&self) -> bool {
        self.p_value <= LEVEL && -self.share >= MIN_SHARE
    }

    /// From where on a change would have been seen, in words: one digit, rounded up.
    pub fn seen_from(&self) -> String {
        sentence::seen_from(self.detectable)
    }
}

/// A figure without a cure and with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Without the cure: the mean of the trials; of extremes, which are the worst window and the longest gap, the median.
    pub without: f64,
    /// With it.
    pub with: f64,
    /// Mean, or median, of the differences of the pairs: with less without.
    pub difference: f64,
    /// 95 % about the difference: of a mean by Student, of a median by the sign test. `null` of too few pairs.
    pub interval: Option<[f64; 2]>,
}

impl Difference {
    /// Whether the interval leaves 0 out, for this figure alone.
    pub fn is_clear(&self) -> bool {
        self.interval
            .is_some_and(|[low, high]| low > 0.0 || high < 0.0)
    }
}

/// A line of the ledger without a cure and with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineChange {
    /// A key of `gaps_ns`, or `pace:` and a key of `pace_ns`. Untrusted.
    pub line: String,
    /// Whether the cure acts on it.
    pub is_own: bool,
    /// Whether it changed: its interval leaves 0 out, and the change can be seen in a report. Not corrected for the number of lines.
    pub changed: bool,
    /// Shares of the time.
    pub share: Difference,
}

/// How busy the CPUs became that inherit what is moved: means over these CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InheritedChange {
    /// Share of the time that tasks ran.
    pub busy: Difference,
    /// Share of the time that tasks waited for a CPU; several may wait at once.
    pub waiting: Difference,
}

/// In how many trials something was recognised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingChange {
    /// Its kind, as in a report.
    pub kind: String,
    /// Trials without the cure, of as many as there are pairs.
    pub without: usize,
    /// Trials with it.
    pub with: usize,
}

impl Judgement {
    /// The sentence after name and verdict: by how much, or why.
    pub fn effect(&self) -> &str {
        let beginning = sentence::beginning(&self.name, self.verdict);
        let effect = self.sentence.strip_prefix(&beginning);
        effect.unwrap_or(&self.sentence)
    }

    /// The saving on which the verdict rests: of all that was lost, but of its own lines where it helps by these alone.
    pub fn saving(&self) -> Option<Saving> {
        match self.rests_on_own_lines() {
            true => self.own,
            false => self.saved,
        }
    }

    /// Whether it helps by its own lines alone.
    pub fn rests_on_own_lines(&self) -> bool {
        let is_open = |saved: &Saving| !saved.fell();
        self.verdict == Verdict::Helps
            && self.own.is_some()
            && self.saved.as_ref().is_some_and(is_open)
    }

    /// Change of the work per second as a part of the work without the cure, where it is certain and 1 % or more.
    pub fn work_change(&self) -> Option<f64> {
        self.work.as_ref().and_then(judge::part_of_work)
    }

    /// The part of the work per second that it costs, of a cure that makes it worse by that although less time was lost.
    pub(crate) fn less_work(&self) -> Option<f64> {
        let is_slower = self.verdict == Verdict::MakesWorse && !self.saved?.rose();
        let change = self.work_change().filter(|_| is_slower)?;
        Some(-change)
    }

    /// Whether it is a change of its own, and neither the sham nor all that help.
    pub fn is_single(&self) -> bool {
        self.name != SHAM && self.name != TOGETHER
    }
}

/// Judges a session.
pub fn judge(cures: &Cures) -> Judged {
    let (cures, added) = &events::without(cures);
    let mut judgements = judge::judgements(cures);
    let effect = |one: &Judgement| match (one.verdict, one.saving()) {
        (Verdict::Helps | Verdict::MakesWorse, Some(saving)) => {
            one.less_work().unwrap_or(saving.share.abs())
        }
        _ => 0.0,
    };
    // Stable: what has no effect stays in the order in which it was tried.
    judgements.sort_by(|a, b| {
        let by_effect = || effect(b).total_cmp(&effect(a));
        a.verdict.cmp(&b.verdict).then_with(by_effect)
    });
    let is_slower_pace = judgements
        .iter()
        .any(|one| one.reason.as_deref() == Some(sentence::STANDING_PACE));
    Judged {
        schema: SCHEMA,
        started: cures.started.clone(),
        duration_s: cures.duration_s,
        interrupted: cures.interrupted,
        cpus: cures.cpus.clone(),
        others: cures.others.clone(),
        only: cures.only.clone(),
        trial_s: cures.trial_s,
        rate_hz: cures.rate_hz,
        kernel: cures.kernel.clone(),
        events: cures.events,
        events_added_ns: added.seconds * 1e9,
        lost_before: cures.before.lost,
        verdict: verdict::verdict(cures, &judgements),
        notes: verdict::notes(cures, *added, &judgements),
        cures: judgements,
        kept: cures.kept.clone(),
        next_step: is_slower_pace.then(|| "bandscope lab".to_owned()),
    }
}

/// Names of the cures that help, the one that saves most first: what `together` puts in force at once.
pub fn helps(judged: &Judged) -> Vec<String> {
    let help = judged.cures.iter();
    let help = help.filter(|one| one.verdict == Verdict::Helps && one.is_single());
    help.map(|one| one.name.clone()).collect()
}

/// What is worth keeping in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keepable {
    /// Names of cures, the one that saves most first.
    pub names: Vec<String>,
    /// Why others that help are not among them, in words.
    pub why_not_all: Option<&'static str>,
}

/// The cures that are worth keeping in force: those that help, if they were measured together to the end and were found to help so.
///
/// Else only the one that saves most: it alone was found to help on the machine as it would be left. What was found of single cures does not add up: two
/// can save the same time, and one can undo the other.
pub fn keepable(judged: &Judged, outlives: impl Fn(&str) -> bool) -> Keepable {
    let mut names = helps(judged);
    names.retain(|name| outlives(name));
    let together = judged.cures.iter().find(|one| one.name == TOGETHER);
    let why_not_all = match together.map(|one| one.verdict) {
        _ if names.len() < 2 => None,
        Some(Verdict::Helps) if !judged.interrupted => None,
        None | Some(Verdict::CannotBeTried | Verdict::NotTried | Verdict::Helps) => {
            Some("all that help were not measured together to the end")
        }
        Some(Verdict::MakesWorse) => Some("together they make it worse"),
        Some(
            Verdict::Undecided | Verdict::TooSmall | Verdict::WentElsewhere | Verdict::DoesNothing,
        ) => Some("together they were not found to help"),
    };
    if why_not_all.is_some() {
        names.truncate(1);
    }
    Keepable { names, why_not_all }
}

#[cfg(test)]
mod tests;
