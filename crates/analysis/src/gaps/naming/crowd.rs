//! Events that wait while a measured CPU has none of its quanta: real-time tasks, or whoever stops the measuring thread, may hold it for minutes, and
//! other CPUs go on. What waits is bounded; what is dropped for that is told as lost.

use bandscope_recording::KernelEvent;
use bandscope_recording::manifest::LostEvents;
use std::collections::VecDeque;

/// Events of a measured CPU that wait for its gaps at most: half a second of 250,000 a second.
pub const MOST_WAITING: usize = 1 << 17;

/// Drops half of the events of `cpu` that wait, and adds them to what was `lost`: the middle, as the first say how the long gap began, and the last how
/// it ended.
pub fn thin(events: &mut VecDeque<KernelEvent>, cpu: u32, lost: &mut Vec<LostEvents>) {
    let quarter = events.len() / 4;
    let end = events.len() - quarter;
    // Where some were dropped from among these before, the two are one.
    let first = events.front().map_or(0, |event| event.start);
    let before = lost.pop_if(|last| last.to > first);
    let begin = before.as_ref().map_or(quarter, |last| {
        events.partition_point(|event| event.start < last.to)
    });
    if begin >= end {
        lost.extend(before);
        return;
    }
    let mut span = before.unwrap_or(LostEvents {
        cpu,
        from: events[begin].start,
        to: 0,
        events: 0,
    });
    span.events += (end - begin) as u64;
    for event in events.drain(begin..end) {
        // No interval is empty.
        span.to = span.to.max(event.end().max(event.start.saturating_add(1)));
    }
    lost.push(span);
}

/// Gives memory back that a burst needed, for the next thing that needs some. Between bursts a thousand events wait.
pub fn give_back(events: &mut VecDeque<KernelEvent>) {
    const SMALL: usize = 1 << 12;
    if events.capacity() > SMALL && events.len() < events.capacity() / 4 {
        events.shrink_to(SMALL.max(2 * events.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::EventKind;

    #[test]
    fn what_waits_is_bounded_and_its_middle_is_told_as_lost() {
        let event = |start: u64| KernelEvent {
            start,
            duration: 5,
            kind: EventKind::Interrupt,
            number: 7,
            name: "".into(),
            sender: None,
        };
        let (mut waiting, mut lost, mut most) = (VecDeque::new(), Vec::new(), 0);
        for batch in 0..100 {
            waiting.extend((0..50).map(|k| event(100 + 10 * (50 * batch + k))));
            if waiting.len() > 400 {
                thin(&mut waiting, 3, &mut lost);
            }
            most = most.max(waiting.len());
        }
        assert!(most <= 400, "{most}");
        let dropped = 5000 - waiting.len() as u64;
        // One span, whatever the number of times: from the first that was dropped to the end of the last.
        let starts: Vec<u64> = waiting.iter().map(|event| event.start).collect();
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
            (100, 100 + 10 * 4999)
        );
        // Another time, which has nothing to do with it.
        waiting.drain(..waiting.len() - 1);
        waiting.extend((0..401).map(|k| event(100_000 + 10 * k)));
        thin(&mut waiting, 3, &mut lost);
        assert_eq!(lost.len(), 2);
        waiting.reserve(100_000);
        give_back(&mut waiting);
        assert!(waiting.capacity() < 10_000, "{}", waiting.capacity());
    }
}
