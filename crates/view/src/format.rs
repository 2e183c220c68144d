//! The output formats: one trait, one list. A new format is one file and one line of [`FORMATS`].

use crate::{Error, Options};
use bandscope_analysis::Analysis;
use std::io::Write;

/// Something that a report can be written as.
pub trait Format: Sync {
    /// What `--format` calls it; also the extension of a file of it.
    fn name(&self) -> &'static str;

    /// Whether it is bytes that do not belong on a terminal.
    fn is_binary(&self) -> bool {
        false
    }

    /// Whether it is one picture, which can show a part of the recording.
    fn is_picture(&self) -> bool {
        false
    }

    /// How many quanta themselves it can hold, where it draws more than the pyramid has: then `analysis.details` should be
    /// [`bandscope_analysis::detail::collect`]'s. It makes do without.
    fn quanta(&self) -> Option<usize> {
        None
    }

    /// Writes `analysis` to `out`, whole.
    ///
    /// # Errors
    /// [`Error::Write`] if `out` fails; what a format cannot do besides.
    fn render(
        &self,
        analysis: &Analysis,
        options: &Options,
        out: &mut dyn Write,
    ) -> Result<(), Error>;
}

/// Every format, the default first.
pub const FORMATS: &[&dyn Format] = &[
    &crate::text::Text,
    &crate::json::Json,
    &crate::png::Png,
    &crate::svg::Svg,
    &crate::html::Html,
    &crate::prometheus::Prometheus,
];

/// The format of that name.
pub fn find(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in FORMATS {
            let found = find(format.name()).map(|found| found.name());
            assert_eq!(found, Some(format.name()));
        }
        assert!(find("pdf").is_none());
    }

    #[test]
    fn every_format_draws_every_sample() {
        for (name, analysis) in samples::all() {
            for format in FORMATS {
                let mut out = Vec::new();
                let result = format.render(&analysis, &Options::default(), &mut out);
                assert!(result.is_ok(), "{name} as {}: {result:?}", format.name());
                assert!(!out.is_empty(), "{name} as {}", format.name());
            }
        }
    }

    #[test]
    fn a_closed_pipe_is_an_error_of_writing_in_every_format() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        for format in FORMATS {
            let result = format.render(&samples::imported(), &Options::default(), &mut Closed);
            assert!(
                matches!(&result, Err(Error::Write(error))
                    if error.kind() == std::io::ErrorKind::BrokenPipe),
                "{}: {result:?}",
                format.name()
            );
        }
    }
}
