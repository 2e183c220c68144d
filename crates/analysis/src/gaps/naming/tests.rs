//! What a hostile recording may hold, and what is kept of it.

use super::*;
use bandscope_recording::Sender;
use bandscope_recording::manifest::{LostEvents, Quota};
use bandscope_recording::source::InMemory;

/// Of a machine with so many ticks a second, and a clock of a gigahertz.
fn ticking(tick_hz: Option<f64>) -> Manifest {
    let mut manifest = Manifest::default();
    manifest.clock.ticks_per_ns = 1.0;
    manifest.machine.tick_hz = tick_hz;
    manifest
}

#[test]
fn of_events_that_stay_open_the_innermost_are_kept() {
    let mut namer = Namer::online(0, &ticking(None));
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
        let mut namer = Namer::online(0, &ticking(None));
        namer.trust_silence();
        let sender = Sender {
            name: name.into(),
            cpu,
            function: "does".into(),
            ..Sender::default()
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
                waited: 3_000,
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

#[test]
fn a_task_whose_end_is_not_told_stays_until_the_next_one_or_the_end_of_the_gap() {
    let mut namer = Namer::online(0, &ticking(None));
    namer.trust_silence();
    let event = |start, duration, kind, name: &str| KernelEvent {
        start,
        duration,
        kind,
        name: name.into(),
        ..KernelEvent::default()
    };
    namer.feed(&[
        event(100, 50, EventKind::Vector, "local_timer"),
        event(200, 0, EventKind::Task, "first"),
        event(4_200, 0, EventKind::Task, "second"),
    ]);
    let gap = |start, duration, preempted| Gap {
        start,
        duration,
        preempted: Some(preempted),
        ..Gap::default()
    };
    let shares = namer.split(&gap(100, 10_000_100, true)).unwrap().to_vec();
    let shares: Vec<(String, u64)> = shares
        .iter()
        .map(|share| (namer.name(share.key).to_string(), share.ticks))
        .collect();
    let expected = [
        ("tick", 100),
        ("task:first", 4_000),
        ("task:second", 9_996_000),
    ];
    assert_eq!(
        shares,
        expected.map(|(name, ticks)| (name.to_owned(), ticks))
    );
    // It is over with its gap.
    let shares = namer
        .split(&gap(20_000_000, 50_000, false))
        .unwrap()
        .to_vec();
    assert_eq!(namer.name(shares[0].key), &Cause::Host);
}

#[test]
fn a_silence_that_outlasts_the_tick_is_no_other_tasks() {
    const MS: u64 = 1_000_000;
    let late_tick = KernelEvent {
        start: 6 * MS,
        duration: 20_000,
        kind: EventKind::Vector,
        name: "local_timer".into(),
        ..KernelEvent::default()
    };
    let cases = [
        (Some(250.0), None, 4, "preempted"),
        (Some(250.0), None, 6, "host"),
        (Some(100.0), None, 6, "preempted"),
        (None, None, 6, "preempted"),
        // A task that runs alone on such a CPU needs no tick.
        (Some(250.0), Some("0-3"), 6, "preempted"),
    ];
    for (tick_hz, nohz_full, silent_ms, cause) in cases {
        let mut manifest = ticking(tick_hz);
        manifest.machine.nohz_full_cpus = nohz_full.map(str::to_owned);
        for events in [vec![], vec![late_tick.clone()]] {
            let known = manifest::Events {
                state: EventsState::On,
                ..manifest::Events::default()
            };
            let no_more = Box::new(NoEvents);
            let mut namer = Namer::over(no_more, Cow::Owned(known), Some(0), &manifest);
            namer.feed(&events);
            let gap = Gap {
                start: (6 - silent_ms) * MS,
                duration: silent_ms * MS + 20_000,
                preempted: Some(true),
                ..Gap::default()
            };
            let shares = namer.split(&gap).unwrap().to_vec();
            let last = namer.name(shares.last().unwrap().key);
            assert_eq!(last.to_string(), cause, "{tick_hz:?} {nohz_full:?}");
            // A part of it is what the whole is.
            let part = namer.part(&gap, gap.start, gap.start + 2 * MS).to_vec();
            assert_eq!(namer.name(part[0].key).to_string(), cause);
            // Where something was lost, silence says nothing.
            let lost = LostEvents {
                cpu: 0,
                from: gap.start,
                to: gap.start + MS,
                events: 1,
            };
            namer.known.to_mut().lost.push(lost);
            let shares = namer.split(&gap).unwrap().to_vec();
            let last = namer.name(shares.last().unwrap().key);
            assert_eq!(last.to_string(), "preempted");
        }
    }
}

#[test]
fn the_hosts_way_to_an_interrupt_goes_with_it() {
    // 5 us before it are the interrupt's own; the host has the rest, of which 20 us are on the way.
    let gaps = [
        (100_000, 11_000, Some((3_000, true))),
        (150_000, 61_000, Some((20_000, false))),
        (300_000, 9_000, Some((9_000, false))),
        (320_000, 31_000, Some((20_000, false))),
        (397_000, 6_000, None),
    ];
    for hypervisor in [Some("KVM"), Some("none"), None] {
        let mut manifest = ticking(None);
        manifest.machine.hypervisor = hypervisor.map(str::to_owned);
        let mut namer = Namer::online(0, &manifest);
        namer.trust_silence();
        let event = |start| KernelEvent {
            start,
            duration: 3_000,
            kind: EventKind::Interrupt,
            name: "eth0".into(),
            ..KernelEvent::default()
        };
        namer.feed(&[event(108_000), event(208_000), event(400_000)]);
        for (start, duration, expected) in gaps {
            let gap = Gap {
                start,
                duration,
                ..Gap::default()
            };
            namer.split(&gap).unwrap();
            let host = namer.short_host();
            let found = host.map(|(_, ticks)| (ticks, namer.host_is_on_its_way()));
            // On bare metal there is no host.
            let expected = expected.filter(|_| hypervisor == Some("KVM"));
            assert_eq!(found, expected, "{start}, {hypervisor:?}");
            if let Some((key, _)) = host {
                let is_alone = (300_000..397_000).contains(&start);
                let began = match is_alone {
                    true => Cause::Host,
                    false => Cause::Interrupt("eth0".into()),
                };
                assert_eq!(namer.name(key), &began);
            }
        }
    }
}

#[test]
fn series_share_what_the_kernel_counted_of_a_quota() {
    use EventsState::{On, Unavailable};
    let lost = LostEvents {
        cpu: 0,
        from: 0,
        to: u64::MAX,
        events: 1,
    };
    // Ten stops were counted: all of one series, a half and one more of each of two, none where events would tell.
    for (state, series, wanted) in [(Unavailable, 1, 10), (Unavailable, 2, 6), (On, 1, 0)] {
        let mut manifest = ticking(None);
        manifest.events.state = state;
        manifest.events.lost = vec![lost.clone()];
        manifest.quotas = vec![Quota {
            throttled: 10,
            throttled_ns: 10_000,
            ..Quota::default()
        }];
        let one = Series {
            cpu: Some(0),
            rate_hz: 1e4,
            kernel: String::new(),
            gaps_known: true,
            ends_known: true,
            origin: String::new(),
        };
        let source = InMemory {
            manifest,
            series: vec![one; series],
            events: vec![Vec::new(); series],
            ..InMemory::default()
        };
        let mut namer = Namer::new(&source, 0).unwrap();
        let mut stops = 0;
        for number in 0..20 {
            let gap = Gap {
                start: number * 10_000,
                duration: 1_000,
                preempted: Some(true),
                ..Gap::default()
            };
            let whole = namer.split(&gap).unwrap()[0].key;
            stops += u64::from(*namer.name(whole) == Cause::QuotaThrottled);
            // A part of it is what the whole is, and takes nothing.
            let end = gap.start + gap.duration;
            assert_eq!(namer.part(&gap, end - 500, end)[0].key, whole);
        }
        assert_eq!(stops, wanted, "{state:?}, {series}");
    }
}
