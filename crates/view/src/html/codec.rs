//! How columns of whole numbers travel in the page: variable-length integers, deflate, base64.
//!
//! A browser undoes the last two by itself (`DecompressionStream`, `atob`), the first in `script/decode.js`. Numbers are LEB128: seven bits a
//! byte, low bits first; signed ones are folded to unsigned (0, -1, 1, -2, ...) so that small ones stay short. Differences against what is
//! expected are small, and deflate takes what is left.

use std::io::{self, Write};

/// Numbers that must survive a reader whose numbers are doubles.
const MAX_WHOLE: u64 = (1 << 53) - 1;

/// Bytes under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns(Vec<u8>);

impl Columns {
    /// Appends a number; beyond 2^53 - 1 it is that.
    pub(super) fn push(&mut self, number: u64) {
        let mut rest = number.min(MAX_WHOLE);
        while rest >= 0x80 {
            self.0.push((rest as u8 & 0x7f) | 0x80);
            rest >>= 7;
        }
        self.0.push(rest as u8);
    }

    /// Appends a signed number, held to +-2^52.
    pub(super) fn push_signed(&mut self, number: i64) {
        let limit = (MAX_WHOLE / 2) as i64;
        let number = number.clamp(-limit, limit);
        self.push(((number << 1) ^ (number >> 63)) as u64);
    }

    /// Writes all of it as base64 of a zlib stream (RFC 1950).
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        // Level 6 gains 1 % on level 4 and takes twice as long, level 9 no more and longer still.
        let mut encoder =
            flate2::write::ZlibEncoder::new(Base64::new(out), flate2::Compression::new(4));
        encoder.write_all(&self.0)?;
        encoder.finish()?.finish()
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes base64 (RFC 4648) of what is written to it.
pub(super) struct Base64<'a> {
    out: &'a mut dyn Write,
    rest: Vec<u8>,
}

impl<'a> Base64<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Base64<'a> {
        Base64 {
            out,
            rest: Vec::new(),
        }
    }

    /// Writes the last one or two bytes, padded.
    pub(super) fn finish(self) -> io::Result<()> {
        let digits = match *self.rest {
            [a, b] => {
                let [a, b, c, _] = quad(a, b, 0);
                [a, b, c, b'=']
            }
            [a] => {
                let [a, b, _, _] = quad(a, 0, 0);
                [a, b, b'=', b'=']
            }
            _ => return Ok(()),
        };
        self.out.write_all(&digits)
    }
}

fn quad(a: u8, b: u8, c: u8) -> [u8; 4] {
    let bits = u32::from_be_bytes([0, a, b, c]);
    [18, 12, 6, 0].map(|shift| ALPHABET[(bits >> shift) as usize & 63])
}

impl Write for Base64<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        let whole = self.rest.len() / 3 * 3;
        let digits: Vec<u8> = self.rest[..whole]
            .chunks_exact(3)
            .flat_map(|three| quad(three[0], three[1], three[2]))
            .collect();
        self.out.write_all(&digits)?;
        self.rest.drain(..whole);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;

    /// What `script/decode.js` does.
    pub(in crate::html) fn decode(text: &str) -> Vec<u64> {
        let digit = |c: u8| ALPHABET.iter().position(|&a| a == c).unwrap_or(0) as u32;
        let mut bytes = Vec::new();
        for four in text.as_bytes().chunks(4) {
            let bits = four.iter().fold(0, |bits, &c| bits << 6 | digit(c));
            let padding = four.iter().filter(|&&c| c == b'=').count();
            bytes.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
        }
        let mut raw = Vec::new();
        let mut decoder = flate2::read::ZlibDecoder::new(&bytes[..]);
        decoder.read_to_end(&mut raw).unwrap();
        let mut numbers = Vec::new();
        let (mut number, mut shift) = (0u64, 0);
        for byte in raw {
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                numbers.push(number);
                (number, shift) = (0, 0);
            }
        }
        numbers
    }

    pub(in crate::html) fn signed(number: u64) -> i64 {
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }

    #[test]
    fn base64_by_the_standards_own_examples() {
        let examples = [
            "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy",
        ];
        for (length, expected) in examples.into_iter().enumerate() {
            let mut out = Vec::new();
            let mut base64 = Base64::new(&mut out);
            for byte in &b"foobar"[..length] {
                base64.write_all(&[*byte]).unwrap();
            }
            base64.finish().unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    proptest! {
        #[test]
        fn numbers_come_back(numbers in proptest::collection::vec(any::<u64>(), 0..300), shift in 0u32..64) {
            let numbers: Vec<u64> = numbers.into_iter().map(|number| number >> shift).collect();
            let mut columns = Columns::default();
            for &number in &numbers {
                columns.push(number);
                columns.push_signed(number as i64);
            }
            let mut out = Vec::new();
            columns.write(&mut out).unwrap();
            let decoded = decode(&String::from_utf8(out).unwrap());
            for (pair, &number) in decoded.chunks(2).zip(&numbers) {
                prop_assert_eq!(pair[0], number.min(MAX_WHOLE));
                let limit = (MAX_WHOLE / 2) as i64;
                prop_assert_eq!(signed(pair[1]), (number as i64).clamp(-limit, limit));
            }
            prop_assert_eq!(decoded.len(), 2 * numbers.len());
        }
    }
}
