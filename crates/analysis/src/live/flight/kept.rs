//! Stretches of time that are kept, and the segments that their quanta become.

use bandscope_recording::{Gap, Quanta};
use std::collections::{BTreeMap, VecDeque};

/// Segments whose numbers are remembered: those of the stretches under way.
const MOST_SEGMENTS: usize = 1024;

/// The quanta that have time. Those that follow an absence, while the grid catches up, have none and tell nothing; one of minutes has millions.
pub fn with_time(quanta: &Quanta) -> Quanta {
    let mut some = Quanta::default();
    let has_time = |&index: &usize| quanta.end[index] > quanta.start[index];
    for index in (0..quanta.len()).filter(has_time) {
        some.extend_from(quanta, index..index + 1);
    }
    some
}

/// A stretch, from a tick up to another.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: u64,
    to: u64,
    /// Its number, in order of coming up.
    number: u32,
}

/// The stretches that are kept, in order of time, none overlapping the next.
#[derive(Debug, Default)]
pub struct Kept {
    stretches: VecDeque<Stretch>,
    number: u32,
    /// The segment that the quanta of a stretch and a segment of the run become.
    segments: BTreeMap<(u32, u32), u32>,
    next_segment: u32,
}

impl Kept {
    /// Keeps a stretch; what it overlaps becomes one with it.
    pub fn add(&mut self, from: u64, to: u64) {
        let first = self.stretches.partition_point(|one| one.to < from);
        let beyond = self.stretches.partition_point(|one| one.from <= to);
        let mut stretch = Stretch {
            from,
            to,
            number: self.number,
        };
        self.number += 1;
        for one in self.stretches.drain(first..beyond) {
            stretch = Stretch {
                from: stretch.from.min(one.from),
                to: stretch.to.max(one.to),
                // What was handed out of it has this number.
                number: stretch.number.min(one.number),
            };
        }
        self.stretches.insert(first, stretch);
    }

    /// Forgets stretches that ended before `until`.
    pub fn forget(&mut self, until: u64) {
        while self.stretches.pop_front_if(|one| one.to < until).is_some() {}
    }

    fn stretch(&self, from: u64, to: u64) -> Option<Stretch> {
        let place = self.stretches.partition_point(|one| one.to <= from);
        self.stretches
            .get(place)
            .filter(|one| one.from < to)
            .copied()
    }

    /// Whether some of the time from one tick up to another is kept.
    pub fn holds(&self, from: u64, to: u64) -> bool {
        self.stretch(from, to).is_some()
    }

    /// The quanta that are kept, and the gaps in them.
    pub fn of(&mut self, quanta: &Quanta, gaps: &[Gap]) -> (Quanta, Vec<Gap>) {
        let (mut kept, mut gaps_kept) = (Quanta::default(), Vec::new());
        for index in 0..quanta.len() {
            let (start, end) = (quanta.start[index], quanta.end[index]);
            // A catch-up quantum of no length goes with the one before it.
            let Some(stretch) = self.stretch(start, end.max(start + 1)) else {
                continue;
            };
            let segment = self.segment(stretch.number, quanta.segment[index]);
            kept.extend_from(quanta, index..index + 1);
            kept.segment.pop();
            kept.segment.push(segment);
            let from = gaps.partition_point(|gap| gap.start < start);
            let to = gaps.partition_point(|gap| gap.start < end);
            let mine = gaps[from..to.max(from)].iter();
            gaps_kept.extend(mine.map(|gap| Gap { segment, ..*gap }));
        }
        (kept, gaps_kept)
    }

    /// Numbers grow with time on each CPU, and are those of the stretch on all.
    fn segment(&mut self, stretch: u32, of_run: u32) -> u32 {
        if self.segments.len() >= MOST_SEGMENTS {
            self.segments.pop_first();
        }
        let next = &mut self.next_segment;
        *self.segments.entry((stretch, of_run)).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }
}
