//! Reports of samples as text: width, colour, hostile strings and numbers.

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
                    // What is quoted in a command stays in one piece.
                    let is_one_word = line.trim_start().starts_with('\'');
                    let fits = length <= width || is_one_word;
                    assert!(fits, "{name} at {width}: {length} in {line:?}");
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
    // One rate of CPU 5 did less, both of its rates together did not.
    let mut other = analysis.report.series[4].clone();
    other.ledger.work_ns -= 1_500_000_000;
    other.ledger.unexplained_ns += 1_500_000_000;
    analysis.report.series.push(other);
    analysis.pyramids.push(analysis.pyramids[0].clone());
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
