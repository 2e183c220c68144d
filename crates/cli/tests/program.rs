//! `bandscope lab -- COMMAND`: loops of a program that is really observed, which meet a known state or none. What they cost is a matter of the
//! core, and is held against programs' own times by tests/programs.py; what they meet is the same on all.
#![cfg(target_arch = "x86_64")]

#[allow(dead_code, reason = "these tests use little of it")]
#[path = "whole/common/mod.rs"]
mod common;
#[path = "program/loops.rs"]
mod loops;
use common::bandscope;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use rustix::process::{Signal, getpid, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Tells this program, started again, which loop to run.
const LOOP: &str = "BANDSCOPE_TEST_LOOP";
/// It ends by itself, if nobody ends it.
const LONGEST: Duration = Duration::from_secs(60);

/// Not a test: what the tests below observe.
#[test]
fn observed() {
    let Ok(mut name) = std::env::var(LOOP) else {
        return;
    };
    if name == "padded" {
        let padding = std::env::var("BANDSCOPE_PADDING");
        name = padding
            .map_or(
                "registers",
                |is| if is.len() == 64 { "byte" } else { "split" },
            )
            .into();
    }
    let begun = Instant::now();
    // A line and a half, so that some eight bytes lie across the end of one.
    let mut memory = vec![0_u64; 64];
    let line = memory.as_mut_ptr().cast::<u8>();
    let line = line.wrapping_add(line.align_offset(64));
    match name.as_str() {
        "shared" => return count_in_shared_memory(begun),
        // The process is the command, so it is of this group alone.
        "stopped" => kill_process(getpid(), Signal::STOP).unwrap(),
        _ => {}
    }
    while begun.elapsed() < LONGEST {
        // SAFETY: all addresses lie within `memory`, and the registers are declared.
        unsafe {
            match name.as_str() {
                "byte" => core::arch::asm!(
                    "2:", "movzx {x:e}, byte ptr [{at}]", "add {x:e}, 1", "mov byte ptr [{at}], {x:l}", "sub {n}, 1", "jnz 2b",
                    at = in(reg) line, n = inout(reg) 1_000_000_u64 => _, x = out(reg) _,
                ),
                "nested" => core::arch::asm!(
                    "3:", "mov {m:e}, 16", "2:", "movzx {x:e}, byte ptr [{at}]", "add {x:e}, 1", "mov byte ptr [{at}], {x:l}", "sub {m:e}, 1", "jnz 2b",
                    "sub {n}, 1", "jnz 3b",
                    at = in(reg) line, n = inout(reg) 1_000_000_u64 => _, x = out(reg) _, m = out(reg) _,
                ),
                "split" => core::arch::asm!(
                    "2:", "add {x}, qword ptr [{at} + 60]", "sub {n}, 1", "jnz 2b",
                    at = in(reg) line, n = inout(reg) 1_000_000_u64 => _, x = inout(reg) 0_u64 => _,
                ),
                "library" => loops::call_a_library(),
                "below zero" => loops::count_below_zero(),
                _ => multiply(),
            }
        }
    }
}

/// A loop of registers.
fn multiply() {
    // SAFETY: it touches no memory, and the registers are declared.
    unsafe {
        core::arch::asm!(
            "2:", "imul {x}, {x}, 3", "add {x}, 1", "sub {n}, 1", "jnz 2b",
            n = inout(reg) 1_000_000_u64 => _, x = inout(reg) 1_u64 => _,
        );
    }
}

/// Before `main`, which the first thread runs: where that is asked for, goes on in a second thread, and ends the first, as pthread_exit(3) does.
extern "C" fn without_the_first_thread() {
    if std::env::var(LOOP).as_deref() != Ok("second") {
        return;
    }
    let begun = Instant::now();
    std::thread::spawn(move || {
        while begun.elapsed() < LONGEST {
            multiply();
        }
        std::process::exit(0);
    });
    // SAFETY: exit(2) ends this thread alone; nothing of it is used afterwards.
    unsafe { core::arch::asm!("syscall", in("rax") 60, in("rdi") 0, options(noreturn)) };
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = without_the_first_thread;

/// Counts in memory that forks would share, and notices if somebody else counts there too.
fn count_in_shared_memory(begun: Instant) {
    let (access, sharing) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    // SAFETY: the kernel chooses the place.
    let memory = unsafe { mmap_anonymous(std::ptr::null_mut(), 4096, access, sharing) }.unwrap();
    let counter = memory.cast::<u64>();
    let mut expected = 0;
    while begun.elapsed() < LONGEST {
        for _ in 0..100_000 {
            // SAFETY: it lies in the page that was just mapped.
            unsafe { counter.write_volatile(counter.read_volatile() + 1) };
        }
        expected += 100_000;
        // SAFETY: the same.
        let now = unsafe { counter.read_volatile() };
        assert_eq!(now, expected, "another process wrote here");
    }
}

/// The lab on this program, as one of its loops.
fn lab(name: &str) -> Command {
    let mut command = bandscope(Path::new("."));
    command
        .args(["lab", "--format", "json", "--"])
        .arg(std::env::current_exe().unwrap());
    command
        .args(["--exact", "observed", "--test-threads=1"])
        .env(LOOP, name);
    command
}

/// What it says; nothing where this machine lets nobody observe a process.
fn said(name: &str) -> Option<Value> {
    said_by(lab(name))
}

fn said_by(mut lab: Command) -> Option<Value> {
    let output = common::checked(lab.output().unwrap());
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("Operation not permitted") {
        println!("SKIPPED: no process may be traced here: {errors}");
        return None;
    }
    assert!(
        output.status.success() && !errors.contains("panicked"),
        "{errors}"
    );
    let written = String::from_utf8(output.stdout).unwrap();
    let said: Value = serde_json::from_str(&written).unwrap();
    assert!(said["loop"].is_object(), "{said}");
    Some(said)
}

fn states(said: &Value) -> Vec<&str> {
    let states = said["states"].as_array().unwrap().iter();
    // Where a loop happens to lie is not known here.
    states
        .map(|state| state["pair"].as_str().unwrap())
        .filter(|pair| *pair != "placement")
        .collect()
}

#[test]
fn a_byte_that_goes_through_memory_is_met() {
    let Some(said) = said("byte") else { return };
    assert_eq!(states(&said), ["operand-size"], "{said}");
    let state = said["states"]
        .as_array()
        .unwrap()
        .iter()
        .find(|state| state["pair"] == "operand-size")
        .unwrap();
    assert_eq!(
        (
            state["loads"].as_array().unwrap().len(),
            state["stores"].as_array().unwrap().len()
        ),
        (1, 1)
    );
    assert!(
        state["ratio"].is_number() && state["costs"].is_boolean(),
        "{state}"
    );
    match said["loop"]["source"].as_str() {
        Some(source) => {
            assert!(source.contains("/tests/program.rs:"), "{source}");
            assert_eq!(state["sources"].as_array().unwrap().len(), 1, "{state}");
        }
        None if cfg!(debug_assertions) => panic!("the dev profile has lines: {said}"),
        None => println!("SKIPPED: lines of the source: this test was built without them"),
    }
}

#[test]
fn of_a_loop_that_is_left_soon_the_one_around_it_is_timed() {
    let Some(said) = said("nested") else { return };
    assert_eq!(states(&said), ["operand-size"], "{said}");
    assert_eq!(said["loop"]["instructions"], 83.0, "{said}");
    // Of the first turn that is watched nobody saw what was stored before.
    let per_turn = said["states"][0]["per_turn"].as_f64().unwrap();
    assert!((15.5..=16.0).contains(&per_turn), "{said}");
    assert!(said["states"][0]["ratio"].is_number(), "{said}");
}

#[test]
fn a_load_across_the_end_of_a_line_is_met() {
    let Some(said) = said("split") else { return };
    assert_eq!(states(&said), ["split-access"], "{said}");
    assert!(said["states"][0]["ratio"].is_number(), "{said}");
}

#[test]
fn a_command_starts_at_the_levels_that_are_set() {
    let set = |levels: &str| {
        let mut command = bandscope(Path::new("."));
        command.args(["lab", "--set", levels]);
        let words = lab("padded");
        let words = words.get_args().skip_while(|word| *word != "--format");
        command.args(words).env(LOOP, "padded");
        command
    };
    let Some(said) = said_by(set("environment=64")) else {
        return;
    };
    assert_eq!(states(&said), ["operand-size"], "{said}");
    for (levels, wanted) in [
        (
            "astrology=1",
            "found factor \"astrology\", expected all or some of layout",
        ),
        (
            "environment=65",
            "factor environment: found level \"65\", expected 0, 16",
        ),
        ("environment", "expected FACTOR=LEVEL"),
        (
            "all=0",
            "found factor \"all\", expected all or some of layout",
        ),
        (
            "environment=0,environment=64",
            "found factor environment twice",
        ),
        (
            "cpu=inherited,neighbour=busy",
            "found factors cpu and neighbour",
        ),
    ] {
        let refused = set(levels).output().unwrap();
        let error = String::from_utf8_lossy(&refused.stderr);
        assert!(
            refused.status.code() == Some(2) && error.contains(wanted),
            "{error}"
        );
    }
}

#[test]
fn a_loop_of_registers_meets_nothing() {
    let Some(said) = said("registers") else {
        return;
    };
    assert_eq!(states(&said), [""; 0], "{said}");
    assert_eq!(
        said["loop"]["listing"].as_array().unwrap().len(),
        4,
        "{said}"
    );
    assert!(said["turn"]["ns"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_loop_that_calls_a_library_is_timed() {
    let Some(said) = said("library") else { return };
    assert!(said["turn"].is_object(), "{said}");
}

#[test]
fn a_loop_that_counts_below_zero_is_timed() {
    let Some(said) = said("below zero") else {
        return;
    };
    assert!(said["turn"].is_object(), "{said}");
}

#[test]
fn a_program_whose_first_thread_is_gone_is_observed() {
    let Some(said) = said("second") else { return };
    assert!(said["turn"].is_object(), "{said}");
}

#[test]
fn a_program_that_is_stopped_is_told() {
    let output = common::checked(lab("stopped").output().unwrap());
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("Operation not permitted") {
        println!("SKIPPED: no process may be traced here: {errors}");
        return;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}{errors}");
    assert!(text.contains("it is stopped (SIGSTOP)"), "{text}");
}

#[test]
fn memory_that_a_program_shares_stays_its_own() {
    let Some(said) = said("shared") else { return };
    let states = said["states"].as_array().unwrap();
    assert!(
        states.iter().all(|state| state["missing"].is_null()),
        "{said}"
    );
    assert!(said["turn"].is_object(), "{said}");
}

#[test]
fn who_starts_others_all_the_time_is_answered() {
    // A shell makes each by vfork, and cannot be stopped until that has become another program.
    let mut command = bandscope(Path::new("."));
    command.args(["lab", "--", "sh", "-c", "while :; do /bin/true; done"]);
    let output = common::checked(command.output().unwrap());
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("Operation not permitted") {
        println!("SKIPPED: no process may be traced here: {errors}");
        return;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    // 1: no loop was found.
    let has_ended = matches!(output.status.code(), Some(0 | 1));
    assert!(text.contains("samples") && has_ended, "{text}{errors}");
}

#[test]
fn a_command_ends_with_the_lab_however_that_ends() {
    let mut lab = lab("registers")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let child = || children(lab.id());
    let mut found = child();
    while found.is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
        found = child();
    }
    lab.kill().unwrap();
    let ended = lab.wait().unwrap();
    if ended.code().is_some() {
        println!("SKIPPED: the lab ended before it was killed: {ended}");
        return;
    }
    let is_there = |process: &u32| {
        Path::new(&format!("/proc/{process}/exe"))
            .read_link()
            .is_ok()
    };
    while found.iter().any(is_there) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(
        !found.is_empty() && !found.iter().any(is_there),
        "{found:?}"
    );
}

/// The processes that a process started.
fn children(parent: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    list.unwrap_or_default()
        .split_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect()
}
