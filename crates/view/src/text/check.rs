//! A check for a terminal or a log: one line a CPU, then what limits it, then the command that explains a failure.

use super::table::{Page, Paint};
use crate::{Error, Options};
use bandscope_studies::check::Check;
use std::io::Write;

/// The whole of it; a log has one line a CPU, however long.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub fn render(
    check: &Check,
    options: &Options,
    is_log: bool,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut page = Page::new(options);
    let mut say = |first: (&str, Paint), text: &str, paint: Paint| match is_log {
        true => page.whole(first, text, paint),
        false => page.wrapped(first, text, paint),
    };
    for cpu in &check.cpus {
        let paint = match cpu.passes {
            true => Paint::Plain,
            false => Paint::Loss,
        };
        say(("", Paint::Plain), &cpu.sentence, paint);
    }
    for note in &check.notes {
        say(("Note: ", Paint::Dim), note, Paint::Dim);
    }
    match &check.next_step {
        Some(command) if is_log => say(("To see why: ", Paint::Plain), command, Paint::Plain),
        Some(command) => page.command("To see why: ", command, Paint::Plain),
        None => {}
    }
    out.write_all(page.finish().as_bytes())?;
    Ok(())
}
