//! Who makes tasks and softirqs run, interrupts other CPUs, and sets timers: on all CPUs, and what each CPU did meanwhile.
//!
//! A wake-up (`sched:sched_waking`) is passed on the CPU of whoever wakes: a task, or an interrupt or a softirq, which the
//! records around it name. The task that is woken runs later, perhaps on another CPU; its next stay is the one that the wake-up caused, and only that. A
//! task that leaves a CPU and would go on running (`sched:sched_switch` says so) runs on without being woken again. A timer is set (`timer:hrtimer_start`, `timer:timer_start`) and expires, perhaps
//! again and again; whoever it wakes was woken on behalf of who set it.

mod doing;
mod table;
#[cfg(test)]
mod tests;

use super::pairing::Interval;
use super::point::{Left, Level, Point};
use crate::facts::task_name;
use bandscope_recording::{EventKind, RUNNABLE};
pub use doing::Doing;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use table::{Act, MOST_ACTS, MOST_KEYS, Table};

/// A wake-up whose task has not run for so long is forgotten.
pub const LONGEST_WAIT_NS: u64 = 10_000_000_000;
/// So is who set a timer that has not been set since; where there are many, after [`LONGEST_WAIT_NS`].
const LONGEST_SET_NS: u64 = 600_000_000_000;
/// So long a name that was read is believed: a thread may have another program by then, and its id another thread. It costs 5 us to read one.
const NAMED_NS: u64 = 100_000_000;
/// How often it is looked for timers that are forgotten: there may be many.
const FORGET_EACH_NS: u64 = 1_000_000_000;
/// Vectors by which CPUs interrupt each other: calls of functions of one and of many, and reschedule (Linux,
/// arch/x86/include/asm/irq_vectors.h).
const SENT: [u32; 3] = [0xfb, 0xfc, 0xfd];

/// Whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Target {
    /// A task, by its id.
    Task(u32),
    /// A CPU, by an interrupt.
    Cpu(u32),
    /// A softirq of a CPU, by its number.
    Softirq(u32, u32),
}

/// Wake-ups, softirqs, interrupts of CPUs by others, and timers, that were seen.
#[derive(Debug, Default)]
pub struct Senders {
    sent: Table<Target>,
    /// By the address of the timer.
    set: Table<u64>,
    forgot_at: u64,
    /// How many found no room: what they caused has no sender.
    lost: u64,
    /// Names of threads, and when they were read.
    names: HashMap<u32, (u64, Arc<str>)>,
}

/// What woke a task, sent an interrupt, raised a softirq or set a timer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// When, in nanoseconds of the events' clock.
    pub at: u64,
    /// On which CPU.
    pub cpu: u32,
    /// By whom.
    pub name: Arc<str>,
    /// Which function of the kernel called for it, or for the timer that did it; empty where that is not known.
    pub caller: Arc<str>,
    /// Who set that timer; empty where it was none, or nobody knows.
    pub set_by: Arc<str>,
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
            Point::Switch { previous, left, .. } => {
                return self.leave((time, cpu), *previous, *left);
            }
            Point::Wakes { number, by, .. } => (vec![Target::Task(*number)], *by),
            Point::Sends { cpus, by } => (cpus.iter().map(|&cpu| Target::Cpu(cpu)).collect(), *by),
            Point::Raises { number, .. } if doing.is_raised(*number) => return,
            Point::Raises { number, by } => (vec![Target::Softirq(cpu, *number)], *by),
            Point::Sets { by, .. } => (Vec::new(), *by),
            _ => return,
        };
        let agent = doing.agent(time, by);
        let timer = agent.as_ref().map_or(0, |agent| agent.timer);
        let act = Act {
            at: time,
            cpu,
            name: match agent {
                Some(agent) => agent.name,
                None => self.task(time, thread),
            },
            timer,
            // A timer's function says more than who calls it.
            caller: match timer {
                0 => caller,
                _ => Arc::default(),
            },
            ran: None,
        };
        match point {
            // One that goes on by itself is still that of who set it first.
            Point::Sets { timer: set, .. } if *set == timer => {}
            Point::Sets { timer: set, .. } => {
                if !self.set.add(*set, act) {
                    // Nor is it still that of who set it before.
                    self.set.remove(set);
                }
            }
            _ => {
                for target in targets {
                    if !self.sent.add(target, act.clone()) {
                        self.lost += 1;
                        // It did not run on either.
                        self.sent.drop_named_of(&target, RUNNABLE);
                    }
                }
            }
        }
    }

    /// A task left a CPU. If it would go on running, nobody will wake it.
    fn leave(&mut self, (at, cpu): (u64, u32), task: u32, left: Left) {
        static NAME: LazyLock<Arc<str>> = LazyLock::new(|| RUNNABLE.into());
        // The idle task always would.
        if task == 0 || !matches!(left, Left::Runnable { .. }) {
            return;
        }
        // Room is kept for wake-ups, which say more.
        if self.sent.number > MOST_ACTS / 2 {
            self.lost += 1;
            return;
        }
        let act = Act {
            at,
            cpu,
            name: NAME.clone(),
            timer: 0,
            caller: Arc::default(),
            ran: None,
        };
        self.lost += u64::from(!self.sent.add(Target::Task(task), act));
    }

    /// What woke the task of a stay on `cpu`, sent it an interrupt, raised the softirq or set the timer; `None` if nothing did that is known.
    pub fn of(&mut self, stay: &Interval, cpu: u32) -> Option<Sent> {
        let target = match stay.kind {
            EventKind::Task => Target::Task(stay.number),
            EventKind::Vector if SENT.contains(&stay.number) => Target::Cpu(cpu),
            EventKind::Softirq => Target::Softirq(cpu, stay.number),
            EventKind::Timer => return self.set.last(&stay.timer, stay.start).map(|act| sent(act)),
            _ => return None,
        };
        let act = self.sent.last(&target, stay.start)?;
        // The way out of a piece of a long stay leads to the same wake-up.
        if act.ran.is_some_and(|ran| ran != stay.start) {
            return None;
        }
        act.ran = Some(stay.start);
        let set = self.set.last(&act.timer, act.at);
        let (caller, set_by) = match set {
            Some(set) => (set.caller.clone(), set.name.clone()),
            None => (act.caller.clone(), Arc::default()),
        };
        Some(Sent {
            caller,
            set_by,
            ..sent(act)
        })
    }

    /// Forgets what no stay that begins at `horizon` or later was caused by.
    pub fn forget(&mut self, horizon: u64) {
        self.sent.forget(horizon, LONGEST_WAIT_NS);
        let many = self.set.acts.len() > MOST_KEYS / 2;
        let longest = if many {
            LONGEST_WAIT_NS
        } else {
            LONGEST_SET_NS
        };
        if horizon.saturating_sub(self.forgot_at) > FORGET_EACH_NS {
            self.forgot_at = horizon;
            self.set.forget(horizon, longest);
        }
    }

    /// Records were lost: whoever set a timer may have been another one since, and who left a CPU may have been woken.
    pub fn lose(&mut self) {
        self.set = Table::default();
        self.sent.drop_named(RUNNABLE);
    }

    /// Wake-ups, interrupts and softirqs that found no room.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The name of a task that wakes others, as the cause of a gap is named.
    fn task(&mut self, time: u64, thread: u32) -> Arc<str> {
        let known = self.names.get(&thread);
        if let Some((_, name)) = known.filter(|(read, _)| time.saturating_sub(*read) <= NAMED_NS) {
            return name.clone();
        }
        let before = known.map(|(_, name)| name.clone());
        if self.names.len() >= MOST_KEYS {
            self.names.clear();
        }
        // One that ended meanwhile keeps its name.
        let name: Arc<str> = match (
            thread,
            std::fs::read(format!("/proc/{thread}/comm")),
            before,
        ) {
            (0, ..) => "idle".into(),
            (_, Ok(name), _) => format!("task:{}", task_name(name.trim_ascii_end())).into(),
            (_, Err(_), Some(name)) => name,
            (_, Err(_), None) => "task".into(),
        };
        self.names.insert(thread, (time, name.clone()));
        name
    }
}

fn sent(act: &Act) -> Sent {
    Sent {
        at: act.at,
        cpu: act.cpu,
        name: act.name.clone(),
        caller: act.caller.clone(),
        set_by: Arc::default(),
    }
}
