//! Kernel events as slices: the one that ran is the innermost.

use super::Frame;
use super::trace::{Name, Trace, Track, Value};
use bandscope_analysis::named::cause;
use bandscope_recording::manifest::LostEvents;
use bandscope_recording::{Error, EventKind, EventStream, KernelEvent};

/// Writes all events of one CPU; how many began before the trace does, and are left out.
pub fn write(
    stream: &mut dyn EventStream,
    track: Track,
    frame: &Frame,
    trace: &mut Trace<'_>,
) -> Result<u64, Error> {
    let (mut events, mut open, mut before) = (Vec::new(), Vec::new(), 0);
    while stream.next(&mut events)? {
        for event in &events {
            if event.start < frame.origin {
                before += 1;
                continue;
            }
            slice(event, track, frame, &mut open, trace);
        }
    }
    while let Some(end) = open.pop() {
        trace.end(track, end);
    }
    Ok(before)
}

/// `open` are the ends of the slices that hold what comes next, innermost last.
fn slice(
    event: &KernelEvent,
    track: Track,
    frame: &Frame,
    open: &mut Vec<u64>,
    trace: &mut Trace<'_>,
) {
    let start = frame.ns(event.start);
    while let Some(end) = open.pop_if(|end| *end <= start) {
        trace.end(track, end);
    }
    let number = match event.kind {
        EventKind::Task => Name::Pid,
        _ => Name::Number,
    };
    let mut arguments = vec![
        (Name::Kind, Value::Text(event.kind.name())),
        (number, Value::Uint(event.number.into())),
    ];
    if let Some(sender) = &event.sender {
        let woken = frame.ns(event.start.saturating_sub(event.waited));
        arguments.extend([
            (Name::Sender, Value::Text(&sender.name)),
            (Name::SenderCpu, Value::Uint(sender.cpu.into())),
            (Name::SenderFunction, Value::Text(&sender.caller)),
            (Name::SetBy, Value::Text(&sender.set_by)),
            (Name::Function, Value::Text(&sender.function)),
            (Name::Waited, Value::Uint(start.saturating_sub(woken))),
        ]);
    }
    let name = match event.kind {
        EventKind::Tracepoint => event.name.to_string(),
        _ => cause(event).to_string(),
    };
    if event.duration == 0 {
        trace.instant(track, start, &name, &arguments);
        return;
    }
    trace.begin(track, start, &name, &arguments);
    let end = frame.ns(event.end());
    // A recording's events never overlap in part; whoever made others must not end another slice in place of this one.
    open.push(open.last().map_or(end, |around| end.min(*around)));
}

/// Marks where events of a CPU were lost, so that silence says nothing there.
pub fn lost(lost: &[LostEvents], cpu: u32, track: Track, frame: &Frame, trace: &mut Trace<'_>) {
    let inside = |tick: u64| frame.ns(tick.clamp(frame.origin, frame.end));
    let mut spans: Vec<(u64, u64, u64)> = lost
        .iter()
        .filter(|lost| lost.cpu == cpu)
        .map(|lost| (inside(lost.from), inside(lost.to), lost.events))
        .collect();
    spans.sort_unstable();
    let mut last = 0;
    for (from, to, number) in spans {
        let from = from.max(last);
        if from < to {
            trace.begin(
                track,
                from,
                "events lost",
                &[(Name::Number, Value::Uint(number))],
            );
            trace.end(track, to);
            last = to;
        }
    }
}
