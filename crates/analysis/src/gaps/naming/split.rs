//! The time of one gap, split over the events that lie in it; and whose it is where there is none.

use super::{Key, Namer, Span, Turn};
use bandscope_recording::{Gap, Sender};
use bandscope_report::Cause;
use std::collections::BTreeMap;

/// Threads and processes whose time is told apart; a recording may hold any number of them.
const MOST_THREADS: usize = 4096;

/// Time of one gap that is booked to one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The cause that the time is booked to.
    pub key: Key,
    /// How much of the gap it is, ticks.
    pub ticks: u64,
    /// When the first of them began.
    pub from: u64,
}

/// The cause that most of a gap is booked to.
pub fn main_cause(shares: &[Share]) -> Option<Key> {
    let largest = shares.iter().max_by_key(|share| share.ticks);
    largest.map(|share| share.key)
}

/// What one kernel event took of a gap, less the events within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its cause and time.
    pub share: Share,
    /// Ticks by which it may have been due earlier: since the gap began, but 0 for what came while a task ran, for which it had not to wait.
    pub after: u64,
    /// Of a task, how it got the CPU.
    pub turn: Option<Turn>,
}

impl Namer<'_> {
    /// Who is behind its pieces, as far as that is known: of those of events, which come first.
    pub fn senders(&self) -> impl Iterator<Item = Option<&Sender>> {
        self.inside.iter().map(|span| span.sender.as_deref())
    }

    /// Its pieces, each with its event; what no event covers has none.
    pub fn timed(&self) -> impl Iterator<Item = (&Piece, Option<&Span>)> {
        let spans = self.inside.iter().map(Some);
        self.pieces.iter().zip(spans.chain(std::iter::repeat(None)))
    }

    /// Its pieces whose sender is known, each with it and with the ticks that it waited.
    pub fn sent(&self) -> impl Iterator<Item = (&Piece, &Sender, u64)> {
        self.timed().filter_map(|(piece, span)| {
            let span = span?;
            Some((piece, span.sender.as_deref()?, span.waited))
        })
    }

    /// What began the gap, and the host's time in it, as far as that is the way to an event and back, or a stop of its own that is as short; `None` where it took
    /// none.
    pub fn short_host(&self) -> Option<(Key, u64)> {
        let (first, host) = (self.pieces.first()?, self.pieces.last()?);
        (*self.name(host.share.key) == Cause::Host)
            .then(|| (first.share.key, host.share.ticks.min(self.way_of_host)))
            .filter(|&(_, ticks)| ticks > 0)
    }

    /// Whether all of the host's time in the gap is its way to the event that began it, and back: it recurs as that does.
    pub fn host_is_on_its_way(&self) -> bool {
        let host = self.pieces.last();
        self.pieces.len() > 1
            && self.short_host().is_some()
            && host.is_some_and(|host| host.share.ticks <= self.way_of_host)
    }

    /// Nothing of the kernel's happened.
    pub(super) fn silent(&mut self, gap: &Gap, from: u64, to: u64) -> Key {
        let known = self
            .cpu
            .is_some_and(|cpu| self.known.silence_is_known(cpu, from, to));
        let may_be_task = self.may_be_task(gap, (from, to), to - from);
        self.keys.plain(match gap.preempted {
            Some(true) if known && !may_be_task => Cause::Host,
            Some(true) => self.stop.clone().unwrap_or(Cause::Preempted),
            _ if known => Cause::Host,
            _ => Cause::Unnamed,
        })
    }

    /// Each instant belongs to the innermost event. What none covers belongs to the first, which brought the kernel in, as far as
    /// that can be; longer stretches are the host's.
    pub(super) fn split_over_events(&mut self, gap: &Gap, from: u64, to: u64) {
        let spans = std::mem::take(&mut self.inside);
        self.begin_pieces(&spans, from);
        let (mut at, mut outside, mut longest) = (from, 0, 0);
        // Where the first stretch begins that no event covers, and how far tasks go that have begun.
        let (mut silent_from, mut away_until) = (None, 0);
        let mut open: Vec<usize> = Vec::new();
        // Events begin in order, and lie within one another.
        for (index, span) in spans.iter().enumerate() {
            while let Some(&innermost) = (open.last()).filter(|&&open| spans[open].to <= span.from)
            {
                self.book(innermost, &spans, spans[innermost].to.saturating_sub(at));
                at = at.max(spans[innermost].to);
                open.pop();
            }
            let before = span.from.saturating_sub(at);
            match open.last() {
                Some(&around) => self.book(around, &spans, before),
                None => {
                    let silent = self.book_entry(before, self.way_in(span, at));
                    outside += silent;
                    longest = longest.max(silent);
                    silent_from = silent_from.or((silent > 0).then_some(at));
                }
            }
            at = at.max(span.from);
            let is_inside = span.from < away_until && span.to <= away_until;
            let piece = &mut self.pieces[index];
            piece.after = if is_inside {
                0
            } else {
                piece.share.from - from
            };
            if span.away {
                away_until = away_until.max(span.to);
            }
            open.push(index);
        }
        while let Some(innermost) = open.pop() {
            self.book(innermost, &spans, spans[innermost].to.saturating_sub(at));
            at = at.max(spans[innermost].to);
        }
        let is_back = spans.iter().any(|span| span.away && span.to == at);
        let most = if is_back { self.way_back } else { self.entry };
        let silent = self.book_entry(to.saturating_sub(at), most);
        outside += silent;
        longest = longest.max(silent);
        silent_from = silent_from.or((silent > 0).then_some(at));
        if outside > 0 {
            let begins = silent_from.unwrap_or(at);
            let key = self.outside_events(gap, (from, to), &spans, longest);
            self.pieces.push(Piece {
                share: Share {
                    key,
                    ticks: outside,
                    from: begins,
                },
                after: begins - from,
                turn: None,
            });
        }
        self.inside = spans;
    }

    /// Whether another task may have run in the silence of a gap, of which these ticks are cut out, the longest silence of them so long. What a part of
    /// a gap is, the silence of the whole gap says.
    fn may_be_task(&mut self, gap: &Gap, cut: (u64, u64), silence: u64) -> bool {
        if cut == (gap.start, gap.start.saturating_add(gap.duration)) {
            self.silence = silence;
        }
        self.silence <= self.no_task
    }

    /// How long the kernel may be on its way from `at` to an event. That it woke the event's task meanwhile, on this CPU, is one more sign of it.
    fn way_in(&self, span: &Span, at: u64) -> u64 {
        let sender = span
            .sender
            .as_deref()
            .filter(|sender| sender.is_somebody() && self.cpu == Some(sender.cpu))
            .filter(|_| span.turn.is_some());
        let woken = sender.map_or(at, |_| span.from.saturating_sub(span.waited));
        match woken > at {
            true => (woken - at).min(self.entry) + (span.from - woken).min(self.entry),
            false => self.entry,
        }
    }

    /// A piece without time for each event of a gap that began at `from`.
    fn begin_pieces(&mut self, spans: &[Span], from: u64) {
        // One more may come, of what no event covers.
        self.pieces.reserve(spans.len() + 1);
        self.pieces.extend(spans.iter().map(|span| Piece {
            share: Share {
                key: span.key,
                ticks: 0,
                from: span.from,
            },
            after: 0,
            turn: span.turn,
        }));
        // The first reaches back to where the gap began.
        self.pieces[0].share.from = from;
    }

    /// Whose the time is that no event of a gap covers, the longest silence of it so long.
    fn outside_events(
        &mut self,
        gap: &Gap,
        (from, to): (u64, u64),
        spans: &[Span],
        silence: u64,
    ) -> Key {
        let may_be_task = self.may_be_task(gap, (from, to), silence);
        let is_told = spans.iter().any(|span| span.away);
        let is_untold = gap.preempted == Some(true) && !is_told;
        let known = self
            .cpu
            .is_some_and(|cpu| self.known.silence_is_known(cpu, from, to));
        self.keys.plain(match (is_untold, known) {
            (true, true) if !may_be_task => Cause::Host,
            (true, _) => Cause::Preempted,
            (false, true) => Cause::Host,
            (false, false) => Cause::Unnamed,
        })
    }

    /// Books the kernel's way in and out to the first event, as far as it can be that; what is left of it.
    fn book_entry(&mut self, ticks: u64, most: u64) -> u64 {
        let entry = ticks.min(most);
        self.pieces[0].share.ticks += entry;
        ticks - entry
    }

    /// Books time to an event of [`Self::inside`].
    fn book(&mut self, index: usize, spans: &[Span], ticks: u64) {
        self.pieces[index].share.ticks += ticks;
        let span = &spans[index];
        if ticks > 0 {
            if let Some(thread) = &span.thread {
                add(&mut self.threads, (span.key, thread.clone()), ticks);
            }
            if let Some(process) = span.process {
                add(&mut self.processes, (span.key, process), ticks);
            }
        }
    }
}

/// Adds time to a sum; beyond the most there are no new ones.
fn add<K: Ord>(sums: &mut BTreeMap<K, u64>, key: K, ticks: u64) {
    let is_full = sums.len() >= MOST_THREADS;
    match sums.get_mut(&key) {
        // Events that contradict each other may count a stretch many times.
        Some(sum) => *sum = sum.saturating_add(ticks),
        None if is_full => {}
        None => {
            sums.insert(key, ticks);
        }
    }
}
