//! Findings and warnings: a sentence each, and what to do next.

use super::View;
use super::table::{Page, Paint};
use crate::panels;
use bandscope_report::evidence::{Alias, OfKind, PeriodicInterference, Throttled, TimeAway};
use bandscope_report::{Cause, Certainty, Finding, Kind, Report, Series, Warning, WarningKind};

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

/// Most consequential first, as the analysis ordered them, each with its next step.
pub(super) fn with_next_steps(findings: &[Finding], page: &mut Page<'_>) {
    list(&findings[..findings.len().min(MOST)], true, page);
    if let Some(more) = findings.len().checked_sub(MOST).filter(|more| *more > 0) {
        page.line(&[(
            &format!("  and {more} of less consequence: --format json"),
            Paint::Dim,
        )]);
    }
}

/// All of them without next steps, which the remedies say.
pub(super) fn without_next_steps(findings: &[Finding], page: &mut Page<'_>) {
    list(findings, false, page);
}

fn list(findings: &[Finding], next_steps: bool, page: &mut Page<'_>) {
    if findings.is_empty() {
        return;
    }
    page.blank();
    page.line(&[("Findings", Paint::Bold)]);
    let mut steps: Vec<&str> = Vec::new();
    for finding in findings {
        let lead = format!("  {:8}  ", certainty(finding.certainty));
        let text = format!("{} [{}]", finding.summary.trim(), finding.kind);
        page.wrapped((&lead, sure(finding)), &text, Paint::Plain);
        let step = finding.next_step.as_deref().filter(|_| next_steps);
        // The same advice once.
        if let Some(step) = step.filter(|step| !steps.contains(step)) {
            steps.push(step);
            page.wrapped(("            next: ", Paint::Dim), step, Paint::Plain);
        }
    }
}

/// Findings, and notes, on one screen.
const MAX_ON_SCREEN: usize = 4;
const MAX_NOTES: usize = 2;
/// CPUs that are named after a finding that several have.
const MAX_CPUS: usize = 4;

/// A task that took this share of the time gets a sentence: the account does not say how often it came, and for how long.
const MIN_SHARE_AWAY: f64 = 0.02;

/// Whether the account says it, or another finding.
fn is_said(finding: &Finding, report: &Report) -> bool {
    let is_stolen = |other: &Finding| {
        other.kind == Kind::StolenTime
            && other.series.iter().any(|one| finding.series.contains(one))
    };
    match finding.kind {
        Kind::TimeAway => TimeAway::of(&finding.evidence)
            .is_some_and(|away| away.share < MIN_SHARE_AWAY && !is_first(finding, report)),
        Kind::PeriodicInterference => {
            let periodic = PeriodicInterference::of(&finding.evidence);
            let is_host = periodic.is_some_and(|periodic| periodic.cause == Some(Cause::Host));
            is_host && report.findings.iter().any(is_stolen)
        }
        _ => false,
    }
}

fn is_first(finding: &Finding, report: &Report) -> bool {
    report
        .findings
        .first()
        .is_some_and(|first| std::ptr::eq(first, finding))
}

/// Findings that explain a slower pace.
const OF_PACE: [Kind; 8] = [
    Kind::BistablePace,
    Kind::FrequencySteps,
    Kind::SmtNeighbour,
    Kind::InterruptHelps,
    Kind::InterruptedLoop,
    Kind::WarmUp,
    Kind::AlternatingBands,
    Kind::MovingEdges,
];

/// Whether a finding explains the slower pace of a CPU, at least as `likely`.
pub(super) fn explain_pace(view: &View<'_>, report: &Report) -> bool {
    report.findings.iter().any(|finding| {
        OF_PACE.contains(&finding.kind)
            && finding.certainty >= Certainty::Likely
            && view
                .group
                .members
                .iter()
                .any(|member| finding.series.contains(member))
    })
}

/// What makes two findings of a kind one event that different series saw.
fn event(finding: &Finding) -> String {
    let hertz = |hz: f64| format!("{hz:.0}");
    let evidence = &finding.evidence;
    None.or_else(|| PeriodicInterference::of(evidence).map(|it| hertz(it.frequency_hz)))
        .or_else(|| Alias::of(evidence).map(|it| hertz(it.frequency_hz)))
        .or_else(|| Throttled::of(evidence).map(|it| it.cause.to_string()))
        .or_else(|| TimeAway::of(evidence).map(|it| it.cause.to_string()))
        .unwrap_or_default()
}

/// One sentence each, and in a footnote what is no loss.
pub(super) fn on_one_screen(report: &Report, page: &mut Page<'_>) {
    let mut events: Vec<(&Finding, Vec<&Series>)> = Vec::new();
    let mut side_effects: Vec<&str> = Vec::new();
    for finding in &report.findings {
        let series = || {
            finding
                .series
                .iter()
                .filter_map(|&index| report.series.get(index))
        };
        if finding.is_side_effect() {
            if !side_effects.contains(&finding.kind.name()) {
                side_effects.push(finding.kind.name());
            }
        } else if !is_said(finding, report) {
            let is_same = |known: &&mut (&Finding, Vec<&Series>)| {
                (known.0.kind, event(known.0)) == (finding.kind, event(finding))
            };
            match events.iter_mut().find(is_same) {
                Some(known) => known.1.extend(series()),
                None => events.push((finding, series().collect())),
            }
        }
    }
    if events.is_empty() && side_effects.is_empty() {
        return;
    }
    page.blank();
    if !events.is_empty() {
        page.line(&[("Findings", Paint::Bold)]);
    }
    for (finding, series) in events.iter().take(MAX_ON_SCREEN) {
        let lead = format!("  {:8}  ", certainty(finding.certainty));
        let text = format!(
            "{}{}",
            first_sentence(&finding.summary),
            elsewhere(finding, series, report)
        );
        page.wrapped((&lead, sure(finding)), &text, Paint::Plain);
    }
    if let Some(more) = events.len().checked_sub(MAX_ON_SCREEN + 1) {
        page.line(&[(&format!("  and {} more: --all", more + 1), Paint::Dim)]);
    }
    if !side_effects.is_empty() {
        let text = format!(
            "Side effects of measuring, not losses: {}.",
            side_effects.join(", ")
        );
        let indent = if events.is_empty() { "" } else { "  " };
        page.wrapped((indent, Paint::Plain), &text, Paint::Dim);
    }
}

/// What stands before the next sentence, which says what it rests on.
fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let begins = |rest: &str| rest.starts_with(|c: char| c.is_ascii_uppercase());
    let mut ends = text.match_indices(". ").map(|(index, _)| index);
    let end = ends.find(|&index| begins(&text[index + 2..]));
    end.map_or(text, |index| &text[..=index])
}

/// Where else an event was seen than in the series of the finding that speaks for it.
fn elsewhere(finding: &Finding, series: &[&Series], report: &Report) -> String {
    let mine: Vec<&Series> = finding
        .series
        .iter()
        .filter_map(|&index| report.series.get(index))
        .collect();
    let others = |of: &dyn Fn(&Series) -> String| {
        let mut words: Vec<String> = Vec::new();
        for word in series.iter().map(|series| of(series)) {
            if !words.contains(&word) && mine.iter().all(|mine| of(mine) != word) {
                words.push(word);
            }
        }
        words
    };
    let cpus = others(&|series| panels::cpu_name(series.cpu, series.place.as_ref()));
    match cpus.len() {
        0 => {}
        few if few <= MAX_CPUS => return format!(" Also on {}.", panels::listed(&cpus)),
        many => return format!(" Also on {many} other CPUs."),
    }
    match others(&|series| series.kernel.clone()).as_slice() {
        [] => String::new(),
        kernels => format!(" Also with {}.", panels::listed(kernels)),
    }
}

/// What to know before believing the rest: one line of a kind, but for what the account or the advice says.
pub(super) fn notes(report: &Report, page: &mut Page<'_>) {
    let names_tasks = report.series.iter().any(|series| {
        series
            .ledger
            .gaps_ns
            .keys()
            .any(|cause| matches!(cause, Cause::Task(_) | Cause::OtherTasks))
    });
    let mut warnings: Vec<(&Warning, usize)> = Vec::new();
    for warning in &report.warnings {
        match warning.kind {
            WarningKind::NotMeasured => continue,
            WarningKind::HighLoad | WarningKind::OtherTask if names_tasks => continue,
            _ => {}
        }
        match warnings
            .iter_mut()
            .find(|known| known.0.kind == warning.kind)
        {
            Some(known) => known.1 += 1,
            None => warnings.push((warning, 0)),
        }
    }
    for (warning, alike) in warnings.iter().take(MAX_NOTES) {
        let mut text = warning.message.trim().to_owned();
        if let Some(advice) = &warning.advice {
            text = format!("{text} {}", advice.trim());
        }
        if *alike > 0 {
            text = format!("{text} {alike} more of this kind: --all.");
        }
        page.wrapped(("Warning:      ", Paint::Loss), &text, Paint::Plain);
    }
    if let Some(more) = warnings.len().checked_sub(MAX_NOTES + 1) {
        page.line(&[(
            &format!("              and {} more: --all", more + 1),
            Paint::Dim,
        )]);
    }
}

/// Certain stands out.
fn sure(finding: &Finding) -> Paint {
    match finding.certainty {
        Certainty::Certain => Paint::Bold,
        _ => Paint::Plain,
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
