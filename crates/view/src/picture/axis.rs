//! Axes: where a value stands, and ticks at round values.

use super::NOTE;
use crate::numbers;
use crate::palette;
use crate::scene::{Anchor, Frame, Items};

/// A range of values on a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    /// An even axis; `None` of an empty or senseless range.
    pub(super) fn linear(low: f64, high: f64) -> Option<Axis> {
        let sound = low.is_finite() && high.is_finite() && low < high && (high - low).is_finite();
        sound.then_some(Axis {
            low,
            high,
            logarithmic: false,
        })
    }

    /// A logarithmic axis; `None` of an empty range or one that is not positive.
    pub(super) fn logarithmic(low: f64, high: f64) -> Option<Axis> {
        let sound = low > 0.0 && low < high && high.is_finite() && (high / low).is_finite();
        sound.then_some(Axis {
            low,
            high,
            logarithmic: true,
        })
    }

    pub(super) fn range(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Where `value` stands: 0 at the low end, 1 at the high; not finite for what has no place.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self.logarithmic {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        }
    }

    /// Whether `value` lies on the axis.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Round values on the axis, about `wanted` of them: 1, 2, 5 times powers of ten. A logarithmic axis
    /// that spans too little for those has even ticks.
    pub(super) fn ticks(&self, wanted: usize) -> Vec<f64> {
        let wanted = wanted.clamp(1, 50);
        if self.logarithmic {
            for multiples in [&[1.0][..], &[1.0, 3.0], &[1.0, 2.0, 5.0]] {
                let ticks = self.decade_ticks(multiples);
                if ticks.len() >= wanted.min(4) {
                    return thinned(ticks, wanted);
                }
            }
        }
        self.even_ticks(wanted)
    }

    fn decade_ticks(&self, multiples: &[f64]) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        decades
            .flat_map(|decade| multiples.iter().map(move |m| m * 10f64.powi(decade)))
            .filter(|tick| self.holds(*tick))
            .collect()
    }

    fn even_ticks(&self, wanted: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / wanted as f64;
        let decade = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|multiple| multiple * decade)
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(rough);
        let first = (self.low / step).ceil();
        (0..=wanted + 1)
            .map(|k| (first + k as f64) * step)
            .filter(|tick| self.holds(*tick))
            .collect()
    }
}

/// Every n-th tick, so that no more than about `wanted` are left.
fn thinned(ticks: Vec<f64>, wanted: usize) -> Vec<f64> {
    let every = ticks.len().div_ceil(wanted + 2).max(1);
    ticks.into_iter().step_by(every).collect()
}

/// `ticks` with as many decimals as tell them apart, and no more.
pub(super) fn tick_labels(ticks: &[f64]) -> Vec<String> {
    let texts = |decimals: usize| -> Vec<String> {
        ticks
            .iter()
            .map(|tick| format!("{:.decimals$}", tick + 0.0))
            .collect()
    };
    let exact = |decimals: usize| {
        ticks.iter().zip(texts(decimals)).all(|(tick, text)| {
            text.parse::<f64>()
                .is_ok_and(|read| (read - tick).abs() <= tick.abs() * 1e-6)
        })
    };
    texts((0..9).find(|&decimals| exact(decimals)).unwrap_or(9))
}

/// Ticks and labels of the time axis under `frame`, from `top` on, with its name beside it; returns the y below.
pub(super) fn time_axis(
    axis: &Axis,
    name: &str,
    frame: &Frame,
    top: f64,
    items: &mut Items,
) -> f64 {
    let (from, to) = axis.range();
    let (one, unit) = match to - from {
        span if span >= 1.0 => (1.0, "s"),
        span if span >= 1e-3 => (1e-3, "ms"),
        _ => (1e-6, "µs"),
    };
    let ticks = axis.ticks((frame.width / 90.0) as usize);
    let scaled: Vec<f64> = ticks.iter().map(|tick| tick / one).collect();
    for (tick, label) in ticks.iter().zip(tick_labels(&scaled)) {
        let x = frame.x + axis.place(*tick) * frame.width;
        items.line((x, top), (x, top + 4.0), 1.0, palette::FRAME);
        items.text((x, top + 16.0), NOTE, Anchor::Middle, label);
    }
    let name = format!("{name}, {unit}");
    let at = (frame.right() + 24.0, top + 16.0);
    items.text(at, NOTE, Anchor::Start, name);
    top + 26.0
}

/// Labels of the pace axis of a panel, in ns per unit.
pub(super) fn pace_labels(axis: &Axis, frame: &Frame) -> Vec<(f64, String)> {
    let ticks = axis.ticks(((frame.height / 34.0) as usize).max(2));
    let labels = match ticks.iter().all(|tick| *tick < 1e6) {
        true => tick_labels(&ticks),
        false => ticks
            .iter()
            .map(|tick| numbers::significant(*tick, 3))
            .collect(),
    };
    ticks
        .into_iter()
        .map(|tick| frame.y + axis.place(tick) * frame.height)
        .zip(labels)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round() {
        let ticks = Axis::linear(0.0, 10.0).unwrap().ticks(6);
        assert_eq!(tick_labels(&ticks), ["0", "2", "4", "6", "8", "10"]);
        let ticks = Axis::logarithmic(20.0, 600.0).unwrap().ticks(6);
        assert_eq!(tick_labels(&ticks), ["20", "50", "100", "200", "500"]);
        let ticks = Axis::logarithmic(106.2, 121.0).unwrap().ticks(4);
        assert_eq!(tick_labels(&ticks), ["110", "115", "120"]);
        let ticks = Axis::logarithmic(1.0, 1e9).unwrap().ticks(4);
        assert!((3..=6).contains(&ticks.len()), "{ticks:?}");
    }

    #[test]
    fn senseless_ranges_have_no_axis() {
        assert_eq!(Axis::linear(1.0, 1.0), None);
        assert_eq!(Axis::linear(f64::NAN, 1.0), None);
        assert_eq!(Axis::linear(-f64::MAX, f64::MAX), None);
        assert_eq!(Axis::logarithmic(0.0, 1.0), None);
        assert_eq!(Axis::logarithmic(1.0, f64::INFINITY), None);
    }

    proptest! {
        #[test]
        fn ticks_are_few_and_on_the_axis(low in 1e-9f64..1e9, ratio in 1.0001f64..1e6, wanted in 1usize..12) {
            for axis in [Axis::linear(low, low * ratio), Axis::logarithmic(low, low * ratio)] {
                let axis = axis.unwrap();
                let ticks = axis.ticks(wanted);
                prop_assert!(ticks.len() <= 2 * wanted + 4, "{:?}", ticks);
                prop_assert!(ticks.iter().all(|tick| (-1e-9..=1.0 + 1e-9).contains(&axis.place(*tick))));
            }
        }
    }
}
