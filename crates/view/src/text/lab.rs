//! The lab's result for a terminal: the verdict, a line for each pair, what the differences mean, and the loops that interruptions
//! switch.

use super::findings;
use super::measured::machine;
use super::table::{Cell, Page, Paint, Side, Table};
use crate::{Options, numbers};
use bandscope_studies::lab::{Chance, Lab, Level, Pair, State, Switching};
use std::collections::BTreeSet;

/// States of a pair that a line has room for.
const STATES: usize = 5;

/// As text; with `levels` every level of every pair has a line.
pub fn lab(lab: &Lab, levels: bool, options: &Options) -> String {
    let mut page = Page::new(options);
    opening(lab, &mut page);
    if levels {
        lab.pairs
            .iter()
            .for_each(|pair| all_levels(pair, &mut page));
    } else {
        pairs(lab, &mut page);
    }
    meanings(lab, &mut page);
    switching(lab, &mut page);
    findings::with_next_steps(&lab.findings, &mut page);
    if !lab.warnings.is_empty() {
        page.blank();
    }
    for warning in &lab.warnings {
        page.wrapped(("Warning: ", Paint::Loss), warning, Paint::Plain);
    }
    page.finish()
}

fn opening(lab: &Lab, page: &mut Page<'_>) {
    page.wrapped(("", Paint::Plain), &lab.verdict, Paint::Bold);
    page.blank();
    let text = format!("CPU {}, {}", lab.cpu, machine(&lab.machine));
    page.wrapped(("  machine  ", Paint::Dim), &text, Paint::Plain);
    let cycles = &lab.cycles;
    let mut text = format!(
        "chain of {}, {} cycles each",
        cycles.chain,
        numbers::significant(cycles.cycles_per_operation, 2)
    );
    if let Some(hz) = cycles.frequency_hz {
        text += &format!(": {} GHz", numbers::significant(hz / 1e9, 4));
    }
    page.wrapped(("  cycles   ", Paint::Dim), &text, Paint::Plain);
    let text = format!(
        "{}, {}",
        numbers::duration(lab.duration_s * 1e9),
        lab.started
    );
    page.wrapped(("  run      ", Paint::Dim), &text, Paint::Plain);
}

fn cycles(value: Option<f64>) -> String {
    value.map_or_else(
        || numbers::NONE.to_owned(),
        |value| numbers::significant(value, 3),
    )
}

fn interval(value: Option<[f64; 2]>) -> String {
    let digits = |value| numbers::significant(value, 3);
    value.map_or_else(String::new, |[low, high]| {
        format!("{} to {}", digits(low), digits(high))
    })
}

fn paces(states: &[State]) -> String {
    let shown: Vec<String> = states
        .iter()
        .take(STATES)
        .map(|state| cycles(Some(state.cycles)))
        .collect();
    let more = if states.len() > STATES { " ..." } else { "" };
    shown.join(" ") + more
}

fn heads(title: &str) -> Table {
    let mut table = Table::new(title)
        .column("cycles", Side::Right)
        .column("ratio", Side::Right)
        .column("interval", Side::Right)
        .column("states", Side::Left);
    table.first_width = 42;
    table
}

/// One line for each pair: the level that differs most.
fn pairs(lab: &Lab, page: &mut Page<'_>) {
    if lab.pairs.is_empty() {
        return;
    }
    let mut table = heads("Pairs");
    for pair in &lab.pairs {
        let Some(level) = pair
            .level
            .as_deref()
            .and_then(|name| pair.levels.iter().find(|level| level.name == name))
        else {
            table.row(vec![not_measured(&pair.name)]);
            continue;
        };
        let name = format!("{}: {}", pair.name, level.name);
        table.row(row(&name, level, &pair.states));
    }
    page.blank();
    page.table(&table);
    page.wrapped(
        ("  ", Paint::Plain),
        "Cycles per operation. Ratio: to the pair's control. States: every pace of the pair's levels.",
        Paint::Dim,
    );
}

fn not_measured(name: &str) -> Cell {
    Cell::painted(format!("{name}: not measured"), Paint::Dim)
}

fn row(name: &str, level: &Level, states: &[State]) -> Vec<Cell> {
    let paint = if level.differs {
        Paint::Bold
    } else {
        Paint::Dim
    };
    let ratio = level
        .ratio
        .map_or(String::new(), |ratio| numbers::significant(ratio, 3));
    vec![
        name.into(),
        cycles(level.cycles).into(),
        Cell::painted(ratio, paint),
        interval(level.interval).into(),
        paces(states).into(),
    ]
}

fn all_levels(pair: &Pair, page: &mut Page<'_>) {
    let mut table = heads(&pair.name);
    for level in &pair.levels {
        match &level.missing {
            None => table.row(row(&level.name, level, &level.states)),
            Some(_) => table.row(vec![not_measured(&level.name)]),
        }
    }
    page.blank();
    page.table(&table);
}

/// What differs, then what does not, then what could not be measured.
fn meanings(lab: &Lab, page: &mut Page<'_>) {
    let (measured, missing): (Vec<&Pair>, Vec<&Pair>) =
        lab.pairs.iter().partition(|pair| pair.interval.is_some());
    let (differ, same): (Vec<&Pair>, Vec<&Pair>) =
        measured.into_iter().partition(|pair| pair.differs);
    let mut has_advice = false;
    for (title, pairs) in [
        ("Differences on this core", differ),
        ("No difference on this core", same),
        ("Not measured, or too few passes", missing),
    ] {
        if pairs.is_empty() {
            continue;
        }
        page.blank();
        page.line(&[(title, Paint::Bold)]);
        for pair in pairs {
            let name = format!("  {:23}", pair.name);
            page.wrapped((&name, Paint::Plain), &pair.meaning, Paint::Plain);
            if !pair.advice.is_empty() {
                has_advice = true;
                let below = format!("  {:23}", "");
                let advice = format!("To avoid it: {}", pair.advice);
                page.wrapped((&below, Paint::Plain), &advice, Paint::Plain);
            }
        }
    }
    if has_advice {
        page.wrapped(
            ("  ", Paint::Dim),
            "What the advice gained with gcc and clang, and where it gains nothing: docs/lab.md, \"What avoids it\".",
            Paint::Dim,
        );
    }
}

fn switching(lab: &Lab, page: &mut Page<'_>) {
    if lab.switching.is_empty() {
        return;
    }
    let mut table = Table::new("Interrupted loops")
        .column("paces", Side::Left)
        .column("entered", Side::Right)
        .column("made fast", Side::Right)
        .column("made slow", Side::Right)
        .column("between", Side::Right);
    for one in &lab.switching {
        table.row(loop_row(one));
    }
    let rates: BTreeSet<u32> = lab
        .switching
        .iter()
        .flat_map(|one| one.by_rate.keys().copied())
        .collect();
    let rates: Vec<String> = rates.iter().map(u32::to_string).collect();
    page.blank();
    page.table(&table);
    page.wrapped(
        ("  ", Paint::Plain),
        &format!(
            "Made fast, made slow: timer signals (at {} Hz) that changed the pace, of those that met the loop at the other one. Between: \
             changes between two signals, by ticks or unknown causes.",
            rates.join(", ")
        ),
        Paint::Dim,
    );
}

fn loop_row(one: &Switching) -> Vec<Cell> {
    let chance = |chance: Option<Chance>| {
        chance.map_or_else(
            || numbers::NONE.to_owned(),
            |chance| format!("{} of {}", chance.changes, chance.trials),
        )
    };
    let entered = one.entered.map(|index| one.states[index].cycles);
    vec![
        one.code.as_str().into(),
        paces(&one.states).into(),
        cycles(entered).into(),
        chance(one.to_fast).into(),
        chance(one.to_slow).into(),
        one.changes
            .map_or_else(
                || numbers::NONE.to_owned(),
                |[_, between]| numbers::count(between),
            )
            .into(),
    ]
}
