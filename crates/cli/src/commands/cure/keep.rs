//! The end of a session: everything is put back, or what helps stays in force.

use super::session::Session;
use crate::output;
use anyhow::{Context, Result, ensure};
use bandscope_experiments::cure::{self, Action, Journal};
use bandscope_recording::cures::Cures;
use bandscope_studies::cure as study;

impl Session<'_> {
    /// Ends it: everything is put back, or what helps stays if that was asked for. Also why the file lacks trials, and what could not be put back.
    pub(super) fn finish(mut self, tried: &Result<()>) -> (Cures, [Result<()>; 2]) {
        self.cures.duration_s = self.begun.elapsed().as_secs_f64();
        self.cures.interrupted = self.is_ended() || tried.is_err();
        if self.keep && !self.cures.interrupted {
            let judged = study::judge(&self.cures);
            for name in study::helps(&judged)
                .iter()
                .filter(|name| !self.outlives(name))
            {
                output::note(format_args!(
                    "bandscope: {name} ends with this program and is not kept: a program asks for it itself"
                ));
            }
            let kept = study::keepable(&judged, |name| self.outlives(name));
            if let Some(why) = kept.why_not_all {
                let names = kept.names.join(", ");
                output::note(format_args!(
                    "bandscope: of all that help only {names} is kept: {why}"
                ));
            }
            if let Err(error) = self.keep(&kept.names) {
                let why = output::spelled(&error);
                output::note(format_args!("bandscope: nothing is kept: {why}"));
            }
        }
        let put_back = put_back(self.journal);
        // Nothing is changed any more: who reads the file may take any time, and a signal ends that.
        self.interrupt.release();
        let kept = self.kept.finish(Some(&self.cures.to_json()));
        (self.cures, [kept, put_back])
    }

    /// Whether a cure stays in force when the program ends.
    pub(super) fn outlives(&self, name: &str) -> bool {
        let plan = cure::named(name).map(|cure| cure.first_plan(&self.subject));
        !matches!(plan, Some(Ok(plan)) if !plan.iter().all(Action::outlives))
    }

    /// Leaves cures in force.
    pub(super) fn keep(&mut self, helps: &[String]) -> Result<()> {
        let mut names = Vec::new();
        for name in helps {
            match cure::named(name).map(|cure| cure.first_plan(&self.subject)) {
                Some(Ok(plan)) if !plan.is_empty() => names.push(name.clone()),
                Some(Err(why)) => {
                    output::note(format_args!("bandscope: {name} is not kept: {why}"))
                }
                _ => {}
            }
        }
        if names.is_empty() {
            return Ok(());
        }
        let journal = self.journal.as_mut().context("a journal is kept")?;
        if !journal.is_empty() {
            journal.put_back();
        }
        ensure!(journal.is_empty(), "not everything is put back");
        let in_force = self.apply(&names)?;
        ensure!(!self.is_ended(), "a signal came");
        let mut journal = self.journal.take().context("a journal is kept")?;
        if let Err(error) = journal.keep() {
            self.journal = Some(journal);
            return Err(error).context("cannot keep the journal");
        }
        drop(journal);
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

/// Tries once more what could not be put back after its trial.
fn put_back(journal: Option<Journal>) -> Result<()> {
    let left = journal.map_or_else(Vec::new, Journal::end);
    ensure!(
        left.is_empty(),
        "not everything is put back: {}; to try again: bandscope cure --undo",
        left.join("; ")
    );
    Ok(())
}
