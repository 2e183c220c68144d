//! What the readers make of published files, and of perf's output in seven locales; `any_bytes` of whatever else.

mod any_bytes;

use super::*;
use crate::Error;
use std::path::{Path, PathBuf};

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases")
}

fn perf(name: &str) -> CounterSet {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/perf")
        .join(name);
    let mut sets = open(&path).unwrap();
    assert_eq!(sets.len(), 1, "{name}");
    sets.remove(0)
}

fn read(text: &str) -> Result<Vec<CounterSet>, Error> {
    parse(Path::new("it"), text.as_bytes())
}

/// Of a counter that is there: what it counted in each run.
fn runs<'a>(set: &'a CounterSet, name: &str) -> &'a [f64] {
    &counter(set, name).runs
}

fn counter<'a>(set: &'a CounterSet, name: &str) -> &'a Counter {
    set.counters
        .iter()
        .find(|counter| counter.name == name)
        .unwrap_or_else(|| panic!("{name} in {set:?}"))
}

#[test]
fn the_published_runs_of_the_radix_sort() {
    let good = &open(&cases().join("perfstat-good.txt")).unwrap()[0];
    assert_eq!(good.name, "cargo bench rsort_lsb_u32_20");
    assert_eq!(good.counters.len(), 13);
    assert_eq!(runs(good, "cycles"), [16_254_795_809.0]);
    assert_eq!(runs(good, "context-switches"), [39.0]);
    assert_eq!(runs(good, "page-faults"), [189_429.0]);
    assert_eq!(runs(good, "task-clock"), [3_966.057_471]);
    assert_eq!(counter(good, "task-clock").unit, "msec");
    assert_eq!(runs(good, ELAPSED), [4.006_246_558]);
    let interrupts = &open(&cases().join("perfstat-irq-bad.txt")).unwrap()[0];
    assert_eq!(runs(interrupts, "hw_interrupts.received"), [1880.0]);
}

#[test]
fn the_published_table_has_two_sides() {
    let sides = open(&cases().join("pfmon-good-noisy.tsv")).unwrap();
    let names: Vec<&str> = sides.iter().map(|side| &*side.name).collect();
    assert_eq!(names, ["good", "noisy"]);
    assert_eq!(
        runs(&sides[0], "user BE_LOST_BW_DUE_TO_FE_BR_ILOCK"),
        [426.0]
    );
    assert_eq!(
        runs(&sides[1], "user BE_LOST_BW_DUE_TO_FE_BR_ILOCK"),
        [105_935_651.0]
    );
    assert_eq!(sides[1].counters.len(), 19);
}

#[test]
fn text_of_any_locale() {
    for (name, clock, faults, duration, elapsed) in [
        (
            "text-de_DE.txt",
            225.76,
            34_061.0,
            242_316_243.0,
            0.242_316_243,
        ),
        ("text-fr_FR.txt", 291.31, 34078.0, 367545667.0, 0.367545667),
        ("text-de_CH.txt", 200.75, 34081.0, 252258638.0, 0.252258638),
        ("text-en_US.txt", 238.29, 34001.0, 261991627.0, 0.261991627),
        ("text-en_IN.txt", 229.72, 33999.0, 261282993.0, 0.261282993),
        (
            "text-fr_FR-latin1.txt",
            247.72,
            34038.0,
            387482988.0,
            0.387482988,
        ),
    ] {
        let set = perf(name);
        assert_eq!(runs(&set, "task-clock"), [clock], "{name}");
        assert_eq!(runs(&set, "page-faults"), [faults], "{name}");
        assert_eq!(runs(&set, "duration_time"), [duration], "{name}");
        assert_eq!(counter(&set, "duration_time").unit, "ns", "{name}");
        assert_eq!(runs(&set, ELAPSED), [elapsed], "{name}");
        assert_eq!(
            counter(&set, "cycles").absent,
            Some(Absent::NotSupported),
            "{name}"
        );
        assert_eq!(runs(&set, "user").len(), 1, "{name}");
    }
}

#[test]
fn means_of_repeated_runs_have_their_error() {
    let set = perf("repeated-de_DE.txt");
    assert_eq!(runs(&set, "task-clock"), [1.28]);
    let error = counter(&set, "task-clock").standard_error.unwrap();
    assert!((error - 1.28 * 0.0778).abs() < 1e-9);
    assert_eq!(counter(&set, "task-clock").mean_of, Some(3));
    let error = counter(&set, ELAPSED).standard_error.unwrap();
    assert!((error - 0.000_255).abs() < 1e-9);
    assert!(
        counter(&perf("repeated.txt"), "page-faults")
            .standard_error
            .is_some()
    );
    let set = perf("x-repeated-de_DE.csv");
    assert_eq!(runs(&set, "task-clock"), [0.89]);
    assert!((counter(&set, "task-clock").standard_error.unwrap() - 0.89 * 0.0288).abs() < 1e-9);
    assert_eq!(runs(&set, "duration_time"), [1_173_837.0]);
    for name in [
        "x-repeated-C.csv",
        "j-repeated-C.json",
        "j-repeated-de_DE.json",
    ] {
        let set = perf(name);
        assert!(
            counter(&set, "task-clock").standard_error.unwrap() > 0.0,
            "{name}"
        );
        assert_eq!(counter(&set, "task-clock").running, 1.0, "{name}");
        assert_eq!(
            counter(&set, "cycles").absent,
            Some(Absent::NotSupported),
            "{name}"
        );
    }
}

#[test]
fn what_is_split_over_time_and_place_adds_up() {
    let set = perf("x-intervals-de_DE.csv");
    assert!((runs(&set, "task-clock")[0] - 1.36).abs() < 1e-9);
    assert_eq!(runs(&set, "page-faults"), [81.0]);
    assert_eq!(runs(&set, ELAPSED), [0.251_977_546]);
    assert!(
        set.notes.iter().any(|note| note.contains("a part of")),
        "{:?}",
        set.notes
    );
    let set = perf("intervals-de_DE.txt");
    assert!((runs(&set, "cpu-clock")[0] - (100.39 + 100.39 + 52.31 + 52.32)).abs() < 1e-9);
    assert_eq!(runs(&set, "page-faults"), [92.0]);
    let set = perf("x-socket-de_DE.csv");
    assert_eq!(
        (runs(&set, "cpu-clock"), runs(&set, "page-faults")),
        (&[204.94][..], &[87.0][..])
    );
    let set = perf("x-cpus-de_DE.csv");
    assert!((runs(&set, "cpu-clock")[0] - 206.12).abs() < 1e-9);
    assert_eq!(runs(&perf("socket-C.txt"), "cpu-clock"), [206.53]);
    for name in [
        "x-intervals-C.csv",
        "x-cpus-C.csv",
        "x-socket-C.csv",
        "j-intervals-C.json",
        "j-intervals-de_DE.json",
        "intervals-C.txt",
        "socket-de_DE.txt",
    ] {
        let set = perf(name);
        assert_eq!(runs(&set, "page-faults").len(), 1, "{name}");
        assert!(runs(&set, "page-faults")[0] > 0.0, "{name}");
    }
}

#[test]
fn any_separator() {
    let set = perf("x-colons.csv");
    assert_eq!(
        (runs(&set, "task-clock"), runs(&set, "page-faults")),
        (&[1.26][..], &[48.0][..])
    );
    let set = perf("x-blanks.csv");
    assert_eq!(
        (runs(&set, "task-clock"), runs(&set, "page-faults")),
        (&[1.25][..], &[49.0][..])
    );
    let set = &read("12,,cpu/event=0x3c,umask=0x1,name=a/,100,50.00,,\n7,,cycles:u,100,25.00,,\n")
        .unwrap()[0];
    assert_eq!(runs(set, "cpu/event=0x3c,umask=0x1,name=a/"), [12.0]);
    assert_eq!(counter(set, "cycles:u").running, 0.25);
}

#[test]
fn a_decimal_comma_beside_another_separator() {
    let set = &read("0,31/msec/task-clock/306721/50,00/0/CPUs utilized\n44//page-faults/306721/100,00/0/M/sec\n").unwrap()[0];
    assert_eq!(runs(set, "task-clock"), [0.31]);
    assert_eq!(counter(set, "task-clock").running, 0.5);
    let set = &read("1,5;msec;task-clock;2,88%;1;100,00;;\n637;;cycles;mygroup;2011;25,00;3;GHz\n")
        .unwrap()[0];
    assert_eq!(runs(set, "task-clock"), [1.5]);
    assert!((counter(set, "task-clock").standard_error.unwrap() - 0.0432).abs() < 1e-9);
    assert_eq!(counter(set, "cycles").running, 0.25);
}

#[test]
fn runs_that_were_appended() {
    for name in ["text-twice.txt", "x-twice.csv"] {
        let set = perf(name);
        assert_eq!(runs(&set, "page-faults").len(), 2, "{name}");
        assert_eq!(runs(&set, "task-clock").len(), 2, "{name}");
    }
}

#[test]
fn shares_remarks_and_output_of_the_program() {
    let text = "hello 3\n\n Performance counter stats for 'it' (5 runs):\n\n\
        \x20   1,234,567      cycles     #    2.1 GHz     ( +-  0.50% )  (33.25%)\n\
        \x20   <not counted>      cache-misses      (0.00%)\n\
        \x20           12.50 Joules power/energy-pkg/\n\
        \x20                       #     24.1 %  tma_retiring\n\
        \x20           17      raw 0x1c0 \n\n   1.5 seconds time elapsed\n\n 0.1 seconds user\n 0.2 seconds sys\nbye 3\n";
    let set = &read(text).unwrap()[0];
    let cycles = counter(set, "cycles");
    assert_eq!((cycles.runs[0], cycles.running), (1_234_567.0, 0.3325));
    assert!((cycles.standard_error.unwrap() - 6172.835).abs() < 1e-6);
    assert_eq!(
        counter(set, "cache-misses").absent,
        Some(Absent::NotCounted)
    );
    assert_eq!(counter(set, "power/energy-pkg/").unit, "Joules");
    assert_eq!(runs(set, "raw 0x1c0"), [17.0]);
    assert_eq!(
        (runs(set, "user"), runs(set, "sys")),
        (&[0.1][..], &[0.2][..])
    );
}

#[test]
fn times_of_hyperfine() {
    let text = r#"{"results":[{"command":"a","mean":2,"user":1.5,"system":0.1,"times":[1,3],"exit_codes":[0,1]},{"command":"b","mean":2.5,"stddev":0.5}]}"#;
    let sides = read(text).unwrap();
    assert_eq!(
        (&*sides[0].name, runs(&sides[0], ELAPSED)),
        ("a", &[1.0, 3.0][..])
    );
    assert_eq!(runs(&sides[0], "sys"), [0.1]);
    assert!(sides[0].notes[0].contains("1 runs of \"a\""));
    assert_eq!(counter(&sides[1], ELAPSED).standard_error, Some(0.5));
}

#[test]
fn further_runs_are_further_values() {
    let mut set = read("5,,cycles,9,100.00,,\n").unwrap().remove(0);
    set.add(
        read("7,,cycles,9,50.00,,\n3,,irqs,9,100.00,,\n")
            .unwrap()
            .remove(0),
    );
    assert_eq!(
        (runs(&set, "cycles"), runs(&set, "irqs")),
        (&[5.0, 7.0][..], &[3.0][..])
    );
    assert_eq!(counter(&set, "cycles").running, 0.5);
}

#[test]
fn recordings_are_told_from_counters() {
    for (name, expected) in [
        ("spr-10khz-a.dat", true),
        ("aligned-interference.dat", true),
        ("perfstat-good.txt", false),
        ("pfmon-good-noisy.tsv", false),
        ("absent", false),
        ("", true),
    ] {
        assert_eq!(is_recording(&cases().join(name)), expected, "{name}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let head = "Performance counter stats for 'x':\n";
    for (text, expected) in [
        (
            "".to_owned(),
            "it: found nothing, expected counters of perf stat",
        ),
        (
            "word\n".into(),
            "it: found \"word\", expected counters of perf stat",
        ),
        (
            format!("{head} 1.2.3 cycles\n"),
            "it:2: found \"1.2.3 cycles\", expected a count and an event",
        ),
        (format!("{head} 12\n"), "it:2: found \"12\""),
        (format!("{head} oops\n"), "it:2: found \"oops\""),
        (
            format!("{head} <not supported> cycles\n"),
            "it: found no counter that counted",
        ),
        (head.into(), "it: found no counter that counted"),
        (
            "5,,cycles\n6,cycles\n".into(),
            "it:2: found \"6,cycles\", expected count, unit and event",
        ),
        ("5,,cycles\n1,2,3,cycles\n".into(), "it:2"),
        (
            "{\"counter-value\" : \"x\", \"event\" : \"cycles\"}\n".into(),
            "it:1: found \"{\\\"counter-value",
        ),
        (
            "{\"counter-value\" : \"5\", \"event\" : \"cycles\"\n".into(),
            "expected an object of perf stat -j",
        ),
        ("{\"results\":[]}".into(), "it: found no result"),
        (
            "{\"results\":[{\"command\":\"\\u001b[2J\"}]}".into(),
            "found \"\\u{1b}[2J\" without times",
        ),
        ("{\"results\":3}".into(), "it:1: found"),
        (
            "{\"schema\":\"bandscope.report/1\"}".into(),
            "it: found schema \"bandscope.report/1\"",
        ),
        (
            "name a b\nx 1\n".into(),
            "it:2: found \"x 1\", expected 3 columns",
        ),
        (
            "name a b\nx 1 y\n".into(),
            "it:2: found \"x 1 y\", expected a count of 0 or more",
        ),
        (
            "name a b\n1 1 1\n".into(),
            "it:2: found \"1 1 1\", expected a counter's name",
        ),
        (
            "name a b\nx 1 1\nx 2 2\n".into(),
            "it:3: found \"x 2 2\", expected a counter that no row above has",
        ),
        ("name a b\n".into(), "it: found no table"),
        ("name a b\nx -1 1\n".into(), "it:2"),
    ] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
        assert!(
            !error.contains('\x1b') && error.lines().count() == 1,
            "{error}"
        );
    }
}

#[test]
fn an_event_that_never_ends_takes_time_by_its_length() {
    // By the square of it: many minutes.
    let long = format!("1,,cpu/event=1{}\n", ",x".repeat(1 << 20));
    assert_eq!(read(&long).unwrap()[0].counters.len(), 1);
    let places: String = (0..50_000)
        .map(|cpu| format!("CPU{cpu},1,,cycles,1,100.00\n"))
        .collect();
    assert_eq!(runs(&read(&places).unwrap()[0], "cycles"), [50_000.0]);
}
