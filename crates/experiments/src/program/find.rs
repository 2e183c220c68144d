//! Where a program spends its time, and the loop that it spends it in.

use super::code::Code;
use super::follow::{Followed, Sample};
use super::fork::{Fork, busy_is_later};
use super::loops::{self, Loop};
use super::tracee::Memory;
use crate::processes::status_field;
use bandscope_statistics::random::Random;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Samples that tell a share to some 5 %.
const SAMPLES: usize = 400;
/// A program that mostly sleeps has fewer of them by then.
const LONGEST: Duration = Duration::from_secs(10);
/// Who is found running less often than once in so many looks waits for something.
const SELDOM: usize = 10;
/// For how many instructions the program is watched, one time after the other: short loops turn in few, long ones need more.
const LOOKS: [usize; 8] = [2_000, 2_000, 2_000, 2_000, 20_000, 2_000, 2_000, 2_000];
/// A loop that holds less of the program's time is not worth a change.
const WORTH: f64 = 0.2;

/// What was found.
pub struct Found {
    /// How often the program was found running.
    pub samples: usize,
    /// How often it was in the kernel.
    pub in_kernel: usize,
    /// The loop, or why there is none.
    pub hot_loop: Result<Hot, NoLoop>,
}

/// A loop of one process.
pub struct Hot {
    pub process: i32,
    pub head: u64,
    /// As it was seen.
    pub seen: Loop,
    /// Samples that lie in it.
    pub samples: usize,
}

/// Why no loop was found, or none could be experimented on.
#[derive(Debug, thiserror::Error)]
pub enum NoLoop {
    #[error("the run was interrupted")]
    Interrupted,
    #[error("the command ended too early: give it work for some seconds")]
    Ended,
    #[error("it waits for most of the time")]
    Waits,
    #[error("it is stopped (SIGSTOP); it goes on by SIGCONT")]
    Suspended,
    #[error("it spends most of its time in system calls")]
    InKernel,
    #[error("a seccomp filter may forbid to make a copy of it")]
    Filtered,
    #[error("no loop holds a fifth of its time")]
    Nowhere,
    #[error("it was not seen in a loop")]
    NotSeen,
    #[error("it did not come to the head of its loop again")]
    NotThereAgain,
    #[error("{0}")]
    System(#[from] io::Error),
}

/// Finds the hot loop of a program that runs.
pub fn find(followed: &mut Followed, stop: &AtomicBool, progress: &mut dyn FnMut(f64)) -> Found {
    let mut samples = Samples::default();
    let hot_loop = samples
        .take(followed, stop, progress)
        .map_err(NoLoop::from)
        .and_then(|()| samples.hottest(followed, stop));
    let in_kernel = samples.all.iter().filter(|sample| sample.in_kernel).count();
    Found {
        samples: samples.all.len(),
        in_kernel,
        hot_loop,
    }
}

/// Where the program was found.
struct Samples {
    all: Vec<Sample>,
    /// How often it was looked at.
    looks: usize,
    random: Random,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples {
            all: Vec::with_capacity(SAMPLES),
            looks: 0,
            random: Random::new(u64::from(std::process::id())),
        }
    }
}

impl Samples {
    fn take(
        &mut self,
        followed: &mut Followed,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(f64),
    ) -> io::Result<()> {
        let begun = Instant::now();
        while self.all.len() < SAMPLES
            && begun.elapsed() < LONGEST
            && !stop.load(Ordering::Relaxed)
            && !followed.ended()
        {
            // At no rhythm that the program could have too.
            followed.rest(Duration::from_micros(1_000 + self.random.below(4_000)))?;
            self.looks += 1;
            if let Some(caught) = followed.catch(None)? {
                self.all.push(caught.sample);
                followed.release(caught)?;
            }
            progress(self.all.len() as f64 / SAMPLES as f64 * 0.5);
        }
        Ok(())
    }

    /// The loop that holds most of them.
    fn hottest(&mut self, followed: &mut Followed, stop: &AtomicBool) -> Result<Hot, NoLoop> {
        if stop.load(Ordering::Relaxed) {
            return Err(NoLoop::Interrupted);
        }
        if followed.ended() {
            return Err(NoLoop::Ended);
        }
        if self.all.len() < self.looks / SELDOM {
            return Err(match followed.is_suspended() {
                true => NoLoop::Suspended,
                false => NoLoop::Waits,
            });
        }
        let process = busiest(&self.all).ok_or(NoLoop::Waits)?;
        if filters_calls(process) {
            return Err(NoLoop::Filtered);
        }
        // Forks of one program have their code at the same addresses.
        let running = self.all.iter().filter(|sample| !sample.in_kernel);
        let places: Vec<u64> = running.map(|sample| sample.at).collect();
        if 2 * places.len() < self.all.len() {
            return Err(NoLoop::InKernel);
        }
        let seen =
            look(followed, process, &places, &mut self.random, stop)?.ok_or(NoLoop::NotSeen)?;
        let inside = places.iter().filter(|at| seen.body.contains(at)).count();
        if (inside as f64) < WORTH * self.all.len() as f64 {
            return Err(NoLoop::Nowhere);
        }
        Ok(Hot {
            process,
            head: seen.head,
            samples: inside,
            seen,
        })
    }
}

fn busiest(samples: &[Sample]) -> Option<i32> {
    let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
    for sample in samples {
        *counts.entry(sample.process).or_default() += 1;
    }
    counts
        .into_iter()
        .max_by_key(|(_, count)| *count)
        .map(|(process, _)| process)
}

/// Whether a process has forbidden itself more system calls than this program has (`Seccomp_filters` of proc_pid_status(5)).
fn filters_calls(process: i32) -> bool {
    let filters = |process| status_field(process, "Seccomp_filters");
    filters(process) > filters(std::process::id() as i32)
}

/// Watches forks of a process, made now and then, and takes the loop that holds most of the samples.
fn look(
    followed: &mut Followed,
    process: i32,
    samples: &[u64],
    random: &mut Random,
    stop: &AtomicBool,
) -> Result<Option<Loop>, NoLoop> {
    let memory = Memory::of(followed.thread_of(process))?;
    let mut code = Code::of(&memory);
    let mut loops = Vec::new();
    for instructions in LOOKS {
        if stop.load(Ordering::Relaxed) {
            return Err(NoLoop::Interrupted);
        }
        followed.rest(Duration::from_micros(2_000 + random.below(10_000)))?;
        let Some(caught) = followed.catch(Some(process))? else {
            continue;
        };
        let fork =
            (!caught.sample.is_odd && !caught.sample.in_kernel).then(|| Fork::of(caught.tracee));
        followed.release(caught)?;
        if let Some(fork) = fork {
            let Some(fork) = busy_is_later(fork)? else {
                continue;
            };
            let mut fork = fork.unshare()?;
            let steps = fork.watch(
                instructions,
                &mut code,
                &mut || followed.attend(),
                &mut |_| false,
            )?;
            loops.extend(loops::all(&steps, &mut code));
        }
    }
    Ok(loops::hottest(&loops, samples).map(|place| loops.swap_remove(place)))
}
