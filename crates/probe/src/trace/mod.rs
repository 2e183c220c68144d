//! Kernel events of the measured CPUs: what the operating system did there, recorded by the kernel's tracepoints.
//!
//! * `tracefs`, `format`: where the kernel describes its tracepoints, and how;
//! * `points`: which are recorded, and how their records are read; `point`: what they say;
//! * `open`, `buffer`, `records`: perf events of tracepoints (perf_event_open(2)), the ring that they share, what is in it;
//!   `ring`: all that of one CPU;
//! * `functions`: which timer's function is the tick's; `processes`: which tasks are threads of which process;
//! * `pairing`: beginnings and ends become intervals; `measured`: those of one measured CPU;
//! * `times`, `placed`: the kernel's clock against the recording's;
//! * `cost`: what all this costs;
//! * `account`: what the manifest says of it; `error`: why there is nothing of it.
//!
//! `senders` says who made a task run; for that the wake-ups of the other CPUs are recorded, too, in rings of their own ([`Watch`]).
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
mod measured;
mod open;
mod pairing;
mod placed;
mod point;
mod points;
mod processes;
mod records;
mod ring;
mod senders;
mod times;
mod tracefs;

use crate::calibration::Reading;
use bandscope_recording::manifest::{LostEvents, MeasuringThread, TaskThread};
use bandscope_recording::{KernelEvent, MAX_TICKS};
use bandscope_sampler::machine::{self, Watch};
pub use error::TraceError;
use functions::Functions;
use measured::Measured;
use pairing::{PIECE_NS, PIECE_OF_OTHERS_NS};
pub use points::Catalogue;
use points::Tracepoint;
use processes::Processes;
use ring::{Ring, Said};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use senders::{LONGEST_WAIT_NS, Senders};
use times::Times;
pub use tracefs::Tracefs;

/// Bytes of a CPU's ring where it is emptied all the time: 4 MiB, or more than a second of 4,000 interrupts a second with all
/// that they bring, some eight records of 90 bytes each.
pub const RING_BYTES: usize = 1 << 22;
/// A CPU that is not measured, of which only wake-ups are recorded, has this part of a measured one's: 256 KiB, or 2,000 of them between two looks.
const SENDERS_RING: usize = 16;
/// Bytes for each second of a run that is kept in memory until its end, for 1,200 interrupts a second; and the most.
const BUFFERED_BYTES_PER_S: f64 = 1e6;
const MOST_BUFFERED_BYTES: f64 = 64e6;

/// Records that are taken out of a ring before what they say is handed out, and how often that is done at most for each ring before others have
/// their turn: twice what a ring of [`RING_BYTES`] holds, whose records have 64 bytes and more.
const AT_A_TIME: usize = 1 << 11;
const MOST_ROUNDS: usize = 64;
/// The same at the end, of a ring of [`MOST_BUFFERED_BYTES`].
const ROUNDS_AT_THE_END: usize = 1024;

/// A fit that is worse than this tells nothing: 50 us is longer than most gaps.
const WORST_FIT_NS: f64 = 50e3;

/// What a CPU's ring needs where a run of `duration_s` seconds is kept in memory until its end.
pub fn buffered_ring_bytes(duration_s: f64) -> usize {
    let bytes = (duration_s * BUFFERED_BYTES_PER_S).clamp(RING_BYTES as f64, MOST_BUFFERED_BYTES);
    (bytes as usize).next_power_of_two()
}

/// What the kernel can record here, and what the user asks for; where all is watched, with stacks of who wakes and interrupts.
///
/// # Errors
/// One line: why it cannot be had.
pub fn catalogue(asked: &[machine::Tracepoint], watch: Watch) -> Result<Catalogue, TraceError> {
    let tracefs = Tracefs::find()?;
    let mut catalogue = Catalogue::read(&tracefs, Functions::of_this_kernel())?;
    catalogue.add(&tracefs, asked)?;
    catalogue.with_stacks = watch == Watch::All && catalogue.functions.are_known();
    Ok(catalogue)
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
    /// Records of CPUs that are not measured that were lost.
    pub senders_lost: u64,
    /// Bound of the error of the events' times against the recording's.
    pub time_error_ticks: Option<f64>,
}

/// Kernel events being recorded.
#[derive(Debug)]
pub struct Trace {
    cpus: Vec<Measured>,
    /// Other CPUs of which everything is handed out.
    watched: Vec<Measured>,
    /// Other CPUs that only say who is behind something, as far as they can be had.
    others: Vec<Ring>,
    /// Records of those that are known to be lost.
    senders_lost: u64,
    times: Times,
    processes: Processes,
    senders: Senders,
}

impl Trace {
    /// Opens the tracepoints of `catalogue` that `watch` needs, switched off: for the CPU of each measuring thread, and for others.
    ///
    /// `ring_bytes` are for each CPU of which everything is recorded; `origin` is the counter's value at tick 0; `readings` of both clocks are those
    /// taken so far.
    ///
    /// # Errors
    /// One line: what the kernel refuses.
    pub fn open(
        catalogue: &Catalogue,
        threads: &[MeasuringThread],
        watch: Watch,
        ring_bytes: usize,
        (origin, readings): (u64, &[Reading]),
    ) -> Result<Trace, TraceError> {
        let others = match watch {
            Watch::Measured => Vec::new(),
            Watch::Senders | Watch::All => others(threads),
        };
        let opened = catalogue
            .tracepoints()
            .iter()
            .map(|one| catalogue.opened(one).len());
        allow_files((threads.len() + others.len()) * opened.sum::<usize>());
        let mut times = Times::new(origin);
        readings.iter().for_each(|&reading| times.push(reading));
        let alone = threads.len() == 1;
        let measured = |thread: &MeasuringThread| {
            Measured::open(catalogue, thread, ring_bytes, PIECE_NS, |one| {
                one.is_for_measured(watch, alone)
            })
        };
        let for_others = |one: &Tracepoint| one.is_for_others(watch);
        let idle = |cpu| MeasuringThread { cpu, pid: 0 };
        let watched = |cpu: &u32| {
            let piece_ns = PIECE_OF_OTHERS_NS;
            Measured::open(catalogue, &idle(*cpu), ring_bytes, piece_ns, for_others)
        };
        let other = |cpu: &u32| {
            // Without them some tasks have no sender.
            Ring::open(catalogue, (*cpu, 0), ring_bytes / SENDERS_RING, for_others).ok()
        };
        let all = watch == Watch::All;
        Ok(Trace {
            cpus: threads.iter().map(measured).collect::<Result<_, _>>()?,
            watched: (others.iter().filter(|_| all).map(watched)).collect::<Result<_, _>>()?,
            others: others.iter().filter(|_| !all).filter_map(other).collect(),
            senders_lost: 0,
            times,
            processes: Processes::default(),
            senders: Senders::default(),
        })
    }

    /// Switches all on, or off.
    ///
    /// # Errors
    /// One line: what the kernel refuses.
    pub fn switch(&self, on: bool) -> Result<(), TraceError> {
        // Ends before beginnings, as the catalogue has them the other way round: what is under way at that moment then
        // lacks its beginning at the start, and its end at the end, and is known to.
        for ring in self.rings() {
            ring.switch(on).map_err(TraceError::NotSwitched)?;
        }
        Ok(())
    }

    /// Takes what has come since, and hands out what is settled, by CPU, and which tasks are known since to be threads of a process: bit by bit, so that rings that filled up while this program waited for a CPU
    /// take no more memory than others.
    pub fn drain(&mut self, mut visit: impl FnMut(u32, &[KernelEvent], &[TaskThread])) {
        self.empty(MOST_ROUNDS, &mut visit);
    }

    /// Empties the rings, in so many rounds for each at most, the one that is furthest behind first: a wake-up is known before what it causes.
    fn empty(&mut self, rounds: usize, visit: &mut impl FnMut(u32, &[KernelEvent], &[TaskThread])) {
        self.times.read();
        // A quiet CPU has no records, however many the others have.
        let now = self.times.latest();
        for _ in 0..rounds * self.rings().count() {
            // What is taken out of a ring that is ahead of another waits for that one, and takes memory.
            let ahead_of = self.rings().filter_map(Ring::left_at).min();
            self.take(AT_A_TIME, ahead_of.unwrap_or(u64::MAX));
            let seen = self.rings().fold(now, |seen, ring| ring.taken_until(seen));
            self.hand_out(seen, visit);
            if self.rings().all(Ring::is_empty) {
                break;
            }
        }
    }

    /// Hands out what is settled, where all records up to `seen` were taken.
    fn hand_out(&mut self, seen: u64, visit: &mut impl FnMut(u32, &[KernelEvent], &[TaskThread])) {
        self.tell_threads(visit);
        for cpu in self.cpus.iter_mut().chain(&mut self.watched) {
            cpu.settle(seen);
            cpu.hand_out(&self.times, &mut self.senders, visit);
        }
        let whole = self.cpus.iter().chain(&self.watched);
        let horizons = whole.map(|cpu| cpu.horizon(seen));
        // A CPU that says nothing for long keeps the senders of the others from nobody.
        let least = seen.saturating_sub(LONGEST_WAIT_NS);
        self.senders
            .forget(horizons.min().unwrap_or(seen).max(least));
    }

    /// A task's process is known when it leaves the CPU: before its stay is handed out, or the last piece of a long one, and before the gap that it
    /// makes is over.
    fn tell_threads(&mut self, visit: &mut impl FnMut(u32, &[KernelEvent], &[TaskThread])) {
        let news = self.processes.news();
        if let (Some(first), false) = (self.cpus.first(), news.is_empty()) {
            visit(first.thread.cpu, &[], &news);
        }
    }

    fn rings(&self) -> impl Iterator<Item = &Ring> {
        let whole = self.cpus.iter().chain(&self.watched);
        whole.map(|cpu| &cpu.ring).chain(&self.others)
    }

    /// Takes so many records out of each ring, at most, but of those that were emptied up to a later time than `ahead_of` and have more. A wake-up
    /// comes before what it causes, so the rings of the other CPUs come last.
    fn take(&mut self, most: usize, ahead_of: u64) {
        let has_turn = |ring: &Ring| ring.left_at().is_none_or(|latest| latest <= ahead_of);
        let whole = self.cpus.iter_mut().chain(&mut self.watched);
        for cpu in whole.filter(|cpu| has_turn(&cpu.ring)) {
            cpu.take(most, &mut self.processes, &mut self.senders);
        }
        for other in self.others.iter_mut().filter(|ring| has_turn(ring)) {
            other.drain(most, &mut self.senders, |said| {
                if let Said::Lost(records) = said {
                    self.senders_lost += records;
                }
            });
        }
    }

    /// Switches all off and hands out the rest.
    pub fn finish(
        mut self,
        ticks_per_ns: f64,
        mut visit: impl FnMut(u32, &[KernelEvent], &[TaskThread]),
    ) -> Ended {
        // Where it fails the descriptors do it in a moment.
        let _ = self.switch(false);
        self.empty(ROUNDS_AT_THE_END, &mut visit);
        self.take(usize::MAX, u64::MAX);
        for cpu in self.cpus.iter_mut().chain(&mut self.watched) {
            cpu.look_for_losses();
        }
        let mut ended = Ended {
            tasks: self.processes.threads().collect(),
            senders_lost: self.senders_lost
                + self.senders.lost()
                + self.others.iter().map(Ring::untold_losses).sum::<u64>(),
            time_error_ticks: self.times.error_ticks(),
            ..Ended::default()
        };
        let fits = |error: f64| error <= WORST_FIT_NS * ticks_per_ns;
        let placed = ended.time_error_ticks.is_some_and(fits);
        self.tell_threads(&mut visit);
        for cpu in self.cpus.iter_mut().chain(&mut self.watched) {
            cpu.finish();
            cpu.hand_out(&self.times, &mut self.senders, &mut visit);
            match placed {
                true => ended.lost.extend(cpu.lost(&self.times)),
                // No event is known to be where it stands.
                false => ended.lost.push(LostEvents {
                    cpu: cpu.thread.cpu,
                    from: 0,
                    to: MAX_TICKS,
                    events: 0,
                }),
            }
        }
        ended.threads = self.cpus.iter().map(|cpu| cpu.thread.clone()).collect();
        ended
    }
}

/// The CPUs that no thread measures, of those that are online.
fn others(threads: &[MeasuringThread]) -> Vec<u32> {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let mut others = bandscope_recording::cpu_list::parse(online.trim());
    others.retain(|cpu| threads.iter().all(|thread| thread.cpu != *cpu));
    others
}

/// Lets this process have so many more open files, as far as that needs no rights.
fn allow_files(files: usize) {
    // What the program opens later.
    const LATER: u64 = 256;
    // The events whose cost was measured are open still.
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let limit = getrlimit(Resource::Nofile);
    let wanted = (files + open) as u64 + LATER;
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
