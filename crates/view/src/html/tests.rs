//! Tests of the page as a file; `tests/html_in_chromium.py` looks at it in a browser.

use super::*;
use crate::samples;
use bandscope_analysis::detail::{Detail, Mark, Stretch};
use serde_json::Value;

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
    let name = "task:</script><img src=x onerror=alert(1)>\u{2028}<!--<script>";
    analysis.report.series[0]
        .ledger
        .gaps_ns
        .insert(name.into(), 1);
    let page = rendered(&analysis);
    assert_eq!(page.matches('<').count(), plain.matches('<').count());
    assert!(!page.contains('\u{2028}'));
    let ledger = &document(&page)["report"]["series"][0]["ledger"]["gaps_ns"];
    assert_eq!(ledger[name], 1);
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let page = rendered(&samples::noisy());
    for wanted in ["http://", "https://", " src=", "@import", "url("] {
        assert!(!page.contains(wanted), "{wanted}");
    }
    let source = "default-src 'none'; script-src 'sha256-";
    assert!(page.contains(source));
}

/// Quanta of 10 kHz whose ends scatter by a unit of 116 ns, at 2.3 ticks a nanosecond, with 500 gaps a second: a measured machine's.
fn synthetic(number: usize) -> Detail {
    let mut state = 1u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut detail = Detail {
        ticks_per_ns: 2.299_998,
        quantum_ticks: 229_999.8,
        stretches: vec![Stretch {
            start: 0,
            quanta: number,
        }],
        complete: true,
        causes: vec!["tick".into(), "host".into()],
        all_marks: true,
        ..Detail::default()
    };
    let (mut end, mut start) = (0u64, 0);
    for k in 0..number as u64 {
        let late = random() % 267;
        end = ((k + 1) as f64 * detail.quantum_ticks) as u64 + late;
        let gap = random() % 20 == 0;
        let lost = if gap { 20_000 + random() % 60_000 } else { 0 };
        detail.length.push(end - start);
        detail
            .count
            .push(((end - start - lost) / 267) as u32 + random() as u32 % 4);
        detail.gaps.push(gap.into());
        detail.gap_ticks.push(lost);
        detail
            .measurement_ticks
            .push(if gap { 900 + random() % 200 } else { 0 });
        if gap {
            detail.marks.push(Mark {
                start: start + random() % 100_000,
                duration: lost,
                cause: random() as u32 % 2,
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
