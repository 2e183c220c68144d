//! Who makes tasks run, and interrupts other CPUs: on all CPUs, and what each CPU did meanwhile.
//!
//! A wake-up (`sched:sched_waking`) is passed on the CPU of whoever wakes: a task, or an interrupt or a softirq, which the
//! records around it name. The task that is woken runs later, perhaps on another CPU; its next stay is the one that the wake-up caused, and only that:
//! a task that another one preempted runs on without being woken again.

use super::pairing::Interval;
use super::point::{Level, Point};
use crate::facts::task_name;
use bandscope_recording::EventKind;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A wake-up whose task has not run for so long is forgotten.
pub const LONGEST_WAIT_NS: u64 = 10_000_000_000;
/// Tasks whose wake-ups, or names, are kept.
const MOST_TASKS: usize = 1 << 14;
/// Vectors by which CPUs interrupt each other: calls of functions of one and of many, and reschedule (Linux,
/// arch/x86/include/asm/irq_vectors.h).
const SENT: [u32; 3] = [0xfb, 0xfc, 0xfd];
/// Wake-ups that are kept, 6 MiB. All that come wait for as long as another task is in one piece on a measured CPU, a second, and where that CPU
/// says nothing for [`LONGEST_WAIT_NS`]: so these are 13,000 a second.
const MOST_WAKES: usize = 1 << 17;
/// A timer's function that began so long ago is over: the kernel tells its end by a tracepoint that is not recorded.
const LONGEST_TIMER_NS: u64 = 100_000;

/// What one CPU does at the moment, as far as it may wake a task.
#[derive(Clone, Debug, Default)]
pub struct Doing {
    interrupt: Option<Arc<str>>,
    softirq: Option<Arc<str>>,
    /// The function of the high-resolution timer that expired last, and when.
    timer: Option<(u64, Arc<str>)>,
    /// That of the timer wheel, in the softirq at hand.
    wheel: Option<Arc<str>>,
}

impl Doing {
    /// Takes what happened on the CPU at `time`.
    pub fn see(&mut self, time: u64, point: &Point) {
        match point {
            Point::Enter { kind, name, .. } => match kind {
                EventKind::Softirq => (self.softirq, self.wheel) = (Some(name.clone()), None),
                EventKind::Interrupt => self.interrupt = Some(name.clone()),
                // The timers of the one before are over.
                _ => self.timer = None,
            },
            Point::Exit { kind, .. } => match kind {
                EventKind::Softirq => (self.softirq, self.wheel) = (None, None),
                EventKind::Interrupt => self.interrupt = None,
                _ => self.timer = None,
            },
            Point::Expires(function) if function.is_tick => {
                self.timer = Some((time, "tick".into()));
            }
            Point::Expires(function) => {
                self.timer = Some((time, format!("timer:{}", function.name).into()));
            }
            Point::Runs(function) => self.wheel = Some(function.clone()),
            _ => {}
        }
    }

    /// What wakes somebody at `time`, named as causes are, and whether it is a timer; `None` for a task.
    fn waker(&self, time: u64, by: Level) -> Option<(Arc<str>, bool)> {
        let timer = |(since, name): &(u64, Arc<str>)| {
            (time.saturating_sub(*since) <= LONGEST_TIMER_NS).then(|| name.clone())
        };
        let named = |kind: &str, name: &Arc<str>| format!("{kind}:{name}").into();
        let expired = self.timer.as_ref().and_then(timer);
        match by {
            Level::Task => None,
            Level::Interrupt => Some(match (&self.interrupt, expired) {
                (Some(name), _) => (named("irq", name), false),
                (None, Some(expired)) => (expired, true),
                (None, None) => ("interrupt".into(), false),
            }),
            Level::Softirq => Some(match (&self.wheel, &self.softirq) {
                (Some(function), _) => (named("timer", function), true),
                (None, Some(name)) => (named("softirq", name), false),
                (None, None) => ("softirq".into(), false),
            }),
        }
    }
}

#[derive(Clone, Debug)]
struct Wake {
    at: u64,
    cpu: u32,
    name: Arc<str>,
    caller: Arc<str>,
    /// Beginning of the stay that it caused.
    ran: Option<u64>,
}

/// Whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Target {
    /// A task, by its id.
    Task(u32),
    /// A CPU, by an interrupt.
    Cpu(u32),
}

/// Wake-ups, and interrupts of CPUs by others, that were seen.
#[derive(Debug, Default)]
pub struct Senders {
    wakes: HashMap<Target, VecDeque<Wake>>,
    /// How many these are.
    number: usize,
    /// How many found no room: what they caused has no sender.
    lost: u64,
    names: HashMap<u32, Arc<str>>,
}

/// What woke a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Woken {
    /// When, in nanoseconds of the events' clock.
    pub at: u64,
    /// On which CPU.
    pub cpu: u32,
    /// By whom.
    pub name: Arc<str>,
    /// Which function of the kernel called for it; empty where that is not known.
    pub caller: Arc<str>,
}

impl Senders {
    /// Takes a record of `cpu`, passed while `thread` ran there, which was `doing` this, as a `caller` in the kernel asked for.
    pub fn see(
        &mut self,
        (time, cpu, thread): (u64, u32, u32),
        doing: &Doing,
        point: &Point,
        caller: Arc<str>,
    ) {
        let (targets, by): (Vec<Target>, Level) = match point {
            Point::Wakes { number, by, .. } => (vec![Target::Task(*number)], *by),
            Point::Sends { cpus, by } => (cpus.iter().map(|&cpu| Target::Cpu(cpu)).collect(), *by),
            _ => return,
        };
        let (name, caller) = match doing.waker(time, by) {
            // Its function says more than who calls it.
            Some((timer, true)) => (timer, Arc::default()),
            Some((name, false)) => (name, caller),
            None => (self.task(thread), caller),
        };
        for target in targets {
            let wake = Wake {
                at: time,
                cpu,
                name: name.clone(),
                caller: caller.clone(),
                ran: None,
            };
            self.add(target, wake);
        }
    }

    fn add(&mut self, target: Target, wake: Wake) {
        let is_new = !self.wakes.contains_key(&target);
        if self.number >= MOST_WAKES || is_new && self.wakes.len() >= MOST_TASKS {
            self.lost += 1;
            return;
        }
        self.number += 1;
        let wakes = self.wakes.entry(target).or_default();
        // Rings are emptied one by one: what comes last need not have happened last.
        let place = wakes.partition_point(|known| known.at <= wake.at);
        wakes.insert(place, wake);
    }

    /// What woke the task of a stay on `cpu`, or sent it an interrupt; `None` if nothing did that is known.
    pub fn of(&mut self, stay: &Interval, cpu: u32) -> Option<Woken> {
        let target = match stay.kind {
            EventKind::Task => Target::Task(stay.number),
            EventKind::Vector if SENT.contains(&stay.number) => Target::Cpu(cpu),
            _ => return None,
        };
        let wakes = self.wakes.get_mut(&target)?;
        let place = wakes.partition_point(|wake| wake.at <= stay.start);
        let wake = wakes.get_mut(place.checked_sub(1)?)?;
        // The way out of a piece of a long stay leads to the same wake-up.
        if wake.ran.is_some_and(|ran| ran != stay.start) {
            return None;
        }
        wake.ran = Some(stay.start);
        Some(Woken {
            at: wake.at,
            cpu: wake.cpu,
            name: wake.name.clone(),
            caller: wake.caller.clone(),
        })
    }

    /// Forgets what no stay that begins at `horizon` or later was caused by.
    pub fn forget(&mut self, horizon: u64) {
        self.wakes.retain(|_, wakes| {
            while wakes.get(1).is_some_and(|next| next.at < horizon) {
                wakes.pop_front();
            }
            give_back(wakes);
            let old = |wake: &Wake| wake.at.saturating_add(LONGEST_WAIT_NS) < horizon;
            !wakes.back().is_none_or(old)
        });
        self.number = self.wakes.values().map(VecDeque::len).sum();
    }

    /// Wake-ups that found no room.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The name of a task that wakes others, as the cause of a gap is named.
    fn task(&mut self, thread: u32) -> Arc<str> {
        if let Some(name) = self.names.get(&thread) {
            return name.clone();
        }
        if self.names.len() >= MOST_TASKS {
            self.names.clear();
        }
        let name: Arc<str> = match (thread, std::fs::read(format!("/proc/{thread}/comm"))) {
            (0, _) => "idle".into(),
            (_, Ok(name)) => format!("task:{}", task_name(name.trim_ascii_end())).into(),
            (_, Err(_)) => "task".into(),
        };
        self.names.insert(thread, name.clone());
        name
    }
}

/// Gives memory back that one burst needed, for the next thing that needs some.
fn give_back(wakes: &mut VecDeque<Wake>) {
    const SMALL: usize = 64;
    if wakes.capacity() > SMALL && wakes.len() < wakes.capacity() / 4 {
        wakes.shrink_to(2 * wakes.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::functions::Function;

    fn wakes(number: u32, by: Level) -> Point {
        Point::Wakes {
            number,
            name: "t".into(),
            by,
        }
    }

    fn stay(number: u32, start: u64) -> Interval {
        Interval {
            start,
            end: start + 10,
            kind: EventKind::Task,
            number,
            name: "t".into(),
            functions: Vec::new(),
        }
    }

    fn enter(kind: EventKind, name: &str) -> Point {
        Point::Enter {
            kind,
            number: 1,
            name: name.into(),
        }
    }

    #[test]
    fn a_stay_is_caused_by_the_wake_up_before_it_and_by_that_alone() {
        let mut senders = Senders::default();
        let doing = Doing::default();
        let own = std::process::id();
        // Of two CPUs, the rings of which are emptied one by one.
        for (time, cpu) in [(100, 0), (300, 0), (200, 1)] {
            senders.see((time, cpu, own), &doing, &wakes(7, Level::Task), "a".into());
        }
        let mut woken = |start| {
            senders
                .of(&stay(7, start), 0)
                .map(|woken| (woken.at, woken.cpu))
        };
        assert_eq!(woken(50), None, "before all");
        assert_eq!(woken(210), Some((200, 1)));
        assert_eq!(woken(230), None, "it was preempted, and runs on");
        assert_eq!(woken(305), Some((300, 0)));
        let name = senders.task(own);
        assert!(name.starts_with("task:"), "{name}");
        assert_eq!(&*senders.task(0), "idle");
        assert_eq!(&*senders.task(u32::MAX), "task");
    }

    #[test]
    fn an_interrupt_by_another_cpu_has_a_sender() {
        let mut senders = Senders::default();
        let sends = Point::Sends {
            cpus: vec![0, 2],
            by: Level::Softirq,
        };
        senders.see((100, 1, 0), &Doing::default(), &sends, Arc::default());
        let mut of = |number, start, cpu| {
            let vector = Interval {
                kind: EventKind::Vector,
                ..stay(number, start)
            };
            let sent = senders.of(&vector, cpu);
            sent.map(|sent| (sent.at, sent.cpu, sent.name.to_string()))
        };
        let sent = Some((100, 1, "softirq".to_owned()));
        assert_eq!(of(0xfb, 105, 1), None, "another CPU");
        assert_eq!(of(0xec, 105, 0), None, "its own timer");
        assert_eq!(of(0xfb, 105, 0), sent);
        assert_eq!(of(0xfb, 205, 0), None, "it came");
        assert_eq!(of(0xfc, 110, 2), sent);
    }

    #[test]
    fn an_interrupt_and_a_softirq_are_named() {
        let mut doing = Doing::default();
        let expired = |is_tick, name: &str| {
            Point::Expires(Function {
                is_tick,
                name: name.into(),
            })
        };
        let is = |doing: &Doing, time, by, wanted: Option<&str>| {
            let waker = doing.waker(time, by).map(|(name, _)| name);
            assert_eq!(waker.as_deref(), wanted);
        };
        is(&doing, 1, Level::Task, None);
        is(&doing, 1, Level::Interrupt, Some("interrupt"));
        doing.see(10, &expired(false, "hrtimer_wakeup"));
        is(&doing, 12, Level::Interrupt, Some("timer:hrtimer_wakeup"));
        is(
            &doing,
            10 + LONGEST_TIMER_NS + 1,
            Level::Interrupt,
            Some("interrupt"),
        );
        doing.see(20, &expired(true, "tick_nohz_handler"));
        is(&doing, 22, Level::Interrupt, Some("tick"));
        doing.see(30, &enter(EventKind::Interrupt, "nvme0q1"));
        is(&doing, 31, Level::Interrupt, Some("irq:nvme0q1"));
        doing.see(40, &enter(EventKind::Softirq, "TIMER"));
        is(&doing, 41, Level::Softirq, Some("softirq:TIMER"));
        doing.see(42, &Point::Runs("delayed_work_timer_fn".into()));
        is(
            &doing,
            43,
            Level::Softirq,
            Some("timer:delayed_work_timer_fn"),
        );
        let exit = Point::Exit {
            kind: EventKind::Softirq,
            number: 1,
        };
        doing.see(44, &exit);
        is(&doing, 45, Level::Softirq, Some("softirq"));
    }

    #[test]
    fn what_is_settled_needs_no_memory() {
        let mut senders = Senders::default();
        let doing = Doing::default();
        for time in 0..1000 {
            senders.see((time, 0, 0), &doing, &wakes(7, Level::Task), Arc::default());
        }
        senders.forget(900);
        assert_eq!(
            senders.wakes[&Target::Task(7)].len(),
            101,
            "one of before may still wait"
        );
        assert_eq!(senders.number, 101);
        senders.forget(900 + 2 * LONGEST_WAIT_NS);
        assert!(senders.wakes.is_empty() && senders.number == 0);
        for time in 0..=MOST_WAKES as u64 {
            let wakes = wakes(time as u32 % 7, Level::Task);
            senders.see((time, 0, 0), &doing, &wakes, Arc::default());
        }
        assert_eq!((senders.number, senders.lost()), (MOST_WAKES, 1));
        senders.forget(MOST_WAKES as u64);
        let memory: usize = senders.wakes.values().map(VecDeque::capacity).sum();
        assert!(memory < 1000, "{memory}");
    }
}
