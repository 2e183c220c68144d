//! Ticks per nanosecond, against CLOCK_MONOTONIC_RAW, with an error bound.
//!
//! A reading is a sandwich: counter, CLOCK_MONOTONIC_RAW, counter. The clock was read somewhere between
//! the two counter values, so the counter at that nanosecond is their middle, give or take half their
//! distance; of several sandwiches the narrowest is kept. The slope of the least-squares line through
//! all readings is the factor. As that slope is `sum(w_i * ticks_i)` with
//! `w_i = (t_i - mean(t)) / sum((t_j - mean(t))^2)`, an error of at most `h_i` in each reading makes an
//! error of at most `sum(|w_i| * h_i)` in the slope. Where a reading lies farther from the line than
//! its half width (the rates did not stay constant), that distance counts in place of the half width.

use crate::clock;
use bandscope_recording::manifest::{ClockReading, ERROR_PPM};
use bandscope_statistics::lines::Line;
use rustix::time::{ClockId, clock_gettime};

/// Sandwiches tried for one reading: enough for one without an interrupt, and below 50 us.
const TRIES: usize = 40;
/// Readings kept; beyond it every other one is dropped, so that long runs need no more memory.
const MOST_READINGS: usize = 400;

/// One reading, in raw values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Counter in the middle of the sandwich.
    pub ticks: u64,
    /// CLOCK_MONOTONIC_RAW in nanoseconds.
    pub raw_ns: u64,
    /// Half of the distance of the two counter values and a tick, rounded up, in ticks: a counter that
    /// says n stands anywhere from n to n + 1, and its middle is a whole tick too.
    pub half_width_ticks: u64,
}

/// A straight line through readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Slope against CLOCK_MONOTONIC_RAW.
    pub ticks_per_ns: f64,
    /// Bound of its relative error in parts per million.
    pub error_ppm: f64,
}

/// Readings over time.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    readings: Vec<Reading>,
}

impl Reading {
    /// Reads counter and clock now.
    pub fn take() -> Reading {
        (0..TRIES)
            .map(|_| sandwich())
            .min_by_key(|reading| reading.half_width_ticks)
            .unwrap_or_else(sandwich)
    }
}

fn sandwich() -> Reading {
    let before = clock::ticks();
    let raw = clock_gettime(ClockId::MonotonicRaw);
    let after = clock::ticks();
    let width = after.wrapping_sub(before);
    Reading {
        ticks: before.wrapping_add(width / 2),
        raw_ns: raw.tv_sec as u64 * 1_000_000_000 + raw.tv_nsec as u64,
        half_width_ticks: (width + 1).div_ceil(2),
    }
}

impl Calibration {
    /// Takes a reading now.
    pub fn read(&mut self) {
        self.push(Reading::take());
    }

    fn push(&mut self, reading: Reading) {
        self.readings.push(reading);
        if self.readings.len() > MOST_READINGS {
            let mut index = 0;
            self.readings.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
    }

    /// All readings, in order of time.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// Nanoseconds between the first reading and the last.
    pub fn span_ns(&self) -> u64 {
        match (self.readings.first(), self.readings.last()) {
            (Some(first), Some(last)) => last.raw_ns.saturating_sub(first.raw_ns),
            _ => 0,
        }
    }

    /// The readings as the manifest holds them, relative to `origin`.
    pub fn rows(&self, origin: u64) -> Vec<ClockReading> {
        let first = self.readings.first().map_or(0, |reading| reading.raw_ns);
        self.readings
            .iter()
            .map(|reading| ClockReading {
                ticks: reading.ticks.wrapping_sub(origin) as i64,
                raw_ns: reading.raw_ns - first,
                half_width_ticks: reading.half_width_ticks,
            })
            .collect()
    }

    /// The line; `None` with fewer than two readings or a counter that stands still.
    pub fn fit(&self) -> Option<Fit> {
        let first = *self.readings.first()?;
        let points: Vec<(f64, f64)> = self
            .readings
            .iter()
            .map(|reading| {
                (
                    (reading.raw_ns - first.raw_ns) as f64,
                    reading.ticks.wrapping_sub(first.ticks) as i64 as f64,
                )
            })
            .collect();
        let line = Line::through(&points);
        let slope = line.slope;
        if !slope.is_finite() || slope <= 0.0 {
            return None;
        }
        let error: f64 = (points.iter().zip(&self.readings))
            .map(|(&point, reading)| {
                let distance = line.residual(point).abs();
                let weight = (point.0 - line.centre.0).abs() / line.x_squares;
                weight * (reading.half_width_ticks as f64).max(distance)
            })
            .sum();
        Some(Fit {
            ticks_per_ns: slope,
            error_ppm: (error / slope * 1e6).min(*ERROR_PPM.end()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64, half_width: u64, tick: impl Fn(u64) -> i64) -> Calibration {
        let mut calibration = Calibration::default();
        for k in 0..number {
            let raw_ns = 7_000 + k * 10_000_000;
            calibration.push(Reading {
                // Starts just below the wrap, which must not matter.
                ticks: (u64::MAX - 1_000).wrapping_add(tick(raw_ns - 7_000) as u64),
                raw_ns,
                half_width_ticks: half_width,
            });
        }
        calibration
    }

    #[test]
    fn a_straight_line_gives_its_slope() {
        let fit = line(50, 30, |ns| (ns as f64 * 2.3) as i64).fit().unwrap();
        assert!((fit.ticks_per_ns - 2.3).abs() < 1e-8, "{fit:?}");
    }

    #[test]
    fn the_bound_covers_the_worst_errors_that_half_widths_allow() {
        // The first half reads 30 ticks late and the second 30 early: what bends the slope most.
        let fit = line(50, 30, |ns| {
            let error = if ns < 245_000_000 { 30 } else { -30 };
            (ns as f64 * 2.0) as i64 + error
        })
        .fit()
        .unwrap();
        let error_ppm = (fit.ticks_per_ns / 2.0 - 1.0).abs() * 1e6;
        assert!(error_ppm > 0.05, "{error_ppm}");
        assert!(error_ppm <= fit.error_ppm, "{error_ppm} {fit:?}");
        assert!(fit.error_ppm < 2.0 * error_ppm, "{error_ppm} {fit:?}");
    }

    #[test]
    fn a_bent_line_widens_the_bound() {
        let straight = line(50, 30, |ns| (ns * 2) as i64).fit().unwrap();
        let bent = line(50, 30, |ns| (ns * 2 + ns * ns / 500_000_000) as i64)
            .fit()
            .unwrap();
        assert!(bent.error_ppm > 100.0 * straight.error_ppm);
    }

    #[test]
    fn long_runs_keep_few_readings_over_the_whole_span() {
        let calibration = line(10_000, 30, |ns| (ns * 2) as i64);
        assert!(calibration.readings.len() <= MOST_READINGS);
        assert_eq!(calibration.readings[0].raw_ns, 7_000);
        assert!(calibration.span_ns() > 9_500 * 10_000_000);
    }

    #[test]
    fn one_reading_is_no_line() {
        assert_eq!(line(1, 30, |ns| ns as i64).fit(), None);
        assert_eq!(line(9, 30, |_| 0).fit(), None);
    }

    #[test]
    fn this_machine_calibrates() {
        let mut calibration = Calibration::default();
        for _ in 0..5 {
            calibration.read();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let fit = calibration.fit().unwrap();
        assert!(fit.ticks_per_ns > 0.0 && fit.error_ppm.is_finite());
        let rows = calibration.rows(0);
        assert_eq!(rows.len(), 5);
        // However coarse the counter: two equal values are a tick apart at most, not at one point.
        assert!(rows.iter().all(|row| row.half_width_ticks >= 1));
    }
}
