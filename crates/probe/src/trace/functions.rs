//! The kernel's functions, by address: which of them is the tick's, and what a kernel worker runs.
//!
//! The kernel's records hold an address; /proc/kallsyms has the names, where the kernel does not hide them (kptr_restrict,
//! CAP_SYSLOG). Without high-resolution timers the tick is not one of them, and every interrupt of the timer is the tick.

use rustix::time::{ClockId, clock_getres};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// 100,000 lines are read in 0.1 s of CPU time. Where other tasks take the CPU, they are given up after this much on the clock.
pub const PATIENCE: Duration = Duration::from_secs(3);
/// Lines between two looks at the clock.
const LINES_AT_A_TIME: usize = 1024;

/// Functions of the tick in Linux 6.9 and later, in 6.6 to 6.8 and before, one of which each kernel has (kernel/time/tick-sched.c).
const TICK: [&str; 3] = [
    "tick_nohz_handler",
    "tick_nohz_highres_handler",
    "tick_sched_timer",
];
/// Function of the timer of a task that sleeps (kernel/time/hrtimer.c).
const SLEEPER: &str = "hrtimer_wakeup";
/// A timer's function has one of these in its name, of those of Linux 6.18; others are nameless.
const TIMERS: [&str; 12] = [
    "timer",
    "tick",
    "watchdog",
    "timeout",
    "alarm",
    "tmrproc",
    "it_real_fn",
    "_kick",
    "hrtick",
    "_poll",
    "_expire",
    "_cb",
];
/// Name of a function that has none of them.
const NAMELESS: &str = "unknown";

/// Frames from here on are marks (include/uapi/linux/perf_event.h, PERF_CONTEXT_MAX).
const MARKS: u64 = -4095i64 as u64;
/// What functions have in their names that account for a task's time, wake tasks, queue work, interrupt CPUs, raise softirqs or set timers on behalf of others, of those of Linux 6.18.
const PLUMBING: [&str; 33] = [
    "update_curr",
    "check_preempt",
    "wake",
    "waking",
    "ttwu",
    "complete",
    "kick_pool",
    "queue_work",
    "delayed_work",
    "ep_poll_callback",
    "smp_call",
    "exec_single",
    "on_each_cpu",
    "resched",
    "_ipi",
    "raise_softirq",
    "wakeup_softirqd",
    "invoke_softirq",
    "napi_schedule",
    "netif_rx",
    "enqueue_to_backlog",
    "hrtimer_start",
    "enqueue_hrtimer",
    "enqueue_timer",
    "hrtimer_sleeper",
    "mod_timer",
    "add_timer",
    "timer_reduce",
    "schedule_timeout",
    "schedule_hrtimeout",
    "perf_trace",
    "trace_event",
    "traceiter",
];

/// A timer's function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Whether it is the tick's.
    pub is_tick: bool,
    /// As the kernel's symbols spell it; `unknown` where they tell nothing of it.
    pub name: Arc<str>,
}

/// Functions by address.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    timers: HashMap<u64, Function>,
    /// Where each function begins, in order, and its name in `names`: a kernel has 100,000.
    all: Vec<(u64, Range<u32>)>,
    names: String,
    /// Whether reading them took too long, so that there are none.
    pub given_up: bool,
}

impl Functions {
    /// Those of the running kernel; none where it hides them, or has no high-resolution timers. Read once: that takes 0.15 s, and a program of many
    /// trials asks before each.
    pub fn of_this_kernel() -> Arc<Functions> {
        static READ: Mutex<Option<Arc<Functions>>> = Mutex::new(None);
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(functions) = &*read {
            return functions.clone();
        }
        let functions = Arc::new(Functions::read_from_this_kernel());
        // The CPU may be free the next time.
        if !functions.given_up {
            *read = Some(functions.clone());
        }
        functions
    }

    fn read_from_this_kernel() -> Functions {
        // The clock's resolution is that of the timers.
        let resolution = clock_getres(ClockId::Monotonic);
        if resolution.tv_sec > 0 || resolution.tv_nsec > 1 {
            return Functions::default();
        }
        std::fs::File::open("/proc/kallsyms").map_or_else(
            |_| Functions::default(),
            |symbols| Functions::read(symbols, PATIENCE),
        )
    }

    /// From lines of an address, a kind and a name, as far as they come within `patience`.
    pub fn read(symbols: impl Read, patience: Duration) -> Functions {
        let begun = Instant::now();
        let mut functions = Functions::default();
        let mut number = 0usize;
        let mut lines = BufReader::with_capacity(1 << 16, symbols);
        let mut line = Vec::new();
        while let Ok(1..) = lines.read_until(b'\n', &mut line) {
            if let Some((address, name)) = std::str::from_utf8(&line).ok().and_then(symbol) {
                functions.add(address, name);
            }
            line.clear();
            if number.is_multiple_of(LINES_AT_A_TIME) && begun.elapsed() >= patience {
                return Functions {
                    given_up: true,
                    ..Functions::default()
                };
            }
            number += 1;
        }
        functions.all.sort_by_key(|function| function.0);
        // It stays for the whole run.
        functions.all.shrink_to_fit();
        functions.names.shrink_to_fit();
        functions
    }

    fn add(&mut self, address: u64, name: &str) {
        if TIMERS.iter().any(|part| name.contains(part)) {
            let function = Function {
                is_tick: TICK.contains(&name),
                name: name.into(),
            };
            self.timers.insert(address, function);
        }
        let from = self.names.len() as u32;
        self.names.push_str(name);
        self.all.push((address, from..self.names.len() as u32));
    }

    /// Whether the tick's function is known.
    pub fn tell_the_tick(&self) -> bool {
        self.timers.values().any(|function| function.is_tick)
    }

    /// What lets through all timers but those of the tick, in the words of the kernel's filters (Documentation/trace/events.rst).
    pub fn filter_of_the_tick(&self) -> String {
        let of_tick = self.timers.iter().filter(|(_, function)| function.is_tick);
        let others = of_tick.map(|(address, _)| format!("function != {address:#x}"));
        others.collect::<Vec<_>>().join(" && ")
    }

    /// What lets through the timers of tasks that sleep until a time of their own, in the same words; empty where that function is not known.
    pub fn filter_of_sleepers(&self) -> String {
        let sleeps = |function: &Function| &*function.name == SLEEPER;
        let of_sleepers = self.timers.iter().filter(|(_, function)| sleeps(function));
        let any = of_sleepers.map(|(address, _)| format!("function == {address:#x}"));
        any.collect::<Vec<_>>().join(" || ")
    }

    /// The name of the function that begins at an address.
    pub fn name_at(&self, address: u64) -> Option<&str> {
        let place = self.all.partition_point(|function| function.0 < address);
        let (begin, name) = self.all.get(place)?;
        (*begin == address).then(|| &self.names[name.start as usize..name.end as usize])
    }

    /// The name of the function that an address lies in, without what the compiler added to it.
    fn name_around(&self, address: u64) -> Option<&str> {
        let place = self.all.partition_point(|function| function.0 <= address);
        let (_, name) = self.all.get(place.checked_sub(1)?)?;
        let name = &self.names[name.start as usize..name.end as usize];
        name.split('.').next()
    }

    /// Whether any are known.
    pub fn are_known(&self) -> bool {
        !self.all.is_empty()
    }

    /// Who has somebody woken, a CPU interrupted, a softirq raised or a timer set, on this stack: the innermost function that does not belong to that
    /// as such. Each frame is an address of eight bytes.
    pub fn caller(&self, stack: &[u8]) -> Option<&str> {
        let (frames, _) = stack.as_chunks::<8>();
        let frames = frames.iter().map(|frame| u64::from_ne_bytes(*frame));
        // What is no address tells whose the frames are that follow.
        let frames = frames.filter(|&frame| frame < MARKS);
        // Where it goes on is behind the call.
        let mut names = frames.map(|frame| self.name_around(frame.saturating_sub(1)));
        let name = names
            .find(|name| name.is_none_or(|name| !PLUMBING.iter().any(|part| name.contains(part))));
        name.flatten()
    }

    /// The function of a timer at an address.
    pub fn at(&self, address: u64) -> Function {
        let known = self.timers.get(&address).cloned();
        known.unwrap_or_else(|| Function {
            is_tick: false,
            name: NAMELESS.into(),
        })
    }
}

/// The function in a line; `None` where it is something else, or its address is hidden.
fn symbol(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
    let address = u64::from_str_radix(address, 16).ok()?;
    (matches!(kind, "t" | "T") && address != 0).then_some((address, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ticks_function_is_found_by_name() {
        let functions = Functions::read(
            "ffffffff814204b0 t hrtimer_wakeup\nffffffff814352e0 t tick_nohz_handler\n\
             ffffffff8f000000 D hrtimer_bases\nffffffffc0000010 t foo_timer\t[foo]\nnonsense\n"
                .as_bytes(),
            Duration::MAX,
        );
        assert!(functions.tell_the_tick());
        let at = |address| functions.at(address);
        assert!(at(0xffff_ffff_8143_52e0).is_tick);
        assert_eq!(&*at(0xffff_ffff_8142_04b0).name, "hrtimer_wakeup");
        assert_eq!(&*at(0xffff_ffff_c000_0010).name, "foo_timer");
        assert_eq!(&*at(0xffff_ffff_8f00_0000).name, NAMELESS, "data");
        assert_eq!(functions.name_at(0xffff_ffff_c000_0010), Some("foo_timer"));
        assert_eq!(functions.name_at(0xffff_ffff_c000_0011), None);
        assert_eq!(functions.name_at(0xffff_ffff_8f00_0000), None, "data");
        assert!(!at(1).is_tick);
    }

    #[test]
    fn a_caller_is_who_calls_what_wakes() {
        let functions = Functions::read(
            "1000 t try_to_wake_up\n2000 T __wake_up_common\n3000 t anon_pipe_write.isra.0\n4000 t vfs_write\n".as_bytes(),
            Duration::MAX,
        );
        let caller = |frames: &[u64]| {
            let stack: Vec<u8> = frames
                .iter()
                .flat_map(|frame| frame.to_ne_bytes())
                .collect();
            functions.caller(&stack).map(str::to_owned)
        };
        let kernel = -128i64 as u64;
        let woken = caller(&[kernel, 0x1010, 0x2020, 0x3001, 0x4100]);
        assert_eq!(woken.as_deref(), Some("anon_pipe_write"));
        // A call at the very end of a function goes on in the next one.
        assert_eq!(
            caller(&[0x1010, 0x4000]).as_deref(),
            Some("anon_pipe_write")
        );
        assert_eq!(caller(&[kernel, 0x1010, 0x2020]), None);
        assert_eq!(caller(&[0x10]), None, "before all");
        assert_eq!(caller(&[]), None);
    }

    #[test]
    fn hidden_addresses_tell_nothing() {
        let hidden = "0000000000000000 t tick_nohz_handler\n0000000000000000 t hrtimer_wakeup\n";
        let functions = Functions::read(hidden.as_bytes(), Duration::MAX);
        assert!(!functions.tell_the_tick() && !functions.given_up);
    }

    #[test]
    fn functions_that_come_too_slowly_are_given_up() {
        let tick = "ffffffff814352e0 t tick_nohz_handler\n";
        let functions = Functions::read(tick.as_bytes(), Duration::ZERO);
        assert!(functions.given_up && !functions.tell_the_tick());
    }
}
