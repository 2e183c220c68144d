//! Putting back what a cure that was killed left changed, and what was kept.

use crate::commands::layout::rights;
use crate::commands::{Arguments, Command};
use crate::output;
use anyhow::{Result, ensure};
use bandscope_experiments::cure;
use bandscope_view::escape::visible;
use std::process::ExitCode;

/// Whether it is `bandscope cure --undo`.
pub(in crate::commands) fn is_undo(arguments: &Arguments) -> bool {
    matches!(&arguments.command, Some(Command::Cure(arguments)) if arguments.undo)
}

/// `bandscope cure --undo`.
pub(super) fn run() -> Result<ExitCode> {
    let left = cure::left(&cure::directory());
    if left.is_empty() {
        let whose = match rustix::process::geteuid().is_root() {
            true => String::new(),
            false => format!(
                " of this user; one of root: {}",
                rights().command("sudo bandscope cure --undo").0
            ),
        };
        output::note(format_args!(
            "bandscope: no cure left anything changed{whose}"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let (mut number, mut failed) = (0, 0);
    // The last one first: an earlier one may have changed the same setting.
    for journal in left.into_iter().rev() {
        number += journal.changes();
        let cut_off = journal.cut_off.as_ref().map(ToString::to_string);
        let problems = journal.undo()?;
        failed += problems.len();
        // At once: the next one may fail as a whole.
        for said in cut_off.iter().chain(&problems) {
            output::note(format_args!("bandscope: {}", visible(said)));
        }
    }
    ensure!(
        failed == 0,
        "{failed} of {number} changes could not be put back"
    );
    output::note(format_args!("bandscope: {number} changes are put back"));
    Ok(ExitCode::SUCCESS)
}

/// Says at the start of any command but `cure --undo` that a killed cure left the machine changed.
pub(in crate::commands) fn say_if_left() {
    let left = cure::left(&cure::directory());
    let number: usize = left
        .iter()
        .filter(|left| !left.is_kept)
        .map(cure::Left::changes)
        .sum();
    if number > 0 {
        output::note(format_args!(
            "bandscope: a cure that was killed left {number} settings of this machine changed; put them back: bandscope cure --undo"
        ));
    }
}
