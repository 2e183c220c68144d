//! What the findings are worth: makes recordings of known truth, runs the report on each and prints a table.
//!
//! `families` draws scenes over the parameter space, `judge` makes and analyses one and holds its findings against the
//! truth, `tally` adds up, `table` prints. `crowds` draws many periods at once, `known` names scenes, and `failures` keeps the list of what
//! fails in those today. `docs/scoreboard.md` keeps the result with its command.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod crowds;
mod draw;
mod failures;
mod families;
mod figure;
mod flips;
mod judge;
mod known;
mod losses;
mod make;
mod pairs;
mod scene;
mod table;
mod tally;

use anyhow::{Result, bail};
use clap::Parser;
use crowds::CROWDS;
use draw::Draw;
use failures::{Failures, Subject};
use families::{Family, KINDS, QUIET};
use judge::Verdict;
use known::KNOWN;
use pairs::PAIRS;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use table::{Said, Tallies};

/// Holds the findings of the analysis against recordings of known truth.
#[derive(Debug, Parser)]
struct Arguments {
    /// Labelled recordings of each kind and of pairs, or of each family of crowds.
    #[arg(long, default_value_t = 200)]
    per_kind: u64,
    /// Draw crowds in place of single kinds, and judge the scenes with names.
    #[arg(long)]
    crowds: bool,
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
    /// Exit with status 1 if anything was wrongly certain, or if a pace was called interference or an interference a pace; with --crowds
    /// if anything fails that is not in the list of known failures.
    #[arg(long)]
    check: bool,
    /// Write what fails in these scenes of crowds into the list of known failures.
    #[arg(long, requires = "crowds")]
    bless: bool,
    /// The list of known failures of crowds, with seed 1.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "crates/scoreboard/known-failures.tsv"
    )]
    known: PathBuf,
}

/// The seed that the list of known failures is of.
const KNOWN_SEED: u64 = 1;
/// The command that the list of known failures is of.
const KNOWN_COMMAND: &str =
    "cargo run --release -p bandscope-scoreboard -- --crowds --per-kind 20 --check";

/// One scene to be judged.
#[derive(Clone, Copy)]
struct Job {
    family: &'static Family,
    number: u64,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let with_list = arguments.crowds && (arguments.check || arguments.bless);
    if with_list && arguments.seed != KNOWN_SEED {
        bail!(
            "--seed: found {}, expected {KNOWN_SEED}, which the list of known failures is of",
            arguments.seed
        );
    }
    let jobs = jobs(&arguments)?;
    let start = Instant::now();
    let judged = judge_all(&jobs, &arguments)?;
    let mut out = io::stdout().lock();
    let mut sums = Sums::default();
    for (job, (scene, verdict)) in jobs.iter().zip(judged) {
        let family = job.family.name;
        if arguments.complaints {
            for complaint in &verdict.complaints {
                writeln!(out, "[{family} {scene}] {complaint}")?;
            }
        }
        sums.add(family, arguments.crowds, scene, verdict);
    }
    sums.print(arguments.crowds, &mut out)?;
    let (pace, interference) = table::matters(&sums.families);
    let wrong = sums.tallies.values().map(|tally| tally.wrong_certain);
    let certain: u64 = wrong.sum();
    writeln!(
        out,
        "\nA pace reported as interference: {pace}; an interference reported as pace: {interference}; wrongly certain: {certain}.\n\
         {} recordings in {:.0} s, seed {}.",
        jobs.len(),
        start.elapsed().as_secs_f64(),
        arguments.seed
    )?;
    let failed = if with_list {
        hold_against_list(&mut out, &arguments, &sums.failures, &sums.scenes)?
    } else {
        arguments.check && pace + interference + certain > 0
    };
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// What all verdicts come to.
#[derive(Default)]
struct Sums {
    tallies: Tallies,
    families: BTreeMap<&'static str, Said>,
    failures: Failures,
    /// Family and name of each scene that was judged.
    scenes: BTreeSet<(String, String)>,
}

impl Sums {
    /// Adds a scene. Of `crowds` each family has tallies of its own.
    fn add(&mut self, family: &'static str, crowds: bool, scene: String, verdict: Verdict) {
        self.families.entry(family).or_default().add(&verdict);
        for (kind, about, fault) in verdict.failures {
            let subject = Subject {
                family: family.to_owned(),
                scene: scene.clone(),
                kind,
                about,
            };
            failures::add(&mut self.failures, subject, fault);
        }
        self.scenes.insert((family.to_owned(), scene));
        for (kind, tally) in verdict.tallies {
            let family = if crowds { family } else { "" };
            let known = self.tallies.entry((family, kind)).or_default();
            known.merge(tally);
        }
    }

    /// Prints the tables, those of the faults for `crowds` only.
    fn print(&self, crowds: bool, out: &mut dyn Write) -> io::Result<()> {
        table::scores(out, &self.tallies)?;
        writeln!(out)?;
        table::errors(out, &self.tallies)?;
        writeln!(out)?;
        table::coverage(out, &self.tallies)?;
        writeln!(out)?;
        table::confusion(out, &self.families)?;
        if crowds {
            writeln!(out)?;
            table::faults(out, &self.families)?;
        }
        Ok(())
    }
}

/// Says how the failures differ from the list of known ones, and renews it if asked to; whether the check failed.
fn hold_against_list(
    out: &mut dyn Write,
    arguments: &Arguments,
    failures: &Failures,
    scenes: &BTreeSet<(String, String)>,
) -> Result<bool> {
    let path = &arguments.known;
    let known = if arguments.bless && !path.exists() {
        Failures::new()
    } else {
        failures::read(path)?
    };
    let change = failures::compare(&known, failures, scenes);
    for failure in &change.grown {
        writeln!(
            out,
            "fails, and is not in the list of known failures: {failure}"
        )?;
    }
    for failure in &change.mended {
        writeln!(out, "no longer fails: {failure}")?;
    }
    writeln!(
        out,
        "{} failures: {} new or worse, {} mended or less bad (list: {}).",
        failures.len(),
        change.grown.len(),
        change.mended.len(),
        path.display()
    )?;
    if arguments.bless {
        failures::write(
            path,
            KNOWN_COMMAND,
            &failures::renewed(known, failures, scenes),
        )?;
        return Ok(false);
    }
    if !change.mended.is_empty() {
        writeln!(
            out,
            "--crowds --bless with the same selection takes out of the list what no longer fails."
        )?;
    }
    Ok(!change.grown.is_empty())
}

/// The families of this run, and how many scenes of each.
fn families(arguments: &Arguments) -> Vec<(&'static Family, u64)> {
    let all =
        |families: &'static [Family]| families.iter().map(|family| (family, arguments.per_kind));
    if arguments.crowds {
        all(CROWDS).chain([(&KNOWN, known::number())]).collect()
    } else {
        let singles = all(KINDS).chain([(&PAIRS, arguments.per_kind)]);
        singles.chain([(&QUIET, arguments.quiet)]).collect()
    }
}

fn jobs(arguments: &Arguments) -> Result<Vec<Job>> {
    let wanted = |family: &Family| {
        arguments.only.is_empty() || arguments.only.iter().any(|name| name == family.name)
    };
    let families = families(arguments);
    let jobs: Vec<Job> = (families.iter())
        .filter(|(family, _)| wanted(family))
        .flat_map(|&(family, number)| (0..number).map(move |number| Job { family, number }))
        .collect();
    if jobs.is_empty() {
        let names: Vec<&str> = families.iter().map(|(family, _)| family.name).collect();
        bail!(
            "--only {}: there are {}",
            arguments.only.join(","),
            names.join(", ")
        );
    }
    Ok(jobs)
}

/// Judges all jobs on some threads; the result does not depend on how many. Each scene has its number or its name.
fn judge_all(jobs: &[Job], arguments: &Arguments) -> Result<Vec<(String, Verdict)>> {
    let next = AtomicUsize::new(0);
    type Judged = (usize, (String, Verdict));
    let work = || -> Result<Vec<Judged>> {
        let mut verdicts = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else {
                return Ok(verdicts);
            };
            let mut draw = Draw::new(arguments.seed, job.family.name, job.number);
            let scene = (job.family.draw)(&mut draw);
            let name = scene
                .name
                .map_or_else(|| job.number.to_string(), str::to_owned);
            verdicts.push((index, (name, judge::judge(&scene)?)));
        }
    };
    let mut verdicts = std::thread::scope(|scope| -> Result<Vec<Judged>> {
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
