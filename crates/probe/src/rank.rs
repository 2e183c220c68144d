//! Which task of a parallel job this process is: from the environment that the launcher gave it, to the manifest.
//!
//! Sources: srun(1), "OUTPUT ENVIRONMENT VARIABLES"; the PMIx standard 5.0, section 5.3; Open MPI's mpirun(1), "Environment Variables"; MPICH's Hydra,
//! which sets PMI_RANK and PMI_SIZE.

use bandscope_recording::events::escaped;
use bandscope_recording::is_node_name;
use bandscope_recording::manifest::Rank;
use bandscope_recording::text::quoted;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// A launcher's environment that makes no sense.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RankError {
    /// A variable that does not hold a number.
    #[error("{name}: found {found}, expected a whole number from 0 to 4294967295")]
    NotANumber {
        /// The variable.
        name: &'static str,
        /// What it holds, in quotation marks.
        found: String,
    },
    /// More tasks than there are.
    #[error("{name}: found task {task} of {tasks}, expected a number below {tasks}")]
    Beyond {
        /// The variable with the task's number.
        name: &'static str,
        /// The task's number.
        task: u32,
        /// Number of tasks.
        tasks: u32,
    },
    /// A name that cannot be a directory's.
    #[error(
        "the node's name: found {0}, expected letters, digits, -, _ and . (SLURMD_NODENAME, or the host name)"
    )]
    NodeName(String),
}

/// How a launcher tells a task who it is.
struct Launcher {
    task: &'static str,
    tasks: &'static [&'static str],
    job: &'static str,
    /// Whether the variables mean a task only beside a step's: a batch script has them too, and is none.
    needs_step: bool,
}

/// Of a step, and in older versions of the job.
const SLURM_TASKS: [&str; 2] = ["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"];

/// In this order: `mpirun` starts its daemons with `srun`, whose variables its tasks inherit. They are of the daemon then.
const LAUNCHERS: [Launcher; 4] = [
    Launcher {
        task: "OMPI_COMM_WORLD_RANK",
        tasks: &["OMPI_COMM_WORLD_SIZE"],
        job: "PMIX_NAMESPACE",
        needs_step: false,
    },
    Launcher {
        task: "PMI_RANK",
        tasks: &["PMI_SIZE"],
        job: "",
        needs_step: false,
    },
    Launcher {
        task: "PMIX_RANK",
        tasks: &[],
        job: "PMIX_NAMESPACE",
        needs_step: false,
    },
    Launcher {
        task: "SLURM_PROCID",
        tasks: &SLURM_TASKS,
        job: "",
        needs_step: true,
    },
];

/// How Slurm's own namespaces of PMIx begin: there, Slurm knows the number of tasks.
const SLURM_NAMESPACE: &str = "slurm.";

/// The task that this process is; `None` where nobody started it as one.
///
/// # Errors
/// If the environment makes no sense.
pub fn of_this_process() -> Result<Option<Rank>, RankError> {
    let host = rustix::system::uname();
    of(&|name| std::env::var_os(name), host.nodename().to_bytes())
}

fn of(variable: &dyn Fn(&str) -> Option<OsString>, host: &[u8]) -> Result<Option<Rank>, RankError> {
    let word = |name: &str| variable(name).filter(|value| !value.is_empty());
    let text = |name: &str| word(name).map(|value| escaped(value.as_bytes()));
    let number = |name: &'static str| match word(name) {
        None => Ok(None),
        Some(value) => (value.to_str().and_then(|text| text.parse::<u32>().ok()))
            .map(Some)
            .ok_or_else(|| RankError::NotANumber {
                name,
                found: quoted(value.as_bytes()),
            }),
    };
    let step = text("SLURM_JOB_ID").zip(text("SLURM_STEP_ID"));
    let is_started =
        |one: &&Launcher| word(one.task).is_some() && (step.is_some() || !one.needs_step);
    let Some(launcher) = LAUNCHERS.iter().find(is_started) else {
        return Ok(None);
    };
    let namespace = text(launcher.job);
    let is_slurm = |name: &String| name.starts_with(SLURM_NAMESPACE);
    let sizes = match namespace.as_ref().is_some_and(is_slurm) && launcher.tasks.is_empty() {
        true => &SLURM_TASKS,
        false => launcher.tasks,
    };
    let Some(task) = number(launcher.task)? else {
        return Ok(None);
    };
    let mut tasks = None;
    for name in sizes {
        tasks = tasks.or(number(name)?);
    }
    if let Some(tasks) = tasks.filter(|&tasks| task >= tasks) {
        let name = launcher.task;
        return Err(RankError::Beyond { name, task, tasks });
    }
    let node = word("SLURMD_NODENAME").map_or_else(|| host.to_vec(), OsString::into_vec);
    let node = match std::str::from_utf8(&node) {
        Ok(name) if is_node_name(name) => name.to_owned(),
        _ => return Err(RankError::NodeName(quoted(&node))),
    };
    let step = step.map(|(job, step)| format!("{job}.{step}"));
    Ok(Some(Rank {
        job: namespace.or(step).unwrap_or_default(),
        node,
        task,
        tasks,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(variables: &[(&str, &str)]) -> Result<Option<Rank>, RankError> {
        let of_name = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        of(&of_name, b"box")
    }

    fn known(job: &str, node: &str, task: u32, tasks: Option<u32>) -> Option<Rank> {
        Some(Rank {
            job: job.into(),
            node: node.into(),
            task,
            tasks,
        })
    }

    const STEP: [(&str, &str); 5] = [
        ("SLURM_PROCID", "3"),
        ("SLURM_NTASKS", "8"),
        ("SLURM_JOB_ID", "17"),
        ("SLURM_STEP_ID", "0"),
        ("SLURMD_NODENAME", "n2"),
    ];

    #[test]
    fn each_launcher_is_understood() {
        assert_eq!(rank(&[]), Ok(None));
        assert_eq!(rank(&STEP), Ok(known("17.0", "n2", 3, Some(8))));
        let open_mpi = [
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("PMIX_RANK", "1"),
            ("PMIX_NAMESPACE", "prterun-box-9@1"),
        ];
        let of_open_mpi = known("prterun-box-9@1", "box", 1, Some(2));
        assert_eq!(rank(&open_mpi), Ok(of_open_mpi));
        let hydra = [("PMI_RANK", "0"), ("PMI_SIZE", "4")];
        assert_eq!(rank(&hydra), Ok(known("", "box", 0, Some(4))));
        let pmix = [("PMIX_RANK", "5"), ("PMIX_NAMESPACE", "p")];
        assert_eq!(rank(&pmix), Ok(known("p", "box", 5, None)));
    }

    #[test]
    fn variables_of_slurm_are_inherited_by_what_is_no_task_of_it() {
        // The shell of a batch job.
        assert_eq!(rank(&STEP[..3]), Ok(None));
        let under = |more: &[(&'static str, &'static str)]| rank(&[&STEP, more].concat());
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2")];
        assert_eq!(under(&open_mpi), Ok(known("17.0", "n2", 0, Some(2))));
        let of_slurm = [("PMIX_RANK", "3"), ("PMIX_NAMESPACE", "slurm.pmix.17.0")];
        let known_to_slurm = known("slurm.pmix.17.0", "n2", 3, Some(8));
        assert_eq!(under(&of_slurm), Ok(known_to_slurm));
    }

    #[test]
    fn nonsense_is_refused() {
        let text = |variables: &[(&str, &str)]| rank(variables).unwrap_err().to_string();
        let number = text(&[("PMI_RANK", "-1")]);
        assert_eq!(
            number,
            "PMI_RANK: found \"-1\", expected a whole number from 0 to 4294967295"
        );
        assert!(text(&[("PMI_RANK", "4"), ("PMI_SIZE", "4")]).contains("found task 4 of 4"));
        let elsewhere = [&STEP[..4], &[("SLURMD_NODENAME", "../x")]].concat();
        assert!(text(&elsewhere).contains("found \"../x\", expected letters"));
    }
}
