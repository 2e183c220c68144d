//! The figures of one trial.

use crate::costs::Costs;
use bandscope_recording::cures::{EventsShare, Figures};
use bandscope_report::{Cause, GapCause, Report, Series};
use std::collections::{BTreeMap, BTreeSet};

/// Length of the window of which the worst is told, in seconds.
const WINDOW_S: f64 = 1e-3;
/// Any characters, in the names of lines that a cure acts on.
const ANY: char = '*';

/// Figures of a trial, of the series of `cpus` together. `others` stays `None`: a report knows nothing of other CPUs.
pub fn figures(report: &Report, cpus: &[u32]) -> Figures {
    let is_measured = |series: &Series| series.cpu.is_some_and(|cpu| cpus.contains(&cpu));
    let series = || report.series.iter().filter(|series| is_measured(series));
    let costs = Costs::of(&report.series, cpus);
    let lines = costs.lines.iter();
    let windows = series().flat_map(|one| &one.availability);
    let windows = windows.filter(|window| (window.window_s / WINDOW_S - 1.0).abs() < 1e-6);
    let gaps = || series().filter_map(|one| one.gaps.as_ref());
    let longest = gaps().flat_map(|gaps| gaps.longest.first());
    let number: u64 = gaps().map(|gaps| gaps.number).sum();
    let seconds: f64 = series().map(|one| one.duration_s).sum();
    let units: f64 = series().map(|one| one.units as f64).sum();
    let per_s = |number: f64| match seconds > 0.0 {
        true => number / seconds,
        false => 0.0,
    };
    let findings = report.findings.iter().filter(|finding| {
        let mut of = finding.series.iter().map(|&place| &report.series[place]);
        !finding.is_side_effect() && of.any(is_measured)
    });
    let findings: BTreeSet<&str> = findings.map(|finding| finding.kind.name()).collect();
    Figures {
        lost: costs.share(costs.lost_ns),
        lines: lines
            .map(|(line, &ns)| (line.to_string(), costs.share(ns)))
            .collect(),
        worst_1ms: windows.map(|window| window.worst).reduce(f64::min),
        longest_gap_s: longest.map(|gap| gap.ns / 1e9).fold(0.0, f64::max),
        gaps_per_s: per_s(number as f64),
        units_per_s: per_s(units),
        others: None,
        findings: findings.into_iter().map(str::to_owned).collect(),
        host_beside: by_line(
            series(),
            |part| part.host_ns as f64,
            |one| one.ledger.wall_ns as f64,
        ),
        parts_per_s: parts_per_s(series()),
        events: events(report, cpus),
    }
}

/// Gaps per second in which a line took part that kernel events name.
fn parts_per_s<'a>(series: impl Iterator<Item = &'a Series>) -> BTreeMap<String, f64> {
    let number = |part: &GapCause| match part.cause.is_told_by_events() {
        true => part.number as f64,
        false => 0.0,
    };
    by_line(series, number, |one| one.duration_s)
}

/// An amount of each line, those that are not 0, for each unit of the length of these series.
fn by_line<'a>(
    series: impl Iterator<Item = &'a Series>,
    amount: impl Fn(&GapCause) -> f64,
    length: impl Fn(&Series) -> f64,
) -> BTreeMap<String, f64> {
    let (mut amounts, mut all) = (BTreeMap::new(), 0.0);
    for one in series.filter(|one| length(one) > 0.0) {
        all += length(one);
        for part in one.gaps.iter().flat_map(|gaps| &gaps.causes) {
            if amount(part) > 0.0 {
                *amounts.entry(part.cause.to_string()).or_insert(0.0) += amount(part);
            }
        }
    }
    amounts.values_mut().for_each(|amount| *amount /= all);
    amounts
}

/// What recording kernel events cost before the trial: on the first CPU, as it is measured there alone.
fn events(report: &Report, cpus: &[u32]) -> Option<EventsShare> {
    let cost = report.recording.as_ref()?.events.cost.as_ref()?;
    let first = cpus.first()?;
    let series = report.series.iter().filter(|one| one.cpu == Some(*first));
    Some(EventsShare {
        share: cost.with.share()? - cost.without.share()?,
        parts_per_s: parts_per_s(series).values().sum(),
    })
}

/// Figures of a trial of so many seconds in which no quantum ended: others had the CPUs for all of it, and nobody knows who.
pub fn starved(trial_s: f64) -> Figures {
    Figures {
        lost: 1.0,
        lines: [(Cause::Unnamed.to_string(), 1.0)].into(),
        worst_1ms: Some(0.0),
        longest_gap_s: trial_s,
        ..Figures::default()
    }
}

/// Whether a line is one of those that a pattern names; `*` stands for any characters, none included.
pub fn matches(pattern: &str, line: &str) -> bool {
    let Some((first, rest)) = pattern.split_once(ANY) else {
        return pattern == line;
    };
    let Some(mut left) = line.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = rest.split(ANY).collect();
    let Some((last, middle)) = parts.split_last() else {
        return true;
    };
    for part in middle {
        // The first place is the best: it leaves most for the parts that follow.
        match left.split_once(part) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::Manifest;
    use bandscope_recording::manifest::{EventsCost, GapSample};
    use bandscope_report::{Availability, Gaps, Ledger, LongGap, PaceLoss};

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, line, expected) in [
            ("tick", "tick", true),
            ("tick", "ticks", false),
            ("task:*", "task:cc1", true),
            ("task:*", "irq:eth0", false),
            ("task:kworker/u*", "task:kworker/u8:1", true),
            ("task:kworker/u*", "task:kworker/1:0", false),
            ("*", "", true),
            ("a*b*b", "ab", false),
            ("a*b*b", "abxb", true),
            ("*kworker*:1", "task:kworker/0:1", true),
            ("", "tick", false),
        ] {
            assert_eq!(matches(pattern, line), expected, "{pattern} {line}");
        }
    }

    fn series(cpu: u32, worst: f64, gap_ns: f64) -> Series {
        Series {
            cpu: Some(cpu),
            duration_s: 1.0,
            units: 1_000_000 * u64::from(cpu),
            availability: vec![
                Availability {
                    window_s: 1e-3,
                    worst,
                    at_s: 0.1,
                    lasted_s: 1e-3,
                },
                Availability {
                    window_s: 1e-2,
                    worst: 0.0,
                    at_s: 0.1,
                    lasted_s: 1e-2,
                },
            ],
            gaps: Some(Gaps {
                number: 100,
                longest: vec![LongGap {
                    ns: gap_ns,
                    ..LongGap::default()
                }],
                causes: vec![
                    GapCause {
                        cause: Cause::Task("cc1".into()),
                        number: 2,
                        host_ns: 1_000_000,
                        ..GapCause::default()
                    },
                    GapCause {
                        cause: Cause::Host,
                        number: 98,
                        ..GapCause::default()
                    },
                ],
                ..Gaps::default()
            }),
            ledger: Ledger {
                wall_ns: 1_000_000_000,
                work_ns: 900_000_000,
                gaps_ns: [(Cause::Task("cc1".into()), 80_000_000)].into(),
                pace_ns: PaceLoss {
                    frequency: 20_000_000,
                    ..PaceLoss::default()
                },
                ..Ledger::default()
            },
            ..Series::default()
        }
    }

    #[test]
    fn figures_are_of_the_measured_cpus_alone() {
        let report = Report {
            series: vec![
                series(0, 0.0, 9e9),
                series(1, 0.7, 2e6),
                series(2, 0.5, 3e6),
            ],
            ..Report::default()
        };
        let found = figures(&report, &[1, 2]);
        assert!((found.lost - 0.1).abs() < 1e-12);
        assert_eq!(
            found.lines,
            [
                ("pace:frequency".to_owned(), 0.02),
                ("task:cc1".to_owned(), 0.08)
            ]
            .into()
        );
        assert_eq!(found.worst_1ms, Some(0.5));
        assert_eq!((found.longest_gap_s, found.gaps_per_s), (3e-3, 100.0));
        // A mean over the CPUs.
        assert_eq!(found.units_per_s, 1.5e6);
        assert_eq!(found.others, None);
        // Two gaps of each of two CPUs in two seconds, with 1 ms of the host beside.
        assert_eq!(found.parts_per_s, [("task:cc1".to_owned(), 2.0)].into());
        assert_eq!(found.host_beside, [("task:cc1".to_owned(), 1e-3)].into());
        assert_eq!(found.events, None);
        // Of the first CPU alone.
        let mut recorded = report;
        let told = |gap_ticks| GapSample {
            ticks: 1_000,
            gap_ticks,
            ..GapSample::default()
        };
        let mut manifest = Manifest::default();
        manifest.events.cost = Some(EventsCost {
            with: told(60),
            without: told(40),
        });
        recorded.recording = Some(manifest);
        let events = figures(&recorded, &[1, 2]).events.unwrap();
        assert!((events.share - 0.02).abs() < 1e-12 && events.parts_per_s == 2.0);
        // CPUs that are not there have no figures.
        recorded.recording = None;
        assert_eq!(figures(&recorded, &[7]), Figures::default());
    }
}
