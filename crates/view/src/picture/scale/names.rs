//! Names of lines, where they end: none stands on another, on a line where there is room, or nearer to the end of another line.

use super::{Curve, LABEL_HEIGHT, NAME, Plot, TO_LABEL};
use crate::glyphs;
use crate::picture::labels::{Boxes, spread};
use crate::scene::{Anchor, Items};

/// How far below the end of its line a name may stand beside it, the best first.
const BESIDE: [f64; 5] = [0.0, -14.0, 14.0, -24.0, 24.0];

/// The end of a line that has one.
struct End<'a> {
    curve: &'a Curve<'a>,
    x: f64,
    y: f64,
}

impl End<'_> {
    /// The box of its name beside it, in the middle of so much height.
    fn name_box(&self, middle: f64) -> (f64, f64, f64, f64) {
        let width = glyphs::font(NAME.bold).width(&self.curve.name, NAME.size);
        let (start, half) = (self.x + TO_LABEL, LABEL_HEIGHT / 2.0);
        (start, middle - half, start + width, middle + half)
    }

    /// From the end of the line to its name in the column, which has this middle.
    fn leader(&self, middle: f64, plot: &Plot) -> [(f64, f64); 2] {
        let to = plot.frame.right() + TO_LABEL - 3.0;
        [(self.x + 5.0, self.y), (to, middle)]
    }
}

/// Beside the end of a line that ends early, if that is free, else in the column right of the plot.
pub(super) fn draw(curves: &[Curve<'_>], plot: &Plot, items: &mut Items) {
    let ends = curves.iter().filter_map(|curve| {
        let &(x, y, _) = curve.places.iter().rev().flatten().next()?;
        Some(End { curve, x, y })
    });
    let mut ends: Vec<End<'_>> = ends.collect();
    ends.sort_by(|a, b| a.y.total_cmp(&b.y));
    let taken = taken(curves, plot);
    let mut may_stand_beside = vec![true; ends.len()];
    // Each round but the last sends another name to the column.
    let (beside, column) = loop {
        let beside = beside(&ends, &may_stand_beside, taken.clone(), plot);
        let column = column(&ends, &beside, plot);
        let mut leaders = Boxes::default();
        for (end, middle) in ends.iter().zip(&column) {
            middle
                .iter()
                .for_each(|&at| leaders.follow(&end.leader(at, plot)));
        }
        let mut is_crossed = false;
        for ((end, middle), may) in ends.iter().zip(&beside).zip(&mut may_stand_beside) {
            let crossed = middle.is_some_and(|middle| !leaders.is_free(end.name_box(middle)));
            is_crossed |= crossed;
            *may &= !crossed;
        }
        if !is_crossed {
            break (beside, column);
        }
    };
    for ((end, beside), column) in ends.iter().zip(beside).zip(column) {
        let (x, middle) = match (beside, column) {
            (Some(middle), _) => (end.x + TO_LABEL, middle),
            (None, Some(middle)) => {
                if (middle - end.y).abs() > 3.0 || end.x < plot.frame.right() - 1.0 {
                    let [from, to] = end.leader(middle, plot);
                    items.line(from, to, 1.0, end.curve.colour.alpha(150));
                }
                (plot.frame.right() + TO_LABEL, middle)
            }
            (None, None) => continue,
        };
        let name = end.curve.name.clone();
        items.text((x, middle + 4.5), NAME, Anchor::Start, name);
    }
}

/// Where lines, their marks and words of the plot are.
fn taken(curves: &[Curve<'_>], plot: &Plot) -> Boxes {
    let mut taken = Boxes::default();
    for curve in curves {
        let points: Vec<(f64, f64)> = curve.places.iter().flatten().map(|p| (p.0, p.1)).collect();
        for &(x, y) in &points {
            taken.take((x - 6.0, y - 6.0, x + 6.0, y + 6.0));
        }
        taken.follow(&points);
    }
    if plot.cost.holds(1.0) {
        let y = plot.y(1.0);
        taken.take((plot.frame.x, y - 16.0, plot.frame.x + 90.0, y + 1.0));
    }
    taken
}

/// The middles of the names that stand beside their ends.
fn beside(ends: &[End<'_>], may: &[bool], mut taken: Boxes, plot: &Plot) -> Vec<Option<f64>> {
    let frame = &plot.frame;
    let place = |(end, may): (&End<'_>, &bool)| {
        let middle = BESIDE.into_iter().map(|down| end.y + down).find(|&middle| {
            let name = end.name_box(middle);
            let (start, top, right, bottom) = name;
            let distance = |end: &End<'_>| (end.x - start).hypot(end.y - middle);
            let is_inside = right < frame.right() && top > frame.y && bottom < frame.bottom();
            let is_nearest = || ends.iter().all(|other| distance(other) >= distance(end));
            *may && is_inside && is_nearest() && taken.is_free(name)
        });
        middle
            .iter()
            .for_each(|&middle| taken.take(end.name_box(middle)));
        middle
    };
    ends.iter().zip(may).map(place).collect()
}

/// The middles of the others, in the column.
fn column(ends: &[End<'_>], beside: &[Option<f64>], plot: &Plot) -> Vec<Option<f64>> {
    let others = ends
        .iter()
        .zip(beside)
        .filter(|(_, middle)| middle.is_none());
    let wanted: Vec<f64> = others.map(|(end, _)| end.y).collect();
    let (top, bottom) = (plot.frame.y, plot.frame.bottom());
    let mut middles = spread(&wanted, LABEL_HEIGHT, top, bottom).into_iter();
    let place = |middle: &Option<f64>| middle.is_none().then(|| middles.next()).flatten();
    beside.iter().map(place).collect()
}
