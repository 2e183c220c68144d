//! Runs of a command, each in a fresh process, with what is varied set and what happened counted.
//!
//! [`Session::run`] makes one: `factors.rs` turns levels into settings, `settings.rs` puts them into force in the child, `execute.rs` runs it to
//! its end, `counting.rs` counts it, `around.rs` what the machine did meanwhile, and `power.rs` what it used. Which runs to make is not decided here: `cli`
//! asks the analysis. Types in [`bandscope_recording::runs`].

mod around;
mod counting;
mod execute;
mod factors;
mod levels;
mod neighbour;
mod output;
mod power;
mod settings;

use around::Around;
use bandscope_probe::{memory, preparation, quietest};
use bandscope_recording::manifest::Machine;
use bandscope_recording::runs::{End, Factor, Run};
use counting::Counting;
use execute::{Ended, execute};
pub use factors::{UnknownFactor, chosen};
pub use levels::{Levels, NotSet};
pub(crate) use neighbour::Neighbour;
pub use output::{Output, Stream};
use power::Energy;
use settings::{LongNames, Settings};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How much of what a run that failed said is kept in its record, in bytes of each stream.
const SAID: usize = 2048;
/// The memory of a command is told if it has more than this program by one part in so many; chosen.
const CLEARLY_MORE: libc::c_long = 16;

/// What is to be run.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The command and its arguments; not empty.
    pub command: Vec<OsString>,
    /// A run that takes longer is ended.
    pub timeout: Option<Duration>,
    /// Names of what is varied; `all` for everything.
    pub vary: Vec<String>,
    /// Whether cycles must be counted.
    pub cycles: bool,
    /// For how long the CPU is watched before each run.
    pub noise: Option<Duration>,
    /// An existing directory that all that runs say goes to.
    pub outputs: Option<PathBuf>,
}

/// Why a session cannot begin, in one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something else than a factor should be varied.
    #[error(transparent)]
    UnknownFactor(#[from] UnknownFactor),
    /// The metric is cycles, and this machine does not count them for a process.
    #[error("cycles cannot be counted here: {0}")]
    NoCycles(String),
}

/// Some runs of one command.
#[derive(Debug)]
pub struct Session {
    request: Request,
    /// What is varied, as it can be here.
    pub factors: Vec<Factor>,
    /// Facts of the machine.
    pub machine: Machine,
    /// What could not be had, in words.
    pub missing: Vec<String>,
    counting: Counting,
    names: Option<LongNames>,
    begun: Instant,
    made: usize,
    /// Of the clock that gaps are measured with, where they are.
    ticks_per_ns: Option<f64>,
}

impl Session {
    /// Looks at the machine.
    ///
    /// # Errors
    /// If a factor is not known, or cycles are wanted and cannot be counted: in one line.
    pub fn new(request: Request) -> Result<Session, Error> {
        let mut factors = factors::chosen(&request.vary, &request.command[0])?;
        let machine = bandscope_probe::facts::gather(&[]);
        let bare_metal = machine.hypervisor.as_deref() == Some("none");
        let (counting, why) = Counting::find(machine.microarchitecture.as_deref(), bare_metal);
        if request.cycles && !counting.has_cycles() {
            let why = why.unwrap_or_else(|| "no counter of cycles".to_owned());
            return Err(Error::NoCycles(why));
        }
        let mut names = None;
        if let Some(factor) = factors
            .iter_mut()
            .find(|factor| factor.name == factors::DIRECTORY)
        {
            match LongNames::new() {
                Ok(made) => names = Some(made),
                Err(error) => {
                    factor.missing = Some(format!("no directory for longer names: {error}"));
                    factor.levels.clear();
                }
            }
        }
        Ok(Session {
            factors,
            machine,
            missing: why.into_iter().collect(),
            counting,
            names,
            ticks_per_ns: request.noise.map(|_| preparation::rough_ticks_per_ns()),
            request,
            begun: Instant::now(),
            made: 0,
        })
    }

    /// Makes a run at these levels. Its value, phase and factor are left open.
    ///
    /// # Errors
    /// If a level cannot be set, or the command not be started.
    pub fn run(
        &mut self,
        levels: &BTreeMap<String, String>,
        stop: &AtomicBool,
    ) -> io::Result<(Run, Output)> {
        let settings = factors::settings(levels, &self.names)?;
        let command = settings.prepare(&self.request.command);
        let neighbour = settings.busy.map(Neighbour::start).transpose()?;
        let load = around::load();
        let noise = self.noise(settings.cpu);
        let before = Around::read();
        let energy = Energy::read(Path::new(power::SYSFS));
        let at = self.begun.elapsed();
        let open = self.counting.open(self.made);
        self.made += 1;
        let output = match &self.request.outputs {
            Some(directory) => Output::kept(directory, self.made),
            None => Output::default(),
        };
        let ended = execute(command, output, self.request.timeout, stop)?;
        let mut counts: BTreeMap<String, f64> = open.read().collect();
        counts.extend(before.grown(&Around::read()));
        counts.extend(energy.used(&Energy::read(Path::new(power::SYSFS))));
        counts.extend(noise);
        counts.extend(ended.cpu.and_then(|cpu| {
            let mhz = power::frequency(Path::new(power::SYSFS), cpu)?;
            Some(("frequency:MHz".to_owned(), mhz))
        }));
        drop(neighbour);
        counts.extend(booked(&ended.usage, most_resident_kib()));
        let run = Run {
            levels: levels.clone(),
            at_s: at.as_secs_f64(),
            wall_s: ended.wall.as_secs_f64(),
            user_s: seconds(ended.usage.ru_utime),
            system_s: seconds(ended.usage.ru_stime),
            cpu: ended.cpu,
            end: how(&ended),
            counts,
            load,
            ..Run::default()
        };
        Ok((run, ended.output))
    }
}

impl Session {
    /// What the CPU is like that a run is about to start on: the one that it is kept on, or this one, on which children start.
    fn noise(&self, cpu: Option<u32>) -> Vec<(String, f64)> {
        let (Some(length), Some(ticks_per_ns)) = (self.request.noise, self.ticks_per_ns) else {
            return Vec::new();
        };
        let cpu = cpu.unwrap_or_else(|| rustix::thread::sched_getcpu() as u32);
        let Some(moment) = quietest::look(cpu, length.as_nanos() as u64, ticks_per_ns) else {
            return Vec::new();
        };
        vec![
            ("noise:share".to_owned(), moment.share),
            ("noise:gaps/s".to_owned(), moment.per_second),
        ]
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

/// A command begins as a copy of this process, whose memory the kernel books to it too: of one that used no more it does not know how much. The kernel counts
/// pages in batches of each CPU, so a little more is none.
fn booked(
    usage: &libc::rusage,
    own_kib: Option<libc::c_long>,
) -> impl Iterator<Item = (String, f64)> {
    let memory = own_kib.is_some_and(|own| usage.ru_maxrss > own + own / CLEARLY_MORE);
    [
        ("faults:minor", usage.ru_minflt),
        ("faults:major", usage.ru_majflt),
        ("switches:voluntary", usage.ru_nvcsw),
        ("switches:involuntary", usage.ru_nivcsw),
    ]
    .into_iter()
    .chain(memory.then_some(("memory:KiB", usage.ru_maxrss)))
    .map(|(name, number)| (name.to_owned(), number as f64))
}

/// The most that this process had in memory, and so at least what it had when the command began (`VmHWM` of proc_pid_status(5)).
fn most_resident_kib() -> Option<libc::c_long> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Runs a shell command that reads `input` to its end: its own, or the one that it gets after `stop` is set.
///
/// # Errors
/// If it cannot be started.
pub fn shell(command: &str, input: impl Into<Stdio>, stop: &AtomicBool) -> io::Result<End> {
    let mut shell = Settings::default().prepare(&["sh", "-c", command].map(OsString::from));
    // No pipe, which would end whatever it leaves behind as soon as that says something.
    shell
        .stdin(input)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit());
    memory::allow_huge_pages(&mut shell);
    Ok(how(&execute(shell, Output::default(), None, stop)?))
}

fn how(ended: &Ended) -> End {
    let status = libc::WIFEXITED(ended.status).then(|| libc::WEXITSTATUS(ended.status));
    let mut end = End {
        status,
        signal: libc::WIFSIGNALED(ended.status).then(|| libc::WTERMSIG(ended.status)),
        timed_out: ended.timed_out,
        interrupted: ended.interrupted,
        said: None,
    };
    if !end.succeeded() {
        let said = [&ended.output.error, &ended.output.out].map(|stream| stream.last(SAID));
        let said: Vec<String> = said.into_iter().filter(|text| !text.is_empty()).collect();
        end.said = Some(said.join("\n")).filter(|text| !text.is_empty());
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(words: &[&str], vary: &[&str]) -> Session {
        Session::new(Request {
            command: words.iter().map(Into::into).collect(),
            vary: vary.iter().map(|name| (*name).to_owned()).collect(),
            ..Request::default()
        })
        .unwrap()
    }

    #[test]
    fn a_run_says_what_it_took_and_how_it_ended() {
        let mut session = session(&["sh", "-c", "echo 17; echo why >&2; exit 4"], &[]);
        let (run, output) = session
            .run(&BTreeMap::new(), &AtomicBool::new(false))
            .unwrap();
        assert_eq!(
            (run.end.status, run.end.said.as_deref()),
            (Some(4), Some("why\n17"))
        );
        assert_eq!(output.out.parts()[0], "17\n");
        assert!(
            run.wall_s > 0.0 && run.counts["faults:minor"] > 0.0,
            "{run:?}"
        );
    }

    #[test]
    fn memory_is_the_command_s_own() {
        let own = vec![1_u8; 64 << 20];
        let mut session = session(&["true"], &[]);
        let (run, _) = session
            .run(&BTreeMap::new(), &AtomicBool::new(false))
            .unwrap();
        let memory = run.counts.get("memory:KiB");
        assert!(memory.is_none(), "{memory:?}");
        drop(std::hint::black_box(own));
    }

    #[test]
    fn every_level_of_every_factor_runs() {
        let mut session = session(&["sh", "-c", "true"], &["all"]);
        for factor in session.factors.clone() {
            for level in factor.levels {
                let levels = factor
                    .with
                    .clone()
                    .into_iter()
                    .chain([(factor.name.clone(), level)])
                    .collect();
                let (run, _) = session.run(&levels, &AtomicBool::new(false)).unwrap();
                assert!(run.end.succeeded() && run.levels == levels, "{run:?}");
            }
        }
    }

    #[test]
    fn a_command_is_kept_on_its_cpu() {
        let mut session = session(&["sh", "-c", "true"], &["cpu"]);
        let [_, .., last] = &session.factors[0].levels[..] else {
            println!(
                "SKIPPED: a CPU of one's own: {:?}",
                session.factors[0].missing
            );
            return;
        };
        let levels = [("cpu".to_owned(), last.clone())].into();
        let (run, _) = session.run(&levels, &AtomicBool::new(false)).unwrap();
        // Under emulation the kernel's tables are not told of the emulated process.
        assert!(run.cpu.is_none_or(|cpu| cpu.to_string() == levels["cpu"]
            || std::env::var_os("BANDSCOPE_TEST_RUNNER").is_some()));
    }
}
