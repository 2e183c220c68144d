//! Lines out of a file through a buffer of fixed size, without a copy of each.
//!
//! `BufRead::read_until` would gather a line of 2 GB into memory before anybody could object.

use crate::dat::line::usual_row;
use std::io::{ErrorKind, Read};

/// Bytes read at a time.
const BUFFER: usize = 128 << 10;
/// The longest line, in bytes. A row has about 30.
pub const MAX_LINE: usize = 4096;

/// Lines of a reader.
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// What lies in the buffer and was not handed out.
    from: usize,
    to: usize,
    at_end: bool,
    number: u64,
    /// Whether the line handed out last ended in a line feed.
    terminated: bool,
}

/// What [`Lines::next_line`] found.
#[derive(Debug)]
pub enum Next<'a> {
    /// A line without its line feed.
    Line(&'a [u8]),
    /// The beginning of a line of more than [`MAX_LINE`] bytes.
    TooLong(&'a [u8]),
    /// The text is over.
    End,
}

impl<R: Read> Lines<R> {
    /// Lines of `reader`.
    pub fn new(reader: R) -> Lines<R> {
        Lines {
            reader,
            buffer: vec![0; BUFFER],
            from: 0,
            to: 0,
            at_end: false,
            number: 0,
            terminated: true,
        }
    }

    /// Number of the line handed out last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the line handed out last ended in a line feed; true before the first.
    pub fn terminated(&self) -> bool {
        self.terminated
    }

    /// Whether nothing comes after the line handed out last.
    pub fn is_last(&mut self) -> std::io::Result<bool> {
        if self.from == self.to && !self.at_end {
            self.refill()?;
        }
        Ok(self.from == self.to)
    }

    /// The next line, if it is a row of the usual form and lies in the buffer; otherwise nothing happens and
    /// [`Lines::next_line`] tells.
    #[inline]
    pub fn next_usual_row(&mut self) -> Option<(u64, u32)> {
        let (time, count, length) = usual_row(&self.buffer[self.from..self.to])?;
        self.from += length;
        self.number += 1;
        self.terminated = true;
        Some((time, count))
    }

    /// The next line.
    pub fn next_line(&mut self) -> std::io::Result<Next<'_>> {
        loop {
            let waiting = &self.buffer[self.from..self.to];
            let feed = waiting.iter().position(|&byte| byte == b'\n');
            let length = feed.unwrap_or(waiting.len());
            if length > MAX_LINE {
                self.number += 1;
                return Ok(Next::TooLong(&self.buffer[self.from..self.from + MAX_LINE]));
            }
            if feed.is_none() && !self.at_end {
                self.refill()?;
                continue;
            }
            if feed.is_none() && length == 0 {
                return Ok(Next::End);
            }
            let from = self.from;
            self.number += 1;
            self.terminated = feed.is_some();
            self.from += length + usize::from(feed.is_some());
            return Ok(Next::Line(&self.buffer[from..from + length]));
        }
    }

    /// Moves what waits to the front and reads more behind it.
    fn refill(&mut self) -> std::io::Result<()> {
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        loop {
            match self.reader.read(&mut self.buffer[self.to..]) {
                Ok(read) => {
                    self.at_end = read == 0;
                    self.to += read;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out one byte at a time, the hardest case for a buffer.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = self.0.len().min(1).min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    #[test]
    fn lines_are_what_lies_between_line_feeds() {
        let mut lines = Lines::new(Trickle(b"one\n\ntwo\r\nrest"));
        let mut seen = Vec::new();
        while let Next::Line(line) = lines.next_line().unwrap() {
            let line = String::from_utf8_lossy(line).into_owned();
            seen.push((line, lines.terminated(), lines.is_last().unwrap()));
        }
        let expected = [
            ("one", true, false),
            ("", true, false),
            ("two\r", true, false),
            ("rest", false, true),
        ];
        assert_eq!(
            seen,
            expected.map(|(line, terminated, last)| (line.to_owned(), terminated, last))
        );
        assert_eq!(lines.number(), 4);
    }

    #[test]
    fn an_endless_line_is_not_read_to_its_end() {
        let mut lines = Lines::new(std::io::repeat(b'7'));
        assert!(
            matches!(lines.next_line().unwrap(), Next::TooLong(line) if line.len() == MAX_LINE)
        );
    }

    #[test]
    fn the_longest_line_passes() {
        let text = [vec![b'#'; MAX_LINE], b"\n1 2\n".to_vec()].concat();
        let mut lines = Lines::new(&text[..]);
        assert!(matches!(lines.next_line().unwrap(), Next::Line(line) if line.len() == MAX_LINE));
        assert!(matches!(lines.next_line().unwrap(), Next::Line(b"1 2")));
        assert!(matches!(lines.next_line().unwrap(), Next::End));
        assert!(matches!(lines.next_line().unwrap(), Next::End));
    }
}
