//! `bandscope scale`, as a whole: simulated recordings, whose noise is known.

use crate::common::{self, in_part, refuse, succeed};
use serde_json::Value;
use std::path::Path;

fn simulate(directory: &Path, scenario: &str, duration: &str, name: &str) {
    let machine = format!("simulated:{scenario}");
    let arguments = [
        "record",
        "--machine",
        &machine,
        "--trace",
        "on",
        "--duration",
        duration,
        "--output",
        name,
    ];
    succeed(directory, &arguments);
}

fn scale(directory: &Path, arguments: &[&str]) -> Value {
    let printed = succeed(
        directory,
        &[&["scale", "--format", "json"], arguments].concat(),
    );
    common::keeps_contract(&printed);
    serde_json::from_str(&printed).unwrap()
}

/// How much longer phases take: of the first length, on the number of nodes with this index.
fn longer(scale: &Value, nodes: usize) -> f64 {
    scale["phases"][0]["cells"][nodes]["cost"]["longer"]
        .as_f64()
        .unwrap()
}

#[test]
fn rare_noise_costs_many_nodes_what_frequent_noise_of_the_same_share_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    simulate(
        path,
        "timed-task:hz=10,cost=2500us,jitter=0.3",
        "20s",
        "rare.bandscope",
    );
    simulate(
        path,
        "timed-task:hz=1000,cost=25us,jitter=0.3",
        "5s",
        "often.bandscope",
    );
    let of = |name: &str| scale(path, &["--nodes", "1,1000", "--phase", "1ms", name]);
    let (rare, often) = (of("rare.bandscope"), of("often.bandscope"));
    for one in [&rare, &often] {
        // Alone both cost their 2.5 %, by what scale says of one node as by the ledger.
        let (first, alone) = (longer(one, 0), one["alone"].as_f64().unwrap());
        assert!(
            (0.02..0.03).contains(&first) && (first / alone - 1.0).abs() < 0.1,
            "{first} {alone}"
        );
    }
    // A thousand wait for one of 2.5 ms in nearly each millisecond, or for two of 25 us.
    assert!((2.0..2.6).contains(&longer(&rare, 1)), "{rare}");
    assert!((0.02..0.08).contains(&longer(&often, 1)), "{often}");
    let cell = &rare["phases"][0]["cells"][1];
    assert_eq!(
        (&cell["basis"], &cell["decided_by_s"]),
        (&Value::from("observed"), &Value::Null)
    );
    let from = &cell["from"][0];
    assert!(
        from["name"].as_str().unwrap().starts_with("task:"),
        "{from}"
    );
    assert!(from["less"].as_f64().unwrap() > 2.0, "{from}");
    // Of nodes that never lose together a phase loses more, but at most e / (e - 1) times as much.
    let cost = &cell["cost"];
    let ratio = cost["at_most"].as_f64().unwrap() / cost["longer"].as_f64().unwrap();
    assert!((1.0..1.6).contains(&ratio), "{cost}");
    // Of both, half of the nodes are like each.
    let both = scale(
        path,
        &[
            "--nodes",
            "1000",
            "--phase",
            "1ms",
            "rare.bandscope",
            "often.bandscope",
        ],
    );
    assert_eq!(both["cpus"].as_array().unwrap().len(), 2);
    let both = longer(&both, 0);
    assert!((2.0..=longer(&rare, 1) + 0.1).contains(&both), "{both}");
}

#[test]
fn no_job_has_phases_of_nanoseconds() {
    let here = std::env::temp_dir();
    let said = refuse(&here, &["scale", "it.bandscope", "--phase", "0.5us"]);
    assert!(said.contains("expected a phase of at least 1us"), "{said}");
}

#[test]
fn what_was_not_seen_is_refused_and_says_what_would_decide_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    simulate(path, "tick:hz=250,cost=3us", "2s", "it.bandscope");
    let found = scale(
        path,
        &["--nodes", "16..64k", "--phase", "10ms,1ms", "it.bandscope"],
    );
    let phases: Vec<f64> = found["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|phase| phase["phase_s"].as_f64().unwrap())
        .collect();
    assert_eq!(phases, [1e-3, 1e-2]);
    // Ticks are steps, not a tail: 16 nodes are seen, 64k are not.
    let last = &found["phases"][0]["cells"][6];
    assert_eq!(
        (&last["nodes"], &last["basis"], &last["cost"]),
        (&65_536.into(), &"beyond".into(), &Value::Null)
    );
    assert!(last["decided_by_s"].as_f64().unwrap() >= 190.0, "{last}");
    // What cannot be read is named, and the others are taken.
    for command in ["report", "scale"] {
        let (text, said) = in_part(path, &[command, "it.bandscope", "none.bandscope"]);
        for told in [text, said] {
            assert!(told.contains("none.bandscope: cannot read"), "{told}");
        }
    }
    for width in ["80", "100"] {
        let text = succeed(path, &["scale", "it.bandscope", "--width", width]);
        assert!(
            text.lines()
                .all(|line| line.chars().count() <= width.parse().unwrap()),
            "{text}"
        );
        assert!(
            text.contains("beyond") && text.contains("would decide it"),
            "{text}"
        );
        assert!(!text.contains("95 %  "), "{text}");
    }
    let text = succeed(
        path,
        &["scale", "it.bandscope", "--all", "--ascii", "--nodes", "16"],
    );
    assert!(text.is_ascii() && text.contains(" to "), "{text}");
}

#[test]
fn the_cost_is_drawn_and_is_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let scenario = "tick:hz=250,cost=3us+timed-task:hz=100,cost=100us,jitter=0.3";
    simulate(path, scenario, "2s", "it.bandscope");
    let drawn = |arguments: &[&str]| {
        let written = [&["scale", "it.bandscope", "-o", "drawn"], arguments].concat();
        succeed(path, &written);
        std::fs::read(path.join("drawn")).unwrap()
    };
    let pixel = |picture: &[u8]| u32::from_be_bytes(picture[16..20].try_into().unwrap());
    let picture = drawn(&["-f", "png", "--width", "700"]);
    assert_eq!((&picture[1..4], pixel(&picture)), (&b"PNG"[..], 1400));
    let light = drawn(&["-f", "svg"]);
    let dark = drawn(&["-f", "svg", "--theme", "dark", "--height", "300"]);
    assert!(light.starts_with(b"<svg ") && dark.starts_with(b"<svg ") && light != dark);
    let page = String::from_utf8(drawn(&["-f", "html"])).unwrap();
    let verdict = scale(path, &["it.bandscope"])["verdict"].clone();
    for said in [
        verdict.as_str().unwrap(),
        "refused: beyond what was seen",
        "would decide it",
    ] {
        assert!(page.contains(said), "{said}");
    }
    let said = refuse(path, &["scale", "it.bandscope", "--theme", "dark"]);
    assert!(said.contains("go with --format png or svg"), "{said}");
}

#[test]
fn what_no_recording_has_seen_has_causes_or_says_that_it_has_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    simulate(path, "tick+tasks+noise", "20s", "it.bandscope");
    let found = scale(
        path,
        &["--nodes", "64k", "--phase", "1ms,10ms", "it.bandscope"],
    );
    let cells = [0, 1].map(|phase| &found["phases"][phase]["cells"][0]);
    assert_eq!(cells.map(|cell| &cell["basis"]), ["extrapolated", "beyond"]);
    let first = &cells[0]["from"][0];
    assert!(
        first["name"].as_str().unwrap().starts_with("task:"),
        "{first}"
    );
    assert!(first["less"].as_f64().unwrap() > 0.3, "{first}");
    assert_eq!(cells[1]["from"], serde_json::json!([]));
    let text = succeed(path, &["scale", "--nodes", "64k", "it.bandscope"]);
    assert!(text.contains("≈ Less by, in points, without"), "{text}");
}

#[test]
fn a_file_of_counts_has_no_causes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    simulate(path, "tick:hz=250,cost=20us", "2s", "it.bandscope");
    succeed(
        path,
        &[
            "export",
            "it.bandscope",
            "--format",
            "ftq",
            "--rate",
            "10kHz",
            "--output",
            "it.dat",
        ],
    );
    let found = scale(path, &["--nodes", "16", "--phase", "1ms", "it.dat"]);
    assert_eq!(
        found["phases"][0]["cells"][0]["from"],
        serde_json::json!([])
    );
    assert!(
        found["notes"]
            .to_string()
            .contains("does not tell gaps from pace"),
        "{found}"
    );
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let wrong = |option: &str, value: &str| {
        let mut command = common::bandscope(directory.path());
        let output = command
            .args(["scale", "it.bandscope", option, value])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    for nodes in ["0", "5..2", "x", "99G", ""] {
        let error = wrong("--nodes", nodes);
        assert!(error.contains("expected numbers of nodes"), "{error}");
    }
    let error = wrong("--phase", "0s");
    assert!(error.contains("found 0"), "{error}");
    let error = refuse(directory.path(), &["scale", "nothing.bandscope"]);
    assert!(error.contains("nothing.bandscope"), "{error}");
}
