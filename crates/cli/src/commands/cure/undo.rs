//! Putting back what a cure that was killed left changed, and what was kept.

use crate::commands::{Arguments, Command};
use crate::output::{self, rights};
use anyhow::{Result, ensure};
use bandscope_experiments::cure::{self, JournalError, Locks};
use bandscope_view::escape::visible;
use bandscope_view::numbers::plural;
use std::io::ErrorKind;
use std::process::ExitCode;
use std::time::Duration;

/// A cure that was killed ends within milliseconds, unless one of its threads is deep in the kernel.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether it is `bandscope cure --undo`.
pub(in crate::commands) fn is_undo(arguments: &Arguments) -> bool {
    matches!(&arguments.command, Some(Command::Cure(arguments)) if arguments.undo)
}

/// `bandscope cure --undo`.
pub(super) fn run() -> Result<ExitCode> {
    let directory = cure::directory();
    // Where no directory is, no cure ever was.
    let is_absent =
        matches!(directory.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound);
    let found = (!is_absent).then(|| {
        let locks = Locks::take(&directory, PATIENCE)?;
        Ok::<_, JournalError>((cure::left(&directory)?, locks))
    });
    let Some((left, locks)) = found.transpose()?.filter(|(left, _)| !left.is_empty()) else {
        let whose = match rustix::process::geteuid().is_root() {
            true => String::new(),
            false => format!(
                " of this user; one of root: {}",
                rights().command("sudo bandscope cure --undo").0
            ),
        };
        output::note(format_args!(
            "bandscope: no cure left anything changed{whose} (journals: {})",
            visible(&directory.display().to_string())
        ));
        return Ok(ExitCode::SUCCESS);
    };
    let (mut number, mut failed, mut stay, mut foreign) = (0, 0, 0, 0);
    // The last one first: an earlier one may have changed the same setting.
    for journal in left.into_iter().rev() {
        number += journal.changes();
        let cut_off = journal.cut_off.as_ref().map(ToString::to_string);
        let is_foreign = journal.is_foreign();
        foreign += u64::from(is_foreign);
        let undone = journal.undo(&locks);
        failed += undone.failed;
        stay += u64::from(undone.stays.is_some());
        let stays = undone.stays.map(|why| why.to_string());
        for said in cut_off.iter().chain(&undone.problems).chain(&stays) {
            output::note(format_args!("bandscope: {}", visible(said)));
        }
    }
    let of_foreign = plural(
        foreign,
        "file is not a journal of this user",
        "files are not journals of this user",
    );
    ensure!(foreign == 0 || number > 0, "{of_foreign}");
    ensure!(
        failed == 0,
        "{failed} of {} changes could not be put back",
        number.max(failed)
    );
    let put_back = plural(number as u64, "change is put back", "changes are put back");
    ensure!(foreign == 0, "{put_back}; {of_foreign}");
    ensure!(
        stay == 0,
        "{put_back}; {}",
        plural(stay, "journal stays", "journals stay")
    );
    output::note(format_args!("bandscope: {put_back}"));
    Ok(ExitCode::SUCCESS)
}

/// Says at the start of any command but `cure --undo` that a killed cure left the machine changed.
pub(in crate::commands) fn say_if_left() {
    // Where it cannot be looked at, the command that changes something says so.
    let left = cure::left(&cure::directory()).unwrap_or_default();
    let mut number = 0;
    for left in left.iter().filter(|left| left.is_in_the_way()) {
        match left.why_not() {
            Some(said) => output::note(format_args!("bandscope: {}", visible(&said.to_string()))),
            None => number += left.changes(),
        }
    }
    if number > 0 {
        let settings = plural(number as u64, "setting", "settings");
        output::note(format_args!(
            "bandscope: a cure that was killed left {settings} of this machine changed; put them back: bandscope cure --undo"
        ));
    }
}
