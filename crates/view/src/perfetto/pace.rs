//! Pace as a counter: a point a quantum, or the fastest and the slowest of several where there are too many.

use super::Frame;
use super::trace::{Name, Trace, Track, Value};
use bandscope_recording::{Chunk, Error, Source};

/// Points of a series: 105 s at 10 kHz, 25 MB of the file.
pub const MOST_POINTS: u64 = 1 << 20;

/// Quanta that share two points, so that a series of so many keeps within `most`; 1 where each has its own.
pub fn block(quanta: u64, most: u64) -> u64 {
    if quanta <= most {
        1
    } else {
        quanta.div_ceil((most / 2).max(1))
    }
}

/// Writes the pace of a series, and when it was measured.
pub struct Pace<'t, 'o> {
    frame: Frame,
    trace: &'t mut Trace<'o>,
    pace: Track,
    measured: Track,
    block: u64,
    /// Quanta of the block under way, and its fastest and slowest: when, and ns per unit.
    in_block: u64,
    extremes: Option<[(u64, f64); 2]>,
    /// The segment under way, and where its last quantum ended.
    segment: Option<(u32, u64)>,
}

impl<'t, 'o> Pace<'t, 'o> {
    /// With a point for two times so many quanta.
    pub fn new(
        frame: &Frame,
        trace: &'t mut Trace<'o>,
        pace: Track,
        measured: Track,
        block: u64,
    ) -> Pace<'t, 'o> {
        Pace {
            frame: *frame,
            trace,
            pace,
            measured,
            block,
            in_block: 0,
            extremes: None,
            segment: None,
        }
    }

    /// Writes series `index`.
    pub fn write(mut self, source: &dyn Source, index: usize) -> Result<(), Error> {
        source.replay_quanta(index, &mut |chunk| self.push(&chunk))?;
        self.close();
        Ok(())
    }

    fn push(&mut self, chunk: &Chunk<'_>) {
        let (Some(start), Some(end)) = (chunk.start.first(), chunk.end.last()) else {
            return;
        };
        if self
            .segment
            .is_none_or(|segment| segment.0 != chunk.segment)
        {
            self.close();
            let name = format!("segment {}", chunk.segment);
            self.trace
                .begin(self.measured, self.frame.ns(*start), &name, &[]);
        }
        self.segment = Some((chunk.segment, *end));
        for index in 0..chunk.len() {
            let quantum = chunk.get(index);
            // A quantum that the CPU was away for has no pace.
            if let Some(pace) = quantum.pace() {
                self.point(self.frame.ns(quantum.start), pace / self.frame.ticks_per_ns);
            }
            self.in_block += 1;
            if self.in_block == self.block {
                self.flush();
            }
        }
    }

    fn point(&mut self, at: u64, pace: f64) {
        let [fastest, slowest] = self.extremes.get_or_insert([(at, pace); 2]);
        if pace < fastest.1 {
            *fastest = (at, pace);
        }
        if pace > slowest.1 {
            *slowest = (at, pace);
        }
    }

    fn flush(&mut self) {
        self.in_block = 0;
        let Some(mut points) = self.extremes.take() else {
            return;
        };
        points.sort_unstable_by_key(|point| point.0);
        self.trace.count(self.pace, points[0].0, points[0].1);
        if points[1] != points[0] {
            self.trace.count(self.pace, points[1].0, points[1].1);
        }
    }

    /// The segment under way, if any, ends.
    fn close(&mut self) {
        self.flush();
        if let Some((_, end)) = self.segment.take() {
            self.trace.end(self.measured, self.frame.ns(end));
        }
    }
}

/// What is to be known of how many points there are.
pub fn arguments(quanta: u64, block: u64) -> [(Name, Value<'static>); 3] {
    [
        (Name::Quanta, Value::Uint(quanta)),
        (Name::Decimated, Value::Bool(block > 1)),
        (Name::QuantaAPoint, Value::Uint(block)),
    ]
}
