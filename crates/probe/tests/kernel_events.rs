//! Kernel events of this very machine, where they are permitted: what is told of them must be so, however much is lost.

use bandscope_probe::trace::{self, Ended, Trace};
use bandscope_probe::{calibration::Reading, clock, pin};
use bandscope_recording::manifest::{MeasuringThread, TaskThread};
use bandscope_recording::{EventKind, KernelEvent};
use bandscope_sampler::machine::Watch;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Records the events of the CPU that this thread is on while `work` runs, with rings of `ring_bytes`; `None`, having
/// said so, where that is not permitted. The third is the counter's value at tick 0.
fn record(
    test: &str,
    ring_bytes: usize,
    drained: bool,
    work: impl FnOnce(),
) -> Option<(Vec<KernelEvent>, Ended, u64)> {
    watched(Watch::Senders, test, ring_bytes, drained, work)
}

fn watched(
    watch: Watch,
    test: &str,
    ring_bytes: usize,
    drained: bool,
    work: impl FnOnce(),
) -> Option<(Vec<KernelEvent>, Ended, u64)> {
    let catalogue = trace::catalogue(&[], watch);
    let cpu = *pin::allowed().unwrap().last().unwrap();
    pin::pin(&[cpu]).unwrap();
    let thread = MeasuringThread {
        cpu,
        pid: rustix::thread::gettid().as_raw_nonzero().get() as u32,
    };
    let origin = clock::ticks();
    let readings = [Reading::take()];
    let opened = catalogue.and_then(|catalogue| {
        let trace = Trace::open(
            &catalogue,
            &[thread],
            watch,
            ring_bytes,
            (origin, &readings),
        )?;
        trace.switch(true)?;
        Ok(trace)
    });
    let mut trace = match opened {
        Ok(trace) => trace,
        Err(why) => {
            println!("SKIPPED: {test}: {why}");
            return None;
        }
    };
    work();
    let (mut events, mut told) = (Vec::new(), Vec::new());
    let mut take = |_, some: &[KernelEvent], tasks: &[TaskThread]| {
        events.extend_from_slice(some);
        told.extend_from_slice(tasks);
    };
    if drained {
        trace.drain(&mut take);
    }
    // No machine has a clock of 100 GHz, so no fit is too bad.
    let ended = trace.finish(100.0, &mut take);
    let of_process: Vec<&TaskThread> = ended.tasks.iter().collect();
    assert!(
        of_process.iter().all(|task| told.contains(task)),
        "{of_process:?} {told:?}"
    );
    Some((events, ended, origin))
}

/// Sleeps many times, so that the CPU goes to other tasks and comes back.
fn sleep_often() {
    (0..300).for_each(|_| std::thread::sleep(Duration::from_micros(50)));
}

/// Waits many times for a timer that is a file.
fn wait_for_timers() {
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::empty()).unwrap();
    let once = Itimerspec {
        it_interval: Timespec::default(),
        it_value: Timespec {
            tv_sec: 0,
            tv_nsec: 50_000,
        },
    };
    for _ in 0..300 {
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once).unwrap();
        rustix::io::read(&timer, &mut [0; 8]).unwrap();
    }
}

/// Wakes a thread that reads a pipe, on the same CPU, and lets it read.
fn write_often() {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let reads = std::thread::spawn(move || while matches!(reader.read(&mut [0; 1]), Ok(1)) {});
    for _ in 0..300 {
        writer.write_all(b"x").unwrap();
        std::thread::sleep(Duration::from_micros(50));
    }
    drop(writer);
    reads.join().unwrap();
}

/// Whether the kernel tells the address of a function whose name ends so: addresses that it hides are zeros.
fn tells(function: &str) -> bool {
    let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let is_told = |line: &str| line.ends_with(function) && !line.starts_with("0000000000000000");
    symbols.lines().any(is_told)
}

#[test]
fn a_wake_up_says_who_called_for_it() {
    let Some((events, ..)) = watched(Watch::All, "callers", 1 << 24, true, write_often) else {
        return;
    };
    // Linux 6.14 renamed `pipe_write` to `anon_pipe_write`.
    if !tells("pipe_write") {
        println!("SKIPPED: callers: this kernel hides its functions");
        return;
    }
    let senders = events.iter().filter_map(|event| event.sender.as_deref());
    let callers: Vec<&str> = senders.map(|sender| &*sender.caller).collect();
    let from_pipe = callers.iter().filter(|name| name.ends_with("pipe_write"));
    assert!(from_pipe.count() >= 100, "{callers:?}");
}

/// Who set the timers that came while a thread `sleeper` waits, and from where; `None`, having said so, where that is not told.
fn setters(test: &str, waits: fn()) -> Option<Vec<(String, String)>> {
    let is_done = Arc::new(AtomicBool::new(false));
    let (end, ends) = std::sync::mpsc::channel::<()>();
    let waits = {
        let is_done = is_done.clone();
        move || {
            waits();
            is_done.store(true, Ordering::Release);
            // Its name is asked for when the events are read.
            ends.recv().unwrap_err();
        }
    };
    let mut thread = None;
    // No kernel event tells who interrupts an idle task: this thread keeps the CPU busy.
    let work = || {
        let sleeper = std::thread::Builder::new().name("sleeper".into());
        thread = Some(sleeper.spawn(waits).unwrap());
        while !is_done.load(Ordering::Acquire) {}
    };
    let watched = watched(Watch::All, test, 1 << 24, true, work);
    drop(end);
    thread.into_iter().for_each(|thread| thread.join().unwrap());
    let (events, ended, _) = watched?;
    if !tells(" hrtimer_wakeup") {
        println!("SKIPPED: {test}: this kernel hides its functions");
        return None;
    }
    let is_sleeper = |task: &TaskThread| task.process == std::process::id();
    assert!(ended.tasks.iter().any(is_sleeper), "{:?}", ended.tasks);
    let timers = events.iter().filter(|event| event.kind == EventKind::Timer);
    let setters = timers.filter_map(|event| event.sender.as_deref());
    let both = setters.map(|one| (one.name.to_string(), one.caller.to_string()));
    Some(both.collect())
}

#[test]
fn a_sleepers_timer_says_who_set_it() {
    let Some(setters) = setters("sleepers", sleep_often) else {
        return;
    };
    // The stack of a task that sleeps is not taken.
    let own = |(by, within): &&(String, String)| by == "task:sleeper" && within.is_empty();
    assert!(setters.iter().filter(own).count() >= 100, "{setters:?}");
}

#[test]
fn another_timer_says_who_set_it_and_from_where() {
    let Some(setters) = setters("setters", wait_for_timers) else {
        return;
    };
    let own = |(by, within): &&(String, String)| by == "task:sleeper" && within.contains("timerfd");
    assert!(setters.iter().filter(own).count() >= 100, "{setters:?}");
}

fn assert_nested(events: &[KernelEvent]) {
    let mut open: Vec<u64> = Vec::new();
    for event in events {
        open.retain(|&end| end > event.start);
        let within = open.last().copied().unwrap_or(u64::MAX);
        assert!(event.end() <= within, "{event:?} reaches beyond {within}");
        open.push(event.end());
    }
    assert!(events.is_sorted_by_key(|event| event.start));
}

#[test]
fn the_cpu_goes_to_others_while_a_thread_sleeps() {
    let begun = clock::ticks();
    let Some((events, ended, _)) = record("other tasks", trace::RING_BYTES, true, sleep_often)
    else {
        return;
    };
    let whole = clock::ticks() - begun;
    assert_nested(&events);
    // It sleeps, as the measuring loop never does: whoever ran meanwhile is not the reason.
    let tasks = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Task | EventKind::Held));
    assert!(tasks.clone().count() >= 100, "{}", tasks.clone().count());
    let own = ended.threads[0].pid;
    assert!(tasks.clone().all(|task| task.number != own));
    assert!(tasks.map(|task| task.duration).sum::<u64>() <= whole);
    assert!(ended.time_error_ticks.is_some());
    assert!(
        ended.lost.iter().all(|lost| lost.events == 0),
        "{:?}",
        ended.lost
    );
}

#[test]
fn page_faults_are_those_of_the_measuring_thread() {
    const PAGES: usize = 64;
    let mut touched = Vec::new();
    let touch = || {
        // Not the allocator's, which may hand out pages that were touched before.
        // SAFETY: the kernel chooses the place, so no mapping in use is touched.
        let memory = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                PAGES * 4096,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        let memory = memory.unwrap().cast::<u8>();
        for page in 0..PAGES {
            let before = clock::ticks();
            // SAFETY: within the mapping, which lives as long as the process.
            unsafe { memory.add(page * 4096).write_volatile(1) };
            touched.push((before, clock::ticks()));
        }
    };
    let Some((events, ended, origin)) = record("page faults", trace::RING_BYTES, true, touch)
    else {
        return;
    };
    let faults = events
        .iter()
        .filter(|event| event.kind == EventKind::Exception)
        .count();
    if faults == 0 {
        println!(
            "SKIPPED: page faults: this kernel has no tracepoint of them, or memory came in large pages"
        );
    }
    // Each fault lies between the reads of the counter around its touch: the clocks agree as far as is said.
    let error = ended.time_error_ticks.unwrap().ceil() as u64;
    let (mut within, mut lead) = (0, u64::MAX);
    for (before, after) in touched {
        let (before, after) = (before - origin, after - origin);
        let one = events.iter().find(|event| {
            event.kind == EventKind::Exception
                && event.start + error >= before
                && event.start <= after + error
        });
        if let Some(fault) = one {
            within += 1;
            lead = lead.min(fault.start.saturating_sub(before));
        }
    }
    assert!(within * 2 >= faults.min(PAGES), "{within} of {faults}");
    println!(
        "{within} of {faults} faults between the reads around a touch, {lead} ticks after the \
         first at least, times within {error}"
    );
}

#[test]
fn a_ring_that_overflows_leaves_no_wrong_interval() {
    // The smallest ring there is: a page, some forty records.
    for drained in [false, true] {
        let before = clock::ticks();
        let Some((events, ended, _)) = record("lost events", 4096, drained, sleep_often) else {
            return;
        };
        let length = clock::ticks() - before;
        assert_nested(&events);
        let lost: u64 = ended.lost.iter().map(|lost| lost.events).sum();
        assert!(lost > 100, "{:?}", ended.lost);
        let last = ended.lost.last().unwrap();
        assert!(
            drained || last.to > length,
            "what was lost at the end has no end: {last:?}"
        );
        // What was open when records were lost has no end that is known: no interval reaches into a lost span.
        let error = 2 * ended.time_error_ticks.unwrap().ceil() as u64;
        for lost in &ended.lost {
            let reaches = |event: &&KernelEvent| {
                event.start + error < lost.from && event.end() > lost.from + error
            };
            assert_eq!(events.iter().find(reaches), None, "{lost:?}");
        }
    }
}

#[test]
fn a_task_that_dies_keeps_its_name() {
    let die = || {
        let child = std::thread::Builder::new()
            .name("dies \x1b[2J\\".into())
            .spawn(|| {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_millis(5) {}
            })
            .unwrap();
        // Runnable meanwhile, as the measuring loop is: a thread that sleeps lost nothing to the other.
        while !child.is_finished() {
            std::hint::spin_loop();
        }
        child.join().unwrap();
    };
    let Some((events, _, _)) = record("a task that dies", trace::RING_BYTES, true, die) else {
        return;
    };
    let names: Vec<&str> = events.iter().map(|event| &*event.name).collect();
    assert!(names.contains(&r"dies \x1b[2J\\"), "{names:?}");
}
