//! Where the threads of a run are, and how they are scheduled: `--priority`, `--housekeeping`. Options of each command that measures this machine
//! by itself.

use crate::values::{self, CpuList};
use anyhow::{Result, bail};
use bandscope_sampler::machine::Priority;
use clap::Args;

/// Where threads run, and when.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
pub struct Placement {
    /// Real-time priority of the measuring threads, fifo:N or rr:N, N from 1 to 99 [default: ordinary tasks]
    #[arg(long, value_name = "POLICY:N", value_parser = values::priority)]
    pub priority: Option<Priority>,
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
}
