//! The rows of a file that is small enough to be kept, so that it is read once.

use crate::dat::build::{Builder, segment_mark};
use crate::dat::scan::Item;

/// Rows that are kept at most: 12 MiB.
const ROWS: usize = 1 << 20;

/// Rows, and where segments begin.
#[derive(Debug, Default)]
pub struct Kept {
    times: Vec<u64>,
    counts: Vec<u32>,
    /// Row before which a mark stands, and the segment that it names.
    marks: Vec<(usize, u32)>,
    too_many: bool,
}

impl Kept {
    /// Takes the next row or comment.
    pub fn take(&mut self, item: Item<'_>) {
        match item {
            _ if self.too_many => {}
            Item::Row(time, count) if self.times.len() < ROWS => {
                self.times.push(time);
                self.counts.push(count);
            }
            Item::Row(..) => {
                *self = Kept {
                    too_many: true,
                    ..Kept::default()
                }
            }
            Item::Comment(comment) => {
                if let Some(segment) = segment_mark(comment) {
                    let row = self.times.len();
                    // Of several marks before one row the last counts.
                    self.marks.pop_if(|mark| mark.0 == row);
                    self.marks.push((row, segment));
                }
            }
        }
    }

    /// Whether these are all rows of the file.
    pub fn is_whole(&self) -> bool {
        !self.too_many
    }

    /// Hands the same rows and marks to `builder`.
    pub fn replay(&self, builder: &mut Builder<'_>) {
        let mut from = 0;
        for &(to, segment) in &self.marks {
            self.rows(from..to, builder);
            builder.mark(segment);
            from = to;
        }
        self.rows(from..self.times.len(), builder);
    }

    fn rows(&self, range: std::ops::Range<usize>, builder: &mut Builder<'_>) {
        let times = &self.times[range.clone()];
        for (&time, &count) in times.iter().zip(&self.counts[range]) {
            builder.take(Item::Row(time, count));
        }
    }
}
