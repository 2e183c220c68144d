//! Whatever events are written come back.

use super::{events_of, on};
use crate::common::second;
use bandscope_recording::manifest::State;
use bandscope_recording::{EventKind, KernelEvent, Sender, Writer, read};
use proptest::prelude::*;
use std::sync::Arc;

fn any_events() -> impl Strategy<Value = Vec<KernelEvent>> {
    let row = (
        prop_oneof![0..10u64, 0..1u64 << 50],
        prop_oneof![0..10u64, 0..1u64 << 50],
        0..EventKind::ALL.len(),
        0..=i32::MAX as u32,
        proptest::collection::vec(any::<u8>(), 0..20),
    );
    proptest::collection::vec(row, 0..300).prop_map(|rows| {
        let mut now = 0;
        let row = |(pause, duration, kind, number, name): (u64, _, usize, _, Vec<u8>)| {
            now += pause;
            KernelEvent {
                start: now,
                duration,
                kind: EventKind::ALL[kind],
                number,
                name: bandscope_recording::events::escaped(&name).into(),
                sender: (number % 3 == 1).then(|| {
                    Arc::new(Sender {
                        name: ["irq:x", "task:make", "timer:f"][kind % 3].into(),
                        cpu: number,
                        function: ["vmstat_update", "", "a, b"][kind % 2].into(),
                        caller: ["", "pipe_write"][number as usize % 2].into(),
                        set_by: ["", "task:make"][number as usize % 2].into(),
                    })
                }),
                waited: if number % 3 == 1 { duration } else { 0 },
            }
        };
        rows.into_iter().map(row).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn anything_comes_back(events in any_events(), batch in 1..400usize) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("any");
        let mut manifest = on();
        let mut writer = Writer::create(&path, &manifest).unwrap();
        writer.append_quanta(1, 1000.0, "mulss80", &second(0, 0).0).unwrap();
        for some in events.chunks(batch) {
            writer.append_events(1, some).unwrap();
        }
        manifest.state = State::Complete;
        writer.finish(&manifest).unwrap();
        prop_assert_eq!(events_of(&read::open(&path).unwrap()), events);
    }
}
