//! Commands beside a disturber: a task of a job.

use super::{emulated, log};
use crate::common::{bandscope, report};
use bandscope_probe::pin;

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
