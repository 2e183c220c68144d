//! From the measuring thread to the consumer: a ring with one writer and one reader, no lock, no call.
//!
//! The writer stores, asks for the cache lines ahead to be fetched for writing, and publishes its
//! position by a release store; the reader loads it with acquire, so what it reads is complete. Neither
//! ever waits for the other. Positions count records since the start and never wrap (2^64).

use crate::memory::Region;
use std::io;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far ahead of the writer lines are fetched, in bytes: a page's worth is fetched before its first
/// record is due, so that no page border can be seen in the counts (docs/method.md, section 9.8).
const PREFETCH_BYTES: usize = 512;

/// A position on its own pair of cache lines (adjacent lines are fetched together).
#[derive(Debug, Default)]
#[repr(align(128))]
struct Position(AtomicU64);

#[derive(Debug)]
struct Shared {
    memory: Region,
    written: Position,
    read: Position,
}

/// The writing end.
#[derive(Debug)]
pub struct Writer<T> {
    shared: Arc<Shared>,
    slots: *mut T,
    mask: u64,
    /// Next position to write.
    position: u64,
    /// Position that may not be written yet.
    limit: u64,
}

// SAFETY: the writer owns the slots from `position` to `limit`; it may do so from any one thread.
unsafe impl<T: Copy + Send> Send for Writer<T> {}

/// The reading end.
#[derive(Debug)]
pub struct Reader<T> {
    shared: Arc<Shared>,
    mask: u64,
    position: u64,
    _record: PhantomData<T>,
}

/// A ring of at least `records` records.
///
/// # Errors
/// If there is not enough memory.
pub fn ring<T: Copy + Send>(records: usize) -> io::Result<(Writer<T>, Reader<T>)> {
    let records = records.max(2).next_power_of_two();
    let bytes = records
        .checked_mul(size_of::<T>())
        .ok_or(io::ErrorKind::OutOfMemory)?;
    let shared = Arc::new(Shared {
        memory: Region::new(bytes)?,
        written: Position::default(),
        read: Position::default(),
    });
    let mask = records as u64 - 1;
    let writer = Writer {
        slots: shared.memory.start().as_ptr().cast(),
        shared: shared.clone(),
        mask,
        position: 0,
        limit: records as u64,
    };
    let reader = Reader {
        shared,
        mask,
        position: 0,
        _record: PhantomData,
    };
    Ok((writer, reader))
}

impl<T: Copy + Send> Writer<T> {
    /// Writes and publishes a record; false, and nothing is written, if no room is known of.
    #[inline(always)]
    pub fn push(&mut self, record: T) -> bool {
        if self.position == self.limit {
            return false;
        }
        let slot = (self.position & self.mask) as usize;
        let ahead = (slot + PREFETCH_BYTES / size_of::<T>()) & self.mask as usize;
        // SAFETY: both slots lie inside the ring, whose memory `shared` keeps. The reader reads no slot
        // from `position` on, and `position` is below the limit that it has given free.
        unsafe {
            self.slots.add(slot).write(record);
            prefetch_for_writing(self.slots.add(ahead));
        }
        self.position += 1;
        self.shared
            .written
            .0
            .store(self.position, Ordering::Release);
        true
    }

    /// Looks how much room there is by now, in records.
    pub fn look_for_room(&mut self) -> u64 {
        self.limit = self.shared.read.0.load(Ordering::Acquire) + self.mask + 1;
        self.limit - self.position
    }

    /// Makes `push` refuse until `look_for_room`.
    pub fn close(&mut self) {
        self.limit = self.position;
    }

    /// The last record written.
    pub fn last(&self) -> Option<T> {
        let slot = self.position.checked_sub(1)? & self.mask;
        // SAFETY: it has been written, by this end, and only this end writes.
        Some(unsafe { self.slots.add(slot as usize).read() })
    }

    /// Whether the memory is locked.
    pub fn locked(&self) -> bool {
        self.shared.memory.locked()
    }
}

/// Asks for the cache line to be fetched, and owned where the instruction exists.
#[inline(always)]
fn prefetch_for_writing<T>(address: *mut T) {
    // SAFETY: a prefetch changes nothing and never faults. PREFETCHW (0F 0D /1) is a no-operation on
    // x86-64 CPUs that lack it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("prefetchw [{0}]", in(reg) address as usize, options(nomem, nostack, preserves_flags));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{0}]", in(reg) address as usize, options(nomem, nostack, preserves_flags));
    }
}

impl<T: Copy + Send> Reader<T> {
    /// How many records wait. Rings that are published in order must be asked in reverse order.
    pub fn waiting(&self) -> u64 {
        self.shared.written.0.load(Ordering::Acquire) - self.position
    }

    /// Moves at most `most` records, which must wait, to the end of `into`.
    pub fn take(&mut self, most: u64, into: &mut Vec<T>) {
        let slots: *const T = self.shared.memory.start().as_ptr().cast();
        let end = self.position + most.min(self.waiting());
        for position in self.position..end {
            // SAFETY: the slot lies inside the ring; the writer published it (acquired in `waiting`)
            // and writes there again only after `read` has passed it.
            into.push(unsafe { slots.add((position & self.mask) as usize).read() });
        }
        self.position = end;
        self.shared.read.0.store(end, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_pass_in_order_between_threads() {
        let (mut writer, mut reader) = ring::<u64>(64).unwrap();
        let thread = std::thread::spawn(move || {
            for value in 0..10_000u64 {
                while !writer.push(value) {
                    if writer.look_for_room() == 0 {
                        std::thread::yield_now();
                    }
                }
            }
        });
        let mut seen = Vec::new();
        while seen.len() < 10_000 {
            let waiting = reader.waiting();
            reader.take(waiting.min(17), &mut seen);
            std::thread::yield_now();
        }
        thread.join().unwrap();
        assert!(seen.iter().copied().eq(0..10_000));
    }

    #[test]
    fn a_full_ring_refuses_until_there_is_room() {
        let (mut writer, mut reader) = ring::<u64>(4).unwrap();
        assert!((0..4).all(|value| writer.push(value)));
        assert!(!writer.push(4));
        assert_eq!(writer.look_for_room(), 0);
        let mut seen = Vec::new();
        reader.take(1, &mut seen);
        assert!(!writer.push(4));
        assert_eq!(writer.look_for_room(), 1);
        assert!(writer.push(4));
        assert_eq!(writer.last(), Some(4));
        reader.take(9, &mut seen);
        assert_eq!(seen, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_closed_ring_refuses() {
        let (mut writer, _reader) = ring::<u64>(4).unwrap();
        writer.close();
        assert!(!writer.push(1));
        assert_eq!(writer.look_for_room(), 4);
        assert!(writer.push(1));
    }
}
