//! Detection limits: what this recording would have shown, had it been there.

use super::View;
use super::table::{Page, Paint};
use crate::numbers;
use bandscope_report::Limits;

pub(super) fn limits(view: &View<'_>, page: &mut Page<'_>) {
    let lines: Vec<(&str, String)> = view
        .labelled()
        .filter_map(|(label, series)| Some((label, sentence(&series.limits)?)))
        .collect();
    if lines.is_empty() {
        return;
    }
    page.blank();
    page.line(&[(
        "Smallest effects this recording could have detected",
        Paint::Bold,
    )]);
    for (label, sentence) in lines {
        let label = format!("  {}  ", page.safe(label));
        page.wrapped((&label, Paint::Plain), &sentence, Paint::Plain);
    }
}

/// The band, then losses that are alike together: a tenth of a digit more or less tells nobody anything.
fn sentence(limits: &Limits) -> Option<String> {
    let band = limits.band.map(|band| {
        format!(
            "a band {} away for {} or more",
            numbers::percent(band.distance),
            numbers::duration(band.lasting_s * 1e9)
        )
    });
    let losses: Vec<String> = limits
        .losses
        .iter()
        .map(|limit| {
            format!(
                "{} at {}",
                numbers::duration(limit.ns_per_event),
                numbers::rate(limit.frequency_hz)
            )
        })
        .collect();
    let losses =
        (!losses.is_empty()).then(|| format!("a periodic loss of {} or more", losses.join(", ")));
    let parts: Vec<String> = band.into_iter().chain(losses).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
