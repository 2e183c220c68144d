//! Commands beside a disturber: a task of a job, and one that draws on the terminal.

use super::{emulated, log};
use crate::common::{bandscope, report};
use crate::live::terminal::Terminal;
use bandscope_probe::pin;
use bandscope_recording::Source;
use bandscope_recording::manifest::State;
use bandscope_recording::read::open;

#[test]
fn a_task_of_a_job_has_its_log_beside_its_recording() {
    if emulated() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let inject = |tasks: &str| {
        let mut command = bandscope(directory.path());
        command
            .envs([("SLURM_JOB_ID", "17"), ("SLURM_STEP_ID", "0")])
            .envs([("SLURMD_NODENAME", "n1"), ("SLURM_NTASKS", tasks)])
            .env("SLURM_PROCID", "0")
            .args(["inject", "--then", "record", "--duration", "200ms"])
            .args(["--output", "job"]);
        command.output().unwrap()
    };
    if pin::allowed().unwrap().len() > 1 {
        let error = String::from_utf8(inject("2").stderr).unwrap();
        assert!(error.contains("expected the CPU of this task"), "{error}");
    }
    // The directory may be there: another task made it.
    for _ in 0..2 {
        let output = inject("1");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        let log = log(directory.path(), "job/node=n1/task=0.disturbances.jsonl");
        assert!(log.whole());
        report(directory.path(), &["job"]);
        std::fs::remove_dir_all(directory.path().join("job/node=n1")).unwrap();
    }
}

/// Whoever is not in the foreground may neither read keys nor set the terminal.
#[test]
fn a_picture_of_a_disturbed_cpu_has_the_terminal() {
    let cpu = pin::allowed().unwrap().pop().unwrap();
    if pin::allowed().unwrap().len() < 2 {
        println!("SKIPPED: live beside a disturber: needs two CPUs");
        return;
    }
    for key in ["q", "C-c"] {
        let directory = tempfile::tempdir().unwrap();
        let binary = env!("CARGO_BIN_EXE_bandscope");
        let command = format!(
            "{binary} inject --log log --cpu {cpu} --then live --cpus {cpu} --output it.bandscope"
        );
        let Some(terminal) = Terminal::new(directory.path(), (80, 24), &command) else {
            return;
        };
        terminal.wait_for("q quit");
        terminal.keys(&[key]);
        terminal.wait_for("ended with 0");
        assert!(!terminal.is_raw());
        assert!(log(directory.path(), "log").whole());
        let recording = open(&directory.path().join("it.bandscope")).unwrap();
        assert_eq!(recording.manifest().state, State::Complete);
    }
}
