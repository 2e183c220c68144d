//! Where results go: standard output or a file; and how an error ends the program.

use anyhow::{Context, Result, bail};
use bandscope_view::Options;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Writes a result to `path`, or to standard output where there is none.
///
/// A regular file appears whole or not at all: it is written beside its place and renamed. Whatever else `path` names,
/// such as a device or a pipe, is written to and left in its place.
///
/// # Errors
/// If it cannot be written. A reader that closed the pipe is no error: it has what it wanted.
pub fn write(path: Option<&Path>, render: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let result = match path {
        None => render_into(io::stdout().lock(), render),
        Some(path) if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) => {
            let file = OpenOptions::new().write(true).open(path);
            let file = file.with_context(|| format!("{}: cannot write", path.display()))?;
            render_into(file, render)
        }
        Some(path) => write_file(path, render),
    };
    result.or_else(|error| {
        if closed_pipe(&error) {
            Ok(())
        } else {
            Err(error)
        }
    })
}

fn render_into(out: impl Write, render: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut out = BufWriter::new(out);
    render(&mut out)?;
    Ok(out.flush()?)
}

fn write_file(path: &Path, render: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    // The file that a link leads to is replaced, not the link.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = target
        .file_name()
        .context("--output: expected the name of a file")?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.tmp", std::process::id()));
    let temporary = target.with_file_name(hidden);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&temporary);
    let file = file.with_context(|| format!("{}: cannot create", path.display()))?;
    render_into(file, render)
        .and_then(|()| Ok(std::fs::rename(&temporary, &target)?))
        .inspect_err(|_| {
            // The half file is of no use; if it cannot be removed, the error that matters is the first.
            let _ = std::fs::remove_file(&temporary);
        })
        .with_context(|| format!("{}: cannot write", path.display()))
}

/// A file that will keep what is measured: claimed before minutes are spent on measuring it, so that a directory that is not
/// there, or one that may not be written to, is said at once.
#[derive(Debug)]
pub struct Keep(PathBuf);

impl Keep {
    /// Claims `path`; a device or a pipe is there already and stays.
    ///
    /// # Errors
    /// If a file of that name exists, or cannot be made.
    pub fn claim(path: &Path) -> Result<Keep> {
        if std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            return Ok(Keep(path.to_owned()));
        }
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(_) => Ok(Keep(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                bail!("{}: exists already; name another --output", path.display())
            }
            Err(error) => Err(error).with_context(|| format!("{}: cannot create", path.display())),
        }
    }

    /// Writes it, whole.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(self, render: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        write(Some(&self.0), render)
    }
}

impl Drop for Keep {
    /// What was claimed and never written is empty, and goes.
    fn drop(&mut self) {
        if std::fs::metadata(&self.0).is_ok_and(|there| there.is_file() && there.len() == 0) {
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

/// Says something beside the result, on standard error. Nobody may be listening, which is no error.
pub fn note(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Whether colour suits standard output: a terminal, and no `NO_COLOR` (<https://no-color.org>).
pub fn colour() -> bool {
    io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|value| value != "dumb")
}

/// Prints an error as one line on standard error; exit status 2.
pub fn fail(error: &anyhow::Error) -> ExitCode {
    note(format_args!("bandscope: {}", spelled(error)));
    ExitCode::from(2)
}

/// An error and its causes, joined with colons; a cause that the words before it end with is not said again.
fn spelled(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.ends_with(&cause) {
            continue;
        }
        if !text.is_empty() {
            text += ": ";
        }
        text += &cause;
    }
    text
}

fn closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// What suits a terminal, or a pipe.
pub fn terminal_options(to_terminal: bool) -> Options {
    let mut options = Options {
        colour: to_terminal && colour(),
        ..Options::default()
    };
    if let Some((terminal_size::Width(columns), _)) =
        terminal_size::terminal_size().filter(|_| to_terminal)
    {
        options.width = columns.into();
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_was_said_is_not_said_again() {
        let cause = || io::Error::from(io::ErrorKind::NotFound);
        let twice = anyhow::Error::from(cause()).context(format!("x: cannot read: {}", cause()));
        assert_eq!(spelled(&twice), format!("x: cannot read: {}", cause()));
        let once = anyhow::Error::from(cause()).context("x: cannot read");
        assert_eq!(spelled(&once), format!("x: cannot read: {}", cause()));
    }
}
