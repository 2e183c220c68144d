//! One scene: made, analysed, and its findings held against the truth.

use crate::scene::{Expected, Scene};
use crate::tally::Tally;
use anyhow::{Context, Result};
use bandscope_analysis::report::{Certainty, Finding};
use bandscope_simulation::{Scenario, synthesise};
use std::collections::{BTreeMap, BTreeSet};

/// What one scene came to.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Counts by kind.
    pub tallies: BTreeMap<&'static str, Tally>,
    /// Kinds that were said at `likely` or better.
    pub said: BTreeSet<&'static str>,
    /// What went wrong, in words, for whoever mends it.
    pub complaints: Vec<String>,
}

/// Makes the scene, analyses it and judges what the report says.
///
/// # Errors
/// If the scene cannot be made: a mistake in the list of families.
pub fn judge(scene: &Scene) -> Result<Verdict> {
    let about = || scene.command();
    let scenario = Scenario::parse(&scene.scenario).with_context(about)?;
    let (recording, _) = synthesise(&scenario, &scene.request()).with_context(about)?;
    let analysis = bandscope_analysis::analyse(&recording, &[]).with_context(about)?;
    Ok(compare(scene, &analysis.report.findings))
}

fn compare(scene: &Scene, findings: &[Finding]) -> Verdict {
    let mut verdict = Verdict::default();
    for expected in &scene.expected {
        expect(&mut verdict, scene, expected, findings);
    }
    let truths = || scene.expected.iter().chain(&scene.allowed);
    let confident = findings
        .iter()
        .filter(|finding| finding.certainty >= Certainty::Likely);
    let (mut right, mut wrong, mut wrong_certain) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for finding in confident {
        verdict.said.insert(finding.kind);
        if truths().any(|truth| truth.is_met_by(finding)) {
            right.insert(finding.kind);
            continue;
        }
        wrong.insert(finding.kind);
        if finding.certainty == Certainty::Certain {
            wrong_certain.insert(finding.kind);
        }
        verdict.complaints.push(format!(
            "wrong, {:?}: {} {:?}\n    {}",
            finding.certainty,
            finding.summary,
            finding.evidence,
            scene.command()
        ));
    }
    for (kinds, count) in [
        (
            right,
            (|tally| &mut tally.right) as fn(&mut Tally) -> &mut u64,
        ),
        (wrong, |tally| &mut tally.wrong),
        (wrong_certain, |tally| &mut tally.wrong_certain),
    ] {
        for kind in kinds {
            *count(verdict.tallies.entry(kind).or_default()) += 1;
        }
    }
    verdict
}

fn expect(verdict: &mut Verdict, scene: &Scene, expected: &Expected, findings: &[Finding]) {
    let best = findings
        .iter()
        .filter(|finding| expected.is_met_by(finding))
        .max_by_key(|finding| finding.certainty);
    let certainty = best.map(|finding| finding.certainty);
    let tally = verdict.tallies.entry(expected.kind).or_default();
    tally.expected += 1;
    tally.suspected += u64::from(certainty.is_some());
    tally.found += u64::from(certainty >= Some(Certainty::Likely));
    tally.decidable += u64::from(expected.decidable);
    tally.certain += u64::from(expected.decidable && certainty == Some(Certainty::Certain));
    if let Some(finding) = best {
        for value in &expected.values {
            if let Some(error) = value.error(finding) {
                tally.errors.entry(value.key).or_default().push(error);
            }
        }
    }
    let short = match certainty {
        Some(Certainty::Certain) => return,
        Some(Certainty::Likely) if !expected.decidable => return,
        Some(certainty) => format!("only {certainty:?}"),
        None => "missed".to_owned(),
    };
    let same_kind: Vec<String> = findings
        .iter()
        .filter(|finding| finding.kind == expected.kind)
        .map(|finding| format!("\n    said: {:?} {:?}", finding.certainty, finding.evidence))
        .collect();
    let values: Vec<String> = expected
        .values
        .iter()
        .map(|value| format!(" {}={}", value.key, value.truth))
        .collect();
    verdict.complaints.push(format!(
        "{short}: {}{}{}\n    {}",
        expected.kind,
        values.concat(),
        same_kind.concat(),
        scene.command()
    ));
}
