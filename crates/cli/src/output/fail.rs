//! How an error ends the program, and how a command line does that is one or asks for help.

use super::{colour, note, put};
use bandscope_recording::text::shortened;
use bandscope_view::escape;
use std::process::ExitCode;

/// Prints an error as one line on standard error; exit status 2.
pub fn fail(error: &anyhow::Error) -> ExitCode {
    let lines = spelled(error);
    let lines = lines.split('\n').map(escape::visible);
    let lines: Vec<String> = lines.map(|line| shortened(&line)).collect();
    note(format_args!("bandscope: {}", lines.join("\n")));
    ExitCode::from(2)
}

/// An error and its causes, joined with colons; a cause that the words before it end with is not said again.
pub fn spelled(error: &anyhow::Error) -> String {
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

/// Ends the program with what `clap` says of its command line: help, or a mistake, of which long values are cut, and what a terminal would obey is
/// made visible.
pub fn exit(said: &clap::Error) -> ! {
    let text = said.render();
    if !said.use_stderr() {
        let printed = put(None, |out| match colour() {
            true => Ok(write!(out, "{}", text.ansi())?),
            false => Ok(write!(out, "{text}")?),
        });
        let failed = printed.map_err(|error| fail(&error)).is_err();
        std::process::exit(if failed { 2 } else { 0 });
    }
    let whole = text.to_string();
    let lines = whole.split('\n').map(escape::visible);
    let short: Vec<String> = lines.map(|line| shortened(&line)).collect();
    // In colour a value would come through as it is.
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let is_plain = words.all(|word| word == escape::visible(&word));
    match short.join("\n") {
        short if short == whole && is_plain => said.exit(),
        short => note(format_args!("{}", short.trim_end())),
    }
    std::process::exit(said.exit_code())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn a_cause_that_was_said_is_not_said_again() {
        let cause = || io::Error::from(io::ErrorKind::NotFound);
        let twice = anyhow::Error::from(cause()).context(format!("x: cannot read: {}", cause()));
        assert_eq!(spelled(&twice), format!("x: cannot read: {}", cause()));
        let once = anyhow::Error::from(cause()).context("x: cannot read");
        assert_eq!(spelled(&once), format!("x: cannot read: {}", cause()));
    }
}
