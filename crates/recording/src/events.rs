//! Kernel events: what the operating system says it did on a measured CPU, and when.
//!
//! They come from whatever machine can tell (`probe` asks the kernel's tracepoints) and serve to name gaps.
//! Times are on the clock of the gaps; how far the two may be apart stands in
//! [`crate::manifest::Events::time_error_ticks`]. Where events were lost the manifest lists the span: silence there
//! says nothing.

use crate::text::push_hex;
use std::sync::Arc;

/// The longest name in a file, in bytes: a device's or a task's, escaped.
pub const MAX_NAME_BYTES: usize = 1024;

/// What the operating system did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// An interrupt of the CPU itself (x86 irq_vectors): the local timer, a call or a reschedule by another CPU.
    #[default]
    Vector,
    /// An interrupt of a device, by its number and the name of its handler.
    Interrupt,
    /// A softirq, by its kind as in /proc/softirqs.
    Softirq,
    /// Another task ran in place of the measuring thread.
    Task,
    /// A page fault. Its end is not told: the duration is 0.
    Exception,
    /// A non-maskable interrupt.
    Nmi,
    /// A timer whose function ran in an interrupt or softirq: the id and name of the task that it woke, or 0 and the function's name.
    Timer,
    /// The measuring thread was kept from running, and no other task was the reason: `throttled:quota`, `throttled:realtime`, `stopped`, `frozen`. The
    /// number is that of the task that ran meanwhile (0: idle).
    Held,
    /// A tracepoint was passed that the user asked for; it took no time. The number is that of the task that ran, and the name holds the fields.
    Tracepoint,
}

impl EventKind {
    /// All kinds; the index of each is its number in a file.
    pub const ALL: [EventKind; 9] = [
        EventKind::Vector,
        EventKind::Interrupt,
        EventKind::Softirq,
        EventKind::Task,
        EventKind::Exception,
        EventKind::Nmi,
        EventKind::Timer,
        EventKind::Held,
        EventKind::Tracepoint,
    ];

    /// Its name in exports.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Vector => "vector",
            EventKind::Interrupt => "interrupt",
            EventKind::Softirq => "softirq",
            EventKind::Task => "task",
            EventKind::Exception => "exception",
            EventKind::Nmi => "nmi",
            EventKind::Timer => "timer",
            EventKind::Held => "held",
            EventKind::Tracepoint => "tracepoint",
        }
    }

    /// How it stands in a file.
    pub(crate) fn number(self) -> u32 {
        self as u32
    }
}

/// One stretch of time that the operating system took on one CPU.
///
/// Events of one CPU are in order of their starts, and may lie within one another (a softirq within an interrupt, an
/// interrupt within the time of another task): the innermost is the one that ran. None overlaps another in part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelEvent {
    /// First tick since the recording's origin.
    pub start: u64,
    /// Duration in ticks; 0 where only the beginning is known.
    pub duration: u64,
    /// What it was.
    pub kind: EventKind,
    /// Number of the vector, interrupt or softirq, or the task's id (0: idle).
    pub number: u32,
    /// Its name, made fit for text by [`escaped`].
    pub name: Arc<str>,
    /// Who made it run, where it is a task, or sent it, where it is an interrupt by another CPU; as far as that is known.
    pub sender: Option<Arc<Sender>>,
    /// Ticks from what that did until it ran; 0 where nobody is known.
    pub waited: u64,
}

/// What made a task or a softirq run, sent an interrupt to this CPU, or set a timer. While they are recorded events share it: there are many of few.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sender {
    /// What woke, sent, raised or set it: `task:NAME`, `irq:NAME`, `softirq:NAME`, `timer:FUNCTION`, `interrupt`, `idle`; [`RUNNABLE`] where nothing had to;
    /// empty where nobody is known.
    pub name: Arc<str>,
    /// CPU on which that happened, or that it had left.
    pub cpu: u32,
    /// Functions that a kernel worker or the softirq of timers ran meanwhile, or the interrupt was for, in order, with commas between; else empty.
    pub function: Arc<str>,
    /// Function of the kernel by which the sender did so, or by which the timer that it is was set; empty where its stack was not recorded.
    pub caller: Arc<str>,
    /// Who set the timer that the sender is; empty where it is none, or that is not known.
    pub set_by: Arc<str>,
}

/// What stands for a sender where a task had left a CPU and would go on running: another one, or the scheduler, took its place.
pub const RUNNABLE: &str = "runnable";

impl Sender {
    /// Whether somebody did it.
    pub fn is_somebody(&self) -> bool {
        !self.name.is_empty() && &*self.name != RUNNABLE
    }
}

impl KernelEvent {
    /// The tick at which it ended.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }
}

/// Events of one CPU, batch by batch, for an analysis that walks along gaps and events at once.
pub trait EventStream {
    /// Puts the next events in place of what `events` holds, in order of their starts; `false` after the last.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged.
    fn next(&mut self, events: &mut Vec<KernelEvent>) -> Result<bool, crate::Error>;
}

/// A stream without events.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEvents;

impl EventStream for NoEvents {
    fn next(&mut self, events: &mut Vec<KernelEvent>) -> Result<bool, crate::Error> {
        events.clear();
        Ok(false)
    }
}

/// Any bytes as visible text, without loss: a backslash becomes `\\`, and each byte of what is no visible character
/// (control and format characters, what is not UTF-8) becomes `\xNN`.
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => text.push_str(r"\\"),
                _ if is_visible(character) => text.push(character),
                _ => push_hex(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        push_hex(&mut text, chunk.invalid());
    }
    text
}

/// The bytes of which [`escaped`] made `text`; `None` if it made it of none.
pub fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
        } else if let Some(after) = rest.strip_prefix(b"\\") {
            bytes.push(b'\\');
            rest = after;
        } else {
            let digits = std::str::from_utf8(rest.strip_prefix(b"x")?.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[3..];
        }
    }
    (escaped(&bytes) == text).then_some(bytes)
}

/// What the standard library would not escape but for quotation marks, which harm no name.
pub(crate) fn is_visible(character: char) -> bool {
    matches!(character, '\'' | '"') || character.escape_debug().eq([character])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_visible_text() {
        for (bytes, wanted) in [
            (&b"kworker/1:0H"[..], "kworker/1:0H"),
            (b"a\x1b[2J\n", r"a\x1b[2J\x0a"),
            (b"\xff\\x41", r"\xff\\x41"),
            (
                "h\u{e9} \u{202e}\"'".as_bytes(),
                "h\u{e9} \\xe2\\x80\\xae\"'",
            ),
            (b"", ""),
        ] {
            assert_eq!(escaped(bytes), wanted);
            assert_eq!(unescaped(wanted).as_deref(), Some(bytes));
        }
        for wrong in [r"\", r"\x", r"\x4", r"\x41", r"\q", "\n", r"\xZZ", r"\x+1"] {
            assert_eq!(unescaped(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn kinds_are_numbered_by_their_places() {
        for (number, kind) in EventKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.number(), number as u32);
        }
    }

    proptest! {
        #[test]
        fn no_byte_is_lost(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let text = escaped(&bytes);
            prop_assert!(!text.chars().any(char::is_control));
            prop_assert_eq!(unescaped(&text), Some(bytes));
        }
    }
}
