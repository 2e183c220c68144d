//! Quanta: the counts of the measuring loop and the times that bound them.
//!
//! Times are ticks of the recording's clock since its origin ([`crate::manifest::Clock`] turns them into
//! nanoseconds). A quantum ends where the next one of its segment starts, so within a segment
//! `start[k + 1] == end[k]`, and a segment's wall time is the sum of its quanta to the tick.

/// A quantum: the units that were completed between two values of the clock.
///
/// `end - start == present + gap_ticks + measurement_ticks`, where `present` is the time of the
/// `count - gaps` units during which the CPU was here; so the pace of a quantum is
/// `present / (count - gaps)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quantum {
    /// First tick of the quantum: the end of the quantum before it.
    pub start: u64,
    /// End of the first unit that completed at or after the deadline.
    pub end: u64,
    /// Units completed, those that contain a gap included.
    pub count: u32,
    /// How many of those units contain a gap.
    pub gaps: u32,
    /// Total duration of the units that contain a gap, in ticks.
    pub gap_ticks: u64,
    /// Time that bandscope spent on itself inside the quantum (reading counters), in ticks.
    pub measurement_ticks: u64,
    /// CPU on which the quantum ended.
    pub cpu: u32,
    /// Segment of the run, numbered from 0 in order of time.
    pub segment: u32,
}

impl Quantum {
    /// Length of the quantum in ticks.
    pub fn length(&self) -> u64 {
        self.end - self.start
    }

    /// Ticks of the units during which the CPU was here.
    pub fn present(&self) -> u64 {
        self.length()
            .saturating_sub(self.gap_ticks)
            .saturating_sub(self.measurement_ticks)
    }

    /// Pace in ticks per unit; `None` where no unit completed without a gap.
    pub fn pace(&self) -> Option<f64> {
        let units = self.count.checked_sub(self.gaps).filter(|&n| n > 0)?;
        Some(self.present() as f64 / f64::from(units))
    }
}

/// Quanta as columns of equal length, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the columns are the fields of `Quantum`")]
pub struct Quanta {
    pub start: Vec<u64>,
    pub end: Vec<u64>,
    pub count: Vec<u32>,
    pub gaps: Vec<u32>,
    pub gap_ticks: Vec<u64>,
    pub measurement_ticks: Vec<u64>,
    pub cpu: Vec<u32>,
    pub segment: Vec<u32>,
}

impl Quanta {
    /// Number of quanta.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// Forgets the quanta and keeps the memory.
    pub fn clear(&mut self) {
        self.start.clear();
        self.end.clear();
        self.count.clear();
        self.gaps.clear();
        self.gap_ticks.clear();
        self.measurement_ticks.clear();
        self.cpu.clear();
        self.segment.clear();
    }

    /// Appends the quanta of `other` at the indices of `range`.
    ///
    /// # Panics
    /// If `range` is not within `other`.
    pub fn extend_from(&mut self, other: &Quanta, range: std::ops::Range<usize>) {
        self.start.extend_from_slice(&other.start[range.clone()]);
        self.end.extend_from_slice(&other.end[range.clone()]);
        self.count.extend_from_slice(&other.count[range.clone()]);
        self.gaps.extend_from_slice(&other.gaps[range.clone()]);
        self.gap_ticks
            .extend_from_slice(&other.gap_ticks[range.clone()]);
        self.measurement_ticks
            .extend_from_slice(&other.measurement_ticks[range.clone()]);
        self.cpu.extend_from_slice(&other.cpu[range.clone()]);
        self.segment.extend_from_slice(&other.segment[range]);
    }

    /// Appends the quanta of `chunk`.
    pub fn extend_from_chunk(&mut self, chunk: &Chunk<'_>) {
        self.start.extend_from_slice(chunk.start);
        self.end.extend_from_slice(chunk.end);
        self.count.extend_from_slice(chunk.count);
        self.gaps.extend_from_slice(chunk.gaps);
        self.gap_ticks.extend_from_slice(chunk.gap_ticks);
        self.measurement_ticks
            .extend_from_slice(chunk.measurement_ticks);
        self.cpu.extend_from_slice(chunk.cpu);
        self.segment.resize(self.start.len(), chunk.segment);
    }

    /// Appends quanta of one segment of which nothing is known but counts, and the times, since `origin`, between which they lie.
    pub(crate) fn extend_timed(
        &mut self,
        times: &[u64],
        origin: u64,
        counts: &[u32],
        segment: u32,
    ) {
        let since = |times: &[u64], column: &mut Vec<u64>| {
            column.extend(times.iter().map(|time| time - origin));
        };
        since(&times[..counts.len()], &mut self.start);
        since(&times[1..], &mut self.end);
        self.count.extend_from_slice(counts);
        let rows = self.count.len();
        self.gaps.resize(rows, 0);
        self.gap_ticks.resize(rows, 0);
        self.measurement_ticks.resize(rows, 0);
        self.cpu.resize(rows, 0);
        self.segment.resize(rows, segment);
    }

    /// Appends one quantum.
    pub fn push(&mut self, quantum: Quantum) {
        self.start.push(quantum.start);
        self.end.push(quantum.end);
        self.count.push(quantum.count);
        self.gaps.push(quantum.gaps);
        self.gap_ticks.push(quantum.gap_ticks);
        self.measurement_ticks.push(quantum.measurement_ticks);
        self.cpu.push(quantum.cpu);
        self.segment.push(quantum.segment);
    }

    /// The quantum at `index`.
    ///
    /// # Panics
    /// If `index` is not below [`Quanta::len`].
    pub fn get(&self, index: usize) -> Quantum {
        Quantum {
            start: self.start[index],
            end: self.end[index],
            count: self.count[index],
            gaps: self.gaps[index],
            gap_ticks: self.gap_ticks[index],
            measurement_ticks: self.measurement_ticks[index],
            cpu: self.cpu[index],
            segment: self.segment[index],
        }
    }

    /// Calls `visit` with one chunk per run of quanta of the same segment, in order.
    pub fn for_each_chunk(&self, visit: &mut dyn FnMut(Chunk<'_>)) {
        let mut from = 0;
        while from < self.len() {
            let segment = self.segment[from];
            let length = self.segment[from..].partition_point(|&other| other == segment);
            let range = from..from + length;
            visit(Chunk {
                segment,
                start: &self.start[range.clone()],
                end: &self.end[range.clone()],
                count: &self.count[range.clone()],
                gaps: &self.gaps[range.clone()],
                gap_ticks: &self.gap_ticks[range.clone()],
                measurement_ticks: &self.measurement_ticks[range.clone()],
                cpu: &self.cpu[range],
            });
            from += length;
        }
    }
}

/// Some consecutive quanta of one segment: what an analysis is fed with.
///
/// All slices have the same length, which is never 0. A segment may come in several chunks.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the columns are the fields of `Quantum`")]
pub struct Chunk<'a> {
    pub segment: u32,
    pub start: &'a [u64],
    pub end: &'a [u64],
    pub count: &'a [u32],
    pub gaps: &'a [u32],
    pub gap_ticks: &'a [u64],
    pub measurement_ticks: &'a [u64],
    pub cpu: &'a [u32],
}

impl<'a> Chunk<'a> {
    /// Those from `from` up to `to`.
    ///
    /// # Panics
    /// Where it has fewer.
    pub fn slice(&self, from: usize, to: usize) -> Chunk<'a> {
        Chunk {
            segment: self.segment,
            start: &self.start[from..to],
            end: &self.end[from..to],
            count: &self.count[from..to],
            gaps: &self.gaps[from..to],
            gap_ticks: &self.gap_ticks[from..to],
            measurement_ticks: &self.measurement_ticks[from..to],
            cpu: &self.cpu[from..to],
        }
    }

    /// Number of quanta.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there is none; a chunk that is handed out never is.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// The quantum at `index`.
    ///
    /// # Panics
    /// If `index` is not below [`Chunk::len`].
    pub fn get(&self, index: usize) -> Quantum {
        Quantum {
            start: self.start[index],
            end: self.end[index],
            count: self.count[index],
            gaps: self.gaps[index],
            gap_ticks: self.gap_ticks[index],
            measurement_ticks: self.measurement_ticks[index],
            cpu: self.cpu[index],
            segment: self.segment,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_never_cross_a_segment() {
        let mut quanta = Quanta::default();
        for (k, segment) in [0, 0, 1, 3, 3, 3].into_iter().enumerate() {
            quanta.push(Quantum {
                start: k as u64,
                end: k as u64 + 1,
                segment,
                ..Quantum::default()
            });
        }
        let mut seen = Vec::new();
        quanta.for_each_chunk(&mut |chunk| seen.push((chunk.segment, chunk.start.to_vec())));
        assert_eq!(seen, [(0, vec![0, 1]), (1, vec![2]), (3, vec![3, 4, 5])]);
    }

    #[test]
    fn pace_leaves_out_gaps_and_the_measurement() {
        let quantum = Quantum {
            start: 1000,
            end: 2000,
            count: 11,
            gaps: 1,
            gap_ticks: 450,
            measurement_ticks: 50,
            ..Quantum::default()
        };
        assert_eq!(quantum.pace(), Some(50.0));
    }
}
