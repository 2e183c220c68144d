//! How a verdict is laid out as text.

use crate::output::terminal_options;
use bandscope_view::Options;
use clap::Args;
use std::io::{self, IsTerminal};

/// Options of the commands that print a verdict as text.
#[derive(Debug, Args)]
// A command that takes these has a group of its own.
#[group(skip)]
pub(super) struct Layout {
    /// Text: everything, also what a reader in a hurry leaves out.
    #[arg(long)]
    pub(super) all: bool,
    /// Text: plain ASCII.
    #[arg(long)]
    ascii: bool,
    /// Text: width in columns [default: the terminal's, 80 elsewhere]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(40..=8000))]
    width: Option<u16>,
}

impl Layout {
    /// What suits a terminal if the text goes there, and what was asked for.
    pub(super) fn options(&self, to_standard_output: bool) -> Options {
        let mut options = terminal_options(to_standard_output && io::stdout().is_terminal());
        (options.all, options.ascii) = (self.all, self.ascii);
        if let Some(width) = self.width {
            options.width = width.into();
            options.picture_width = width.into();
        }
        options
    }
}
