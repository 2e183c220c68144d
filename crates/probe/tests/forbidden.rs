//! Runs of the real machine under seccomp filters that forbid what bandscope would like to ask of the kernel, as
//! containers and sandboxes do. A filter acts on the thread that sets it and on those that it starts, so each test has
//! the probe in a thread of its own. seccomp(2); Documentation/userspace-api/seccomp_filter.rst.
#![cfg(target_os = "linux")]

#[path = "support/forbid.rs"]
mod forbid;

use bandscope_probe::{ThisMachine, default_kernel, pin, trace};
use bandscope_recording::Manifest;
use bandscope_recording::manifest::{EventsState, State};
use bandscope_sampler::machine::{Choice, Length, Watch};
use bandscope_sampler::{Machine, MachineError, Request};
use forbid::forbid;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::AtomicBool;

const QUANTA: u64 = 400;

/// A short run in a thread for which `calls` (none of them `rseq`) are forbidden; `cpus` as in a request. `None`, having said so, where this
/// machine knows no such filters.
fn run(calls: &[i64], errno: i32, cpus: &[u32]) -> Option<Result<Manifest, MachineError>> {
    run_traced(calls, errno, cpus, Choice::Auto)
}

/// [`run`] with or without kernel events.
fn run_traced(
    calls: &[i64],
    errno: i32,
    cpus: &[u32],
    trace: Choice,
) -> Option<Result<Manifest, MachineError>> {
    let request = Request {
        cpus: cpus.to_vec(),
        rates_hz: vec![10_000.0],
        kernels: vec![default_kernel().to_owned()],
        length: Length::Samples(QUANTA),
        start_delay_s: 0.0,
        segment_s: 1.0,
        ticks_per_ns: None,
        ordered_reads: false,
        buffered: false,
        counters: Choice::Auto,
        trace,
        watch: Watch::default(),
        tracepoints: Vec::new(),
        store_bypass: Default::default(),
        priority: None,
        housekeeping: Vec::new(),
        self_test: false,
    };
    let calls = calls.to_vec();
    let thread = std::thread::spawn(move || {
        if let Err(error) = forbid(&calls, errno) {
            println!("SKIPPED: forbidden system calls: no seccomp filter can be set here: {error}");
            return None;
        }
        Some(measure(&request))
    });
    thread.join().expect("neither preparing nor running panics")
}

fn measure(request: &Request) -> Result<Manifest, MachineError> {
    let mut machine = ThisMachine::new();
    let mut manifest = machine.prepare(request)?;
    let mut quanta = 0;
    let stop = AtomicBool::new(false);
    machine.run(request, &mut manifest, &stop, &mut |batch| {
        quanta += batch.quanta.len() as u64;
        Ok(())
    })?;
    assert_eq!(quanta + manifest.lost.quanta, QUANTA);
    assert_eq!(manifest.state, State::Complete);
    Ok(manifest)
}

fn reason<'a>(manifest: &'a Manifest, what: &str) -> Option<&'a str> {
    let mut all = manifest.missing.iter();
    all.find(|missing| missing.what.contains(what))
        .map(|missing| missing.why.as_str())
}

#[test]
fn without_perf_events_it_runs_and_says_why_there_are_none() {
    for (errno, why) in [(libc::EPERM, "seccomp"), (libc::ENOSYS, "no perf events")] {
        let Some(manifest) = run(&[libc::SYS_perf_event_open], errno, &[]) else {
            return;
        };
        let manifest = manifest.unwrap();
        let reason = reason(&manifest, "hardware counters").unwrap_or("none given");
        assert!(reason.contains(why), "{reason}");
        // What is left is what getrusage(2) counts.
        let methods = manifest
            .counters
            .iter()
            .map(|counter| counter.method.as_str());
        assert!(
            methods.clone().all(|method| method == "getrusage"),
            "{:?}",
            methods.collect::<Vec<_>>()
        );
    }
}

/// Each case where it decides: an ordinary user is refused before any filter.
#[test]
fn without_perf_events_or_tracefs_there_are_no_kernel_events_and_that_is_said() {
    let tracefs = &[libc::SYS_fsopen][..];
    for (calls, errno, why) in [
        (
            &[libc::SYS_perf_event_open][..],
            libc::EPERM,
            "not allowed: ",
        ),
        (
            &[libc::SYS_perf_event_open],
            libc::ENOSYS,
            "no perf events of tracepoints",
        ),
        (tracefs, libc::EPERM, "may not mount it"),
        (tracefs, libc::ENOSYS, "cannot be mounted: "),
    ] {
        let about_tracefs = calls == tracefs;
        let there = std::path::Path::new("/sys/kernel/tracing/events").exists();
        let permitted = trace::catalogue(&[], Watch::Senders);
        if about_tracefs && there || !about_tracefs && permitted.is_err() {
            println!(
                "SKIPPED: kernel events: {calls:?} is not what decides here: {:?}",
                permitted.err()
            );
            continue;
        }
        let Some(manifest) = run(calls, errno, &[]) else {
            return;
        };
        let manifest = manifest.unwrap();
        assert_eq!(manifest.events.state, EventsState::Unavailable);
        assert!(manifest.events.why.contains(why), "{}", manifest.events.why);
        assert_eq!(
            reason(&manifest, "kernel events"),
            Some(&*manifest.events.why)
        );
        let required = run_traced(calls, errno, &[], Choice::On);
        let refused = required
            .expect("the filter was set before")
            .unwrap_err()
            .to_string();
        assert!(
            refused.starts_with("no kernel events can be recorded: "),
            "{refused}"
        );
        assert!(
            refused.contains(why) && refused.lines().count() == 1,
            "{refused}"
        );
    }
}

/// glibc registers rseq when a process begins and, where that went well, ends the process if a later thread cannot: so
/// the filter must be there before the process is. It is this test again, in a process of its own.
#[test]
fn without_rseq_it_runs_and_says_what_that_leaves_undecided() {
    const NAME: &str = "without_rseq_it_runs_and_says_what_that_leaves_undecided";
    const INSIDE: &str = "BANDSCOPE_TEST_WITHOUT_RSEQ";
    if std::env::var_os(INSIDE).is_some() {
        let manifest = run(&[], 0, &[])
            .expect("the filter was set before")
            .unwrap();
        let reason = reason(&manifest, "preemption").unwrap_or("none given");
        assert!(reason.contains("refuses rseq"), "{reason}");
        return;
    }
    for errno in [libc::EPERM, libc::ENOSYS] {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again
            .args(["--exact", NAME, "--nocapture"])
            .env(INSIDE, "1");
        // SAFETY: between fork and exec `forbid` makes two system calls and takes memory for one vector, which glibc
        // and musl permit there.
        unsafe { again.pre_exec(move || forbid(&[libc::SYS_rseq], errno)) };
        match again.output() {
            Ok(output) => assert!(output.status.success(), "{output:?}"),
            Err(error) => {
                println!("SKIPPED: no rseq: no seccomp filter can be set here: {error}");
                return;
            }
        }
    }
}

#[test]
fn without_locked_memory_and_prctl_it_runs() {
    let calls = [libc::SYS_prctl, libc::SYS_mlock, libc::SYS_mlock2];
    let Some(manifest) = run(&calls, libc::EPERM, &[]) else {
        return;
    };
    let manifest = manifest.unwrap();
    let reason = reason(&manifest, "locked memory").unwrap_or("none given");
    assert!(reason.contains("seccomp"), "{reason}");
    assert_eq!(manifest.machine.speculative_store_bypass, None);
}

#[test]
fn a_thread_that_cannot_be_pinned_is_an_error_that_names_the_cpu() {
    let allowed = pin::allowed().unwrap();
    if allowed.len() < 2 {
        println!("SKIPPED: no pinning: with one CPU nothing need be pinned");
        return;
    }
    for (calls, cpus, expected) in [
        (
            libc::SYS_sched_setaffinity,
            &allowed[..1],
            "cannot pin a thread to it",
        ),
        (
            libc::SYS_sched_setaffinity,
            &[],
            "cannot pin a thread to it",
        ),
        (libc::SYS_sched_getaffinity, &[], "which CPUs may be used"),
    ] {
        let Some(refused) = run(&[calls], libc::EPERM, cpus) else {
            return;
        };
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
        assert_eq!(refused.lines().count(), 1);
    }
}

#[test]
fn with_one_cpu_nothing_need_be_pinned() {
    let allowed = pin::allowed().unwrap();
    let thread = std::thread::spawn(move || {
        pin::pin(&allowed[..1]).unwrap();
        run(&[libc::SYS_sched_setaffinity], libc::EPERM, &[])
    });
    let Some(manifest) = thread.join().unwrap() else {
        return;
    };
    assert!(manifest.unwrap().settings.buffered);
}
