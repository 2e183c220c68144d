//! Measuring for `bandscope repeat`: runs as the analysis wants them, until it wants no more, a run fails, or a signal comes.

use super::Arguments;
use super::metric::{self, Finder};
use crate::commands::record;
use crate::interrupt::Interrupt;
use crate::output::{Keep, Lines};
use crate::progress::Live;
use crate::values;
use anyhow::{Context, Result, anyhow};
use bandscope_experiments::repeat::{Output, Request, Session};
use bandscope_recording::runs::{Phase, Run, Runs, SCHEMA, appended};
use bandscope_recording::text::{quoted, shown};
use bandscope_studies::repeat::design::{self, Arm};
use bandscope_view::{Options, text};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How a session ended, where it was not by itself.
#[derive(Debug, Default)]
pub struct Ended {
    /// What the run that failed did, and what it said.
    pub failure: Option<String>,
    /// Of the signal that came.
    pub exit_code: Option<ExitCode>,
    /// Why the file lacks runs, or no other run could be made.
    pub error: Option<anyhow::Error>,
}

/// Makes the runs, and keeps them.
pub fn run(arguments: &Arguments) -> Result<(Runs, Ended)> {
    let (metric, finder) = metric::resolve(
        arguments.metric.as_deref().unwrap_or("wall"),
        arguments.higher_is_better,
    )?;
    let mut session = Session::new(Request {
        command: arguments.command.clone(),
        timeout: arguments.timeout.map(Duration::from_secs_f64),
        vary: arguments.vary.clone(),
        cycles: matches!(finder, Finder::Cycles),
        noise: arguments.noise.map(Duration::from_secs_f64),
        outputs: arguments.outputs.clone(),
    })?;
    let keep = Keep::claim_output(arguments.output.as_deref())?;
    if let Some(directory) = &arguments.outputs {
        // Nothing that somebody has kept is written over.
        std::fs::create_dir(directory)
            .with_context(|| format!("{}: cannot create", shown(directory)))?;
    }
    let interrupt = Interrupt::new()?;
    let mut runs = Runs {
        schema: SCHEMA.to_owned(),
        tool: record::tool(),
        started: record::now(),
        command: (arguments.command.iter())
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        metric,
        seed: arguments.seed.unwrap_or_else(values::seed_of_the_time),
        asked: arguments.runs,
        factors: session.factors.clone(),
        machine: session.machine.clone(),
        missing: session.missing.clone(),
        ..Runs::default()
    };
    let mut kept = Lines::new(keep);
    kept.append(&appended::head(&runs));
    let begun = Instant::now();
    let made = make(
        arguments,
        &finder,
        &mut session,
        &interrupt,
        &mut runs,
        &mut kept,
    );
    runs.duration_s = begun.elapsed().as_secs_f64();
    runs.interrupted = interrupt.signal().is_some();
    // Whatever was measured is kept before anything is said of what went wrong.
    let document = (!runs.runs.is_empty()).then(|| runs.to_json());
    let unkept = kept.finish(document.as_deref()).err();
    let (failure, error) = match made {
        Ok(failure) => (failure, unkept),
        Err(error) if runs.runs.is_empty() => return Err(error),
        Err(error) => (None, Some(both(error, unkept))),
    };
    let ended = Ended {
        failure,
        exit_code: interrupt.exit_code(),
        error,
    };
    Ok((runs, ended))
}

/// What ended the runs, and why none is kept.
fn both(error: anyhow::Error, unkept: Option<anyhow::Error>) -> anyhow::Error {
    match unkept {
        Some(unkept) => anyhow!("{error:#}; {unkept:#}"),
        None => error,
    }
}

/// Makes them; what the run that ended it did.
fn make(
    arguments: &Arguments,
    finder: &Finder,
    session: &mut Session,
    interrupt: &Interrupt,
    runs: &mut Runs,
    kept: &mut Lines,
) -> Result<Option<String>> {
    let live = Live::new(arguments.ascii);
    let warm_up = Arm {
        phase: Phase::WarmUp,
        ..Arm::default()
    };
    let mut arms = vec![warm_up; arguments.warm_up as usize];
    let mut more = arms.is_empty();
    let is_measuring = |runs: &Runs| runs.runs.iter().any(|run| run.phase != Phase::WarmUp);
    loop {
        if std::mem::replace(&mut more, true) {
            arms = design::next(runs);
        }
        if arms.is_empty() && is_measuring(runs) {
            return Ok(None);
        }
        let number = arms.len();
        for (index, arm) in arms.drain(..).enumerate() {
            live.look(|options| seen(runs, arm.phase, index, number, options));
            let (mut run, mut said) = session
                .run(&arm.levels, interrupt.stop())
                .with_context(|| format!("{}: cannot run", quoted(runs.command[0].as_bytes())))?;
            if run.end.interrupted {
                return Ok(None);
            }
            (run.phase, run.factor) = (arm.phase, arm.factor);
            let failure = judge(&mut run, &said, finder, runs);
            kept.append(&appended::line(&runs.metric, &run));
            runs.runs.push(run);
            said.is_kept()?;
            if let Some(failure) = failure.filter(|_| !arguments.ignore_failure) {
                return Ok(Some(failure));
            }
            if interrupt.signal().is_some() {
                return Ok(None);
            }
        }
        // Where every run failed nothing that follows can be told from it. One to warm up decides nothing.
        if is_measuring(runs) && runs.runs.iter().all(|run| run.value.is_none()) {
            let said = runs
                .runs
                .iter()
                .find_map(|run| run.end.said.clone())
                .unwrap_or_default();
            return Ok(Some(format!(
                "all {} runs failed{}",
                runs.runs.len(),
                indented(&said)
            )));
        }
    }
}

/// Gives a run its value; or why it has none.
fn judge(run: &mut Run, said: &Output, finder: &Finder, runs: &mut Runs) -> Option<String> {
    let number = runs.runs.len() + 1;
    if !run.end.succeeded() {
        let how = match (run.end.timed_out, run.end.status, run.end.signal) {
            (true, ..) => format!("was ended after {:.3} s (--timeout)", run.wall_s),
            (_, Some(status), _) => format!("ended with exit status {status}"),
            (.., Some(signal)) => format!("was ended by signal {signal}"),
            _ => "ended".to_owned(),
        };
        let said = run.end.said.as_deref().unwrap_or_default();
        return Some(format!(
            "run {number} {how}; use --ignore-failure to continue{}",
            indented(said)
        ));
    }
    match finder.find(&runs.metric, run, said) {
        Some((value, last_digit)) => {
            run.value = Some(value);
            if let Some(worth) = last_digit {
                let known = runs.metric.resolution;
                runs.metric.resolution = if known > 0.0 { known.min(worth) } else { worth };
            }
            None
        }
        None if matches!(finder, Finder::Cycles) => Some(format!(
            "run {number}: cycles were not counted all of the time"
        )),
        None => {
            let out = said.out.last(400);
            Some(format!(
                "--metric: found no number for {} in the {} bytes that run {number} said{}",
                quoted(runs.metric.name.as_bytes()),
                said.out.bytes() + said.error.bytes(),
                indented(&out)
            ))
        }
    }
}

/// What a command said, in lines of their own, with nothing in them that a terminal would obey.
fn indented(said: &str) -> String {
    let lines = said
        .lines()
        .map(|line| format!("\n  | {}", bandscope_view::escape::visible(line)));
    lines.collect()
}

/// What is seen on a terminal meanwhile.
fn seen(runs: &Runs, phase: Phase, index: usize, number: usize, options: &Options) -> String {
    let what = match phase {
        Phase::WarmUp => "warming up",
        Phase::Plain => "nothing varied",
        Phase::Screening => "screening",
        Phase::Confirmation => "confirming",
    };
    text::repeat::live(runs, options) + &format!("{what}: run {} of {number}", index + 1)
}
