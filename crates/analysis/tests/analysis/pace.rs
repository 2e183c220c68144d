//! Pace told apart by two work kernels that alternate: clock frequency, or the core's own doing.

use crate::edges::report;
use bandscope_analysis::report::Report;

/// Frequency, microarchitecture and unsplit of a work kernel, as shares of its pace.
fn shares(report: &Report, kernel: &str) -> [f64; 3] {
    let series = report.series.iter().find(|one| one.kernel == kernel);
    let pace = series.unwrap().ledger.pace_ns;
    let total = pace.total() as f64;
    assert!(total > 1e6, "{kernel}: {pace:?}");
    [pace.frequency, pace.microarchitecture, pace.unsplit].map(|one| one as f64 / total)
}

#[test]
fn a_state_of_memory_is_the_cores_own() {
    let kernels = ["mulss80", "ftq-o2"];
    let scenario = "flips:period=7.3ms,dwell=2.9ms,memory=1";
    let (report, _) = report(scenario, &[10_000.0], &kernels, 4.0);
    let [frequency, own, _] = shares(&report, "ftq-o2");
    assert!(frequency < 0.002 && own > 0.95, "{frequency} {own}");
    let chain = report.series.iter().find(|one| one.kernel == "mulss80");
    let chain = chain.unwrap().ledger.pace_ns;
    assert_eq!(chain.microarchitecture, 0);
    // Nothing of it is an interruption.
    for series in &report.series {
        assert!(series.ledger.gaps_ns.is_empty(), "{:?}", series.ledger);
    }
}

#[test]
fn a_lower_clock_is_frequency_in_both() {
    let kernels = ["mulss80", "ftq-o2"];
    let scenario = "frequency:top=38,low=30,dwell=10ms";
    let (report, _) = report(scenario, &[10_000.0], &kernels, 8.0);
    for kernel in kernels {
        let [frequency, own, unsplit] = shares(&report, kernel);
        // The two did not see the same steps: their segments alternate.
        assert!(frequency > 0.8, "{kernel}: {frequency}");
        assert!(own < 0.15, "{kernel}: {own}");
        assert!(unsplit < 0.2, "{kernel}: {unsplit}");
    }
}

#[test]
fn one_work_kernel_tells_nothing_apart() {
    for scenario in [
        "flips:period=7.3ms,dwell=2.9ms",
        "frequency:top=38,low=30,dwell=10ms",
    ] {
        let (report, _) = report(scenario, &[10_000.0], &["mulss80"], 1.0);
        assert_eq!(shares(&report, "mulss80"), [0.0, 0.0, 1.0]);
    }
}
