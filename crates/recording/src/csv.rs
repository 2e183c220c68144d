//! Quanta as comma-separated values, for spreadsheets and scripts that read no Parquet.

use crate::export::{Output, nanoseconds};
use crate::{Error, Source};
use std::io::Write;

/// The first line.
const HEADER: &str = "rate_hz,kernel,start_ns,end_ns,count,gaps,gap_ns,measurement_ns,cpu,segment";

/// Writes the quanta of some series of `source`, one series after the other, one quantum a line under a
/// line of names. Times are whole nanoseconds since the recording's origin, rounded; the Parquet files
/// hold the exact ticks.
///
/// # Errors
/// If the source cannot be read or the output not be written.
///
/// # Panics
/// If `source` has no series of one of these indices.
pub fn write_csv(source: &dyn Source, series: &[usize], output: impl Write) -> Result<(), Error> {
    let mut output = Output::new(output);
    output.print(format_args!("{HEADER}\n"));
    for &index in series {
        write_series(source, index, &mut output)?;
    }
    output.finish()
}

fn write_series(
    source: &dyn Source,
    index: usize,
    output: &mut Output<impl Write>,
) -> Result<(), Error> {
    let clock = &source.manifest().clock;
    let series = &source.series()[index];
    // Names of work kernels are checked when a recording is opened: they hold no comma.
    let prefix = format!("{},{}", series.rate_hz, series.kernel);
    source.replay_quanta(index, &mut |chunk| {
        for row in 0..chunk.len() {
            let quantum = chunk.get(row);
            output.print(format_args!(
                "{prefix},{},{},{},{},{},{},{},{}\n",
                nanoseconds(clock, quantum.start),
                nanoseconds(clock, quantum.end),
                quantum.count,
                quantum.gaps,
                nanoseconds(clock, quantum.gap_ticks),
                nanoseconds(clock, quantum.measurement_ticks),
                quantum.cpu,
                quantum.segment,
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Clock;
    use crate::source::InMemory;
    use crate::{Manifest, Quanta, Quantum, Series};

    fn source() -> InMemory {
        let mut quanta = Quanta::default();
        quanta.push(Quantum {
            start: 200,
            end: 403,
            count: 7,
            gaps: 1,
            gap_ticks: 51,
            measurement_ticks: 3,
            cpu: 2,
            segment: 4,
        });
        InMemory {
            manifest: Manifest {
                clock: Clock {
                    ticks_per_ns: 2.0,
                    ..Clock::default()
                },
                ..Manifest::default()
            },
            series: vec![Series {
                cpu: Some(2),
                rate_hz: 10_000.0,
                kernel: "mulss80".into(),
                gaps_known: true,
                ends_known: true,
                origin: "test".into(),
            }],
            quanta: vec![quanta],
            gaps: vec![],
            ..InMemory::default()
        }
    }

    #[test]
    fn times_are_nanoseconds() {
        let mut written = Vec::new();
        write_csv(&source(), &[0], &mut written).unwrap();
        let text = String::from_utf8(written).unwrap();
        assert_eq!(
            text,
            format!("{HEADER}\n10000,mulss80,100,202,7,1,26,2,2,4\n")
        );
    }

    #[test]
    fn a_closed_pipe_is_told_as_such() {
        let mut full = [0u8; 10];
        let error = write_csv(&source(), &[0], &mut full[..]).unwrap_err();
        assert!(
            matches!(error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::WriteZero)
        );
    }
}
