//! Gaps without an event: whose they are.

use super::{Disturbance, assert_booked, booked, quiet, recorded, with};
use crate::evidence::{has, number, written};
use bandscope_analysis::analyse;
use bandscope_recording::EventKind;
use bandscope_recording::manifest::{EventsState, KernelCounts, LostEvents};
use bandscope_report::{Cause, Certainty, Kind};

#[test]
fn silence_is_the_host_unless_something_preempted() {
    let preempted = Disturbance {
        preempted: true,
        ..quiet(9.0)
    };
    let tick = with(7.0, &[(EventKind::Vector, "local_timer", 0.5, 6.0)]);
    let (report, booked) = booked(&recorded(&[quiet(20.0), preempted, tick]));
    assert_booked(
        &booked,
        &[
            ("host", 333.0 * 20.0),
            ("preempted", 333.0 * 9.0),
            ("tick", 333.0 * 7.0),
        ],
    );
    let stolen = report
        .findings
        .iter()
        .find(|one| one.kind == Kind::StolenTime);
    // That it was not this kernel is sure, and no count says who it was.
    assert_eq!(stolen.unwrap().certainty, Certainty::Likely);
    // A period of the host's, and one of the tick.
    for cause in [Cause::Host, Cause::Tick] {
        let signals = &report.series[0].signals;
        let signal = signals
            .iter()
            .find(|one| one.cause.as_ref() == Some(&cause));
        let hz = signal.unwrap().frequency_hz;
        assert!((hz - 1000.0 / 3.0).abs() < 0.01, "{cause}: {hz}");
    }
}

#[test]
fn the_way_to_an_interrupt_is_no_period_of_the_host() {
    // 8 us to the interrupt and 5 us back are the host's: 11 us, as 5 us before it are the interrupt's own.
    let way = with(20.0, &[(EventKind::Interrupt, "eth0", 16.0, 3.0)]);
    let mut source = recorded(&[quiet(0.0), way, quiet(0.0)]);
    for hypervisor in ["KVM", "none"] {
        source.manifest.machine.hypervisor = Some(hypervisor.into());
        let report = analyse(&source, &[]).unwrap().report;
        let is_virtual = hypervisor == "KVM";
        let mut findings = report.findings.iter();
        let stolen = findings.find(|one| one.kind == Kind::StolenTime).unwrap();
        let words =
            "of the time was the host's way to interrupts and tasks of this kernel and back.";
        assert_eq!(
            stolen.summary.contains(words),
            is_virtual,
            "{}",
            stolen.summary
        );
        let known = has(stolen, "way_share");
        assert_eq!(known, is_virtual, "{stolen:#?}");
        let mut signals = report.series[0].signals.iter();
        let is_hosts = signals.any(|signal| signal.cause == Some(Cause::Host));
        assert_eq!(is_hosts, !is_virtual, "{hypervisor}");
    }
}

#[test]
fn stolen_time_says_how_often_firmware_took_the_cpu() {
    let mut source = recorded(&[quiet(20.0)]);
    let mut stolen = |number: Option<u64>, hypervisor: &str| {
        source.manifest.kernel_counts = vec![KernelCounts {
            cpu: 1,
            seconds: 1.0,
            system_management_interrupts: number,
            ..KernelCounts::default()
        }];
        source.manifest.machine.hypervisor = Some(hypervisor.into());
        let findings = analyse(&source, &[]).unwrap().report.findings;
        let mut stolen = findings
            .into_iter()
            .filter(|one| one.kind == Kind::StolenTime);
        stolen.next().unwrap()
    };
    let key = "system_management_interrupts";
    let unknown = stolen(None, "KVM");
    assert!(!has(&unknown, key));
    assert!(unknown.summary.contains("the hypervisor (KVM)"));
    assert!(unknown.next_step.unwrap().contains("on the host"));
    let none = stolen(Some(0), "none");
    assert_eq!(number(&none, key), 0.0);
    // A hypervisor that hides itself, then: firmware was counted, and did nothing.
    assert!(none.summary.contains("to something beneath this kernel"));
    let said = " No hypervisor is known, and no system management interrupt was counted.";
    assert!(none.summary.ends_with(said), "{}", none.summary);
    assert!(none.next_step.as_ref().unwrap().contains("turbostat"));
    let gaps = number(&none, "per_second").round() as u64;
    let some = stolen(Some(gaps), "none");
    assert_eq!(number(&some, key), gaps as f64);
    assert!(
        some.summary.contains("to firmware:") && some.summary.contains("No hypervisor is known.")
    );
    assert_eq!(some.certainty, Certainty::Certain);
    let said = format!(
        " Firmware took the CPU {gaps} times during the run (system management interrupts)."
    );
    assert!(some.summary.ends_with(&said), "{}", some.summary);
    // One is no reason for hundreds of gaps.
    let few = stolen(Some(1), "none");
    assert!(few.summary.contains("to something beneath this kernel"));
    assert_eq!(few.certainty, Certainty::Likely);
}

#[test]
fn what_an_event_cannot_explain_is_the_hosts() {
    let long = with(
        100.0,
        &[
            (EventKind::Vector, "local_timer", 1.0, 3.0),
            (EventKind::Vector, "reschedule", 74.0, 2.0),
        ],
    );
    let (_, booked) = booked(&recorded(&[long]));
    // 70 us between the two and 24 after: 5 of each may be the kernel's way in and out.
    assert_booked(
        &booked,
        &[
            ("tick", 999.0 * (3.0 + 1.0 + 5.0 + 5.0)),
            ("irq:reschedule", 999.0 * 2.0),
            ("host", 999.0 * (65.0 + 19.0)),
        ],
    );
}

#[test]
fn where_events_were_lost_silence_says_nothing() {
    let mut source = recorded(&[quiet(20.0)]);
    source.manifest.events.lost = vec![LostEvents {
        cpu: 1,
        from: 0,
        to: (0.4 * 2.3e9) as u64,
        events: 7,
    }];
    let (_, lost) = booked(&source);
    assert_booked(&lost, &[("unnamed", 399.0 * 20.0), ("host", 600.0 * 20.0)]);
    source.manifest.events.state = EventsState::Off;
    let (report, off) = booked(&source);
    assert_booked(&off, &[("unnamed", 999.0 * 20.0)]);
    assert!(
        report
            .findings
            .iter()
            .all(|one| one.kind != Kind::StolenTime)
    );
}

#[test]
fn a_preemption_without_its_switch_is_not_the_hosts() {
    let lost = Disturbance {
        preempted: true,
        ..with(300.0, &[(EventKind::Vector, "local_timer", 1.0, 4.0)])
    };
    let (report, booked) = booked(&recorded(&[lost]));
    // 5 us before and after the tick are its way in and out.
    assert_booked(
        &booked,
        &[("tick", 999.0 * 10.0), ("preempted", 999.0 * 290.0)],
    );
    let finding = report
        .findings
        .iter()
        .find(|one| written(one, "cause") == "preempted");
    let finding = finding.unwrap();
    assert_eq!(
        (finding.kind, finding.certainty),
        (Kind::TimeAway, Certainty::Likely)
    );
    assert_eq!(finding.next_step, None, "events were recorded");
}
