//! Second pass: whether a loop that was interrupted runs slower until it is left, at the end of the quantum.
//!
//! A gap costs its own length, in whatever part of the quantum it falls. Where the loop runs k times slower after it, a
//! quantum also loses (1 - 1/k) of the time from the gap's end to its own end. So what quanta with one gap lose beyond
//! the gap is regressed on that time: the slope gives k, the level at time 0 what an interrupt costs by itself. The
//! line is Theil's (1950, incomplete: the median over pairs half a sample apart), so gaps of another kind do not bend
//! it; then that of least squares through what lies near, because the ticks of a clock are whole: of a train that is
//! regular most pairs are equally far apart and off by the same part of a tick, which their median keeps. Published for
//! fixed work: slope 3.17 and 13 us (docs/method.md, section 8.10).

use crate::gaps::statistics::Event;
use crate::series::derive::Derived;
use crate::series::detector::Detector;
use bandscope_statistics::lines;
use bandscope_statistics::order::{SIGMA_PER_MAD, median};

/// Quanta whose times are kept for the regression.
const POINTS: usize = 1 << 15;
/// A pace is the usual one if it is within this, or within three half widths of its band.
const USUAL: f64 = 0.01;
/// Gaps fall on one place if their times to the quantum's end differ by less than this share of it.
const IN_STEP: f64 = 0.05;
/// Fewer quanta with one gap say nothing.
const MIN_QUANTA_WITH_GAP: usize = 20;
/// Deviations from Theil's line, each at least a tick, within which the line of least squares is fitted.
const CUT: f64 = 4.0;

/// Joins gaps with quanta.
#[derive(Clone, Debug)]
pub struct Interrupted {
    /// Gaps in order of time, and the next one.
    events: Vec<Event>,
    next: usize,
    /// The usual pace, and up to where a pace is usual, ticks per unit.
    usual: f64,
    limit: f64,
    /// Time from the gap's end to the quantum's end, and ticks lost beyond the gap, of quanta with one gap.
    points: Vec<(f32, f32)>,
    /// Ticks that the gaps themselves cost.
    costs: Vec<f32>,
    /// Quanta at the usual pace, and all: with a gap, right after one, and the others without a gap.
    with_gap: [u64; 2],
    after_gap: [u64; 2],
    without: [u64; 2],
    was_gap: bool,
}

/// What the quanta with a gap show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Ticks lost per tick after the gap.
    pub slope: f64,
    /// Its standard deviation.
    pub error: f64,
    /// Whether all gaps fall on the same place of a quantum, so that the line is taken through 0.
    pub in_step: bool,
    /// Ticks that an interrupt costs by itself: the gap, and what is lost however soon the quantum ends.
    pub intercept: f64,
    /// Share of what the slope explains that is left about the line.
    pub scatter: f64,
    /// Quanta with a gap that are slow.
    pub slow: u64,
    /// Quanta with a gap.
    pub gaps: u64,
    /// Share of usual paces among the quanta right after a gap, and among the others without one.
    pub usual_after: f64,
    pub usual_without: f64,
    /// Mean ticks lost beyond the gap.
    pub mean_loss: f64,
}

impl Interrupted {
    /// Gaps in order of time; the usual pace and the relative half width of its band. `None` without gaps.
    pub fn new(events: &[Event], usual: f64, half_width: f64) -> Option<Interrupted> {
        (events.len() >= MIN_QUANTA_WITH_GAP && usual > 0.0).then(|| Interrupted {
            events: events.to_vec(),
            next: 0,
            usual,
            limit: usual * (1.0 + USUAL.max(3.0 * half_width)),
            points: Vec::new(),
            costs: Vec::new(),
            with_gap: [0; 2],
            after_gap: [0; 2],
            without: [0; 2],
            was_gap: false,
        })
    }

    /// The line; `None` of too few quanta.
    pub fn finish(mut self) -> Option<Line> {
        if self.points.len() < MIN_QUANTA_WITH_GAP {
            return None;
        }
        self.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let pairs = || lines::pairs_half_apart(&self.points);
        let spread = median(pairs().map(|(a, b)| f64::from(b.0 - a.0)))?;
        let place = f64::from(self.points[self.points.len() / 2].0);
        let in_step = spread < IN_STEP * place;
        let slopes: Vec<f64> = if in_step {
            let after = self.points.iter().filter(|point| point.0 > 0.0);
            after
                .map(|(time, lost)| f64::from(*lost) / f64::from(*time))
                .collect()
        } else {
            let apart = pairs().filter(|(a, b)| b.0 > a.0);
            apart
                .map(|(a, b)| f64::from(b.1 - a.1) / f64::from(b.0 - a.0))
                .collect()
        };
        let span = if in_step { place } else { spread };
        let theil = median(slopes)?;
        let flat = |&(time, lost): &(f32, f32)| f64::from(lost) - theil * f64::from(time);
        let level = median(self.points.iter().map(flat))?;
        let deviation =
            SIGMA_PER_MAD * median(self.points.iter().map(|one| (flat(one) - level).abs()))?;
        let reach = CUT * deviation.max(1.0);
        let near = self
            .points
            .iter()
            .filter(|one| (flat(one) - level).abs() <= reach);
        let near: Vec<(f64, f64)> = near.map(|one| (f64::from(one.0), flat(one))).collect();
        let rest = match in_step {
            true => lines::Line::through_zero(&near),
            false => lines::Line::through(&near),
        };
        let error = rest.slope_error()?;
        let slope = theil + rest.slope;
        let cost = median(self.costs.iter().map(|cost| f64::from(*cost)))?;
        let mean = self
            .points
            .iter()
            .map(|point| f64::from(point.1))
            .sum::<f64>();
        let share = |[usual, all]: [u64; 2]| usual as f64 / all.max(1) as f64;
        Some(Line {
            slope,
            in_step,
            error,
            intercept: cost + level,
            scatter: deviation / (slope.abs() * span).max(1e-9),
            slow: self.with_gap[1] - self.with_gap[0],
            gaps: self.with_gap[1],
            usual_after: share(self.after_gap),
            usual_without: share(self.without),
            mean_loss: mean / self.points.len() as f64,
        })
    }

    /// Takes the gaps that begin within this chunk.
    fn join(&mut self, chunk: &Derived<'_>) {
        let columns = &chunk.chunk;
        let end = columns.end[chunk.len() - 1];
        // A gap that begins at a quantum's end is the next one's.
        while let Some(event) = self.events.get(self.next).filter(|event| event.start < end) {
            self.next += 1;
            let after = columns.start.partition_point(|start| *start <= event.start);
            let Some(k) = after.checked_sub(1) else {
                continue;
            };
            if columns.gaps[k] != 1 || chunk.units[k] <= 0.0 || self.points.len() >= POINTS {
                continue;
            }
            let gap_end = event.start + event.duration;
            let left = columns.end[k]
                .saturating_sub(gap_end)
                .saturating_sub(columns.measurement_ticks[k]);
            let lost = chunk.present[k] - chunk.units[k] * self.usual;
            self.points.push((left as f32, lost as f32));
            self.costs
                .push((event.duration as f64 - self.usual).max(0.0) as f32);
        }
    }
}

impl Detector for Interrupted {
    fn push(&mut self, chunk: &Derived<'_>) {
        self.was_gap &= !chunk.opens_segment;
        let (limit, mut was_gap) = (self.limit, self.was_gap);
        let mut without = [0; 2];
        for (&gap, &pace) in chunk.chunk.gap_ticks.iter().zip(chunk.pace) {
            let usual = u64::from(pace <= limit);
            if gap == 0 && !was_gap {
                without[0] += usual;
                without[1] += 1;
                continue;
            }
            let counted = if gap > 0 {
                &mut self.with_gap
            } else {
                &mut self.after_gap
            };
            counted[0] += usual;
            counted[1] += 1;
            was_gap = gap > 0;
        }
        self.without[0] += without[0];
        self.without[1] += without[1];
        self.was_gap = was_gap;
        self.join(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Event = Event {
        after: 0,
        holds_unit: true,
        goes_on: false,
        cause: 0,
        start: 0,
        duration: 8224,
    };

    /// Quanta of 200,000 ticks with a gap of 8000 ticks that ends `left` ticks before their end, after which units
    /// take 3 times as long; each seventh has lost 20,000 ticks more for another reason.
    fn line(left: impl Fn(u32) -> f32) -> Line {
        let mut seen = Interrupted::new(&[GAP; MIN_QUANTA_WITH_GAP], 224.0, 0.0).unwrap();
        for k in 0..200 {
            let other = if k % 7 == 0 { 20_000.0 } else { 0.0 };
            seen.points.push((left(k), left(k) * 2.0 / 3.0 + other));
            seen.costs.push(8000.0);
        }
        seen.finish().unwrap()
    }

    #[test]
    fn a_line_is_fitted_whatever_else_happens() {
        let line = line(|k| (k * 7919 % 190_000) as f32);
        assert!(!line.in_step);
        assert!((line.slope - 2.0 / 3.0).abs() < 0.02, "{line:?}");
        assert!((line.intercept - 8000.0).abs() < 500.0, "{line:?}");
    }

    #[test]
    fn gaps_in_step_with_the_quanta_are_taken_through_0() {
        let line = line(|k| 120_000.0 + (k % 3) as f32);
        assert!(line.in_step);
        assert!((line.slope - 2.0 / 3.0).abs() < 1e-3, "{line:?}");
    }

    #[test]
    fn a_regular_train_is_known_as_well_as_is_stated_in_whole_ticks() {
        let (quantum, slope, took) = (200_000.0, 0.77, 8000.4);
        let lines = (0..40).map(|train| {
            let period = 2.0 * quantum + 3_456.7 * f64::from(train);
            let mut seen = Interrupted::new(&[GAP; MIN_QUANTA_WITH_GAP], 224.0, 0.0).unwrap();
            for k in 1..700 {
                let end = period * f64::from(k);
                let left = quantum - end % quantum;
                // A gap of so many ticks lasts one more or less where the clock is read in whole ones.
                let gap = end.floor() - (end - took).floor();
                let lost = slope * left + took - gap;
                seen.points
                    .push(((left + end % 1.0).floor() as f32, lost as f32));
                seen.costs.push(8000.0);
            }
            seen.finish().unwrap()
        });
        let held = lines
            .filter(|line| (line.slope - slope).abs() < 2.0 * line.error)
            .count();
        assert!((34..=40).contains(&held), "{held} of 40");
    }

    #[test]
    fn few_gaps_say_nothing() {
        assert!(Interrupted::new(&[], 224.0, 0.0).is_none());
    }
}
