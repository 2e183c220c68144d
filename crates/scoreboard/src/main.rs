//! What the findings are worth: makes recordings of known truth, runs the report on each and prints a table.
//!
//! `families` draws scenes over the parameter space, `judge` makes and analyses one and holds its findings against the
//! truth, `tally` adds up, `table` prints. `docs/scoreboard.md` keeps the result with its command.
#![forbid(unsafe_code)]

mod draw;
mod families;
mod judge;
mod pairs;
mod scene;
mod table;
mod tally;

use anyhow::{Result, bail};
use clap::Parser;
use draw::Draw;
use families::{Family, KINDS, QUIET};
use judge::Verdict;
use pairs::PAIRS;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use table::Said;
use tally::Tally;

/// Holds the findings of the analysis against recordings of known truth.
#[derive(Debug, Parser)]
struct Arguments {
    /// Labelled recordings of each kind, and of pairs.
    #[arg(long, default_value_t = 200)]
    per_kind: u64,
    /// Recordings of a machine on which nothing happens but noise.
    #[arg(long, default_value_t = 1000)]
    quiet: u64,
    /// Only these families.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Seed of everything.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Print what was wrong or missed, scene by scene, with the command that makes the scene.
    #[arg(long)]
    complaints: bool,
    /// Exit with status 1 if anything was wrongly certain, or if a pace was called interference or an interference a pace.
    #[arg(long)]
    check: bool,
}

/// One scene to be judged.
#[derive(Clone, Copy)]
struct Job {
    family: &'static Family,
    number: u64,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let jobs = jobs(&arguments)?;
    let start = Instant::now();
    let verdicts = judge_all(&jobs, &arguments)?;
    let mut out = io::stdout().lock();
    let mut tallies: BTreeMap<&'static str, Tally> = BTreeMap::new();
    let mut families: BTreeMap<&'static str, Said> = BTreeMap::new();
    for (job, verdict) in jobs.iter().zip(verdicts) {
        if arguments.complaints {
            for complaint in &verdict.complaints {
                writeln!(out, "[{} {}] {complaint}", job.family.name, job.number)?;
            }
        }
        let said = families.entry(job.family.name).or_default();
        said.scenes += 1;
        for kind in verdict.said {
            *said.kinds.entry(kind).or_default() += 1;
        }
        for (kind, tally) in verdict.tallies {
            if tally.wrong > 0 {
                *said.wrong.entry(kind).or_default() += 1;
            }
            tallies.entry(kind).or_default().merge(tally);
        }
    }
    table::scores(&mut out, &tallies)?;
    writeln!(out)?;
    table::errors(&mut out, &tallies)?;
    writeln!(out)?;
    table::confusion(&mut out, &families)?;
    let (pace, interference) = table::matters(&families);
    let certain: u64 = tallies.values().map(|tally| tally.wrong_certain).sum();
    writeln!(
        out,
        "\nA pace reported as interference: {pace}; an interference reported as pace: {interference}; wrongly certain: {certain}.\n\
         {} recordings in {:.0} s, seed {}.",
        jobs.len(),
        start.elapsed().as_secs_f64(),
        arguments.seed
    )?;
    let failed = arguments.check && pace + interference + certain > 0;
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn jobs(arguments: &Arguments) -> Result<Vec<Job>> {
    let wanted = |family: &Family| {
        arguments.only.is_empty() || arguments.only.iter().any(|name| name == family.name)
    };
    let kinds = KINDS
        .iter()
        .chain([&PAIRS])
        .map(|family| (family, arguments.per_kind));
    let jobs: Vec<Job> = kinds
        .chain([(&QUIET, arguments.quiet)])
        .filter(|(family, _)| wanted(family))
        .flat_map(|(family, number)| (0..number).map(move |number| Job { family, number }))
        .collect();
    if jobs.is_empty() {
        let names: Vec<&str> = KINDS
            .iter()
            .chain([&PAIRS, &QUIET])
            .map(|family| family.name)
            .collect();
        bail!(
            "--only {}: there are {}",
            arguments.only.join(","),
            names.join(", ")
        );
    }
    Ok(jobs)
}

/// Judges all jobs on some threads; the result does not depend on how many.
fn judge_all(jobs: &[Job], arguments: &Arguments) -> Result<Vec<Verdict>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Verdict)>> {
        let mut verdicts = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else {
                return Ok(verdicts);
            };
            let mut draw = Draw::new(arguments.seed, job.family.name, job.number);
            verdicts.push((index, judge::judge(&(job.family.draw)(&mut draw))?));
        }
    };
    let mut verdicts = std::thread::scope(|scope| -> Result<Vec<(usize, Verdict)>> {
        let threads: Vec<_> = (0..arguments.threads.max(1))
            .map(|_| scope.spawn(work))
            .collect();
        let mut all = Vec::new();
        for thread in threads {
            match thread.join() {
                Ok(verdicts) => all.extend(verdicts?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(all)
    })?;
    verdicts.sort_by_key(|(index, _)| *index);
    Ok(verdicts.into_iter().map(|(_, verdict)| verdict).collect())
}
