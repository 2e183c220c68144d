//! Plans and settings.

use super::*;

fn request() -> Request {
    Request {
        cpus: vec![pin::allowed().unwrap()[0]],
        kernels: vec![bandscope_probe::default_kernel().to_owned()],
        works_us: vec![5.0, 50.0],
        length: Length::Samples(30),
    }
}

#[test]
fn every_rung_has_the_samples_that_were_asked_for() {
    let going = AtomicBool::new(false);
    let measured = run(&request(), &going, &mut |_, _| {}).unwrap();
    assert_eq!(measured.state, State::Complete);
    let samples = |it: &FixedWork| {
        it.histograms
            .iter()
            .map(|one| one.samples)
            .collect::<Vec<_>>()
    };
    assert_eq!(samples(&measured), [30, 30]);
    let [short, long] = &measured.histograms[..] else {
        panic!("{measured:?}");
    };
    assert!(short.turns < long.turns && short.work_us == Some(5.0));
    let clock = measured.clock.unwrap();
    assert!(clock.ticks_per_ns > 0.0);
    // Both clocks have passed the same time since the origin.
    let ticks = clock::ticks() - clock.origin_ticks;
    let unix_ns = bandscope_probe::unix_ns() - clock.origin_unix_ns;
    assert!(clock.ns(ticks as f64) < 2.0 * unix_ns as f64);
}

#[test]
fn work_that_no_whole_turns_make_up_is_as_long_as_it_was() {
    let ticks_per_ns = 2.0;
    let of = |turns, ticks| (Amount { turns, ticks }, Seen::default());
    let asked = |us: f64| ("it".to_owned(), us);
    let measurement = Measurement {
        cpus: vec![3],
        rungs: vec![asked(5.0), asked(50.0)],
        seen: vec![Mutex::new(vec![of(1, 24_000.0), of(4, 100_000.0)])],
        tick_hz: None,
        ticks_per_ns,
        origin: 0,
        origin_unix_ns: 0,
        length: Length::Samples(1),
    };
    let works = measurement.histograms(ticks_per_ns).into_iter();
    let works: Vec<_> = works.map(|it| (it.turns, it.work_us)).collect();
    assert_eq!(works, [(Some(1), Some(12.0)), (Some(4), Some(50.0))]);
    let [missing] = &measurement.other_lengths()[..] else {
        panic!("{works:?}");
    };
    assert_eq!(missing.what, "5 µs of it");
    assert!(missing.why.contains("12.000 µs on CPU 3"), "{missing:?}");
}

#[test]
fn a_signal_ends_it_and_a_short_run_has_some_of_everything() {
    let stopped = AtomicBool::new(true);
    let measured = run(&request(), &stopped, &mut |_, _| {}).unwrap();
    assert_eq!(measured.state, State::Interrupted);
    let short = Request {
        length: Length::Duration(0.002),
        ..request()
    };
    let measured = run(&short, &AtomicBool::new(false), &mut |_, _| {}).unwrap();
    assert_eq!(measured.histograms.len(), 2);
}

#[test]
fn refusals_name_what_is_wrong_and_what_would_do() {
    let refusal = |change: &dyn Fn(&mut Request)| {
        let mut request = request();
        change(&mut request);
        let error = run(&request, &AtomicBool::new(false), &mut |_, _| {});
        error.unwrap_err().to_string()
    };
    assert!(refusal(&|it| it.cpus = vec![60_000]).contains("60000"));
    assert!(refusal(&|it| it.cpus.extend(it.cpus.clone())).contains("twice"));
    assert!(refusal(&|it| it.kernels.push("none".into())).contains("none"));
    assert!(refusal(&|it| it.kernels.extend(it.kernels.clone())).contains("twice"));
    assert!(refusal(&|it| it.works_us = vec![f64::NAN]).contains("found NaN µs, expected 1 µs"));
    assert!(refusal(&|it| it.works_us = vec![5.0, 5.0]).contains("twice"));
    assert!(refusal(&|it| it.works_us.clear()).contains("0 lengths"));
    assert!(refusal(&|it| it.length = Length::Duration(f64::INFINITY)).contains("inf"));
    assert!(refusal(&|it| it.length = Length::Samples(0)).contains("0 samples"));
}
