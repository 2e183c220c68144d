//! What `cure` found: a block for each cure that was tried, its effect first; what could not be tried in a line each.

use super::table::{Cell, Page, Paint, Side, Table};
use crate::cure::SECTIONS;
use crate::{Options, numbers};
use bandscope_recording::cpu_list;
use bandscope_report::format::{hundredths, share_decimals};
use bandscope_studies::cure::{Difference, Judged, Judgement, LineChange, Saving, Verdict};
use bandscope_studies::repeat::p_in_words;

/// Lines of the ledger that are shown of a cure.
const MAX_LINES: usize = 6;
/// Width of the words before what they head.
const HEAD: usize = 12;
/// Undoes what is in force.
pub(crate) const UNDO: &str = "sudo bandscope cure --undo";

/// As text.
pub fn cure(judged: &Judged, options: &Options) -> String {
    let mut page = Page::new(options);
    page.wrapped(("", Paint::Plain), &judged.verdict, Paint::Bold);
    page.wrapped(("", Paint::Plain), &subject(judged), Paint::Dim);
    if !judged.kept.is_empty() {
        let kept = format!("{}.", judged.kept.join(", "));
        page.wrapped(("In force: ", Paint::Loss), &kept, Paint::Plain);
        let (undo, as_root) = options.rights.command(UNDO);
        let lead = if as_root {
            "To undo, as root: "
        } else {
            "To undo: "
        };
        page.command(lead, &undo, Paint::Plain);
    }
    for (verdict, heading) in SECTIONS {
        let cures = judged.cures.iter();
        let cures: Vec<&Judgement> = cures.filter(|one| one.verdict == verdict).collect();
        section(heading, &cures, &mut page);
    }
    if !judged.notes.is_empty() || judged.next_step.is_some() || !options.all {
        page.blank();
    }
    for note in &judged.notes {
        page.wrapped(("Note: ", Paint::Dim), note, Paint::Dim);
    }
    if let Some(command) = &judged.next_step {
        page.command("To see why: ", command, Paint::Plain);
    }
    if !options.all {
        let more = "What each cure changes, every line and every interval: --all";
        page.wrapped(("", Paint::Plain), more, Paint::Dim);
    }
    page.finish()
}

/// What was measured, in one line.
pub(crate) fn subject(judged: &Judged) -> String {
    let others = match judged.others.as_slice() {
        [] => None,
        [one] => Some(format!("CPU {one} inherits")),
        many => Some(format!("{} inherit", cpu_list::named(many))),
    };
    let trials = numbers::duration_round(1e9 * judged.trial_s);
    let parts = [
        Some(cpu_list::named(&judged.cpus)),
        others,
        judged.only.as_ref().map(|name| format!("only {name}")),
        Some(format!("pairs of trials of {trials}")),
        Some(format!(
            "{}, {}",
            judged.kernel,
            numbers::rate(judged.rate_hz)
        )),
        Some(judged.started.clone()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

fn section(heading: &str, cures: &[&Judgement], page: &mut Page<'_>) {
    let Some(first) = cures.first() else {
        return;
    };
    page.blank();
    page.line(&[(heading, Paint::Bold)]);
    if [Verdict::CannotBeTried, Verdict::NotTried].contains(&first.verdict) && !page.options.all {
        return untried(cures, page);
    }
    for (place, one) in cures.iter().enumerate() {
        if place > 0 && page.options.all {
            page.blank();
        }
        block(one, page);
    }
}

/// Names with their reasons; those of one reason stand together.
fn untried(cures: &[&Judgement], page: &mut Page<'_>) {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in cures {
        match reasons.iter_mut().find(|reason| reason.0 == one.effect()) {
            Some((_, names)) => names.push(&one.name),
            None => reasons.push((one.effect(), vec![&one.name])),
        }
    }
    for (reason, names) in reasons {
        let text = format!("{}: {reason}", names.join(", "));
        page.wrapped(("  ", Paint::Plain), &text, Paint::Plain);
    }
    for (one, problem) in cures
        .iter()
        .flat_map(|one| one.problems.iter().map(move |of| (one, of)))
    {
        let lead = format!("  {}: ", one.name);
        page.wrapped((&lead, Paint::Loss), problem, Paint::Plain);
    }
}

fn block(one: &Judgement, page: &mut Page<'_>) {
    let paint = match one.verdict {
        Verdict::Helps => Paint::Work,
        Verdict::MakesWorse => Paint::Loss,
        _ => Paint::Bold,
    };
    let name = format!("  {:width$}", one.name, width = HEAD + 1);
    let effect = format!("{}.", one.effect());
    page.hanging(
        &[(&name, paint), (" ", Paint::Plain)],
        &effect,
        Paint::Plain,
    );
    if let Some(reason) = &one.reason {
        entry("why", reason, page);
    }
    if one.is_kept {
        let (undo, _) = page.options.rights.command(UNDO);
        entry("in force", &format!("until {undo}"), page);
    }
    for problem in &one.problems {
        entry("problem", problem, page);
    }
    let is_clear = |of: &Option<Difference>| of.is_some_and(|one| one.is_clear());
    let is_change = [Verdict::Helps, Verdict::MakesWorse].contains(&one.verdict);
    if page.options.all {
        return in_full(one, page);
    }
    if is_change || one.verdict == Verdict::Undecided {
        entry("lines", &lines(one), page);
    }
    if one.work_change().is_some() {
        entry("work/s", &work(one), page);
    }
    if is_change && is_clear(&one.worst_1ms) {
        entry("worst 1 ms", &worst(one), page);
    }
    if is_change && is_clear(&one.longest_gap_s) {
        entry("longest gap", &longest(one), page);
    }
}

/// A line below a name; nothing where there is nothing to say.
fn entry(head: &str, text: &str, page: &mut Page<'_>) {
    if !text.is_empty() {
        let head = format!("    {head:HEAD$}");
        page.wrapped((&head, Paint::Dim), text, Paint::Plain);
    }
}

/// All that is known of a cure.
fn in_full(one: &Judgement, page: &mut Page<'_>) {
    entry("does", &one.what, page);
    entry("acts on", &one.acts_on.join(", "), page);
    let tested = |saving: &Option<Saving>| saving.as_ref().map_or(String::new(), saving_in_full);
    entry("lost", &tested(&one.saved), page);
    entry("own lines", &tested(&one.own), page);
    entry("work/s", &work(one), page);
    entry("worst 1 ms", &worst(one), page);
    entry("longest gap", &longest(one), page);
    if let Some(gaps) = &one.gaps_per_s {
        let number = |gaps: f64| numbers::significant(gaps, 3);
        entry("gaps/s", &difference(gaps, number, number, ""), page);
    }
    if let Some(inherited) = &one.inherited {
        entry(
            "inherited",
            &format!("tasks ran {}", shares(&inherited.busy)),
            page,
        );
        entry(
            "",
            &format!("tasks waited {}", shares(&inherited.waiting)),
            page,
        );
    }
    for finding in &one.findings {
        let (without, with) = (finding.without, finding.with);
        let text = format!(
            "{} in {without} trials without it, {with} with it",
            finding.kind
        );
        entry("finding", &text, page);
    }
    if one.saved.is_some() {
        entry("pairs", &one.pairs.to_string(), page);
    }
    for change in &one.changes {
        let text = format!(
            "{}: from {} to {}",
            change.setting, change.before, change.during
        );
        entry("changes", &text, page);
    }
    if !one.lines.is_empty() {
        table(one, page);
    }
}

/// `6.0 % without, 1.0 % with: -5.0 points (-5.1 to -4.9); p 0.01; seen from 0.2 points on`.
fn saving_in_full(saving: &Saving) -> String {
    let [low, high] = saving.interval;
    let shares = shares(&Difference {
        without: saving.without,
        with: saving.with,
        difference: -saving.share,
        interval: Some([-high, -low]),
    });
    let (p_value, seen) = (p_in_words(saving.p_value), saving.seen_from());
    format!("{shares}; p {p_value}; seen from {seen} on")
}

/// The lines that changed, the largest change first.
pub(crate) fn lines(one: &Judgement) -> String {
    let changed = one.lines.iter().filter(|line| line.changed);
    let words: Vec<String> = changed.map(line).take(MAX_LINES).collect();
    words.join(", ")
}

/// `task:cc1 -5.0 points (-5.1 to -4.9)`.
fn line(line: &LineChange) -> String {
    format!("{} {}", line.line, change(&line.share))
}

/// `-5.0 points (-5.1 to -4.9)`.
fn change(share: &Difference) -> String {
    let decimals = decimals(share, share.difference);
    let [low, high] = share.interval.unwrap_or([share.difference; 2]);
    let ends = [share.difference, low, high];
    let [by, low, high] = ends.map(|of| signed(&hundredths(of, decimals)));
    match share.interval {
        Some(_) => format!("{by} points ({low} to {high})"),
        None => format!("{by} points"),
    }
}

/// Digits after the point that the interval of a share leaves.
fn decimals(share: &Difference, of: f64) -> usize {
    let half_width = share.interval.map(|[low, high]| (high - low) / 2.0);
    share_decimals(of, half_width)
}

/// With its sign also if it is positive.
fn signed(number: &str) -> String {
    let is_zero = number.chars().all(|digit| "0.".contains(digit));
    match is_zero || number.starts_with('-') {
        true => number.to_owned(),
        false => format!("+{number}"),
    }
}

/// `6.0 % without, 1.0 % with: -5.0 points (-5.1 to -4.9)`.
fn shares(share: &Difference) -> String {
    let decimals = decimals(share, share.without.max(share.with));
    let [without, with] = [share.without, share.with].map(|one| hundredths(one, decimals));
    format!("{without} % without, {with} % with: {}", change(share))
}

/// A figure without and with a cure, and by how much it changed.
fn difference(
    of: &Difference,
    value: impl Fn(f64) -> String,
    end: impl Fn(f64) -> String,
    unit: &str,
) -> String {
    let text = format!("{} without, {} with", value(of.without), value(of.with));
    let Some(interval) = of.interval else {
        return text;
    };
    let [low, high] = interval.map(|of| signed(&end(of)));
    format!("{text} ({low} to {high}{unit})")
}

/// `9.20 M units without, 9.72 M units with (+5.5 % to +5.8 %)`.
pub(crate) fn work(one: &Judgement) -> String {
    let Some(work) = &one.work else {
        return String::new();
    };
    let half_width = work.interval.map(|[low, high]| (high - low) / 2.0);
    let part = |of: f64| of / work.without;
    let decimals = share_decimals(part(work.difference), half_width.map(part));
    let units = |of: f64| format!("{} M units", numbers::significant(of / 1e6, 4));
    difference(work, units, |end| hundredths(part(end), decimals), " %")
}

/// Work in the worst 1 ms.
pub(crate) fn worst(one: &Judgement) -> String {
    one.worst_1ms.as_ref().map_or(String::new(), |worst| {
        let decimals = decimals(worst, worst.without);
        let share = |of: f64| hundredths(of, decimals);
        difference(worst, |of| share(of) + " %", share, " points")
    })
}

/// The longest gap.
pub(crate) fn longest(one: &Judgement) -> String {
    let duration = |seconds: f64| numbers::duration(1e9 * seconds);
    let longest = one.longest_gap_s.as_ref();
    longest.map_or(String::new(), |gap| difference(gap, duration, duration, ""))
}

/// Every line of the ledger.
fn table(one: &Judgement, page: &mut Page<'_>) {
    let mut table = Table::new("  lines")
        .column("", Side::Left)
        .column("without", Side::Right)
        .column("with", Side::Right)
        .column("points, 95 %", Side::Right);
    for line in &one.lines {
        let share = &line.share;
        let decimals = decimals(share, share.without.max(share.with));
        let percent = |of: f64| format!("{} %", hundredths(of, decimals));
        let [low, high] = share.interval.unwrap_or([share.difference; 2]);
        let [low, high] = [low, high].map(|end| signed(&hundredths(end, decimals)));
        let paint = if line.changed {
            Paint::Plain
        } else {
            Paint::Dim
        };
        let own = if line.is_own { "own" } else { "" };
        table.row(vec![
            Cell::painted(format!("  {}", line.line), paint),
            Cell::painted(own, Paint::Dim),
            Cell::painted(percent(share.without), paint),
            Cell::painted(percent(share.with), paint),
            Cell::painted(format!("{low} to {high}"), paint),
        ]);
    }
    page.table(&table);
}

#[cfg(test)]
mod tests;
