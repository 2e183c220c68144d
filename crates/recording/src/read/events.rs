//! Kernel events of one CPU from its parts, and where a run that was cut short says nothing about them.

use crate::columns::{EVENT_ROWS, caller_columns, event_columns, sender_columns, setter_columns};
use crate::events::{EventKind, EventStream, KernelEvent, Sender};
use crate::manifest::{EventsState, LostEvents, State};
use crate::order::{EventOrder, MAX_TICKS};
use crate::read::column::{Column, Scratch};
use crate::read::part::Part;
use crate::read::scan::Found;
use crate::read::{disordered, open_part};
use crate::{Error, Manifest};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Different names that are kept at a time; a machine has some hundreds.
const MOST_NAMES: usize = 4096;

/// The events of one CPU, from the beginning.
pub struct Events<'a> {
    manifest: &'a Manifest,
    found: &'a Found,
    /// The part that is read next, and the row group of the one that is open.
    next_part: u32,
    open: Option<(PathBuf, Part)>,
    next_group: usize,
    /// Columns of the row group under way and the rows left in it.
    group: Option<(Vec<Column>, usize)>,
    order: EventOrder,
    scratch: EventScratch,
}

/// Memory for columns, reused from batch to batch.
#[derive(Debug, Default)]
struct EventScratch {
    types: Scratch,
    wide: Vec<u64>,
    narrow: Vec<u32>,
    texts: Vec<Arc<str>>,
    names: BTreeSet<Arc<str>>,
    functions: Vec<Arc<str>>,
    callers: Vec<Arc<str>>,
    setters: Vec<Arc<str>>,
}

impl<'a> Events<'a> {
    /// Reads nothing yet.
    pub fn new(manifest: &'a Manifest, found: &'a Found) -> Events<'a> {
        Events {
            manifest,
            found,
            next_part: 0,
            open: None,
            next_group: 0,
            group: None,
            order: EventOrder::default(),
            scratch: EventScratch::default(),
        }
    }

    /// Goes to the next row group; `false` if there is none.
    fn advance(&mut self) -> Result<bool, Error> {
        loop {
            if let Some((_, part)) = &self.open
                && self.next_group < part.groups()
            {
                let mut columns = event_columns();
                // Each came later than the one before.
                for further in [sender_columns(), caller_columns(), setter_columns()] {
                    if !part.has(&further) {
                        break;
                    }
                    columns.extend(further);
                }
                self.group = Some(part.row_group(&columns, self.next_group)?);
                self.next_group += 1;
                return Ok(true);
            }
            if self.next_part == self.found.parts {
                self.open = None;
                return Ok(false);
            }
            self.open = Some(open_part(self.manifest, self.found, self.next_part)?);
            self.next_part += 1;
            self.next_group = 0;
        }
    }
}

impl EventStream for Events<'_> {
    fn next(&mut self, events: &mut Vec<KernelEvent>) -> Result<bool, Error> {
        events.clear();
        while self.group.as_ref().is_none_or(|(_, left)| *left == 0) {
            if !self.advance()? {
                return Ok(false);
            }
        }
        let (Some((columns, left)), Some((path, _))) = (&mut self.group, &self.open) else {
            unreachable!("advance leaves both");
        };
        let rows = (*left).min(EVENT_ROWS);
        *left -= rows;
        decode(path, columns, rows, &mut self.scratch, events)?;
        let checked = self.order.check(events);
        checked.map_err(|disorder| disordered(path, disorder))?;
        Ok(true)
    }
}

/// Reads the next rows of columns in the order of [`crate::columns::EVENTS`], and those that follow.
fn decode(
    path: &Path,
    columns: &mut [Column],
    rows: usize,
    scratch: &mut EventScratch,
    events: &mut Vec<KernelEvent>,
) -> Result<(), Error> {
    let [start, duration, kind, number, name, senders @ ..] = columns else {
        unreachable!("the caller opened these five columns");
    };
    let EventScratch {
        types,
        wide,
        narrow,
        texts,
        names,
        ..
    } = scratch;
    if names.len() > MOST_NAMES {
        names.clear();
    }
    name.texts(rows, names, texts)?;
    events.extend(texts.drain(..).map(|name| KernelEvent {
        name,
        ..KernelEvent::default()
    }));
    start.wide(rows, types, wide)?;
    (events.iter_mut().zip(&*wide)).for_each(|(event, &value)| event.start = value);
    duration.wide(rows, types, wide)?;
    (events.iter_mut().zip(&*wide)).for_each(|(event, &value)| event.duration = value);
    number.narrow(rows, types, narrow)?;
    (events.iter_mut().zip(&*narrow)).for_each(|(event, &value)| event.number = value);
    kind.narrow(rows, types, narrow)?;
    for (event, &value) in events.iter_mut().zip(&*narrow) {
        let kind = EventKind::ALL.get(value as usize);
        event.kind = *kind.ok_or_else(|| Error::File {
            path: path.into(),
            found: format!("an event of kind {value}"),
            expected: "0 (vector) to 8 (tracepoint); a newer version may know more".into(),
        })?;
    }
    decode_senders(senders, rows, scratch, events)
}

/// The same of the columns in the order of [`crate::columns::SENDERS`], [`crate::columns::CALLERS`] and [`crate::columns::SETTERS`], as far as they are there.
fn decode_senders(
    columns: &mut [Column],
    rows: usize,
    scratch: &mut EventScratch,
    events: &mut [KernelEvent],
) -> Result<(), Error> {
    let [sender, cpu, function, waited, further @ ..] = columns else {
        return Ok(());
    };
    let EventScratch {
        types,
        wide,
        narrow,
        texts,
        names,
        functions,
        callers,
        setters,
    } = scratch;
    sender.texts(rows, names, texts)?;
    function.texts(rows, names, functions)?;
    cpu.narrow(rows, types, narrow)?;
    waited.wide(rows, types, wide)?;
    for (place, texts) in [&mut *callers, setters].into_iter().enumerate() {
        texts.clear();
        if let Some(column) = further.get_mut(place) {
            column.texts(rows, names, texts)?;
        }
    }
    for (row, event) in events.iter_mut().enumerate() {
        if !texts[row].is_empty() || !functions[row].is_empty() {
            event.waited = wide[row];
            event.sender = Some(Arc::new(Sender {
                name: texts[row].clone(),
                cpu: narrow[row],
                function: functions[row].clone(),
                caller: callers.get(row).cloned().unwrap_or_default(),
                set_by: setters.get(row).cloned().unwrap_or_default(),
            }));
        }
    }
    Ok(())
}

/// In a run that was cut short parts end where they end: marks the time after the last event of each CPU as undecided.
/// Where a run ended in order, silence after the last event is silence.
pub fn mark_the_end(manifest: &mut Manifest, found: &[Found]) -> Result<(), Error> {
    let ended = matches!(manifest.state, State::Complete | State::Interrupted);
    if ended || manifest.events.state != EventsState::On {
        return Ok(());
    }
    let mut marks = Vec::new();
    // A file may name one many times.
    let cpus: BTreeSet<u32> = manifest.settings.cpus.iter().copied().collect();
    for cpu in cpus {
        let mut from = 0;
        if let Some(found) = found
            .iter()
            .find(|found| found.directory.cpu() == Some(cpu))
        {
            let (mut events, mut stream) = (Vec::new(), Events::new(manifest, found));
            while stream.next(&mut events)? {
                from = events.last().map_or(from, |event| event.start);
            }
        }
        marks.push(LostEvents {
            cpu,
            from,
            to: MAX_TICKS,
            events: 0,
        });
    }
    manifest.events.lost.append(&mut marks);
    Ok(())
}
