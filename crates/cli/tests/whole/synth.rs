//! `bandscope synth`: recordings and files with their truth, consistent with each other and reproducible.

use crate::common::{refuse, report, succeed};
use serde_json::Value;
use std::path::Path;

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn is_empty(directory: &Path) -> bool {
    std::fs::read_dir(directory).unwrap().next().is_none()
}

#[test]
fn the_list_names_scenarios_and_presets() {
    let directory = tempfile::tempdir().unwrap();
    let text = succeed(directory.path(), &["synth", "--list"]);
    for wanted in [
        "flips",
        "cost=3us",
        "frequency-steps",
        "x-10khz",
        "alternating-710",
    ] {
        assert!(text.contains(wanted), "{text}");
    }
    let list = succeed(directory.path(), &["synth", "--list", "--format", "json"]);
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["schema"], "bandscope.scenarios/1");
    let scenarios = list["scenarios"].as_array().unwrap();
    let tick = scenarios.iter().find(|s| s["name"] == "tick").unwrap();
    assert_eq!(tick["parameters"]["hz"], 250.0);
    assert_eq!(tick["ranges"]["cost"]["unit"], "s");
    assert_eq!(tick["kinds"][0], "periodic-interference");
    let names: Vec<_> = list["presets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| &p["name"])
        .collect();
    assert_eq!(names.len(), 8);
    assert!(is_empty(directory.path()));
}

#[test]
fn the_documentation_has_every_scenario_parameter_and_preset() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/simulation.md");
    let page = std::fs::read_to_string(page).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let list = succeed(directory.path(), &["synth", "--list", "--format", "json"]);
    let list: Value = serde_json::from_str(&list).unwrap();
    for entry in list["scenarios"].as_array().unwrap() {
        let name = entry["name"].as_str().unwrap();
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("{name} has no row"));
        for parameter in entry["parameters"].as_object().unwrap().keys() {
            assert!(
                row.contains(&format!("{parameter}=")),
                "{name}: {parameter}"
            );
        }
        for kind in entry["kinds"].as_array().unwrap() {
            assert!(row.contains(kind.as_str().unwrap()), "{name}: {kind}");
        }
    }
    for preset in list["presets"].as_array().unwrap() {
        let name = preset["name"].as_str().unwrap();
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn every_scenario_and_preset_of_the_list_can_be_had() {
    let directory = tempfile::tempdir().unwrap();
    let list = succeed(directory.path(), &["synth", "--list", "--format", "json"]);
    let list: Value = serde_json::from_str(&list).unwrap();
    for group in ["scenarios", "presets"] {
        for entry in list[group].as_array().unwrap() {
            let name = entry["name"].as_str().unwrap();
            let arguments = ["synth", name, "--samples", "60"];
            let output = succeed(directory.path(), &arguments);
            let output = directory.path().join(output.trim_end());
            assert!(output.ends_with(format!("{name}.bandscope")), "{output:?}");
            let truth = json(&output.join("truth.json"));
            assert_eq!(truth["scenario"], name);
            assert!(output.join("recording.json").exists());
        }
    }
}

#[test]
fn the_absences_of_the_truth_are_the_gaps_of_the_recording() {
    let directory = tempfile::tempdir().unwrap();
    let scenario = "tick:hz=400,cost=5us,jitter=0.3";
    let arguments = [
        "synth",
        scenario,
        "--duration",
        "2s",
        "--segment",
        "100ms",
        "--output",
        "it",
    ];
    assert_eq!(succeed(directory.path(), &arguments), "it\n");
    let truth = json(&directory.path().join("it/truth.json"));
    assert_eq!(truth["schema"], "bandscope.truth/1");
    let report = report(directory.path(), &["it"]);
    let (mut number, mut lost_ns) = (0, 0.0);
    for series in report["series"].as_array().unwrap() {
        number += series["gaps"]["number"].as_u64().unwrap();
        lost_ns += series["gaps"]["lost_ns"].as_f64().unwrap();
    }
    let absences = truth["cpus"][0]["absences"].as_array().unwrap();
    let measured: Vec<_> = absences.iter().filter(|a| a["measured"] == true).collect();
    assert_eq!(number as usize, measured.len());
    assert!((790..=810).contains(&number), "{number}");
    let true_ns: f64 = measured.iter().map(|a| a["ns"].as_f64().unwrap()).sum();
    // A tick of rounding at either end of a gap; the report takes the pace around it for its unit.
    assert!(
        (lost_ns - true_ns).abs() < number as f64,
        "{lost_ns} {true_ns}"
    );
}

/// All files of a recording but those that say when it was made.
fn columns(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut todo = vec![root.to_owned()];
    while let Some(directory) = todo.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else if !path.ends_with("recording.json") {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                found.push((name, std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_seed_gives_the_same_bytes_and_another_seed_others() {
    let directory = tempfile::tempdir().unwrap();
    let make = |seed: &str, output: &str| {
        let arguments = [
            "synth",
            "tasks:hz=300+states:dwell=5ms+noise",
            "--duration",
            "1s",
            "--cpus",
            "0-1",
            "--seed",
            seed,
            "--output",
            output,
        ];
        succeed(directory.path(), &arguments);
        columns(&directory.path().join(output))
    };
    let first = make("7", "a");
    // Two rates and gaps of two CPUs, and the truth.
    assert_eq!(first.len(), 7);
    assert!(first == make("7", "b"), "the bytes differ");
    let other = make("8", "c");
    assert!(first.iter().zip(&other).all(|(a, b)| a.1 != b.1));
    assert_eq!(json(&directory.path().join("c/truth.json"))["seed"], 8);
}

#[test]
fn a_file_of_the_original_ftq_has_its_truth_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["synth", "x-10khz", "--duration", "1s", "--output", "x.dat"];
    assert_eq!(succeed(directory.path(), &arguments), "x.dat\n");
    let text = std::fs::read_to_string(directory.path().join("x.dat")).unwrap();
    assert!(text.starts_with("# Frequency 10000"));
    let rows: Vec<Vec<u64>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            line.split(' ')
                .map(|field| field.parse().unwrap())
                .collect()
        })
        .collect();
    assert_eq!(rows.len(), 10_000);
    // Truncated to 199999 ticks: 5 ppm of a second short, less the overshoot of one unit.
    let printed = rows[9999][0] as f64 / 9999.0;
    assert!((printed / 1e5 - 1.0 + 5e-6).abs() < 2e-7, "{printed}");
    assert!(rows.iter().any(|row| (4170..4180).contains(&row[1])));
    assert!(rows.iter().any(|row| (779..782).contains(&row[1])));
    let truth = json(&directory.path().join("x.truth.json"));
    let drift = truth["drift"][0]["drift_ppm"].as_f64().unwrap();
    assert!((drift + 5.0).abs() < 1e-3);
    assert_eq!(truth["parts"][2]["frequency_hz"], 500.0);
    // Edges each millisecond: the first after one.
    let edge = &truth["cpus"][0]["states"][1];
    assert!((edge["start_s"].as_f64().unwrap() - 1e-3).abs() < 1e-9);
    assert!((edge["ns_per_unit"].as_f64().unwrap() - 128.186).abs() < 1e-3);
    assert_eq!(
        report(directory.path(), &["x.dat"])["series"][0]["quanta"],
        10_000
    );
}

#[test]
fn the_alternating_preset_counts_as_published() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = [
        "synth",
        "alternating-710",
        "--samples",
        "4000",
        "--output",
        "it.dat",
    ];
    succeed(directory.path(), &arguments);
    let text = std::fs::read_to_string(directory.path().join("it.dat")).unwrap();
    let counts: Vec<u32> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(' ').nth(1).unwrap().parse().unwrap())
        .collect();
    for (k, count) in counts.iter().enumerate() {
        let wanted = if k % 4 == 3 { 719..=721 } else { 710..=711 };
        assert!(wanted.contains(count), "{k}: {count}");
    }
    let turn = [710, 711, 710, 720];
    let seen = counts.windows(4).filter(|window| *window == turn).count();
    assert!(seen > 200, "{seen}");
}

#[test]
fn a_wrong_calibration_and_its_truth_are_both_there() {
    let directory = tempfile::tempdir().unwrap();
    succeed(
        directory.path(),
        &["synth", "drift-750ppm", "--samples", "100"],
    );
    let recording = directory.path().join("drift-750ppm.bandscope");
    let clock = &json(&recording.join("recording.json"))["clock"];
    assert_eq!(clock["measured_ticks_per_ns"], 2.3982);
    let truth = json(&recording.join("truth.json"));
    assert_eq!(truth["clock"]["true_ticks_per_ns"], 2.3982);
    assert!((truth["clock"]["used_ticks_per_ns"].as_f64().unwrap() - 2.4).abs() < 1e-6);
    assert!((truth["drift"][0]["drift_ppm"].as_f64().unwrap() - 750.563).abs() < 1e-6);
}

/// A page that takes longer than simulated time goes on.
const LONG: &str = "pages:quanta=9,cost=1000000s";

#[test]
fn what_cannot_be_made_is_refused_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let many = ["1000"; 101].join(",");
    for (arguments, expected) in [
        (&["tock"][..], "flips"),
        (&["tick:rate=5"], "hz"),
        (&["tick:hz=0"], "0.001 Hz"),
        (&["noise:sigma=2"], "0 to 0.3"),
        (&["quiet", "--cpus", "128"], "0-127"),
        (&["quiet", "--rate", "1e9"], "10000000 Hz"),
        (&["quiet", "--kernel", "nonsense"], "ftq-o2"),
        (
            &["quiet", "--rate", "10kHz,7777", "--output", "it.dat"],
            "one series",
        ),
        (
            &["quiet", "--cpus", "0-1", "--output", "it.dat"],
            "one series",
        ),
        (&[LONG, "--samples", "100"], "37 hours"),
        (&[LONG, "--output", "it.dat"], "37 hours"),
        (&["quiet", "--start-delay", "38h"], "37 hours"),
        (&["flips+jump:every=200us"], "half of `every`"),
        (&["tick:hz=250,cost=3"], "75000.0 % of the time"),
        (&["tick:hz=4ms"], "as in 250Hz"),
        (&["unit:ratio=0.001", "--rate", "1"], "at least 1;"),
        (&["quiet", "--rate", &many], "--rate"),
        (
            &["quiet", "--output", "no/such/place.bandscope"],
            "no/such/place",
        ),
        (
            &["quiet", "--samples", "5", "--output", "no/such/place.dat"],
            "no/such",
        ),
    ] {
        let error = refuse(directory.path(), &[&["synth"], arguments].concat());
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(is_empty(directory.path()), "{arguments:?}");
    }
    let error = refuse(directory.path(), &["synth"]);
    assert!(error.contains("SCENARIO"), "{error}");
}

#[test]
fn what_exists_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    for (there, output) in [
        ("it", "it"),
        ("it.dat", "it.dat"),
        ("old.truth.json", "old.dat"),
    ] {
        std::fs::write(directory.path().join(there), "precious").unwrap();
        let error = refuse(
            directory.path(),
            &["synth", "quiet", "--samples", "5", "--output", output],
        );
        assert!(error.contains(there) && error.contains("exists"), "{error}");
        let content = std::fs::read_to_string(directory.path().join(there)).unwrap();
        assert_eq!(content, "precious");
    }
}

#[test]
fn record_runs_the_same_machine() {
    let directory = tempfile::tempdir().unwrap();
    let run = [
        "--duration",
        "1s",
        "--start-delay",
        "0s",
        "--kernel",
        "mulss80",
    ];
    let recorded = [
        "record",
        "--machine",
        "simulated:tasks:hz=200",
        "--output",
        "a",
    ];
    succeed(directory.path(), &[&recorded[..], &run].concat());
    let synthesised = ["synth", "tasks:hz=200", "--output", "b"];
    succeed(directory.path(), &[&synthesised[..], &run].concat());
    let csv = |name| succeed(directory.path(), &["export", name, "--format", "csv"]);
    assert!(csv("a") == csv("b"), "the columns differ");
}
