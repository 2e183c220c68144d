//! The scoreboard as Markdown.

use crate::failures::Fault;
use crate::judge::Verdict;
use crate::tally::{Share, Tally, median_and_95, share};
use bandscope_report::Kind;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Kinds that say the CPU was slow, and those that say it was away. What interrupts do to the pace is both, and stands in
/// neither.
const PACE: &[Kind] = &[
    Kind::BistablePace,
    Kind::AlternatingBands,
    Kind::SubLoopMixture,
    Kind::FrequencySteps,
    Kind::MovingEdges,
    Kind::EdgePairs,
];
const INTERFERENCE: &[Kind] = &[Kind::PeriodicInterference, Kind::Alias];

/// Scenes of one family, and in how many of them each kind was said at `likely` or better.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// Scenes.
    pub scenes: u64,
    /// Scenes by kind said.
    pub kinds: BTreeMap<Kind, u64>,
    /// The same, counting only what is not true of the scene.
    pub wrong: BTreeMap<Kind, u64>,
    /// Scenes by kind of which something untrue was said as `possible`.
    pub untrue_possible: BTreeMap<Kind, u64>,
    /// Scenes by fault.
    pub faults: BTreeMap<Fault, u64>,
    /// Scenes in which anything failed.
    pub failed: u64,
}

/// Counts by family, where crowds are judged, and kind.
pub type Tallies = BTreeMap<(&'static str, Kind), Tally>;

/// The name of a row.
fn name((family, kind): &(&str, Kind)) -> String {
    if family.is_empty() {
        format!("`{kind}`")
    } else {
        format!("`{kind}` in {family}")
    }
}

impl Said {
    /// Adds what one scene came to.
    pub fn add(&mut self, verdict: &Verdict) {
        self.scenes += 1;
        let count = |kinds: &mut BTreeMap<Kind, u64>, of: &BTreeSet<Kind>| {
            for kind in of {
                *kinds.entry(*kind).or_default() += 1;
            }
        };
        count(&mut self.kinds, &verdict.said);
        count(&mut self.untrue_possible, &verdict.untrue_possible);
        for (kind, tally) in &verdict.tallies {
            *self.wrong.entry(*kind).or_default() += u64::from(tally.wrong > 0);
        }
        self.wrong.retain(|_, number| *number > 0);
        let faults: BTreeSet<Fault> = verdict.failures.iter().map(|failure| failure.2).collect();
        self.failed += u64::from(!faults.is_empty());
        for fault in faults {
            *self.faults.entry(fault).or_default() += 1;
        }
    }

    fn fault(&self, fault: Fault) -> u64 {
        self.faults.get(&fault).copied().unwrap_or(0)
    }
}

/// `count` scenes of `all`. Of what never happened in N independent scenes the share is below 3/N with 95 % confidence (Hanley and
/// Lippman-Hand 1983), and that is all that N scenes say.
pub fn count_of(count: u64, all: u64) -> String {
    match (count, all) {
        (_, 0) => "-".to_owned(),
        (0, all) => format!("< 3/{all}"),
        (count, all) => format!("{count} of {all}"),
    }
}

fn percent(share: Option<Share>) -> String {
    share.map_or("-".to_owned(), |share| {
        format!("{:.3} (>= {:.3})", share.value, share.low)
    })
}

/// Precision and recall by kind.
pub fn scores(out: &mut dyn Write, tallies: &Tallies) -> io::Result<()> {
    writeln!(
        out,
        "| kind | scenes | precision | recall | F1 | certain, of what the data decide | wrongly certain |\n|---|---|---|---|---|---|---|"
    )?;
    for (label, tally) in tallies {
        let certain = if tally.decidable > 0 {
            format!("{} of {}", tally.certain, tally.decidable)
        } else {
            "-".to_owned()
        };
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {certain} | {} |",
            name(label),
            tally.expected,
            percent(tally.precision()),
            percent(tally.recall()),
            percent(tally.f1()),
            count_of(tally.wrong_certain, tally.right + tally.wrong)
        )?;
    }
    Ok(())
}

/// Errors of the evidence by kind.
pub fn errors(out: &mut dyn Write, tallies: &Tallies) -> io::Result<()> {
    writeln!(
        out,
        "| kind | evidence | findings | median error | 95 % |\n|---|---|---|---|---|"
    )?;
    for (label, tally) in tallies {
        for (figure, errors) in &tally.errors {
            let key = figure.name();
            if let Some((median, most)) = median_and_95(errors) {
                writeln!(
                    out,
                    "| {} | `{key}` | {} | {median:.2e} | {most:.2e} |",
                    name(label),
                    errors.len()
                )?;
            }
        }
    }
    Ok(())
}

/// How often the truth lies in the 95 % interval that a finding states.
pub fn coverage(out: &mut dyn Write, tallies: &Tallies) -> io::Result<()> {
    writeln!(
        out,
        "| kind | evidence | findings | truth within 1.96 stated standard deviations |\n|---|---|---|---|"
    )?;
    for (label, tally) in tallies {
        for (figure, &(covered, all)) in &tally.coverage {
            let key = figure.name();
            writeln!(
                out,
                "| {} | `{key}` | {all} | {} |",
                name(label),
                percent(share(covered, all))
            )?;
        }
    }
    Ok(())
}

/// What was said, rightly or not, of scenes of each family.
pub fn confusion(out: &mut dyn Write, families: &BTreeMap<&'static str, Said>) -> io::Result<()> {
    writeln!(
        out,
        "| scenes of | number | said at `likely` or better that is not true of them | scenes with an untrue `possible` | of which kinds |\n|---|---|---|---|---|"
    )?;
    let list = |kinds: &BTreeMap<Kind, u64>| {
        let kinds: Vec<String> = kinds
            .iter()
            .map(|(kind, number)| format!("`{kind}` {number}"))
            .collect();
        if kinds.is_empty() {
            "nothing".to_owned()
        } else {
            kinds.join(", ")
        }
    };
    for (family, said) in families {
        writeln!(
            out,
            "| {family} | {} | {} | {} | {} |",
            said.scenes,
            list(&said.wrong),
            count_of(said.fault(Fault::UntruePossible), said.scenes),
            list(&said.untrue_possible)
        )?;
    }
    Ok(())
}

/// What failed, in scenes of each family.
pub fn faults(out: &mut dyn Write, families: &BTreeMap<&'static str, Said>) -> io::Result<()> {
    const COLUMNS: [(&str, Fault); 6] = [
        ("untrue `certain`", Fault::UntrueCertain),
        ("untrue `likely`", Fault::UntrueLikely),
        ("untrue `possible`", Fault::UntruePossible),
        ("something missed", Fault::Missed),
        ("one event said twice", Fault::Twice),
        ("more said than lost", Fault::TooMuch),
    ];
    let heads = COLUMNS.map(|(head, _)| head).join(" | ");
    writeln!(
        out,
        "| scenes of | {heads} | nothing failed |\n|{}",
        "---|".repeat(COLUMNS.len() + 2)
    )?;
    for (family, said) in families {
        let counts = COLUMNS.map(|(_, fault)| count_of(said.fault(fault), said.scenes));
        let good = said.scenes - said.failed;
        writeln!(
            out,
            "| {family} | {} | {} |",
            counts.join(" | "),
            count_of(good, said.scenes)
        )?;
    }
    Ok(())
}

/// The confusion that matters: (pace reported as interference, interference reported as pace), in scenes.
pub fn matters(families: &BTreeMap<&'static str, Said>) -> (u64, u64) {
    let count = |scenes: &[Kind], kinds: &[Kind]| -> u64 {
        families
            .iter()
            // A family bears the name of the kind that it is about.
            .filter(|(family, _)| scenes.iter().any(|kind| kind.name() == **family))
            .flat_map(|(_, said)| &said.wrong)
            .filter(|(kind, _)| kinds.contains(kind))
            .map(|(_, number)| number)
            .sum()
    };
    (count(PACE, INTERFERENCE), count(INTERFERENCE, PACE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_happened_is_bounded_by_the_rule_of_three() {
        assert_eq!(count_of(0, 200), "< 3/200");
        assert_eq!(count_of(2, 200), "2 of 200");
        assert_eq!(count_of(0, 0), "-");
    }
}
