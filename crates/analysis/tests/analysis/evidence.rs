//! What the tests ask of a report's findings.

use bandscope_analysis::report::{Evidence, Finding, Report};

/// The findings of a kind.
pub fn of_kind<'a>(report: &'a Report, kind: &str) -> Vec<&'a Finding> {
    let findings = report.findings.iter();
    findings.filter(|finding| finding.kind == kind).collect()
}

/// The finding of a kind of which there must be one.
#[track_caller]
pub fn only<'a>(report: &'a Report, kind: &str) -> &'a Finding {
    let found = of_kind(report, kind);
    assert_eq!(found.len(), 1, "{kind}: {:?}", report.findings);
    found[0]
}

/// A number of a finding's evidence.
#[track_caller]
pub fn number(finding: &Finding, key: &str) -> f64 {
    match finding.evidence.get(key) {
        Some(Evidence::Number(number)) => *number,
        other => panic!("{key} is {other:?} in {finding:?}"),
    }
}

/// A list of numbers of a finding's evidence.
#[track_caller]
pub fn numbers<'a>(finding: &'a Finding, key: &str) -> &'a [f64] {
    match finding.evidence.get(key) {
        Some(Evidence::Numbers(numbers)) => numbers,
        other => panic!("{key} is {other:?} in {finding:?}"),
    }
}

/// A word of a finding's evidence.
#[track_caller]
pub fn text<'a>(finding: &'a Finding, key: &str) -> &'a str {
    match finding.evidence.get(key) {
        Some(Evidence::Text(text)) => text,
        other => panic!("{key} is {other:?} in {finding:?}"),
    }
}
