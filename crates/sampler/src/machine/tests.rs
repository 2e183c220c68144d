//! Segments of requests, and the rates that can be measured.

use super::*;

/// Ten seconds at two rates.
pub fn request() -> Request {
    Request {
        cpus: vec![0],
        rates_hz: vec![10_000.0, 7_777.0],
        kernels: vec!["mulss80".into()],
        length: Length::Duration(10.0),
        start_delay_s: 0.0,
        segment_s: 1.0,
        ticks_per_ns: None,
        ordered_reads: false,
        buffered: false,
        counters: Choice::Auto,
        trace: Choice::Off,
        watch: Watch::default(),
        tracepoints: Vec::new(),
        store_bypass: StoreBypass::Leave,
        priority: None,
        housekeeping: Vec::new(),
        self_test: true,
    }
}

#[test]
fn two_rates_alternate_second_by_second() {
    let segments: Vec<_> = request().segments().collect();
    assert_eq!(request().segments().totals(), (10, 50_000 + 38_885));
    assert_eq!(segments.len(), 10);
    assert_eq!(segments[..3], [(0, 10_000), (1, 7_777), (0, 10_000)]);
}

#[test]
fn one_series_is_one_segment() {
    let request = Request {
        rates_hz: vec![10_000.0],
        ..request()
    };
    assert!(request.segments().eq([(0, 100_000)]));
    assert_eq!(request.duration_s(), 10.0);
}

#[test]
fn a_setting_alternates_within_each_series() {
    let request = Request {
        rates_hz: vec![10_000.0],
        store_bypass: StoreBypass::Alternate,
        ..request()
    };
    assert_eq!(request.segments().count(), 10);
    let set = |setting: StoreBypass| [0, 1, 2].map(|number| setting.in_segment(number));
    assert_eq!(
        set(StoreBypass::Alternate),
        [Some(true), Some(false), Some(true)]
    );
    assert_eq!(set(StoreBypass::Off), [Some(false); 3]);
    assert_eq!(set(StoreBypass::Leave), [None; 3]);
}

#[test]
fn a_run_without_end_takes_no_memory() {
    let request = Request {
        length: Length::Samples(100_000_000_000_000),
        segment_s: 0.001,
        ..request()
    };
    let mut segments = request.segments();
    let (number, quanta) = segments.totals();
    assert_eq!(quanta, 200_000_000_000_000);
    assert_eq!(number, 10_000_000_000_000 + 12_500_000_000_000);
    assert_eq!(segments.nth(1_000_000), Some((0, 10)));
}

#[test]
fn a_series_that_has_ended_leaves_the_turn_to_the_others() {
    let request = Request {
        length: Length::Samples(20_000),
        ..request()
    };
    let turns = [(0, 10_000), (1, 7_777), (0, 10_000), (1, 7_777), (1, 4_446)];
    assert!(request.segments().eq(turns));
    assert_eq!(request.duration_s(), 2.0 + 20_000.0 / 7_777.0);
}

#[test]
fn quanta_that_cannot_be_measured_are_refused() {
    assert_eq!(check_quantum(1e6, 2.0), Ok(2_000.0));
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 0.9, 2.1e9] {
        let why = check_quantum(rate, 2.0).unwrap_err().to_string();
        assert!(
            why.contains("0.931 Hz") && why.contains("2000000000 Hz"),
            "{why}"
        );
    }
}

#[test]
fn samples_are_met_exactly() {
    let request = Request {
        length: Length::Samples(12_345),
        ..request()
    };
    for series in 0..2 {
        let total: u64 = request
            .segments()
            .filter(|(index, _)| *index == series)
            .map(|(_, quanta)| quanta)
            .sum();
        assert_eq!(total, 12_345);
    }
}
