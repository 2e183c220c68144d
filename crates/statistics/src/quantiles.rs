//! A distribution of whole numbers in bounded memory: hdrhistogram (Gil Tene) that grows to any value.

use hdrhistogram::Histogram;

/// Values known to a number of decimal digits.
#[derive(Clone, Debug)]
pub struct Distribution {
    histogram: Histogram<u64>,
    highest: u64,
}

impl Distribution {
    /// Empty; values will be known to `digits` (at most 5) decimal digits.
    pub fn new(digits: u8) -> Distribution {
        let mut histogram = Histogram::new(digits.min(5))
            .unwrap_or_else(|_| unreachable!("0 to 5 digits are allowed"));
        // Not `saturating_record`: that cuts values to the size the histogram has and does not grow it.
        histogram.auto(true);
        Distribution {
            histogram,
            highest: 0,
        }
    }

    /// Notes `value` so many times.
    pub fn record(&mut self, value: u64, times: u64) {
        // A histogram that resizes itself has room for every u64.
        let _ = self.histogram.record_n(value, times);
        self.highest = self.highest.max(value);
    }

    /// How many values there are.
    pub fn len(&self) -> u64 {
        self.histogram.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    /// Highest value, exact.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// The value below which `share` of the values lie; 0 if there are none.
    pub fn quantile(&self, share: f64) -> f64 {
        self.histogram.value_at_quantile(share).min(self.highest) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_size_are_kept() {
        let mut distribution = Distribution::new(3);
        distribution.record(5, 3);
        distribution.record(u64::MAX / 2, 1);
        distribution.record(u64::MAX, 1);
        assert_eq!((distribution.len(), distribution.highest()), (5, u64::MAX));
        assert_eq!(distribution.quantile(0.5), 5.0);
        let second = distribution.quantile(0.8) / (u64::MAX as f64 / 2.0);
        assert!((second - 1.0).abs() < 2e-3, "{second}");
    }
}
