//! The causes to which the time of gaps is booked, in the order in which they came up, and which event has which.

use super::Key;
use bandscope_recording::manifest::TaskThread;
use bandscope_recording::{EventKind, KernelEvent, manifest};
use bandscope_report::Cause;
use std::collections::HashMap;
use std::sync::Arc;

/// Causes that are told apart. A machine has some hundreds; a day of compilers has any number of tasks, each of another name, and none of
/// them matters. Tasks beyond it are [`Cause::OtherTasks`], whichever come later.
pub const MOST_CAUSES: usize = 4096;

/// Names of the processes of tasks, and their ids, by the tasks' ids.
#[derive(Debug, Default)]
pub struct Processes(HashMap<u32, (Arc<str>, u32)>);

impl Processes {
    /// Those that are known of a recording.
    pub fn of(known: &manifest::Events) -> Processes {
        let mut processes = Processes::default();
        processes.learn(&known.tasks);
        processes
    }

    /// Takes more of them. An empty name takes one back: another task has its id.
    pub fn learn(&mut self, tasks: &[TaskThread]) {
        for thread in tasks {
            match thread.name.is_empty() {
                true => self.0.remove(&thread.task),
                false => {
                    let process = (thread.name.as_str().into(), thread.process);
                    self.0.insert(thread.task, process)
                }
            };
        }
    }

    /// The name of the process of the task that an event is of, where that has one of its own.
    pub fn name(&self, event: &KernelEvent) -> Option<&Arc<str>> {
        let of_task = matches!(event.kind, EventKind::Task | EventKind::Timer);
        let process = self.0.get(&event.number).filter(|_| of_task);
        process.map(|(name, _)| name)
    }

    /// What the time of an event is booked to: a thread has the name of its process.
    pub fn cause(&self, event: &KernelEvent) -> Cause {
        cause(event.kind, self.name(event).unwrap_or(&event.name))
    }
}

/// The causes that came up.
#[derive(Debug, Default)]
pub(super) struct Keys {
    pub(super) processes: Processes,
    pub(super) names: Vec<Cause>,
    known: HashMap<(EventKind, Arc<str>), Key>,
    plain: HashMap<Cause, Key>,
    pub(super) apart: Vec<(Thread, Key)>,
}

/// A thread whose time is kept apart from that of others of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its name, as its events have it.
    pub name: String,
    /// The kernel's id of the thread, as its events have it.
    pub id: u32,
}

impl Keys {
    pub(super) fn of(known: &manifest::Events) -> Keys {
        Keys {
            processes: Processes::of(known),
            ..Keys::default()
        }
    }

    /// The process of the task that an event is of, where that has a name of its own.
    pub(super) fn process(&self, event: &KernelEvent) -> Option<&Arc<str>> {
        self.processes.name(event)
    }

    /// The id of the process that a task is of; a task that is no known thread is one by itself. Of other events, and of a task without an id, `None`.
    pub(super) fn process_id(&self, event: &KernelEvent) -> Option<u32> {
        let process = self.processes.0.get(&event.number);
        let id = process.map_or(event.number, |(_, id)| *id);
        (event.kind == EventKind::Task && id > 0).then_some(id)
    }

    pub(super) fn of_event(&mut self, event: &KernelEvent) -> Key {
        let is_it = |thread: &Thread| thread.id == event.number && *thread.name == *event.name;
        if let Some(&(_, key)) = self
            .apart
            .iter()
            .find(|(thread, _)| event.kind == EventKind::Task && is_it(thread))
        {
            return key;
        }
        // An interrupt may come without its name where tracing began inside of it.
        let name = self.process(event).unwrap_or(&event.name);
        let known = (event.kind, name.clone());
        if let Some(&key) = self.known.get(&known) {
            return key;
        }
        let key = self.plain(cause(event.kind, name));
        if self.known.len() < MOST_CAUSES {
            self.known.insert(known, key);
        }
        key
    }

    pub(super) fn plain(&mut self, cause: Cause) -> Key {
        if let Some(&key) = self.plain.get(&cause) {
            return key;
        }
        if self.names.len() >= MOST_CAUSES && folded(&cause) != cause {
            return self.plain(folded(&cause));
        }
        let key = self.names.len() as Key;
        self.names.push(cause.clone());
        self.plain.insert(cause, key);
        key
    }
}

/// What a cause belongs to where too many are known to tell it apart.
fn folded(cause: &Cause) -> Cause {
    match cause {
        Cause::Task(_) => Cause::OtherTasks,
        Cause::Timer(_) => bare_timer(),
        Cause::Interrupt(name) if **name != *LOCAL_TIMER => Cause::Unnamed,
        Cause::Softirq(_) | Cause::Exception(_) | Cause::Held(_) => Cause::Unnamed,
        few => few.clone(),
    }
}

/// What the time of an event of a kind and name is booked to.
pub fn cause(kind: EventKind, name: &str) -> Cause {
    let of = |kind: fn(Arc<str>) -> Cause| kind(name.into());
    match kind {
        // The tick of x86, and of the generic timer, which is a device to the kernel.
        EventKind::Vector if name == LOCAL_TIMER => Cause::Tick,
        EventKind::Interrupt if name == "arch_timer" => Cause::Tick,
        EventKind::Vector | EventKind::Interrupt => of(Cause::Interrupt),
        EventKind::Softirq => of(Cause::Softirq),
        EventKind::Task => of(Cause::Task),
        EventKind::Exception => of(Cause::Exception),
        EventKind::Nmi => Cause::Nmi,
        EventKind::Timer if name.is_empty() => bare_timer(),
        EventKind::Timer => of(Cause::Timer),
        // It took no time.
        EventKind::Tracepoint => Cause::Unnamed,
        // As recordings name them (docs/recording-format.md).
        EventKind::Held => match name {
            "throttled:quota" => Cause::QuotaThrottled,
            "throttled:realtime" => Cause::RealTimeThrottled,
            "stopped" => Cause::Stopped,
            "frozen" => Cause::Frozen,
            // Together with the faults that did not have to wait.
            "page_fault" => Cause::Exception("page_fault_user".into()),
            _ => of(Cause::Held),
        },
    }
}

/// The kernel's name for the interrupt of a CPU's own timer.
const LOCAL_TIMER: &str = "local_timer";

/// The timer's interrupt, in which none of its functions ran.
pub fn bare_timer() -> Cause {
    Cause::Interrupt(LOCAL_TIMER.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_most_are_other_tasks_and_need_no_memory() {
        let mut keys = Keys::default();
        let mut key = |kind, number, name: &str| {
            let event = KernelEvent {
                kind,
                number,
                name: name.into(),
                ..KernelEvent::default()
            };
            let key = keys.of_event(&event);
            (
                keys.names[key as usize].clone(),
                keys.names.len(),
                keys.known.len(),
            )
        };
        let first = Cause::Task("job-0".into());
        for number in 0..100_000 {
            key(EventKind::Task, number, &format!("job-{number}"));
        }
        for (kind, name, wanted) in [
            (EventKind::Task, "job-0", first),
            (EventKind::Task, "job-99999", Cause::OtherTasks),
            (EventKind::Timer, "late", bare_timer()),
            (EventKind::Softirq, "late", Cause::Unnamed),
            (EventKind::Vector, LOCAL_TIMER, Cause::Tick),
        ] {
            let (cause, names, known) = key(kind, 0, name);
            assert_eq!(cause, wanted);
            assert!(
                names <= MOST_CAUSES + 4 && known <= MOST_CAUSES,
                "{names} {known}"
            );
        }
    }
}
