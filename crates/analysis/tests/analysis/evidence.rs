//! What the tests ask of findings: their evidence by the keys of docs/report.md, as it is written.

use bandscope_report::{Finding, Kind, Report};
use serde_json::Value;

/// The findings of a kind.
pub fn of_kind(report: &Report, kind: Kind) -> Vec<&Finding> {
    let findings = report.findings.iter();
    findings.filter(|finding| finding.kind == kind).collect()
}

/// The finding of a kind, if it is the only one.
#[track_caller]
pub fn only(report: &Report, kind: Kind) -> &Finding {
    let found = of_kind(report, kind);
    assert_eq!(found.len(), 1, "{kind}: {:?}", report.findings);
    found[0]
}

/// A piece of a finding's evidence; `null` where it has none of that name.
pub fn written(finding: &Finding, key: &str) -> Value {
    serde_json::to_value(&finding.evidence).unwrap()[key].clone()
}

/// Whether a finding's evidence has this key.
pub fn has(finding: &Finding, key: &str) -> bool {
    let evidence = serde_json::to_value(&finding.evidence).unwrap();
    evidence.get(key).is_some()
}

/// A number of a finding's evidence.
#[track_caller]
pub fn number(finding: &Finding, key: &str) -> f64 {
    let written = written(finding, key);
    written
        .as_f64()
        .unwrap_or_else(|| panic!("{key} of {finding:?}"))
}

/// A list of numbers of a finding's evidence.
#[track_caller]
pub fn numbers(finding: &Finding, key: &str) -> Vec<f64> {
    let written = written(finding, key);
    let numbers = written
        .as_array()
        .unwrap_or_else(|| panic!("{key} of {finding:?}"));
    numbers.iter().filter_map(Value::as_f64).collect()
}

/// A word of a finding's evidence.
#[track_caller]
pub fn text(finding: &Finding, key: &str) -> String {
    let written = written(finding, key);
    let text = written
        .as_str()
        .unwrap_or_else(|| panic!("{key} of {finding:?}"));
    text.to_owned()
}
