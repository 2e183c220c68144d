//! Packets of Perfetto's trace format: tracks, slices, counters.
//!
//! A trace is a sequence of `TracePacket`s, each a field 1 of `Trace`, so that it is written as it comes and nothing is kept. The numbers of the
//! fields are those of the published schema (`protos/perfetto/trace/`: trace_packet.proto, track_event/track_event.proto,
//! track_descriptor.proto, counter_descriptor.proto, process_descriptor.proto, debug_annotation.proto, clock_snapshot.proto,
//! interned_data/interned_data.proto), which never change once given out.

use super::wire::Message;
use crate::escape::visible;
use std::io::{self, Write};

/// `Trace.packet`.
const PACKET: u32 = 1;

mod packet {
    pub const CLOCK_SNAPSHOT: u32 = 6;
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED_DATA: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const TRACK_DESCRIPTOR: u32 = 60;
}

mod event {
    pub const ANNOTATIONS: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const TRACK: u32 = 11;
    pub const NAME: u32 = 23;
    pub const DOUBLE_VALUE: u32 = 44;
    /// Values of [`TYPE`].
    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
}

mod track {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PROCESS: u32 = 3;
    pub const PARENT: u32 = 5;
    pub const COUNTER: u32 = 8;
    /// Newer than the rest: whoever does not know it shows the track without.
    pub const DESCRIPTION: u32 = 14;
    /// Of a process.
    pub const PID: u32 = 1;
    pub const PROCESS_NAME: u32 = 6;
    pub const PROCESS_LABELS: u32 = 8;
    /// Of a counter.
    pub const UNIT_NAME: u32 = 6;
}

mod annotation {
    pub const NAME_IID: u32 = 1;
    pub const BOOL: u32 = 2;
    pub const UINT: u32 = 3;
    pub const DOUBLE: u32 = 5;
    pub const STRING: u32 = 6;
    pub const NAME: u32 = 10;
    pub const ENTRIES: u32 = 11;
}

mod clock {
    pub const CLOCKS: u32 = 1;
    pub const PRIMARY: u32 = 2;
    pub const ID: u32 = 1;
    pub const TIMESTAMP: u32 = 2;
    pub const REALTIME: u64 = 1;
    /// What timestamps are on where no packet says otherwise.
    pub const BOOTTIME: u64 = 6;
}

/// `InternedData.debug_annotation_names`, and the fields of what stands there.
const ANNOTATION_NAMES: u32 = 3;
const IID: u32 = 1;
const IID_NAME: u32 = 2;

/// All packets are of one sequence, whose state begins with the first packet.
const ONE_SEQUENCE: u64 = 1;
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// Declares the names of arguments, which are written once and referred to by number.
macro_rules! arguments {
    ($($variant:ident $name:literal,)*) => {
        /// What an argument of a slice is called.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Name { $($variant,)* }
        const NAMES: &[&str] = &[$($name,)*];
    };
}

arguments! {
    Cause "cause",
    Certainty "certainty",
    Shares "shares_ns",
    Pid "pid",
    Preempted "preempted",
    Kind "kind",
    Number "number",
    Quanta "quanta",
    Format "format",
    Tool "tool",
    Recording "recording",
    Run "run",
    Machine "machine",
    Clock "clock",
    TicksPerNs "ticks_per_ns",
    ClockError "clock_error_ppm",
    OriginTicks "origin_ticks",
    Events "kernel_events",
    EventsBefore "kernel_events_before_the_start",
    TimeError "kernel_events_time_error_ns",
    Decimated "pace_decimated",
    QuantaAPoint "pace_quanta_per_two_points",
    Gaps "gaps",
    Sender "sender",
    SenderCpu "sender_cpu",
    SenderFunction "sender_function",
    SetBy "set_by",
    Function "function",
    Waited "waited_ns",
}

/// The value of an argument.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    Text(&'a str),
    Uint(u64),
    Double(f64),
    Bool(bool),
    /// Names that come from outside, and a number each.
    Numbers(&'a [(String, u64)]),
}

/// A track, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track(u64);

/// A trace under way.
///
/// Its methods are called by visitors, which cannot return errors: the first one is kept for [`Trace::finish`].
pub struct Trace<'a> {
    out: &'a mut dyn Write,
    message: Message,
    result: io::Result<()>,
    tracks: u64,
    processes: u64,
}

impl<'a> Trace<'a> {
    /// Begins one; `unix_ns` is the time of its zero since 1970, where that is known.
    pub fn new(out: &'a mut dyn Write, unix_ns: Option<u64>) -> Trace<'a> {
        let mut trace = Trace {
            out,
            message: Message::default(),
            result: Ok(()),
            tracks: 0,
            processes: 0,
        };
        trace.packet(STATE_CLEARED, &mut |packet| {
            packet.uint(packet::TIMESTAMP, 0);
            packet.message(packet::CLOCK_SNAPSHOT, &mut |snapshot| {
                let mut reading = |id, ns| {
                    snapshot.message(clock::CLOCKS, &mut |one| {
                        one.uint(clock::ID, id);
                        one.uint(clock::TIMESTAMP, ns);
                    });
                };
                reading(clock::BOOTTIME, 0);
                if let Some(ns) = unix_ns {
                    reading(clock::REALTIME, ns);
                }
                snapshot.uint(clock::PRIMARY, clock::BOOTTIME);
            });
            packet.message(packet::INTERNED_DATA, &mut |interned| {
                for (index, name) in NAMES.iter().enumerate() {
                    interned.message(ANNOTATION_NAMES, &mut |entry| {
                        entry.uint(IID, index as u64 + 1);
                        entry.text(IID_NAME, name);
                    });
                }
            });
        });
        trace
    }

    /// A group of tracks.
    pub fn process(&mut self, name: &str, label: &str) -> Track {
        self.processes += 1;
        let (track, pid, name, label) = (
            self.next_track(),
            self.processes,
            visible(name),
            visible(label),
        );
        self.packet(0, &mut |packet| {
            packet.message(packet::TRACK_DESCRIPTOR, &mut |descriptor| {
                descriptor.uint(track::UUID, track.0);
                descriptor.message(track::PROCESS, &mut |process| {
                    process.uint(track::PID, pid);
                    process.text(track::PROCESS_NAME, &name);
                    if !label.is_empty() {
                        process.text(track::PROCESS_LABELS, &label);
                    }
                });
            });
        });
        track
    }

    /// A track of slices, in a group or by itself.
    pub fn slices(&mut self, group: Option<Track>, name: &str, description: &str) -> Track {
        self.track(group, name, description, None)
    }

    /// A track of numbers.
    pub fn counter(&mut self, group: Track, name: &str, unit: &str, description: &str) -> Track {
        self.track(Some(group), name, description, Some(unit))
    }

    fn track(
        &mut self,
        group: Option<Track>,
        name: &str,
        description: &str,
        unit: Option<&str>,
    ) -> Track {
        let track = self.next_track();
        self.packet(0, &mut |packet| {
            packet.message(packet::TRACK_DESCRIPTOR, &mut |descriptor| {
                descriptor.uint(track::UUID, track.0);
                descriptor.text(track::NAME, name);
                if let Some(group) = group {
                    descriptor.uint(track::PARENT, group.0);
                }
                if let Some(unit) = unit {
                    descriptor.message(track::COUNTER, &mut |counter| {
                        counter.text(track::UNIT_NAME, unit);
                    });
                }
                descriptor.text(track::DESCRIPTION, description);
            });
        });
        track
    }

    fn next_track(&mut self) -> Track {
        // 0 is the trace's own.
        self.tracks += 1;
        Track(self.tracks)
    }

    /// A slice begins, at a time in nanoseconds. Slices of a track lie within one another.
    pub fn begin(&mut self, track: Track, ns: u64, name: &str, arguments: &[(Name, Value<'_>)]) {
        self.named(event::BEGIN, track, ns, name, arguments);
    }

    /// The innermost slice of the track ends.
    pub fn end(&mut self, track: Track, ns: u64) {
        self.event(0, event::END, track, ns, &mut |_| {});
    }

    /// Something without a duration.
    pub fn instant(&mut self, track: Track, ns: u64, name: &str, arguments: &[(Name, Value<'_>)]) {
        self.named(event::INSTANT, track, ns, name, arguments);
    }

    /// A counter has this value from now on.
    pub fn count(&mut self, track: Track, ns: u64, value: f64) {
        self.event(0, event::COUNTER, track, ns, &mut |event| {
            event.double(event::DOUBLE_VALUE, value);
        });
    }

    /// Everything is written to the output that was given.
    ///
    /// # Errors
    /// The first one.
    pub fn finish(self) -> io::Result<()> {
        self.result
    }

    fn named(
        &mut self,
        kind: u64,
        track: Track,
        ns: u64,
        name: &str,
        arguments: &[(Name, Value<'_>)],
    ) {
        let name = visible(name);
        let flags = if arguments.is_empty() { 0 } else { NEEDS_STATE };
        self.event(flags, kind, track, ns, &mut |event| {
            event.text(event::NAME, &name);
            for (name, value) in arguments {
                event.message(event::ANNOTATIONS, &mut |annotation| {
                    annotation.uint(annotation::NAME_IID, *name as u64 + 1);
                    put(annotation, value);
                });
            }
        });
    }

    fn event(
        &mut self,
        flags: u64,
        kind: u64,
        track: Track,
        ns: u64,
        more: &mut dyn FnMut(&mut Message),
    ) {
        self.packet(flags, &mut |packet| {
            packet.uint(packet::TIMESTAMP, ns);
            packet.message(packet::TRACK_EVENT, &mut |event| {
                event.uint(event::TYPE, kind);
                event.uint(event::TRACK, track.0);
                more(event);
            });
        });
    }

    fn packet(&mut self, flags: u64, build: &mut dyn FnMut(&mut Message)) {
        if self.result.is_err() {
            return;
        }
        self.message.clear();
        self.message.message(PACKET, &mut |packet| {
            packet.uint(packet::SEQUENCE, ONE_SEQUENCE);
            if flags != 0 {
                packet.uint(packet::SEQUENCE_FLAGS, flags);
            }
            build(packet);
        });
        self.result = self.out.write_all(self.message.as_bytes());
    }
}

fn put(annotation: &mut Message, value: &Value<'_>) {
    match *value {
        Value::Text(text) => annotation.text(annotation::STRING, &visible(text)),
        Value::Uint(number) => annotation.uint(annotation::UINT, number),
        Value::Double(number) => annotation.double(annotation::DOUBLE, number),
        Value::Bool(yes) => annotation.uint(annotation::BOOL, u64::from(yes)),
        Value::Numbers(entries) => {
            for (name, number) in entries {
                annotation.message(annotation::ENTRIES, &mut |entry| {
                    entry.text(annotation::NAME, &visible(name));
                    entry.uint(annotation::UINT, *number);
                });
            }
        }
    }
}
