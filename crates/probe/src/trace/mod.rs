//! Kernel events of the measured CPUs: what the operating system did there, recorded by the kernel's tracepoints.
//!
//! * `tracefs`, `format`: where the kernel describes its tracepoints, and how;
//! * `points`: which are recorded, and how their records are read; `point`: what they say;
//! * `open`, `buffer`, `records`: perf events of tracepoints (perf_event_open(2)), the ring that they share, what is in it;
//! * `functions`: which timer's function is the tick's; `processes`: which tasks are threads of which process;
//! * `pairing`: beginnings and ends become intervals;
//! * `times`, `placed`: the kernel's clock against the recording's;
//! * `cost`: what all this costs;
//! * `account`: what the manifest says of it; `error`: why there is nothing of it.
//!
//! Each measured CPU has one ring; nobody but the kernel writes into it, and the thread that also empties the rings of
//! the measuring threads empties it, on another CPU. Out come [`KernelEvent`]s. Nothing of the system is changed: tracefs
//! is found or mounted for this process alone, and the tracepoints are switched off with their descriptors.

pub mod account;
mod buffer;
pub mod cost;
mod error;
mod format;
mod functions;
mod open;
mod pairing;
mod placed;
mod point;
mod points;
mod processes;
mod records;
mod times;
mod tracefs;

use crate::calibration::Reading;
use bandscope_recording::KernelEvent;
use bandscope_recording::manifest::{LostEvents, MeasuringThread, TaskThread};
use buffer::Buffer;
pub use error::TraceError;
use functions::Functions;
use pairing::{Interval, Pairing};
use placed::Placed;
use point::Point;
pub use points::Catalogue;
use processes::Processes;
use records::Record;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use times::Times;
pub use tracefs::Tracefs;

/// Bytes of a CPU's ring where it is emptied all the time: 4 MiB, or more than a second of 4,000 interrupts a second with all
/// that they bring, some eight records of 90 bytes each.
pub const RING_BYTES: usize = 1 << 22;
/// Bytes for each second of a run that is kept in memory until its end, for 1,200 interrupts a second; and the most.
const BUFFERED_BYTES_PER_S: f64 = 1e6;
const MOST_BUFFERED_BYTES: f64 = 64e6;

/// The largest tick of a recording.
const END: u64 = i64::MAX as u64;
/// A fit that is worse than this tells nothing: 50 us is longer than most gaps.
const WORST_FIT_NS: f64 = 50e3;

/// What a CPU's ring needs where a run of `duration_s` seconds is kept in memory until its end.
pub fn buffered_ring_bytes(duration_s: f64) -> usize {
    let bytes = (duration_s * BUFFERED_BYTES_PER_S).clamp(RING_BYTES as f64, MOST_BUFFERED_BYTES);
    (bytes as usize).next_power_of_two()
}

/// What the kernel can record here.
///
/// # Errors
/// One line: why it cannot be had.
pub fn catalogue() -> Result<Catalogue, TraceError> {
    Catalogue::read(&Tracefs::find()?, Functions::of_this_kernel())
}

/// What came of it, once it has ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ended {
    /// The measuring threads.
    pub threads: Vec<MeasuringThread>,
    /// Other tasks that are threads of a process.
    pub tasks: Vec<TaskThread>,
    /// Where nothing is known.
    pub lost: Vec<LostEvents>,
    /// Bound of the error of the events' times against the recording's.
    pub time_error_ticks: Option<f64>,
}

/// Kernel events being recorded.
#[derive(Debug)]
pub struct Trace {
    cpus: Vec<CpuTrace>,
    times: Times,
    processes: Processes,
}

#[derive(Debug)]
struct CpuTrace {
    cpu: u32,
    thread: u32,
    events: Vec<File>,
    buffer: Buffer,
    catalogue: Catalogue,
    pairing: Pairing,
    intervals: Vec<Interval>,
    out: Vec<KernelEvent>,
    placed: Placed,
    /// Records that the ring said it had lost.
    told_lost: u64,
    was_full: bool,
}

impl Trace {
    /// Opens all tracepoints of `catalogue` for the CPU of each measuring thread, switched off.
    ///
    /// `ring_bytes` are for each CPU; `origin` is the counter's value at tick 0; `readings` of both clocks are those
    /// taken so far.
    ///
    /// # Errors
    /// One line: what the kernel refuses.
    pub fn open(
        catalogue: &Catalogue,
        threads: &[MeasuringThread],
        ring_bytes: usize,
        origin: u64,
        readings: &[Reading],
    ) -> Result<Trace, TraceError> {
        allow_files(threads.len() * catalogue.tracepoints().len());
        let mut times = Times::new(origin);
        readings.iter().for_each(|&reading| times.push(reading));
        let cpus = threads
            .iter()
            .map(|thread| CpuTrace::open(catalogue, thread, ring_bytes))
            .collect::<Result<_, _>>()?;
        Ok(Trace {
            cpus,
            times,
            processes: Processes::default(),
        })
    }

    /// Switches all on, or off.
    ///
    /// # Errors
    /// One line: what the kernel refuses.
    pub fn switch(&self, on: bool) -> Result<(), TraceError> {
        // Ends before beginnings, as the catalogue has them the other way round: what is under way at that moment then
        // lacks its beginning at the start, and its end at the end, and is known to.
        for event in self.cpus.iter().flat_map(|cpu| cpu.events.iter().rev()) {
            open::switch(event, on).map_err(TraceError::NotSwitched)?;
        }
        Ok(())
    }

    /// Takes what has come since, and hands out what is settled, by CPU.
    pub fn drain(&mut self, mut visit: impl FnMut(u32, &[KernelEvent])) {
        // The reading comes after the last event that it is to place.
        for cpu in &mut self.cpus {
            cpu.take(&mut self.processes);
        }
        self.times.read();
        for cpu in &mut self.cpus {
            cpu.pairing.take(&mut cpu.intervals);
            cpu.hand_out(&self.times, &mut visit);
        }
    }

    /// Switches all off and hands out the rest.
    pub fn finish(
        mut self,
        ticks_per_ns: f64,
        mut visit: impl FnMut(u32, &[KernelEvent]),
    ) -> Ended {
        // Where it fails the descriptors do it in a moment.
        let _ = self.switch(false);
        for cpu in &mut self.cpus {
            cpu.take(&mut self.processes);
            cpu.look_for_losses();
        }
        self.times.read();
        let mut ended = Ended {
            tasks: self.processes.threads().collect(),
            time_error_ticks: self.times.error_ticks(),
            ..Ended::default()
        };
        let fits = |error: f64| error <= WORST_FIT_NS * ticks_per_ns;
        let placed = ended.time_error_ticks.is_some_and(fits);
        for cpu in &mut self.cpus {
            cpu.pairing.finish(&mut cpu.intervals);
            cpu.hand_out(&self.times, &mut visit);
            ended.threads.push(MeasuringThread {
                cpu: cpu.cpu,
                pid: cpu.thread,
            });
            match placed {
                true => ended.lost.extend(cpu.lost(&self.times)),
                // No event is known to be where it stands.
                false => ended.lost.push(LostEvents {
                    cpu: cpu.cpu,
                    from: 0,
                    to: END,
                    events: 0,
                }),
            }
        }
        ended
    }
}

impl Drop for CpuTrace {
    /// The last to close a tracepoint waits until no CPU can be in it, some 30 ms each: nobody else need.
    fn drop(&mut self) {
        let events = std::mem::take(&mut self.events);
        // Without a thread it is done here: a closure that is not run is dropped.
        let _ = std::thread::Builder::new().spawn(move || drop(events));
    }
}

impl CpuTrace {
    fn open(
        catalogue: &Catalogue,
        thread: &MeasuringThread,
        ring_bytes: usize,
    ) -> Result<CpuTrace, TraceError> {
        let mut events: Vec<File> = Vec::new();
        let mut buffer = None;
        for tracepoint in catalogue.tracepoints() {
            let who = tracepoint.who(thread.pid);
            let refused = |error| TraceError::NotOpened {
                tracepoint: tracepoint.name.clone(),
                cpu: thread.cpu,
                error,
            };
            let event = open::open(tracepoint.id, thread.cpu, who).map_err(refused)?;
            if let Some(filter) = tracepoint.filter() {
                open::filter(&event, filter).map_err(refused)?;
            }
            match events.first() {
                None => {
                    let cpu = thread.cpu;
                    let ring = Buffer::new(&event, ring_bytes)
                        .map_err(|error| TraceError::NoRing { cpu, error })?;
                    buffer = Some(ring);
                }
                Some(leader) => open::redirect(&event, leader).map_err(refused)?,
            }
            events.push(event);
        }
        Ok(CpuTrace {
            cpu: thread.cpu,
            thread: thread.pid,
            events,
            buffer: buffer.ok_or(TraceError::NothingToOpen)?,
            catalogue: catalogue.clone(),
            pairing: Pairing::new(thread.pid, catalogue.tells_timers()),
            intervals: Vec::new(),
            out: Vec::new(),
            placed: Placed::default(),
            told_lost: 0,
            was_full: false,
        })
    }

    /// Empties the ring.
    fn take(&mut self, processes: &mut Processes) {
        let (catalogue, pairing, told_lost) =
            (&mut self.catalogue, &mut self.pairing, &mut self.told_lost);
        let waited = self.buffer.drain(|record| match Record::parse(record) {
            Some(Record::Sample {
                process,
                thread,
                time,
                raw,
            }) => match catalogue.decode(raw) {
                Some(point) => {
                    // Who leaves the CPU, or ends, is who runs.
                    if let Point::Switch { previous: task, .. } | Point::Ends { number: task } =
                        point
                    {
                        processes.see(task, thread, process);
                    }
                    pairing.push(time, thread, point);
                }
                None => pairing.lose(1),
            },
            Some(Record::Lost { records }) => {
                *told_lost += records;
                pairing.lose(records);
            }
            Some(Record::Other) => {}
            None => pairing.lose(1),
        });
        // A record that finds no room has at most a page.
        self.was_full = waited + 4096 > self.buffer.bytes();
    }

    /// The ring tells of a loss with the next record that finds room; at the end there is none.
    fn look_for_losses(&mut self) {
        let lost: Option<u64> = self.events.iter().map(open::lost).sum();
        let untold = match lost {
            Some(lost) => lost.saturating_sub(self.told_lost),
            None => u64::from(self.was_full),
        };
        if untold > 0 {
            self.pairing.lose(untold);
        }
    }

    /// Puts intervals on the recording's clock.
    fn hand_out(&mut self, times: &Times, visit: &mut impl FnMut(u32, &[KernelEvent])) {
        self.out.clear();
        for interval in self.intervals.drain(..) {
            let (Some(start), Some(end)) = (times.tick(interval.start), times.tick(interval.end))
            else {
                continue;
            };
            if end < 0 {
                // Over before the recording began.
                continue;
            }
            let (start, end) = self.placed.place(start.max(0) as u64, end as u64);
            self.out.push(KernelEvent {
                start,
                duration: end - start,
                kind: interval.kind,
                number: interval.number,
                name: interval.name,
            });
        }
        if !self.out.is_empty() {
            visit(self.cpu, &self.out);
        }
    }

    /// Spans in which nothing is known, on the recording's clock, as wide as the error of the times makes them.
    fn lost(&self, times: &Times) -> impl Iterator<Item = LostEvents> {
        let error = times.error_ticks().unwrap_or(0.0).ceil() as i64;
        let tick = |ns: u64| times.tick(ns).unwrap_or(0);
        let spans = self.pairing.spans().iter().map(move |span| LostEvents {
            cpu: self.cpu,
            from: tick(span.from).saturating_sub(error).max(0) as u64,
            to: match span.to {
                u64::MAX => END,
                to => tick(to).saturating_add(error).max(0) as u64,
            },
            events: span.records,
        });
        // What was lost before the recording began does not matter.
        let spans: Vec<LostEvents> = spans.filter(|lost| lost.to > 0).collect();
        spans.into_iter()
    }
}

/// Lets this process have so many more open files, as far as that needs no rights.
fn allow_files(files: usize) {
    // What the program has open besides.
    const OTHERS: u64 = 256;
    let limit = getrlimit(Resource::Nofile);
    let wanted = files as u64 + OTHERS;
    if limit.current.is_some_and(|current| current < wanted) {
        let most = limit.maximum.unwrap_or(wanted);
        // If it cannot be had, opening says so.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(wanted.min(most)),
                maximum: limit.maximum,
            },
        );
    }
}
