//! Labels that keep out of each other's way.

/// Moves `wanted` (ascending) apart so that each is at least `apart` from the one before, within
/// `low..=high`, and as near to where they want to be as a sweep down and a sweep up leave them.
pub(super) fn spread(wanted: &[f64], apart: f64, low: f64, high: f64) -> Vec<f64> {
    let mut places = wanted.to_vec();
    let mut floor = low;
    for place in &mut places {
        *place = place.max(floor);
        floor = *place + apart;
    }
    let mut ceiling = high;
    for place in places.iter_mut().rev() {
        *place = place.min(ceiling);
        ceiling = *place - apart;
    }
    places
}

/// Stretches of a line that are taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Row(Vec<(f64, f64)>);

impl Row {
    /// Whether `from..to` is free.
    pub(super) fn is_free(&self, from: f64, to: f64) -> bool {
        self.0.iter().all(|&(a, b)| to <= a || b <= from)
    }

    /// Takes `from..to` if it is free.
    pub(super) fn take(&mut self, from: f64, to: f64) -> bool {
        let free = self.is_free(from, to);
        if free {
            self.0.push((from, to));
        }
        free
    }
}

/// Boxes of left, top, right and bottom that are taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Boxes(Vec<(f64, f64, f64, f64)>);

impl Boxes {
    pub(super) fn take(&mut self, one: (f64, f64, f64, f64)) {
        self.0.push(one);
    }

    /// Takes a line through points.
    pub(super) fn follow(&mut self, points: &[(f64, f64)]) {
        for pair in points.windows(2) {
            let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
            let steps = ((to_x - x).hypot(to_y - y) / 3.0).ceil().max(1.0);
            for step in 0..=steps as u32 {
                let part = f64::from(step) / steps;
                let (x, y) = (x + (to_x - x) * part, y + (to_y - y) * part);
                self.take((x - 2.0, y - 2.0, x + 2.0, y + 2.0));
            }
        }
    }

    pub(super) fn is_free(&self, (left, top, right, bottom): (f64, f64, f64, f64)) -> bool {
        let apart = |&(a, b, c, d): &(f64, f64, f64, f64)| {
            right <= a || c <= left || bottom <= b || d <= top
        };
        self.0.iter().all(apart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_apart_stays() {
        assert_eq!(spread(&[10.0, 50.0], 12.0, 0.0, 100.0), [10.0, 50.0]);
        assert_eq!(spread(&[98.0, 99.0], 12.0, 0.0, 100.0), [88.0, 100.0]);
    }

    #[test]
    fn a_taken_stretch_is_not_given_twice() {
        let mut row = Row::default();
        assert!(row.take(0.0, 10.0));
        assert!(!row.take(9.0, 12.0));
        assert!(row.take(10.0, 12.0));
    }

    proptest! {
        #[test]
        fn labels_that_fit_are_apart_and_inside(mut wanted in prop::collection::vec(-50.0f64..300.0, 0..10)) {
            wanted.sort_by(f64::total_cmp);
            let places = spread(&wanted, 25.0, 0.0, 250.0);
            prop_assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 25.0 - 1e-9));
            prop_assert!(places.iter().all(|place| (-1e-9..=250.0 + 1e-9).contains(place)));
        }
    }
}
