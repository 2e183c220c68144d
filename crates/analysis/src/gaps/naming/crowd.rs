//! Events that wait while a measured CPU has none of its quanta: real-time tasks, or whoever stops the measuring thread, may hold it for minutes, and
//! other CPUs go on. What waits is bounded; what is dropped for that is told as lost.

use bandscope_recording::KernelEvent;
use bandscope_recording::manifest::LostEvents;
use std::collections::VecDeque;

/// Events of a CPU that wait at most: half a second of 250,000 a second.
pub const MOST_WAITING: usize = 1 << 17;
/// Spans that are kept apart; beyond it the last one grows.
const MOST_SPANS: usize = 1000;

/// Drops events of `cpu` where more than `most` wait, and adds them to what was `lost`: of the middle, as the first say how the long gap began, and the
/// last how it ended.
pub fn thin(events: &mut VecDeque<KernelEvent>, most: usize, cpu: u32, lost: &mut Vec<LostEvents>) {
    if events.len() <= most {
        return;
    }
    let begin = most / 2;
    let end = events.len() - most / 4;
    let mut span = LostEvents {
        cpu,
        from: events[begin].start,
        to: events[begin].start,
        events: (end - begin) as u64,
    };
    for event in events.drain(begin..end) {
        // No interval is empty.
        span.to = span.to.max(event.end().max(event.start.saturating_add(1)));
    }
    let full = lost.len() >= MOST_SPANS;
    // What is left of before is older than all of this: the two are one.
    let is_one = |last: &LostEvents| last.to >= events[begin - 1].end();
    match lost.last_mut() {
        Some(last) if full || is_one(last) => {
            last.to = last.to.max(span.to);
            last.events = last.events.saturating_add(span.events);
        }
        _ => lost.push(span),
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
            thin(&mut waiting, 400, 3, &mut lost);
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
        thin(&mut waiting, 400, 3, &mut lost);
        assert_eq!(lost.len(), 2);
    }
}
