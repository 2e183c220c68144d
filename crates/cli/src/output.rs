//! Where results go: standard output or a file; and how an error ends the program.

use anyhow::{Context, Result};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// Writes a result to `path`, or to standard output where there is none.
///
/// A file appears whole or not at all: it is written beside its place and renamed.
///
/// # Errors
/// If it cannot be written. A reader that closed the pipe is no error: it has what it wanted.
pub fn write(path: Option<&Path>, render: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let Some(path) = path else {
        let mut out = BufWriter::new(io::stdout().lock());
        let result = render(&mut out).and_then(|()| Ok(out.flush()?));
        return result.or_else(|error| {
            if closed_pipe(&error) {
                Ok(())
            } else {
                Err(error)
            }
        });
    };
    let mut name = path
        .file_name()
        .context("found a directory as --output, expected a file")?
        .to_owned();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    let file = std::fs::File::create(&temporary)
        .with_context(|| format!("{}: cannot create", temporary.display()))?;
    let mut out = BufWriter::new(file);
    render(&mut out)
        .and_then(|()| Ok(out.flush()?))
        .and_then(|()| Ok(std::fs::rename(&temporary, path)?))
        .inspect_err(|_| {
            // The half file is of no use; if it cannot be removed, the error that matters is the first.
            let _ = std::fs::remove_file(&temporary);
        })
        .with_context(|| format!("{}: cannot write", path.display()))
}

/// Whether colour suits standard output: a terminal, and no `NO_COLOR` (<https://no-color.org>).
pub fn colour() -> bool {
    io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|value| value != "dumb")
}

/// Prints an error as one line on standard error; exit status 2.
pub fn fail(error: &anyhow::Error) -> ExitCode {
    // `{:#}` joins the causes with colons.
    let _ = writeln!(io::stderr(), "bandscope: {error:#}");
    ExitCode::from(2)
}

fn closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
