//! A small recording as a trace, byte by byte, and what a decoder of its own reads of it.

use super::*;
use bandscope_recording::manifest::{Events, EventsState, LostEvents};
use bandscope_recording::source::InMemory;
use bandscope_recording::{EventKind, Gap, KernelEvent, Quanta, Quantum};
use std::fmt::Write as _;

/// Two ticks a nanosecond, four quanta of a microsecond in two segments with a pause between, from tick 2000. The second one has a gap
/// in which a task ran that an interrupt interrupted.
fn source() -> InMemory {
    let mut quanta = Quanta::default();
    for (start, segment) in [(2_000, 0), (4_000, 0), (8_000, 2), (10_000, 2)] {
        let gap = start == 4_000;
        quanta.push(Quantum {
            start,
            end: start + 2_000,
            count: if gap { 11 } else { 20 },
            gaps: u32::from(gap),
            gap_ticks: if gap { 1_000 } else { 0 },
            cpu: 3,
            segment,
            ..Quantum::default()
        });
    }
    let event = |start, duration, kind, number, name: &str| KernelEvent {
        start,
        duration,
        kind,
        number,
        name: name.into(),
        ..KernelEvent::default()
    };
    let mut manifest = Manifest {
        tool: "bandscope 0.0.0".into(),
        run: "cafe".into(),
        events: Events {
            state: EventsState::On,
            clock: "simulated".into(),
            lost: vec![LostEvents {
                cpu: 3,
                from: 9_000,
                to: u64::MAX,
                events: 2,
            }],
            ..Events::default()
        },
        ..Manifest::default()
    };
    manifest.clock.ticks_per_ns = 2.0;
    manifest.clock.name = "simulated".into();
    manifest.clock.origin_unix_ns = 1_700_000_000_000_000_000;
    manifest.machine.cpu_model = Some("A & B <CPU>".into());
    InMemory {
        manifest,
        series: vec![Series {
            cpu: Some(3),
            rate_hz: 1e6,
            kernel: "imul20".into(),
            gaps_known: true,
            ends_known: true,
            origin: "some/where.bandscope/".into(),
        }],
        quanta: vec![quanta],
        gaps: vec![vec![Gap {
            start: 4_600,
            duration: 1_000,
            preempted: Some(true),
            ..Gap::default()
        }]],
        events: vec![vec![
            event(1_000, 10, EventKind::Vector, 1, "too_early"),
            event(4_600, 1_000, EventKind::Task, 77, "sh\u{202e}"),
            event(4_800, 100, EventKind::Vector, 236, "local_timer"),
            event(5_000, 0, EventKind::Exception, 14, "page_fault_user"),
        ]],
    }
}

fn written(source: &InMemory, most_points: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write_points(source, &[0], most_points, &mut out).unwrap();
    out
}

/// Fields of a message: number, and an integer, eight bytes or a length and its bytes.
enum Field<'a> {
    Varint(u64),
    Double(f64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, Field<'_>)>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let field = match key & 7 {
            0 => Field::Varint(varint(&mut bytes)?),
            1 => {
                let (value, rest) = bytes.split_first_chunk()?;
                bytes = rest;
                Field::Double(f64::from_le_bytes(*value))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (value, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                Field::Bytes(value)
            }
            _ => return None,
        };
        (key >> 3 > 0).then_some(())?;
        fields.push((key >> 3, field));
    }
    Some(fields)
}

/// As `protoc --decode_raw` shows a message. What could be text and a message is text.
fn show(bytes: &[u8], depth: usize, text: &mut String) {
    for (number, field) in fields(bytes).unwrap() {
        let _ = write!(text, "{:1$}{number}", "", 2 * depth);
        let _ = match field {
            Field::Varint(value) => writeln!(text, ": {value}"),
            Field::Double(value) => writeln!(text, ": {value:?}"),
            Field::Bytes(bytes) if bytes.iter().all(|byte| (0x20..0x7f).contains(byte)) => {
                writeln!(text, ": {:?}", std::str::from_utf8(bytes).unwrap())
            }
            Field::Bytes(bytes) => {
                let _ = writeln!(text);
                show(bytes, depth + 1, text);
                Ok(())
            }
        };
    }
}

/// The packets of a trace.
fn packets(trace: &[u8]) -> Vec<&[u8]> {
    let packets = fields(trace).unwrap().into_iter();
    let packet = |(number, field)| match field {
        Field::Bytes(bytes) if number == 1 => bytes,
        _ => panic!("field {number} of a trace"),
    };
    packets.map(packet).collect()
}

/// The integer, or the message, of a field.
fn number(bytes: &[u8], wanted: u64) -> Option<u64> {
    let found = fields(bytes).unwrap().into_iter();
    found.into_iter().find_map(|(number, field)| match field {
        Field::Varint(value) if number == wanted => Some(value),
        _ => None,
    })
}

fn inner(bytes: &[u8], wanted: u64) -> Option<&[u8]> {
    let found = fields(bytes).unwrap().into_iter();
    found.into_iter().find_map(|(number, field)| match field {
        Field::Bytes(value) if number == wanted => Some(value),
        _ => None,
    })
}

#[test]
fn a_small_recording_byte_by_byte() {
    let trace = written(&source(), 1 << 20);
    let mut text = String::new();
    for packet in packets(&trace) {
        show(packet, 0, &mut text);
        for line in packet.chunks(32) {
            for byte in line {
                let _ = write!(text, "{byte:02x}");
            }
            text.push('\n');
        }
        text.push('\n');
    }
    insta::assert_snapshot!(text);
}

/// Points of the counter: when, and the value.
fn points(trace: &[u8]) -> Vec<(u64, f64)> {
    let mut points = Vec::new();
    for packet in packets(trace) {
        let Some(event) = inner(packet, 11).filter(|event| number(event, 9) == Some(4)) else {
            continue;
        };
        let value = fields(event).unwrap().into_iter();
        let value = value.into_iter().find_map(|(number, field)| match field {
            Field::Double(value) if number == 44 => Some(value),
            _ => None,
        });
        points.push((number(packet, 8).unwrap(), value.unwrap()));
    }
    points
}

#[test]
fn pace_has_a_point_a_quantum() {
    let wanted = [(0, 50.0), (1_000, 50.0), (3_000, 50.0), (4_000, 50.0)];
    assert_eq!(points(&written(&source(), 4)), wanted);
}

#[test]
fn of_too_many_quanta_the_fastest_and_the_slowest_are_kept() {
    let mut source = source();
    let mut quanta = Quanta::default();
    for k in 0..100u64 {
        quanta.push(Quantum {
            start: 2_000 + 2_000 * k,
            end: 4_000 + 2_000 * k,
            count: match k {
                33 => 50,
                36 => 10,
                71 => 0,
                _ => 20,
            },
            ..Quantum::default()
        });
    }
    source.quanta = vec![quanta];
    let points = points(&written(&source, 20));
    // Of each ten one where they are all alike.
    assert_eq!(points.len(), 11);
    assert!(points.contains(&(33_000, 20.0)) && points.contains(&(36_000, 100.0)));
    assert_eq!(pace::block(100, 20), 10);
    assert_eq!(pace::block(101, 20), 11);
    assert_eq!(pace::block(20, 20), 1);
    assert_eq!(pace::block(5, 1), 5);
}

/// Whoever makes recordings by hand can let events overlap in part: each slice must still end once, and after it began.
#[test]
fn slices_end_in_turn_whatever_the_events_are() {
    let mut source = source();
    let event = |start, duration| KernelEvent {
        start,
        duration,
        kind: EventKind::Task,
        ..KernelEvent::default()
    };
    source.events = vec![vec![
        event(2_000, 1_000),
        event(2_500, 1_000),
        event(2_900, 10_000),
        event(4_000, 1),
        event(4_000, 4_000),
    ]];
    let trace = written(&source, 4);
    let mut open: std::collections::BTreeMap<u64, Vec<u64>> = Default::default();
    let mut slices = 0;
    for packet in packets(&trace) {
        let Some(event) = inner(packet, 11) else {
            continue;
        };
        let (at, track) = (number(packet, 8).unwrap(), number(event, 11).unwrap());
        let open = open.entry(track).or_default();
        match number(event, 9) {
            Some(1) => {
                open.push(at);
                slices += 1;
            }
            Some(2) => assert!(open.pop().unwrap() <= at),
            _ => {}
        }
    }
    assert!(open.values().all(Vec::is_empty));
    // Two segments, a gap, a span of lost events, five events.
    assert_eq!(slices, 2 + 1 + 1 + 5);
}

#[test]
fn nothing_recorded_is_a_trace_too() {
    let mut source = source();
    source.quanta = vec![Quanta::default()];
    source.gaps.clear();
    source.events.clear();
    let packets = written(&source, 4);
    assert!(points(&packets).is_empty());
    let mut out = Vec::new();
    write(&InMemory::default(), &[], &mut out).unwrap();
    assert!(!out.is_empty());
}

#[test]
fn a_closed_pipe_is_an_error_of_writing() {
    let mut small = [0u8; 100];
    let error = write(&source(), &[0], &mut &mut small[..]).unwrap_err();
    assert!(matches!(error, Error::Write(error) if error.kind() == std::io::ErrorKind::WriteZero));
}
