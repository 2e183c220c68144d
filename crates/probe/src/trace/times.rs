//! From the kernel's clock to the recording's: CLOCK_MONOTONIC_RAW, which times the events, to ticks.
//!
//! Both run at constant rates, so a straight line through readings of both (as `crate::calibration` takes them) leads
//! from one to the other. It is drawn through the latest readings only: that follows a kernel whose raw clock is
//! adjusted by its hypervisor, and needs no memory that grows. The bound of its error is what its readings are off at
//! most, and how far they lie from it beyond that; the greatest over all lines of the run.

use crate::calibration::Reading;
use std::collections::VecDeque;

/// Readings that the line is drawn through.
const READINGS: usize = 64;

/// The way from nanoseconds of CLOCK_MONOTONIC_RAW to ticks since the recording's origin.
#[derive(Clone, Debug)]
pub struct Times {
    origin: u64,
    readings: VecDeque<Reading>,
    line: Option<Line>,
    worst_error: f64,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    raw_ns: u64,
    ticks: u64,
    /// Ticks since `ticks` at `raw_ns`.
    offset: f64,
    slope: f64,
}

impl Times {
    /// Without readings; `origin` is the counter's value at tick 0.
    pub fn new(origin: u64) -> Times {
        Times {
            origin,
            readings: VecDeque::new(),
            line: None,
            worst_error: 0.0,
        }
    }

    /// Takes a reading now.
    pub fn read(&mut self) {
        self.push(Reading::take());
    }

    /// Adds a reading.
    pub fn push(&mut self, reading: Reading) {
        if self.readings.len() == READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back(reading);
        self.fit();
    }

    fn fit(&mut self) {
        let Some(first) = self.readings.front() else {
            return;
        };
        let points: Vec<(f64, f64, f64)> = self
            .readings
            .iter()
            .map(|reading| {
                let ns = reading.raw_ns.wrapping_sub(first.raw_ns) as i64 as f64;
                let ticks = reading.ticks.wrapping_sub(first.ticks) as i64 as f64;
                (ns, ticks, reading.half_width_ticks as f64)
            })
            .collect();
        // A narrow sandwich says more than a wide one, as the square of its width.
        let weight = |half_width: f64| half_width.max(1.0).powi(-2);
        let sum = |value: &dyn Fn(&(f64, f64, f64)) -> f64| -> f64 {
            points
                .iter()
                .map(|point| weight(point.2) * value(point))
                .sum()
        };
        let total = sum(&|_| 1.0);
        let (mean_ns, mean_ticks) = (sum(&|p| p.0) / total, sum(&|p| p.1) / total);
        let square = sum(&|p| (p.0 - mean_ns).powi(2));
        let slope = sum(&|p| (p.0 - mean_ns) * (p.1 - mean_ticks)) / square;
        if !slope.is_finite() || slope <= 0.0 {
            return;
        }
        let line = Line {
            raw_ns: first.raw_ns,
            ticks: first.ticks,
            offset: mean_ticks - slope * mean_ns,
            slope,
        };
        // What lies farther from the line than its own error shows that the clocks part. The line itself is off by what
        // its readings are off on average in the middle, and by at most twice that at its ends.
        let apart =
            |(ns, ticks, half): &(f64, f64, f64)| (line.offset + slope * ns - ticks).abs() - half;
        let parted = points.iter().map(apart).fold(0.0, f64::max);
        let error = parted + 2.0 * sum(&|p| p.2) / total;
        self.worst_error = self.worst_error.max(error);
        self.line = Some(line);
    }

    /// When the latest reading was taken, in nanoseconds of CLOCK_MONOTONIC_RAW; 0 without one.
    pub fn latest(&self) -> u64 {
        self.readings.back().map_or(0, |reading| reading.raw_ns)
    }

    /// The tick at a time; negative before the origin. `None` before there are two readings.
    pub fn tick(&self, raw_ns: u64) -> Option<i64> {
        let line = self.line?;
        let ns = raw_ns.wrapping_sub(line.raw_ns) as i64 as f64;
        let since = (line.offset + line.slope * ns).round() as i64;
        Some(
            line.ticks
                .wrapping_add(since as u64)
                .wrapping_sub(self.origin) as i64,
        )
    }

    /// Bound of the error in ticks so far; `None` if there was no line.
    pub fn error_ticks(&self) -> Option<f64> {
        self.line.map(|_| self.worst_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(raw_ns: u64, ticks: u64, half_width_ticks: u64) -> Reading {
        Reading {
            ticks,
            raw_ns,
            half_width_ticks,
        }
    }

    #[test]
    fn a_line_leads_from_one_clock_to_the_other() {
        // The counter wraps meanwhile, and the readings lie around the truth.
        let origin = u64::MAX - 1000;
        let mut times = Times::new(origin);
        assert_eq!(times.tick(5), None);
        for k in 0..200u64 {
            let ns = k * 25_000_000;
            let error = [20i64, -20, 5][k as usize % 3];
            let ticks = origin
                .wrapping_add((ns as f64 * 2.25) as u64)
                .wrapping_add(error as u64);
            times.push(reading(7_000 + ns, ticks, 30));
        }
        let bound = times.error_ticks().unwrap();
        assert!((30.0..61.0).contains(&bound), "{bound}");
        for ns in [4_000_000_000u64, 4_990_000_000, 5_100_000_000] {
            let tick = times.tick(7_000 + ns).unwrap() as f64;
            assert!((tick - ns as f64 * 2.25).abs() <= bound, "{tick}");
        }
        assert!(times.tick(0).unwrap() < 0, "before the origin");
        assert!(times.readings.len() <= READINGS);
    }

    #[test]
    fn clocks_that_part_widen_the_bound() {
        let mut times = Times::new(0);
        for k in 0..100u64 {
            let jump = if k > 50 { 1_000_000 } else { 0 };
            times.push(reading(k * 1_000_000, k * 2_000_000 + jump, 30));
        }
        assert!(times.error_ticks().unwrap() > 100_000.0);
    }

    #[test]
    fn one_disturbed_reading_does_not() {
        let mut times = Times::new(0);
        for k in 0..40u64 {
            let (late, half) = if k == 20 { (40_000, 50_000) } else { (0, 30) };
            times.push(reading(k * 1_000_000, k * 2_000_000 + late, half));
        }
        assert!(times.error_ticks().unwrap() < 100.0);
        assert_eq!(times.tick(30_000_000), Some(60_000_000));
    }
}
