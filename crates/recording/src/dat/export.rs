//! A series as a file of the original FTQ, so that old scripts read new recordings.

use crate::dat::build::segment_mark;
use crate::export::{Output, nanoseconds};
use crate::{Error, Source};
use std::io::Write;

/// Writes series `series` of `source` as `.dat`: start of each quantum in nanoseconds since the origin, and
/// its count. For an imported file the printed times are those of the file.
///
/// Gaps, ends and the CPU are not in this format. Segments are marked by comments.
///
/// # Errors
/// If the source cannot be read or the output not be written.
///
/// # Panics
/// If `source` has no series of this index.
pub fn write_dat(source: &dyn Source, series: usize, output: impl Write) -> Result<(), Error> {
    let mut output = Output::new(output);
    let manifest = source.manifest();
    let clock = &manifest.clock;
    let origin_ns = if manifest.is_imported() {
        clock.origin_ticks
    } else {
        0
    };
    output.print(format_args!(
        "# Frequency {}\n",
        frequency(source.series()[series].rate_hz)
    ));
    let mut segment = 0;
    source.replay_quanta(series, &mut |chunk| {
        if chunk.segment != segment {
            segment = chunk.segment;
            debug_assert_eq!(
                segment_mark(format!("Segment {segment}").as_bytes()),
                Some(segment)
            );
            output.print(format_args!("# Segment {segment}\n"));
        }
        for (&start, &count) in chunk.start.iter().zip(chunk.count) {
            let time = nanoseconds(clock, start).saturating_add(origin_ns);
            output.print(format_args!("{time:011} {count}\n"));
        }
    })?;
    output.finish()
}

/// As the original prints it, with six digits, unless the rate needs more to read back the same.
fn frequency(rate_hz: f64) -> String {
    let usual = format!("{rate_hz:.6}");
    if usual.parse() == Ok(rate_hz) {
        usual
    } else {
        rate_hz.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dat::DatFile;
    use std::path::Path;

    #[test]
    fn published_files_come_out_as_they_went_in() {
        let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
        for name in [
            "spr-10khz-a.dat",
            "spr-10khz-b.dat",
            "aligned-interference.dat",
        ] {
            let path = cases.join(name);
            let mut written = Vec::new();
            write_dat(&DatFile::open(&path).unwrap(), 0, &mut written).unwrap();
            assert_eq!(written, std::fs::read(&path).unwrap(), "{name}");
        }
    }

    #[test]
    fn a_rate_reads_back_the_same() {
        assert_eq!(frequency(10_000.0), "10000.000000");
        for rate in [1e9 / 3.0, 7777.7777777, 1e-9] {
            assert_eq!(frequency(rate).parse(), Ok(rate));
        }
    }
}
