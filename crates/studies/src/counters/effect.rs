//! How much a value differs between two sides, and how sure that is.
//!
//! Ratios of means, with intervals of 95 % on their logarithms. The scatter is that of the runs where a side has several, with Welch's degrees of freedom; else the
//! standard error that the file states; else, of a number of events in one run, the square root of it, which is what independent events scatter by and the least
//! that anything does. One run says nothing about the next one, so then only what differs by 5 % and more counts as changed.

use bandscope_statistics::distributions::{student_95, student_beyond, welch};
use serde::Serialize;

/// Single runs must differ by this, as two modes do (docs/method.md, section 10.1).
const SINGLE: f64 = 0.05;
/// With fewer runs than this the scatter is no better known than without.
const RUNS: usize = 3;

/// A mean and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its variance.
    variance: f64,
    /// Degrees of freedom of that; infinite where it is not of the runs, or nobody says of how many.
    freedom: f64,
    /// Whether it says how runs scatter.
    of_runs: bool,
}

impl Mean {
    /// Of the values of runs, at least one; of a mean its standard error, and of how many runs it is where that is known. `events` are whole numbers of
    /// independent events.
    pub fn new(runs: &[f64], stated: Option<(f64, Option<u32>)>, events: bool) -> Mean {
        let number = runs.len() as f64;
        let value = runs.iter().sum::<f64>() / number;
        let counting = if events { value.max(1.0) / number } else { 0.0 };
        let (variance, freedom, of_runs) = match (runs.len(), stated) {
            (RUNS.., _) => {
                let squares: f64 = runs.iter().map(|run| (run - value).powi(2)).sum();
                (squares / (number - 1.0) / number, number - 1.0, true)
            }
            (1, Some((error, None))) => (error * error, f64::INFINITY, true),
            (1, Some((error, Some(of)))) if of as usize >= RUNS => {
                (error * error, f64::from(of) - 1.0, true)
            }
            _ => (counting, f64::INFINITY, false),
        };
        Mean {
            value,
            // Runs whose counts agree better than by chance agree by chance.
            variance: variance.max(counting),
            freedom,
            of_runs,
        }
    }

    /// Whether it says how runs scatter.
    pub fn is_of_runs(&self) -> bool {
        self.of_runs
    }

    /// This many times less of it, as many times less uncertain.
    pub fn per(self, divisor: f64) -> Mean {
        Mean {
            value: self.value / divisor,
            variance: self.variance / divisor / divisor,
            ..self
        }
    }

    /// Variance of its logarithm.
    fn relative(&self) -> f64 {
        self.variance / (self.value * self.value).max(f64::MIN_POSITIVE)
    }
}

/// What became of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Of A.
    pub a: f64,
    /// Of B.
    pub b: f64,
    /// B over A; `null` where A had none.
    pub ratio: Option<f64>,
    /// Of the ratio, 95 %; `null` where nothing says how values scatter. An end beyond all numbers is `null`, too.
    #[cfg_attr(feature = "schema", schemars(with = "Option<[Option<f64>; 2]>"))]
    pub interval: Option<[f64; 2]>,
    /// Chance that values which do not differ would differ so; not corrected for the number of counters.
    pub p_value: Option<f64>,
    /// Whether it changed: the interval leaves 1 out, and single runs differ by 5 % and more.
    pub changed: bool,
}

/// B against A.
pub fn change(a: Mean, b: Mean) -> Change {
    against(a, b, 0.0, f64::INFINITY)
}

/// B over `over_b` against A over `over_a`. Errors add up as if they were independent, which makes the interval too wide where runs that
/// took longer counted more.
pub fn rate(a: Mean, b: Mean, over_a: Mean, over_b: Mean) -> Option<Change> {
    if over_a.value <= 0.0 || over_b.value <= 0.0 {
        return None;
    }
    let more = over_a.relative() + over_b.relative();
    let freedom = over_a.freedom.min(over_b.freedom);
    Some(against(
        a.per(over_a.value),
        b.per(over_b.value),
        more,
        freedom,
    ))
}

fn against(a: Mean, b: Mean, more: f64, freedom: f64) -> Change {
    let mut change = Change {
        a: a.value,
        b: b.value,
        ..Change::default()
    };
    if a.value <= 0.0 && b.value <= 0.0 {
        change.ratio = Some(1.0);
        return change;
    }
    if a.value > 0.0 {
        change.ratio = Some(b.value / a.value);
    }
    if a.variance + b.variance == 0.0 && !(a.of_runs && b.of_runs) {
        change.changed = (b.value - a.value).abs() > SINGLE * a.value;
        return change;
    }
    // None at all is as much as half an event would be.
    let half = |mean: Mean| match mean.value > 0.0 {
        true => mean,
        false => Mean {
            value: mean.variance.sqrt() / 2.0,
            ..mean
        },
    };
    let (low, high) = (half(a), half(b));
    let (of_a, of_b) = (low.relative(), high.relative());
    let variance = of_a + of_b + more;
    let log = (high.value / low.value).ln();
    let freedom = welch([of_a, of_b], [a.freedom, b.freedom]).min(freedom);
    let reach = student_95(freedom) * variance.sqrt();
    if !(log.is_finite() && reach.is_finite()) {
        return change;
    }
    change.interval = Some([(log - reach).exp(), (log + reach).exp()]);
    change.p_value = Some(student_beyond(log.abs() / variance.sqrt(), freedom));
    let sure = a.of_runs && b.of_runs;
    change.changed = log.abs() > reach && (sure || log.abs() > SINGLE.ln_1p());
    change
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_statistics::random::Random;

    #[test]
    fn counts_of_single_runs_have_the_scatter_of_counts() {
        let mean = |value: f64| Mean::new(&[value], None, true);
        let found = change(mean(1161.0), mean(1880.0));
        assert!((found.ratio.unwrap() - 1.6193).abs() < 1e-3);
        let [low, high] = found.interval.unwrap();
        assert!(
            (low - 1.505).abs() < 0.002 && (high - 1.742).abs() < 0.002,
            "{low} {high}"
        );
        assert!(found.changed);
        assert!(!change(mean(2.0), mean(1.0)).changed);
        assert!(!change(mean(0.0), mean(1.0)).changed);
        assert!(change(mean(0.0), mean(50.0)).changed);
        // Sure as counts go, and nothing that a next run would have to repeat.
        assert!(!change(mean(1e9), mean(1.01e9)).changed);
    }

    #[test]
    fn runs_scatter_as_they_do() {
        let a = Mean::new(&[10.0, 11.0, 9.0, 10.0], None, false);
        let b = Mean::new(&[12.0, 13.0, 12.0, 11.0], None, false);
        let found = change(a, b);
        assert!((found.ratio.unwrap() - 1.2).abs() < 1e-9 && found.changed);
        // By hand: standard errors 0.408 and 0.408 of 10 and 12, t of 5.81 degrees of freedom is 2.466.
        let [low, high] = found.interval.unwrap();
        assert!(
            (low - 1.053).abs() < 0.006 && (high - 1.368).abs() < 0.007,
            "{low} {high}"
        );
        assert!(!change(a, Mean::new(&[10.0, 12.0, 9.0, 11.0], None, false)).changed);
        let stated = |error, of, value: f64| {
            let mean = |value: f64| Mean::new(&[value], Some((error, of)), false);
            change(mean(10.0), mean(value)).changed
        };
        assert!(!stated(0.1, None, 10.2) && stated(0.1, None, 10.3));
        // Three runs hardly tell their scatter, and two do not.
        assert!(!stated(0.1, Some(3), 10.3) && stated(0.1, Some(30), 10.3));
        assert!(!stated(0.001, Some(2), 10.3) && stated(0.001, Some(3), 10.3));
    }

    #[test]
    fn a_rate_is_less_sure_than_its_count() {
        let mean = |value: f64| Mean::new(&[value], None, true);
        let seconds = |value: f64| Mean::new(&[value], None, false);
        let found = rate(
            mean(1161.0),
            mean(1880.0),
            seconds(4.006_246_558),
            seconds(5.397_361_827),
        )
        .unwrap();
        assert!((found.ratio.unwrap() - 1.202).abs() < 1e-3);
        assert!(found.changed);
        assert!(rate(mean(1.0), mean(1.0), seconds(0.0), seconds(1.0)).is_none());
    }

    #[test]
    fn one_in_twenty_of_what_did_not_change_seems_to() {
        let mut random = Random::new(7);
        let mut changed = 0;
        for _ in 0..2000 {
            let mut side = || -> Vec<f64> { (0..8).map(|_| 100.0 + random.normal()).collect() };
            let (a, b) = (side(), side());
            changed +=
                u32::from(change(Mean::new(&a, None, false), Mean::new(&b, None, false)).changed);
        }
        assert!(
            (60..=140).contains(&changed),
            "{changed} of 2000, 100 expected"
        );
    }
}
