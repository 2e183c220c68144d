//! Quanta, or kernel events, as comma-separated values (RFC 4180, lines that end with a line feed), for spreadsheets and scripts that read no
//! Parquet. What gaps were takes the analysis to say: `view` writes those.

use crate::export::Output;
pub use crate::export::nanoseconds;
use crate::{Error, Series, Source};
use std::io::Write;

/// The first line.
const HEADER: &str = "rate_hz,kernel,start_ns,end_ns,count,gaps,gap_ns,measurement_ns,cpu,segment,pace_ns_per_unit,series_cpu";

/// Writes the quanta of some series of `source`, one series after the other, one quantum a line under a
/// line of names. Times are whole nanoseconds since the recording's origin, rounded; the Parquet files
/// hold the exact ticks. `cpu` is where a quantum ended and `series_cpu` the CPU that was to be measured, empty where it is not known; so is
/// the pace of a quantum that the CPU was away for.
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
    let suffix = cpu(series);
    source.replay_quanta(index, &mut |chunk| {
        for row in 0..chunk.len() {
            let quantum = chunk.get(row);
            output.print(format_args!(
                "{prefix},{},{},{},{},{},{},{},{},{},{suffix}\n",
                nanoseconds(clock, quantum.start),
                nanoseconds(clock, quantum.end),
                quantum.count,
                quantum.gaps,
                nanoseconds(clock, quantum.gap_ticks),
                nanoseconds(clock, quantum.measurement_ticks),
                quantum.cpu,
                quantum.segment,
                quantum
                    .pace()
                    .map_or(String::new(), |pace| format!("{:.6}", clock.ns(pace))),
            ));
        }
    })
}

/// The first line of kernel events.
const EVENTS_HEADER: &str = "cpu,start_ns,end_ns,kind,number,name,sender,sender_cpu,function,waited_ns,sender_function,set_by";

/// Writes the kernel events of the CPUs of some series, one CPU after the other, one event a line. Names are in
/// quotation marks, as a task's may hold a comma; what is no visible character in them is escaped
/// ([`crate::events::escaped`]).
///
/// # Errors
/// As [`write_csv`].
///
/// # Panics
/// As [`write_csv`].
pub fn write_events_csv(
    source: &dyn Source,
    series: &[usize],
    output: impl Write,
) -> Result<(), Error> {
    let mut output = Output::new(output);
    output.print(format_args!("{EVENTS_HEADER}\n"));
    let clock = &source.manifest().clock;
    let mut written = Vec::new();
    for &index in series {
        // Series of one CPU in one recording share its events; of two recordings each has its own.
        let series = &source.series()[index];
        if written.contains(&(series.cpu, &series.origin)) {
            continue;
        }
        written.push((series.cpu, &series.origin));
        let cpu = cpu(series);
        let (mut stream, mut events) = (source.events(index)?, Vec::new());
        while stream.next(&mut events)? {
            for event in &events {
                output.print(format_args!(
                    "{cpu},{},{},{},{},{},",
                    nanoseconds(clock, event.start),
                    nanoseconds(clock, event.end()),
                    event.kind.name(),
                    event.number,
                    quoted(&event.name)
                ));
                match event.sender.as_deref() {
                    Some(sender) => output.print(format_args!(
                        "{},{},{},{},{},{}\n",
                        quoted(&sender.name),
                        sender.cpu,
                        quoted(&sender.function),
                        nanoseconds(clock, event.start)
                            - nanoseconds(clock, event.start.saturating_sub(event.waited)),
                        quoted(&sender.caller),
                        quoted(&sender.set_by),
                    )),
                    None => output.print(format_args!(",,,,,\n")),
                }
            }
        }
    }
    output.finish()
}

/// The CPU of a series; empty where it is not known.
pub fn cpu(series: &Series) -> String {
    series.cpu.map_or(String::new(), |cpu| cpu.to_string())
}

/// A text as a field: in quotation marks, those inside doubled. What a spreadsheet would take for a formula has an apostrophe before it, by
/// which a spreadsheet takes it for text (OWASP, CSV injection).
pub fn quoted(text: &str) -> String {
    let mark = match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => "'",
        false => "",
    };
    format!("\"{mark}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Clock;
    use crate::source::InMemory;
    use crate::{EventKind, KernelEvent, Manifest, Quanta, Quantum, Sender};
    use std::sync::Arc;

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
            format!("{HEADER}\n10000,mulss80,100,202,7,1,26,2,2,4,12.416667,2\n")
        );
    }

    #[test]
    fn events_of_a_cpu_are_written_once() {
        let mut source = source();
        source.series.push(source.series[0].clone());
        let event = KernelEvent {
            start: 200,
            duration: 50,
            kind: EventKind::Task,
            number: 7,
            name: "a, \"b\"".into(),
            sender: Some(Arc::new(Sender {
                name: "irq:eth0".into(),
                cpu: 3,
                caller: "net_rx_action".into(),
                ..Sender::default()
            })),
            waited: 20,
        };
        source.events = vec![vec![event.clone()], vec![event]];
        let mut written = Vec::new();
        write_events_csv(&source, &[0, 1], &mut written).unwrap();
        let text = String::from_utf8(written).unwrap();
        let wanted =
            "2,100,125,task,7,\"a, \"\"b\"\"\",\"irq:eth0\",3,\"\",10,\"net_rx_action\",\"\"\n";
        assert_eq!(text, format!("{EVENTS_HEADER}\n{wanted}"));
    }

    #[test]
    fn no_text_is_a_formula() {
        for formula in ["=cmd|' /C calc'!A0", "@SUM(A1)", "-2+3", "+", "\t=1", "\r"] {
            assert_eq!(quoted(formula), format!("\"'{formula}\""));
        }
        assert_eq!(quoted("task:=cmd"), "\"task:=cmd\"");
        assert_eq!(quoted(""), "\"\"");
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
