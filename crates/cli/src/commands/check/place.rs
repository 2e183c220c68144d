//! Where the recordings of a check are: in a directory that the user named, or in one that goes with them.

use crate::commands::record::{Caught, MachineName};
use crate::output;
use crate::scratch::Scratch;
use anyhow::{Context, Result};
use bandscope_recording::cpu_list;
use bandscope_recording::text::{shell_word, shown};
use bandscope_studies::check::Check;
use std::path::{Path, PathBuf};

/// Where the recordings are.
pub(super) struct Place {
    /// The directory of those of all that was measured.
    all: PathBuf,
    /// Takes that directory along when the check ends; `None` if the user named it.
    passing: Option<Scratch>,
    /// The directory of those of what was caught, where they are kept.
    moments: Option<PathBuf>,
}

impl Place {
    /// `keep` is for all that is measured, or where something is caught for that.
    pub(super) fn new(keep: Option<&Path>, catches: bool) -> Result<Place> {
        // First what may fail and leaves nothing.
        let passing = (keep.is_none() || catches).then(Scratch::new).transpose()?;
        if let Some(keep) = keep {
            output::free(keep, "--keep")?;
            std::fs::create_dir(keep).with_context(|| format!("{}: cannot create", shown(keep)))?;
        }
        let all = passing.as_ref().map(Scratch::path).or(keep);
        Ok(Place {
            all: all.context("recordings have a place")?.to_owned(),
            moments: keep.filter(|_| catches).map(Path::to_owned),
            passing,
        })
    }

    /// Removes a recording that nobody keeps: those of an hour need not be there together.
    pub(super) fn done_with(&self, recording: &Path) {
        if self.passing.is_some() {
            let _ = std::fs::remove_dir_all(recording);
        }
    }

    /// Of runs that measured nothing nothing stays.
    pub(super) fn remove_if_empty(&self) {
        let _ = std::fs::remove_dir(self.moments.as_ref().unwrap_or(&self.all));
    }

    /// The recording of all of a run.
    pub(super) fn run(&self, run: u32) -> PathBuf {
        self.all.join(name(run))
    }

    /// The recording of what was caught in it.
    pub(super) fn moments(&self, run: u32) -> Option<PathBuf> {
        Some(self.moments.as_ref()?.join(name(run)))
    }

    /// What was caught, in a sentence. Nothing is caught in several runs.
    pub(super) fn told(&self, caught: &Caught) -> Option<String> {
        caught.sentence(self.moments.is_some())
    }

    /// What explains a failure: what was caught, a kept recording, or one to make.
    pub(super) fn next_step(&self, check: &Check, machine: &str, caught: &Caught) -> String {
        if let Some(moments) = self.moments(0).filter(|_| caught.kept() > 0) {
            return report(&moments);
        }
        let worst = check.worst_run().unwrap_or(0) as u32;
        if self.passing.is_none() {
            return report(&self.run(worst));
        }
        let failed = check.cpus.iter().filter(|cpu| !cpu.passes);
        let failed: Vec<u32> = failed.filter_map(|cpu| cpu.cpu).collect();
        let cpus = cpu_list::written(&failed);
        let machine = match MachineName::parse(machine) {
            Ok(MachineName::Simulated(_)) => format!(" --machine {}", shell_word(machine)),
            _ => String::new(),
        };
        format!("bandscope --cpus {cpus}{machine} --duration 10s")
    }
}

/// The name of a run's recording.
fn name(run: u32) -> String {
    format!("run-{}.bandscope", run + 1)
}

/// The command that reads one.
fn report(recording: &Path) -> String {
    format!("bandscope report {}", shell_word(&shown(recording)))
}
