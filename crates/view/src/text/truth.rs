//! What was booked to disturbers against what their logs say: a table for each log of the CPU.

use super::View;
use super::table::{Cell, Page, Paint, Side, Table};
use crate::{numbers, panels};
use bandscope_report::MatchedBy;
use bandscope_report::{Cause, Held, Truth};

/// Causes that are named; the JSON has all of them.
const NAMED: usize = 4;

pub(super) fn truth(view: &View<'_>, page: &mut Page<'_>) {
    let mut last = None;
    for truth in view.truth {
        for held in &truth.series {
            let member = view
                .group
                .members
                .iter()
                .position(|&index| index == held.series);
            if let Some(member) = member {
                page.blank();
                log(truth, held, &view.labels[member], page);
                last = Some(held);
            }
        }
    }
    // It is the same of all logs of a series; of several series the report in JSON has each.
    if let Some(held) = last {
        outside(held, page);
    }
}

fn log(truth: &Truth, held: &Held, label: &str, page: &mut Page<'_>) {
    let mut table = Table::new("Booked against true")
        .column("booked", Side::Right)
        .column("true", Side::Right)
        .column("ratio", Side::Right);
    table.first_width = page.width().saturating_sub(2 + 3 * 11).max(16);
    let time = |ns: Option<u64>| {
        Cell::from(ns.map_or(numbers::NONE.into(), |ns| numbers::duration_fine(ns.into())))
    };
    let ratio = |ratio: Option<f64>| {
        Cell::from(ratio.map_or(numbers::NONE.into(), |ratio| format!("{ratio:.4}")))
    };
    if held.stay_ns.is_some() {
        table.row(vec![
            format!("task:{}, against its CPU time", truth.task).into(),
            time(held.stay_ns),
            time(held.cpu_ns),
            ratio(held.stay_over_cpu),
        ]);
    }
    table.row(vec![
        "within the logged spans".into(),
        time(Some(held.booked_within_ns)),
        time(Some(held.disturbed_ns)),
        ratio(held.within_over_disturbed),
    ]);
    table.row(vec![
        "disturbed quanta".into(),
        numbers::count(held.quanta.recognised).into(),
        numbers::count(held.quanta.disturbed).into(),
        ratio(held.quanta.recall),
    ]);
    page.table(&table);
    let source = format!(
        "{}: {} ({}), {}, {label}",
        panels::file_name(&truth.log),
        numbers::plural(held.disturbances, "disturbance", "disturbances"),
        truth.kind,
        match held.matched_by {
            MatchedBy::Thread => "told apart by the id of its thread",
            MatchedBy::Name => "told apart by name alone, as no event has its thread's id",
            MatchedBy::Time => "told apart by time alone, as there are no kernel events",
        },
    );
    page.wrapped(("  ", Paint::Dim), &source, Paint::Dim);
    let mut others: Vec<(&Cause, u64)> = held
        .others_within_ns
        .iter()
        .map(|(cause, &ns)| (cause, ns))
        .collect();
    others.sort_by_key(|other| std::cmp::Reverse(other.1));
    named("  others within the spans: ", &others, page);
}

/// The costliest of some causes.
fn named(lead: &str, causes: &[(&Cause, u64)], page: &mut Page<'_>) {
    let mut words: Vec<String> = causes
        .iter()
        .take(NAMED)
        .map(|(cause, ns)| format!("{cause} {}", numbers::duration(*ns as f64)))
        .collect();
    if causes.len() > NAMED {
        let rest = (causes.len() - NAMED) as u64;
        words.push(numbers::plural(rest, "other cause", "other causes"));
    }
    if !words.is_empty() {
        page.wrapped((lead, Paint::Dim), &words.join(", "), Paint::Plain);
    }
}

/// Quanta with gaps of which no log knows, and what those gaps were.
fn outside(held: &Held, page: &mut Page<'_>) {
    let together = &held.together;
    let of = |precision: Option<f64>| precision.map_or(numbers::NONE.into(), numbers::percent);
    let mut text = format!(
        "{} of {} are in {}.",
        of(together.precision),
        numbers::plural(
            together.quanta_with_gaps,
            "quantum with a gap",
            "quanta with gaps"
        ),
        numbers::plural(together.logs as u64, "log", "logs"),
    );
    if together.precision_with_events.is_some() {
        text += &format!(
            " {} are in a log or in the kernel's events.",
            of(together.precision_with_events)
        );
    }
    if let Some(named) = together.gaps_named.filter(|&named| named > 0) {
        text += &format!(
            " Of {} booked to a disturber, {} are in a log.",
            numbers::plural(named, "gap", "gaps"),
            of(together.precision_of_names)
        );
    }
    page.wrapped(("  ", Paint::Dim), &text, Paint::Plain);
    let causes: Vec<(&Cause, u64)> = together
        .gaps_outside
        .iter()
        .map(|one| (&one.cause, one.ns))
        .collect();
    named("  gaps outside the logs: ", &causes, page);
}
