//! What exports share: a buffered output that keeps its first error, and ticks as nanoseconds.

use crate::Error;
use crate::manifest::Clock;
use std::fmt::Arguments;
use std::io::{BufWriter, Write};

/// A writer for visitors, which cannot return an error themselves.
///
/// An error that the caller wants to tell apart, such as a reader that closed the pipe, is the `source` of
/// the [`Error::Io`] that [`Output::finish`] returns.
pub(crate) struct Output<W: Write> {
    writer: BufWriter<W>,
    result: std::io::Result<()>,
}

impl<W: Write> Output<W> {
    /// Writes to `writer` in pieces of 64 KiB; its first failure is what `finish` returns.
    pub fn new(writer: W) -> Output<W> {
        Output {
            writer: BufWriter::with_capacity(64 << 10, writer),
            result: Ok(()),
        }
    }

    /// Writes, unless something failed before.
    pub fn print(&mut self, text: Arguments<'_>) {
        if self.result.is_ok() {
            self.result = self.writer.write_fmt(text);
        }
    }

    /// Writes what is buffered and returns the first error.
    pub fn finish(mut self) -> Result<(), Error> {
        self.result
            .and_then(|()| self.writer.flush())
            .map_err(Error::io("output", "cannot write"))
    }
}

/// `ticks` in whole nanoseconds, rounded. A clock of nanoseconds keeps all its digits.
pub fn nanoseconds(clock: &Clock, ticks: u64) -> u64 {
    if clock.ticks_per_ns == 1.0 {
        ticks
    } else {
        clock.ns(ticks as f64).round() as u64
    }
}
