//! Where a program spends its time, and the loop that it spends it in.

use super::code::Code;
use super::follow::{Followed, Sample};
use super::fork::Fork;
use super::loops::{self, Loop};
use super::tracee::Memory;
use bandscope_statistics::random::Random;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Samples that tell a share to some 5 %.
const SAMPLES: usize = 400;
/// A program that mostly sleeps has fewer of them by then.
const LONGEST: Duration = Duration::from_secs(10);
/// Who runs less than this in so long waits for something.
const FEWEST: usize = 20;
const LONG: Duration = Duration::from_millis(500);
/// For how many instructions the program is watched, one time after the other: short loops turn in few, long ones need more.
const LOOKS: [usize; 8] = [2_000, 2_000, 2_000, 2_000, 20_000, 2_000, 2_000, 2_000];
/// A loop that holds less of the program's time is not worth a change.
const WORTH: f64 = 0.2;

/// What was found.
pub struct Found {
    /// Where the program was found running.
    pub samples: Vec<Sample>,
    /// How often it was in the kernel.
    pub in_kernel: usize,
    /// The loop, or why there is none.
    pub hot_loop: Result<Hot, &'static str>,
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

/// Finds the hot loop of a program that runs.
pub fn find(
    followed: &mut Followed,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(f64),
) -> io::Result<Found> {
    let mut random = Random::new(u64::from(std::process::id()));
    let begun = Instant::now();
    let samples = sample(followed, &mut random, stop, progress)?;
    let in_kernel = samples.iter().filter(|sample| sample.in_kernel).count();
    let none = |why, samples| {
        Ok(Found {
            samples,
            in_kernel,
            hot_loop: Err(why),
        })
    };
    if stop.load(Ordering::Relaxed) {
        return none("the run was interrupted", samples);
    }
    if samples.len() < FEWEST && begun.elapsed() > LONG {
        return none("it hardly ever ran: it waits for something", samples);
    }
    if followed.ended() && samples.len() < SAMPLES {
        return none(
            "the command ended before its loop was found: give it work for some seconds",
            samples,
        );
    }
    let Some(process) = busiest(&samples) else {
        return none("it hardly ever ran", samples);
    };
    let places: Vec<u64> = samples
        .iter()
        .filter(|sample| sample.process == process && !sample.in_kernel)
        .map(|sample| sample.at)
        .collect();
    let hot_loop = match look(followed, process, &places, &mut random, stop)? {
        Some(seen) => {
            let inside = samples
                .iter()
                .filter(|sample| {
                    sample.process == process && !sample.in_kernel && seen.body.contains(&sample.at)
                })
                .count();
            if (inside as f64) < WORTH * samples.len() as f64 {
                Err("no loop holds a fifth of its time")
            } else {
                Ok(Hot {
                    process,
                    head: seen.head,
                    samples: inside,
                    seen,
                })
            }
        }
        None if followed.ended() => {
            Err("the command ended before its loop was found: give it work for some seconds")
        }
        None => Err("it was not seen in a loop"),
    };
    Ok(Found {
        samples,
        in_kernel,
        hot_loop,
    })
}

fn sample(
    followed: &mut Followed,
    random: &mut Random,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(f64),
) -> io::Result<Vec<Sample>> {
    let mut samples: Vec<Sample> = Vec::with_capacity(SAMPLES);
    let begun = Instant::now();
    while samples.len() < SAMPLES
        && begun.elapsed() < LONGEST
        && !stop.load(Ordering::Relaxed)
        && !followed.ended()
    {
        // At no rhythm that the program could have too.
        std::thread::sleep(Duration::from_micros(1_000 + random.below(4_000)));
        followed.attend()?;
        if let Some(caught) = followed.catch(None)? {
            samples.push(caught.sample);
            followed.release(caught)?;
        }
        progress(samples.len() as f64 / SAMPLES as f64 * 0.5);
    }
    Ok(samples)
}

fn busiest(samples: &[Sample]) -> Option<i32> {
    let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
    samples
        .iter()
        .for_each(|sample| *counts.entry(sample.process).or_default() += 1);
    counts
        .into_iter()
        .max_by_key(|(_, count)| *count)
        .map(|(process, _)| process)
}

/// Watches copies of a process, made now and then, and takes the loop that holds most of the samples.
fn look(
    followed: &mut Followed,
    process: i32,
    samples: &[u64],
    random: &mut Random,
    stop: &AtomicBool,
) -> io::Result<Option<Loop>> {
    let memory = Memory::of(process)?;
    let mut code = Code::of(&memory);
    let mut loops = Vec::new();
    for instructions in LOOKS {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        std::thread::sleep(Duration::from_micros(2_000 + random.below(10_000)));
        followed.attend()?;
        let Some(caught) = followed.catch(Some(process))? else {
            continue;
        };
        let fork = Fork::of(caught.tracee);
        followed.release(caught)?;
        let steps = fork?.watch(instructions, &mut code, &mut |_| false)?;
        loops.extend(loops::all(&steps, &mut code));
    }
    Ok(loops::hottest(&loops, samples).map(|place| loops.swap_remove(place)))
}
