//! The scoreboard as Markdown.

use crate::tally::{Share, Tally, median_and_95};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Kinds that say the CPU was slow, and those that say it was away. What interrupts do to the pace is both, and stands in
/// neither.
const PACE: &[&str] = &[
    "bistable-pace",
    "alternating-bands",
    "sub-loop-mixture",
    "frequency-steps",
    "moving-edges",
    "edge-pairs",
];
const INTERFERENCE: &[&str] = &["periodic-interference", "alias"];

/// Scenes of one family, and in how many of them each kind was said at `likely` or better.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// Scenes.
    pub scenes: u64,
    /// Scenes by kind said.
    pub kinds: BTreeMap<&'static str, u64>,
    /// The same, counting only what is not true of the scene.
    pub wrong: BTreeMap<&'static str, u64>,
}

fn percent(share: Option<Share>) -> String {
    share.map_or("-".to_owned(), |share| {
        format!("{:.3} (>= {:.3})", share.value, share.low)
    })
}

/// Precision and recall by kind.
pub fn scores(out: &mut dyn Write, tallies: &BTreeMap<&'static str, Tally>) -> io::Result<()> {
    writeln!(
        out,
        "| kind | scenes | precision | recall | F1 | certain, of what the data decide | wrongly certain |\n|---|---|---|---|---|---|---|"
    )?;
    for (kind, tally) in tallies {
        let certain = if tally.decidable > 0 {
            format!("{} of {}", tally.certain, tally.decidable)
        } else {
            "-".to_owned()
        };
        writeln!(
            out,
            "| `{kind}` | {} | {} | {} | {} | {certain} | {} |",
            tally.expected,
            percent(tally.precision()),
            percent(tally.recall()),
            percent(tally.f1()),
            tally.wrong_certain
        )?;
    }
    Ok(())
}

/// Errors of the evidence by kind.
pub fn errors(out: &mut dyn Write, tallies: &BTreeMap<&'static str, Tally>) -> io::Result<()> {
    writeln!(
        out,
        "| kind | evidence | findings | median error | 95 % |\n|---|---|---|---|---|"
    )?;
    for (kind, tally) in tallies {
        for (key, errors) in &tally.errors {
            if let Some((median, most)) = median_and_95(errors) {
                writeln!(
                    out,
                    "| `{kind}` | `{key}` | {} | {median:.2e} | {most:.2e} |",
                    errors.len()
                )?;
            }
        }
    }
    Ok(())
}

/// What was said, rightly or not, of scenes of each family.
pub fn confusion(out: &mut dyn Write, families: &BTreeMap<&'static str, Said>) -> io::Result<()> {
    writeln!(
        out,
        "| scenes of | number | said at `likely` or better that is not true of them |\n|---|---|---|"
    )?;
    for (family, said) in families {
        let wrong: Vec<String> = said
            .wrong
            .iter()
            .map(|(kind, number)| format!("`{kind}` {number}"))
            .collect();
        let wrong = if wrong.is_empty() {
            "nothing".to_owned()
        } else {
            wrong.join(", ")
        };
        writeln!(out, "| {family} | {} | {wrong} |", said.scenes)?;
    }
    Ok(())
}

/// The confusion that matters: (pace reported as interference, interference reported as pace), in scenes.
pub fn matters(families: &BTreeMap<&'static str, Said>) -> (u64, u64) {
    let count = |scenes: &[&str], kinds: &[&str]| -> u64 {
        families
            .iter()
            .filter(|(family, _)| scenes.contains(family))
            .flat_map(|(_, said)| &said.wrong)
            .filter(|(kind, _)| kinds.contains(kind))
            .map(|(_, number)| number)
            .sum()
    };
    (count(PACE, INTERFERENCE), count(INTERFERENCE, PACE))
}
