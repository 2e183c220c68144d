//! Cures in force for one trial.

use super::session::Session;
use crate::commands::passing::{self, NothingMeasured};
use anyhow::{Context, Result};
use bandscope_experiments::cure;
use bandscope_probe::facts::Busy;
use bandscope_recording::cures::{Cure, Figures};
use bandscope_report::Report;
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
            Err(why) if cure.pairs.iter().all(|pair| pair.pilot) => {
                cure.missing = Some(why.to_string());
                return Ok(None);
            }
            // What was measured until now counts.
            Err(why) => {
                cure.problems.push(format!("its trials ended early: {why}"));
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
    pub(super) fn apply(&mut self, names: &[String]) -> Result<cure::InForce> {
        let cures = names.iter().filter_map(|name| cure::named(name));
        let mut actions = Vec::new();
        for cure in cures {
            actions.extend((cure.plan)(&self.subject)?);
        }
        let journal = self.journal.as_mut().context("a journal is kept")?;
        Ok(cure::apply(&actions, journal)?)
    }

    /// Measures once, as the machine stands; `None` if a signal came. A trial in which no quantum ended on one of the CPUs is lost as a whole: were it left out,
    /// a cure that starves the CPU would seem to help.
    pub(super) fn trial(&mut self, real_time: bool) -> Result<Option<Figures>> {
        self.request.priority = real_time.then_some(Priority::LOWEST);
        let path = self.place.path().join("trial.bandscope");
        let before = Busy::read(&self.cures.others);
        let mut report = self.measured(&path);
        if self.request.buffered && report.as_ref().is_ok_and(lost_events) {
            // Lost names are lost savings: as many as memory does not hold are written while they come.
            self.request.buffered = false;
            let _ = std::fs::remove_dir_all(&path);
            report = self.measured(&path);
        }
        let after = Busy::read(&self.cures.others);
        let _ = std::fs::remove_dir_all(&path);
        let whole = |report: Option<Report>| match report {
            Some(report) => passing::measured_all(report, &self.cures.cpus).map(Some),
            None => Ok(None),
        };
        let figures = match report.and_then(whole) {
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
}

/// Whether kernel events found no room.
fn lost_events(report: &Option<Report>) -> bool {
    let manifest = report.as_ref().and_then(|report| report.recording.as_ref());
    manifest.is_some_and(|manifest| !manifest.events.lost.is_empty())
}
