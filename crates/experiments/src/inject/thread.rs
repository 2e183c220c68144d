//! The disturbing thread: waits, disturbs, and leaves what it did in a ring that another thread empties.

use super::action::{Action, Waiting};
use super::plan::Plan;
use super::usage::Usage;
use crate::Error;
use bandscope_probe::clock;
use bandscope_probe::ring::Writer;
use bandscope_recording::disturbances::Disturbance;
use std::sync::atomic::{AtomicU64, Ordering};

/// What goes through the ring. The pieces of a disturbance come before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The disturber was away during disturbance `number`.
    Away {
        /// Its number.
        number: u64,
        /// First tick.
        from: u64,
        /// Last tick.
        to: u64,
    },
    /// A disturbance.
    Done {
        /// Its number.
        number: u64,
        /// As in [`Disturbance`].
        planned: u64,
        /// As in [`Disturbance`].
        start: u64,
        /// As in [`Disturbance`].
        end: u64,
        /// As in [`Disturbance`].
        cpu_ns: u64,
        /// As in [`Disturbance`].
        preempted: u32,
        /// As in [`Disturbance`].
        events: u32,
    },
}

/// What did not become a disturbance, or not a row.
#[derive(Debug, Default)]
pub struct Tally {
    /// Planned starts that had passed.
    pub skipped: AtomicU64,
    /// Disturbances that found no room in the ring.
    pub lost: AtomicU64,
}

/// What the thread is to do.
#[derive(Clone, Copy, Debug)]
pub struct Orders {
    /// When.
    pub plan: Plan,
    /// For how long.
    pub length_ticks: u64,
    /// No disturbance is planned after this tick.
    pub last_tick: Option<u64>,
    /// Where; another CPU ends the run.
    pub cpu: u32,
}

/// Disturbs until the last planned start, or the end of the run.
///
/// # Errors
/// If the kernel refuses what the kind needs, or moved the thread to another CPU.
pub fn disturb(
    action: &mut dyn Action,
    orders: &Orders,
    waiting: &Waiting,
    tally: &Tally,
    ring: &mut Writer<Entry>,
) -> Result<(), Error> {
    let usage_ticks = Usage::cost_ticks();
    let mut before = Usage::read();
    // Starts are in order, so the last one that is planned is the one before the first that is not.
    let last_number = orders.last_tick.map_or(u64::MAX - 1, |last| {
        orders.plan.next(0, last.saturating_add(1)) - 1
    });
    let mut number = 0;
    loop {
        let next = orders.plan.next(number, clock::ticks());
        // Those after the last one were never planned, however late it is.
        let skipped = next.min(last_number + 1) - number - 1;
        tally.skipped.fetch_add(skipped, Ordering::Relaxed);
        if next > last_number {
            return Ok(());
        }
        number = next;
        let planned = orders.plan.start(number);
        let start = action.wait(planned, waiting).map_err(Error::Wait)?;
        let Some(start) = start else {
            return Ok(());
        };
        let mut fits = true;
        let mut last = start;
        let mut away = |from: u64, to: u64| {
            last = to;
            fits &= push(ring, Entry::Away { number, from, to });
        };
        // Reading the account takes its time of the length, too.
        let until = start.saturating_add(orders.length_ticks.saturating_sub(usage_ticks));
        let events = action
            .disturb(start, until, waiting, &mut away)
            .map_err(Error::Disturb)?;
        let usage = Usage::read();
        let end = clock::ticks();
        let faults = usage.faults.saturating_sub(before.faults);
        let done = Entry::Done {
            number,
            planned,
            start,
            // A clock that was set back makes a disturbance of no length, never a negative one.
            end: end.max(last),
            cpu_ns: usage.cpu_ns.saturating_sub(before.cpu_ns),
            preempted: narrow(usage.preempted.saturating_sub(before.preempted)),
            events: narrow(events.unwrap_or(faults)),
        };
        before = usage;
        if !(fits && push(ring, done)) {
            tally.lost.fetch_add(1, Ordering::Relaxed);
        }
        stay_on(orders.cpu)?;
    }
}

fn push(ring: &mut Writer<Entry>, entry: Entry) -> bool {
    ring.push(entry) || (ring.look_for_room() > 0 && ring.push(entry))
}

fn narrow(count: u64) -> u32 {
    count.try_into().unwrap_or(u32::MAX)
}

fn stay_on(cpu: u32) -> Result<(), Error> {
    match rustix::thread::sched_getcpu() as u32 {
        here if here == cpu => Ok(()),
        here => Err(Error::Moved {
            from: cpu,
            to: here,
        }),
    }
}

/// Makes rows of entries.
#[derive(Debug, Default)]
pub struct Assembler {
    number: u64,
    away: Vec<(u64, u64)>,
}

impl Assembler {
    /// Takes the next entry; a row, if it ends one. Pieces of a disturbance that was lost belong to none.
    pub fn take(&mut self, entry: Entry) -> Option<Disturbance> {
        match entry {
            Entry::Away { number, from, to } => {
                if number != self.number {
                    self.number = number;
                    self.away.clear();
                }
                self.away.push((from, to));
                None
            }
            Entry::Done {
                number,
                planned,
                start,
                end,
                cpu_ns,
                preempted,
                events,
            } => {
                let away = std::mem::take(&mut self.away);
                Some(Disturbance {
                    planned,
                    start,
                    end,
                    away: if number == self.number {
                        away
                    } else {
                        Vec::new()
                    },
                    cpu_ns: Some(cpu_ns),
                    preempted: preempted.into(),
                    events: events.into(),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inject::action::Spin;
    use crate::inject::spin::Turn;
    use bandscope_probe::ring::ring;
    use std::sync::atomic::AtomicBool;

    fn done(number: u64) -> Entry {
        Entry::Done {
            number,
            planned: number,
            start: 10 * number,
            end: 10 * number + 9,
            cpu_ns: 5,
            preempted: 1,
            events: 2,
        }
    }

    fn away(number: u64) -> Entry {
        Entry::Away {
            number,
            from: 10 * number + 1,
            to: 10 * number + 3,
        }
    }

    #[test]
    fn pieces_belong_to_their_disturbance_or_to_none() {
        let mut assembler = Assembler::default();
        assert_eq!(assembler.take(away(1)), None);
        let first = assembler.take(done(1)).unwrap();
        assert_eq!(first.away, [(11, 13)]);
        assert_eq!((first.start, first.preempted, first.events), (10, 1, 2));
        // Disturbance 2 was lost, its piece was not.
        assert_eq!(assembler.take(away(2)), None);
        assert_eq!(assembler.take(done(3)).unwrap().away, []);
        assert_eq!(assembler.take(done(4)).unwrap().away, []);
    }

    /// Sleeps through everything after its first start.
    struct Oversleeps;

    impl Action for Oversleeps {
        fn disturb(
            &mut self,
            _start: u64,
            _until: u64,
            waiting: &Waiting,
            _away: &mut dyn FnMut(u64, u64),
        ) -> std::io::Result<Option<u64>> {
            waiting.sleep(clock::ticks() + (20e6 * waiting.ticks_per_ns) as u64);
            Ok(Some(0))
        }
    }

    #[test]
    fn starts_after_the_last_planned_one_are_not_skipped_ones() {
        let waiting = Waiting {
            stop: AtomicBool::new(false),
            ticks_per_ns: bandscope_probe::preparation::rough_ticks_per_ns(),
            away_threshold: u64::MAX,
        };
        let (mut writer, _reader) = ring(16).unwrap();
        let tally = Tally::default();
        let origin = clock::ticks();
        let period_ticks = 1e6 * waiting.ticks_per_ns;
        let orders = Orders {
            plan: Plan {
                origin,
                period_ticks,
                jitter_ticks: 0.0,
                seed: 0,
            },
            length_ticks: 0,
            last_tick: Some(origin + (5.5 * period_ticks) as u64),
            cpu: rustix::thread::sched_getcpu() as u32,
        };
        if let Err(why) = disturb(&mut Oversleeps, &orders, &waiting, &tally, &mut writer) {
            println!("SKIPPED: starts after the last: {why}");
            return;
        }
        // Of 5, however many of them passed before this thread first looked; 20 ms are 20 periods.
        let done = 5 - tally.skipped.into_inner();
        assert!(done <= 1, "{done}");
    }

    #[test]
    fn what_finds_no_room_is_counted_and_the_rest_is_kept() {
        let waiting = Waiting {
            stop: AtomicBool::new(false),
            ticks_per_ns: bandscope_probe::preparation::rough_ticks_per_ns(),
            away_threshold: u64::MAX,
        };
        let (mut writer, mut reader) = ring(4).unwrap();
        let tally = Tally::default();
        let origin = clock::ticks();
        let period_ticks = 1e5 * waiting.ticks_per_ns;
        let orders = Orders {
            plan: Plan {
                origin,
                period_ticks,
                jitter_ticks: 0.0,
                seed: 0,
            },
            length_ticks: 0,
            last_tick: Some(origin + (200.5 * period_ticks) as u64),
            cpu: rustix::thread::sched_getcpu() as u32,
        };
        // This thread is not pinned: being moved is an end, too.
        let ended = disturb(
            &mut Spin(Turn::Busy),
            &orders,
            &waiting,
            &tally,
            &mut writer,
        );
        let mut kept = Vec::new();
        reader.take(u64::MAX, &mut kept);
        let (lost, skipped) = (tally.lost.into_inner(), tally.skipped.into_inner());
        match ended {
            Ok(()) => assert_eq!(kept.len() as u64 + lost + skipped, 200),
            Err(why) => {
                println!("SKIPPED: a full ring: {why}");
                assert!(why.to_string().contains("moved"), "{why}");
            }
        }
        assert!(kept.len() <= 4);
        for entry in kept {
            let Entry::Done {
                planned,
                start,
                end,
                ..
            } = entry
            else {
                panic!("{entry:?}: nothing is that long");
            };
            assert!(planned <= start && start <= end);
        }
    }
}
