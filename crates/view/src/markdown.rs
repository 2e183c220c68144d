//! A check, a comparison, or runs of a command, as Markdown for a pull request: the verdict, tables, the conditions.

use crate::Error;
use crate::escape;
use crate::numbers;
use crate::text::compare::{named, ratio, value, word};
use crate::text::recordings;
use bandscope_studies::check::Check;
use bandscope_studies::compare::Comparison;
use bandscope_studies::conditions::Checked;
use bandscope_studies::repeat::factors::Level;
use bandscope_studies::repeat::{Repeat, p_in_words, value_in_words};
use std::io::Write;

/// Rows of a table; more are folded away by nobody who reads a pull request.
const ROWS: usize = 24;
/// Levels of a factor in a cell.
const LEVELS: usize = 4;

/// A command that may be pasted as it is written: in a span of code nothing is escaped, or linked.
fn code(command: &str) -> String {
    let command = escape::visible(command);
    match command.contains('`') {
        true => safe(&command),
        false => format!("`{command}`"),
    }
}

/// Untrusted text inside Markdown: nothing of it is markup, and it stays in its cell.
pub fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in escape::visible(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            // An address would be linked.
            ':' => safe.push_str("&#58;"),
            // `@name` would notify somebody, `#1` link an issue: GitHub looks for both where escapes are gone, and a comment parts them.
            '@' => safe.push_str("@<!-- -->"),
            '#' => safe.push_str("\\#<!-- -->"),
            '.' if is_after_www(&safe) => safe.push_str("&#46;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '!' | '|' | '~' => {
                safe.push('\\');
                safe.push(c);
            }
            _ => safe.push(c),
        }
    }
    safe
}

/// GitHub makes a link of what follows `www.`, without a scheme.
fn is_after_www(text: &str) -> bool {
    let start = text.len().saturating_sub(3);
    (text.as_bytes()[start..]).eq_ignore_ascii_case(b"www")
}

/// Writes a comparison.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn compare(comparison: &Comparison, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "**{}**\n", safe(&comparison.verdict))?;
    for (letter, side) in ["A", "B"].into_iter().zip(&comparison.sides) {
        writeln!(out, "- {letter}: {}", safe(&named(side)))?;
    }
    if let Some(counters) = comparison
        .counters
        .as_ref()
        .filter(|counters| !counters.rows.is_empty())
    {
        writeln!(
            out,
            "\n| counter | A | B | change | per second | |\n|---|--:|--:|--:|--:|---|"
        )?;
        for row in counters.rows.iter().take(ROWS) {
            let per_second = row.per_second.as_ref().map_or(String::new(), ratio);
            let (a, b) = (
                value(row.per_work.a, &row.unit),
                value(row.per_work.b, &row.unit),
            );
            let cells = [
                safe(&row.name),
                safe(&a),
                safe(&b),
                ratio(&row.per_work),
                per_second,
                word(row.verdict).into(),
            ];
            writeln!(out, "| {} |", cells.join(" | "))?;
        }
    }
    for pair in comparison.recordings.iter().flat_map(|both| &both.series) {
        let title = recordings::title(pair);
        writeln!(
            out,
            "\n| {} | A | B | B - A, 95 % | |\n|---|--:|--:|--:|---|",
            safe(&title)
        )?;
        // Of the ledger what changed.
        let lines = pair.ledger.iter().filter(|delta| delta.changed);
        for delta in pair.figures.iter().chain(lines) {
            let number = |number: f64| recordings::value(delta.unit, number);
            let changed = if delta.changed { "changed" } else { "" };
            let cells = [
                safe(&delta.name.to_string()),
                number(delta.a),
                number(delta.b),
                recordings::interval(delta),
                changed.into(),
            ];
            writeln!(out, "| {} |", cells.join(" | "))?;
        }
    }
    conditions(&comparison.conditions, out)?;
    notes(&comparison.notes, out)
}

fn notes(notes: &[String], out: &mut dyn Write) -> Result<(), Error> {
    for note in notes {
        writeln!(out, "\n{}", safe(note))?;
    }
    Ok(())
}

/// Writes a check.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn check(check: &Check, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "**{}**\n", safe(&check.verdict))?;
    for cpu in &check.cpus {
        writeln!(out, "- {}", safe(&cpu.sentence))?;
    }
    conditions(&check.checked(), out)?;
    notes(&check.notes, out)?;
    if let Some(command) = &check.next_step {
        writeln!(out, "\nTo see why: {}", code(command))?;
    }
    Ok(())
}

/// Writes what runs of a command say.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn repeat(repeat: &Repeat, checked: &[Checked], out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "**{}**\n", safe(&repeat.verdict))?;
    writeln!(out, "- command: {}", safe(&repeat.command.join(" ")))?;
    let (runs, metric) = (repeat.runs.plain, &repeat.metric);
    writeln!(
        out,
        "- {runs} runs with nothing varied, by {}",
        safe(&metric.name)
    )?;
    modes(repeat, out)?;
    associations(repeat, out)?;
    factors(repeat, out)?;
    conditions(checked, out)
}

/// The levels at which the values of the runs lie.
fn modes(repeat: &Repeat, out: &mut dyn Write) -> Result<(), Error> {
    let metric = &repeat.metric;
    let words = |value: f64| safe(&value_in_words(metric, value));
    if !repeat.modes.modes.is_empty() {
        writeln!(
            out,
            "\n| mode | 95 % | share | 95 % | runs |\n|--:|---|--:|---|--:|"
        )?;
    }
    for mode in &repeat.modes.modes {
        let [low, high] = mode.value_interval.map(words);
        let [rarely, often] = mode.share_interval.map(|share| 100.0 * share);
        writeln!(
            out,
            "| {} | {low} to {high} | {:.1} % | {rarely:.0} to {often:.0} % | {} |",
            words(mode.value),
            100.0 * mode.share,
            mode.runs
        )?;
    }
    Ok(())
}

/// What differs between the runs of the slow mode and the others.
fn associations(repeat: &Repeat, out: &mut dyn Write) -> Result<(), Error> {
    if !repeat.associations.is_empty() {
        writeln!(
            out,
            "\n| with the slow mode | per | others | slow | p | |\n|---|---|--:|--:|--:|---|"
        )?;
    }
    for one in repeat.associations.iter().take(ROWS) {
        let [others, slow] = one.medians.map(|value| numbers::significant(value, 3));
        let (p, word) = (p_in_words(one.p_value), word(one.closure));
        let name = safe(&one.name);
        writeln!(
            out,
            "| {name} | {} | {others} | {slow} | {p} | {word} |",
            one.per.name()
        )?;
    }
    Ok(())
}

/// How many runs were slow at each level of what was varied.
fn factors(repeat: &Repeat, out: &mut dyn Write) -> Result<(), Error> {
    let varied = repeat.factors.iter().filter(|one| !one.levels.is_empty());
    for (index, one) in varied.enumerate() {
        if index == 0 {
            writeln!(
                out,
                "\n| varied | slow runs of all, by level | fresh runs | |\n|---|---|---|---|"
            )?;
        }
        let level =
            |level: &Level| format!("{} {} of {}", safe(&level.name), level.slow, level.runs);
        let levels = |levels: &[Level]| {
            let shown: Vec<String> = levels.iter().take(LEVELS).map(level).collect();
            let more = if levels.len() > LEVELS { ", ..." } else { "" };
            shown.join(", ") + more
        };
        let (screened, fresh) = (levels(&one.levels), one.confirmation.as_ref());
        let fresh = fresh.map_or(String::new(), |fresh| levels(&fresh.levels));
        let decides = if one.decides { "**decides**" } else { "" };
        writeln!(
            out,
            "| {} | {screened} | {fresh} | {decides} |",
            safe(&one.name)
        )?;
    }
    Ok(())
}

fn conditions(conditions: &[Checked], out: &mut dyn Write) -> Result<(), Error> {
    if !conditions.is_empty() {
        writeln!(out)?;
    }
    for checked in conditions {
        let word = if checked.met { "**failed**" } else { "passed" };
        let (condition, found) = (safe(&checked.condition), safe(&checked.found));
        writeln!(out, "- {word}: {condition}: {found}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup() {
        assert_eq!(
            safe("a|b`c`<script>[x](http://y) @me\n"),
            "a\\|b\\`c\\`&lt;script&gt;\\[x\\]\\(http&#58;//y\\) @<!-- -->me\\\\n"
        );
        assert_eq!(safe("# a#1"), "\\#<!-- --> a\\#<!-- -->1");
        assert_eq!(safe("www.x.org WWW.y w.z"), "www&#46;x.org WWW&#46;y w.z");
    }
}
