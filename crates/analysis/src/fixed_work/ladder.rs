//! Ends of smears over lengths of work: a line whose slope is how many times slower the interrupted loop runs.

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
    let number = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / number;
    let (work, end) = (mean(&|point| point.0), mean(&|point| point.1));
    let square = points
        .iter()
        .map(|point| (point.0 - work).powi(2))
        .sum::<f64>();
    let product = (points.iter()).map(|point| (point.0 - work) * (point.1 - end));
    let slope = product.sum::<f64>() / square;
    if points.len() < 2 || !slope.is_finite() {
        return None;
    }
    let intercept_ns = end - slope * work;
    let off = points
        .iter()
        .map(|point| (point.1 - intercept_ns - slope * point.0).powi(2));
    let off = off.sum::<f64>();
    Some(Line {
        slope,
        error: (points.len() > 2).then(|| (off / (number - 2.0) / square).sqrt()),
        intercept_ns,
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
