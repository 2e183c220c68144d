//! Stops of the measuring thread: while it is stopped or frozen nobody takes its time, whatever runs meanwhile.

use super::{Namer, cause};
use bandscope_recording::{EventKind, Gap, KernelEvent};
use bandscope_report::Cause;

fn is_stop(cause: &Cause) -> bool {
    matches!(cause, Cause::Stopped | Cause::Frozen)
}

impl Namer<'_> {
    /// When an event of a gap ended. A stop goes on where events are lost from its end on: no unit ended in the gap, so the thread did not run on.
    /// Whoever stops this program stops whoever empties the rings of events, too.
    pub(super) fn end(&self, event: &KernelEvent, gap: &Gap) -> u64 {
        let end = event.end();
        if event.kind != EventKind::Held || !is_stop(&cause(event.kind, &event.name)) {
            return end;
        }
        let slack = self.error + self.entry;
        let goes_on = |end: u64, from: u64, to: u64| match from <= end.saturating_add(slack) {
            true => end.max(to.min(gap.start.saturating_add(gap.duration))),
            false => end,
        };
        let lost = self.known.lost.iter();
        let mut lost: Vec<_> = lost
            .filter(|lost| Some(lost.cpu) == self.cpu && lost.to > gap.start)
            .collect();
        lost.sort_by_key(|lost| lost.from);
        lost.iter()
            .fold(end, |end, lost| goes_on(end, lost.from, lost.to))
    }

    /// Leaves out what lies within a stop.
    pub(super) fn hide_in_stops(&mut self) {
        let mut stopped_until = None;
        let names = &self.keys.names;
        self.inside.retain(|span| {
            if is_stop(&names[span.key as usize]) {
                stopped_until = stopped_until.max(Some(span.to));
                return true;
            }
            stopped_until.is_none_or(|until| span.to > until)
        });
    }
}
