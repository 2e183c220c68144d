//! Straight lines through points: least squares, and the pairs that Theil's line is made of.

/// The line of least squares through points (x, y), all of the same weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// A point that it passes through: the mean of the points, or 0.
    pub centre: (f64, f64),
    /// Units of y per unit of x; not a number where all points have the same x.
    pub slope: f64,
    /// Sum of the squares of x less that of the centre.
    pub x_squares: f64,
    /// Sum of the squares of the residuals.
    pub residual_squares: f64,
    /// How many points there were.
    pub points: usize,
}

impl Line {
    /// Through the mean of the points.
    pub fn through(points: &[(f64, f64)]) -> Line {
        let number = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / number;
        Line::about((mean(|point| point.0), mean(|point| point.1)), points)
    }

    /// Through (0, 0).
    pub fn through_zero(points: &[(f64, f64)]) -> Line {
        Line::about((0.0, 0.0), points)
    }

    fn about(centre: (f64, f64), points: &[(f64, f64)]) -> Line {
        let from_centre = || (points.iter()).map(|point| (point.0 - centre.0, point.1 - centre.1));
        let x_squares: f64 = from_centre().map(|(x, _)| x * x).sum();
        let slope = from_centre().map(|(x, y)| x * y).sum::<f64>() / x_squares;
        let mut line = Line {
            centre,
            slope,
            x_squares,
            residual_squares: 0.0,
            points: points.len(),
        };
        line.residual_squares = (points.iter())
            .map(|&point| line.residual(point).powi(2))
            .sum();
        line
    }

    /// How far a point lies above the line, in units of y.
    pub fn residual(&self, (x, y): (f64, f64)) -> f64 {
        y - self.centre.1 - self.slope * (x - self.centre.0)
    }

    /// Where it begins: y at x = 0.
    pub fn intercept(&self) -> f64 {
        self.centre.1 - self.slope * self.centre.0
    }

    /// Standard deviation of the slope, of what the points are off the line; `None` of two points and of equal x.
    pub fn slope_error(&self) -> Option<f64> {
        let freedom = self.points.checked_sub(2).filter(|freedom| *freedom > 0)? as f64;
        (self.x_squares > 0.0).then(|| (self.residual_squares / freedom / self.x_squares).sqrt())
    }
}

/// Pairs of points half a sample apart, whose slopes have Theil's line as their median (1950, the incomplete method): up to a quarter of the
/// points may lie anywhere.
pub fn pairs_half_apart<T: Copy>(points: &[T]) -> impl Iterator<Item = (T, T)> {
    let half = points.len() / 2;
    points
        .iter()
        .copied()
        .zip(points[half..].iter().copied())
        .take(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_least_squares_is_that_of_the_textbook() {
        // y = 2x - 1, with 1/2, -1 and 1/2 off.
        let line = Line::through(&[(1.0, 1.5), (2.0, 2.0), (3.0, 5.5)]);
        assert_eq!((line.slope, line.intercept()), (2.0, -1.0));
        assert!((line.residual_squares - 1.5).abs() < 1e-12);
        assert!((line.slope_error().unwrap() - 0.75f64.sqrt()).abs() < 1e-12);
        assert_eq!(line.residual((2.0, 4.0)), 1.0);
    }

    #[test]
    fn a_line_through_zero_has_no_intercept() {
        let line = Line::through_zero(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]);
        assert_eq!((line.slope, line.intercept()), (2.0, 0.0));
        assert_eq!(line.slope_error(), Some(0.0));
    }

    #[test]
    fn points_of_one_x_have_no_slope() {
        let line = Line::through(&[(5.0, 30.0), (5.0, 31.0), (5.0, 32.0)]);
        assert!(line.slope.is_nan() && line.slope_error().is_none());
        assert!(Line::through(&[]).slope.is_nan());
        let two = Line::through(&[(5.0, 30.0), (10.0, 40.0)]);
        assert_eq!((two.slope, two.slope_error()), (2.0, None));
    }

    #[test]
    fn pairs_are_half_a_sample_apart() {
        let pairs = |points: &[u8]| pairs_half_apart(points).collect::<Vec<_>>();
        assert_eq!(pairs(&[1, 2, 3, 4]), [(1, 3), (2, 4)]);
        assert_eq!(pairs(&[1, 2, 3, 4, 5]), [(1, 3), (2, 4)]);
        assert_eq!(pairs(&[1]), []);
    }
}
