//! Kernel events of all CPUs that wait until it is known whether they lie around something that is caught.

use super::Out;
use super::kept::Kept;
use crate::gaps::naming::queue::Queue;
use bandscope_recording::KernelEvent;
use bandscope_recording::manifest::LostEvents;
use std::collections::BTreeMap;

/// Events that wait at most: so many for each second that has to wait anyway, and some more for each CPU. A measured CPU that is held for minutes
/// has no quanta, and what the others do meanwhile cannot be judged.
const MOST_A_SECOND: f64 = 300e3;
const MOST_OF_A_CPU: usize = 1 << 13;
/// What has to wait besides what is asked for: until events have come, and are looked at.
const ALWAYS_S: f64 = 0.3;

/// Events that are handed out at a time.
const AT_A_TIME: usize = 1 << 12;

/// By CPU.
#[derive(Debug, Default)]
pub(super) struct Events(BTreeMap<u32, OfCpu>);

/// Events of a CPU, and where some had to be dropped: lately, and around what was caught.
#[derive(Debug, Default)]
struct OfCpu {
    waiting: Queue,
    dropped: Vec<LostEvents>,
    lost: Vec<LostEvents>,
}

impl Events {
    /// Takes events of a CPU, where so many seconds have to wait anyway. Where too many wait, half of those of the CPU that has the most are dropped.
    pub(super) fn push(&mut self, cpu: u32, events: &[KernelEvent], seconds: f64) {
        let of_cpu = self.0.entry(cpu).or_default();
        (events.iter()).for_each(|event| of_cpu.waiting.push(event.clone()));
        let waiting: usize = self.0.values().map(|one| one.waiting.len()).sum();
        let most = (MOST_A_SECOND * (ALWAYS_S + seconds)) as usize;
        if waiting > most + MOST_OF_A_CPU * self.0.len()
            && let Some((&cpu, longest)) =
                (self.0.iter_mut()).max_by_key(|(_, one)| one.waiting.len())
        {
            longest.waiting.thin(cpu, &mut longest.dropped);
        }
    }

    /// Hands out what happened before `until` and is kept.
    ///
    /// # Errors
    /// What `out` says.
    pub(super) fn hand_out<E>(
        &mut self,
        until: u64,
        kept: &Kept,
        out: &mut dyn FnMut(Out<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for (&cpu, of_cpu) in &mut self.0 {
            let over = of_cpu.dropped.extract_if(.., |span| span.to <= until);
            let matter = over.filter(|span| kept.holds(span.from, span.to));
            of_cpu.lost.extend(matter);
            let mut events = Vec::new();
            // One that began before and lasts is waited for: events go out in order of their starts.
            let over = |event: &KernelEvent| event.end() < until || until == u64::MAX;
            while let Some(event) = of_cpu.waiting.pop_if(over) {
                if kept.holds(event.start, event.end().saturating_add(1)) {
                    events.push(event);
                }
                if events.len() == AT_A_TIME {
                    out(Out::Events {
                        cpu,
                        events: &events,
                    })?;
                    events.clear();
                }
            }
            if !events.is_empty() {
                let events = &events;
                out(Out::Events { cpu, events })?;
            }
        }
        Ok(())
    }

    /// Where some had to be dropped around what was caught.
    pub(super) fn lost(&self) -> impl Iterator<Item = &LostEvents> {
        self.0.values().flat_map(|of_cpu| &of_cpu.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::EventKind;

    #[test]
    fn so_many_events_wait_and_no_more() {
        const BATCH: usize = 10_000;
        let mut events = Events::default();
        let batch = |first: usize| -> Vec<KernelEvent> {
            let event = |start: usize| KernelEvent {
                start: start as u64,
                duration: 1,
                kind: EventKind::Interrupt,
                number: 7,
                name: "".into(),
                sender: None,
                waited: 0,
            };
            (first..first + BATCH).map(event).collect()
        };
        // 0.7 s have to wait anyway, so 300,000 events of two CPUs and what each may have besides.
        let bound = 300_000 + 2 * (1 << 13);
        let mut most = 0;
        for number in 0..100 {
            // Most are of one CPU.
            let cpu = u32::from(number % 4 == 0);
            events.push(cpu, &batch(number * BATCH), 0.7);
            most = most.max(events.0.values().map(|one| one.waiting.len()).sum());
        }
        assert!((bound - BATCH..=bound).contains(&most), "{most}");
        let dropped = |cpu: u32| events.0[&cpu].dropped.iter().map(|span| span.events);
        assert!(dropped(0).sum::<u64>() > 0);
        let waiting: usize = events.0.values().map(|one| one.waiting.len()).sum();
        let dropped: u64 = dropped(0).chain(dropped(1)).sum();
        assert_eq!(waiting as u64 + dropped, 100 * BATCH as u64);
    }
}
