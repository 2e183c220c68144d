//! Tests of the picture as a whole: what it names, and that nothing stands on anything else.

use super::*;
use crate::options::View;
use crate::samples;
use crate::scene::Text;
use bandscope_report::Signal;

fn texts(items: &[Item]) -> Vec<&Text> {
    items
        .iter()
        .flat_map(|item| match item {
            Item::Text(text) => vec![text],
            Item::Clip(_, items) => texts(items),
            _ => Vec::new(),
        })
        .collect()
}

/// The box of a line of text: left, top, right, bottom.
fn extent(text: &Text) -> (f64, f64, f64, f64) {
    let width = crate::glyphs::font(text.bold).width(&text.text, text.size);
    let left = match text.anchor {
        Anchor::Start => text.x,
        Anchor::Middle => text.x - width / 2.0,
        Anchor::End => text.x - width,
    };
    (
        left,
        text.y - text.size * 0.74,
        left + width,
        text.y + text.size * 0.2,
    )
}

#[test]
fn no_label_overlaps_another_or_leaves_the_picture() {
    for (name, analysis) in samples::all() {
        let views = [
            vec![],
            vec![View::Series, View::Gaps],
            vec![View::Density, View::Histogram],
            vec![View::Spectrum, View::Fold(Some(0.004))],
        ];
        let each = views
            .iter()
            .flat_map(|views| [(800.0, views), (1200.0, views)]);
        for (picture_width, views) in each {
            let options = Options {
                picture_width,
                views: views.clone(),
                ..Options::default()
            };
            let scene = scene(&analysis, &options).unwrap();
            let texts = texts(&scene.items);
            for (index, text) in texts.iter().enumerate() {
                let a = extent(text);
                assert!(
                    a.0 >= 0.0 && a.2 <= scene.width && a.1 >= 0.0 && a.3 <= scene.height,
                    "{name} {views:?}: {} at {a:?}",
                    text.text
                );
                for other in &texts[index + 1..] {
                    let b = extent(other);
                    let apart = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
                    assert!(
                        apart,
                        "{name} {views:?}: {:?} on {:?}",
                        text.text, other.text
                    );
                }
            }
        }
    }
}

/// Straight pieces of all lines, those that are clipped too.
fn pieces(items: &[Item]) -> Vec<[(f64, f64); 2]> {
    items
        .iter()
        .flat_map(|item| match item {
            Item::Line { points, .. } => points.windows(2).map(|ab| [ab[0], ab[1]]).collect(),
            Item::Clip(_, items) => pieces(items),
            _ => Vec::new(),
        })
        .collect()
}

/// Whether a straight line passes through a box: it does not where a side of the box, or the line, has all of the other on one side.
fn passes([a, b]: [(f64, f64); 2], (left, top, right, bottom): (f64, f64, f64, f64)) -> bool {
    let beside = a.0.max(b.0) <= left || right <= a.0.min(b.0);
    let above = a.1.max(b.1) <= top || bottom <= a.1.min(b.1);
    let side = |x: f64, y: f64| (b.0 - a.0) * (y - a.1) - (b.1 - a.1) * (x - a.0);
    let corners = [(left, top), (right, top), (left, bottom), (right, bottom)];
    let sides = corners.map(|(x, y)| side(x, y));
    let one_side = sides.iter().all(|s| *s > 0.0) || sides.iter().all(|s| *s < 0.0);
    !(beside || above || one_side)
}

/// Signals as near to each other as on a busy machine.
fn crowded() -> Analysis {
    let mut analysis = samples::noisy();
    for series in &mut analysis.report.series {
        let first = series.signals[0].clone();
        let near = [100.0, 200.0, 300.0, 400.0, 1000.0, 3500.0].map(|frequency_hz| Signal {
            frequency_hz,
            ..first.clone()
        });
        series.signals.extend(near);
    }
    analysis
}

#[test]
fn no_line_runs_through_a_label() {
    let all = samples::all().into_iter().chain([("crowded", crowded())]);
    for (name, analysis) in all {
        for (picture_width, views) in [
            (800.0, vec![]),
            (1200.0, vec![]),
            (1200.0, vec![View::Gaps, View::Spectrum, View::Histogram]),
        ] {
            let options = Options {
                picture_width,
                views,
                ..Options::default()
            };
            let scene = scene(&analysis, &options).unwrap();
            let lines = pieces(&scene.items);
            for text in texts(&scene.items) {
                let area = extent(text);
                let through = lines.iter().find(|line| passes(**line, area));
                assert_eq!(
                    through, None,
                    "{name} {picture_width}: {:?} at {area:?}",
                    text.text
                );
            }
        }
    }
}

#[test]
fn bands_gaps_and_lines_are_named() {
    let analysis = samples::noisy();
    let scene = scene(&analysis, &Options::default()).unwrap();
    let texts: Vec<&str> = texts(&scene.items)
        .iter()
        .map(|t| t.text.as_str())
        .collect();
    for wanted in ["107.1 ns", "11.8 ms task:cargo", "250.000 ± 0.002 Hz"] {
        assert!(
            texts.iter().any(|text| text.contains(wanted)),
            "{wanted} in {texts:#?}"
        );
    }
}

#[test]
fn signals_near_each_other_are_named() {
    let scene = scene(&crowded(), &Options::default()).unwrap();
    let texts = texts(&scene.items);
    let named = texts.iter().filter(|text| text.text.ends_with(" external"));
    assert!(named.count() >= 8, "at least four of a series");
}

#[test]
fn many_series_stay_a_picture_of_bounded_size() {
    let mut analysis = samples::noisy();
    for cpu in 0..200 {
        let mut series = analysis.report.series[0].clone();
        series.cpu = Some(cpu);
        analysis.report.series.push(series);
        analysis.pyramids.push(analysis.pyramids[0].clone());
    }
    let scene = scene(&analysis, &Options::default()).unwrap();
    assert!(scene.height < 4000.0, "{}", scene.height);
    let texts = texts(&scene.items);
    assert!(
        texts
            .iter()
            .any(|text| text.text.contains("12 of 202 series"))
    );
}
