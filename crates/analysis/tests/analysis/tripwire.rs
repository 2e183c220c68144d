//! Interruptions too short for a gap, noticed by a work kernel whose units go on at another pace after one
//! (docs/method.md, section 4.6).

use crate::evidence::{has, numbers};
use crate::support::{Loop, Random, analysis, assert_near, manifest, none, series};
use bandscope_recording::manifest::{Kernel, KernelCount, KernelCounts};
use bandscope_recording::source::InMemory;
use bandscope_report::{Kind, Report};

/// Ticks of a unit that nothing interrupts: 20.5 us.
const UNIT: f64 = 47_123.0;
const SECONDS: usize = 10;

/// A tripwire of ten seconds at 10 kHz, interrupted at `times` (ascending, in seconds), on a machine whose kernel counted `counted` interrupts.
fn tripwire(rest: f64, times: &[f64], counted: u64) -> InMemory {
    let mut random = Random::new(7);
    let mut next = 0;
    let unit = |start: f64, _| {
        let length = UNIT * (1.0 + 2e-4 * random.normal());
        let at = |index: usize| times.get(index).map(|seconds| seconds * 2.3e9);
        while at(next).is_some_and(|at| at < start) {
            next += 1;
        }
        match at(next).filter(|at| *at < start + length) {
            Some(at) => (at - start) + rest * (start + length - at),
            None => length,
        }
    };
    let mut source = Loop::new(10_000.0, SECONDS * 10_000).run(unit, none);
    source.manifest.kernels = vec![Kernel {
        name: "chain".into(),
        gap_threshold_ticks: 10 * UNIT as u64,
        pace_after_interruption: Some(rest),
        ..Kernel::default()
    }];
    source.manifest.machine.tick_hz = Some(250.0);
    source.manifest.kernel_counts = vec![KernelCounts {
        cpu: 1,
        seconds: SECONDS as f64,
        counts: vec![KernelCount {
            name: "Local timer interrupts".into(),
            number: counted,
        }],
        ..KernelCounts::default()
    }];
    source
}

/// This many a second, regular.
fn ticks(hz: f64) -> Vec<f64> {
    let number = (SECONDS as f64 * hz) as usize;
    (0..number).map(|k| (k as f64 + 0.37) / hz).collect()
}

/// This many a second on average, at any time.
fn at_random(hz: f64) -> Vec<f64> {
    let mut random = Random::new(3);
    let mut now = 0.0;
    let times = std::iter::repeat_with(|| {
        now -= (1.0 - random.unit()).ln() / hz;
        now
    });
    times.take_while(|now| *now < SECONDS as f64).collect()
}

fn both(mut a: Vec<f64>, b: Vec<f64>) -> Vec<f64> {
    a.extend(b);
    a.sort_by(f64::total_cmp);
    a
}

/// What comes in the last tenth of a unit is not noticed. Regular interruptions alone settle there: each moves the units after it, until the
/// next comes where it moves nothing.
fn assert_noticed(found: f64, true_per_second: f64) {
    let share = found / true_per_second;
    assert!(
        (0.4..=1.05).contains(&share),
        "{found} of {true_per_second}"
    );
}

fn frequencies(report: &Report) -> Option<Vec<f64>> {
    let mut found = report.findings.iter();
    let found = found.find(|finding| finding.kind == Kind::StolenTime)?;
    has(found, "frequencies_hz").then(|| numbers(found, "frequencies_hz"))
}

#[test]
fn a_hosts_tick_that_leaves_no_gap_is_noticed_with_its_period() {
    for rest in [1.0 / 3.0, 8.0] {
        let times = both(both(ticks(250.0), ticks(1007.3)), at_random(500.0));
        let report = analysis(&tripwire(rest, &times, 2_500)).report;
        let noticed = report.series[0].tripwire.as_ref().unwrap();
        assert_eq!(report.series[0].gaps.as_ref().unwrap().number, 0);
        assert_noticed(noticed.per_second, 1750.0);
        let found = frequencies(&report).expect("the host's tick");
        assert_near(found[0], 1007.3, 1e-5);
        assert!(found.iter().all(|hz| (hz - 250.0).abs() > 1.0), "{found:?}");
    }
}

#[test]
fn what_this_kernel_counted_is_no_news() {
    let report = analysis(&tripwire(1.0 / 3.0, &ticks(250.0), 2_500)).report;
    let noticed = report.series[0].tripwire.as_ref().unwrap();
    assert_noticed(noticed.per_second, 250.0);
    assert_eq!(frequencies(&report), None);
}

#[test]
fn interruptions_at_random_have_no_period() {
    let report = analysis(&tripwire(1.0 / 3.0, &at_random(900.0), 100)).report;
    assert_eq!(frequencies(&report), Some(Vec::new()));
    let noticed = report.series[0].tripwire.as_ref().unwrap();
    assert_near(noticed.per_second, 900.0 * 0.9, 0.03);
}

#[test]
fn a_quiet_core_and_other_work_kernels_notice_nothing() {
    let report = analysis(&tripwire(1.0 / 3.0, &[], 0)).report;
    assert_eq!(
        report.series[0]
            .tripwire
            .as_ref()
            .unwrap()
            .interrupted_quanta,
        0
    );
    assert_eq!(frequencies(&report), None);
    let ordinary = InMemory {
        manifest: manifest(),
        series: vec![series(10_000.0)],
        ..Loop::new(10_000.0, 1_000).run(|_, _| 300.0, none)
    };
    assert_eq!(analysis(&ordinary).report.series[0].tripwire, None);
}
