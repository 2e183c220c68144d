//! Changes of the machine that may make a CPU quieter: each can be made, and is put back whatever happens.
//!
//! [`CURES`] lists them; `plan` of each says what it would write on this machine. [`apply`] makes the changes, each noted in the [`Journal`] before it is made,
//! and [`Journal::put_back`] undoes them. Measuring with and without is for `cli` to wire, judging for `studies::cure`. Types in [`bandscope_recording::cures`].

mod action;
mod affinity;
mod cures;
mod error;
mod journal;
mod left;
mod namespace;
mod place;
mod undo;

pub use action::{Action, InForce};
pub use cures::interrupts::Arrivals;
pub use cures::{CURES, Cure, Moves, Subject, Why, named};
pub use error::{Foreign, JournalError};
pub use journal::Journal;
pub use left::{Left, Undone, left};
pub use place::{DIRECTORY, Locks, directory};
use std::io;

/// Makes the changes. What is returned must live as long as they are to be in force.
///
/// # Errors
/// If one cannot be made, or none is in force: then all are put back.
pub fn apply(actions: &[Action], journal: &mut Journal) -> io::Result<InForce> {
    let mut in_force = InForce::default();
    let mut make = || {
        let mut is_any = false;
        for action in actions {
            is_any |= action.apply(journal, &mut in_force)?;
        }
        Ok(is_any)
    };
    let why = match make() {
        Ok(true) => return Ok(in_force),
        Ok(false) => io::Error::other(match in_force.problems.first() {
            Some(problem) => problem.clone(),
            None => "there is nothing to change any more".to_owned(),
        }),
        Err(error) => error,
    };
    let problems = journal.put_back();
    match problems.is_empty() {
        true => Err(why),
        false => Err(io::Error::new(
            why.kind(),
            format!("{why}; {}", problems.join("; ")),
        )),
    }
}
