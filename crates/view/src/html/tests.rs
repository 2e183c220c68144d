//! Tests of the page as a file; `tests/html_in_chromium.py` looks at it in a browser.

use super::*;
use crate::samples;
use bandscope_analysis::detail::{Detail, Mark, Stretch};
use bandscope_report::{Cause, Finding};
use bandscope_statistics::random::Random;
use serde_json::Value;
use std::collections::BTreeSet;

fn rendered(analysis: &Analysis) -> String {
    let mut out = Vec::new();
    Html.render(analysis, &Options::default(), &mut out)
        .unwrap();
    String::from_utf8(out).unwrap()
}

fn document(page: &str) -> Value {
    let (_, after) = page.split_once("id=\"document\">").unwrap();
    serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn the_page_holds_the_report_and_no_mark_of_the_frame() {
    for (name, analysis) in samples::all() {
        let page = rendered(&analysis);
        let report = &document(&page)["report"];
        assert_eq!(
            report,
            &serde_json::to_value(&analysis.report).unwrap(),
            "{name}"
        );
        assert!(!page.contains("{{"), "{name}");
        let blocks = page.matches("class=\"columns\">").count();
        assert_eq!(blocks, analysis.report.series.len(), "{name}");
    }
}

#[test]
fn names_of_others_are_inert() {
    let plain = rendered(&samples::noisy());
    let evil = rendered(&samples::hostile());
    for element in ["<script", "</script", "<img", "<noscript", "</pre", "<"] {
        let count = |page: &str| page.matches(element).count();
        assert_eq!(count(&evil), count(&plain), "{element}");
    }
    let mut analysis = samples::noisy();
    let name = "</script><img src=x onerror=alert(1)>\u{2028}<!--<script>";
    analysis.report.series[0]
        .ledger
        .gaps_ns
        .insert(Cause::Task(name.into()), 1);
    let page = rendered(&analysis);
    assert_eq!(page.matches('<').count(), plain.matches('<').count());
    assert!(!page.contains('\u{2028}'));
    let ledger = &document(&page)["report"]["series"][0]["ledger"]["gaps_ns"];
    assert_eq!(ledger[format!("task:{name}")], 1);
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    // The name of a kind of element, which no browser asks for.
    let svg = "http://www.w3.org/2000/svg";
    let page = rendered(&samples::noisy());
    assert_eq!(page.matches(svg).count(), 1);
    let page = page.replace(svg, "");
    for wanted in ["http://", "https://", " src=", "@import", "url("] {
        assert!(!page.contains(wanted), "{wanted}");
    }
    let source = "default-src 'none'; script-src 'sha256-";
    assert!(page.contains(source));
}

/// Quanta of 10 kHz whose ends scatter by a unit of 116 ns, at 2.3 ticks a nanosecond, with 500 gaps a second: a measured machine's.
fn synthetic(number: usize) -> Detail {
    let mut random = Random::new(1);
    let mut detail = Detail {
        ticks_per_ns: 2.299_998,
        quantum_ticks: 229_999.8,
        stretches: vec![Stretch {
            start: 0,
            quanta: number,
        }],
        complete: true,
        causes: vec![Cause::Tick, Cause::Host],
        all_marks: true,
        ..Detail::default()
    };
    let (mut end, mut start) = (0u64, 0);
    for k in 0..number as u64 {
        let late = random.below(267);
        end = ((k + 1) as f64 * detail.quantum_ticks) as u64 + late;
        let gap = random.below(20) == 0;
        let lost = if gap {
            20_000 + random.below(60_000)
        } else {
            0
        };
        detail.length.push(end - start);
        detail
            .count
            .push(((end - start - lost) / 267) as u32 + random.bits() as u32 % 4);
        detail.gaps.push(gap.into());
        detail.gap_ticks.push(lost);
        detail
            .measurement_ticks
            .push(if gap { 900 + random.below(200) } else { 0 });
        if gap {
            detail.marks.push(Mark {
                start: start + random.below(100_000),
                duration: lost,
                cause: random.bits() as u32 % 2,
            });
        }
        start = end;
    }
    assert!(end > 0);
    detail
}

#[test]
fn half_a_million_quanta_fit_into_two_and_a_half_megabytes() {
    let mut analysis = samples::two_paces();
    analysis.details = vec![synthetic(524_288)];
    let page = rendered(&analysis);
    println!("{} bytes", page.len());
    assert!(page.len() <= 2_500_000, "{}", page.len());
}

#[test]
fn a_quantum_of_months_keeps_its_length() {
    let page = |last: u64| {
        let mut analysis = samples::two_paces();
        let mut detail = synthetic(3);
        detail.length[2] = last;
        analysis.details = vec![detail];
        rendered(&analysis)
    };
    let lengths = [0, 1, (1 << 52) - 1, 1 << 52, (1 << 52) + 7, (1 << 53) - 1];
    let pages: BTreeSet<String> = lengths.map(page).into();
    assert_eq!(pages.len(), lengths.len());
}

/// Two sides of unequal numbers of series, the second with names that attack.
fn compared() -> (Comparison, [Analysis; 2]) {
    let mut comparison = Comparison {
        verdict: "</script><script>alert(1)</script>".into(),
        notes: vec!["<img src=x>".into()],
        ..Comparison::default()
    };
    comparison.sides[1].inputs = vec!["<script>.bandscope".into()];
    (comparison, [samples::quiet(), samples::hostile()])
}

#[test]
fn findings_of_both_sides_point_at_their_own_series() {
    let (comparison, sides) = compared();
    let [a, b] = sides.clone().map(|side| side.report);
    assert_ne!(a.series.len(), b.series.len());
    assert!(!b.findings.is_empty());
    let both = changes::together(&comparison, sides).report;
    assert_eq!(both.series.len(), a.series.len() + b.series.len());
    assert_eq!(both.findings.len(), a.findings.len() + b.findings.len());
    let own = |finding: &Finding, letter: &str, report: &Report, before: usize| {
        let series = finding.series.iter().map(|index| index - before).collect();
        let one = Finding {
            series,
            summary: finding.summary[letter.len()..].to_owned(),
            ..finding.clone()
        };
        assert!(report.findings.contains(&one), "{one:?}");
    };
    for finding in &both.findings {
        match finding.summary.starts_with("A: ") {
            true => own(finding, "A: ", &a, 0),
            false => own(finding, "B: ", &b, a.series.len()),
        }
    }
}

#[test]
fn a_page_of_two_recordings_holds_both_and_names_are_inert() {
    let (comparison, sides) = compared();
    let series: usize = sides.iter().map(|side| side.report.series.len()).sum();
    let mut out = Vec::new();
    compare(&comparison, sides, &mut out).unwrap();
    let page = String::from_utf8(out).unwrap();
    let plain = rendered(&samples::quiet());
    let scripts = |page: &str| page.matches("<script").count();
    // A block of columns for each series; nothing else.
    assert_eq!(scripts(&page), scripts(&plain) - 1 + series);
    assert_eq!(page.matches("<img").count(), 0);
    assert!(!page.contains("{{"));
    let document = document(&page);
    assert_eq!(document["series"].as_array().unwrap().len(), series);
    assert_eq!(document["report"]["verdict"], comparison.verdict);
    assert_eq!(document["changes"]["comparison"]["notes"][0], "<img src=x>");
    let label = |index: usize| document["series"][index]["label"].as_str().unwrap();
    assert!(label(0).starts_with("A: ") && label(series - 1).starts_with("B: "));
}
