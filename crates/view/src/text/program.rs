//! What a program's hot loop meets, for a terminal: the verdict, the loop, a line for each hidden state, and its instructions.

use super::measured::machine;
use super::table::{Page, Paint, Side, Table};
use crate::{Options, numbers};
use bandscope_studies::program::{Explained, Line, Loop, State, file_name};

/// Longer loops are shown by the instructions that meet something.
const SHORT: usize = 16;
/// So many of these.
const SHOWN: usize = 8;
/// Lines of source of a state that are named.
const SOURCES: usize = 4;

/// As text; with `all` every instruction of the loop has a line.
pub fn program(explained: &Explained, all: bool, options: &Options) -> String {
    let mut page = Page::new(options);
    page.wrapped(("", Paint::Plain), &explained.verdict, Paint::Bold);
    page.blank();
    opening(explained, &mut page);
    table(explained, &mut page);
    meanings(explained, &mut page);
    if let Some(found) = &explained.hot_loop {
        listing(found, all, &mut page);
    }
    if !explained.warnings.is_empty() {
        page.blank();
    }
    for warning in &explained.warnings {
        page.wrapped(("Warning: ", Paint::Loss), warning, Paint::Plain);
    }
    page.finish()
}

fn opening(explained: &Explained, page: &mut Page<'_>) {
    let samples = explained.samples;
    let mut fact = |label: &str, text: &str| page.wrapped((label, Paint::Dim), text, Paint::Plain);
    fact("  command  ", &explained.command.join(" "));
    fact(
        "  samples  ",
        &format!(
            "{}, {} in the loop, {} in the kernel",
            samples.taken, samples.in_loop, samples.in_kernel
        ),
    );
    if let Some(found) = &explained.hot_loop {
        let object = found.object.as_deref().unwrap_or("code made at run time");
        let instructions = numbers::significant(found.instructions, 3);
        fact(
            "  loop     ",
            &format!(
                "{:#x} of {object}, {instructions} instructions a turn",
                found.address
            ),
        );
    }
    if let Some(turn) = explained.turn {
        let ns = format!("{} ns", numbers::significant(turn.ns, 3));
        let text = match turn.cycles.zip(turn.frequency_hz) {
            Some((cycles, hz)) => format!(
                "{} cycles ({ns}) at {} GHz",
                numbers::significant(cycles, 3),
                numbers::significant(hz / 1e9, 3)
            ),
            None => ns,
        };
        fact("  turn     ", &text);
    }
    fact("  machine  ", &machine(&explained.machine));
}

fn table(explained: &Explained, page: &mut Page<'_>) {
    if explained.states.is_empty() {
        return;
    }
    if explained.turn.is_none() {
        let names: Vec<&str> = explained.states.iter().map(|state| state.pair).collect();
        page.blank();
        page.wrapped(
            ("It meets, at a cost that is not known: ", Paint::Plain),
            &format!("{}.", names.join(", ")),
            Paint::Plain,
        );
        return;
    }
    let mut table = Table::new("Hidden states")
        .column("cycles", Side::Right)
        .column("without", Side::Right)
        .column("ratio", Side::Right)
        .column("interval", Side::Right);
    let digits = |value: Option<f64>| {
        value.map_or_else(
            || numbers::NONE.to_owned(),
            |value| numbers::significant(value, 3),
        )
    };
    let cycles = explained.turn.and_then(|turn| turn.cycles);
    for state in &explained.states {
        let interval = state.interval.map_or_else(String::new, |[low, high]| {
            format!("{} to {}", digits(Some(low)), digits(Some(high)))
        });
        let cells = [
            digits(cycles),
            digits(state.cycles_without),
            digits(state.ratio),
            interval,
        ];
        let mut row = vec![state.pair.into()];
        row.extend(cells.map(Into::into));
        table.row(row);
    }
    page.blank();
    page.table(&table);
    page.wrapped(
        ("  ", Paint::Plain),
        "Cycles of a turn as it is, and with the state taken away, in forks that repeat the same turns. Interval: all rounds but the lowest and the highest.",
        Paint::Dim,
    );
}

fn meanings(explained: &Explained, page: &mut Page<'_>) {
    if explained.turn.is_none() {
        return;
    }
    for state in &explained.states {
        page.blank();
        let paint = if state.costs == Some(true) {
            Paint::Loss
        } else {
            Paint::Dim
        };
        page.wrapped(
            (&format!("{}: ", state.pair), paint),
            &state.meaning,
            Paint::Plain,
        );
        sources(state, page);
        if state.costs == Some(true) {
            page.wrapped(
                ("  Taken away: ", Paint::Dim),
                &format!("{}.", state.change),
                Paint::Plain,
            );
        }
        if !state.advice.is_empty() {
            page.wrapped(("  To avoid: ", Paint::Dim), state.advice, Paint::Plain);
        }
    }
}

fn sources(state: &State, page: &mut Page<'_>) {
    let mut names: Vec<String> = state.sources.iter().take(SOURCES).cloned().collect();
    if names.is_empty() {
        return;
    }
    if state.sources.len() > SOURCES {
        names.push(format!("and {} more", state.sources.len() - SOURCES));
    }
    page.wrapped(("  Source: ", Paint::Dim), &names.join(", "), Paint::Plain);
}

fn listing(found: &Loop, all: bool, page: &mut Page<'_>) {
    let is_short = all || found.listing.len() <= SHORT;
    let lines: Vec<&Line> = found
        .listing
        .iter()
        .filter(|line| is_short || !line.meets.is_empty())
        .collect();
    let shown = if is_short {
        lines.len()
    } else {
        lines.len().min(SHOWN)
    };
    if shown == 0 {
        return;
    }
    let title = if is_short {
        "The loop"
    } else {
        "The loop, where it meets them"
    };
    let mut table = Table::new(title)
        .column("times", Side::Right)
        .column("meets", Side::Left);
    let has_source = lines[..shown].iter().any(|line| line.source.is_some());
    if has_source {
        table = table.column("source", Side::Left);
    }
    table.first_width = 46;
    for line in &lines[..shown] {
        let object = line.object.as_deref().map(file_name);
        let object = object.map(|name| format!("{name} ")).unwrap_or_default();
        let instruction = format!("{object}{:x}  {}", line.address, line.text);
        let mut row = vec![
            instruction.into(),
            numbers::significant(line.per_turn, 2).into(),
            line.meets.join(", ").into(),
        ];
        if has_source {
            row.push(line.source.as_deref().map_or("", file_name).into());
        }
        table.row(row);
    }
    page.blank();
    page.table(&table);
    if shown < found.listing.len() {
        let text = format!(
            "{} instructions in all: --levels shows them.",
            found.listing.len()
        );
        page.wrapped(("  ", Paint::Plain), &text, Paint::Dim);
    }
}
