//! The checksum of a part: whatever happens to it after it was written is noticed, before anything of it
//! is decoded. (The library that decodes takes the end of a file for granted, and Parquet's own page
//! checksums, which it does not write, would not cover that end either.)
//!
//! It is the XXH64 of the whole file, and stands in the file itself: the end of the file holds a mark with
//! sixteen zeros behind it, the file is hashed so, and then the zeros are replaced by the hash. A file
//! without the mark, such as another program may write, is not checked.
//!
//! `recording.json` has its checksum in its first line, in the same way.

use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read, Seek, SeekFrom, Write};
use twox_hash::XxHash64;

/// Key of the metadata that holds the mark.
pub const KEY: &str = "checksum";
/// What stands before the sixteen digits.
const MARK: &[u8] = b"bandscope-xxh64:";
const DIGITS: usize = 16;
/// The last bytes of a Parquet file: the length of its end in four bytes, and `PAR1`.
const TAIL: u64 = 8;
/// The longest end that is looked at. That of a part of 30 s at 1 MHz has about 500 KiB.
const MAX_END: u64 = 64 << 20;

/// The value of [`KEY`] while the file is written.
pub fn placeholder() -> String {
    String::from_utf8_lossy(MARK).into_owned() + &"0".repeat(DIGITS)
}

/// A file that is hashed as it is written.
pub struct HashedFile {
    file: File,
    hash: XxHash64,
    bytes: u64,
    /// What was written since [`HashedFile::begin_end`].
    end: Option<Vec<u8>>,
}

impl HashedFile {
    /// Hashes what is written to `file`, which is empty.
    pub fn new(file: File) -> HashedFile {
        HashedFile {
            file,
            hash: XxHash64::with_seed(0),
            bytes: 0,
            end: None,
        }
    }

    /// To be called before the end of the file is written, in which the placeholder stands.
    pub fn begin_end(&mut self) {
        self.end = Some(Vec::new());
    }

    /// Replaces the placeholder by the checksum.
    pub fn seal(&mut self) -> io::Result<()> {
        let end = self.end.take().unwrap_or_default();
        let place = digits_in(&end).ok_or_else(|| io::Error::other("no place for a checksum"))?;
        let begin_of_end = self.bytes - end.len() as u64;
        self.file
            .seek(SeekFrom::Start(begin_of_end + place as u64))?;
        self.file.write_all(shown(&self.hash).as_bytes())
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        let bytes = &bytes[..written];
        self.hash.write(bytes);
        self.bytes += written as u64;
        if let Some(end) = &mut self.end {
            end.extend_from_slice(bytes);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What [`verify`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The file is as it was written.
    Intact,
    /// It is not.
    Damaged,
    /// It does not end as a Parquet file does.
    NotWhole,
    /// It carries no checksum.
    Unchecked,
}

/// Reads a part from its beginning to its end and compares its checksum.
pub fn verify(file: &File) -> io::Result<Verdict> {
    let mut file = file;
    let length = file.metadata()?.len();
    let Some(mut end) = read_end(file, length)? else {
        return Ok(Verdict::NotWhole);
    };
    let Some(place) = digits_in(&end) else {
        // Damage to the mark leaves its key.
        let has_key = end
            .windows(KEY.len())
            .any(|window| window == KEY.as_bytes());
        return Ok(if has_key {
            Verdict::Damaged
        } else {
            Verdict::Unchecked
        });
    };
    let digits = end[place..place + DIGITS].to_vec();
    end[place..place + DIGITS].fill(b'0');
    file.rewind()?;
    let mut hash = XxHash64::with_seed(0);
    hash_all(file.take(length - end.len() as u64), &mut hash)?;
    hash.write(&end);
    let intact = shown(&hash).as_bytes() == digits;
    Ok(if intact {
        Verdict::Intact
    } else {
        Verdict::Damaged
    })
}

/// The end of a Parquet file with its length and `PAR1`; `None` if the file does not end so.
fn read_end(mut file: &File, length: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(tail_start) = length.checked_sub(TAIL) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(tail_start))?;
    let mut tail = [0; TAIL as usize];
    file.read_exact(&mut tail)?;
    let [a, b, c, d, magic @ ..] = tail;
    let end_length = u64::from(u32::from_le_bytes([a, b, c, d])).saturating_add(TAIL);
    if magic != *b"PAR1" || end_length > length.min(MAX_END) {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(length - end_length))?;
    let mut end = vec![0; end_length as usize];
    file.read_exact(&mut end)?;
    Ok(Some(end))
}

/// Where the sixteen digits behind the mark begin.
fn digits_in(end: &[u8]) -> Option<usize> {
    let mark = end.windows(MARK.len()).rposition(|window| window == MARK)?;
    let digits = mark + MARK.len();
    (digits + DIGITS <= end.len()).then_some(digits)
}

/// How a JSON file with a checksum begins. Whoever edits the file can remove this line.
const JSON_BEGIN: &str = "{\n  \"checksum\": \"";

/// Puts the checksum of all of it into the first line of an object that was written with line breaks.
pub fn seal_json(json: &mut Vec<u8>) {
    let line = format!("{JSON_BEGIN}{}\",", placeholder());
    json.splice(..1, line.into_bytes());
    let digits = shown(&hash_of(json)).into_bytes();
    let place = JSON_BEGIN.len() + MARK.len();
    json[place..place + DIGITS].copy_from_slice(&digits);
}

/// Compares the checksum of a JSON file.
pub fn verify_json(json: &[u8]) -> Verdict {
    let begin = [JSON_BEGIN.as_bytes(), MARK].concat();
    let place = begin.len()..begin.len() + DIGITS;
    let contains = |text: &[u8]| json.windows(text.len()).any(|window| window == text);
    match json.get(place.clone()) {
        Some(digits) if json.starts_with(&begin) => {
            let mut written = json.to_vec();
            written[place].fill(b'0');
            match shown(&hash_of(&written)).as_bytes() == digits {
                true => Verdict::Intact,
                false => Verdict::Damaged,
            }
        }
        // Damage to one of the two leaves the other.
        _ if contains(b"\"checksum\"") || contains(MARK) => Verdict::Damaged,
        _ => Verdict::Unchecked,
    }
}

/// The checksum of these bytes, in the digits that files have.
pub fn of(bytes: &[u8]) -> String {
    shown(&hash_of(bytes))
}

fn hash_of(bytes: &[u8]) -> XxHash64 {
    let mut hash = XxHash64::with_seed(0);
    hash.write(bytes);
    hash
}

fn hash_all(mut reader: impl Read, hash: &mut XxHash64) -> io::Result<()> {
    let mut buffer = vec![0; 256 << 10];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => hash.write(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn shown(hash: &XxHash64) -> String {
    format!("{:016x}", hash.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that ends as a part does.
    fn sealed(body: &[u8]) -> File {
        let mut file = HashedFile::new(tempfile::tempfile().unwrap());
        file.write_all(body).unwrap();
        file.begin_end();
        let end = placeholder();
        file.write_all(end.as_bytes()).unwrap();
        file.write_all(&(end.len() as u32).to_le_bytes()).unwrap();
        file.write_all(b"PAR1").unwrap();
        file.seal().unwrap();
        file.file
    }

    #[test]
    fn a_sealed_file_is_intact_and_any_change_is_noticed() {
        let mut file = sealed(&[7; 300_000]);
        assert_eq!(verify(&file).unwrap(), Verdict::Intact);
        for place in [0, 299_999, 300_020] {
            file.seek(SeekFrom::Start(place)).unwrap();
            file.write_all(b"!").unwrap();
            assert_eq!(verify(&file).unwrap(), Verdict::Damaged);
        }
    }

    #[test]
    fn damage_to_the_mark_is_damage() {
        let mut end = placeholder().into_bytes();
        end[3] ^= 0x40;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[KEY.as_bytes(), &end].concat()).unwrap();
        let length = (KEY.len() + end.len()) as u32;
        file.write_all(&length.to_le_bytes()).unwrap();
        file.write_all(b"PAR1").unwrap();
        assert_eq!(verify(&file).unwrap(), Verdict::Damaged);
    }

    #[test]
    fn what_is_no_part_is_told() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(verify(&file).unwrap(), Verdict::NotWhole);
        file.write_all(b"PAR1....\x04\0\0\0PAR1").unwrap();
        assert_eq!(verify(&file).unwrap(), Verdict::Unchecked);
        file.write_all(b"\xff\xff\xff\xffPAR1").unwrap();
        assert_eq!(verify(&file).unwrap(), Verdict::NotWhole);
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // XXH64 of nothing with seed 0, from the test vectors of its specification.
        assert_eq!(shown(&XxHash64::with_seed(0)), "ef46db3751d8e999");
    }
}
