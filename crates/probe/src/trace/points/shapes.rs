//! What a record of each tracepoint holds, and where in it.

use super::list::ENDLESS;
use super::{Field, Format, Left, Level, Point, cpus, known};
use bandscope_recording::events::{EventKind, escaped};
use std::collections::HashMap;
use std::sync::Arc;

/// Softirqs by number, as /proc/softirqs names them (include/linux/interrupt.h).
const SOFTIRQS: [&str; 10] = [
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
];

/// How a tracepoint's records are read.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Enter(EventKind, Field, Name),
    Exit(EventKind, Field),
    Switch(Switch),
    /// Which timer, its function, and, of the first, where the kernel is.
    Expires(Field, Field, Field),
    Runs(Field, Field),
    Works(Field),
    Calls(Field),
    Act(Act),
    Ends(Field),
    Begins(EventKind, Field, Arc<str>),
    Fault(Arc<str>),
    Nmi(Arc<str>, Field),
    /// What the user asked for.
    Asked(Arc<str>, Vec<Field>),
}

/// Who is woken, interrupted, raised or set, and at last where the kernel was.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// To which CPU, or to which of a mask.
    Sends(Field, Field),
    SendsToMany(Field, Field),
    /// Whom, and its name.
    Wakes(Field, Field, Field),
    /// Which timer.
    Sets(Field, Field),
    /// Which softirq.
    Raises(Field, Field),
}

#[derive(Clone, Debug)]
pub(super) enum Name {
    Fixed(Arc<str>),
    Softirq,
    Text(Field),
}

impl Name {
    /// The name of number `number`, whose record is `raw`; `None` if that is cut short.
    pub(super) fn read(
        &self,
        number: u32,
        raw: &[u8],
        names: &mut HashMap<Vec<u8>, Arc<str>>,
    ) -> Option<Arc<str>> {
        Some(match self {
            Name::Fixed(name) => name.clone(),
            Name::Softirq => match SOFTIRQS.get(number as usize) {
                Some(name) => known(names, name.as_bytes()),
                None => known(names, number.to_string().as_bytes()),
            },
            Name::Text(field) => known(names, field.text(raw)?),
        })
    }
}

impl Act {
    /// What a record says; `None` if it is cut short.
    pub(super) fn read(&self, raw: &[u8], names: &mut HashMap<Vec<u8>, Arc<str>>) -> Option<Point> {
        let number = |field: &Field| u32::try_from(field.number(raw)?).ok();
        let by = |flags: &Field| Some(Level::of(flags.number(raw)?));
        Some(match self {
            Act::Sends(cpu, flags) => Point::Sends {
                cpus: vec![number(cpu)?],
                by: by(flags)?,
            },
            Act::SendsToMany(mask, flags) => Point::Sends {
                cpus: cpus(mask.blob(raw)?),
                by: by(flags)?,
            },
            Act::Wakes(task, name, flags) => Point::Wakes {
                number: number(task)?,
                name: known(names, name.text(raw)?),
                by: by(flags)?,
            },
            Act::Sets(timer, flags) => Point::Sets {
                timer: timer.number(raw)? as u64,
                by: by(flags)?,
            },
            Act::Raises(softirq, flags) => Point::Raises {
                number: number(softirq)?,
                by: by(flags)?,
            },
        })
    }
}

/// Fields of a switch of tasks.
#[derive(Clone, Debug)]
pub(super) struct Switch {
    previous: Field,
    next: Field,
    name: Field,
    /// State and priority of the previous one.
    left: Option<(Field, Field)>,
}

impl Switch {
    /// What a record says; `None` if it is cut short.
    pub(super) fn read(&self, raw: &[u8], names: &mut HashMap<Vec<u8>, Arc<str>>) -> Option<Point> {
        let number = |field: &Field| u32::try_from(field.number(raw)?).ok();
        Some(Point::Switch {
            previous: number(&self.previous)?,
            next: number(&self.next)?,
            name: known(names, self.name.text(raw)?),
            left: match &self.left {
                Some((state, priority)) => Left::of(state.number(raw)?, priority.number(raw)?),
                None => Left::Unknown,
            },
        })
    }
}

/// How the records of a tracepoint are read; `None` if a field is missing.
pub(super) fn shape(subsystem: &str, tracepoint: &str, format: &Format) -> Option<Shape> {
    let field = |name: &str| format.field(name).cloned();
    Some(match (subsystem, tracepoint) {
        ("irq", "irq_handler_entry") => Shape::Enter(
            EventKind::Interrupt,
            field("irq")?,
            Name::Text(field("name")?),
        ),
        ("irq", "irq_handler_exit") => Shape::Exit(EventKind::Interrupt, field("irq")?),
        ("irq", "softirq_entry") => Shape::Enter(EventKind::Softirq, field("vec")?, Name::Softirq),
        ("irq", "softirq_exit") => Shape::Exit(EventKind::Softirq, field("vec")?),
        ("sched", "sched_switch") => Shape::Switch(Switch {
            previous: field("prev_pid")?,
            next: field("next_pid")?,
            name: field("next_comm")?,
            left: field("prev_state").zip(field("prev_prio")),
        }),
        ("sched", "sched_process_exit") => Shape::Ends(field("pid")?),
        ("sched", "sched_waking") => Shape::Act(Act::Wakes(
            field("pid")?,
            field("comm")?,
            field("common_flags")?,
        )),
        ("timer", "timer_expire_entry") => Shape::Runs(field("timer")?, field("function")?),
        ("timer", "timer_start") => Shape::Act(Act::Sets(field("timer")?, field("common_flags")?)),
        ("timer", "hrtimer_start") => {
            Shape::Act(Act::Sets(field("hrtimer")?, field("common_flags")?))
        }
        ("irq", "softirq_raise") => Shape::Act(Act::Raises(field("vec")?, field("common_flags")?)),
        ("workqueue", "workqueue_execute_start") => Shape::Works(field("function")?),
        ("csd", "csd_function_entry") => Shape::Calls(field("func")?),
        ("ipi", "ipi_send_cpu") => Shape::Act(Act::Sends(field("cpu")?, field("common_flags")?)),
        ("ipi", "ipi_send_cpumask") => {
            Shape::Act(Act::SendsToMany(field("cpumask")?, field("common_flags")?))
        }
        ("timer", "hrtimer_expire_entry") => Shape::Expires(
            field("hrtimer")?,
            field("function")?,
            field("common_flags")?,
        ),
        ("exceptions", name) => Shape::Fault(name.into()),
        ("nmi", "nmi_handler") => Shape::Nmi("nmi".into(), field("delta_ns")?),
        ("irq_vectors", name) => match name.strip_suffix("_entry") {
            Some(ENDLESS) => Shape::Begins(EventKind::Vector, field("vector")?, ENDLESS.into()),
            Some(stem) => Shape::Enter(
                EventKind::Vector,
                field("vector")?,
                Name::Fixed(escaped(stem.as_bytes()).into()),
            ),
            None => Shape::Exit(EventKind::Vector, field("vector")?),
        },
        _ => return None,
    })
}
