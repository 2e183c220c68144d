//! What a hostile recording may hold, and what is kept of it.

use super::*;

#[test]
fn of_events_that_stay_open_the_innermost_are_kept() {
    let mut namer = Namer::online(0, &manifest::Events::default(), 1.0);
    let event = |start, duration, name: &str| KernelEvent {
        start,
        duration,
        kind: EventKind::Task,
        name: name.into(),
        ..KernelEvent::default()
    };
    let open: Vec<_> = (0..10_000)
        .map(|start| event(start, 1 << 40, "open"))
        .collect();
    namer.feed(&open);
    namer.feed(&[event(10_000, 1 << 40, "innermost")]);
    for start in [20_000, 30_000, 40_000] {
        let gap = Gap {
            start,
            duration: 100,
            ..Gap::default()
        };
        let shares = namer.split(&gap).unwrap().to_vec();
        let last = shares.iter().max_by_key(|share| share.ticks).unwrap();
        assert_eq!(
            (
                last.ticks,
                shares.iter().map(|share| share.ticks).sum::<u64>()
            ),
            (100, 100)
        );
        assert_eq!(namer.name(last.key), &Cause::Task("innermost".into()));
        // The first gap sees all that began before it.
        assert!(start == 20_000 || namer.window.len() <= MOST_OPEN);
    }
}

#[test]
fn a_wake_up_on_this_cpu_is_a_sign_of_the_kernel_on_its_way() {
    for (cpu, name, host) in [(0, "task:other", 0), (1, "task:other", 200), (0, "", 200)] {
        let mut namer = Namer::online(0, &manifest::Events::default(), 1.0);
        namer.trust_silence();
        let sender = Sender {
            name: name.into(),
            cpu,
            function: "does".into(),
            waited: 3_000,
        };
        namer.feed(&[
            KernelEvent {
                start: 100_800,
                duration: 1_800,
                name: "local_timer".into(),
                ..KernelEvent::default()
            },
            KernelEvent {
                start: 107_800,
                duration: 10_000,
                kind: EventKind::Task,
                number: 7,
                name: "ktimers/0".into(),
                sender: Some(Arc::new(sender)),
            },
        ]);
        let gap = Gap {
            start: 100_000,
            duration: 18_000,
            preempted: Some(true),
            ..Gap::default()
        };
        let shares = namer.split(&gap).unwrap().to_vec();
        let of_host = shares
            .iter()
            .filter(|share| *namer.name(share.key) == Cause::Host);
        let ticks: u64 = of_host.map(|share| share.ticks).sum();
        assert_eq!(ticks, host, "{cpu} {name}");
    }
}
