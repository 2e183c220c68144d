//! Gaps as comma-separated values, one a line, by the names that the ledger has for them. Counters of gaps are in the recording's own files.

use crate::Error;
use bandscope_analysis::named;
use bandscope_recording::Source;
use bandscope_recording::csv::{cpu, nanoseconds, quoted};
use std::io::Write;

/// The first line.
const HEADER: &str =
    "series_cpu,rate_hz,kernel,start_ns,end_ns,segment,cause,cause_ns,certainty,pid,preempted";

/// Writes the gaps of some series of `source`, one series after the other. Times are whole nanoseconds since the recording's origin, as those of
/// quanta. `cause` is what took most of a gap, for `cause_ns` of it; `pid` is that of a task, `preempted` 1 or 0, and both are empty where
/// that is not known.
///
/// # Errors
/// If the recording cannot be read, or the output not be written.
///
/// # Panics
/// If `source` has no series of one of these indices.
pub fn write(source: &dyn Source, series: &[usize], out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "{HEADER}")?;
    let clock = &source.manifest().clock;
    for &index in series {
        let one = &source.series()[index];
        let prefix = format!("{},{},{}", cpu(one), one.rate_hz, one.kernel);
        let mut result = Ok(());
        named::each(source, index, &mut |gap| {
            if result.is_err() {
                return;
            }
            let (start, end) = (
                gap.gap.start,
                gap.gap.start.saturating_add(gap.gap.duration),
            );
            let main = gap.shares.get(gap.main).map_or(0, |share| share.1);
            result = writeln!(
                out,
                "{prefix},{},{},{},{},{},{},{},{}",
                nanoseconds(clock, start),
                nanoseconds(clock, end),
                gap.gap.segment,
                quoted(&gap.cause().to_string()),
                nanoseconds(clock, main),
                gap.certainty.name(),
                gap.task.map_or(String::new(), |id| id.to_string()),
                gap.gap
                    .preempted
                    .map_or("", |yes| if yes { "1" } else { "0" }),
            );
        })?;
        result?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::source::{InMemory, Series};
    use bandscope_recording::{EventKind, Gap, KernelEvent, Manifest};

    #[test]
    fn a_name_cannot_leave_its_field() {
        let mut manifest = Manifest::default();
        manifest.clock.ticks_per_ns = 2.0;
        let gap = |start, preempted| Gap {
            start,
            duration: 100,
            segment: 3,
            preempted,
            ..Gap::default()
        };
        let source = InMemory {
            manifest,
            series: vec![Series {
                cpu: Some(1),
                rate_hz: 1e4,
                kernel: "imul20".into(),
                gaps_known: true,
                ends_known: true,
                origin: String::new(),
            }],
            gaps: vec![vec![gap(200, Some(true)), gap(900, None)]],
            events: vec![vec![KernelEvent {
                start: 200,
                duration: 100,
                kind: EventKind::Task,
                number: 7,
                name: "a,\"b".into(),
                ..KernelEvent::default()
            }]],
            ..InMemory::default()
        };
        let mut out = Vec::new();
        write(&source, &[0], &mut out).unwrap();
        let wanted = [
            HEADER,
            "1,10000,imul20,100,150,3,\"task:a,\"\"b\",50,certain,7,1",
            "1,10000,imul20,450,500,3,\"unnamed\",50,possible,,",
        ];
        assert_eq!(
            String::from_utf8(out).unwrap().lines().collect::<Vec<_>>(),
            wanted
        );
    }
}
