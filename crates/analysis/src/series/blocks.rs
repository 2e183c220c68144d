//! The same blocks, however the quanta come: a recording's row groups end where its parts did, and those end where the clock on the wall said.
//!
//! What lies beyond a block's end is not known to a detector, so blocks that end elsewhere may change the last digits of what it
//! says. Here they end at multiples of [`BLOCK`] from the start of their segment, and at its end.

use crate::series::derive::BLOCK;
use bandscope_recording::{Chunk, Quanta};

/// Gathers quanta until a block is full.
#[derive(Debug, Default)]
pub struct Blocks {
    /// The block under way, of one segment, shorter than [`BLOCK`].
    waiting: Quanta,
}

impl Blocks {
    /// Hands out as many whole blocks as there are, and what waits of an earlier segment.
    pub fn feed(&mut self, chunk: Chunk<'_>, visit: &mut dyn FnMut(Chunk<'_>)) {
        if self
            .waiting
            .segment
            .first()
            .is_some_and(|&segment| segment != chunk.segment)
        {
            self.finish(visit);
        }
        let mut from = 0;
        if !self.waiting.is_empty() {
            from = (BLOCK - self.waiting.len()).min(chunk.len());
            self.waiting.extend_from_chunk(&chunk.slice(0, from));
            if self.waiting.len() == BLOCK {
                self.finish(visit);
            }
        }
        let whole = (chunk.len() - from) / BLOCK * BLOCK;
        if whole > 0 {
            visit(chunk.slice(from, from + whole));
        }
        self.waiting
            .extend_from_chunk(&chunk.slice(from + whole, chunk.len()));
    }

    /// Hands out what waits: nothing more comes.
    pub fn finish(&mut self, visit: &mut dyn FnMut(Chunk<'_>)) {
        self.waiting.for_each_chunk(visit);
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::Quantum;

    /// Segments, starts and lengths of what is handed out.
    fn handed_out(pieces: impl Iterator<Item = usize>) -> Vec<(u32, u64, usize)> {
        let mut quanta = Quanta::default();
        for start in 0..25_000_u32 {
            let segment = start / 10_000;
            let start = u64::from(start);
            quanta.push(Quantum {
                start,
                segment,
                ..Quantum::default()
            });
        }
        let (mut blocks, mut seen) = (Blocks::default(), Vec::new());
        let mut visit = |chunk: Chunk<'_>| {
            assert_eq!(chunk.start.len(), chunk.cpu.len());
            for from in (0..chunk.len()).step_by(BLOCK) {
                let block = chunk.slice(from, (from + BLOCK).min(chunk.len()));
                seen.push((block.segment, block.start[0], block.len()));
            }
        };
        let (mut from, mut pieces) = (0, pieces);
        while from < quanta.len() {
            let to = (from + pieces.next().unwrap()).min(quanta.len());
            let mut piece = Quanta::default();
            piece.extend_from(&quanta, from..to);
            piece.for_each_chunk(&mut |chunk| blocks.feed(chunk, &mut visit));
            from = to;
        }
        blocks.finish(&mut visit);
        seen
    }

    #[test]
    fn blocks_end_where_they_end_however_quanta_come() {
        let whole = handed_out(std::iter::repeat(25_000));
        let (first, rest) = (
            whole.iter().map(|block| block.2).sum::<usize>(),
            whole.len(),
        );
        assert_eq!((first, rest), (25_000, 8));
        assert_eq!(whole[1], (0, 4096, 4096));
        assert_eq!(whole[3], (1, 10_000, 4096));
        for length in [1, 7, 4095, 4096, 4097, 9000] {
            assert_eq!(handed_out(std::iter::repeat(length)), whole, "{length}");
        }
        assert_eq!(handed_out((1..).map(|k| k * 37 % 5000 + 1)), whole);
    }
}
