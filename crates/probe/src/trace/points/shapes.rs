//! What a record of each tracepoint holds, and where in it.

use super::list::ENDLESS;
use super::{Field, Format, Left, Point, known};
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
    /// Which timer, and its function.
    Expires(Field, Field),
    Runs(Field, Field),
    /// Which timer, and where the kernel was.
    Sets(Field, Field),
    /// Which softirq, and where the kernel was.
    Raises(Field, Field),
    Works(Field),
    Calls(Field),
    /// To which CPU, or to which of a mask, and where the kernel was.
    Sends(Field, Field),
    SendsToMany(Field, Field),
    /// Whom, its name, and where the kernel was.
    Wakes(Field, Field, Field),
    Ends(Field),
    Begins(EventKind, Field, Arc<str>),
    Fault(Arc<str>),
    Nmi(Arc<str>, Field),
    /// What the user asked for.
    Asked(Arc<str>, Vec<Field>),
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
        ("sched", "sched_waking") => {
            Shape::Wakes(field("pid")?, field("comm")?, field("common_flags")?)
        }
        ("timer", "timer_expire_entry") => Shape::Runs(field("timer")?, field("function")?),
        ("timer", "timer_start") => Shape::Sets(field("timer")?, field("common_flags")?),
        ("timer", "hrtimer_start") => Shape::Sets(field("hrtimer")?, field("common_flags")?),
        ("irq", "softirq_raise") => Shape::Raises(field("vec")?, field("common_flags")?),
        ("workqueue", "workqueue_execute_start") => Shape::Works(field("function")?),
        ("csd", "csd_function_entry") => Shape::Calls(field("func")?),
        ("ipi", "ipi_send_cpu") => Shape::Sends(field("cpu")?, field("common_flags")?),
        ("ipi", "ipi_send_cpumask") => {
            Shape::SendsToMany(field("cpumask")?, field("common_flags")?)
        }
        ("timer", "hrtimer_expire_entry") => Shape::Expires(field("hrtimer")?, field("function")?),
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
