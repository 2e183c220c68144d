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
    /// Reads one whole record with its header; `None` if it is not what was asked for.
    pub fn parse(record: &'a [u8]) -> Option<Record<'a>> {
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
        let length = u32::from_ne_bytes(body.get(16..20)?.try_into().ok()?) as usize;
        Some(Record::Sample {
            process: u32::from_ne_bytes(body.get(..4)?.try_into().ok()?),
            thread: u32::from_ne_bytes(body.get(4..8)?.try_into().ok()?),
            time: word(body, 8)?,
            raw: body.get(20..20usize.checked_add(length)?)?,
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
            Record::parse(&bytes),
            Some(Record::Sample {
                process: 7,
                thread: 8,
                time: 123,
                raw: b"abcd"
            })
        );
        let lost = [3u64.to_ne_bytes(), 17u64.to_ne_bytes()].concat();
        let lost = record(perf::PERF_RECORD_LOST, &lost);
        assert_eq!(Record::parse(&lost), Some(Record::Lost { records: 17 }));
        let other = record(perf::PERF_RECORD_COMM, b"whatever");
        assert_eq!(Record::parse(&other), Some(Record::Other));
    }

    #[test]
    fn no_length_leads_out_of_the_record() {
        let bytes = sample(b"abcd");
        for length in 0..bytes.len() {
            assert_eq!(Record::parse(&bytes[..length]), None);
        }
        let mut wild = bytes.clone();
        wild[24..28].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(Record::parse(&wild), None);
    }
}
