//! Names of lines, where they end: none stands on another, nor on a line where there is room.

use super::{Curve, LABEL_HEIGHT, NAME, Plot, TO_LABEL};
use crate::glyphs;
use crate::picture::labels::{Boxes, spread};
use crate::scene::{Anchor, Items};

/// Beside the end of a line that ends early, if that is free, else in the column right of the plot.
pub(super) fn draw(curves: &[Curve<'_>], plot: &Plot, items: &mut Items) {
    let frame = &plot.frame;
    let mut taken = Boxes::default();
    for curve in curves {
        let points: Vec<(f64, f64)> = curve.places.iter().flatten().map(|p| (p.0, p.1)).collect();
        points
            .iter()
            .for_each(|&(x, y)| taken.take((x - 6.0, y - 6.0, x + 6.0, y + 6.0)));
        taken.follow(&points);
    }
    if plot.cost.holds(1.0) {
        let y = plot.y(1.0);
        taken.take((frame.x, y - 16.0, frame.x + 90.0, y + 1.0));
    }
    let mut column: Vec<(f64, f64, &Curve<'_>)> = Vec::new();
    for curve in curves {
        let Some(&(x, y, _)) = curve.places.iter().rev().flatten().next() else {
            continue;
        };
        let width = glyphs::font(NAME.bold).width(&curve.name, NAME.size);
        let start = x + TO_LABEL;
        let beside = [0.0, -14.0, 14.0, -24.0, 24.0].map(|down| y + down);
        let free = beside.into_iter().find(|middle| {
            let (top, bottom) = (middle - LABEL_HEIGHT / 2.0, middle + LABEL_HEIGHT / 2.0);
            let is_inside =
                start + width < frame.right() && top > frame.y && bottom < frame.bottom();
            is_inside && taken.is_free((start, top, start + width, bottom))
        });
        match free {
            Some(middle) => {
                let half = LABEL_HEIGHT / 2.0;
                taken.take((start, middle - half, start + width, middle + half));
                items.text(
                    (start, middle + 4.5),
                    NAME,
                    Anchor::Start,
                    curve.name.clone(),
                );
            }
            None => column.push((x, y, curve)),
        }
    }
    column.sort_by(|a, b| a.1.total_cmp(&b.1));
    let wanted: Vec<f64> = column.iter().map(|one| one.1).collect();
    let middles = spread(&wanted, LABEL_HEIGHT, frame.y, frame.bottom());
    for ((x, y, curve), middle) in column.into_iter().zip(middles) {
        let start = frame.right() + TO_LABEL;
        if (middle - y).abs() > 3.0 || x < frame.right() - 1.0 {
            let colour = curve.colour.alpha(150);
            items.line((x + 5.0, y), (start - 3.0, middle), 1.0, colour);
        }
        items.text(
            (start, middle + 4.5),
            NAME,
            Anchor::Start,
            curve.name.clone(),
        );
    }
}
