//! `bandscope doctor`, as a whole: simulated recordings that are told how their machine is set up, and this machine.

use crate::common::{bandscope, checked, refuse, succeed};
use serde_json::{Value, json};
use std::path::Path;

/// A second of a simulated machine whose tick takes 20 µs.
fn simulated(directory: &Path) {
    let arguments = [
        "record",
        "--machine",
        "simulated:tick:hz=250,cost=20us",
        "--trace",
        "on",
        "--cpus",
        "1",
        "--duration",
        "1s",
    ];
    succeed(
        directory,
        &[&arguments[..], &["--output", "it.bandscope"]].concat(),
    );
}

/// Tells the recording how its machine was set up.
fn set_up(directory: &Path, change: impl FnOnce(&mut Value)) {
    let path = directory.join("it.bandscope/recording.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut manifest: Value = serde_json::from_str(&text).unwrap();
    manifest.as_object_mut().unwrap().remove("checksum");
    change(&mut manifest);
    std::fs::write(&path, serde_json::to_string_pretty(&manifest).unwrap()).unwrap();
}

fn doctor(directory: &Path) -> Value {
    let printed = succeed(directory, &["doctor", "it.bandscope", "--format", "json"]);
    serde_json::from_str(&printed).unwrap()
}

fn entry<'a>(doctor: &'a Value, item: &str) -> &'a Value {
    let mut entries = doctor["entries"].as_array().unwrap().iter();
    entries.find(|entry| entry["item"] == item).unwrap()
}

#[test]
fn a_tick_costs_what_the_ledger_says_until_it_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    simulated(directory.path());
    let booted = |full: Value| {
        set_up(directory.path(), |manifest| {
            manifest["machine"]["online_cpus"] = json!("0-3");
            manifest["machine"]["nohz_full_cpus"] = full;
            manifest["machine"]["tick_hz"] = json!(250.0);
            manifest["machine"]["setup"]["settings"] = json!({"/proc/cmdline": "quiet"});
        });
        doctor(directory.path())
    };
    let found = booted(Value::Null);
    let tick = entry(&found, "nohz-full");
    let share = tick["cost_ns"].as_f64().unwrap() / found["wall_ns"].as_f64().unwrap();
    assert!((share - 250.0 * 20e-6).abs() < 5e-4, "{tick}");
    assert_eq!(tick["lasting"]["line"], "nohz_full=1");
    assert_eq!(tick["together"], json!(["tick-rate"]));
    assert_eq!(found["entries"][0]["cost_ns"], tick["cost_ns"]);
    let found = booted(json!("1"));
    assert_eq!(entry(&found, "nohz-full")["state"], "quiet");
    assert_eq!(entry(&found, "tick-rate")["state"], "quiet");
}

#[test]
fn text_fits_its_width_and_hides_nothing_that_is_not_readable() {
    let directory = tempfile::tempdir().unwrap();
    simulated(directory.path());
    for width in ["80", "100"] {
        let text = succeed(
            directory.path(),
            &["doctor", "it.bandscope", "--all", "--width", width],
        );
        for line in text.lines() {
            assert!(line.chars().count() <= width.parse().unwrap(), "{line:?}");
            assert!(!line.contains('…'), "{line:?}");
        }
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let hidden = "hypervisor: the recording does not hold this setting";
        assert!(
            words.contains("Not readable") && words.contains(hidden),
            "{text}"
        );
        assert!(text.contains("source"), "{text}");
    }
}

#[test]
fn commands_suit_who_reads_them() {
    if std::env::var_os("BANDSCOPE_TEST_RUNNER").is_some() {
        println!("SKIPPED: a PATH of one's own: the emulator is not in it");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    simulated(directory.path());
    set_up(directory.path(), |manifest| {
        manifest["machine"]["governor"] = json!({"1": "powersave"});
    });
    let tools = directory.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    std::os::unix::fs::symlink("/bin/sh", tools.join("sh")).unwrap();
    // Whoever ran it by `sudo` is not root for the next command.
    let said = |arguments: &[&str]| {
        let mut command = bandscope(directory.path());
        command.args(arguments).args(["--width", "120"]);
        command.env("SUDO_UID", "1000").env("PATH", &tools);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let command = || {
        let text = said(&["doctor", "it.bandscope", "--all"]);
        let has = |line: &&str| line.contains("echo performance");
        text.lines().find(has).unwrap_or(&text).trim().to_owned()
    };
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept/0.1.0/two-cpus");
    let report = || said(&["report", kept.to_str().unwrap()]);
    assert!(command().starts_with("as root  echo performance | tee /sys/"));
    // The host may have another way to become root.
    assert!(report().contains("off CPU 1, as root:") && !report().contains("sudo taskset"));
    std::fs::write(tools.join("sudo"), "").unwrap();
    assert!(command().starts_with("now      echo performance | sudo tee /sys/"));
    assert!(
        report().contains("| xargs -rn1 sudo taskset -apc 0"),
        "{}",
        report()
    );
}

#[test]
fn names_of_others_are_no_markup_and_no_command() {
    let directory = tempfile::tempdir().unwrap();
    simulated(directory.path());
    let evil = "\u{1b}[31m<script>|`x`$(reboot)\u{202e}";
    set_up(directory.path(), |manifest| {
        manifest["machine"]["online_cpus"] = json!("0-1");
        manifest["machine"]["clocksource"] = json!(evil);
        manifest["machine"]["governor"] = json!({"1": evil});
        manifest["machine"]["setup"] = json!({
            "settings": {
                "/proc/cmdline": format!("isolcpus={evil} mitigations={evil}"),
                "/proc/sys/vm/stat_interval": evil,
                "/sys/devices/virtual/workqueue/cpumask": evil,
            },
            "unread": {"/proc/sys/kernel/watchdog": evil},
            "interrupts": [{"number": 5, "name": evil, "cpus": evil, "is_fixed": false}],
            "tasks": [{"name": evil, "cpus": evil, "number": 1}],
            "cpu_sets": [[evil, evil]],
        });
        manifest["kernel_counts"] = json!([{"cpu": 1, "seconds": 1.0, "counts": [{"name": format!("irq:{evil}"), "number": 9}]}]);
    });
    for format in ["text", "json", "html", "markdown"] {
        let printed = succeed(
            directory.path(),
            &["doctor", "it.bandscope", "--all", "--format", format],
        );
        let is_obeyed = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!printed.contains(is_obeyed), "{format}: {printed}");
        if ["html", "markdown"].contains(&format) {
            assert!(!printed.contains("<script"), "{format}: {printed}");
        }
    }
    let found = doctor(directory.path());
    let governor = entry(&found, "governor")["now"]["undo"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        governor.contains(&format!("echo '{evil}' |")),
        "{governor:?}"
    );
}

#[test]
fn what_cannot_be_judged_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let counts = "# Frequency 10000.000000\n0 10\n100000 11\n200000 10\n300000 10\n";
    std::fs::write(directory.path().join("a.dat"), counts).unwrap();
    let error = refuse(directory.path(), &["doctor", "a.dat"]);
    assert!(
        error.contains("a.dat: found a file of counts, expected a recording"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
    simulated(directory.path());
    let error = refuse(
        directory.path(),
        &["doctor", "it.bandscope", "--cpus", "1,7"],
    );
    assert!(
        error.contains("found 1,7, expected CPUs of the recording: 1"),
        "{error}"
    );
    let error = refuse(directory.path(), &["doctor", "nothing.bandscope"]);
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn this_machine_is_judged_whole() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = bandscope(directory.path());
    command.args(["doctor", "--duration", "300ms", "--format", "json"]);
    let output = checked(command.output().unwrap());
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["schema"], "bandscope.doctor/1");
    let entries = found["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 30);
    for entry in entries {
        let lines = entry["lines"].as_array().unwrap().iter();
        let sum: u64 = lines.map(|line| line["ns"].as_u64().unwrap()).sum();
        assert!(
            entry["cost_ns"].as_u64().is_none_or(|cost| cost == sum),
            "{entry}"
        );
        let is_set = entry["found"].is_string() || entry["why"].is_string();
        assert!(
            is_set && !entry["source"].as_str().unwrap().is_empty(),
            "{entry}"
        );
    }
    let [wall, lost, acted_on] =
        ["wall_ns", "lost_ns", "acted_on_ns"].map(|key| found[key].as_u64().unwrap());
    assert!(acted_on <= lost && lost <= wall, "{found}");
    // The recording stays, and says the same again.
    let recording = found["inputs"][0].as_str().unwrap();
    let again = succeed(directory.path(), &["doctor", recording, "--format", "json"]);
    assert_eq!(
        serde_json::from_str::<Value>(&again).unwrap()["entries"],
        found["entries"]
    );
    let interval = std::fs::read_to_string("/proc/sys/vm/stat_interval");
    let entry = entry(&found, "stat-interval");
    match interval {
        Ok(seconds) => {
            let expected = format!("memory statistics every {} s", seconds.trim());
            assert_eq!(entry["found"], expected);
        }
        Err(error) => assert_eq!(entry["state"], "unknown", "{error}: {entry}"),
    }
}

#[test]
fn a_container_without_sys_is_told_what_it_hides() {
    let directory = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs none /sys && exec \"$@\"";
    let mut command = std::process::Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    command.arg(env!("CARGO_BIN_EXE_bandscope"));
    command.args(["doctor", "--duration", "100ms", "--format", "json"]);
    let output = command.current_dir(directory.path()).output();
    let is_foreign = std::env::var_os("BANDSCOPE_TEST_RUNNER").is_some();
    let is_refused = |error: &[u8]| {
        let error = String::from_utf8_lossy(error);
        error.starts_with("unshare: ") || error.starts_with("mount: ")
    };
    let output = match output {
        Ok(output) if !is_foreign && !is_refused(&output.stderr) => checked(output),
        other => {
            println!("SKIPPED: no mount namespace of one's own: {other:?}");
            return;
        }
    };
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    for item in ["workqueues", "nohz-full", "idle-states", "smt", "isolcpus"] {
        let entry = entry(&found, item);
        assert_eq!(entry["state"], "unknown", "{entry}");
        assert!(entry["why"].as_str().unwrap().contains("/sys/"), "{entry}");
    }
}
