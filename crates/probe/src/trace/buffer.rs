//! The ring that the kernel writes records of a CPU's events into, shared with this process.
//!
//! perf_event_open(2), "MMAP layout": a page that holds how far the kernel has written and we have read, and then a
//! power of two of pages with the records. The kernel overwrites nothing that was not read; what finds no room is
//! counted and told by a record of its own.

use super::records::HEADER;
use perf_event_open_sys::bindings::perf_event_mmap_page;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// A ring, as its only reader.
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u8>,
    page_bytes: usize,
    /// Bytes of records that fit; a power of two.
    bytes: usize,
    record: Vec<u8>,
    /// How far the kernel had written when there was no room for more.
    full_at: Option<u64>,
}

/// A record that finds no room has at most so many bytes.
const LARGEST_RECORD: usize = 4096;

// SAFETY: the mapping belongs to the process, is bound to no thread, and has one reader.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Maps a ring for the records of `event`, of `bytes` bytes or, if so much may not be locked, less.
    ///
    /// # Errors
    /// If not even one page may be had.
    pub fn new(event: &File, bytes: usize) -> io::Result<Buffer> {
        let page_bytes = rustix::param::page_size();
        let mut pages = (bytes / page_bytes).max(1).next_power_of_two();
        loop {
            match Buffer::map(event, page_bytes, pages) {
                Err(error) if pages > 1 && error.kind() != io::ErrorKind::InvalidInput => {
                    pages /= 2
                }
                other => return other,
            }
        }
    }

    fn map(event: &File, page_bytes: usize, pages: usize) -> io::Result<Buffer> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let length = (1 + pages) * page_bytes;
        // SAFETY: the kernel chooses the place, so no mapping in use is touched.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                protection,
                MapFlags::SHARED,
                event,
                0,
            )
        }?;
        Ok(Buffer {
            start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?,
            page_bytes,
            bytes: pages * page_bytes,
            record: Vec::new(),
            full_at: None,
        })
    }

    /// Whether there was no room for more after the last record that was handed out: some may have been lost. The next one tells.
    pub fn was_full(&self) -> bool {
        self.full_at.is_some()
    }

    fn shared(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page of the mapping, which lives as long as `self`, is a perf_event_mmap_page; both words
        // are aligned, and the kernel writes the one and reads the other as whole words.
        unsafe { &*self.start.as_ptr().add(offset).cast::<AtomicU64>() }
    }

    /// Hands out each record with its header, oldest first and so many at most, and gives its room back; returns whether none was left.
    pub fn drain(&mut self, most: usize, mut visit: impl FnMut(&[u8])) -> bool {
        let tail_word = std::mem::offset_of!(perf_event_mmap_page, data_tail);
        let head_word = std::mem::offset_of!(perf_event_mmap_page, data_head);
        // Acquire: what the kernel wrote before it moved the head is seen.
        let head = self.shared(head_word).load(Ordering::Acquire);
        let mut tail = self.shared(tail_word).load(Ordering::Relaxed);
        if head.wrapping_sub(tail) as usize + LARGEST_RECORD > self.bytes {
            self.full_at = Some(head);
        }
        let mut record = std::mem::take(&mut self.record);
        for _ in 0..most {
            let left = head.wrapping_sub(tail) as usize;
            let mut header = [0; HEADER];
            if left < HEADER {
                tail = head;
                break;
            }
            self.copy(tail, &mut header);
            let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
            if size < HEADER || size > left {
                // Nothing after this can be told apart. The kernel never does this.
                tail = head;
                break;
            }
            self.full_at = self.full_at.filter(|full| tail < *full);
            record.resize(size, 0);
            self.copy(tail, &mut record);
            visit(&record);
            tail = tail.wrapping_add(size as u64);
        }
        self.record = record;
        // Release: the records were copied before their room is given back.
        self.shared(tail_word).store(tail, Ordering::Release);
        tail == head
    }

    /// Copies what begins at `position` of the stream, which the kernel does not touch before the tail moves.
    fn copy(&self, position: u64, into: &mut [u8]) {
        let from = position as usize & (self.bytes - 1);
        let first = into.len().min(self.bytes - from);
        // SAFETY: the records lie behind the first page; `from` is below `bytes`, and a record that reaches the end goes
        // on at the beginning. The kernel has written all that lies before the head, and `into` is memory of our own.
        unsafe {
            let records = self.start.as_ptr().add(self.page_bytes);
            std::ptr::copy_nonoverlapping(records.add(from), into.as_mut_ptr(), first);
            let rest = into.len() - first;
            std::ptr::copy_nonoverlapping(records, into.as_mut_ptr().add(first), rest);
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping is this buffer's own, and no reference into it is left.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.page_bytes + self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    const RECORD: usize = 1 << 10;

    /// What a kernel would write, into a file: records of equal size, each with its number.
    fn write(file: &File, page_bytes: usize, bytes: usize, numbers: std::ops::Range<u64>) {
        for number in numbers.clone() {
            let at = page_bytes + number as usize * RECORD % bytes;
            let size = (RECORD as u16).to_ne_bytes();
            file.write_all_at(&size, at as u64 + 6).unwrap();
            file.write_all_at(&number.to_ne_bytes(), (at + HEADER) as u64)
                .unwrap();
        }
        let head_word = std::mem::offset_of!(perf_event_mmap_page, data_head) as u64;
        let head = numbers.end * RECORD as u64;
        file.write_all_at(&head.to_ne_bytes(), head_word).unwrap();
    }

    #[test]
    fn what_had_no_room_is_doubted_until_the_next_record() {
        let page_bytes = rustix::param::page_size();
        let bytes = 4 * page_bytes;
        let file = tempfile::tempfile().unwrap();
        file.set_len((page_bytes + bytes) as u64).unwrap();
        let mut buffer = Buffer::new(&file, bytes).unwrap();
        let fits = (bytes / RECORD) as u64;
        let mut drain = |most: usize| {
            let mut numbers = Vec::new();
            let is_empty = buffer.drain(most, |record| {
                let number = record[HEADER..HEADER + 8].try_into().unwrap();
                numbers.push(u64::from_ne_bytes(number));
            });
            (numbers, is_empty, buffer.was_full())
        };
        write(&file, page_bytes, bytes, 0..3);
        assert_eq!(drain(2), (vec![0, 1], false, false));
        assert_eq!(drain(usize::MAX), (vec![2], true, false));
        assert_eq!(drain(2), (vec![], true, false));
        write(&file, page_bytes, bytes, 3..3 + fits);
        assert_eq!(drain(1), (vec![3], false, true));
        let rest: Vec<u64> = (4..3 + fits).collect();
        assert_eq!(drain(usize::MAX), (rest, true, true));
        assert_eq!(drain(1), (vec![], true, true));
        write(&file, page_bytes, bytes, 3 + fits..5 + fits);
        assert_eq!(drain(1), (vec![3 + fits], false, false));
    }
}
