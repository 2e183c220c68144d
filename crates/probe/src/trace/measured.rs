//! The events of one CPU: from its ring to intervals on the recording's clock.

use super::error::TraceError;
use super::pairing::{Interval, Pairing};
use super::placed::Placed;
use super::point::Point;
use super::points::{Catalogue, Tracepoint};
use super::processes::Processes;
use super::ring::{Ring, Said};
use super::senders::Senders;
use super::times::Times;
use bandscope_recording::manifest::{LostEvents, MeasuringThread, TaskThread};
use bandscope_recording::{EventKind, KernelEvent, MAX_TICKS, Sender};
use std::collections::HashSet;
use std::sync::Arc;

/// Senders that are remembered at most.
const MOST_KNOWN: usize = 1 << 12;

/// A CPU whose events are handed out: a measured one, or, where all are watched, another one.
#[derive(Debug)]
pub struct Measured {
    /// That measures it; of a CPU that is not measured its idle task, which has number 0.
    pub thread: MeasuringThread,
    pub ring: Ring,
    pairing: Pairing,
    intervals: Vec<Interval>,
    out: Vec<KernelEvent>,
    placed: Placed,
    known: Known,
}

/// Senders that came up lately: of 100,000 events that wait there are hundreds.
#[derive(Debug, Default)]
struct Known(HashSet<Arc<Sender>>);

impl Known {
    fn shared(&mut self, sender: Sender) -> Arc<Sender> {
        if let Some(known) = self.0.get(&sender) {
            return known.clone();
        }
        if self.0.len() >= MOST_KNOWN {
            self.0.clear();
        }
        let sender = Arc::new(sender);
        self.0.insert(sender.clone());
        sender
    }
}

impl Measured {
    /// Opens those tracepoints that are `wanted` on the CPU of a thread, switched off; other tasks' time is cut into pieces of `piece_ns`.
    ///
    /// # Errors
    /// One line: what the kernel refuses.
    pub fn open(
        catalogue: &Catalogue,
        thread: &MeasuringThread,
        ring_bytes: usize,
        piece_ns: u64,
        wanted: impl Fn(&Tracepoint) -> bool,
    ) -> Result<Measured, TraceError> {
        Ok(Measured {
            thread: thread.clone(),
            ring: Ring::open(catalogue, (thread.cpu, thread.pid), ring_bytes, wanted)?,
            pairing: Pairing::new(thread.pid, catalogue.tells_timers(), piece_ns),
            intervals: Vec::new(),
            out: Vec::new(),
            placed: Placed::default(),
            known: Known::default(),
        })
    }

    /// Takes so many records out of the ring, at most.
    pub fn take(&mut self, most: usize, processes: &mut Processes, senders: &mut Senders) {
        let pairing = &mut self.pairing;
        self.ring.drain(most, senders, |said| match said {
            Said::Point {
                time,
                thread,
                process,
                point,
            } => {
                // Who leaves the CPU, or ends, is who runs.
                if let Point::Switch { previous: task, .. } | Point::Ends { number: task } = point {
                    processes.see(task, thread, process);
                }
                pairing.push(time, thread, point);
            }
            Said::Lost(records) => pairing.lose(records),
        });
    }

    /// Takes what is settled out of the pairing, where all records up to `seen` have been taken.
    pub fn settle(&mut self, seen: u64) {
        let known = self.known_until(seen);
        self.pairing.take(known, &mut self.intervals);
    }

    /// Of what came after the last record of a ring without room nothing is known: whoever ran then need not have run on.
    fn known_until(&self, seen: u64) -> u64 {
        match self.ring.was_full() {
            true => seen.min(self.pairing.latest()),
            false => seen,
        }
    }

    /// What began before this was handed out, where all records up to `seen` have been taken.
    pub fn horizon(&self, seen: u64) -> u64 {
        self.pairing.horizon(self.known_until(seen))
    }

    /// The ring tells of a loss with the next record that finds room; at the end there is none.
    pub fn look_for_losses(&mut self) {
        let untold = self.ring.untold_losses();
        if untold > 0 {
            self.pairing.lose(untold);
        }
    }

    /// Takes all that is whole out of the pairing.
    pub fn finish(&mut self) {
        self.pairing.finish(&mut self.intervals);
    }

    /// Puts intervals on the recording's clock.
    pub fn hand_out(
        &mut self,
        times: &Times,
        senders: &mut Senders,
        visit: &mut impl FnMut(u32, &[KernelEvent], &[TaskThread]),
    ) {
        self.out.clear();
        for interval in self.intervals.drain(..) {
            let (sender, waited) = match sender(&interval, self.thread.cpu, times, senders) {
                Some((sender, waited)) => (Some(self.known.shared(sender)), waited),
                None => (None, 0),
            };
            let (Some(start), Some(end)) = (times.tick(interval.start), times.tick(interval.end))
            else {
                continue;
            };
            if end < 0 {
                // Over before the recording began.
                continue;
            }
            let (start, mut end) = self.placed.place(start.max(0) as u64, end as u64);
            if interval.kind == EventKind::Task && interval.start < interval.end {
                // A duration of 0 says that the end is not known.
                end = end.max(start + 1);
            }
            self.out.push(KernelEvent {
                start,
                duration: end - start,
                kind: interval.kind,
                number: interval.number,
                name: interval.name,
                sender,
                waited,
            });
        }
        if !self.out.is_empty() {
            visit(self.thread.cpu, &self.out, &[]);
        }
    }

    /// Spans in which nothing is known, on the recording's clock, as wide as the error of the times makes them.
    pub fn lost(&self, times: &Times) -> impl Iterator<Item = LostEvents> {
        let error = times.error_ticks().unwrap_or(0.0).ceil() as i64;
        let tick = |ns: u64| times.tick(ns).unwrap_or(0);
        let spans = self.pairing.spans().iter().map(move |span| LostEvents {
            cpu: self.thread.cpu,
            from: tick(span.from).saturating_sub(error).max(0) as u64,
            to: match span.to {
                u64::MAX => MAX_TICKS,
                to => tick(to).saturating_add(error).max(0) as u64,
            },
            events: span.records,
        });
        // What was lost before the recording began does not matter.
        let spans: Vec<LostEvents> = spans.filter(|lost| lost.to > 0).collect();
        spans.into_iter()
    }
}

/// Who made the task or softirq of a stay run, sent an interrupt or set a timer, and what that did, and the ticks that it waited; `None` where neither is
/// known.
fn sender(
    stay: &Interval,
    cpu: u32,
    times: &Times,
    senders: &mut Senders,
) -> Option<(Sender, u64)> {
    let sent = senders.of(stay, cpu);
    if sent.is_none() && stay.functions.is_empty() {
        return None;
    }
    let mut functions = stay.functions.clone();
    if stay.kind == EventKind::Softirq {
        // Timers come in any order.
        functions.sort();
    }
    let mut sender = Sender {
        // Most have none or one, and share its name.
        function: match &*functions {
            [] => Arc::default(),
            [one] => one.clone(),
            several => several.join(", ").into(),
        },
        ..Sender::default()
    };
    let mut waited = 0;
    if let Some(sent) = sent {
        let ran = times.tick(stay.start)?;
        waited = u64::try_from(ran - times.tick(sent.at)?).unwrap_or(0);
        (sender.name, sender.cpu) = (sent.name, sent.cpu);
        (sender.caller, sender.set_by) = (sent.caller, sent.set_by);
    }
    Some((sender, waited))
}
