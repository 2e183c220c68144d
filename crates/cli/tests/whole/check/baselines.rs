//! A check against a baseline: what it tells, and which baselines are not saved.

use super::{DISTURBED, QUIET, check};
use crate::common::{self, refuse};
use serde_json::Value;

#[test]
fn a_baseline_tells_a_program_that_takes_one_percent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let save = [
        "--machine",
        QUIET,
        "--duration",
        "2500ms",
        "--save",
        "b.json",
    ];
    let (code, text, error) = check(path, &save);
    assert_eq!((code, &*error), (0, ""), "{text}");
    let written = std::fs::read_to_string(path.join("b.json")).unwrap();
    common::keeps_contract(&written);
    let kept: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(
        (&kept["runs"], &kept["settings"]["cpus"]),
        (&5.into(), &serde_json::json!([0]))
    );
    let error = refuse(path, &[&["check"], &save[..]].concat());
    assert!(
        error.contains("b.json: exists already; name another --save"),
        "{error}"
    );
    let other_seed = format!("{QUIET},seed=9");
    for (machine, expected) in [
        (
            other_seed,
            "; none of 8 figures is near its limit by the baseline\n",
        ),
        (
            format!("{QUIET}+timed-task:hz=20,cost=5us"),
            "; nearest to its limit: gaps 258/s (baseline 248/s, limit 273/s)\n",
        ),
        (
            format!("{QUIET}+timed-task:hz=15,cost=50us"),
            "; of 8 figures lost is nearest to its limit by the baseline\n",
        ),
    ] {
        let (code, text, _) = check(path, &["--against", "b.json", "--machine", &machine]);
        assert!(code == 0 && text.contains(expected), "{text}");
    }
    let against = ["--against", "b.json", "--machine", DISTURBED];
    let (code, text, _) = check(path, &against);
    assert!(
        code == 1 && text.starts_with("CPU 0 FAILS: lost 1.3 % (baseline 0.25 %"),
        "{text}"
    );
    assert!(text.contains("grew from 0.000 % to 1.0"), "{text}");
    let (code, text, _) = check(path, &[&against[..], &["--format", "json"]].concat());
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &result["passes"]), (1, &false.into()));
    let changes = result["cpus"][0]["changes"].as_array().unwrap();
    let of_tasks = changes.iter().find(|one| one["name"] == "task:*").unwrap();
    assert_eq!(of_tasks["fails"], true, "{of_tasks}");
    let (code, text, _) = check(path, &[&against[..], &["--format", "junit"]].concat());
    assert!(
        code == 1 && text.contains("name=\"CPU 0: task:* as in the baseline\">\n      <failure"),
        "{text}"
    );
    assert!(
        text.contains("grew from 0.000 % to 1.0"),
        "the cause: {text}"
    );
    let (code, text, _) = check(
        path,
        &[&against[..], &["-f", "markdown", "-o", "c.md"]].concat(),
    );
    assert_eq!((code, &*text), (1, ""));
    let written = std::fs::read_to_string(path.join("c.md")).unwrap();
    assert!(written.starts_with("**CPU 0 FAILS.**"), "{written}");
    let limit = [
        "--machine",
        DISTURBED,
        "--duration",
        "1s",
        "--fail-if",
        "longest gap > 30 us",
    ];
    let (code, text, _) = check(path, &limit);
    // The gap says itself when it was, and what.
    assert!(
        code == 1 && text.contains(" s, task:program-2 (limit 30 µs)\n"),
        "{text}"
    );
    // A change has a sign, and nothing else is judged then.
    for (condition, expected) in [
        ("task:* > +0.5 pp", 1),
        ("task:* > +2 pp", 0),
        ("lost < -1 %", 0),
        // As people spell it.
        ("Lost > +0.5 pp on cpu 0", 1),
        // The baseline has no line of either, so no time went to them.
        ("task:program-2 > +0.5 pp", 1),
        ("task:nobody > +1 pp", 0),
    ] {
        let (code, text, _) = check(path, &[&against[..], &["--fail-if", condition]].concat());
        assert_eq!(code, expected, "{condition}: {text}");
        let limit = "task:* 1.0 % (baseline 0.000 %, limit 2.0 %)";
        assert_eq!(text.contains(limit), condition.contains("+2 pp"), "{text}");
        // Who misspelt a name would not see it fail, ever.
        let note = "task:nobody was never seen, and a name that is misspelt passes for ever; seen were task:program-2.";
        assert_eq!(text.contains(note), condition.contains("nobody"), "{text}");
    }
    for (condition, expected) in [("task:progr* > 0.1 %", 1), ("task:nobod* > 0.1 %", 0)] {
        let mut limit = vec!["--machine", DISTURBED, "--fail-if", condition];
        limit.extend(["--fail-if", "task:prog* > 90 %"]);
        let (code, text, error) = check(path, &limit);
        assert_eq!(code, expected, "{condition}: {text}{error}");
        let note = "task:nobod* was never seen, and a name that is misspelt passes for ever; seen were task:program-2.";
        assert_eq!(text.contains(note), expected == 0, "{text}");
    }
    // The sum of a family is that of its lines, of which there are none.
    let (code, text, _) = check(
        path,
        &[&against[..], &["--fail-if", "irq:* > +1 pp"]].concat(),
    );
    let note = "Only conditions with a sign, as \"irq:* > +1 pp\", are held against the baseline now: nothing else of it is judged.";
    assert!(code == 0 && text.contains(note), "{text}");
    let unknown = ["--fail-if", "finding:throttled > +1"];
    let (code, _, error) = check(path, &[&against[..], &unknown].concat());
    let expected = "the baseline has no \"finding:throttled\" to change from";
    assert!(code == 2 && error.contains(expected), "{error}");
}

#[test]
fn a_baseline_and_metrics_have_two_files_whatever_their_names() {
    let directory = tempfile::tempdir().unwrap();
    // A baseline is a new file, so only a link that waits for it can be another name of it.
    std::os::unix::fs::symlink("b.json", directory.path().join("m.prom")).unwrap();
    let arguments = "check --machine simulated:quiet --save b.json -f prometheus -o m.prom";
    let error = refuse(directory.path(), &arguments.split(' ').collect::<Vec<_>>());
    let expected = "m.prom: found in --save and in --output, expected two names";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn all_cpus_are_those_of_the_baseline_or_nothing_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let save = ["--machine", QUIET, "--duration", "1s", "--save", "b.json"];
    let (code, _, error) = check(path, &save);
    assert_eq!((code, &*error), (0, ""));
    let mut baseline: Value =
        serde_json::from_str(&std::fs::read_to_string(path.join("b.json")).unwrap()).unwrap();
    // Of this machine all but the first one, which records of all CPUs leave out.
    let allowed = bandscope_probe::pin::allowed().unwrap();
    let mut known = allowed[1..].to_vec();
    known.push(4000);
    let of_one = baseline["cpus"][0].clone();
    let of = |cpu: &u32| {
        let mut one = of_one.clone();
        one["cpu"] = (*cpu).into();
        one
    };
    baseline["cpus"] = known.iter().map(of).collect();
    baseline["settings"]["machine"] = "this".into();
    std::fs::write(path.join("b.json"), baseline.to_string()).unwrap();
    let error = refuse(path, &["check", "--against", "b.json", "--cpus", "all"]);
    let expected = format!(
        "--cpus: found CPU {}, expected CPUs of the baseline: ",
        allowed[0]
    );
    assert!(error.contains(&expected), "{error}");
}

#[test]
fn a_baseline_that_nothing_could_fail_is_not_saved() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let busy = ["--machine", "simulated:tasks:hz=5,mean=100ms"];
    let few = ["--runs", "3", "--duration", "900ms", "--save", "busy.json"];
    let (code, text, error) = check(path, &[&busy[..], &few].concat());
    let expected = "busy.json: no baseline is saved: CPU 0 lost ";
    assert!(code == 2 && error.contains(expected), "{text}{error}");
    assert!(!path.join("busy.json").exists());
    // One that can fail, of a CPU that is always disturbed, is saved and says so.
    let ticks = ["--machine", "simulated:tick:hz=250,cost=600us"];
    let some = ["--runs", "5", "--duration", "5s", "--save", "ticks.json"];
    let (code, text, error) = check(path, &[&ticks[..], &some].concat());
    let expected = "% when this baseline was made: what comes later is seen only beyond that";
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == 0 && text.contains(expected), "{text}{error}");
    assert!(path.join("ticks.json").exists());
}
