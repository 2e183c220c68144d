//! What to do: fixes, and commands that answer what is open, each once.

use super::table::{Page, Paint};
use crate::Rights;
use bandscope_report::Report;
use bandscope_report::remedies::{Need, Purpose, Remedy, RemedyKind};

/// Remedies of one purpose that a reader takes in.
const MAX_REMEDIES: usize = 2;
const TITLE: usize = 13;

pub(super) fn remedies(report: &Report, page: &mut Page<'_>) {
    page.blank();
    for (title, purpose) in [
        ("To fix:", Purpose::Fix),
        ("To find out:", Purpose::FindOut),
    ] {
        let of_purpose = (report.remedies.iter()).filter(|remedy| remedy.purpose == purpose);
        // The last line of the screen says where the rest is.
        for (index, remedy) in of_purpose.take(MAX_REMEDIES).enumerate() {
            one(if index == 0 { title } else { "" }, remedy, page);
        }
    }
}

/// A command of a remedy as whoever reads it runs it, and whether it must be said that root does. Whoever reads one for the host may be anybody there.
pub(super) fn as_run(remedy: &Remedy, command: &str, page: &Page<'_>) -> (String, bool) {
    let rights = match remedy.needs.contains(&Need::Host) {
        true => Rights::Sudo,
        false => page.options.rights,
    };
    rights.command(command)
}

/// All of them, with what they take and how to undo them.
pub(super) fn in_full(report: &Report, page: &mut Page<'_>) {
    for (title, purpose) in [("To fix", Purpose::Fix), ("To find out", Purpose::FindOut)] {
        let of_purpose: Vec<&Remedy> = report
            .remedies
            .iter()
            .filter(|remedy| remedy.purpose == purpose)
            .collect();
        if of_purpose.is_empty() {
            continue;
        }
        page.blank();
        page.line(&[(title, Paint::Bold)]);
        for remedy in of_purpose {
            match &remedy.command {
                None => page.wrapped(("  ", Paint::Plain), &remedy.what, Paint::Plain),
                Some(command) => {
                    let what = format!("{}:", remedy.what);
                    page.wrapped(("  ", Paint::Plain), &what, Paint::Plain);
                    page.command("    ", &as_run(remedy, command, page).0, Paint::Work);
                }
            }
            if !remedy.needs.is_empty() {
                let needs: Vec<&str> = remedy.needs.iter().map(|need| named(*need)).collect();
                page.wrapped(("    needs: ", Paint::Dim), &needs.join(", "), Paint::Plain);
            }
            if let Some(undo) = &remedy.undo {
                // Where each task was allowed before is not known.
                let label = match remedy.kind {
                    RemedyKind::MoveTasks => "    undo, to all CPUs: ",
                    _ => "    undo: ",
                };
                page.command(label, &as_run(remedy, undo, page).0, Paint::Plain);
            }
        }
    }
}

fn named(need: Need) -> &'static str {
    match need {
        Need::Root => "root",
        Need::Boot => "a boot",
        Need::Host => "the host",
    }
}

/// The command in a line of its own where both do not fit into one.
fn one(title: &str, remedy: &Remedy, page: &mut Page<'_>) {
    let lead = format!("{title:TITLE$} ");
    let room = page.width() - TITLE - 1;
    let Some(command) = &remedy.command else {
        page.wrapped((&lead, Paint::Bold), &remedy.what, Paint::Plain);
        return;
    };
    let (command, as_root) = as_run(remedy, command, page);
    let what = match as_root {
        true => format!("{}, as root:", remedy.what),
        false => format!("{}:", remedy.what),
    };
    let length = page.safe(&command).chars().count() + 1 + page.safe(&what).chars().count();
    if length <= room {
        // Not wrapped as a sentence is: a command keeps its blanks.
        page.line(&[
            (&lead, Paint::Bold),
            (&what, Paint::Plain),
            (" ", Paint::Plain),
            (&command, Paint::Work),
        ]);
    } else {
        page.wrapped((&lead, Paint::Bold), &what, Paint::Plain);
        page.command(&format!("{:TITLE$} ", ""), &command, Paint::Work);
    }
}
