//! Whether a report says more of what is periodic than was lost to it.

use crate::failures::Fault;
use crate::judge::Verdict;
use crate::scene::{Medium, Scene};
use bandscope_report::evidence::{OfKind, PeriodicInterference};
use bandscope_report::{Cause, Finding, Kind};
use bandscope_simulation::Truth;
use std::collections::BTreeMap;

/// What is said of a cause may exceed what was lost to it by this share of it.
const SAID_BEYOND_LOST: f64 = 0.05;
/// Frequencies that are nearer than this share of them are one.
const SAME_FREQUENCY: f64 = 1e-4;
/// Kind of finding that says what recurs, and costs.
pub const PERIODIC: Kind = Kind::PeriodicInterference;

/// Whether rate times cost of what was said exceeds what was lost: to each cause where kernel events name it, else to everything.
pub fn check(verdict: &mut Verdict, scene: &Scene, findings: &[Finding], truth: &Truth) {
    // What two findings say of one frequency is counted once: that it is said twice is another fault.
    let mut said: BTreeMap<Option<&Cause>, Vec<(f64, f64)>> = BTreeMap::new();
    let periodic = findings.iter().filter(|finding| finding.kind == PERIODIC);
    for finding in periodic.filter(|finding| finding.certainty >= scene.least) {
        let Some(periodic) = PeriodicInterference::of(&finding.evidence) else {
            continue;
        };
        let named = scene.medium == Medium::Events;
        let cause = periodic.cause.as_ref().filter(|_| named);
        let (hz, ns) = (periodic.frequency_hz, periodic.ns_per_event);
        let share = hz * ns / 1e9;
        let of_cause = said.entry(cause).or_default();
        match of_cause
            .iter_mut()
            .find(|one| (one.0 / hz - 1.0).abs() < SAME_FREQUENCY)
        {
            Some(one) => one.1 = one.1.max(share),
            None => of_cause.push((hz, share)),
        }
    }
    let wall = truth
        .segments
        .last()
        .map_or(f64::INFINITY, |segment| segment.end);
    for (cause, frequencies) in said {
        let of_cause: Vec<usize> = (scene.trains.iter())
            .filter(|train| Some(&train.cause) == cause)
            .map(|train| train.part)
            .collect();
        // What has no period at all is untrue already.
        if cause.is_some() && of_cause.is_empty() {
            continue;
        }
        let measured = truth.absences.iter().filter(|one| one.start >= 0.0);
        let lost: f64 = measured
            .filter(|one| cause.is_none() || of_cause.contains(&one.source))
            .map(|one| one.length)
            .sum();
        let said: f64 = frequencies.iter().map(|one| one.1).sum();
        if said > (1.0 + SAID_BEYOND_LOST) * lost / wall {
            let cause = cause.map_or_else(|| "everything".to_owned(), ToString::to_string);
            verdict.fail(PERIODIC.name(), &cause, Fault::TooMuch);
            verdict.complaints.push(format!(
                "more said than lost: {cause}: {said:.3e} of the time, truly {:.3e}\n    {}",
                lost / wall,
                scene.command()
            ));
        }
    }
}
