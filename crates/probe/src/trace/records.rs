//! Records of a perf ring, as bytes in and as what they say out (perf_event_open(2), "MMAP layout").
//!
//! The layout follows from what `open` asks for: thread, time and the tracepoint's own record in each sample, and
//! the same two at the end of every other record.

use perf_event_open_sys::bindings as perf;

/// Bytes of a record's header: type, flags, size.
pub const HEADER: usize = 8;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A tracepoint was passed.
    Sample {
        /// Process of the thread that was running, as this process counts them; `u32::MAX` where it is gone.
        process: u32,
        /// Thread that was running, as this process counts threads.
        thread: u32,
        /// Nanoseconds of the clock that was asked for.
        time: u64,
        /// Addresses of the stack, the innermost first, eight bytes each.
        stack: &'a [u8],
        /// The tracepoint's own record.
        raw: &'a [u8],
    },
    /// The ring was full.
    Lost {
        /// Records that found no room.
        records: u64,
    },
    /// Nothing of interest here.
    Other,
}

impl<'a> Record<'a> {
    /// Reads one whole record with its header, of a ring whose samples have stacks or not; `None` if it is not what was asked for.
    pub fn parse(record: &'a [u8], has_stacks: bool) -> Option<Record<'a>> {
        let kind = u32::from_ne_bytes(record.get(..4)?.try_into().ok()?);
        let body = record.get(HEADER..)?;
        if kind == perf::PERF_RECORD_LOST {
            return Some(Record::Lost {
                records: word(body, 8)?,
            });
        }
        if kind == perf::PERF_RECORD_LOST_SAMPLES {
            return Some(Record::Lost {
                records: word(body, 0)?,
            });
        }
        if kind != perf::PERF_RECORD_SAMPLE {
            return Some(Record::Other);
        }
        let (stack, rest) = match has_stacks {
            true => {
                let bytes = usize::try_from(word(body, 16)?).ok()?.checked_mul(8)?;
                body.get(24..)?.split_at_checked(bytes)?
            }
            false => (&[][..], body.get(16..)?),
        };
        let length = u32::from_ne_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        Some(Record::Sample {
            process: u32::from_ne_bytes(body.get(..4)?.try_into().ok()?),
            thread: u32::from_ne_bytes(body.get(4..8)?.try_into().ok()?),
            time: word(body, 8)?,
            stack,
            raw: rest.get(4..4usize.checked_add(length)?)?,
        })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A record as the kernel writes it.
    pub fn record(kind: u32, body: &[u8]) -> Vec<u8> {
        let mut record = kind.to_ne_bytes().to_vec();
        record.extend(0u16.to_ne_bytes());
        record.extend(((HEADER + body.len()) as u16).to_ne_bytes());
        record.extend(body);
        record
    }

    fn sample(raw: &[u8]) -> Vec<u8> {
        let mut body = [7u32.to_ne_bytes(), 8u32.to_ne_bytes()].concat();
        body.extend(123u64.to_ne_bytes());
        body.extend((raw.len() as u32).to_ne_bytes());
        body.extend(raw);
        record(perf::PERF_RECORD_SAMPLE, &body)
    }

    #[test]
    fn records_are_read() {
        let bytes = sample(b"abcd");
        assert_eq!(
            Record::parse(&bytes, false),
            Some(Record::Sample {
                process: 7,
                thread: 8,
                time: 123,
                stack: &[],
                raw: b"abcd"
            })
        );
        let lost = [3u64.to_ne_bytes(), 17u64.to_ne_bytes()].concat();
        let lost = record(perf::PERF_RECORD_LOST, &lost);
        assert_eq!(
            Record::parse(&lost, false),
            Some(Record::Lost { records: 17 })
        );
        let other = record(perf::PERF_RECORD_COMM, b"whatever");
        assert_eq!(Record::parse(&other, true), Some(Record::Other));
    }

    #[test]
    fn no_length_leads_out_of_the_record() {
        let bytes = sample(b"abcd");
        for length in 0..bytes.len() {
            assert_eq!(Record::parse(&bytes[..length], false), None);
        }
        let mut wild = bytes.clone();
        wild[24..28].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(Record::parse(&wild, false), None);
    }

    #[test]
    fn a_stack_comes_before_what_the_tracepoint_says() {
        let frames = [0xffff_ffff_8100_0010u64, 0xffff_ffff_8200_0020];
        let mut body = sample(b"abcd")[HEADER..].to_vec();
        let stack: Vec<u8> = frames
            .iter()
            .flat_map(|frame| frame.to_ne_bytes())
            .collect();
        body.splice(16..16, [&2u64.to_ne_bytes()[..], &stack].concat());
        let bytes = record(perf::PERF_RECORD_SAMPLE, &body);
        let read = |bytes: &[u8]| match Record::parse(bytes, true) {
            Some(Record::Sample { stack, raw, .. }) => Some((stack.to_vec(), raw.to_vec())),
            _ => None,
        };
        assert_eq!(read(&bytes), Some((stack, b"abcd".to_vec())));
        for length in 0..bytes.len() {
            assert_eq!(read(&bytes[..length]), None, "{length}");
        }
        for number in [3, u64::MAX / 8, u64::MAX] {
            let mut wild = bytes.clone();
            wild[HEADER + 16..HEADER + 24].copy_from_slice(&u64::to_ne_bytes(number));
            assert_eq!(read(&wild), None, "{number}");
        }
    }
}
