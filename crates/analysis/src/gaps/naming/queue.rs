//! Events that wait while a measured CPU has none of its quanta: real-time tasks, or whoever stops the measuring thread, may hold it for minutes, and
//! other CPUs go on. What waits is bounded; what is dropped for that is told as lost.

use bandscope_recording::KernelEvent;
use bandscope_recording::manifest::LostEvents;
use std::collections::VecDeque;

/// Events of a measured CPU that wait for its gaps at most: half a second of 250,000 a second.
pub const MOST_WAITING: usize = 1 << 17;

/// Events of a chunk, 24 KiB.
const CHUNK: usize = 1 << 9;

/// Events in order of their starts, the first to come the first to go. They lie in chunks of one size: a queue that grows needs no second room to
/// move into, and what a burst needed serves the next queue that grows. The allocator gives nothing back during a run.
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
        let all = std::mem::take(self);
        let kept = all.chunks.into_iter().flatten();
        kept.filter(stays).for_each(|event| self.push(event));
        while self.len > most {
            self.pop_if(|_| true);
        }
    }

    /// Drops half of the events, which are of `cpu`, and adds them to what was `lost`: the middle, as the first say how a long gap began, and the last
    /// how it ended.
    pub fn thin(&mut self, cpu: u32, lost: &mut Vec<LostEvents>) {
        let starts = |chunk: &VecDeque<KernelEvent>| chunk.front().map_or(0, |event| event.start);
        let quarter = self.chunks.len() / 4;
        let end = self.chunks.len() - quarter;
        // Where some were dropped from among these before, the two are one.
        let first = self.chunks.front().map_or(0, starts);
        let before = lost.pop_if(|last| last.to > first);
        let begin = before.as_ref().map_or(quarter, |last| {
            (self.chunks).partition_point(|chunk| starts(chunk) < last.to)
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

    fn event(start: u64) -> KernelEvent {
        KernelEvent {
            start,
            duration: 5,
            kind: EventKind::Interrupt,
            number: 7,
            name: "".into(),
            sender: None,
        }
    }

    #[test]
    fn what_waits_is_bounded_and_its_middle_is_told_as_lost() {
        const MOST: usize = 8 * CHUNK;
        let (mut waiting, mut lost, mut most) = (Queue::default(), Vec::new(), 0);
        for batch in 0..1000 {
            (0..50).for_each(|k| waiting.push(event(100 + 10 * (50 * batch + k))));
            if waiting.len() > MOST {
                waiting.thin(3, &mut lost);
            }
            most = most.max(waiting.len());
        }
        assert!((MOST - 50..=MOST).contains(&most), "{most}");
        let starts: Vec<u64> = waiting.iter().map(|event| event.start).collect();
        assert_eq!(starts.len(), waiting.len());
        let dropped = 50_000 - waiting.len() as u64;
        // One span, whatever the number of times: from the first that was dropped to the end of the last.
        let after = starts
            .windows(2)
            .find(|pair| pair[1] - pair[0] > 10)
            .unwrap();
        assert_eq!(
            lost,
            [LostEvents {
                cpu: 3,
                from: after[0] + 10,
                to: after[1] - 5,
                events: dropped,
            }]
        );
        assert_eq!(
            (starts[0], starts[starts.len() - 1]),
            (100, 100 + 10 * 49_999)
        );
        // Another time, which has nothing to do with it.
        waiting.retain(1, |_| true);
        (0..=MOST as u64).for_each(|k| waiting.push(event(1_000_000 + 10 * k)));
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
