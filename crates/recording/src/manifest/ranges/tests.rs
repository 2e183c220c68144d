//! Every number of a manifest in turn, at both ends of its range and beyond them.

use crate::Manifest;
use crate::json::parse;
use serde_json::{Value, json};
use std::path::Path;

/// Fields in which every number of their type makes sense: times of a clock that may jump, and names that are numbers.
const WHOLE_TYPE: [&str; 8] = [
    "cpus", "cpu", "pid", "task", "process", "from", "to", "ticks",
];
const WHOLE_TYPE_OF_CLOCK: [&str; 3] = ["origin_ticks", "origin_unix_ns", "operations"];

/// A manifest in which every list has an entry and every field a value.
fn full() -> Value {
    let sample = json!({"ticks": 1, "gaps": 1, "gap_ticks": 1, "median_gap_ticks": 1});
    let trigger = json!({
        "text": "t", "cause": "c", "except": ["c"], "cpu": 1, "longer_than_s": 0.5, "window_s": 0.5, "less_than": 0.5,
    });
    let setup = json!({
        "settings": {"/proc/cmdline": "quiet"}, "unread": {"/sys/kernel/mm/ksm/run": "w"},
        "cpus": [{
            "cpu": 1, "least_khz": 1, "most_khz": 1, "hardware_khz": 1,
            "idle_states": [{"name": "C1", "latency_us": 1, "is_off": false}],
        }],
        "interrupts": [{"number": 1, "name": "n", "cpus": "0", "effective": "0", "is_fixed": false}],
        "tasks": [{"name": "n", "cpus": "0", "is_kernel": false, "is_fixed": false, "number": 1}],
        "cpu_sets": [["/sys/fs/cgroup", "0"]],
    });
    let machine = json!({
        "host": "h", "boot_id": "b", "cpu_model": "m", "microarchitecture": "m", "architecture": "a", "cpu_id": "i", "microcode": "m",
        "online_cpus": "0", "allowed_cpus": "0", "smt_siblings": {"0": "1"}, "frequency_driver": "d", "governor": {"0": "g"},
        "kernel": "k", "isolated_cpus": "0", "nohz_full_cpus": "0", "irq_affinity": "f", "hypervisor": "h", "tick_hz": 0.5,
        "speculative_store_bypass": "s", "mitigations": {"m": "m"}, "load": [0.5, 0.5, 0.5],
        "other_tasks": [{"name": "n", "pid": 1, "share": 0.5}], "realtime_limit_us": [1, 1], "clocksource": "c",
        "memory_bytes": 1,
        "setup": setup,
    });
    json!({
        "schema": "bandscope.recording/1", "run": "r", "tool": "t", "started": "s", "preparation_s": 0.5, "state": "complete",
        "settings": {
            "machine": "this", "cpus": [1], "rates_hz": [0.5], "kernels": ["k"], "segment_s": 0.5, "duration_s": 0.5,
            "start_delay_s": 0.5, "clock_read": "plain", "buffered": false, "trace": "on", "store_bypass": "leave", "chosen": "c", "priority": "p",
            "control_groups": ["g"], "housekeeping": "0",
            "catch": {"conditions": [trigger], "stop_if": [trigger], "around_s": 0.5},
        },
        "clock": {
            "name": "tsc", "ticks_per_ns": 0.5, "error_ppm": 0.5, "measured_ticks_per_ns": 0.5, "origin": "given",
            "readings": [{"ticks": 1, "raw_ns": 1, "half_width_ticks": 1}], "invariant": true, "origin_ticks": 1,
            "origin_unix_ns": 1, "read_ticks": {"plain": 0.5},
        },
        "kernels": [{
            "name": "k", "description": "d", "hash": "h", "operations": 1, "gap_threshold_ticks": 1, "best_ticks_per_unit": 0.5,
            "placement_spread": 0.5, "invariant": true, "boundary_ticks": 0.5, "read_ahead_ticks": 0.5, "fractions": [0.5],
            "registers_only": true, "throughput": true, "pace_after_interruption": 0.5,
        }],
        "counters": [{"name": "c", "method": "read", "read_ticks": 0.5}],
        "events": {
            "state": "on", "why": "w", "tracepoints": ["t"], "clock": "c", "time_error_ticks": 0.5,
            "threads": [{"cpu": 1, "pid": 1}], "tasks": [{"task": 1, "process": 1, "name": "n"}],
            "senders_lost": 1,
            "lost": [{"cpu": 1, "from": 1, "to": 1, "events": 1}], "cost": {"with": sample, "without": sample},
        },
        "kernel_counts": [{
            "cpu": 1, "seconds": 0.5, "counts": [{"name": "n", "number": 1}], "system_management_interrupts": 1,
        }],
        "schedstat": [{"cpu": 1, "run_ns": 1, "wait_ns": 1, "slices": 1, "voluntary_switches": 1}],
        "quotas": [{"group": "g", "version": 1, "quota_us": 1, "period_us": 1, "periods": 1, "throttled": 1, "throttled_ns": 1}],
        "rank": {"job": "j", "node": "n", "task": 1, "tasks": 1},
        "machine": machine,
        "watched": [{"cpu": 1, "wall_ticks": 1, "gaps": 1, "gap_ticks": 1, "longest_ticks": 1, "longest_cause": "c", "unseen": ["gap:task:c > 1 ms"], "met": 1, "met_by": {"c": 1}, "kept": 1}],
        "stopped_by": "s",
        "lost": {"quanta": 1, "gaps": 1, "events": 1},
        "missing": [{"what": "w", "why": "w", "leaves_undecided": "l"}],
        "incidents": [{"kind": "clock-jump", "ticks": 1, "detail": "d"}],
        "store_bypass": [{"cpu": 1, "ticks": 1, "allowed": true}],
        "parts": [{"path": "gaps/cpu=1", "parts": 1, "rows": 1}],
    })
}

/// Pointers to all numbers below `value`.
fn numbers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(at.into()),
        Value::Array(entries) => {
            assert!(!entries.is_empty(), "{at} has no entry");
            for (place, entry) in entries.iter().enumerate() {
                numbers(entry, &format!("{at}/{place}"), found);
            }
        }
        Value::Object(fields) => {
            assert!(!fields.is_empty(), "{at} has no entry");
            for (name, entry) in fields {
                numbers(entry, &format!("{at}/{name}"), found);
            }
        }
        Value::Null => panic!("{at} has no value"),
        Value::Bool(_) | Value::String(_) => {}
    }
}

/// Reads the manifest with `value` at `pointer`; the error if it is refused.
fn read_with(pointer: &str, value: Value) -> Result<(), String> {
    let mut manifest = full();
    *manifest.pointer_mut(pointer).unwrap() = value;
    let read = parse(Path::new("r.json"), manifest.to_string().as_bytes());
    read.map(|_| ()).map_err(|error| error.to_string())
}

/// The range that a refusal states.
fn range(refusal: &str) -> (&str, &str) {
    let range = refusal.rsplit_once("expected ").map(|(_, range)| range);
    range.and_then(|range| range.split_once(" to ")).unwrap()
}

/// `clock.readings[0].ticks` as JSON points at it.
fn field(pointer: &str) -> String {
    let mut field = String::new();
    for part in pointer.split('/').skip(1) {
        match part.parse::<usize>() {
            Ok(place) => field.push_str(&format!("[{place}]")),
            Err(_) if field.is_empty() => field.push_str(part),
            Err(_) => field.push_str(&format!(".{part}")),
        }
    }
    field
}

#[test]
fn every_number_has_a_range_and_both_ends_belong_to_it() {
    let manifest: Manifest = serde_json::from_value(full()).unwrap();
    // What the program writes tells a field that is missing above.
    let written = serde_json::to_value(manifest).unwrap();
    let mut pointers = Vec::new();
    numbers(&written, "", &mut pointers);
    assert!(pointers.len() > 60, "{pointers:?}");
    for pointer in &pointers {
        let mut names = pointer
            .rsplit('/')
            .filter(|name| name.parse::<u32>().is_err());
        let name = names.next().unwrap();
        let of_sample = pointer.starts_with("/events/cost");
        if WHOLE_TYPE_OF_CLOCK.contains(&name) || WHOLE_TYPE.contains(&name) && !of_sample {
            assert_eq!(read_with(pointer, json!(u32::MAX)), Ok(()), "{pointer}");
        } else if full().pointer(pointer).unwrap().is_f64() {
            check_real(pointer);
        } else {
            check_whole(pointer);
        }
    }
}

fn check_real(pointer: &str) {
    let refusal = read_with(pointer, json!(1e300)).unwrap_err();
    let wanted = format!("r.json: found {} 1e300, expected ", field(pointer));
    assert!(refusal.starts_with(&wanted), "{refusal}");
    let (from, to) = range(&refusal);
    let (from, to): (f64, f64) = (from.parse().unwrap(), to.parse().unwrap());
    for (value, is_within) in [
        (from, true),
        (to, true),
        (from - (from.abs() * 1e-9).max(1e-9), false),
        (to + to.abs() * 1e-9, false),
        (-1e300, false),
    ] {
        let read = read_with(pointer, json!(value));
        assert_eq!(read.is_ok(), is_within, "{pointer} {value}: {read:?}");
    }
}

fn check_whole(pointer: &str) {
    let most = if pointer.ends_with("/parts") || pointer.ends_with("/tasks") {
        json!(u32::MAX)
    } else if pointer.contains("realtime") {
        json!(i64::MAX)
    } else {
        json!(u64::MAX)
    };
    let refusal = read_with(pointer, most).unwrap_err();
    let wanted = format!("r.json: found {} ", field(pointer));
    assert!(refusal.starts_with(&wanted), "{pointer}: {refusal}");
    let (from, to) = range(&refusal);
    let (from, to): (i64, u64) = (from.parse().unwrap(), to.parse().unwrap());
    assert_eq!(read_with(pointer, json!(from)), Ok(()), "{pointer}");
    assert_eq!(read_with(pointer, json!(to)), Ok(()), "{pointer}");
    assert!(read_with(pointer, json!(from - 1)).is_err(), "{pointer}");
    assert!(read_with(pointer, json!(to + 1)).is_err(), "{pointer}");
}

#[test]
fn an_error_of_the_clock_beyond_its_rate_is_refused() {
    for (text, shown) in [(1e7, "10000000"), (1e12, "1000000000000"), (-1.0, "-1")] {
        assert_eq!(
            read_with("/clock/error_ppm", json!(text)).unwrap_err(),
            format!("r.json: found clock.error_ppm {shown}, expected 0 to 1000000")
        );
    }
}
