//! The command that runs while the disturbance lasts: parsed before anything begins, so that it measures where the disturber
//! disturbs; then started as a process of its own, as any other task would be beside it.

use crate::commands::record::{self, job};
use crate::commands::{self, Command as Subcommand};
use crate::interrupt::{DISTURBER, shell_status};
use crate::output;
use anyhow::{Context, Result, bail};
use bandscope_experiments::inject::{Kind, choose_cpu, choose_neighbour, start_bound};
use bandscope_probe::{pin, rank};
use bandscope_recording::text::shown;
use bandscope_sampler::machine::Priority;
use clap::Parser;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

/// The highest real-time priority (sched(7)).
const HIGHEST: u8 = 99;

/// A command and a CPU to disturb that go together.
#[derive(Debug)]
pub struct Then {
    /// Its words, after `bandscope`.
    pub words: Vec<OsString>,
    /// The recording that it will write.
    pub recording: Option<PathBuf>,
    /// CPU of the disturber.
    pub cpu: u32,
    /// CPUs that it will measure, as far as that is known.
    pub measured: Vec<u32>,
    /// Priority of a disturber that is to interrupt it.
    pub priority: Priority,
}

impl Then {
    /// Parses the command, and adds to it what it leaves open: the CPU and the recording's name. A command line that does
    /// not parse ends the program as it would have by itself.
    pub fn resolve(words: &[OsString], kind: Kind, cpu: Option<u32>) -> Result<Then> {
        let line = std::iter::once(OsString::from("bandscope")).chain(words.iter().cloned());
        let parsed =
            commands::Arguments::try_parse_from(line).unwrap_or_else(|error| output::exit(&error));
        let mut words = words.to_vec();
        let Some(Subcommand::Record(arguments)) = &parsed.command else {
            // Most commands measure, and each chooses its CPUs in its own way.
            let Some(cpu) = cpu else {
                bail!(
                    "--cpu: found none, expected the CPU of the disturber (only --then record chooses one)"
                );
            };
            return Ok(Then {
                words,
                recording: None,
                cpu,
                measured: Vec::new(),
                priority: Priority::LOWEST,
            });
        };
        let priority = match kind.takes_the_cpu() {
            true => above(arguments.placement.priority)?,
            false => Priority::LOWEST,
        };
        let (cpu, measured) = match_cpus(arguments, kind, cpu, &mut words)?;
        let shared = arguments.path();
        if arguments.output().is_none() {
            words.extend(["--output".into(), shared.clone().into_os_string()]);
        }
        let path = job::place(shared.clone(), arguments.output())?;
        job::free(&shared, &path)?;
        Ok(Then {
            words,
            recording: Some(path),
            cpu,
            measured,
            priority,
        })
    }

    /// Starts it, in this program's process group: only there may it use the terminal. A signal from the terminal so reaches it
    /// by itself and through this program, at about the same time, which it takes for one. It ends when this program does.
    pub fn start(&self) -> Result<Child> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = Command::new(&program);
        command
            .args(&self.words)
            .env(DISTURBER, std::process::id().to_string())
            .stdin(Stdio::null());
        start_bound(&mut command).with_context(|| format!("{}: cannot start", shown(&program)))
    }
}

/// The log's name beside a recording's.
pub fn beside(recording: &Path) -> PathBuf {
    let name = match recording.extension() {
        Some(extension) if extension == "bandscope" => recording.with_extension(""),
        _ => recording.to_owned(),
    };
    let mut name = name.into_os_string();
    name.push(".disturbances.jsonl");
    name.into()
}

/// The priority of a disturber that is to interrupt a task of this one.
fn above(measured: Option<Priority>) -> Result<Priority> {
    match measured {
        None => Ok(Priority::LOWEST),
        Some(priority) if priority.level >= HIGHEST => bail!(
            "--then record --priority: found {priority}, which no disturber of this kind could interrupt; expected at most {}",
            HIGHEST - 1
        ),
        Some(priority) => Ok(Priority {
            takes_turns: false,
            level: priority.level + 1,
        }),
    }
}

/// The CPU of the disturber: the measured one, or for a neighbour another; and all that are measured. `words` get `--cpus` if they had none.
fn match_cpus(
    record: &record::Arguments,
    kind: Kind,
    cpu: Option<u32>,
    words: &mut Vec<OsString>,
) -> Result<(u32, Vec<u32>)> {
    if !record.is_real() {
        bail!(
            "--then record --machine: found a simulated machine, which nothing disturbs; expected this machine"
        );
    }
    let measured = record.cpus()?;
    let own = record.placement.own_cpus();
    let (cpu, chosen) = match kind.takes_the_cpu() {
        true => disturbed(&measured, own, cpu)?,
        false => neighbour(&measured, own, cpu)?,
    };
    match chosen {
        None => Ok((cpu, measured)),
        Some(chosen) => {
            words.extend(["--cpus".into(), chosen.to_string().into()]);
            Ok((cpu, vec![chosen]))
        }
    }
}

/// The CPU to disturb, and the one to measure where none was named; `own` are those that write.
fn disturbed(measured: &[u32], own: &[u32], cpu: Option<u32>) -> Result<(u32, Option<u32>)> {
    match (measured, cpu) {
        ([], None) => choose(own).map(|cpu| (cpu, Some(cpu))),
        ([], Some(cpu)) => Ok((cpu, Some(cpu))),
        ([only], None) => Ok((*only, None)),
        (_, Some(cpu)) if measured.contains(&cpu) => Ok((cpu, None)),
        (_, Some(cpu)) => {
            bail!("--cpu: found {cpu}, expected a CPU that the command measures: {measured:?}")
        }
        (_, None) => {
            bail!("--cpu: expected one of the CPUs that the command measures: {measured:?}")
        }
    }
}

/// The CPU of a neighbour, and the one to measure where none was named; `own` are those that write.
fn neighbour(measured: &[u32], own: &[u32], cpu: Option<u32>) -> Result<(u32, Option<u32>)> {
    match (measured, cpu) {
        ([], None) => {
            let measured = choose(own)?;
            Ok((choose_neighbour(measured)?, Some(measured)))
        }
        ([], Some(cpu)) => Ok((cpu, Some(choose(&[&[cpu], own].concat())?))),
        ([only], None) => Ok((choose_neighbour(*only)?, None)),
        (_, None) => bail!(
            "--cpu: expected the CPU of a neighbour, not one that the command measures: {measured:?}"
        ),
        (_, Some(cpu)) if measured.contains(&cpu) => {
            bail!(
                "--cpu: found {cpu}, which the command measures; expected another CPU, of a neighbour"
            )
        }
        (_, Some(cpu)) => Ok((cpu, None)),
    }
}

/// A CPU to measure, which nobody named.
fn choose(taken: &[u32]) -> Result<u32> {
    let task = rank::of_this_process()?;
    if task.is_some_and(|task| task.tasks != Some(1)) && pin::allowed()?.len() > 1 {
        bail!(
            "--cpu: found none, expected the CPU of this task: several tasks would choose the same one"
        );
    }
    Ok(choose_cpu(taken)?)
}

/// A command's exit status as this program's own.
pub fn exit_code(status: ExitStatus) -> ExitCode {
    let signal = status.signal().map(|signal| shell_status(signal as usize));
    let code = status.code().map(|code| code as u8);
    ExitCode::from(code.or(signal).unwrap_or(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(line: &str, kind: Kind, cpu: Option<u32>) -> Result<Then> {
        let words: Vec<OsString> = line.split_whitespace().map(Into::into).collect();
        Then::resolve(&words, kind, cpu)
    }

    #[test]
    fn the_command_measures_the_cpu_that_is_disturbed() {
        let neighbour = "neighbour:spin".parse().unwrap();
        for (line, kind, cpu, disturber, added) in [
            ("record --output a", Kind::Task, Some(3), 3, Some("3")),
            ("record --output a --cpus 4", Kind::Task, None, 4, None),
            ("record --output a --cpus 4,6", Kind::Task, Some(6), 6, None),
            ("record --output a --cpus 4", neighbour, Some(5), 5, None),
        ] {
            let then = resolve(line, kind, cpu).unwrap();
            assert_eq!(then.cpu, disturber, "{line}");
            let words = then.words.join(std::ffi::OsStr::new(" "));
            let expected = match added {
                Some(cpu) => format!("{line} --cpus {cpu}"),
                None => line.to_owned(),
            };
            assert_eq!(words, *expected);
            assert_eq!(then.recording.as_deref(), Some(Path::new("a")));
            assert!(then.measured.contains(&disturber) == kind.takes_the_cpu());
            assert_eq!(then.priority, Priority::LOWEST);
        }
        for (line, kind, cpu, wanted) in [
            (
                "record --cpus 4",
                Kind::Task,
                Some(3),
                "found 3, expected a CPU that the command measures: [4]",
            ),
            (
                "record --cpus 4,5",
                Kind::Task,
                None,
                "expected one of the CPUs",
            ),
            (
                "record --cpus 4",
                neighbour,
                Some(4),
                "found 4, which the command measures",
            ),
            (
                "record --cpus 4,5",
                neighbour,
                None,
                "expected the CPU of a neighbour",
            ),
            (
                "record --machine simulated:tick",
                Kind::Task,
                None,
                "a simulated machine",
            ),
        ] {
            let error = resolve(line, kind, cpu).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn who_takes_the_cpu_of_a_real_time_task_has_a_higher_priority() {
        let neighbour = "neighbour:spin".parse().unwrap();
        for (priority, kind, level) in [
            ("fifo:5", Kind::Task, 6),
            ("rr:98", Kind::Faults, 99),
            ("fifo:99", neighbour, 1),
        ] {
            let line = format!("record --output a --cpus 4 --priority {priority}");
            let wanted = Priority {
                takes_turns: false,
                level,
            };
            let cpu = (kind == neighbour).then_some(5);
            assert_eq!(resolve(&line, kind, cpu).unwrap().priority, wanted);
        }
        let line = "record --cpus 4 --priority rr:99";
        let error = resolve(line, Kind::Task, None).unwrap_err().to_string();
        assert!(error.contains("found rr:99") && error.contains("at most 98"));
    }

    #[test]
    fn what_the_command_leaves_open_is_filled_in() {
        let then = resolve("record --duration 1s", Kind::Task, None).unwrap();
        let words: Vec<&str> = then
            .words
            .iter()
            .map(|word| word.to_str().unwrap())
            .collect();
        assert_eq!(words[3..5], ["--cpus", &then.cpu.to_string()]);
        assert_eq!(words[5], "--output");
        assert_eq!(Some(Path::new(words[6])), then.recording.as_deref());
        let other = resolve("kernels", Kind::Task, Some(9)).unwrap();
        assert_eq!(
            (other.cpu, other.words.len(), other.recording),
            (9, 1, None)
        );
        for command in ["check", "doctor", "--duration 1s"] {
            let error = resolve(command, Kind::Task, None).unwrap_err().to_string();
            assert!(error.contains("--cpu: found none"), "{error}");
        }
    }

    #[test]
    fn the_log_lies_beside_the_recording() {
        for (recording, log) in [
            ("a/b.bandscope", "a/b.disturbances.jsonl"),
            ("run.1", "run.1.disturbances.jsonl"),
        ] {
            assert_eq!(beside(Path::new(recording)), Path::new(log));
        }
    }

    #[test]
    fn the_exit_status_is_that_of_the_command() {
        for (raw, expected) in [(0, 0), (2 << 8, 2), (15, 143), (130 << 8, 130)] {
            let code = exit_code(ExitStatus::from_raw(raw));
            assert_eq!(
                format!("{code:?}"),
                format!("{:?}", ExitCode::from(expected))
            );
        }
    }
}
