//! What a gap was: its time, split over the kernel events that lie in it.
//!
//! Gaps are pushed and events pulled, both in order of time, so that a recording of hours needs no memory for them
//! ([`bandscope_recording::Source::events`]). The order of certainty (docs/method.md, section 4.2): an event that
//! lies in the gap names it; else a preemption that the kernel reported; else, where events were recorded and none was
//! lost, it was the host, because whatever this kernel does begins with an event. A thread of a process is named by its
//! process.

mod causes;
pub(crate) mod queue;
mod span;
mod split;
pub mod stops;

use bandscope_recording::events::NoEvents;
use bandscope_recording::manifest::{EventsState, Manifest, TaskThread};
use bandscope_recording::{
    Error, EventKind, EventStream, Gap, KernelEvent, Series, Source, manifest,
};
use bandscope_report::Cause;
use causes::Keys;
pub use causes::{Processes, Thread, bare_timer, cause};
use queue::Queue;
pub use span::{Span, Turn};
pub use split::{Piece, Share, main_cause};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use stops::Stops;

/// How far the kernel's time may reach beyond its events, in nanoseconds: from the interruption to the first tracepoint, from one event to
/// the next, from the last tracepoint to the next instruction of the loop. What is longer happened outside of this kernel: in the virtual
/// machine of docs/figures.md a tick's first event comes 11 us after its gap began at the earliest, which is the way through the
/// host, and the last one ends 0.2 to 1 us before the gap does, up to some us after a switch of tasks.
const ENTRY_NS: f64 = 5_000.0;

/// The same from the switch back to the thread to its next instruction: the kernel restores its registers and counters, which takes 12 us at an
/// instruction a nanosecond (`machines/run '6.12 arm64/task-5ms'`).
const WAY_BACK_NS: f64 = 15_000.0;

/// How long a host is on its way to an event and back at most: 11 us were seen, so 20 are chosen. What is longer is its own doing.
const WAY_OF_HOST_NS: f64 = 20_000.0;

/// How long after its interrupt a timer expires in a softirq at most: that takes 8 us at an instruction a nanosecond (`machines/run timer-1khz`).
const EXPIRY_NS: f64 = 100_000.0;

/// How many periods of its tick a busy CPU is silent for at most: a tick may be late.
const SILENT_TICKS: f64 = 1.25;

/// Events that have begun before a gap and not ended by then: an interrupt in a softirq in a task, and what the error of the clocks moves. Of
/// more, which no kernel writes, the innermost are kept: the time is theirs.
const MOST_OPEN: usize = 256;

/// Number of a cause, in the order in which causes came up.
pub type Key = u32;

/// Names gaps, in order of time.
pub struct Namer<'a> {
    events: Box<dyn EventStream + 'a>,
    known: Cow<'a, manifest::Events>,
    cpu: Option<u32>,
    /// Error of the events' times, and [`ENTRY_NS`], in ticks.
    error: u64,
    entry: u64,
    /// [`WAY_BACK_NS`], [`WAY_OF_HOST_NS`] and [`EXPIRY_NS`] in ticks.
    way_back: u64,
    way_of_host: u64,
    expiry: u64,
    /// Ticks beyond which silence is no other task's, as this kernel's own tick would have come while one ran.
    no_task: u64,
    /// The longest silence of the gap that was split last, in ticks.
    silence: u64,
    /// Events that were pulled, or fed, and not yet looked at.
    waiting: Queue,
    /// Events that may lie in the gap at hand or in a later one.
    window: Queue,
    keys: Keys,
    /// Stops that no kernel event tells.
    stops: Stops,
    /// Which of them the gap that was split last is.
    stop: Option<Cause>,
    shares: Vec<Share>,
    /// The place of each key among the shares of a gap, where it has one there.
    places: Vec<usize>,
    pieces: Vec<Piece>,
    inside: Vec<Span>,
    /// Time of threads that are booked to their process.
    threads: BTreeMap<(Key, Arc<str>), u64>,
    /// Time of the processes of a name.
    processes: BTreeMap<(Key, u32), u64>,
}

impl<'a> Namer<'a> {
    /// For the gaps of series `index`.
    ///
    /// # Errors
    /// If the events cannot be read.
    pub fn new(source: &'a dyn Source, index: usize) -> Result<Namer<'a>, Error> {
        let series: &Series = &source.series()[index];
        let known = Cow::Borrowed(source.events_known(index));
        let manifest = source.manifest();
        let events = source.events(index)?;
        let mut namer = Namer::over(events, known, series.cpu, manifest);
        namer.stops = Stops::of(source, index);
        Ok(namer)
    }

    /// For the gaps of a CPU that is being measured: its events are fed as they come, and what is asked for must have had the time to
    /// come. Silence says nothing before [`Self::trust_silence`].
    pub fn online(cpu: u32, manifest: &Manifest) -> Namer<'static> {
        let known = manifest::Events {
            state: EventsState::Unavailable,
            ..manifest.events.clone()
        };
        let nothing_more = Box::new(NoEvents);
        Namer {
            // What was lost is not known before the end.
            no_task: u64::MAX,
            ..Namer::over(nothing_more, Cow::Owned(known), Some(cpu), manifest)
        }
    }

    /// Takes events that happened after those before.
    pub fn feed(&mut self, events: &[KernelEvent]) {
        let timed = events.iter().filter(|event| is_timed(event));
        timed.for_each(|event| self.waiting.push(event.clone()));
        if let Some(cpu) = self.cpu
            && self.waiting.len() > queue::MOST_WAITING
        {
            let lost = &mut self.known.to_mut().lost;
            self.waiting.thin(cpu, lost);
        }
    }

    /// Takes note of tasks that are threads of a process, before their events.
    pub fn learn(&mut self, tasks: &[TaskThread]) {
        self.keys.processes.learn(tasks);
    }

    /// From now on the silence of the events means that nothing happened.
    pub fn trust_silence(&mut self) {
        self.known.to_mut().state = EventsState::On;
    }

    /// Takes no gap that begins before `tick` any more, and forgets of the one that was split last all but its shares. A stream that is this program's memory cannot fail.
    pub fn forget(&mut self, tick: u64) {
        let _ = self.advance(tick, tick);
        // Their room stays: what is freed and taken again in large pieces leaves holes.
        self.inside.clear();
        self.pieces.clear();
        if self.known.lost.first().is_some_and(|lost| lost.to < tick) {
            self.known.to_mut().lost.retain(|lost| lost.to >= tick);
        }
    }

    fn over(
        events: Box<dyn EventStream + 'a>,
        known: Cow<'a, manifest::Events>,
        cpu: Option<u32>,
        manifest: &Manifest,
    ) -> Namer<'a> {
        let ticks_per_ns = manifest.clock.ticks_per_ns;
        let tick_hz = cpu.and_then(|cpu| manifest.machine.tick_hz_of(cpu));
        Namer {
            events,
            cpu,
            error: known.time_error_ticks.unwrap_or(0.0).max(0.0).ceil() as u64,
            entry: (ENTRY_NS * ticks_per_ns) as u64,
            way_back: (WAY_BACK_NS * ticks_per_ns) as u64,
            // On bare metal nothing is on its way.
            way_of_host: match manifest.machine.known_hypervisor() {
                Some(_) => (WAY_OF_HOST_NS * ticks_per_ns) as u64,
                None => 0,
            },
            expiry: (EXPIRY_NS * ticks_per_ns) as u64,
            no_task: tick_hz.map_or(u64::MAX, |hz| {
                (SILENT_TICKS / hz * 1e9 * ticks_per_ns) as u64
            }),
            silence: 0,
            keys: Keys::of(&known),
            known,
            waiting: Queue::default(),
            window: Queue::default(),
            stops: Stops::default(),
            stop: None,
            shares: Vec::new(),
            places: Vec::new(),
            pieces: Vec::new(),
            inside: Vec::new(),
            threads: BTreeMap::new(),
            processes: BTreeMap::new(),
        }
    }

    /// Keeps the time of a thread apart from now on: events of this name and id have the key that is returned, whose name is
    /// that of any task of the name.
    pub fn keep_apart(&mut self, thread: Thread) -> Key {
        let key = self.keys.names.len() as Key;
        self.keys.names.push(Cause::Task((*thread.name).into()));
        self.keys.apart.push((thread, key));
        key
    }

    /// The cause of a number.
    pub fn name(&self, key: Key) -> &Cause {
        &self.keys.names[key as usize]
    }

    /// What was recorded of events.
    pub fn recorded(&self) -> &manifest::Events {
        &self.known
    }

    /// Ticks of each thread that was booked to its process, by the process's key and the thread's name.
    pub fn threads(&self) -> &BTreeMap<(Key, Arc<str>), u64> {
        &self.threads
    }

    /// Ticks of each process, by its key and id.
    pub fn processes(&self) -> &BTreeMap<(Key, u32), u64> {
        &self.processes
    }

    /// All causes that came up, by their number.
    pub fn names(&self) -> &[Cause] {
        &self.keys.names
    }

    /// What the time of a gap is booked to; the shares add up to its duration. The first one holds the unit of work that the gap is in.
    ///
    /// # Errors
    /// If the events cannot be read.
    pub fn split(&mut self, gap: &Gap) -> Result<&[Share], Error> {
        let (from, to) = (gap.start, gap.start.saturating_add(gap.duration));
        self.advance(from, to)?;
        self.cut(gap, from, to);
        let is_silent = self.inside.is_empty() && gap.preempted == Some(true);
        self.stop = match is_silent {
            true => self.stops.take(gap.duration),
            false => None,
        };
        Ok(self.shares_of(gap, from, to))
    }

    /// What the time from `from` to `to` of the gap that was split last is booked to, as if it were a gap of its own; the shares
    /// add up to it.
    pub fn part(&mut self, gap: &Gap, from: u64, to: u64) -> &[Share] {
        self.cut(gap, from, to);
        // What only touches it was beside it, and brought nobody in.
        self.inside
            .retain(|span| span.from < span.to || (from < span.from && span.from < to));
        self.shares_of(gap, from, to)
    }

    /// What [`Self::split`] said last.
    pub fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// Whether only its length, and counts of the whole run, say what the gap that was split last was.
    pub fn is_inferred(&self) -> bool {
        self.stop.is_some()
    }

    /// The gap that was split last, event by event.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The events that may lie in the gap that was split last, in order.
    pub fn events(&self) -> impl Iterator<Item = &KernelEvent> {
        self.window.iter()
    }

    /// The name under which an event is booked: that of a thread's process, or its own.
    pub fn booked_name<'e>(&'e self, event: &'e KernelEvent) -> &'e str {
        self.keys.process(event).unwrap_or(&event.name)
    }

    /// Shares of the time from `from` to `to`, whose events are [`Self::inside`].
    fn shares_of(&mut self, gap: &Gap, from: u64, to: u64) -> &[Share] {
        self.pieces.clear();
        if self.inside.is_empty() {
            let key = self.silent(gap, from, to);
            self.pieces.push(Piece {
                share: Share {
                    key,
                    ticks: to - from,
                    from,
                },
                after: 0,
                turn: None,
            });
        } else {
            self.split_over_events(gap, from, to);
        }
        self.shares.clear();
        self.places.resize(self.keys.names.len(), 0);
        for piece in &self.pieces {
            let key = piece.share.key;
            let place = &mut self.places[key as usize];
            let known = self.shares.get_mut(*place);
            match known.filter(|share| share.key == key) {
                Some(share) => share.ticks += piece.share.ticks,
                None => {
                    *place = self.shares.len();
                    self.shares.push(piece.share);
                }
            }
        }
        // The first holds the unit of work, whatever its time.
        let mut first = true;
        self.shares
            .retain(|share| std::mem::take(&mut first) || share.ticks > 0);
        &self.shares
    }

    /// Pulls events until all that can lie in a gap are in the window, and forgets those before it.
    fn advance(&mut self, from: u64, to: u64) -> Result<(), Error> {
        let error = self.error;
        let stays = |event: &KernelEvent| event.end().saturating_add(error) >= from;
        self.window.retain(MOST_OPEN, stays);
        let last = to.saturating_add(error);
        loop {
            while let Some(event) = self.waiting.pop_if(|event| event.start <= last) {
                if stays(&event) {
                    self.window.push(event);
                }
            }
            if self.waiting.len() > 0 {
                return Ok(());
            }
            let mut pulled = Vec::new();
            if !self.events.next(&mut pulled)? {
                return Ok(());
            }
            let timed = pulled.into_iter().filter(is_timed);
            timed.for_each(|event| self.waiting.push(event));
        }
    }

    /// The events of the window as far as they lie in a part of the gap. What lies beside it by no more than the error of the clocks is moved
    /// into it.
    fn cut(&mut self, gap: &Gap, from: u64, to: u64) {
        self.inside.clear();
        self.inside.reserve(self.window.len());
        for event in self.window.iter() {
            let (start, end) = (event.start, self.end(event, gap));
            if start > to.saturating_add(self.error) {
                continue;
            }
            let key = self.keys.of_event(event);
            let early = from.saturating_sub(start);
            let late = end.saturating_sub(to);
            let (start, end) = if early > 0 && early <= self.error {
                (start + early, end + early)
            } else if late > 0 && late <= self.error {
                (start.saturating_sub(late), end - late)
            } else {
                (start, end)
            };
            let (start, end) = (start.clamp(from, to), end.clamp(from, to));
            self.inside
                .push(Span::new(event, (start, end), key, &self.keys));
        }
        // Moving them may have changed their order; what holds another one comes before it.
        let order = |span: &Span| (span.from, std::cmp::Reverse(span.to));
        if !self.inside.is_sorted_by_key(order) {
            self.inside.sort_by_key(order);
        }
        span::end_untold(&mut self.inside, to);
        span::follow(&mut self.inside, self.error);
        self.hide_in_stops();
        // A real-time kernel's interrupt hands the timers of ordinary tasks to a softirq: it came for the one that expires next.
        let mut next: Option<(Key, u64)> = None;
        for span in self.inside.iter_mut().rev() {
            if span.is_expiry {
                next = Some((span.key, span.from));
            } else if span.is_bare_timer
                && let Some((key, from)) = next.take()
                && from.saturating_sub(span.to) <= self.expiry
            {
                span.key = key;
            }
        }
    }
}

/// Whether an event takes time, so that it may be the cause of a gap.
fn is_timed(event: &KernelEvent) -> bool {
    event.kind != EventKind::Tracepoint
}

#[cfg(test)]
mod tests;
