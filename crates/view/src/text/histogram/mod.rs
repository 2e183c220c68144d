//! Histograms of fixed work for a terminal: the verdict, a table (`table.rs`), and bars by times the work (`bars.rs`).
//!
//! From [`Report`], which decides everything; [`live`] is the middle of it, redrawn while it is measured.

mod bars;
mod table;

use super::findings;
use super::table::{Page, Paint, Side, Table};
use crate::{Error, Options, numbers, panels};
use bandscope_recording::manifest::State;
use bandscope_studies::histogram::{Described, Report};
use std::io::Write;

/// Histograms that are shown; of more, those with the most slow samples.
const MAX_HISTOGRAMS: usize = 12;
/// Histograms that say their sentence each; of more, the verdict and the findings do.
const SENTENCES: usize = 6;

/// The whole report.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn render(report: &Report, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let mut page = Page::new(options);
    page.line(&[
        ("bandscope histogram  ", Paint::Bold),
        (&subject(report), Paint::Dim),
    ]);
    page.blank();
    page.wrapped(("", Paint::Plain), &report.verdict, Paint::Bold);
    body(report, &mut page);
    sentences(report, &mut page);
    ends(report, &mut page);
    findings::with_next_steps(&report.findings, &mut page);
    measured(report, &mut page);
    out.write_all(page.finish().as_bytes())?;
    Ok(())
}

/// Table and bars alone.
pub fn live(report: &Report, options: &Options) -> String {
    let mut page = Page::new(options);
    body(report, &mut page);
    page.finish()
}

fn body(report: &Report, page: &mut Page<'_>) {
    let shown = shown(report);
    if shown.is_empty() {
        return;
    }
    page.blank();
    table::table(report, &shown, page);
    page.blank();
    bars::bars(report, &shown, page);
}

/// In the report's order.
fn shown(report: &Report) -> Vec<&Described> {
    let mut slowest: Vec<usize> = (0..report.histograms.len()).collect();
    let slow = |index: &usize| report.histograms[*index].summary.slow_samples;
    slowest.sort_by_key(|index| std::cmp::Reverse(slow(index)));
    slowest.truncate(MAX_HISTOGRAMS);
    slowest.sort_unstable();
    slowest
        .iter()
        .map(|index| &report.histograms[*index])
        .collect()
}

/// Length of the work, CPU and work kernel.
fn label(it: &Described) -> String {
    let histogram = &it.histogram;
    let work = (histogram.work_us).map(|us| numbers::duration_round(us * 1e3));
    let kernel = match histogram.kernel.as_str() {
        "" | "unknown" => panels::file_name(&histogram.origin),
        kernel => kernel,
    };
    let cpu = histogram.cpu.map(|cpu| panels::cpu_name(Some(cpu), None));
    let parts = [work, cpu, Some(kernel.to_owned())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What each histogram says, where that is not the verdict already.
fn sentences(report: &Report, page: &mut Page<'_>) {
    if !(2..=SENTENCES).contains(&report.histograms.len()) {
        return;
    }
    page.blank();
    for it in &report.histograms {
        let lead = format!("  {}: ", label(it));
        page.wrapped((&lead, Paint::Dim), &it.summary.sentence, Paint::Plain);
    }
}

fn ends(report: &Report, page: &mut Page<'_>) {
    if report.smear_ends.is_empty() {
        return;
    }
    page.blank();
    let mut table = Table::new("Ends of smears")
        .column("work", Side::Right)
        .column("ends at", Side::Right);
    for end in &report.smear_ends {
        table.row(vec![
            panels::file_name(&end.origin).into(),
            numbers::duration(end.work_us * 1e3).into(),
            numbers::duration(end.end_us * 1e3).into(),
        ]);
    }
    page.table(&table);
}

/// What was measured, in one line.
fn subject(report: &Report) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut distinct = |words: Vec<String>, many: &str| {
        let mut kept: Vec<String> = Vec::new();
        for word in words {
            if !word.is_empty() && !kept.contains(&word) {
                kept.push(word);
            }
        }
        match kept.len() {
            0 => {}
            1..=4 => parts.push(panels::listed(&kept)),
            number => parts.push(format!("{number} {many}")),
        }
    };
    let of = |word: &dyn Fn(&Described) -> String| report.histograms.iter().map(word).collect();
    distinct(
        of(&|it| {
            it.histogram
                .cpu
                .map_or(String::new(), |cpu| panels::cpu_name(Some(cpu), None))
        }),
        "CPUs",
    );
    distinct(
        of(&|it| match it.histogram.kernel.as_str() {
            "unknown" => String::new(),
            kernel => kernel.to_owned(),
        }),
        "work kernels",
    );
    distinct(
        of(&|it| {
            it.histogram
                .work_us
                .map_or(String::new(), |us| numbers::duration_round(us * 1e3))
        }),
        "lengths of work",
    );
    distinct(
        report
            .inputs
            .iter()
            .map(|input| panels::file_name(input).to_owned())
            .collect(),
        "inputs",
    );
    parts.join(" · ")
}

/// What it rests on.
fn measured(report: &Report, page: &mut Page<'_>) {
    if report.started.is_empty() && report.missing.is_empty() {
        return;
    }
    page.blank();
    let head = [report.started.as_str(), report.tool.as_str()];
    let head: Vec<&str> = head.into_iter().filter(|word| !word.is_empty()).collect();
    page.line(&[
        ("How it was measured  ", Paint::Bold),
        (&head.join(", "), Paint::Dim),
    ]);
    let machine = super::measured::machine(&report.machine);
    if !machine.is_empty() {
        page.wrapped(("  machine  ", Paint::Dim), &machine, Paint::Plain);
    }
    if report.state == State::Interrupted {
        page.wrapped(
            ("  state    ", Paint::Dim),
            "interrupted by a signal, so only a part was measured",
            Paint::Plain,
        );
    }
    for missing in &report.missing {
        let text = format!(
            "{} ({}); not decided: {}",
            missing.what, missing.why, missing.leaves_undecided
        );
        page.wrapped(("  missing  ", Paint::Dim), &text, Paint::Plain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::histogram::{FixedWork, Histogram, parse};
    use proptest::prelude::*;
    use std::path::Path;

    const SMEARED: &str = "# work 5 us, 15 s, tick 1024 Hz; columns: duration_us count; rows 17..28 were not published\n\
        5 1913480\n6 559966\n7 0\n8 1309\n9 1166\n10 1038\n11 1078\n12 1376\n13 1377\n14 1551\n15 1480\n16 1228\n29 400\n30 0\n";

    fn rendered(measured: FixedWork, options: &Options) -> String {
        let report = bandscope_studies::histogram::analyse(measured, &["dir/it.hist".into()]);
        let mut out = Vec::new();
        render(&report, options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_published_smear() {
        let measured = parse(Path::new("dir/it.hist"), SMEARED.as_bytes()).unwrap();
        insta::assert_snapshot!(rendered(measured, &Options::default()));
    }

    #[test]
    fn absent_rows_are_marked_and_ascii_is_ascii() {
        let measured = parse(Path::new("it.hist"), SMEARED.as_bytes()).unwrap();
        let text = rendered(
            measured,
            &Options {
                ascii: true,
                ..Options::default()
            },
        );
        let row = text.lines().find(|line| line.contains("??")).unwrap();
        assert!(row.trim_end().ends_with('3'), "{row:?}");
        assert!(text.is_ascii());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn nothing_of_a_file_reaches_the_terminal_raw(
            text in any::<String>(), width in 0usize..200, cpu in any::<Option<u32>>(),
            bins in prop::collection::vec((1.0f64..1e14, 1u64..1 << 40), 0..9)
        ) {
            let mut bins: Vec<(f64, u64)> = bins;
            bins.sort_by(|a, b| a.0.total_cmp(&b.0));
            let histogram = Histogram {
                cpu,
                kernel: text.clone(),
                origin: text.clone(),
                samples: bins.iter().map(|bin| bin.1).sum(),
                bins: bins.iter().map(|bin| (bin.0, bin.0 + 1.0, bin.1).into()).collect(),
                ..Histogram::default()
            };
            let measured = FixedWork { tool: text.clone(), started: text, histograms: vec![histogram], ..FixedWork::default() };
            let shown = rendered(measured, &Options { width, ..Options::default() });
            prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'));
            for line in shown.lines() {
                prop_assert!(line.chars().count() <= width.clamp(Options::MIN_WIDTH, Options::MAX_WIDTH));
            }
        }
    }
}
