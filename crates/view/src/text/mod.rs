//! The report for a terminal: on one screen (`screen.rs`), or all of it: the verdict first, then the account, then what it rests on.
//!
//! One file a section. In the long report series of one CPU stand beside or under each other, so that two rates read as two
//! views of one machine; several CPUs have a table of their own, and of many only the one that lost
//! most is shown whole.

pub(crate) mod account;
mod bands;
pub mod compare;
mod cpus;
mod findings;
mod gaps;
pub mod histogram;
mod lab;
mod limits;
mod measured;
pub(crate) mod recordings;
mod remedies;
pub mod repeat;
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
use bandscope_report::{Ledger, Report, Series};
pub use lab::lab;
pub(crate) use measured::{entries, machine, origin};
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
    cpus::cpus(report, MAX_CPUS, groups.len() > WHOLE_CPUS, page);
    for group in shown(report, &groups) {
        cpu(&View::new(analysis, group), groups.len() > 1, page);
    }
    findings::list(&report.findings, page);
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
        [only] => parts.push(panels::cpu_name(only.cpu)),
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
    let least = |group: &&Group| {
        let shares = group
            .members
            .iter()
            .map(|&i| work_share(&report.series[i].ledger));
        shares.filter(|s| s.is_finite()).fold(1.0, f64::min)
    };
    let worst = groups.iter().min_by(|a, b| least(a).total_cmp(&least(b)));
    worst.into_iter().collect()
}

/// All sections of one CPU.
fn cpu(view: &View<'_>, name_it: bool, page: &mut Page<'_>) {
    if name_it {
        page.blank();
        page.line(&[(&panels::cpu_name(view.group.cpu), Paint::Bold)]);
    }
    account::account(view, page);
    truth::truth(view, page);
    strip::strip(view, page.options.strip_rows, page);
    bands::bands(view, page);
    gaps::gaps(view, page);
    signals::signals(view, page);
    limits::limits(view, page);
    shares::shares(view, page);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use bandscope_report::Cause;
    use proptest::prelude::*;

    fn rendered(analysis: &Analysis, options: &Options) -> String {
        let mut out = Vec::new();
        Text.render(analysis, options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// One screen, and all of it.
    fn at_width(width: usize) -> [Options; 2] {
        [false, true].map(|all| Options {
            all,
            width,
            ..Options::default()
        })
    }

    fn in_full() -> Options {
        let [_, all] = at_width(80);
        all
    }

    #[test]
    fn two_rates_of_one_cpu() {
        insta::assert_snapshot!(rendered(&samples::noisy(), &in_full()));
    }

    #[test]
    fn two_rates_on_one_screen() {
        insta::assert_snapshot!(rendered(&samples::noisy(), &Options::default()));
    }

    #[test]
    fn fourteen_rows_of_an_old_file_in_ascii() {
        let options = Options {
            ascii: true,
            ..in_full()
        };
        insta::assert_snapshot!(rendered(&samples::imported(), &options));
    }

    #[test]
    fn no_line_is_wider_than_asked_for() {
        for (name, analysis) in samples::all() {
            for width in [60, 80, 97, 120, 160] {
                for options in at_width(width) {
                    for line in rendered(&analysis, &options).lines() {
                        let length = line.chars().count();
                        assert!(length <= width, "{name} at {width}: {length} in {line:?}");
                        assert!(!line.ends_with(' '), "{name}: {line:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn all_of_a_recording_reads_in_two_screens() {
        for analysis in [samples::quiet(), samples::noisy(), samples::two_paces()] {
            let lines = rendered(&analysis, &in_full()).lines().count();
            assert!(lines <= 90, "{:?}: {lines} lines", analysis.report.inputs);
        }
    }

    #[test]
    fn a_report_fits_on_a_screen_and_cuts_nothing_off() {
        for (name, analysis) in samples::all() {
            for (width, most) in [(100, 40), (80, 50)] {
                let [screen, all] = at_width(width).map(|options| rendered(&analysis, &options));
                // A made-up file name of a hundred characters takes lines of its own.
                let most = if name == "hostile" { most + 20 } else { most };
                assert!(
                    screen.lines().count() <= most,
                    "{name} at {width}:\n{screen}"
                );
                // In the made-up names of the hostile sample, labels are wider than any page.
                assert!(!screen.contains('…'), "{name} at {width}:\n{screen}");
                assert!(
                    name == "hostile" || !all.contains('…'),
                    "{name} at {width}:\n{all}"
                );
            }
        }
    }

    #[test]
    fn ascii_is_asked_for_and_given() {
        let options = Options {
            ascii: true,
            ..Options::default()
        };
        let both = |analysis: &Analysis| {
            [
                options.clone(),
                Options {
                    all: true,
                    ..options.clone()
                },
            ]
            .map(|options| rendered(analysis, &options))
            .concat()
        };
        for (name, analysis) in samples::all() {
            let text = both(&analysis);
            let plain = |byte: u8| byte == b'\n' || (b' '..=b'~').contains(&byte);
            assert!(text.bytes().all(plain), "{name}");
        }
    }

    /// `text` without the colours that [`Paint`] knows.
    fn without_colour(text: &str) -> String {
        let codes = ["0", "1", "2", "33", "34"];
        codes.iter().fold(text.to_owned(), |text, code| {
            text.replace(&format!("\x1b[{code}m"), "")
        })
    }

    #[test]
    fn colour_adds_nothing_but_colour() {
        let colour = Options {
            colour: true,
            ..Options::default()
        };
        for (name, analysis) in samples::all() {
            for all in [false, true] {
                let coloured = rendered(
                    &analysis,
                    &Options {
                        all,
                        ..colour.clone()
                    },
                );
                let plain = rendered(
                    &analysis,
                    &Options {
                        all,
                        ..Options::default()
                    },
                );
                assert!(coloured.contains("\x1b["), "{name}");
                assert_eq!(without_colour(&coloured), plain, "{name}");
            }
        }
    }

    #[test]
    fn many_cpus_are_an_overview_and_the_worst_one() {
        let mut analysis = samples::quiet();
        for cpu in 2..40 {
            let mut series = analysis.report.series[0].clone();
            series.cpu = Some(cpu);
            analysis.report.series.push(series);
            analysis.pyramids.push(analysis.pyramids[0].clone());
        }
        let worst = &mut analysis.report.series[7];
        worst.ledger.work_ns -= 1_000_000_000;
        worst.ledger.unexplained_ns += 1_000_000_000;
        analysis.report.series[9].ledger.gaps_ns.clear();
        analysis.report.cpus = bandscope_analysis::cpus::ranking(&analysis.report.series);
        let screen = rendered(&analysis, &Options::default());
        assert!(screen.contains("Where the time went on CPU 8 "), "{screen}");
        assert!(screen.contains("and 35 between") && screen.lines().count() <= 40);
        let text = rendered(&analysis, &in_full());
        assert_eq!(text.matches("Where the time went").count(), 1);
        assert!(text.contains("\nCPU 8\n"), "{text}");
        assert!(text.contains("39 CPUs") && text.lines().count() < 80);
        let table: Vec<&str> = text
            .lines()
            .skip_while(|l| !l.starts_with("CPUs "))
            .collect();
        assert!(table[1].starts_with("  CPU 10 "), "{text}");
        assert!(table[5].trim_end() == "  ... 31 more", "{text}");
    }

    #[test]
    fn a_report_without_pyramids_is_still_a_report() {
        let mut analysis = samples::noisy();
        analysis.pyramids.clear();
        let text = rendered(&analysis, &Options::default());
        assert!(text.contains("Where the time went") && !text.contains("Pace over time"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn no_string_of_a_recording_reaches_the_terminal_raw(
            text in any::<String>(), colour in any::<bool>(), all in any::<bool>(), width in 0usize..200
        ) {
            let mut analysis = samples::imported();
            let report = &mut analysis.report;
            report.inputs = vec![text.clone()];
            report.verdict = text.clone();
            report.warnings[0].message = text.clone();
            report.warnings[0].advice = Some(text.clone());
            let series = &mut report.series[0];
            series.kernel = text.clone();
            series.origin = text.clone();
            series.ledger.gaps_ns.insert(Cause::Task((*text).into()), 1_000);
            series.gaps = Some(bandscope_report::Gaps {
                longest: vec![bandscope_report::LongGap {
                    at_s: 0.0, ns: 1_000.0, cause: Cause::Task((*text).into()),
                }],
                ..Default::default()
            });
            report.recording = Some(bandscope_recording::Manifest {
                started: text.clone(),
                missing: vec![bandscope_recording::manifest::Missing {
                    what: text.clone(), why: text.clone(), leaves_undecided: text.clone(),
                }],
                ..Default::default()
            });
            let options = Options { colour, all, width, ..Options::default() };
            let shown = without_colour(&rendered(&analysis, &options));
            prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'));
            prop_assert_eq!(crate::escape::visible(&shown.replace('\n', "")), shown.replace('\n', ""));
        }

        #[test]
        fn no_number_stops_the_report(value in any::<f64>(), integer in any::<u64>()) {
            let mut analysis = samples::noisy();
            let series = &mut analysis.report.series[0];
            series.rate_hz = value;
            series.duration_s = value;
            series.ledger.wall_ns = integer;
            series.ledger.unexplained_ns = integer as i64;
            series.bands[0].ns_per_unit = value;
            series.bands[0].share = value;
            series.bands[1].median_dwell_s = value;
            series.signals[0].frequency_hz = value;
            series.signals[0].uncertainty_hz = value;
            series.availability[0].window_s = value;
            let pyramid = &mut analysis.pyramids[0];
            pyramid.time_s.1 = value;
            pyramid.density.pace_ns.0 = value;
            pyramid.gaps[0].ns = value;
            pyramid.gaps[1].at_s = value;
            pyramid.spectrum.step_hz = value;
            for width in [60, 80] {
                for options in at_width(width) {
                    for line in rendered(&analysis, &options).lines() {
                        prop_assert!(line.chars().count() <= width);
                    }
                }
            }
            let scene = crate::picture::scene(&analysis, &Options::default()).unwrap();
            prop_assert!(scene.height.is_finite() && scene.height < 5_000.0);
        }
    }
}
