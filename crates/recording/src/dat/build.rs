//! Rows of a `.dat` file into quanta: the end of each is the start of the next.

use crate::dat::scan::Item;
use crate::{Quanta, Quantum};

/// Quanta handed out at a time: their columns stay within a second-level cache.
const CHUNK_ROWS: usize = 8192;
/// The largest number of a segment that a recording can hold.
const MAX_SEGMENT: u32 = i32::MAX as u32;

/// The number of the segment that a comment says begins here.
pub fn segment_mark(comment: &[u8]) -> Option<u32> {
    let number = comment.strip_prefix(b"Segment ")?;
    std::str::from_utf8(number).ok()?.trim().parse().ok()
}

/// Gathers rows and hands out quanta.
pub struct Builder<'a> {
    quanta: Quanta,
    /// Start and count of the last row, whose end is not known yet.
    open: Option<(u64, u32)>,
    segment: u32,
    /// The segment that begins with the next row.
    next_segment: Option<u32>,
    first_time: u64,
    nominal_ns: u64,
    visit: &'a mut dyn FnMut(&Quanta),
}

impl<'a> Builder<'a> {
    /// A builder that counts time from `first_time`.
    pub fn new(first_time: u64, rate_hz: f64, visit: &'a mut dyn FnMut(&Quanta)) -> Builder<'a> {
        Builder {
            quanta: Quanta::default(),
            open: None,
            segment: 0,
            next_segment: None,
            first_time,
            nominal_ns: (1e9 / rate_hz).round() as u64,
            visit,
        }
    }

    /// Takes the next row or comment.
    pub fn take(&mut self, item: Item<'_>) {
        match item {
            Item::Row(time, count) => self.row(time - self.first_time, count),
            Item::Comment(comment) => {
                if let Some(mark) = segment_mark(comment) {
                    self.mark(mark);
                }
            }
        }
    }

    /// This segment begins with the next row.
    pub fn mark(&mut self, segment: u32) {
        self.next_segment = Some(segment.min(MAX_SEGMENT));
    }

    /// Takes rows with no comment between.
    pub fn rows(&mut self, times: &[u64], counts: &[u32]) {
        let ([time, ..], [count, ..]) = (times, counts) else {
            return;
        };
        self.row(time - self.first_time, *count);
        // All but the first end a quantum of this segment.
        let mut from = 0;
        while from + 1 < times.len() {
            let room = CHUNK_ROWS - self.quanta.len();
            let to = (from + room).min(times.len() - 1);
            self.quanta.extend_timed(
                &times[from..=to],
                self.first_time,
                &counts[from..to],
                self.segment,
            );
            self.hand_out_full();
            from = to;
        }
        self.open = Some((times[from] - self.first_time, counts[from]));
    }

    fn row(&mut self, start: u64, count: u32) {
        let last = self.open.replace((start, count));
        match (last, self.next_segment.take()) {
            (Some((last, count)), None) => self.push(last, start, count),
            (Some((last, count)), Some(segment)) => {
                self.push(last, start.min(self.nominal_end(last)), count);
                let following = self.segment.saturating_add(1).min(MAX_SEGMENT);
                self.segment = segment.max(following);
            }
            (None, segment) => self.segment = segment.unwrap_or(0),
        }
    }

    /// Ends the last quantum and hands out what is left.
    pub fn finish(mut self) {
        if let Some((last, count)) = self.open.take() {
            self.push(last, self.nominal_end(last), count);
        }
        if !self.quanta.is_empty() {
            (self.visit)(&self.quanta);
        }
    }

    fn nominal_end(&self, start: u64) -> u64 {
        start.saturating_add(self.nominal_ns)
    }

    fn push(&mut self, start: u64, end: u64, count: u32) {
        self.quanta.push(Quantum {
            start,
            end,
            count,
            segment: self.segment,
            ..Quantum::default()
        });
        self.hand_out_full();
    }

    fn hand_out_full(&mut self) {
        if self.quanta.len() == CHUNK_ROWS {
            (self.visit)(&self.quanta);
            self.quanta.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many rows at once, and one after another, with marks and beyond several chunks.
    #[test]
    fn rows_are_the_same_at_once_and_one_by_one() {
        let times: Vec<u64> = (0..30_000).map(|k| 700 + k * k % 7 + k * 100_000).collect();
        let counts: Vec<u32> = (0..30_000).map(|k| k % 11).collect();
        let handed_out = |at_once: bool| {
            let mut chunks: Vec<Quanta> = Vec::new();
            let mut visit = |quanta: &Quanta| chunks.push(quanta.clone());
            let mut builder = Builder::new(700, 1e4, &mut visit);
            let mut from = 0;
            for (to, segment) in [
                (0, 3),
                (1, 4),
                (2, 9),
                (8_193, 10),
                (20_000, 12),
                (30_000, 0),
            ] {
                let (times, counts) = (&times[from..to], &counts[from..to]);
                match at_once {
                    true => builder.rows(times, counts),
                    false => (times.iter().zip(counts))
                        .for_each(|(&time, &count)| builder.take(Item::Row(time, count))),
                }
                builder.mark(segment);
                from = to;
            }
            builder.finish();
            chunks
        };
        let chunks = handed_out(true);
        assert_eq!(chunks, handed_out(false));
        let rows: usize = chunks.iter().map(Quanta::len).sum();
        assert_eq!((rows, chunks[0].len()), (30_000, CHUNK_ROWS));
    }
}
