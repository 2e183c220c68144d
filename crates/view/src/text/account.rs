//! The ledger: where the time went, one column of figures for each series.

use super::View;
use super::table::{Cell, Page, Paint, Side, Table};
use crate::numbers;
use bandscope_report::{Cause, Ledger, PaceOrigin, Series};

/// Causes of gaps that get a line of their own; the rest is added up.
const CAUSES: usize = 6;
/// Characters of the bar that shows a loss as a share of all losses.
const BAR: usize = 6;
/// Width of a series' figures: two blanks and a time, two and a percentage, two and the bar.
const SERIES_WIDTH: usize = 2 + LABEL + 2 + 8 + 2 + 7;
/// Longest label at the head of a column, which is as wide as a time.
const LABEL: usize = 9;
/// The least that is left for the names of causes; longer ones take several lines.
const NAMES: usize = 14;

/// A band that holds this share of the time is the main one.
const MAIN: f64 = 0.5;
/// A self-test that was faster by this share is named.
const NOTABLE: f64 = 0.02;
/// A bonus of this share of the wall time is named.
const WORTH_SAYING: f64 = 5e-5;

/// One line of the account.
pub(crate) struct Line {
    pub name: String,
    /// Nanoseconds of each series.
    pub ns: Vec<i128>,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Wall,
    Work,
    Loss,
}

pub(super) fn account(view: &View<'_>, page: &mut Page<'_>) {
    let longest = view
        .labels
        .iter()
        .map(|label| page.safe(label).chars().count())
        .max();
    let is_long = longest.unwrap_or(0) > LABEL;
    let fitting = match is_long {
        true => 1,
        false => page.width().saturating_sub(2 + NAMES) / SERIES_WIDTH,
    };
    let indices: Vec<usize> = (0..view.series.len()).collect();
    for some in indices.chunks(fitting.max(1)) {
        page.blank();
        let series: Vec<&Series> = some.iter().map(|&i| view.series[i]).collect();
        let labels: Vec<&str> = some.iter().map(|&i| view.labels[i].as_str()).collect();
        if is_long {
            page.wrapped(
                ("Where the time went: ", Paint::Bold),
                labels[0],
                Paint::Plain,
            );
            part("", &series, &["time"], page);
        } else {
            part("Where the time went", &series, &labels, page);
        }
    }
    basis(view, page);
}

/// As many series as fit beside each other.
fn part(title: &str, series: &[&Series], labels: &[&str], page: &mut Page<'_>) {
    let mut table = Table::new(title);
    for label in labels {
        table = table
            .column(*label, Side::Right)
            .column("of wall", Side::Right)
            .column("of loss", Side::Left);
    }
    table.first_width = page.width();
    let ledgers: Vec<&Ledger> = series.iter().map(|s| &s.ledger).collect();
    for line in lines(&ledgers) {
        let mut cells = vec![Cell::from(line.name.clone())];
        for (ns, ledger) in line.ns.iter().zip(&ledgers) {
            cells.extend(figures(*ns, ledger, line.kind, page));
        }
        table.row(cells);
    }
    page.table(&table);
}

/// Time, share of the wall time, and for a loss its share of all losses as a bar.
fn figures(ns: i128, ledger: &Ledger, kind: Kind, page: &Page<'_>) -> [Cell; 3] {
    let paint = match kind {
        Kind::Wall => Paint::Plain,
        Kind::Work => Paint::Work,
        Kind::Loss => Paint::Loss,
    };
    let lost = ledger.wall_ns.saturating_sub(ledger.work_ns);
    let bar = match kind {
        Kind::Loss if lost > 0 => bar(part_of(ns, lost), BAR, page.options.ascii),
        _ => String::new(),
    };
    [
        Cell::from(numbers::duration_fine(ns)),
        Cell::painted(
            numbers::percent(part_of(ns, ledger.wall_ns)),
            if kind == Kind::Loss {
                Paint::Plain
            } else {
                paint
            },
        ),
        Cell::painted(bar, paint),
    ]
}

/// A line of the account as a share; what is unexplained may be negative.
fn part_of(ns: i128, whole: u64) -> f64 {
    ns as f64 / whole as f64
}

/// A bar of `share` times `width` characters, to an eighth of one; whatever is not nothing shows.
pub(crate) fn bar(share: f64, width: usize, ascii: bool) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    if !share.is_finite() || share <= 0.0 {
        return String::new();
    }
    let eighths = ((share.min(1.0) * width as f64 * 8.0).round() as usize).max(1);
    if ascii {
        return "#".repeat(eighths.div_ceil(8).min(width));
    }
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8]);
    }
    bar
}

/// The account of several series, in the order in which it adds up.
pub(crate) fn lines(ledgers: &[&Ledger]) -> Vec<Line> {
    let of = |name: &str, kind: Kind, ns: &dyn Fn(&Ledger) -> i128| Line {
        name: name.into(),
        ns: ledgers.iter().map(|ledger| ns(ledger)).collect(),
        kind,
    };
    let mut lines = vec![
        of("wall time", Kind::Wall, &|l| l.wall_ns.into()),
        of("work", Kind::Work, &|l| l.work_ns.into()),
        of("slower pace, lower frequency", Kind::Loss, &|l| {
            l.pace_ns.frequency.into()
        }),
        of("slower pace, core state", Kind::Loss, &|l| {
            l.pace_ns.microarchitecture.into()
        }),
        of("slower pace, cause not known", Kind::Loss, &|l| {
            l.pace_ns.unsplit.into()
        }),
    ];
    lines.extend(gap_lines(ledgers));
    lines.push(of("measurement itself", Kind::Loss, &|l| {
        l.measurement_ns.into()
    }));
    let unexplained = of("unexplained", Kind::Loss, &|l| l.unexplained_ns.into());
    lines.retain(|line| line.kind != Kind::Loss || line.ns.iter().any(|&ns| ns != 0));
    // Shown even where it is nothing: that it is nothing is what a reader wants to know.
    lines.push(unexplained);
    lines
}

/// A cause as a line of the account: those that carry their kind, as `irq:NAME`, need no other.
fn named(cause: &Cause) -> String {
    let written = cause.to_string();
    match written.contains(':') {
        true => written,
        false => format!("gap: {written}"),
    }
}

/// Gaps by cause, the costliest first, what is over added up.
fn gap_lines(ledgers: &[&Ledger]) -> Vec<Line> {
    let mut causes: Vec<&Cause> = Vec::new();
    for cause in ledgers.iter().flat_map(|ledger| ledger.gaps_ns.keys()) {
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    let ns_of = |cause: &Cause| -> Vec<i128> {
        ledgers
            .iter()
            .map(|l| i128::from(l.gaps_ns.get(cause).copied().unwrap_or(0)))
            .collect()
    };
    let mut lines: Vec<Line> = causes
        .into_iter()
        .map(|cause| Line {
            name: named(cause),
            ns: ns_of(cause),
            kind: Kind::Loss,
        })
        .collect();
    let total = |line: &Line| line.ns.iter().sum::<i128>();
    lines.sort_by_key(|line| std::cmp::Reverse(total(line)));
    if lines.len() > CAUSES + 1 {
        let rest = lines.split_off(CAUSES);
        lines.push(Line {
            name: format!("gaps: {} other causes", rest.len()),
            ns: (0..ledgers.len())
                .map(|i| rest.iter().map(|line| line.ns[i]).sum())
                .collect(),
            kind: Kind::Loss,
        });
    }
    lines
}

/// What "work" means: the best pace and where it comes from.
fn basis(view: &View<'_>, page: &mut Page<'_>) {
    let Some((_, first)) = view.labelled().find(|(_, s)| s.best_pace.is_some()) else {
        return;
    };
    let Some(best) = &first.best_pace else {
        return;
    };
    let origin = match best.origin {
        PaceOrigin::SelfTest => "the best of the self-test on this CPU",
        PaceOrigin::Series if best.share >= MAIN => "the pace of this CPU's main band",
        PaceOrigin::Series => "the pace of the fastest band that lasts",
    };
    let caution = if view
        .series
        .iter()
        .filter_map(|s| s.best_pace.as_ref())
        .all(|b| b.undisturbed)
    {
        ""
    } else {
        "; no undisturbed stretch was seen, so losses are lower bounds"
    };
    let inferred = if view.series.iter().all(|s| s.gaps_known) {
        ""
    } else {
        "; gaps were not recorded, so losses are inferred from counts"
    };
    let tested = match best.self_test_ns_per_unit {
        Some(tested) if tested < best.ns_per_unit * (1.0 - NOTABLE) => {
            format!(" The self-test reached {} ns.", numbers::pace(tested))
        }
        _ => String::new(),
    };
    let sum = |of: fn(&Ledger) -> u64| view.series.iter().map(|s| of(&s.ledger)).sum::<u64>();
    let (bonus, wall) = (sum(|l| l.bonus_ns), sum(|l| l.wall_ns));
    let faster = match part_of(bonus.into(), wall) >= WORTH_SAYING {
        true => format!(
            " A faster pace at times gained {} ({}), which is in no line.",
            numbers::duration_fine(bonus.into()),
            numbers::percent(part_of(bonus.into(), wall))
        ),
        false => String::new(),
    };
    page.wrapped(
        ("  ", Paint::Plain),
        &format!(
            "100 % = one unit per {} ns, {origin}{caution}{inferred}.{tested}{faster}",
            numbers::pace(best.ns_per_unit)
        ),
        Paint::Dim,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_whatever_is_not_nothing() {
        assert_eq!(bar(0.0, 6, false), "");
        assert_eq!(bar(f64::NAN, 6, false), "");
        assert_eq!(bar(1e-9, 6, false), "▏");
        assert_eq!(bar(0.5, 6, false), "███");
        assert_eq!(bar(7.0, 6, false), "██████");
        assert_eq!(bar(1e-9, 6, true), "#");
    }

    #[test]
    fn lines_add_up_to_the_wall_time() {
        let mut ledger = Ledger {
            wall_ns: 1_000,
            work_ns: 900,
            ..Ledger::default()
        };
        for (index, name) in "abcdefghij".chars().enumerate() {
            ledger
                .gaps_ns
                .insert(Cause::Task(name.to_string().into()), index as u64);
        }
        ledger.pace_ns.unsplit = 50;
        ledger.unexplained_ns = 5;
        let lines = lines(&[&ledger]);
        let sum: i128 = lines
            .iter()
            .filter(|l| l.kind != Kind::Wall)
            .map(|l| l.ns[0])
            .sum();
        assert_eq!(sum, 1_000);
        let names: Vec<&str> = lines.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names[3], "task:j", "the costliest first");
        assert_eq!(names[9], "gaps: 4 other causes");
    }
}
