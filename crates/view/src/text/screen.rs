//! The report on one screen: the verdict, the account, the pace, what was found, and what to do.
//!
//! Of several CPUs the one that lost most. Everything that was measured is in the long report (`--all`, `text/mod.rs`); what stands here is whole:
//! lines wrap, and names that do not fit are counted.

use super::account::bar;
use super::table::{Page, Paint};
use super::{View, chains, findings, moments, remedies, strip, subject, truth, verdict};
use crate::panels::{self, Group};
use crate::{escape, numbers};
use bandscope_analysis::Analysis;
use bandscope_recording::Manifest;
use bandscope_recording::text::shell_word;
use bandscope_report::account::{self, Account, Loss, LossPart, NOT_NAMED};
use bandscope_report::{Cause, Gaps, Report, Series, format};

/// Losses with a line of their own; the rest is added up.
const MAX_LOSSES: usize = 6;
/// Names of a loss.
const MAX_NAMES: usize = 3;
/// Rows of the pace over time.
const PACE_ROWS: usize = 4;
/// CPUs that all get a line; of more, so many of the best and of the worst.
const MAX_CPUS: usize = 6;
const EITHER_END: usize = 2;
/// Losses that are named of each CPU.
const LOSSES_OF_CPU: usize = 2;
/// Characters of the bar that shows a loss as a share of all losses.
const BAR: usize = 8;
/// A pace that costs, or gains, less than this share of the time is one constant.
const CONSTANT_PACE: f64 = 5e-4;
/// Bands further apart than this are worth naming.
const APART: f64 = 1.05;

pub(super) fn screen(analysis: &Analysis, page: &mut Page<'_>) {
    let report = &analysis.report;
    let groups = panels::groups(report);
    page.wrapped(("", Paint::Plain), &verdict(report), Paint::Bold);
    page.wrapped(("", Paint::Plain), &subject(report, &groups), Paint::Dim);
    if report
        .recording
        .as_ref()
        .is_some_and(Manifest::keeps_moments)
    {
        // Where the time went says nothing, where moments were chosen for what they hold.
        moments::on_one_screen(report, page);
        remedies::remedies(report, page);
        findings::notes(report, page);
        more(report, page);
        return;
    }
    let mut measured: Vec<Measured<'_>> = groups
        .iter()
        .filter_map(|group| Measured::new(analysis, group))
        .collect();
    measured.sort_by(|a, b| b.account.work_share().total_cmp(&a.account.work_share()));
    cpus(&measured, page);
    if let Some(worst) = measured.last() {
        cpu(worst, report, groups.len() > 1, page);
    }
    findings::on_one_screen(report, page);
    remedies::remedies(report, page);
    findings::notes(report, page);
    more(report, page);
}

/// A CPU and where its time went.
struct Measured<'a> {
    view: View<'a>,
    account: Account,
}

impl<'a> Measured<'a> {
    fn new(analysis: &'a Analysis, group: &'a Group) -> Option<Measured<'a>> {
        let view = View::new(analysis, group);
        let account = Account::new(&view.series, analysis.report.recording.as_ref())?;
        Some(Measured { view, account })
    }
}

/// A line for each of several CPUs, best first.
fn cpus(measured: &[Measured<'_>], page: &mut Page<'_>) {
    if measured.len() < 2 {
        return;
    }
    page.blank();
    page.line(&[
        ("CPUs", Paint::Bold),
        ("  best first: lost, most of it to", Paint::Dim),
    ]);
    let left = match measured.len() {
        few if few <= MAX_CPUS => 0,
        many => many - 2 * EITHER_END,
    };
    for (index, one) in measured.iter().enumerate() {
        if left > 0 && index == EITHER_END {
            page.line(&[(&format!("  and {left} between"), Paint::Dim)]);
        }
        if left > 0 && (EITHER_END..EITHER_END + left).contains(&index) {
            continue;
        }
        let account = &one.account;
        let losses = account.losses.iter().take(LOSSES_OF_CPU);
        let losses: Vec<String> = losses
            .map(|part| format!("{} {}", part.loss, account.share(part)))
            .collect();
        let lost = account
            .lost()
            .unwrap_or_else(|| format!("<{}", account.least()));
        let name = one.view.group.name();
        page.hanging(
            &[(&format!("  {name:7} {lost:>8}  "), Paint::Plain)],
            &losses.join(", "),
            Paint::Plain,
        );
    }
}

fn cpu(measured: &Measured<'_>, report: &Report, name_it: bool, page: &mut Page<'_>) {
    let Measured { view, account } = measured;
    page.blank();
    let name = match name_it {
        true => format!(" on {}", view.group.name()),
        false => String::new(),
    };
    page.line(&[
        (&format!("Where the time went{name}"), Paint::Bold),
        ("  bars: share of what was lost", Paint::Dim),
    ]);
    ledger(view, account, report, page);
    gaps(view, report, page);
    let of = |kernel: &str| -> Vec<&Series> {
        let all = view.series.iter().copied();
        all.filter(|series| series.kernel == kernel).collect()
    };
    let mut kernels = strip::kernels(&view.series).into_iter();
    // A chart of all kernels would show bands that are none.
    let changing = kernels.find(|kernel| !is_constant(&of(kernel)));
    let mut best = view
        .series
        .iter()
        .filter_map(|series| series.best_pace.as_ref());
    if changing.is_none()
        && let Some(pace) = best.next()
    {
        let pace = numbers::pace(pace.ns_per_unit);
        let text = format!("The pace was constant: {pace} ns per unit.");
        page.line(&[("  ", Paint::Plain), (&text, Paint::Dim)]);
    }
    chains::on_one_screen(view, page);
    truth::truth(view, page);
    if let Some(kernel) = changing {
        strip::strip(view, kernel, PACE_ROWS, page);
    }
}

fn is_constant(series: &[&Series]) -> bool {
    let sum = |of: fn(&Series) -> u64| series.iter().map(|series| of(series) as f64).sum::<f64>();
    let changing =
        sum(|series| series.ledger.pace_ns.total()) + sum(|series| series.ledger.bonus_ns);
    changing < CONSTANT_PACE * sum(|series| series.ledger.wall_ns)
}

/// One line of the account.
struct Row {
    name: String,
    share: String,
    /// Of all losses; `None` of work.
    of_losses: Option<f64>,
    who: String,
}

fn ledger(view: &View<'_>, account: &Account, report: &Report, page: &mut Page<'_>) {
    let lost: f64 = account.losses.iter().map(|part| part.ns as f64).sum();
    let (shown, folded) = account
        .losses
        .split_at(account.losses.len().min(MAX_LOSSES));
    let mut rows = vec![Row {
        name: "work".to_owned(),
        share: account.work(),
        of_losses: None,
        who: String::new(),
    }];
    rows.extend(shown.iter().map(|part| Row {
        name: part.loss.name().to_owned(),
        share: account.share(part),
        of_losses: Some(part.ns as f64 / lost),
        who: String::new(),
    }));
    let name_width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let name_width = name_width.max("everything else".len());
    let share_width = rows.iter().map(|row| row.share.len()).max().unwrap_or(0);
    let room = page
        .width()
        .saturating_sub(2 + name_width + 2 + share_width + 2 + BAR + 2);
    for (row, part) in rows[1..].iter_mut().zip(shown) {
        row.who = who(part, account, view, report, room, page);
    }
    rows.extend(account.folded(shown.len()).map(|share| Row {
        name: "everything else".to_owned(),
        share,
        of_losses: Some(0.0),
        who: match folded.is_empty() {
            true => format!("each less than {}", account.least()),
            false => String::new(),
        },
    }));
    for row in rows {
        let paint = match row.of_losses {
            None => Paint::Work,
            Some(_) => Paint::Loss,
        };
        let bar = bar(row.of_losses.unwrap_or(0.0), BAR, page.options.ascii);
        let share = format!("  {:name_width$}  {:>share_width$}  ", row.name, row.share);
        let bar = format!("{bar:BAR$}  ");
        page.hanging(
            &[(&share, Paint::Plain), (&bar, paint)],
            &row.who,
            Paint::Plain,
        );
    }
}

/// Who or what took a part, in one line if names can be left out for it; in two if one has room for no more than the first name.
fn who(
    part: &LossPart,
    account: &Account,
    view: &View<'_>,
    report: &Report,
    room: usize,
    page: &Page<'_>,
) -> String {
    let not_named = || account::why_not_named(report.recording.as_ref()).to_owned();
    match (part.loss, part.causes.as_slice()) {
        (Loss::Interruptions, _) => not_named(),
        (Loss::Measurement, _) => "bandscope itself".to_owned(),
        (Loss::SlowerPace, causes) => {
            let why = match causes {
                [(name, _)]
                    if name == account::PACE_NOT_KNOWN && findings::explain_pace(view, report) =>
                {
                    "see Findings".to_owned()
                }
                _ => names(part, causes.len(), account),
            };
            match paces(view) {
                Some(paces) => format!("{why}; {paces}"),
                None => why,
            }
        }
        (_, [(name, _)]) if name == NOT_NAMED => not_named(),
        (_, causes) => {
            let fitting = (1..=MAX_NAMES.min(causes.len()))
                .rev()
                .map(|most| names(part, most, account));
            let fitting: Vec<String> = fitting.collect();
            let in_lines = |lines: usize| {
                let mut texts = fitting.iter();
                texts.position(|text| page.safe(text).chars().count() <= lines * room)
            };
            let only_one = fitting.len().saturating_sub(1);
            let index = in_lines(1).filter(|&index| index < only_one);
            let index = index.or_else(|| in_lines(2)).unwrap_or(only_one);
            fitting.get(index).cloned().unwrap_or_default()
        }
    }
}

/// The largest `most` causes, each with its share where there are several, and the number of the others.
fn names(part: &LossPart, most: usize, account: &Account) -> String {
    if let [(only, _)] = part.causes.as_slice() {
        return escape::visible(only);
    }
    let named = part.causes.iter().take(most).map_while(|(name, ns)| {
        let share = account.share_of_cause(part, *ns)?;
        Some(format!("{} {share}", escape::visible(name)))
    });
    let named: Vec<String> = named.collect();
    match part.causes.len() - named.len() {
        0 => named.join(", "),
        many if named.is_empty() => format!("{many} of them"),
        // What rounds to nothing is not counted: it has no name of its own.
        _ if part.loss == Loss::SlowerPace => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// How far the paces lie apart that recur in the series that has most of them, from the best that others are slower than.
fn paces(view: &View<'_>) -> Option<String> {
    let most = (view.series.iter()).max_by_key(|series| series.bands.len())?;
    let best = most.best_pace.as_ref()?.ns_per_unit;
    let slowest = most.bands.last()?.ns_per_unit;
    (slowest > APART * best).then(|| {
        let [from, to] = [best, slowest].map(numbers::pace);
        let of = match strip::kernels(&view.series).len() {
            1 => String::new(),
            _ => format!("{} ", most.kernel),
        };
        format!("{of}{from} to {to} ns per unit")
    })
}

/// How many gaps, how long they are, and the longest.
fn gaps(view: &View<'_>, report: &Report, page: &mut Page<'_>) {
    let known: Vec<&Gaps> = view
        .series
        .iter()
        .filter_map(|series| series.gaps.as_ref())
        .collect();
    let Some(most) = known.iter().max_by_key(|gaps| gaps.number) else {
        page.wrapped(
            ("  ", Paint::Plain),
            "Gaps were not recorded, so losses are inferred from counts.",
            Paint::Dim,
        );
        return;
    };
    let number: f64 = known.iter().map(|gaps| gaps.number as f64).sum();
    let seconds: f64 = view.series.iter().map(|series| series.duration_s).sum();
    let median = most.percentiles.first().map(|median| median.ns);
    let longest = known
        .iter()
        .flat_map(|gaps| &gaps.longest)
        .max_by(|a, b| a.ns.total_cmp(&b.ns));
    let (Some(median), Some(longest)) = (median, longest) else {
        return;
    };
    let by = match &longest.cause {
        Cause::Unnamed | Cause::Preempted => String::new(),
        cause => format!(" ({})", account::name(cause, report.recording.as_ref())),
    };
    let text = format!(
        "{} gaps a second, half of them of {} or less; the longest {}{by}",
        numbers::significant(number / seconds, 3),
        format::duration(median),
        format::duration(longest.ns),
    );
    page.wrapped(("  ", Paint::Plain), &text, Paint::Dim);
}

/// Where the rest is.
fn more(report: &Report, page: &mut Page<'_>) {
    page.blank();
    let command = match report.inputs.as_slice() {
        [only] => format!("bandscope report {} --all", shell_word(only)),
        _ => "--all".to_owned(),
    };
    page.command("More: ", &command, Paint::Dim);
}
