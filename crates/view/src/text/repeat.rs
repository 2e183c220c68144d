//! What `bandscope repeat` found, for a terminal: the verdict, the distribution and its modes, what goes with the slow one, what was
//! varied.

use super::compare::word;
use super::findings;
use super::measured::machine;
use super::table::{Cell, Page, Paint, Side, Table};
use crate::{Options, numbers};
use bandscope_recording::runs::{INHERITED, Metric, Runs};
use bandscope_studies::counters::Verdict;
use bandscope_studies::repeat::factors::{Level, Varied};
use bandscope_studies::repeat::modes::Mode;
use bandscope_studies::repeat::{Repeat, association::Association, p_in_words, value_in_words};

/// Lines of what goes with the slow mode.
const MOST_ASSOCIATIONS: usize = 8;
/// Levels of a factor that a line has room for.
const MOST_LEVELS: usize = 3;
/// Columns of a distribution, and on the narrowest terminal.
const COLUMNS: usize = 48;
const MIN_COLUMNS: usize = 10;
/// Heights of a column, from one run to as many as the fullest has.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII_HEIGHTS: [char; 8] = ['.', ':', '-', '=', '+', '*', '#', '@'];

/// As text.
pub fn repeat(repeat: &Repeat, options: &Options) -> String {
    let mut page = Page::new(options);
    page.wrapped(("", Paint::Plain), &repeat.verdict, Paint::Bold);
    page.blank();
    opening(repeat, &mut page);
    modes(repeat, &mut page);
    associations(repeat, &mut page);
    varied(repeat, &mut page);
    // Its summary is the verdict; what to do next is what it adds.
    if let Some(step) = repeat
        .findings
        .iter()
        .find_map(|finding| finding.next_step.as_ref())
    {
        page.blank();
        let sure = findings::certainty(repeat.findings[0].certainty);
        page.line(&[(&format!("Finding: multimodal-runs, {sure}"), Paint::Plain)]);
        page.wrapped(("  next: ", Paint::Dim), step, Paint::Plain);
    } else if let Some(finding) = repeat.findings.first() {
        page.blank();
        page.line(&[(
            &format!(
                "Finding: multimodal-runs, {}",
                findings::certainty(finding.certainty)
            ),
            Paint::Plain,
        )]);
    }
    if !repeat.warnings.is_empty() {
        page.blank();
    }
    for warning in &repeat.warnings {
        page.wrapped(("Warning: ", Paint::Loss), warning, Paint::Plain);
    }
    page.finish()
}

/// The distribution so far and the last value, while runs are made.
pub fn live(runs: &Runs, options: &Options) -> String {
    let mut page = Page::new(options);
    let values: Vec<f64> = (runs.runs.iter())
        .filter(|run| run.factor.is_none())
        .filter_map(|run| run.value)
        .collect();
    strip(&values, &runs.metric, &mut page);
    page.finish()
}

fn opening(repeat: &Repeat, page: &mut Page<'_>) {
    let line = |name: &str, text: &str, page: &mut Page<'_>| {
        page.wrapped((&format!("  {name:9}"), Paint::Dim), text, Paint::Plain);
    };
    line("command", &repeat.command.join(" "), page);
    let better = if repeat.metric.higher_is_better {
        "higher"
    } else {
        "lower"
    };
    line(
        "metric",
        &format!("{}, {better} is better", repeat.metric.name),
        page,
    );
    let counts = repeat.runs;
    let mut parts = vec![format!(
        "{} with nothing varied",
        numbers::count(counts.plain as u64)
    )];
    for (number, what) in [
        (counts.screening, "screening"),
        (counts.confirmation, "to confirm"),
        (counts.warm_up, "to warm up"),
        (counts.failed, "failed"),
    ] {
        if number > 0 {
            parts.push(format!("{} {what}", numbers::count(number as u64)));
        }
    }
    let took = numbers::duration(repeat.duration_s * 1e9);
    line(
        "runs",
        &format!(
            "{}; {took}, {}, seed {}",
            parts.join(", "),
            repeat.started,
            repeat.seed
        ),
        page,
    );
    line("machine", &machine(&repeat.machine), page);
}

fn modes(repeat: &Repeat, page: &mut Page<'_>) {
    if repeat.values.is_empty() {
        return;
    }
    page.blank();
    page.line(&[("Distribution", Paint::Bold)]);
    strip(&repeat.values, &repeat.metric, page);
    let sets = [
        ("Modes", &repeat.modes.modes),
        ("Possible modes", &repeat.modes.possible),
        ("Modes at all levels", &repeat.modes_at_levels),
    ];
    for (title, modes) in sets {
        mode_table(title, modes, &repeat.metric, page);
    }
    let missed = &repeat.missed;
    let text = format!(
        "With one mode, a valley as deep has p = {}. A mode with {} of the runs does not occur in {} of such sessions. In {} it occurs \
         fewer than three times, too few to detect.",
        p_in_words(repeat.modes.p_value),
        numbers::percent(missed.share),
        numbers::percent(missed.never_ran),
        numbers::percent(missed.too_few)
    );
    page.wrapped(("  ", Paint::Plain), &text, Paint::Dim);
}

fn mode_table(title: &str, modes: &[Mode], metric: &Metric, page: &mut Page<'_>) {
    if modes.is_empty() {
        return;
    }
    let mut table = Table::new(title)
        .column("95 %", Side::Left)
        .column("share", Side::Right)
        .column("95 %", Side::Left)
        .column("runs", Side::Right);
    let words = |value: f64| value_in_words(metric, value);
    for mode in modes {
        let [low, high] = mode.value_interval.map(words);
        let [rarely, often] = mode.share_interval.map(|share| share * 100.0);
        table.row(vec![
            words(mode.value).into(),
            format!("{low} to {high}").into(),
            format!("{:.1} %", mode.share * 100.0).into(),
            format!("{rarely:.0} to {often:.0} %").into(),
            numbers::count(mode.runs as u64).into(),
        ]);
    }
    page.blank();
    page.table(&table);
}

/// How many values lie where, from the lowest to the highest, in columns of equal ratio where all are positive.
fn strip(values: &[f64], metric: &Metric, page: &mut Page<'_>) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return;
    }
    let place = |value: f64| match low > 0.0 {
        true => (value / low).ln() / (high / low).ln(),
        false => (value - low) / (high - low),
    };
    let ends = [low, high].map(|value| value_in_words(metric, value));
    let label = page.safe(&format!("  {} ", ends[0]));
    let sign = page.sign("│", "|");
    let ending = page.safe(&format!(" {}", ends[1]));
    let around = [&label, &ending].map(|text| text.chars().count());
    let room = page.width().saturating_sub(around[0] + around[1] + 2);
    let mut columns = vec![0usize; room.clamp(MIN_COLUMNS, COLUMNS)];
    let number = columns.len();
    for value in values {
        // Of values that are all the same, the place is no number, and 0 as an index.
        let column = (place(*value) * number as f64) as usize;
        columns[column.min(number - 1)] += 1;
    }
    let most = columns.iter().max().copied().unwrap_or(1).max(1);
    let heights = if page.options.ascii {
        ASCII_HEIGHTS
    } else {
        HEIGHTS
    };
    let shades: String = (columns.iter())
        .map(|number| match number {
            0 => ' ',
            number => heights[(number * HEIGHTS.len()).div_ceil(most) - 1],
        })
        .collect();
    page.shaded(
        &format!("{label}{sign}"),
        &format!("{shades}{sign}{ending}"),
    );
}

fn associations(repeat: &Repeat, page: &mut Page<'_>) {
    if repeat.associations.is_empty() {
        return;
    }
    let mut table = Table::new("Associations")
        .column("per", Side::Left)
        .column("others", Side::Right)
        .column("slow", Side::Right)
        .column("effect", Side::Right)
        .column("p", Side::Right)
        .column("", Side::Left);
    let digits = |value: f64| numbers::significant(value, 3);
    // What cannot be the cause comes last.
    let mut shown: Vec<&Association> = repeat.associations.iter().collect();
    shown.sort_by_key(|one| one.closure == Verdict::CannotPay);
    for Association {
        name,
        per,
        medians,
        effect,
        p_value,
        closure,
        ..
    } in shown.iter().take(MOST_ASSOCIATIONS)
    {
        table.row(vec![
            name.as_str().into(),
            per.name().into(),
            digits(medians[0]).into(),
            digits(medians[1]).into(),
            format!("{effect:+.2}").into(),
            p_in_words(*p_value).into(),
            Cell::painted(
                word(*closure),
                if *closure == Verdict::Pays {
                    Paint::Bold
                } else {
                    Paint::Plain
                },
            ),
        ]);
    }
    page.blank();
    page.table(&table);
    let more = shown.len().saturating_sub(MOST_ASSOCIATIONS);
    if more > 0 {
        let text = format!("And {more} more: --format json.");
        page.wrapped(("  ", Paint::Plain), &text, Paint::Dim);
    }
    page.wrapped(
        ("  ", Paint::Plain),
        "Medians. Effect: 1 if every slow run has more of it than every other run, -1 if less. Pays: its cost is the extra time of a slow run. \
         Lead: a cause or an effect.",
        Paint::Dim,
    );
}

fn varied(repeat: &Repeat, page: &mut Page<'_>) {
    let tried: Vec<&Varied> = repeat
        .factors
        .iter()
        .filter(|one| !one.levels.is_empty())
        .collect();
    if tried.is_empty() {
        return;
    }
    let mut table = Table::new("Varied factors")
        .column("slow runs by level", Side::Left)
        .column("p", Side::Right)
        .column("confirmation", Side::Left)
        .column("p", Side::Right);
    for one in tried {
        let paint = if one.decides {
            Paint::Bold
        } else {
            Paint::Plain
        };
        let fresh = one.confirmation.as_ref();
        table.row(vec![
            Cell::painted(one.name.as_str(), paint),
            levels(one).into(),
            one.p_screening.map_or(String::new(), p_in_words).into(),
            fresh
                .map_or(String::new(), |fresh| {
                    fresh.levels.each_ref().map(at).join(" ")
                })
                .into(),
            Cell::painted(
                fresh.map_or(String::new(), |fresh| p_in_words(fresh.p_corrected)),
                paint,
            ),
        ]);
    }
    page.blank();
    page.table(&table);
}

/// As in `fixed 0/20`.
fn at(level: &Level) -> String {
    let name = if level.name == INHERITED {
        "as is"
    } else {
        &level.name
    };
    format!("{name} {}/{}", level.slow, level.runs)
}

/// Those that are furthest apart, where there are many.
fn levels(one: &Varied) -> String {
    if one.levels.len() <= MOST_LEVELS {
        let all: Vec<String> = one.levels.iter().map(at).collect();
        return all.join(" ");
    }
    let slow: usize = one.levels.iter().map(|level| level.slow).sum();
    let runs: usize = one.levels.iter().map(|level| level.runs).sum();
    let mixed = one.levels.iter().filter(|level| level.slow > 0).count();
    format!("{slow}/{runs} at {mixed} of {}", one.levels.len())
}

#[cfg(test)]
mod tests;
