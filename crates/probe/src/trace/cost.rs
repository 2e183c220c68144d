//! What recording kernel events costs: the gaps of a CPU with and without, before the run and outside its account.
//!
//! A loop that does nothing but read the clock sees the CPU go away for as long as any loop would. Short stretches
//! alternate, so that a machine that changes meanwhile changes both. Without means that the events are switched off, not
//! closed: each tracepoint then costs a function call that finds nothing to do, some 10 ns, where closing and opening them
//! all each time would take longer than the stretches.

use super::{Catalogue, RING_BYTES, Trace, TraceError};
use crate::{clock, pin};
use bandscope_recording::manifest::{EventsCost, GapSample, MeasuringThread};
use bandscope_sampler::machine::Watch;
use std::time::{Duration, Instant};

/// Length of a stretch: at 250 Hz, 10 ticks of the kernel's timer.
const STRETCH_NS: f64 = 40e6;
/// Time before the first stretch. What events opened and closed before leave behind takes a tenth more of the first 40 ms, and a thirtieth more of the next,
/// beside workers that take a twentieth of the time (`cure workers` on Zen 4, 132 trials): it would pass for what a CPU loses without events.
const SETTLE_NS: f64 = 80e6;
/// Whether events are recorded in four stretches, which are repeated: a drift of the machine cancels.
const STRETCHES: [bool; 4] = [false, true, true, false];
/// Repetitions of `STRETCHES`: 640 ms; and where many short runs follow each other, 160 ms.
const ROUNDS: [usize; 2] = [4, 1];
/// No further round begins after this time: where other tasks take the CPU, each stretch lasts until it comes back.
const PATIENCE: Duration = Duration::from_secs(2);
/// Gaps kept for the median: 100,000 a second.
const MOST_GAPS: usize = 60_000;

/// Measures on `cpu`, in `full` or shortly, where a gap is what takes longer than `gap_threshold_ticks`. What was opened for it comes back, switched
/// off: as long as it is there others open and close in no time, where the last to close a tracepoint waits 30 ms.
///
/// # Errors
/// One line: why a thread cannot run there, or no events can be recorded.
pub fn measure(
    catalogue: &Catalogue,
    watch: Watch,
    (cpu, full): (u32, bool),
    gap_threshold_ticks: u64,
    ticks_per_ns: f64,
) -> Result<(EventsCost, Trace), TraceError> {
    let measure = || {
        pin::pin_to(cpu)?;
        let thread = MeasuringThread {
            cpu,
            pid: rustix::thread::gettid().as_raw_nonzero().get() as u32,
        };
        let ticks = (STRETCH_NS * ticks_per_ns) as u64;
        let (mut with, mut without) = (Stretches::new(), Stretches::new());
        let trace = Trace::open(
            catalogue,
            std::slice::from_ref(&thread),
            watch,
            RING_BYTES,
            (0, &[]),
        )?;
        Stretches::new().spin((SETTLE_NS * ticks_per_ns) as u64, gap_threshold_ticks);
        let begun = Instant::now();
        let rounds = 0..ROUNDS[usize::from(!full)];
        for _ in rounds.take_while(|&round| round == 0 || begun.elapsed() < PATIENCE) {
            for traced in STRETCHES {
                trace.switch(traced)?;
                let stretches = if traced { &mut with } else { &mut without };
                stretches.spin(ticks, gap_threshold_ticks);
            }
        }
        trace.switch(false)?;
        let cost = EventsCost {
            with: with.sample(),
            without: without.sample(),
        };
        Ok((cost, trace))
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, measure);
        let thread = thread.map_err(TraceError::NoThread)?;
        thread.join().unwrap_or(Err(TraceError::Panicked))
    })
}

struct Stretches {
    ticks: u64,
    gaps: u64,
    gap_ticks: u64,
    durations: Vec<u64>,
}

impl Stretches {
    fn new() -> Stretches {
        Stretches {
            ticks: 0,
            gaps: 0,
            gap_ticks: 0,
            durations: Vec::with_capacity(MOST_GAPS),
        }
    }

    fn spin(&mut self, ticks: u64, threshold: u64) {
        let begin = clock::ticks();
        let mut now = begin;
        while now.wrapping_sub(begin) < ticks {
            let then = now;
            now = clock::ticks();
            let away = now.wrapping_sub(then);
            if away > threshold {
                self.gaps += 1;
                self.gap_ticks += away;
                if self.durations.len() < MOST_GAPS {
                    self.durations.push(away);
                }
            }
        }
        self.ticks += now.wrapping_sub(begin);
    }

    fn sample(mut self) -> GapSample {
        self.durations.sort_unstable();
        GapSample {
            ticks: self.ticks,
            gaps: self.gaps,
            gap_ticks: self.gap_ticks,
            median_gap_ticks: self
                .durations
                .get(self.durations.len() / 2)
                .copied()
                .unwrap_or(0),
        }
    }
}
