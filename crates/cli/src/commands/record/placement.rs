//! Where the threads of a run are, and how they are scheduled: `--priority`, `--cgroup`, `--housekeeping`. Options of each command that measures this machine
//! by itself.

use crate::values::{self, CpuList};
use crate::{output, resources};
use anyhow::{Context, Result, bail};
use bandscope_probe::control_groups::{self, Membership};
use bandscope_recording::text::shown;
use bandscope_sampler::machine::Priority;
use clap::Args;
use std::path::PathBuf;

/// Where threads run, and when.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
pub struct Placement {
    /// Real-time priority of the measuring threads, fifo:N or rr:N, N from 1 to 99 [default: ordinary tasks]
    #[arg(long, value_name = "POLICY:N", value_parser = values::priority)]
    pub priority: Option<Priority>,
    /// Control group to measure in: its path below the mounts, or its directory [default: the one that bandscope is in]
    #[arg(long, value_name = "NAME")]
    pub cgroup: Option<PathBuf>,
    /// CPUs for bandscope's own threads, which write and draw [default: any that is not measured]
    #[arg(long, value_name = "LIST", value_parser = values::cpu_list)]
    pub housekeeping: Option<CpuList>,
}

impl Placement {
    /// Refuses what a simulated machine has not got.
    ///
    /// # Errors
    /// If there is something of it, and the machine is not `real`.
    pub fn check(&self, real: bool) -> Result<()> {
        let options = [
            ("--priority", self.priority.is_some()),
            ("--cgroup", self.cgroup.is_some()),
            ("--housekeeping", self.housekeeping.is_some()),
        ];
        match options.iter().find(|(_, is_asked)| *is_asked && !real) {
            Some((option, _)) => {
                bail!("{option}: found a simulated machine, expected this machine")
            }
            None => Ok(()),
        }
    }

    /// The CPUs of the program's own threads; empty where nothing was said.
    pub fn own_cpus(&self) -> &[u32] {
        self.housekeeping.as_ref().map_or(&[], |list| &list.0)
    }

    /// The control groups that were asked for, by directory: one in each hierarchy that has the name.
    pub fn control_groups(&self) -> Vec<String> {
        let groups = self.cgroup.as_deref().map(control_groups::find);
        let groups = groups.and_then(Result::ok).unwrap_or_default();
        groups.iter().map(|group| shown(&group.directory)).collect()
    }

    /// Joins the control group, before anything else asks which CPUs and how much memory there are.
    ///
    /// # Errors
    /// If there is none of that name, or the kernel refuses.
    pub fn join(&self) -> Result<Joined> {
        let join = |name: &PathBuf| {
            let groups = control_groups::find(name)?;
            control_groups::join(&groups)
        };
        let joined = self
            .cgroup
            .as_ref()
            .map(|name| join(name).with_context(|| format!("--cgroup {}", shown(name))));
        let joined = joined.transpose().map(Joined)?;
        // That of the group.
        resources::check_memory()?;
        Ok(joined)
    }
}

/// This process is in the control group that was asked for, until this is dropped.
#[derive(Debug)]
pub struct Joined(Option<Membership>);

impl Drop for Joined {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.0.take().map(Membership::leave) {
            output::note(format_args!(
                "bandscope: stays in the control group until it ends: {error}"
            ));
        }
    }
}
