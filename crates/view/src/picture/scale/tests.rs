use super::words::name;
use super::*;
use crate::scale::tests::sample;
use crate::scene::{Item, Text};
use proptest::prelude::*;

/// Each text with its box.
fn texts(scene: &Scene) -> Vec<(&Text, [f64; 4])> {
    let texts = scene.items.iter().filter_map(|item| match item {
        Item::Text(text) => Some(text),
        _ => None,
    });
    let placed = texts.map(|text| {
        let width = glyphs::font(text.bold).width(&text.text, text.size);
        let left = match text.anchor {
            Anchor::Start => text.x,
            Anchor::Middle => text.x - width / 2.0,
            Anchor::End => text.x - width,
        };
        let top = text.y - text.size * 0.78;
        (text, [left, top, left + width, text.y + text.size * 0.2])
    });
    placed.collect()
}

fn assert_texts_are_apart(scene: &Scene) {
    let texts = texts(scene);
    for (number, (text, [left, top, right, bottom])) in texts.iter().enumerate() {
        let is_inside = *left >= 0.0 && *right <= scene.width && *top >= 0.0;
        assert!(is_inside && *bottom <= scene.height, "{text:?}");
        for (other, [a, b, c, d]) in &texts[..number] {
            let apart = right <= a || c <= left || bottom <= b || d <= top;
            assert!(apart, "{} on {}", text.text, other.text);
        }
    }
}

proptest! {
    #[test]
    fn no_text_stands_on_another(
        phases in 0usize..20,
        costs in prop::collection::vec(-6.0f64..3.0, 9 * 20),
        width in 320.0f64..1600.0,
    ) {
        let mut scale = sample(phases, "program-1");
        let cells = scale.phases.iter_mut().flat_map(|phase| &mut phase.cells);
        for (cell, exponent) in cells.zip(costs) {
            if let Some(cost) = &mut cell.cost {
                cost.longer = 10_f64.powf(exponent);
                cost.interval = (cost.longer * 0.5, cost.longer * 3.0);
            }
        }
        let options = Options { picture_width: width, ..Options::default() };
        for has_heading in [false, true] {
            let scene = scene(&scale, &options, has_heading);
            assert_texts_are_apart(&scene);
            let names = scale.phases.iter().filter(|phase| phase.cells.iter().any(|cell| cell.cost.is_some()));
            for name in names.map(name) {
                prop_assert!(texts(&scene).iter().any(|(text, _)| text.text == name), "{}", name);
            }
        }
    }
}

/// How many lines are dashed, beside that of the legend, and how many crosses there are.
fn dashes_and_crosses(scale: &Scale) -> (usize, usize) {
    let scene = scene(scale, &Options::default(), true);
    let (mut dashes, mut strokes) = (0, 0);
    for item in &scene.items {
        if let Item::Line {
            points,
            dash,
            width,
            colour,
        } = item
        {
            dashes += usize::from(dash.is_some() && *colour != palette::INK);
            let is_stroke = points.len() == 2 && *width == 2.0 && dash.is_none();
            strokes += usize::from(is_stroke && (points[1].0 - points[0].0 - 10.0).abs() < 1e-9);
        }
    }
    (dashes, strokes / 2)
}

#[test]
fn what_is_extrapolated_is_dashed_and_where_it_is_refused_is_a_cross() {
    // Crosses: one of the legend, one at each end, and one where the fewest nodes are too rare.
    assert_eq!(dashes_and_crosses(&sample(4, "x")), (4, 1 + 4 + 1));
    let mut seen = sample(1, "x");
    seen.phases[0].cells.truncate(3);
    assert_eq!(dashes_and_crosses(&seen), (0, 0));
    let nothing = scene(&Scale::default(), &Options::default(), false);
    let mut texts = texts(&nothing).into_iter();
    assert!(texts.any(|(text, _)| text.text == "No figure is known."));
}

#[test]
fn one_number_of_nodes_and_costs_of_nothing_have_a_place() {
    let mut one = sample(2, "x");
    for phase in &mut one.phases {
        phase.cells.truncate(1);
        phase.cells[0].cost = Some(scale::Cost::default());
    }
    assert_texts_are_apart(&scene(&one, &Options::default(), false));
}

#[test]
fn twice_as_long_is_readable_wherever_it_stands() {
    // The axis ends at 1.2 times the largest cost, so these go past its upper edge.
    for percent in 60..120 {
        let mut one = sample(1, "x");
        for cell in &mut one.phases[0].cells {
            let longer = f64::from(percent) / 100.0;
            cell.cost = Some(scale::Cost {
                longer,
                interval: (0.0, longer),
                at_most: longer,
            });
        }
        let scene = scene(&one, &Options::default(), false);
        assert_texts_are_apart(&scene);
    }
}

/// Ends of the lines that have one, with the names.
fn ends(scale: &Scale, plot: &Plot) -> Vec<(f64, f64, String)> {
    let ends = scale.phases.iter().filter_map(|phase| {
        let places = phase.cells.iter().map(|cell| place_of(cell, plot));
        let (x, y, _) = places.flatten().last()?;
        Some((x, y, name(phase)))
    });
    ends.collect()
}

/// Lines of many phases that end close to each other, as those of 24 phases do.
fn crowd(phases: usize) -> Scale {
    let mut scale = sample(phases, "x");
    for (place, phase) in scale.phases.iter_mut().enumerate() {
        phase.phase_s = 5e-5 * 1.35_f64.powi(place as i32);
        let seen = 9 - place / 4;
        for (number, cell) in phase.cells.iter_mut().enumerate() {
            let longer = 3.0 * 1.9_f64.powi(number as i32) / 1.3_f64.powi(place as i32);
            cell.basis = if number < seen {
                Basis::Observed
            } else {
                Basis::Beyond
            };
            cell.cost = (number < seen).then_some(scale::Cost {
                longer,
                interval: (longer * 0.8, longer * 1.5),
                at_most: longer * 1.5,
            });
        }
    }
    scale
}

#[test]
fn a_name_beside_the_end_of_a_line_is_nearest_to_that_end() {
    let scale = crowd(24);
    for width in [320.0, 620.0, 1000.0, 1600.0] {
        let options = Options {
            picture_width: width,
            ..Options::default()
        };
        let scene = scene(&scale, &options, true);
        assert_texts_are_apart(&scene);
        let names: Vec<String> = scale.phases.iter().map(name).collect();
        let heading = |text: &&(&Text, [f64; 4])| text.0.text == "Phases take longer by";
        let top = texts(&scene).iter().find(heading).unwrap().0.y + 12.0;
        let plot = plot(&scale, &options, (top, width), &names).unwrap();
        let ends = ends(&scale, &plot);
        let placed = texts(&scene);
        for (x, y, name) in &ends {
            let (text, name_box) = placed.iter().find(|(text, _)| text.text == *name).unwrap();
            if text.x > plot.frame.right() {
                continue;
            }
            let distance = |x: f64, y: f64| (x - text.x).hypot(y - (text.y - 4.5));
            let nearest = ends.iter().map(|(x, y, _)| distance(*x, *y));
            let nearest = nearest.fold(f64::INFINITY, f64::min);
            assert!(distance(*x, *y) <= nearest, "{name} at {width}");
            // No leader to the column runs through it.
            for item in &scene.items {
                if let Item::Line {
                    points,
                    width,
                    colour,
                    ..
                } = item
                {
                    let is_leader = *width == 1.0 && colour.alpha == 150;
                    let [left, top, right, bottom] = *name_box;
                    let inside =
                        |&(x, y): &(f64, f64)| left < x && x < right && top < y && y < bottom;
                    let between = (0..100).map(|part| {
                        let part = f64::from(part) / 99.0;
                        let ((a, b), (c, d)) = (points[0], points[points.len() - 1]);
                        (a + (c - a) * part, b + (d - b) * part)
                    });
                    assert!(
                        !is_leader || !between.into_iter().any(|at| inside(&at)),
                        "{name} at {width}"
                    );
                }
            }
        }
    }
}

#[test]
fn every_note_is_whole_on_a_narrow_picture() {
    let mut scale = crowd(24);
    scale.notes = vec![
        "Nodes are taken to lose independently of each other, each as the CPUs that were measured. "
            .repeat(5) + "The end.",
    ];
    for width in [320.0, 400.0, 1000.0] {
        let options = Options {
            picture_width: width,
            ..Options::default()
        };
        let scene = scene(&scale, &options, false);
        let whole: String = texts(&scene)
            .iter()
            .map(|(text, _)| format!("{} ", text.text))
            .collect();
        assert!(
            !whole.contains('…') && whole.contains("The end."),
            "{whole}"
        );
        assert!(whole.contains("would decide all of them"), "{whole}");
    }
}
