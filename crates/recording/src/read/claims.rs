//! What the structures of a Parquet file claim to hold, before the file library believes it.
//!
//! The end of a part, and the head of each page, are structs of Thrift's compact protocol. The library steps over fields that it does not
//! know, element by element, and over booleans of a list without reading a byte: 1,336 bytes that claim a list of 2^31 of them kept it busy for
//! seconds, and some kilobytes would for hours (parquet 60.1, found by `fuzz/`). Here a list that holds more elements than bytes are left, or
//! booleans, which no struct of these has, is none.

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Structs within structs; a part's end has five.
const DEEPEST: u32 = 16;
/// The largest head of a page. It holds some numbers, and the smallest and largest value.
const HEAD: usize = 64 << 10;
/// The mark at the end of a file, and the length of the struct before it.
const TAIL: u64 = 8;

/// Types of the compact protocol.
mod kind {
    pub const STOP: u8 = 0;
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const I8: u8 = 3;
    pub const I16: u8 = 4;
    pub const I32: u8 = 5;
    pub const I64: u8 = 6;
    pub const DOUBLE: u8 = 7;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const SET: u8 = 10;
    pub const MAP: u8 = 11;
    pub const STRUCT: u8 = 12;
}

/// The fields of a page's head that say how many bytes it has when it is unpacked, and how many follow the head.
const UNPACKED_SIZE: i64 = 2;
const COMPRESSED_SIZE: i64 = 3;
/// The largest page, unpacked: room for it is made at once, for each column. bandscope's have 0.5 MiB at most, those of other programs some MiB.
const MOST_UNPACKED: i64 = 16 << 20;

/// Whether the end of the file claims no more than it can hold. What is no end at all the library tells better.
///
/// # Errors
/// If it cannot be read.
pub fn is_end_bounded(file: &File, bytes: u64) -> io::Result<bool> {
    let mut tail = [0; TAIL as usize];
    let Some(at) = bytes.checked_sub(TAIL) else {
        return Ok(true);
    };
    file.read_exact_at(&mut tail, at)?;
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let Some(begin) = at.checked_sub(length) else {
        return Ok(true);
    };
    let mut end = vec![0; length as usize];
    file.read_exact_at(&mut end, begin)?;
    Ok(Walk::new(&end).structure(DEEPEST, &mut |_, _| {}).is_some())
}

/// Whether the heads of all pages do so.
///
/// # Errors
/// If they cannot be read.
pub fn are_pages_bounded(file: &File, metadata: &ParquetMetaData) -> io::Result<bool> {
    let groups = metadata.row_groups().iter();
    for column in groups.flat_map(|group| group.columns()) {
        if !is_column_bounded(file, column)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_column_bounded(file: &File, column: &ColumnChunkMetaData) -> io::Result<bool> {
    let (begin, length) = column.byte_range();
    let end = begin.saturating_add(length);
    let (mut at, mut head) = (begin, Vec::new());
    while at < end {
        // Most heads have less than 100 bytes.
        for room in [512, HEAD] {
            head.resize(room.min((end - at) as usize), 0);
            file.read_exact_at(&mut head, at)?;
            let (mut size, mut unpacked) = (None, 0);
            let mut walk = Walk::new(&head);
            let bounded = walk.structure(DEEPEST, &mut |field, value| match field {
                COMPRESSED_SIZE => size = u64::try_from(value).ok(),
                UNPACKED_SIZE => unpacked = value,
                _ => {}
            });
            let taken = head.len() - walk.0.len();
            match (bounded, size) {
                (Some(()), Some(size)) if unpacked <= MOST_UNPACKED => {
                    at = at.saturating_add(taken as u64).saturating_add(size);
                    break;
                }
                (None, _) if room < HEAD && head.len() == room => {}
                _ => return Ok(false),
            }
        }
    }
    Ok(true)
}

/// What is left of some bytes. Nothing is kept of what is stepped over.
struct Walk<'a>(&'a [u8]);

impl<'a> Walk<'a> {
    fn new(bytes: &'a [u8]) -> Walk<'a> {
        Walk(bytes)
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.get(bytes..)?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let zigzag = self.varint()?;
        Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    /// Steps over a struct; `told` hears each whole number in it, and the number of its field.
    fn structure(&mut self, deepest: u32, told: &mut dyn FnMut(i64, i64)) -> Option<()> {
        let mut field: i64 = 0;
        loop {
            let head = self.byte()?;
            match (head & 15, head >> 4) {
                (kind::STOP, _) => return Some(()),
                (_, 0) => field = self.signed()?,
                (_, more) => field = field.checked_add(i64::from(more))?,
            }
            match head & 15 {
                kind::TRUE | kind::FALSE => {}
                kind::I16 | kind::I32 | kind::I64 => told(field, self.signed()?),
                other => self.value(other, deepest)?,
            }
        }
    }

    /// Steps over a value.
    fn value(&mut self, kind: u8, deepest: u32) -> Option<()> {
        match kind {
            kind::I8 => self.skip(1),
            kind::I16 | kind::I32 | kind::I64 => self.varint().map(drop),
            kind::DOUBLE => self.skip(8),
            kind::BINARY => {
                let length = self.varint()?;
                self.skip(usize::try_from(length).ok()?)
            }
            kind::LIST | kind::SET => {
                let head = self.byte()?;
                let number = match head >> 4 {
                    15 => self.varint()?,
                    few => u64::from(few),
                };
                self.elements(number, &[head & 15], deepest)
            }
            kind::MAP => match self.varint()? {
                0 => Some(()),
                number => {
                    let kinds = self.byte()?;
                    self.elements(number, &[kinds >> 4, kinds & 15], deepest)
                }
            },
            kind::STRUCT => self.structure(deepest.checked_sub(1)?, &mut |_, _| {}),
            _ => None,
        }
    }

    /// Steps over so many elements, of these kinds in turn. Each takes a byte at least.
    fn elements(&mut self, number: u64, kinds: &[u8], deepest: u32) -> Option<()> {
        let deepest = deepest.checked_sub(1)?;
        if number > self.0.len() as u64 {
            return None;
        }
        for _ in 0..number {
            for kind in kinds {
                self.value(*kind, deepest)?;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_bounded(bytes: &[u8]) -> bool {
        Walk::new(bytes)
            .structure(DEEPEST, &mut |_, _| {})
            .is_some()
    }

    #[test]
    fn a_list_of_more_than_its_bytes_is_none() {
        // Field 1, a list of two bytes; then nothing.
        assert!(is_bounded(&[0x19, 0x23, 7, 8, 0]));
        assert!(!is_bounded(&[0x19, 0x33, 7, 8, 0]));
        // Booleans, 2^31 of them.
        assert!(!is_bounded(&[0x19, 0xf1, 0x80, 0x80, 0x80, 0x80, 0x08, 0]));
        assert!(!is_bounded(&[0x1b, 0x80, 0x80, 0x80, 0x80, 0x08, 0x11, 0]));
        // A struct in itself, for ever.
        assert!(!is_bounded(&[0x1c; 1000]));
        assert!(!is_bounded(&[]));
    }
}
