//! A run of the lab: passes over the pairs, and between them loops under interruptions.
//!
//! Each pass is a thread of its own at another depth of its stack, on which its scratch memory lies, so that what the core remembers of addresses is of others: what
//! differs between passes is what would differ between runs.

use super::loops;
use super::pairs::{self, Code, Pair};
use super::passes::{empty, keep, pass};
use super::pieces::{Bench, Runner};
use super::plan::{Plan, Step, names};
use super::signals::Signals;
use crate::Error;
use bandscope_probe::{facts, pin, preparation, quietest};
use bandscope_recording::cpu_list;
use bandscope_recording::experiments::{Experiments, SCHEMA, Switching};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Depths of stack at which passes run, one after the other; chosen: more than there are passes, and well within a thread's 2 MiB.
const DEPTHS: usize = 64;
const PAGE_BYTES: usize = 4096;

/// Measures. After each step `progress` hears the part that is done, from 0, once the machine is known, to 1, and what was measured until then; when `stop`
/// becomes true, that is returned.
///
/// # Errors
/// In one line: a CPU that cannot be used, a name that there is not, a timer that cannot be had.
pub fn run(
    plan: &Plan,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(f64, &mut Experiments),
) -> Result<Experiments, Error> {
    if let Some(wrong) = plan
        .only
        .iter()
        .find(|name| !names().contains(&name.as_str()))
    {
        return Err(Error::UnknownExperiment {
            name: wrong.clone(),
            expected: names(),
        });
    }
    let begun = Instant::now();
    let ticks_per_ns = preparation::rough_ticks_per_ns();
    let cpu = choose(plan.cpu, ticks_per_ns)?;
    let pairs: Vec<Pair> = pairs::pairs()
        .into_iter()
        .filter(|pair| plan.wants(pair.name))
        .collect();
    let mut experiments = Experiments {
        schema: SCHEMA.to_owned(),
        cpu,
        machine: facts::gather(&[cpu]),
        ticks_per_ns,
        reference: loops::CYCLES.0.to_owned(),
        reference_cycles: on(cpu, 0, || Bench::default().reference_cycles())?,
        pairs: pairs.iter().map(empty).collect(),
        ..Experiments::default()
    };
    let steps = plan.steps();
    progress(0.0, &mut experiments);
    for (number, &step) in steps.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            experiments.interrupted = true;
            break;
        }
        match step {
            Step::Pass => {
                let pass = || pass(&pairs, plan, ticks_per_ns, number as u64);
                let passes = on(cpu, number + 1, pass)?;
                keep(passes, &mut experiments.pairs);
            }
            Step::Switching(name, rate_hz, seconds) => {
                let one = on(cpu, number + 1, || {
                    switching(name, rate_hz, seconds, plan, ticks_per_ns, stop)
                })?;
                match one {
                    // A loop that this CPU cannot run has said so among the pairs.
                    Ok(measured) => experiments.switching.extend(measured),
                    // Every other loop would meet the same: it is said once, and what was measured is kept.
                    Err(why) => {
                        let why = why.to_string();
                        if !experiments.missing.contains(&why) {
                            experiments.missing.push(why);
                        }
                    }
                }
            }
        }
        experiments.duration_s = begun.elapsed().as_secs_f64();
        progress((number + 1) as f64 / steps.len() as f64, &mut experiments);
    }
    Ok(experiments)
}

/// The CPU asked for, or the quietest.
fn choose(asked: Option<u32>, ticks_per_ns: f64) -> Result<u32, Error> {
    let allowed = pin::allowed().map_err(Error::AllowedCpus)?;
    let reachable = pin::reachable().unwrap_or_else(|_| allowed.clone());
    match asked {
        Some(cpu) if reachable.contains(&cpu) => Ok(cpu),
        Some(cpu) => Err(Error::NotReachable {
            cpu,
            reachable: cpu_list::written(&reachable),
        }),
        None => quietest::quietest(&allowed, ticks_per_ns).ok_or(Error::NoCpu),
    }
}

/// What `work` returns in a thread of its own on that CPU, the `number`-th of this run.
///
/// A thread gets the place of the one before, which has ended. So each begins deeper in its stack than the last.
fn on<T: Send>(cpu: u32, number: usize, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, || {
            pin::pin(&[cpu]).map_err(|error| Error::Pin { cpu, error })?;
            Ok(deeper(number % DEPTHS, work))
        });
        thread
            .map_err(Error::NoThread)?
            .join()
            .unwrap_or(Err(Error::Panicked("an experiment")))
    })
}

/// What `work` returns so many pages further down the stack, and a little more.
#[inline(never)]
fn deeper<T>(pages: usize, work: impl FnOnce() -> T) -> T {
    match pages.checked_sub(1) {
        None => work(),
        Some(pages) => {
            let page = [0_u8; PAGE_BYTES];
            std::hint::black_box(&page);
            let result = deeper(pages, work);
            // It is there until the end, so that this call is no jump.
            std::hint::black_box(&page);
            result
        }
    }
}

/// Runs a loop again and again while a timer interrupts it; `None` if this CPU cannot run it.
fn switching(
    name: &'static str,
    rate_hz: u32,
    seconds: f64,
    plan: &Plan,
    ticks_per_ns: f64,
    stop: &AtomicBool,
) -> Result<Option<Switching>, Error> {
    let mut bench = Bench::default();
    let Ok(mut runner) = Runner::new(
        Code::Loop(name),
        plan.piece_s * 1e9 * ticks_per_ns,
        &mut bench,
    ) else {
        return Ok(None);
    };
    let one = loops::named(name).expect("a runner was made of it");
    let turns = runner.turns_for(plan.run_s * 1e9 * ticks_per_ns, &mut bench.scratch);
    let signals = Signals::start(rate_hz).map_err(Error::Timer)?;
    let (mut runs, mut references) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    while runs.is_empty()
        || (begun.elapsed() < Duration::from_secs_f64(seconds) && !stop.load(Ordering::Relaxed))
    {
        references.push(bench.reference());
        runs.push(signals.run(one, turns, &mut bench.scratch));
    }
    references.sort_by(f64::total_cmp);
    Ok(Some(Switching {
        code: name.to_owned(),
        description: one.description.to_owned(),
        operations: one.operations,
        rate_hz,
        reference: references[references.len() / 2],
        runs,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::plan::SWITCHING;
    use super::*;

    /// So little that it is over in a second, also where the CPU is emulated.
    fn little() -> Plan {
        Plan {
            passes: 2,
            rounds: 2,
            piece_s: 1e-6,
            interruptions: vec![(0, 0.0), (1000, 0.0)],
            run_s: 1e-5,
            ..Plan::default()
        }
    }

    #[test]
    fn everything_is_measured_or_says_why_not() {
        let mut heard = Vec::new();
        let experiments = run(&little(), &AtomicBool::new(false), &mut |part, _| {
            heard.push(part)
        })
        .unwrap();
        assert!(
            heard.windows(2).all(|pair| pair[0] < pair[1])
                && (heard.first(), heard.last()) == (Some(&0.0), Some(&1.0)),
            "{heard:?}"
        );
        for (pair, plan) in experiments.pairs.iter().zip(pairs::pairs()) {
            for (level, planned) in pair.levels.iter().zip(&plan.levels) {
                assert_eq!(
                    (&level.name, level.control),
                    (&planned.name, planned.control)
                );
                match &level.missing {
                    Some(why) => println!("SKIPPED: lab, {}, {}: {why}", pair.name, level.name),
                    None => assert_eq!(level.passes.len(), 2, "{}", level.name),
                }
                let measured = level.passes.iter().all(|pass| !pass.ticks.is_empty());
                assert_eq!(measured, level.missing.is_none(), "{}", level.name);
            }
        }
        assert!(!experiments.interrupted && experiments.duration_s > 0.0);
        // A file of it reads, so nothing in it is senseless.
        let json = experiments.to_json();
        let read = Experiments::parse(std::path::Path::new("lab.json"), json.as_bytes()).unwrap();
        assert_eq!(read.switching.len(), experiments.switching.len());
        assert!(experiments.switching.iter().any(|one| one.rate_hz == 1000));
    }

    #[test]
    fn each_pass_has_another_stack() {
        let place = |number| {
            let address = || std::ptr::from_ref(std::hint::black_box(&Bench::default())).addr();
            on(pin::allowed().unwrap()[0], number, address).unwrap()
        };
        let mut places: Vec<usize> = (0..DEPTHS).map(place).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), DEPTHS);
    }

    #[test]
    fn what_is_asked_for_is_done_and_no_more() {
        let plan = Plan {
            only: vec!["chains".into()],
            ..little()
        };
        let experiments = run(&plan, &AtomicBool::new(false), &mut |_, _| ()).unwrap();
        assert_eq!(experiments.pairs.len(), 1);
        assert!(experiments.switching.is_empty());
        let plan = Plan {
            only: vec![SWITCHING.into()],
            ..little()
        };
        let experiments = run(&plan, &AtomicBool::new(true), &mut |_, _| ()).unwrap();
        assert!(
            experiments.pairs.is_empty()
                && experiments.switching.is_empty()
                && experiments.interrupted
        );
        let error = run(
            &Plan {
                only: vec!["chain\u{1b}s".into()],
                ..little()
            },
            &AtomicBool::new(false),
            &mut |_, _| (),
        )
        .unwrap_err()
        .to_string();
        assert!(
            error.contains("chain\\u{1b}s") && error.contains("base-register"),
            "{error}"
        );
        let error = run(
            &Plan {
                cpu: Some(99_999),
                ..little()
            },
            &AtomicBool::new(false),
            &mut |_, _| (),
        )
        .unwrap_err()
        .to_string();
        assert!(error.starts_with("CPU 99999: expected one of"), "{error}");
    }
}
