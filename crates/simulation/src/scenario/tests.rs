//! What reads as a scenario, what is refused, and what a run leaves possible.

use super::*;

#[test]
fn parts_are_joined_and_have_defaults() {
    let scenario = Scenario::parse("tick:hz=1000+flips").unwrap();
    assert_eq!(scenario.parts.len(), 2);
    assert_eq!(scenario.parts[0].values["hz"], 1000.0);
    assert_eq!(scenario.parts[1].values["ratio"], 5.35);
}

#[test]
fn mistakes_name_what_there_is() {
    let error = Scenario::parse("tock").unwrap_err().to_string();
    assert!(
        error.contains("\"tock\"") && error.contains("tick"),
        "{error}"
    );
    let error = Scenario::parse("tick:rate=5").unwrap_err().to_string();
    assert!(error.contains("rate") && error.contains("hz"), "{error}");
    let error = Scenario::parse("tick:cost=-1us").unwrap_err().to_string();
    assert!(
        error.contains("cost=-1us") && error.contains("0 s or more"),
        "{error}"
    );
    let error = Scenario::parse("tick:hz=0").unwrap_err().to_string();
    assert!(error.contains("0.001 Hz to 10000000 Hz"), "{error}");
    let error = Scenario::parse("tick:seed=1.5").unwrap_err().to_string();
    assert!(error.contains("seed=\"1.5\""), "{error}");
    let error = Scenario::parse("tick:hz=fast").unwrap_err().to_string();
    assert!(error.contains("fast") && error.contains("250Hz"), "{error}");
}

/// Scenarios, and what is said of them.
const REFUSED: &[(&str, &str)] = &[
    (
        "flips+jump:every=200us",
        "size=0.0003 s, expected at most half of `every` (0.0001 s)",
    ),
    (
        "flips:dwell=5ms",
        "dwell=0.005 s, expected at most `period` (0.002 s)",
    ),
    (
        "frequency:low=40,top=30",
        "low=40, expected at most `top` (30)",
    ),
    (
        "mixture:dwell=100us",
        "shortest=0.0005 s, expected at most `dwell` (0.0001 s)",
    ),
    (
        "host-line:hz=1000,wander=1ms",
        "wander=0.001 s, expected at most a tenth of an interval",
    ),
    (
        "heavy-tail:most=1us",
        "least=0.000002 s, expected at most `most` (0.000001 s)",
    ),
    (
        "alternate:period=2.4",
        "period=2.4, expected a whole number, 1 quanta to 1000000000 quanta",
    ),
    ("pages:quanta=2.5", "quanta=2.5, expected a whole number"),
    (
        "frequency:top=38.4",
        "top=38.4, expected a whole number, 1 to 100",
    ),
    (
        "flips:memory=0.7",
        "memory=0.7, expected a whole number, 0 to 1",
    ),
    (
        "tick:hz=4ms",
        "hz=\"4ms\", expected a frequency, as in 250Hz",
    ),
    (
        "tick:cost=3kHz",
        "cost=\"3kHz\", expected a time, as in 2.5us",
    ),
    (
        "flips:ratio=5ms",
        "ratio=\"5ms\", expected a number, as in 0.03 or 3%",
    ),
    (
        "pages:quanta=3%",
        "quanta=\"3%\", expected a number, as in 256",
    ),
    ("jump+flips+jump:size=1us", "scenario jump: found it twice"),
    ("clock:ghz=3+clock", "scenario clock: found it twice"),
    ("tick:hz=250,cost=3", "75000.0 % of the time"),
    (
        "tick:hz=1MHz,cost=1us",
        "100.0 % of the time together, expected at most 99.9 %",
    ),
    ("tick:cost=2ms+quota:share=0.4", "110.0 % of the time"),
    ("bursts:hz=100,mean=1ms", "100.0 %"),
    ("heavy-tail:hz=200,least=10ms,most=10ms", "200.0 %"),
    ("heavy-tail:hz=100,least=2ms,tail=1,most=1s", "144.3 %"),
    ("slices:blocks=0+core-coupling:away=1", "100.0 %"),
];

#[test]
fn what_could_not_be_simulated_as_written_is_refused() {
    for (text, expected) in REFUSED {
        let error = Scenario::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    for text in [
        "drift+clock+tick+tick",
        "quota:share=0.001",
        "tick:hz=1MHz,cost=0.9us",
        "mixture:shortest=1ms",
        "flips:period=2100us,dwell=2.1ms",
    ] {
        Scenario::parse(text).unwrap();
    }
}

#[test]
fn kinds_are_those_that_the_run_leaves_possible() {
    let kinds = |text: &str, kernel: &str, rate: f64, cpus: &[u32]| {
        let request = Request {
            cpus: cpus.to_vec(),
            ..crate::request(&[rate], &[kernel], 1.0)
        };
        let scenario = Scenario::parse(text).unwrap();
        let used = scenario.settings().ticks_per_ns * (1.0 + scenario.settings().calibration_error);
        let parts = scenario.truths(&request, used);
        parts.into_iter().next_back().unwrap().kinds
    };
    let no: [&str; 0] = [];
    assert!(kinds("mixture", "ftq-o2", 1e4, &[0]).contains(&"sub-loop-mixture"));
    assert!(!kinds("mixture", "mulss80", 1e4, &[0]).contains(&"sub-loop-mixture"));
    assert_eq!(kinds("jump", "mulss80", 1e4, &[0]), no);
    assert_eq!(kinds("jump:cpu=1", "mulss80", 1e4, &[0]), ["migration"]);
    assert_eq!(kinds("flips+jump", "mulss80", 1e4, &[0]), ["migration"]);
    assert_eq!(kinds("core-coupling", "mulss80", 1e4, &[0, 2]), no);
    assert_eq!(
        kinds("core-coupling", "mulss80", 1e4, &[2, 3]),
        ["core-coupling"]
    );
    assert_eq!(kinds("truncation", "mulss80", 1e4, &[0]), no);
    assert_eq!(
        kinds("truncation", "mulss80", 7777.0, &[0]),
        ["clock-drift"]
    );
    assert_eq!(kinds("drift:ppm=0", "mulss80", 1e4, &[0]), no);
    assert_eq!(kinds("drift", "mulss80", 1e4, &[0]), ["clock-drift"]);
}

#[test]
fn a_scenario_is_reproducible() {
    let first = |cpu| {
        let scenario = Scenario::parse("tasks:seed=7").unwrap();
        let mut tasks = scenario.disturbances(cpu);
        (0..5)
            .map(|_| tasks[0].disturbance.next().0)
            .collect::<Vec<_>>()
    };
    assert_eq!(first(0), first(0));
    assert_ne!(first(0), first(1));
}
