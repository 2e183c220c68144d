//! Gaps one by one, each with what its time was booked to: for exports, which write them all down and keep none.
//!
//! The names are those of the ledger, so that whoever adds an export up arrives at the report's figures. One step is not repeated: of the
//! preemptions that the ledger books to stops by the sums of a whole run (`ledger/stops.rs`), nobody knows which were stops.

use crate::gaps::naming::{self, Namer};
use bandscope_recording::{Error, EventKind, Gap, GapKind, KernelEvent, Sender, Source};
use bandscope_report::{Cause, Certainty};

/// A gap and what it was.
pub struct NamedGap<'a> {
    /// The gap as it was recorded.
    pub gap: &'a Gap,
    /// Causes and the ticks that are booked to each, in the order of time in which each came up; they add up to the gap's duration.
    pub shares: &'a [(Cause, u64)],
    /// Which of them has the largest part: what the report calls the gap.
    pub main: usize,
    /// Whether the data decide that: `certain` where kernel events lie in the gap, or are known to be silent; `likely` where the kernel said
    /// that something preempted the thread or a signal reached it, and not what, or where counts of the whole run alone say that it was a stop; `possible`
    /// where nothing says anything.
    pub certainty: Certainty,
    /// Id of the task that it was, where it was one.
    pub task: Option<u32>,
    /// With the kernel events of the gap.
    namer: &'a Namer<'a>,
}

impl NamedGap<'_> {
    /// What has the largest part.
    pub fn cause(&self) -> &Cause {
        (self.shares.get(self.main)).map_or(&Cause::Unnamed, |share| &share.0)
    }

    /// Whether the data decide a cause of it, as [`Self::certainty`].
    pub fn certainty_of(&self, cause: &Cause) -> Certainty {
        certainty(cause, self.namer)
    }

    /// Id of the task that a cause was in this gap, where it was one.
    pub fn task_of(&self, cause: &Cause) -> Option<u32> {
        match cause {
            Cause::Task(task) => the_task(task, self.gap, self.namer),
            _ => None,
        }
    }

    /// Who made a cause run in this gap, or sent it, as far as that is known, and how many ticks before: of several, of the longest, and that it ran on
    /// only if there is nothing else.
    pub fn sender_of(&self, cause: &Cause) -> Option<(&Sender, u64)> {
        let sent = self.namer.sent();
        let own = sent.filter(|(piece, ..)| self.namer.name(piece.share.key) == cause);
        own.max_by_key(|(piece, sender, _)| (sender.is_somebody(), piece.share.ticks))
            .map(|(_, sender, waited)| (sender, waited))
    }
}

fn certainty(cause: &Cause, namer: &Namer<'_>) -> Certainty {
    match cause {
        Cause::Unnamed => Certainty::Possible,
        Cause::Preempted => Certainty::Likely,
        _ if namer.is_inferred() => Certainty::Likely,
        _ => Certainty::Certain,
    }
}

/// What the time of a kernel event is booked to.
pub fn cause(event: &KernelEvent) -> Cause {
    naming::cause(event.kind, &event.name)
}

/// Hands out the gaps of series `index` in order of time, checkpoints left out; none where gaps are not known.
///
/// # Errors
/// If the gaps or the events cannot be read.
pub fn each(
    source: &dyn Source,
    index: usize,
    visit: &mut dyn FnMut(&NamedGap<'_>),
) -> Result<(), Error> {
    if !source.series()[index].gaps_known {
        return Ok(());
    }
    let mut namer = Namer::new(source, index)?;
    let mut shares = Vec::new();
    let mut failed = None;
    source.replay_gaps(index, &mut |gaps| {
        for gap in gaps.iter().filter(|gap| gap.kind == GapKind::Gap) {
            if failed.is_some() {
                return;
            }
            match name(gap, &mut namer, &mut shares) {
                Ok((main, certainty, task)) => visit(&NamedGap {
                    gap,
                    shares: &shares,
                    main,
                    certainty,
                    task,
                    namer: &namer,
                }),
                Err(error) => failed = Some(error),
            }
        }
    })?;
    failed.map_or(Ok(()), Err)
}

/// Which share is the largest, how sure it is, and the id of its task.
fn name(
    gap: &Gap,
    namer: &mut Namer<'_>,
    shares: &mut Vec<(Cause, u64)>,
) -> Result<(usize, Certainty, Option<u32>), Error> {
    let keys = namer.split(gap)?.to_vec();
    shares.clear();
    shares.extend(
        keys.iter()
            .map(|share| (namer.name(share.key).clone(), share.ticks)),
    );
    // As everywhere: of equal ones the last.
    let main = (0..keys.len())
        .max_by_key(|&place| keys[place].ticks)
        .unwrap_or(0);
    let cause = (shares.get(main)).map_or(&Cause::Unnamed, |share| &share.0);
    let task = match cause {
        Cause::Task(task) => the_task(task, gap, namer),
        _ => None,
    };
    Ok((main, certainty(cause, namer), task))
}

/// The id of the tasks of a name in a gap, if that is one.
fn the_task(name: &str, gap: &Gap, namer: &Namer<'_>) -> Option<u32> {
    let end = gap.start.saturating_add(gap.duration);
    let mut ids = namer
        .events()
        .filter(|event| event.kind == EventKind::Task && namer.booked_name(event) == name)
        // One whose end is not known has no length.
        .filter(|event| event.start < end && (event.end() > gap.start || event.duration == 0))
        .map(|event| event.number);
    let first = ids.next()?;
    ids.all(|id| id == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::manifest::{Events, EventsState, Quota};
    use bandscope_recording::source::{InMemory, Series};
    use bandscope_recording::{GapKind, Manifest};

    fn source(state: EventsState) -> InMemory {
        let gap = |start, duration, preempted| Gap {
            start,
            duration,
            preempted,
            ..Gap::default()
        };
        let checkpoint = Gap {
            kind: GapKind::Checkpoint,
            ..gap(4_500, 0, None)
        };
        let event = |start, duration, kind, number, name: &str| KernelEvent {
            start,
            duration,
            kind,
            number,
            name: name.into(),
            ..KernelEvent::default()
        };
        let events = vec![
            event(1_100, 200, EventKind::Vector, 236, "local_timer"),
            event(1_400, 500, EventKind::Task, 77, "make"),
            event(3_000, 40, EventKind::Task, 78, "make"),
        ];
        let mut manifest = Manifest {
            events: Events {
                state,
                ..Events::default()
            },
            ..Manifest::default()
        };
        manifest.clock.ticks_per_ns = 1.0;
        InMemory {
            manifest,
            series: vec![Series {
                cpu: Some(0),
                rate_hz: 1e4,
                kernel: "imul20".into(),
                gaps_known: true,
                ends_known: true,
                origin: String::new(),
            }],
            gaps: vec![vec![
                gap(1_000, 1_000, Some(true)),
                checkpoint,
                gap(5_000, 300, Some(true)),
                gap(6_000, 300, Some(false)),
            ]],
            events: vec![if state == EventsState::On {
                events
            } else {
                Vec::new()
            }],
            ..InMemory::default()
        }
    }

    fn named(state: EventsState) -> Vec<(String, u64, Certainty, Option<u32>)> {
        named_of(&source(state))
    }

    fn named_of(source: &InMemory) -> Vec<(String, u64, Certainty, Option<u32>)> {
        let mut named = Vec::new();
        each(source, 0, &mut |gap| {
            let total: u64 = gap.shares.iter().map(|share| share.1).sum();
            assert_eq!(gap.gap.duration, total);
            named.push((
                gap.cause().to_string(),
                gap.shares[gap.main].1,
                gap.certainty,
                gap.task,
            ));
        })
        .unwrap();
        named
    }

    #[test]
    fn what_the_kernel_said_is_certain() {
        let wanted = [
            ("task:make".to_owned(), 500, Certainty::Certain, Some(77)),
            ("preempted".to_owned(), 300, Certainty::Likely, None),
            ("host".to_owned(), 300, Certainty::Certain, None),
        ];
        assert_eq!(named(EventsState::On), wanted);
    }

    #[test]
    fn a_stop_that_counts_alone_tell_is_likely() {
        let mut source = source(EventsState::Off);
        source.manifest.quotas = vec![Quota {
            throttled: 1,
            throttled_ns: 1_000,
            ..Quota::default()
        }];
        let stop = ("throttled:quota".to_owned(), 1_000, Certainty::Likely, None);
        assert_eq!(named_of(&source)[0], stop);
    }

    #[test]
    fn without_events_nothing_is() {
        let causes: Vec<_> = named(EventsState::Off)
            .into_iter()
            .map(|gap| (gap.0, gap.2))
            .collect();
        let wanted = [
            ("preempted".to_owned(), Certainty::Likely),
            ("preempted".to_owned(), Certainty::Likely),
            ("unnamed".to_owned(), Certainty::Possible),
        ];
        assert_eq!(causes, wanted);
    }
}
