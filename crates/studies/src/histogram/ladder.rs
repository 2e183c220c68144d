//! Ends of smears over lengths of work: a line whose slope is how many times slower the interrupted loop runs.

use bandscope_statistics::lines;

/// A line through the ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Nanoseconds of the end per nanosecond of work.
    pub slope: f64,
    /// Its standard deviation, of what the points are off the line; `None` of two points.
    pub error: Option<f64>,
    /// Where it begins, in nanoseconds: what an interrupt costs however short the work is.
    pub intercept_ns: f64,
}

/// The line of least squares through (work, end); `None` of fewer than two lengths of work.
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    let line = lines::Line::through(points);
    line.slope.is_finite().then(|| Line {
        slope: line.slope,
        error: line.slope_error(),
        intercept_ns: line.intercept(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_ends_have_a_slope_of_about_3() {
        let line = line(&[(5e3, 30e3), (100e3, 330e3), (500e3, 1600e3)]).unwrap();
        assert!((line.slope - 3.17).abs() < 0.005, "{line:?}");
        assert!((line.intercept_ns - 13.5e3).abs() < 0.1e3, "{line:?}");
        assert!(line.error.unwrap() < 0.01);
    }

    #[test]
    fn one_length_of_work_is_no_line() {
        assert_eq!(line(&[]), None);
        assert_eq!(line(&[(5.0, 30.0), (5.0, 31.0)]), None);
        let two = line(&[(5.0, 30.0), (10.0, 40.0)]).unwrap();
        assert_eq!((two.slope, two.intercept_ns, two.error), (2.0, 20.0, None));
    }
}
