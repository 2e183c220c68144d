//! Keeps intervals within one another while they are put on another clock piece by piece.
//!
//! The line from clock to clock is drawn anew each time, and a new line puts a time a tick or two beside where the one
//! before would have. An interval that ended at some tick then seems to reach into the next.

/// What was placed so far on one CPU.
#[derive(Clone, Debug, Default)]
pub struct Placed {
    last_start: u64,
    /// Ends of what may hold the next interval, outermost first.
    ends: Vec<u64>,
}

impl Placed {
    /// Start and end of the next interval, in order of the starts, moved by as little as it takes.
    pub fn place(&mut self, start: u64, end: u64) -> (u64, u64) {
        let mut start = start.max(self.last_start);
        let mut end = end.max(start);
        self.ends.retain(|&outer| outer > start);
        while let Some(&outer) = self.ends.last() {
            if end <= outer {
                break;
            }
            if outer - start < end - outer {
                // It follows, as far as can be told.
                start = outer;
                self.ends.pop();
            } else {
                end = outer;
            }
        }
        self.last_start = start;
        self.ends.push(end);
        (start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_follows_and_what_lies_within_does() {
        let mut placed = Placed::default();
        assert_eq!(placed.place(10, 100), (10, 100));
        assert_eq!(placed.place(20, 40), (20, 40));
        assert_eq!(placed.place(39, 60), (40, 60), "a tick early");
        assert_eq!(placed.place(70, 101), (70, 100), "a tick late");
        assert_eq!(placed.place(99, 200), (100, 200), "after both");
        assert_eq!(placed.place(90, 95), (100, 100), "never back");
        assert_eq!(placed.place(300, 300), (300, 300));
        assert_eq!(placed.ends, [300]);
    }
}
