//! The rows of a file that is small enough to be kept, so that it is read once.

use crate::dat::build::{Builder, segment_mark};
use crate::dat::scan::Item;

/// Rows that are kept at most: 12 MiB.
const ROWS: usize = 1 << 20;

/// Rows in order, and where segments begin.
#[derive(Debug, Default)]
pub struct Rows {
    /// Nanoseconds, as printed.
    pub times: Vec<u64>,
    /// The count of each.
    pub counts: Vec<u32>,
    /// Row before which a mark stands, and the segment that it names.
    marks: Vec<(usize, u32)>,
}

impl Rows {
    /// A segment begins with the next row. Of several marks before one row the last counts.
    pub fn mark(&mut self, row: usize, segment: u32) {
        self.marks.pop_if(|mark| mark.0 == row);
        self.marks.push((row, segment));
    }

    fn replay(&self, builder: &mut Builder<'_>) {
        let mut from = 0;
        for &(to, segment) in &self.marks {
            builder.rows(&self.times[from..to], &self.counts[from..to]);
            builder.mark(segment);
            from = to;
        }
        builder.rows(&self.times[from..], &self.counts[from..]);
    }
}

/// The rows of a whole file, or none.
#[derive(Debug, Default)]
pub struct Kept {
    pieces: Vec<Rows>,
    number: usize,
    too_many: bool,
}

impl Kept {
    /// Takes the rows that follow.
    pub fn add(&mut self, rows: Rows) {
        if self.has_room_for(rows.times.len()) {
            self.pieces.push(rows);
        }
    }

    /// Takes the next row or comment.
    pub fn take(&mut self, item: Item<'_>) {
        let is_row = matches!(item, Item::Row(..));
        if !self.has_room_for(usize::from(is_row)) {
            return;
        }
        if self.pieces.is_empty() {
            self.pieces.push(Rows::default());
        }
        let Some(rows) = self.pieces.last_mut() else {
            return;
        };
        match item {
            Item::Row(time, count) => {
                rows.times.push(time);
                rows.counts.push(count);
            }
            Item::Comment(comment) => {
                if let Some(segment) = segment_mark(comment) {
                    rows.mark(rows.times.len(), segment);
                }
            }
        }
    }

    /// Counts them in; forgets all where they are too many.
    fn has_room_for(&mut self, rows: usize) -> bool {
        self.number += rows;
        if self.number > ROWS && !self.too_many {
            *self = Kept {
                too_many: true,
                ..Kept::default()
            };
        }
        !self.too_many
    }

    /// Whether these are all rows of the file.
    pub fn is_whole(&self) -> bool {
        !self.too_many
    }

    /// Hands the same rows and marks to `builder`.
    pub fn replay(&self, builder: &mut Builder<'_>) {
        self.pieces.iter().for_each(|rows| rows.replay(builder));
    }
}
