//! Which tracepoints are recorded, and what a record of each says.
//!
//! All beginnings and ends of what takes a CPU away: interrupts of the CPU itself (x86 irq_vectors; elsewhere what CPUs
//! send each other), interrupts of devices, softirqs, other tasks, page faults of the measuring thread, non-maskable
//! interrupts. Which timer an interrupt was for, the function of the timer and the task that it wakes tell (`functions`). Linux, Documentation/trace/events.rst, include/trace/events/ and arch/x86/include/asm/trace/.

mod list;
mod shapes;

use super::error::TraceError;
use super::format::{Field, Format};
use super::functions::Functions;
use super::open::{Stacks, Who};
use super::point::{Left, Level, Point};
use super::tracefs::Tracefs;
use bandscope_recording::events::{EventKind, escaped};
use bandscope_sampler::machine::{self, Watch};
use list::{needed, wanted};
use shapes::{Act, Shape, shape};
use std::collections::HashMap;
use std::sync::Arc;

/// Vectors of the page fault and of the non-maskable interrupt on x86.
pub(super) const PAGE_FAULT: u32 = 14;
const NMI: u32 = 2;
/// Name of a function that the kernel does not tell.
const UNKNOWN: &str = "unknown";
/// Names that are kept at a time; a machine has some hundreds.
const MOST_NAMES: usize = 4096;

/// A tracepoint of this kernel.
#[derive(Clone, Debug)]
pub struct Tracepoint {
    /// As in its file `id`, and in the first two bytes of each of its records.
    pub id: u16,
    /// As in `irq:softirq_entry`.
    pub name: String,
    /// What the kernel lets through; empty for all.
    pub filter: String,
    /// Of which records of a sender no stack is taken, in the words of a filter.
    stackless: String,
    shape: Shape,
}

impl Tracepoint {
    /// Whether it is recorded for the measuring thread only: another task's page faults lie in that task's time, and
    /// there may be very many. Where a filter refuses them each takes 70 ns longer, of 1.4 us (Zen 4, a loop
    /// of madvise and touches beside `record`, five rounds in alternation).
    pub fn who(&self, thread: u32) -> Who {
        match self.shape {
            Shape::Fault(_) => Who::Thread(thread),
            _ => Who::Everybody,
        }
    }

    /// Whether it tells who wakes a task, interrupts a CPU, raises a softirq or sets a timer.
    fn is_of_senders(&self) -> bool {
        matches!(self.shape, Shape::Act(_))
    }

    /// Whether it is recorded on a CPU that is not measured.
    pub fn is_for_others(&self, watch: Watch) -> bool {
        match (watch, &self.shape) {
            (Watch::Measured, _) => false,
            // Who is behind a gap of another CPU.
            (Watch::Senders, Shape::Act(Act::Wakes(..)) | Shape::Expires(..) | Shape::Runs(..)) => {
                true
            }
            (Watch::Senders, Shape::Act(Act::Sends(..) | Act::SendsToMany(..))) => true,
            (Watch::Senders, Shape::Enter(kind, ..) | Shape::Exit(kind, _)) => {
                *kind != EventKind::Vector
            }
            (Watch::Senders, _) => false,
            // A page fault is told of the measuring thread alone.
            (Watch::All, shape) => !matches!(shape, Shape::Fault(_)),
        }
    }

    /// Whether it is recorded on a measured CPU, `alone` if that is the only one.
    pub fn is_for_measured(&self, watch: Watch, alone: bool) -> bool {
        match &self.shape {
            Shape::Runs(..) | Shape::Works(_) | Shape::Calls(_) => watch != Watch::Measured,
            Shape::Act(Act::Sets(..) | Act::Raises(..)) => watch == Watch::All,
            // Whom it interrupts matters where that is measured.
            Shape::Act(Act::Sends(..) | Act::SendsToMany(..)) => match watch {
                Watch::Measured => false,
                Watch::Senders => !alone,
                Watch::All => true,
            },
            _ => true,
        }
    }
}

/// All tracepoints that are recorded.
#[derive(Clone, Debug)]
pub struct Catalogue {
    tracepoints: Vec<Tracepoint>,
    names: HashMap<Vec<u8>, Arc<str>>,
    pub(super) functions: Arc<Functions>,
    /// Whether it is recorded from where in the kernel tasks are woken and CPUs interrupted.
    pub(super) with_stacks: bool,
}

impl Catalogue {
    /// Reads what this kernel has.
    ///
    /// # Errors
    /// One line: which tracepoint without which silence would say nothing is not there.
    pub fn read(tracefs: &Tracefs, functions: Arc<Functions>) -> Result<Catalogue, TraceError> {
        let mut tracepoints = Vec::new();
        for (subsystem, tracepoint) in wanted(tracefs, &functions) {
            let Ok(text) = tracefs.read(&format!("events/{subsystem}/{tracepoint}/format")) else {
                continue;
            };
            let read = Format::parse(&text).and_then(|format| {
                let shape = shape(&subsystem, &tracepoint, &format)?;
                Some((format.id, shape))
            });
            let name = format!("{subsystem}:{tracepoint}");
            let (id, shape) = read.ok_or_else(|| TraceError::OtherFormat(name.clone()))?;
            let interrupt = format!("common_flags & {}", Level::INTERRUPT);
            let (filter, stackless) = match (tracepoint.as_str(), functions.filter_of_sleepers()) {
                // The tick sets itself, time and again.
                ("hrtimer_start", sleepers) if sleepers.is_empty() => {
                    (functions.filter_of_the_tick(), interrupt)
                }
                ("hrtimer_start", sleepers) => (
                    functions.filter_of_the_tick(),
                    format!("{interrupt} || {sleepers}"),
                ),
                _ => (String::new(), interrupt),
            };
            tracepoints.push(Tracepoint {
                id,
                name,
                filter,
                stackless,
                shape,
            });
        }
        for needed in needed() {
            if !tracepoints.iter().any(|there| there.name == *needed) {
                return Err(TraceError::NoTracepoint(needed));
            }
        }
        Ok(Catalogue {
            tracepoints,
            names: HashMap::new(),
            functions,
            with_stacks: false,
        })
    }

    /// Adds what the user asks for.
    ///
    /// # Errors
    /// If it is not there, or recorded already.
    pub fn add(
        &mut self,
        tracefs: &Tracefs,
        asked: &[machine::Tracepoint],
    ) -> Result<(), TraceError> {
        for one in asked {
            let name = format!("{}:{}", one.system, one.name);
            let path = format!("events/{}/{}/format", one.system, one.name);
            let format = tracefs
                .read(&path)
                .ok()
                .and_then(|text| Format::parse(&text));
            let format = format.ok_or_else(|| TraceError::NoSuchEvent(name.clone()))?;
            if self.tracepoints.iter().any(|known| known.id == format.id) {
                return Err(TraceError::RecordedAlready(name));
            }
            self.tracepoints.push(Tracepoint {
                id: format.id,
                filter: one.filter.clone(),
                stackless: String::new(),
                shape: Shape::Asked(name.as_str().into(), format.own().cloned().collect()),
                name,
            });
        }
        Ok(())
    }

    /// Names of those that are recorded on any CPU; `alone` if one is measured.
    pub fn recorded(&self, watch: Watch, alone: bool) -> Vec<String> {
        let is_on =
            |one: &&Tracepoint| one.is_for_measured(watch, alone) || one.is_for_others(watch);
        let on = self.tracepoints.iter().filter(is_on);
        on.map(|one| one.name.clone()).collect()
    }

    /// The same without stacks.
    pub fn without_stacks(self) -> Catalogue {
        Catalogue {
            with_stacks: false,
            ..self
        }
    }

    /// How a tracepoint is opened, once or twice: what the samples have of stacks, and what the kernel lets through. A stack takes more time than all
    /// else, and an interrupt needs none: its line, or the function of its timer, says who it is. Nor does a task that sleeps.
    pub fn opened(&self, of: &Tracepoint) -> Vec<(Stacks, String)> {
        let also = match &*of.filter {
            "" => String::new(),
            filter => format!(" && ({filter})"),
        };
        match (self.with_stacks, of.is_of_senders()) {
            (false, _) => vec![(Stacks::Absent, of.filter.clone())],
            (true, false) => vec![(Stacks::Empty, of.filter.clone())],
            (true, true) => vec![
                (Stacks::Kernel, format!("!({}){also}", of.stackless)),
                (Stacks::Empty, format!("({}){also}", of.stackless)),
            ],
        }
    }

    /// The function that has somebody woken, interrupted, raised or set, on this stack; empty where that is not known.
    pub fn caller(&mut self, stack: &[u8]) -> Arc<str> {
        let name = self.functions.caller(stack).unwrap_or_default();
        known(&mut self.names, name.as_bytes())
    }

    /// What is recorded.
    pub fn tracepoints(&self) -> &[Tracepoint] {
        &self.tracepoints
    }

    /// Whether the functions of timers are recorded, so that an interrupt of the timer without the tick's is not the tick.
    pub fn tells_timers(&self) -> bool {
        let is_it = |tracepoint: &Tracepoint| matches!(tracepoint.shape, Shape::Expires(..));
        self.tracepoints.iter().any(is_it)
    }

    /// What a tracepoint's record says; `None` if it is of no tracepoint in the catalogue, or cut short.
    pub fn decode(&mut self, raw: &[u8]) -> Option<Point> {
        let id = u16::from_ne_bytes(raw.get(..2)?.try_into().ok()?);
        let tracepoint = self
            .tracepoints
            .iter()
            .find(|tracepoint| tracepoint.id == id)?;
        let number = |field: &Field| u32::try_from(field.number(raw)?).ok();
        let address = |field: &Field| Some(field.number(raw)? as u64);
        let functions = &self.functions;
        let function = |field: &Field, names: &mut HashMap<Vec<u8>, Arc<str>>| {
            let name = functions.name_at(address(field)?);
            Some(known(names, name.unwrap_or(UNKNOWN).as_bytes()))
        };
        Some(match &tracepoint.shape {
            Shape::Enter(kind, field, name) => {
                let (kind, number) = (*kind, number(field)?);
                let name = name.read(number, raw, &mut self.names)?;
                Point::Enter { kind, number, name }
            }
            Shape::Exit(kind, field) => Point::Exit {
                kind: *kind,
                number: number(field)?,
            },
            Shape::Switch(switch) => switch.read(raw, &mut self.names)?,
            Shape::Expires(timer, function, flags) => Point::Expires {
                by: Level::of(flags.number(raw)?),
                timer: address(timer)?,
                function: functions.at(address(function)?),
            },
            Shape::Runs(timer, field) => Point::Runs {
                timer: address(timer)?,
                function: function(field, &mut self.names)?,
            },
            Shape::Works(field) => Point::Works(function(field, &mut self.names)?),
            Shape::Calls(field) => Point::Calls(function(field, &mut self.names)?),
            Shape::Act(act) => act.read(raw, &mut self.names)?,
            Shape::Asked(name, fields) => {
                over(EventKind::Tracepoint, 0, &written(name, fields, raw), 0)
            }
            Shape::Ends(field) => Point::Ends {
                number: number(field)?,
            },
            Shape::Begins(kind, field, name) => over(*kind, number(field)?, name, 0),
            Shape::Fault(name) => over(EventKind::Exception, PAGE_FAULT, name, 0),
            Shape::Nmi(name, delta) => {
                let ns = u64::try_from(delta.number(raw)?).unwrap_or(0);
                over(EventKind::Nmi, NMI, name, ns)
            }
        })
    }
}

fn over(kind: EventKind, number: u32, name: &Arc<str>, ns: u64) -> Point {
    let name = name.clone();
    Point::Over {
        kind,
        number,
        name,
        ns,
    }
}

/// The name of a tracepoint and its fields, escaped, as far as a file takes it.
fn written(name: &str, fields: &[Field], raw: &[u8]) -> Arc<str> {
    let mut text = name.as_bytes().to_vec();
    for field in fields {
        field.written(raw, &mut text);
    }
    // Four bytes for each that is strange must fit.
    text.truncate(bandscope_recording::events::MAX_NAME_BYTES / 4);
    escaped(&text).into()
}

/// The CPUs of a mask: bits in words of the machine's byte order, which is little-endian wherever this runs.
fn cpus(mask: &[u8]) -> Vec<u32> {
    let bits = (0u32..).zip(mask).flat_map(|(place, byte)| {
        let set = (0..8).filter(move |bit| byte >> bit & 1 == 1);
        set.map(move |bit| 8 * place + bit)
    });
    bits.collect()
}

/// One copy of each name, escaped.
fn known(names: &mut HashMap<Vec<u8>, Arc<str>>, bytes: &[u8]) -> Arc<str> {
    if let Some(name) = names.get(bytes) {
        return name.clone();
    }
    if names.len() >= MOST_NAMES {
        names.clear();
    }
    // Four bytes for each of a name that is all strange must fit into a file.
    let shown = &bytes[..bytes
        .len()
        .min(bandscope_recording::events::MAX_NAME_BYTES / 4)];
    let name: Arc<str> = escaped(shown).into();
    names.insert(bytes.to_vec(), name.clone());
    name
}

#[cfg(test)]
mod tests;
