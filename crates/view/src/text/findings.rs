//! Findings and warnings: a sentence each, and what to do next.

use super::table::{Page, Paint};
use bandscope_report::{Certainty, Finding, Report, WarningKind};

/// The word for a certainty, as in the JSON.
pub(crate) fn certainty(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Possible => "possible",
        Certainty::Likely => "likely",
        Certainty::Certain => "certain",
    }
}

/// Findings that a reader takes in.
const MOST: usize = 5;

/// Those of a report.
pub(super) fn findings(report: &Report, page: &mut Page<'_>) {
    list(&report.findings, page);
}

/// Most consequential first, as the analysis ordered them.
pub(super) fn list(findings: &[Finding], page: &mut Page<'_>) {
    if findings.is_empty() {
        return;
    }
    page.blank();
    page.line(&[("Findings", Paint::Bold)]);
    for finding in findings.iter().take(MOST) {
        let sure = certainty(finding.certainty);
        let lead = format!("  {sure:8}  ");
        let paint = if finding.certainty == Certainty::Certain {
            Paint::Bold
        } else {
            Paint::Plain
        };
        let text = format!("{} [{}]", finding.summary.trim(), finding.kind);
        page.wrapped((&lead, paint), &text, Paint::Plain);
        if let Some(step) = &finding.next_step {
            page.wrapped(("            next: ", Paint::Dim), step, Paint::Plain);
        }
    }
    if let Some(more) = findings.len().checked_sub(MOST).filter(|more| *more > 0) {
        page.line(&[(
            &format!("  and {more} of less consequence: --format json"),
            Paint::Dim,
        )]);
    }
}

/// What limits all of the above.
pub(super) fn warnings(report: &Report, page: &mut Page<'_>) {
    // What was not measured stands under how it was measured, a few lines below.
    let mut warnings = report
        .warnings
        .iter()
        .filter(|warning| warning.kind != WarningKind::NotMeasured)
        .peekable();
    if warnings.peek().is_none() {
        return;
    }
    page.blank();
    for warning in warnings {
        let mut text = warning.message.trim().to_owned();
        if let Some(advice) = &warning.advice {
            text = format!("{} Advice: {}", text, advice.trim());
        }
        page.wrapped(("Warning: ", Paint::Loss), &text, Paint::Plain);
    }
}
