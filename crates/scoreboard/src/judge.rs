//! One scene: made, analysed, and its findings held against the truth.

use crate::failures::Fault;
use crate::figure::Figure;
use crate::losses;
use crate::make::{Made, make};
use crate::scene::{Expected, Scene};
use crate::tally::Tally;
use anyhow::{Context, Result};
use bandscope_report::{Certainty, Finding, Kind, Report};
use bandscope_simulation::Truth;
use std::collections::{BTreeMap, BTreeSet};

/// What one scene came to.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Counts by kind.
    pub tallies: BTreeMap<Kind, Tally>,
    /// Kinds that were said at `likely` or better.
    pub said: BTreeSet<Kind>,
    /// Kinds of which something was said as `possible` that is not true.
    pub untrue_possible: BTreeSet<Kind>,
    /// What failed: kind of finding, what tells one of a kind from another, fault.
    pub failures: Vec<(String, String, Fault)>,
    /// What went wrong, in words, for whoever mends it.
    pub complaints: Vec<String>,
}

/// Makes the scene, analyses it and judges what the report says.
///
/// # Errors
/// If the scene cannot be made: a mistake in the list of families.
pub fn judge(scene: &Scene) -> Result<Verdict> {
    let about = || scene.command();
    let Made { source, truth, .. } = &make(scene).with_context(about)?;
    let analysis = bandscope_analysis::analyse(&**source, &[]).with_context(about)?;
    Ok(compare(scene, &analysis.report, truth))
}

fn compare(scene: &Scene, report: &Report, truth: &Truth) -> Verdict {
    let mut verdict = Verdict::default();
    let findings = &report.findings[..];
    for expected in &scene.expected {
        expect(&mut verdict, scene, expected, findings);
    }
    hold_against_truths(&mut verdict, scene, findings);
    if !scene.trains.is_empty() {
        losses::check(&mut verdict, scene, findings, truth);
    }
    if let Some(most) = scene.most_pace_loss {
        hold_pace(&mut verdict, scene, report, most);
    }
    verdict
}

/// Whether everything that was said is true.
fn hold_against_truths(verdict: &mut Verdict, scene: &Scene, findings: &[Finding]) {
    let truths = || scene.expected.iter().chain(&scene.allowed);
    let (mut right, mut wrong, mut wrong_certain) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for finding in findings {
        let is_true = truths().any(|truth| truth.is_met_by(finding));
        let counts = finding.certainty >= scene.least;
        if finding.certainty >= Certainty::Likely {
            verdict.said.insert(finding.kind);
        }
        if is_true {
            if counts {
                right.insert(finding.kind);
            }
            continue;
        }
        let fault = match finding.certainty {
            Certainty::Possible => {
                verdict.untrue_possible.insert(finding.kind);
                Fault::UntruePossible
            }
            Certainty::Likely => Fault::UntrueLikely,
            Certainty::Certain => {
                wrong_certain.insert(finding.kind);
                Fault::UntrueCertain
            }
        };
        if counts {
            wrong.insert(finding.kind);
        }
        verdict.fail(finding.kind.name(), "", fault);
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
}

impl Verdict {
    /// Notes a failure.
    pub fn fail(&mut self, kind: &str, about: &str, fault: Fault) {
        let failure = (kind.to_owned(), about.to_owned(), fault);
        self.failures.push(failure);
    }
}

fn expect(verdict: &mut Verdict, scene: &Scene, expected: &Expected, findings: &[Finding]) {
    let met = || {
        findings
            .iter()
            .filter(|finding| expected.is_met_by(finding))
    };
    let best = met().max_by_key(|finding| finding.certainty);
    let certainty = best.map(|finding| finding.certainty);
    let tally = verdict.tallies.entry(expected.kind).or_default();
    tally.expected += 1;
    tally.suspected += u64::from(certainty.is_some());
    tally.found += u64::from(certainty >= Some(scene.least));
    tally.decidable += u64::from(expected.decidable);
    tally.certain += u64::from(expected.decidable && certainty == Some(Certainty::Certain));
    if let Some(finding) = best {
        for value in &expected.values {
            if let Some(error) = value.error(finding) {
                tally.errors.entry(value.figure).or_default().push(error);
            }
        }
    }
    if expected.clock_is_right {
        cover(tally, expected, best, findings);
    }
    let about = expected.about();
    if met()
        .filter(|finding| finding.certainty >= scene.least)
        .count()
        > 1
        && !scene.trains.is_empty()
    {
        verdict.fail(
            expected.kind.name(),
            &format!("{about} again"),
            Fault::Twice,
        );
        verdict.complaints.push(format!(
            "said twice: {} {about}\n    {}",
            expected.kind,
            scene.command()
        ));
    }
    let (short, fault) = match certainty {
        Some(Certainty::Certain) => return,
        Some(certainty) if certainty >= scene.least && !expected.decidable => return,
        Some(Certainty::Likely) => ("only Likely", Fault::NotCertain),
        Some(Certainty::Possible) => ("only Possible", Fault::OnlyPossible),
        None => ("missed", Fault::Missed),
    };
    verdict.fail(expected.kind.name(), &about, fault);
    let complaint = shortfall(short, scene, expected, findings);
    verdict.complaints.push(complaint);
}

/// What fell short of an expected finding, with all that was said of its kind and the command that makes the scene.
fn shortfall(short: &str, scene: &Scene, expected: &Expected, findings: &[Finding]) -> String {
    let same_kind: Vec<String> = findings
        .iter()
        .filter(|finding| finding.kind == expected.kind)
        .map(|finding| format!("\n    said: {:?} {:?}", finding.certainty, finding.evidence))
        .collect();
    let values: Vec<String> = expected
        .values
        .iter()
        .map(|value| format!(" {}={}", value.figure.name(), value.truth))
        .collect();
    format!(
        "{short}: {}{}{}\n    {}",
        expected.kind,
        values.concat(),
        same_kind.concat(),
        scene.command()
    )
}

/// Whether stated uncertainties hold: of frequencies in the nearest finding, right or not, of the rest in the right one.
fn cover(tally: &mut Tally, expected: &Expected, best: Option<&Finding>, findings: &[Finding]) {
    for value in &expected.values {
        let distance = |finding: &&Finding| {
            let error = value.error(finding).unwrap_or(f64::INFINITY);
            error.abs()
        };
        let of_kind = findings
            .iter()
            .filter(|finding| finding.kind == expected.kind);
        let finding = match value.figure {
            Figure::FrequencyHz => of_kind.min_by(|a, b| distance(a).total_cmp(&distance(b))),
            _ => best,
        };
        if let Some(is_covered) = finding.and_then(|finding| value.is_covered(finding)) {
            let (covered, all) = tally.coverage.entry(value.figure).or_default();
            *covered += u64::from(is_covered);
            *all += 1;
        }
    }
}

/// Whether the ledger of any series books more to pace than the scene allows.
fn hold_pace(verdict: &mut Verdict, scene: &Scene, report: &Report, most: f64) {
    let share = |series: &bandscope_report::Series| {
        series.ledger.pace_ns.total() as f64 / series.ledger.wall_ns.max(1) as f64
    };
    let worst = report.series.iter().map(share).fold(0.0, f64::max);
    if worst > most {
        verdict.fail("ledger", "pace", Fault::Pace);
        verdict.complaints.push(format!(
            "too much booked to pace: {worst:.4} of the time, at most {most}\n    {}",
            scene.command()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;
    use crate::known::KNOWN;
    use crate::losses::PERIODIC;
    use bandscope_report::evidence::PeriodicInterference;
    use bandscope_simulation::truth::{Absence, Segment};

    /// 20 us at 250 Hz and 50 us at 333.333 Hz: 2.17 % of the time.
    fn scene() -> Scene {
        (KNOWN.draw)(&mut Draw::new(1, KNOWN.name, 0))
    }

    fn truth() -> Truth {
        let second = 2e9;
        let absence = |source, share| Absence {
            start: 1.0,
            length: share * second,
            source,
        };
        Truth {
            segments: vec![Segment {
                series: 0,
                start: 0.0,
                end: second,
                ticks_per_unit: 200.0,
                quantum_ticks: 2e5,
            }],
            absences: vec![absence(0, 250.0 * 20e-6), absence(1, 333.333 * 50e-6)],
            ..Truth::default()
        }
    }

    fn periodic(certainty: Certainty, hz: f64, ns: f64) -> Finding {
        Finding {
            kind: PERIODIC,
            series: vec![0],
            certainty,
            summary: String::new(),
            evidence: PeriodicInterference {
                cause: None,
                cause_by: None,
                frequency_hz: hz,
                ns_per_event: ns,
                uncertainty_hz: 1e-5,
            }
            .into(),
            next_step: None,
        }
    }

    fn verdict(findings: Vec<Finding>) -> Verdict {
        let report = Report {
            findings,
            ..Report::default()
        };
        compare(&scene(), &report, &truth())
    }

    fn faults(verdict: &Verdict) -> Vec<Fault> {
        verdict.failures.iter().map(|failure| failure.2).collect()
    }

    fn both() -> Vec<Finding> {
        vec![
            periodic(Certainty::Likely, 250.000_01, 20_500.0),
            periodic(Certainty::Likely, 333.333, 49_000.0),
        ]
    }

    #[test]
    fn each_train_is_one_finding() {
        let verdict = verdict(both());
        assert_eq!(faults(&verdict), []);
        let tally = &verdict.tallies[&PERIODIC];
        assert_eq!((tally.expected, tally.found), (2, 2));
        assert_eq!((tally.right, tally.wrong), (1, 0));
        assert_eq!(tally.coverage[&Figure::FrequencyHz], (2, 2));
    }

    #[test]
    fn the_sum_of_both_is_neither() {
        let sum = verdict(vec![periodic(Certainty::Likely, 250.0, 86_667.0)]);
        assert_eq!(
            faults(&sum),
            [Fault::Missed, Fault::Missed, Fault::UntrueLikely]
        );
        // 2.5 % of the time where 2.17 % were lost.
        let more = verdict(vec![periodic(Certainty::Certain, 250.0, 100_000.0)]);
        assert_eq!(
            faults(&more),
            [
                Fault::Missed,
                Fault::Missed,
                Fault::UntrueCertain,
                Fault::TooMuch
            ]
        );
        assert_eq!(more.tallies[&PERIODIC].wrong_certain, 1);
    }

    #[test]
    fn one_train_said_twice_is_a_fault_and_not_lost_twice() {
        let twice = [both(), both()].concat();
        assert_eq!(faults(&verdict(twice)), [Fault::Twice, Fault::Twice]);
    }

    #[test]
    fn what_is_untrue_and_possible_is_counted_apart() {
        let weak = periodic(Certainty::Possible, 3_000.0, 4.0);
        let verdict = verdict([both(), vec![weak]].concat());
        assert_eq!(faults(&verdict), [Fault::UntruePossible]);
        assert!(verdict.untrue_possible.contains(&PERIODIC));
        assert_eq!(verdict.tallies[&PERIODIC].wrong, 0);
    }

    #[test]
    fn a_stated_uncertainty_is_held_against_the_truth_even_where_the_finding_is_wrong() {
        // 4e-6 off, which is no longer right, and a hundred of the stated deviations.
        let mut findings = both();
        findings[0] = periodic(Certainty::Likely, 250.001, 20_000.0);
        let verdict = verdict(findings);
        assert_eq!(faults(&verdict), [Fault::Missed, Fault::UntrueLikely]);
        assert_eq!(
            verdict.tallies[&PERIODIC].coverage[&Figure::FrequencyHz],
            (1, 2)
        );
    }
}
