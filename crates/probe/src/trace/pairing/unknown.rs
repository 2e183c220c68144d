//! Spans in which something happened that is not known.

use super::{LONGEST_NS, MOST_SPANS, Pairing, Running, Span};
use crate::trace::point::Left;

impl Pairing {
    /// Takes note that records were lost after the last one.
    pub fn lose(&mut self, records: u64) {
        let open = self.frames.first().map(|frame| frame.start);
        let open = open.unwrap_or(self.latest).min(self.latest);
        self.frames.clear();
        match std::mem::replace(&mut self.running, Running::Unknown) {
            // It had the CPU until the last record at least, or until what was open then began: from there on nothing is known.
            Running::Other(task) if open > task.start => self.close(task, open),
            Running::Other(_) => {}
            Running::Own => self.own_left = Left::Unknown,
            Running::Unknown => {}
        }
        // It may have come back, and left in another way. A stop lasts: whoever stops this program stops whoever empties the ring.
        if self.own_left != Left::Stopped {
            self.own_left = Left::Unknown;
        }
        let lost = self.lost.get_or_insert(Span {
            from: open,
            to: open,
            records: 0,
        });
        lost.records = lost.records.saturating_add(records);
    }

    /// Something of which nothing is known went on until now.
    pub(super) fn doubt(&mut self, time: u64) {
        let from = self
            .known_from
            .max(time.saturating_sub(LONGEST_NS))
            .min(time);
        self.note(Span {
            from,
            to: time,
            records: 0,
        });
    }

    pub(super) fn note(&mut self, span: Span) {
        if span.from == span.to && span.records == 0 {
            return;
        }
        let full = self.spans.len() >= MOST_SPANS;
        match self.spans.last_mut() {
            Some(last) if full || (span.from <= last.to && span.to >= last.from) => {
                last.from = last.from.min(span.from);
                last.to = last.to.max(span.to);
                last.records += span.records;
            }
            _ => self.spans.push(span),
        }
    }

    /// Where nothing is known.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Up to when all is known, where all that the ring held was taken and it may have had no room for more.
    pub fn latest(&self) -> u64 {
        self.latest
    }
}
