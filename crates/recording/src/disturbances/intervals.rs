//! Spans of time, and how much of another span they cover: pure arithmetic in ticks.

/// Disjoint spans in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    /// First and last tick of each: none touches the next.
    spans: Vec<(u64, u64)>,
    /// Ticks in all spans before each, and in all of them at the end.
    sums: Vec<u64>,
}

impl Intervals {
    /// The union of `spans`, first and last tick of each, in any order; those that end before they start are left out.
    pub fn new(spans: impl IntoIterator<Item = (u64, u64)>) -> Intervals {
        let mut sorted: Vec<(u64, u64)> = spans
            .into_iter()
            .filter(|(start, end)| start < end)
            .collect();
        sorted.sort_unstable();
        let mut spans: Vec<(u64, u64)> = Vec::with_capacity(sorted.len());
        for (start, end) in sorted {
            match spans.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => spans.push((start, end)),
            }
        }
        let mut sum = 0;
        let mut sums = vec![0];
        for (start, end) in &spans {
            sum += end - start;
            sums.push(sum);
        }
        Intervals { spans, sums }
    }

    /// First tick and first tick after each span, ascending and apart.
    pub fn spans(&self) -> &[(u64, u64)] {
        &self.spans
    }

    /// Ticks in all of them together.
    pub fn total(&self) -> u64 {
        self.sums.last().copied().unwrap_or(0)
    }

    /// How many ticks from `start` to `end` they cover.
    pub fn within(&self, start: u64, end: u64) -> u64 {
        self.before(end).saturating_sub(self.before(start))
    }

    /// Ticks that they cover before `tick`.
    fn before(&self, tick: u64) -> u64 {
        let begun = self.spans.partition_point(|span| span.0 < tick);
        let Some(last) = begun.checked_sub(1) else {
            return 0;
        };
        let (start, end) = self.spans[last];
        self.sums[last] + tick.min(end) - start
    }

    /// The same spans in ticks since `origin`; what lies before it is cut off.
    pub fn since(&self, origin: u64) -> Intervals {
        let shifted = self.spans.iter();
        Intervals::new(
            shifted.map(|(start, end)| (start.saturating_sub(origin), end.saturating_sub(origin))),
        )
    }

    /// What these or others cover.
    pub fn union(&self, others: &Intervals) -> Intervals {
        Intervals::new(self.spans.iter().chain(&others.spans).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_span_is_covered_by_its_parts() {
        let intervals = Intervals::new([(30, 40), (10, 20), (15, 25), (7, 7), (9, 3)]);
        assert_eq!(intervals.spans(), [(10, 25), (30, 40)]);
        assert_eq!(intervals.total(), 25);
        assert_eq!(intervals.within(0, 100), 25);
        assert_eq!(intervals.within(12, 32), 15);
        assert_eq!(intervals.within(25, 30), 0);
        assert_eq!(intervals.within(32, 12), 0);
        assert_eq!(intervals.since(15).spans(), [(0, 10), (15, 25)]);
        assert_eq!(Intervals::default().within(0, u64::MAX), 0);
    }

    proptest! {
        /// Against counting tick by tick.
        #[test]
        fn coverage_is_that_of_every_tick(
            spans in prop::collection::vec((0u64..200, 0u64..60), 0..20),
            more in prop::collection::vec((0u64..200, 0u64..60), 0..5),
            start in 0u64..260, length in 0u64..260, origin in 0u64..100,
        ) {
            let ends = |spans: &[(u64, u64)]| -> Vec<(u64, u64)> {
                spans.iter().map(|(start, length)| (*start, start + length)).collect()
            };
            let (spans, more) = (ends(&spans), ends(&more));
            let covered = |tick: u64| spans.iter().any(|span| (span.0..span.1).contains(&tick));
            let also = |tick: u64| more.iter().any(|span| (span.0..span.1).contains(&tick));
            let end = start + length;
            let intervals = Intervals::new(spans.iter().copied());
            let count = (start..end).filter(|tick| covered(*tick)).count() as u64;
            prop_assert_eq!(intervals.within(start, end), count);
            let count = (start..end).filter(|tick| covered(tick + origin)).count() as u64;
            prop_assert_eq!(intervals.since(origin).within(start, end), count);
            let both = intervals.union(&Intervals::new(more.iter().copied()));
            let count = (start..end).filter(|tick| covered(*tick) || also(*tick)).count() as u64;
            prop_assert_eq!(both.within(start, end), count);
            prop_assert!(both.spans().windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}
