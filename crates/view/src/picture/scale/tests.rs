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
