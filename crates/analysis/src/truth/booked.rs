//! What the gaps of a series book to disturbers and to others: one pass over the gaps, and the kernel events that name them.

use super::{Track, whole_ns};
use crate::gaps::naming::{Key, Namer, Share, Thread};
use crate::series::context::Context;
use bandscope_recording::disturbances::{Header, Intervals};
use bandscope_recording::{Error, EventKind, Gap, GapKind, KernelEvent, Source};
use bandscope_report::{Cause, Held, MatchedBy, OutsideGaps};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Ticks by key of the namer.
#[derive(Debug, Default)]
struct Ticks(Vec<u64>);

impl Ticks {
    fn add(&mut self, key: Key, ticks: u64) {
        let index = key as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, 0);
        }
        self.0[index] += ticks;
    }
}

/// What is known of one disturber.
#[derive(Debug, Default)]
struct OfLog {
    /// Key of its own thread.
    thread: Key,
    /// From switches to a task of its name to switches back, ticks: of its own thread, and of any.
    stay_of_thread: u64,
    stay_of_name: u64,
    /// Whether an event had its id.
    seen: bool,
    /// By cause, within its logged spans.
    within: Ticks,
}

/// The sums over all gaps of a series.
#[derive(Debug, Default)]
pub(super) struct Books {
    names: Vec<Cause>,
    all: Ticks,
    of_logs: Vec<OfLog>,
    /// By cause: number and ticks of gaps that touch no disturbance.
    outside: Vec<(u64, u64)>,
    /// Gaps of which a part is booked to the thread of a log, and those of them that touch a disturbance.
    named: (u64, u64),
}

impl Books {
    /// Reads the gaps of series `index`; `all` are the spans of all logs.
    pub(super) fn read(
        source: &dyn Source,
        index: usize,
        tracks: &[&Track<'_>],
        all: &Intervals,
    ) -> Result<Books, Error> {
        let mut namer = Namer::new(source, index)?;
        let mut books = Books::default();
        for track in tracks {
            let task = &track.log.header.task;
            let thread = namer.keep_apart(Thread {
                name: task.name.clone(),
                id: task.thread,
            });
            books.of_logs.push(OfLog {
                thread,
                ..OfLog::default()
            });
        }
        let mut failed = None;
        source.replay_gaps(index, &mut |gaps| {
            for gap in gaps.iter().filter(|gap| gap.kind == GapKind::Gap) {
                if failed.is_none() {
                    failed = books.gap(gap, &mut namer, tracks, all).err();
                }
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        books.names = namer.names().to_vec();
        Ok(books)
    }

    fn gap(
        &mut self,
        gap: &Gap,
        namer: &mut Namer<'_>,
        tracks: &[&Track<'_>],
        all: &Intervals,
    ) -> Result<(), Error> {
        let (from, to) = (gap.start, gap.start.saturating_add(gap.duration));
        let shares = namer.split(gap)?;
        for share in shares {
            self.all.add(share.key, share.ticks);
        }
        let of_a_log = |share: &Share| self.of_logs.iter().any(|one| one.thread == share.key);
        if shares.iter().any(of_a_log) {
            self.named.0 += 1;
            self.named.1 += u64::from(all.within(from, to) > 0);
        }
        if all.within(from, to) == 0 {
            let main = shares.iter().max_by_key(|share| share.ticks);
            let main = main.map_or(0, |share| share.key as usize);
            if main >= self.outside.len() {
                self.outside.resize(main + 1, (0, 0));
            }
            self.outside[main].0 += 1;
            self.outside[main].1 += gap.duration;
        }
        for (of_log, track) in self.of_logs.iter_mut().zip(tracks) {
            let task = &track.log.header.task;
            let same =
                |event: &&KernelEvent| event.kind == EventKind::Task && *event.name == *task.name;
            for event in namer.events().filter(same) {
                let stay = event.end().min(to).saturating_sub(event.start.max(from));
                of_log.stay_of_name += stay;
                if event.number == task.thread {
                    of_log.seen = true;
                    of_log.stay_of_thread += stay;
                }
            }
            for (start, end) in overlapping(&track.spans, from, to) {
                for share in namer.part(gap, start, end) {
                    of_log.within.add(share.key, share.ticks);
                }
            }
        }
        Ok(())
    }

    /// What is booked to the disturber of log number `place`.
    pub(super) fn held(
        &self,
        place: usize,
        track: &Track<'_>,
        traced: bool,
        context: &Context,
    ) -> Held {
        let of_log = &self.of_logs[place];
        let header = &track.log.header;
        let task = Cause::Task((*header.task.name).into());
        let is_task = |key: Key| match of_log.seen {
            true => key == of_log.thread,
            false => self.names[key as usize] == task,
        };
        // Without events there is nothing that tells its time from that of others.
        let work = KernelWork::of(header);
        let is_its_work = |key: Key| work.is_some_and(|work| work.has(&self.names[key as usize]));
        let is_own = |key: Key| !traced || is_task(key) || is_its_work(key);
        let mut others = BTreeMap::<Cause, u64>::new();
        let mut own = 0;
        for (key, &ticks) in of_log.within.0.iter().enumerate() {
            if is_own(key as Key) {
                own += ticks;
            } else if ticks > 0 {
                *others.entry(self.names[key].clone()).or_default() += ticks;
            }
        }
        let sum = |ticks: &Ticks, wanted: &dyn Fn(Key) -> bool| -> u64 {
            let known = (0..).zip(&ticks.0);
            known
                .filter(|(key, _)| wanted(*key))
                .map(|one| *one.1)
                .sum()
        };
        // Its task wherever it ran, and what else is its work where the log says that it worked.
        let elsewhere = match traced {
            true => sum(&self.all, &is_task).saturating_sub(sum(&of_log.within, &is_task)),
            false => 0,
        };
        let stay = match of_log.seen {
            true => of_log.stay_of_thread,
            false => of_log.stay_of_name,
        };
        Held {
            matched_by: match (traced, of_log.seen) {
                (false, _) => MatchedBy::Time,
                (true, true) => MatchedBy::Thread,
                (true, false) => MatchedBy::Name,
            },
            booked_ns: whole_ns(own + elsewhere, context),
            stay_ns: traced.then(|| whole_ns(stay, context)),
            booked_within_ns: whole_ns(own, context),
            others_within_ns: others
                .into_iter()
                .map(|(cause, ticks)| (cause, whole_ns(ticks, context)))
                .collect(),
            ..Held::default()
        }
    }

    /// Gaps of which a part is booked to the thread of a log, and those of them that touch a disturbance.
    pub(super) fn named(&self) -> (u64, u64) {
        self.named
    }

    /// Gaps that touch no disturbance, by cause.
    pub(super) fn outside(&self, context: &Context) -> Vec<OutsideGaps> {
        let mut causes = BTreeMap::<&Cause, (u64, u64)>::new();
        for (name, &(number, ticks)) in self.names.iter().zip(&self.outside) {
            if number > 0 {
                let cause = causes.entry(name).or_default();
                *cause = (cause.0 + number, cause.1 + ticks);
            }
        }
        let mut causes: Vec<OutsideGaps> = causes
            .into_iter()
            .map(|(cause, (number, ticks))| OutsideGaps {
                cause: cause.clone(),
                number,
                ns: whole_ns(ticks, context),
            })
            .collect();
        causes.sort_by_key(|one| Reverse(one.ns));
        causes
    }
}

/// What a disturber makes the kernel do in its time, which has events of its own: it is the disturber's work, and the CPU time of its thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KernelWork {
    Packets,
    PageFaults,
}

impl KernelWork {
    /// By the kind that a log names.
    fn of(log: &Header) -> Option<KernelWork> {
        match log.kind.as_str() {
            "softirq" => Some(KernelWork::Packets),
            "faults" => Some(KernelWork::PageFaults),
            _ => None,
        }
    }

    fn has(self, cause: &Cause) -> bool {
        match self {
            KernelWork::Packets => matches!(cause, Cause::Softirq(name) if **name == *"NET_RX"),
            KernelWork::PageFaults => matches!(cause, Cause::Exception(_)),
        }
    }
}

/// The pieces of `spans` between two ticks.
fn overlapping(spans: &Intervals, from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> {
    let spans = spans.spans();
    let first = spans.partition_point(|span| span.1 <= from);
    let inside = spans[first..].iter().take_while(move |span| span.0 < to);
    inside.map(move |span| (span.0.max(from), span.1.min(to)))
}
