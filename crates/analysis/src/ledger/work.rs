//! Work over time: a series as stretches of work and of lost time, in order, as the ledger books them.
//!
//! What a job of fixed work waits for is read from this curve and not from windows of fixed time (docs/method.md, section 10.5). Quanta come
//! with their paces from [`Deriver`], gaps with their causes from [`named`]; the two are read side by side, so that memory does not grow with
//! the length of the run. A gap's loss is that of the ledger: its duration without the unit of work that was done in it.

use crate::gaps::named;
use crate::series::blocks::Blocks;
use crate::series::context::Context;
use crate::series::derive::{Derived, Deriver};
use bandscope_recording::{Chunk, Error, Source};
use bandscope_report::Cause;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Gaps that are handed over at a time, and such batches that may wait.
const BATCH: usize = 1024;
const BATCHES: usize = 4;

/// A part of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Piece {
    /// Time passed between this and what came before, unmeasured.
    Break {
        /// Where it ends, in nanoseconds since the recording began.
        at_ns: f64,
    },
    /// The measurement took time, which a job without bandscope does not lose.
    Own {
        /// How long.
        ns: f64,
    },
    /// Work was done.
    Run {
        /// How long it took.
        ns: f64,
        /// How long it takes at the reference pace; more than `ns` where it was faster.
        work_ns: f64,
    },
    /// No work was done.
    Lost {
        /// How long.
        ns: f64,
        /// What it was booked to, as the caller numbered it.
        cause: usize,
    },
}

/// Hands out the pieces of series `index` in order of time. `best_ns` is the reference pace in nanoseconds per unit; `number` gives each cause
/// its number.
///
/// # Errors
/// If the quanta, the gaps or the events cannot be read.
pub fn each(
    source: &dyn Source,
    index: usize,
    best_ns: f64,
    number: &(dyn Fn(&Cause) -> usize + Sync),
    visit: &mut dyn FnMut(Piece),
) -> Result<(), Error> {
    let context = Context::new(source.manifest(), &source.series()[index]);
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(BATCHES);
        let begin = move || {
            let mut batch = Vec::with_capacity(BATCH);
            named::each(source, index, &mut |gap| {
                let shares = gap.shares.iter();
                batch.push(Away {
                    start: gap.gap.start,
                    duration: gap.gap.duration,
                    shares: shares
                        .map(|(cause, ticks)| (number(cause), *ticks))
                        .collect(),
                });
                if batch.len() == BATCH {
                    // Nobody listens any more where the quanta could not be read.
                    let _ = sender.send(std::mem::replace(&mut batch, Vec::with_capacity(BATCH)));
                }
            })?;
            let _ = sender.send(batch);
            Ok(())
        };
        let gaps = thread::Builder::new().spawn_scoped(scope, begin);
        let gaps = gaps.map_err(Error::io(
            "the gaps",
            "cannot start a thread that reads them: raise the limit on processes (ulimit -u)",
        ))?;
        let mut pieces = Pieces {
            gaps: Waiting {
                receiver,
                batch: Vec::new().into_iter(),
            },
            next: None,
            ticks_per_ns: context.ticks_per_ns,
            best: best_ns * context.ticks_per_ns,
            boundary: context.boundary_ticks(),
            visit,
        };
        let mut deriver = Deriver::new(&context);
        let mut blocks = Blocks::default();
        let mut show = |chunk: Chunk<'_>| deriver.feed(chunk, None, |derived| pieces.push(derived));
        let read = source.replay_quanta(index, &mut |chunk| blocks.feed(chunk, &mut show));
        blocks.finish(&mut show);
        drop(pieces);
        let named = gaps
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        read.and(named)
    })
}

/// A gap and what its time was booked to.
#[derive(Debug)]
struct Away {
    start: u64,
    duration: u64,
    shares: Vec<(usize, u64)>,
}

/// Gaps as they come.
struct Waiting {
    receiver: Receiver<Vec<Away>>,
    batch: std::vec::IntoIter<Away>,
}

impl Iterator for Waiting {
    type Item = Away;

    fn next(&mut self) -> Option<Away> {
        loop {
            if let Some(gap) = self.batch.next() {
                return Some(gap);
            }
            self.batch = self.receiver.recv().ok()?.into_iter();
        }
    }
}

/// Quanta and gaps, joined.
struct Pieces<'a> {
    gaps: Waiting,
    /// The first gap that no quantum had yet.
    next: Option<Away>,
    ticks_per_ns: f64,
    /// Reference pace in ticks per unit.
    best: f64,
    /// Ticks that storing a quantum takes.
    boundary: f64,
    visit: &'a mut dyn FnMut(Piece),
}

impl Pieces<'_> {
    fn push(&mut self, derived: &Derived<'_>) {
        let chunk = &derived.chunk;
        if derived.opens_segment {
            let at_ns = chunk.start.first().map_or(0.0, |&start| start as f64) / self.ticks_per_ns;
            (self.visit)(Piece::Break { at_ns });
        }
        for k in 0..derived.len() {
            // All units, those in gaps too: the ledger's work.
            let work = f64::from(chunk.count[k]) * self.best;
            let own =
                chunk.measurement_ticks[k] as f64 + if work > 0.0 { self.boundary } else { 0.0 };
            let lost = derived.gap_loss[k];
            let ran = (derived.length[k] - own - lost).max(0.0);
            let ns = (derived.length[k] - lost - ran) / self.ticks_per_ns;
            (self.visit)(Piece::Own { ns });
            match chunk.gap_ticks[k] {
                0 => self.run(ran, work),
                ticks => self.quantum(
                    chunk.start[k],
                    chunk.end[k],
                    ran,
                    work,
                    (lost, ticks as f64),
                ),
            }
        }
    }

    /// A quantum with gaps: the work is spread evenly over the time between them, and what they lost over their durations.
    fn quantum(&mut self, start: u64, end: u64, ran: f64, work: f64, (lost, away): (f64, f64)) {
        let between = ((end - start) as f64 - away).max(1.0);
        let (mut at, mut left) = (start, 1.0);
        while let Some(gap) = self.next.take().or_else(|| self.gaps.next()) {
            if gap.start >= end {
                self.next = Some(gap);
                break;
            }
            let part = (gap.start.saturating_sub(at) as f64 / between).min(left);
            left -= part;
            self.run(ran * part, work * part);
            for (cause, ticks) in gap.shares {
                let ns = lost * (ticks as f64 / away) / self.ticks_per_ns;
                (self.visit)(Piece::Lost { ns, cause });
            }
            at = at.max(gap.start.saturating_add(gap.duration));
        }
        self.run(ran * left, work * left);
    }

    fn run(&mut self, ticks: f64, work: f64) {
        if ticks > 0.0 || work > 0.0 {
            let (ns, work_ns) = (ticks / self.ticks_per_ns, work / self.ticks_per_ns);
            (self.visit)(Piece::Run { ns, work_ns });
        }
    }
}
