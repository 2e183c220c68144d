//! Cures in force: for one trial, or for good.

use super::session::Session;
use crate::commands::passing::NothingMeasured;
use crate::output;
use anyhow::{Context, Result};
use bandscope_experiments::cure::{self, Action};
use bandscope_probe::facts::Busy;
use bandscope_recording::cures::{Cure, Figures};
use bandscope_sampler::machine::Priority;
use bandscope_studies::cure as study;

impl Session<'_> {
    pub(super) fn trial_with(
        &mut self,
        cure: &mut Cure,
        names: &[String],
    ) -> Result<Option<Figures>> {
        let in_force = match self.apply(names) {
            Ok(in_force) => in_force,
            Err(why) => {
                cure.missing = Some(why.to_string());
                return Ok(None);
            }
        };
        let figures = self.trial(in_force.real_time);
        let journal = self.journal.as_mut().context("a journal is kept")?;
        let problems = in_force.problems.iter().cloned().chain(journal.put_back());
        for problem in problems {
            if !cure.problems.contains(&problem) {
                cure.problems.push(problem);
            }
        }
        figures
    }

    /// Makes the changes of these cures, as the machine stands now.
    fn apply(&mut self, names: &[String]) -> Result<cure::InForce> {
        let cures = names.iter().filter_map(|name| cure::named(name));
        let mut actions = Vec::new();
        for cure in cures {
            actions.extend((cure.plan)(&self.subject)?);
        }
        let journal = self.journal.as_mut().context("a journal is kept")?;
        Ok(cure::apply(&actions, journal)?)
    }

    /// Measures once, as the machine stands; `None` if a signal came. A trial in which no quantum ended is lost as a whole: were it left out, a
    /// cure that starves the CPU would seem to help.
    pub(super) fn trial(&mut self, real_time: bool) -> Result<Option<Figures>> {
        self.request.priority = real_time.then_some(Priority::LOWEST);
        let path = self.place.path().join("trial.bandscope");
        let before = Busy::read(&self.cures.others);
        let report = self.measured(&path);
        let after = Busy::read(&self.cures.others);
        let _ = std::fs::remove_dir_all(&path);
        let figures = match report {
            Err(why) if why.is::<NothingMeasured>() => Some(study::starved(self.cures.trial_s)),
            report => report?.map(|report| study::figures(&report, &self.cures.cpus)),
        };
        let figures = figures.map(|figures| Figures {
            others: before
                .as_ref()
                .zip(after.as_ref())
                .map(|(before, after)| before.until(after)),
            ..figures
        });
        Ok(figures)
    }

    /// Leaves cures in force, those that outlive the program.
    pub(super) fn keep(&mut self, helps: &[String]) -> Result<()> {
        let mut names = Vec::new();
        for name in helps {
            let plan = cure::named(name).map(|cure| cure.first_plan(&self.subject));
            match plan {
                Some(Ok(plan)) if plan.is_empty() => {}
                Some(Ok(plan)) if plan.iter().all(Action::outlives) => names.push(name.clone()),
                Some(Err(why)) => {
                    output::note(format_args!("bandscope: {name} is not kept: {why}"))
                }
                _ => output::note(format_args!(
                    "bandscope: {name} ends with this program and is not kept: a program asks for it itself"
                )),
            }
        }
        if names.is_empty() {
            return Ok(());
        }
        let in_force = self.apply(&names)?;
        let journal = self.journal.take().context("a journal is kept")?;
        journal.keep().context("cannot keep the journal")?;
        // Said at once: what follows may fail.
        output::note(format_args!(
            "bandscope: in force: {}; to undo: bandscope cure --undo",
            names.join(", ")
        ));
        for problem in &in_force.problems {
            output::note(format_args!("bandscope: {problem}"));
        }
        self.cures.kept = names;
        Ok(())
    }
}
