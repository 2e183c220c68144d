//! Kernel events that wait for the gaps that they lie in. Real-time tasks, or whoever stops the measuring thread, may hold a measured CPU for minutes, while
//! it has no quanta and other CPUs go on. So whoever gets events as they come bounds what waits by [`Queue::thin`], and what is dropped is told as lost.

use bandscope_recording::KernelEvent;
use bandscope_recording::manifest::LostEvents;
use std::collections::VecDeque;

/// Events of a measured CPU that wait for its gaps at most: half a second of 250,000 a second.
pub const MOST_WAITING: usize = 1 << 17;

/// Events of a chunk, 28 KiB.
const CHUNK: usize = 1 << 9;

/// Events in order of their starts, the first to come the first to go. They lie in chunks of one size, so that a queue that grows needs no second room to
/// move into. During a run the allocator keeps what is freed, and a chunk serves whichever queue grows next.
#[derive(Debug, Default)]
pub struct Queue {
    /// None is empty.
    chunks: VecDeque<VecDeque<KernelEvent>>,
    len: usize,
}

impl Queue {
    /// How many events wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Those that wait.
    pub fn iter(&self) -> impl Iterator<Item = &KernelEvent> {
        self.chunks.iter().flatten()
    }

    /// Takes an event that begins after those before.
    pub fn push(&mut self, event: KernelEvent) {
        self.len += 1;
        match self.chunks.back_mut().filter(|last| last.len() < CHUNK) {
            Some(last) => last.push_back(event),
            None => {
                let mut chunk = VecDeque::with_capacity(CHUNK);
                chunk.push_back(event);
                self.chunks.push_back(chunk);
            }
        }
    }

    /// Takes the first event, if it is one that may go.
    pub fn pop_if(&mut self, may_go: impl FnOnce(&KernelEvent) -> bool) -> Option<KernelEvent> {
        let first = self.chunks.front_mut()?;
        let event = first.pop_front_if(|event| may_go(event))?;
        self.len -= 1;
        if first.is_empty() {
            self.chunks.pop_front();
        }
        Some(event)
    }

    /// Keeps those that are to stay, and of them the last `most`.
    pub fn retain(&mut self, most: usize, stays: impl Fn(&KernelEvent) -> bool) {
        if self.len <= most && self.iter().all(&stays) {
            return;
        }
        let all = std::mem::take(self);
        let kept = all.chunks.into_iter().flatten();
        kept.filter(stays).for_each(|event| self.push(event));
        while self.len > most {
            self.pop_if(|_| true);
        }
    }

    /// Drops half of the chunks, all of them of `cpu`, and adds their events to what was `lost`: the middle, as the first say how a long gap began, and
    /// the last how it ended. There are four at least.
    pub fn thin(&mut self, cpu: u32, lost: &mut Vec<LostEvents>) {
        let starts = |chunk: &VecDeque<KernelEvent>| chunk.front().map_or(0, |event| event.start);
        let quarter = self.chunks.len() / 4;
        let end = self.chunks.len() - quarter;
        // Where some were dropped from among these before, the two are one, and the first are those before the place.
        let first = self.chunks.front().map_or(0, starts);
        let before = lost.pop_if(|last| last.from > first);
        let begin = before.as_ref().map_or(quarter, |last| {
            (self.chunks).partition_point(|chunk| starts(chunk) < last.from)
        });
        if begin >= end {
            lost.extend(before);
            return;
        }
        let mut span = before.unwrap_or(LostEvents {
            cpu,
            from: starts(&self.chunks[begin]),
            to: 0,
            events: 0,
        });
        for event in self.chunks.drain(begin..end).flatten() {
            span.events += 1;
            // No interval is empty.
            span.to = span.to.max(event.end().max(event.start.saturating_add(1)));
            self.len -= 1;
        }
        lost.push(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::EventKind;

    /// One of ten lasts as long as forty come, as a task does whose interrupts lie within.
    fn event(start: u64) -> KernelEvent {
        KernelEvent {
            start,
            duration: if start.is_multiple_of(100) { 405 } else { 5 },
            kind: EventKind::Interrupt,
            number: 7,
            name: "".into(),
            sender: None,
            waited: 0,
        }
    }

    #[test]
    fn what_waits_is_bounded_however_long_and_its_middle_is_told_as_lost() {
        const MOST: usize = 8 * CHUNK;
        const ALL: u64 = 400_000;
        let (mut waiting, mut lost, mut most) = (Queue::default(), Vec::new(), 0);
        for number in 0..ALL {
            waiting.push(event(100 + 10 * number));
            if waiting.len() > MOST {
                waiting.thin(3, &mut lost);
                assert!(waiting.len() <= MOST / 2 + CHUNK, "{}", waiting.len());
            }
            most = most.max(waiting.len());
        }
        assert_eq!(most, MOST);
        let starts: Vec<u64> = waiting.iter().map(|event| event.start).collect();
        assert_eq!(starts.len(), waiting.len());
        // One span, whatever the number of times: from the first that was dropped to the end of the last to end.
        let after = starts
            .windows(2)
            .find(|pair| pair[1] - pair[0] > 10)
            .unwrap();
        let [span] = &lost[..] else {
            panic!("{lost:?}");
        };
        assert_eq!(
            (span.cpu, span.from, span.events),
            (3, after[0] + 10, ALL - waiting.len() as u64)
        );
        assert!(
            (after[1] - 5..after[1] + 405).contains(&span.to),
            "{span:?} {after:?}"
        );
        assert_eq!(
            (starts[0], starts[starts.len() - 1]),
            (100, 100 + 10 * (ALL - 1))
        );
        // Another time, which has nothing to do with it.
        waiting.retain(1, |_| true);
        (0..=MOST as u64).for_each(|k| waiting.push(event(10_000_000 + 10 * k)));
        waiting.thin(3, &mut lost);
        assert_eq!(lost.len(), 2);
    }

    #[test]
    fn events_go_in_the_order_in_which_they_came() {
        let mut queue = Queue::default();
        (0..3000).for_each(|start| queue.push(event(start)));
        queue.retain(2000, |event| event.start % 3 > 0);
        assert_eq!(queue.len(), 2000);
        assert_eq!(queue.pop_if(|first| first.start > 0), Some(event(1)));
        assert_eq!(queue.pop_if(|first| first.start > 2), None);
        queue.retain(1000, |_| true);
        let left: Vec<u64> = std::iter::from_fn(|| queue.pop_if(|_| true))
            .map(|event| event.start)
            .collect();
        let wanted: Vec<u64> = (1500..3000).filter(|start| start % 3 > 0).collect();
        assert_eq!(left, wanted);
        assert_eq!((queue.len(), queue.iter().count()), (0, 0));
        assert!(queue.chunks.is_empty());
    }
}
