//! The report for a terminal: on one screen (`screen.rs`), or all of it: the verdict first, then the account, then what it rests on.
//!
//! One file a section. In the long report series of one CPU stand beside or under each other, so that two rates read as two
//! views of one machine; several CPUs have a table of their own, and of many only the one that lost
//! most is shown whole.

pub(crate) mod account;
mod bands;
mod chains;
pub mod check;
pub mod compare;
mod cpus;
pub(crate) mod cure;
pub(crate) mod doctor;
mod findings;
pub(crate) mod fleet;
mod gaps;
pub mod histogram;
mod lab;
mod limits;
mod measured;
mod moments;
mod plan;
mod program;
pub(crate) mod recordings;
mod remedies;
pub mod repeat;
pub(crate) mod scale;
mod screen;
mod shares;
mod signals;
pub(crate) mod strip;
pub(crate) mod table;
mod truth;

use crate::panels::{self, Group};
use crate::{Error, Format, Options, numbers};
use bandscope_analysis::{Analysis, Pyramid};
use bandscope_report::Truth;
use bandscope_report::account::Account;
use bandscope_report::{Ledger, Report, Series};
pub use cure::cure;
pub use doctor::doctor;
pub use fleet::fleet;
pub use lab::lab;
pub(crate) use measured::{entries, machine, origin};
pub use plan::plan;
pub use program::program;
pub use scale::scale;
use std::io::Write;
use table::{Page, Paint};

/// CPUs that are shown whole; of more than these, only the one that lost most.
const WHOLE_CPUS: usize = 2;
/// CPUs that all get a line in the table of them.
const MAX_CPUS: usize = 10;

/// The format `text`.
#[derive(Clone, Copy, Debug)]
pub struct Text;

impl Format for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn render(
        &self,
        analysis: &Analysis,
        options: &Options,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        let mut page = Page::new(options);
        match options.all {
            true => report(analysis, &mut page),
            false => screen::screen(analysis, &mut page),
        }
        out.write_all(page.finish().as_bytes())?;
        Ok(())
    }
}

fn report(analysis: &Analysis, page: &mut Page<'_>) {
    let report = &analysis.report;
    let groups = panels::groups(report);
    opening(report, &groups, page);
    moments::moments(report, page);
    cpus::cpus(report, MAX_CPUS, groups.len() > WHOLE_CPUS, page);
    for group in shown(report, &groups) {
        cpu(&View::new(analysis, group), groups.len() > 1, page);
    }
    findings::without_next_steps(&report.findings, page);
    remedies::in_full(report, page);
    findings::warnings(report, page);
    measured::measured(report, page);
}

/// Some series of one CPU, with what the sections ask of them.
struct View<'a> {
    group: &'a Group,
    /// In the order of the group's members.
    series: Vec<&'a Series>,
    /// Empty where the analysis made none.
    pyramids: Vec<Option<&'a Pyramid>>,
    labels: Vec<String>,
    /// Of all CPUs.
    truth: &'a [Truth],
}

impl<'a> View<'a> {
    fn new(analysis: &'a Analysis, group: &'a Group) -> View<'a> {
        let members = &group.members;
        View {
            group,
            series: members
                .iter()
                .map(|&i| &analysis.report.series[i])
                .collect(),
            pyramids: members.iter().map(|&i| analysis.pyramids.get(i)).collect(),
            labels: panels::labels(&analysis.report, members),
            truth: &analysis.report.truth,
        }
    }

    /// Each series with its label.
    fn labelled(&self) -> impl Iterator<Item = (&str, &'a Series)> {
        self.labels
            .iter()
            .map(String::as_str)
            .zip(self.series.iter().copied())
    }
}

/// What was measured, in one line, and the verdict.
fn opening(report: &Report, groups: &[Group], page: &mut Page<'_>) {
    page.wrapped(
        ("bandscope  ", Paint::Bold),
        &subject(report, groups),
        Paint::Dim,
    );
    page.blank();
    page.wrapped(("", Paint::Plain), &verdict(report), Paint::Bold);
}

/// One sentence.
fn verdict(report: &Report) -> String {
    match report.verdict.trim() {
        "" if report.series.is_empty() => {
            "There is nothing to report on: no series was measured.".to_owned()
        }
        "" => "The analysis reached no verdict.".to_owned(),
        verdict => verdict.to_owned(),
    }
}

/// Which CPUs, rates, work kernels, and for how long.
pub(crate) fn subject(report: &Report, groups: &[Group]) -> String {
    let mut parts = Vec::new();
    match groups {
        [] => {}
        [only] => parts.push(only.name()),
        many => parts.push(format!("{} CPUs", many.len())),
    }
    let mut distinct = |of: &dyn Fn(&Series) -> String| {
        let mut words: Vec<String> = Vec::new();
        for word in report.series.iter().map(of) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        match words.len() {
            0 => {}
            1..=3 => parts.push(panels::listed(&words)),
            many => parts.push(format!("{many} of them")),
        }
    };
    distinct(&|series| match series.kernel.as_str() {
        "unknown" => "unknown work kernel".into(),
        known => known.into(),
    });
    distinct(&|series| numbers::rate(series.rate_hz));
    let longest = groups.iter().map(|group| {
        let seconds = group.members.iter().map(|&i| report.series[i].duration_s);
        seconds.filter(|s| s.is_finite()).sum::<f64>()
    });
    if !groups.is_empty() {
        let seconds = longest.fold(0.0, f64::max);
        parts.push(numbers::duration_round(seconds * 1e9));
    }
    let inputs: Vec<String> = report
        .inputs
        .iter()
        .map(|input| panels::file_name(input).to_owned())
        .collect();
    match inputs.len() {
        0 => {}
        1..=2 => parts.push(panels::listed(&inputs)),
        many => parts.push(format!("{many} inputs")),
    }
    parts.join(" · ")
}

/// Work as a share of wall time.
fn work_share(ledger: &Ledger) -> f64 {
    share(ledger.work_ns, ledger.wall_ns)
}

/// A part of the account as a share; not a number of an empty account.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// The groups that are shown whole.
fn shown<'a>(report: &Report, groups: &'a [Group]) -> Vec<&'a Group> {
    if groups.len() <= WHOLE_CPUS {
        return groups.iter().collect();
    }
    // As the verdict and the screen rank them.
    let work = |group: &Group| {
        let members = group.members.iter();
        let series: Vec<&Series> = members.map(|&i| &report.series[i]).collect();
        let account = Account::new(&series, report.recording.as_ref());
        account.map_or(1.0, |account| account.work_share())
    };
    let worst = groups.iter().min_by(|a, b| work(a).total_cmp(&work(b)));
    worst.into_iter().collect()
}

/// All sections of one CPU.
fn cpu(view: &View<'_>, name_it: bool, page: &mut Page<'_>) {
    if name_it {
        page.blank();
        page.line(&[(&view.group.name(), Paint::Bold)]);
    }
    account::account(view, page);
    truth::truth(view, page);
    strip::strips(view, page.options.strip_rows, page);
    bands::bands(view, page);
    gaps::gaps(view, page);
    chains::chains(view, page);
    signals::signals(view, page);
    limits::limits(view, page);
    shares::shares(view, page);
}

#[cfg(test)]
mod tests;
